"""Points found on a mesh of the same shape with other vertices, by position.

A point p lies nearest to a place on one triangle (a, b, c) of the mesh, and is

    p = s_a x_a + s_b x_b + s_c x_c + o        s >= 0, sum s = 1, |o| the distance

Values of the mesh's vertices are mixed by the shares s, and so are its positions when it moves; the offset o
then turns with the triangle. A loose edge is a triangle with a corner twice, a loose vertex one with a corner
three times. Where two layers lie close, that one is taken whose normal looks the way the point's does.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from mathutils.bvhtree import BVHTree

from ..base.refusal import Refusal
from ..base.surface import diagonal, vertex_normals

LIMIT = 2.0  # percent of the size, beyond which a point does not lie on the mesh
_CORNER = 1e-5  # shares below it are none: the point is another corner, or on the edge
_LINE = 1e-10  # squared area over squared edges, of a triangle that is a line


@dataclasses.dataclass
class Match:
    """For each point a place on the other mesh."""

    corners: np.ndarray  # [p][3] its vertices
    shares: np.ndarray  # [p][3] float64
    offsets: np.ndarray  # [p][3] from the place to the point
    rest: np.ndarray  # [v][3] the mesh as it was matched

    @property
    def distances(self) -> np.ndarray:
        """[p]"""
        return np.linalg.norm(self.offsets, axis=1)

    def some(self, points: np.ndarray) -> Match:
        """Of these points alone."""
        return Match(self.corners[points], self.shares[points], self.offsets[points], self.rest)

    def snapped(self, share: float) -> Match:
        """Points with at least that share of one corner have all of it."""
        whole = self.shares.max(axis=1, keepdims=True) >= share
        return dataclasses.replace(self, shares=np.where(whole, self.shares >= share, self.shares))

    def mix(self, values: np.ndarray) -> np.ndarray:
        """Values of the mesh's vertices [v][...] at the points [p][...]"""
        shares = self.shares.reshape(*self.shares.shape, *[1] * (values.ndim - 1))
        return (values[self.corners] * shares).sum(axis=1)

    def follow(self, moved: np.ndarray) -> np.ndarray:
        """[p][3] where the points are when the mesh's vertices are at moved [v][3]"""
        far = np.flatnonzero(self.distances > 0)
        result = self.mix(moved.astype(np.float64))
        turns = _frames(moved, self.corners[far]) @ _frames(self.rest, self.corners[far]).swapaxes(1, 2)
        result[far] += np.einsum("pij,pj->pi", turns, self.offsets[far])
        return result


def _frames(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """[t][3][3] columns along a triangle's first edge, in it and off it; of a line, the same always"""
    a, b, c = (points[corners[:, i]].astype(np.float64) for i in range(3))
    along, off = b - a, np.cross(b - a, c - a)
    lengths, areas = (np.linalg.norm(v, axis=1, keepdims=True) for v in (along, off))
    flat = areas[:, 0] ** 2 <= _LINE * (lengths[:, 0] * np.linalg.norm(c - a, axis=1)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        along, off = along / lengths, off / areas
    frames = np.stack([along, np.cross(off, along), off], axis=-1)
    frames[flat] = np.eye(3)
    return frames


def _shares(places: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """[p][3] barycentric coordinates of places on triangles; of a flat one along its longest edge from a"""
    ab, ac, ap = b - a, c - a, places - a
    bb, bc, cc = (ab * ab).sum(axis=1), (ab * ac).sum(axis=1), (ac * ac).sum(axis=1)
    pb, pc = (ap * ab).sum(axis=1), (ap * ac).sum(axis=1)
    area = bb * cc - bc * bc
    flat, by_b = area <= _LINE * bb * cc, bb >= cc
    with np.errstate(invalid="ignore", divide="ignore"):
        s = np.where(flat, np.where(by_b, pb / bb, 0.0), (cc * pb - bc * pc) / area)
        t = np.where(flat, np.where(by_b, 0.0, pc / cc), (bb * pc - bc * pb) / area)
    shares = np.nan_to_num(np.stack([1 - s - t, s, t], axis=1), nan=0.0)
    shares[~shares.any(axis=1), 0] = 1.0  # a triangle that is a point
    shares = np.where(shares < _CORNER, 0.0, shares)
    return shares / shares.sum(axis=1, keepdims=True)


def _faces(count: int, triangles: np.ndarray) -> np.ndarray:
    """The triangles, and one with a corner three times for each vertex that is in none."""
    loose = np.ones(count, bool)
    loose[triangles] = False
    return np.concatenate([triangles, np.repeat(np.flatnonzero(loose)[:, None], 3, axis=1)])


def _nearest(tree: BVHTree, point: np.ndarray, normal: np.ndarray, reach: float) -> tuple:
    """Place and triangle: within reach the nearest that looks the way `normal` does, else the nearest."""
    place, facing, face, _ = tree.find_nearest(point)
    if normal @ facing < 0:
        near = [hit for hit in tree.find_nearest_range(point, reach) if normal @ hit[1] > 0]
        if near:
            place, _, face, _ = min(near, key=lambda hit: hit[3])
    return place, face


def match(points, triangles, rest, rest_triangles, limit: float = LIMIT) -> Match:
    """Finds points [p][3], a mesh of triangles [t][3], on the mesh rest [v][3] of rest_triangles [u][3].

    All corners count from 0 in their own mesh. Only within the limit, in percent of the size, a layer that
    looks the right way is preferred to a nearer one.
    """
    points, rest = np.asarray(points, np.float64), np.asarray(rest, np.float64)
    faces = _faces(len(rest), rest_triangles)
    tree = BVHTree.FromPolygons(rest.tolist(), faces.tolist(), all_triangles=True)
    normals, reach = vertex_normals(points, triangles), limit / 100 * diagonal(rest)
    found = [_nearest(tree, point, normal, reach) for point, normal in zip(points, normals, strict=True)]
    corners = faces[[face for _, face in found]]
    a, b, c = (rest[corners[:, i]] for i in range(3))
    shares = _shares(np.array([place for place, _ in found], np.float64), a, b, c)
    offsets = points - (rest[corners] * shares[:, :, None]).sum(axis=1)
    rounding = 4 * np.finfo(np.float32).eps * max(np.abs(rest).max(), np.abs(points).max())
    offsets[np.linalg.norm(offsets, axis=1) <= rounding] = 0.0
    return Match(corners, shares, offsets, rest)


def check(found: Match, name: str, other: str, limit: float = LIMIT) -> None:
    """Refuses points that lie beyond the limit, in percent of the size of the mesh they were found on."""
    percent = 100 / diagonal(found.rest) * found.distances
    beyond = int((percent > limit).sum())
    if beyond:
        worst, lie = int(percent.argmax()), "lies" if beyond == 1 else "lie"
        raise Refusal(
            f"{beyond} of {len(percent)} vertices of {name} {lie} farther than {limit:g} % of the size from"
            f" {other}, vertex {worst} the farthest ({percent[worst]:.3g} %): the two must have the same"
            " shape, in the same place, at rest."
        )
