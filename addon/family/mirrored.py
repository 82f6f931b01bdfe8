"""Bodies and their mirror images: with both, a shape acts on both sides alike, or on one against the other
(Hasler et al. 2010, section 4, add mirrored examples to theirs).

    x'_v = m_v + S sum_u a_vu (x_u - m_u),      m the mean body, S the mirror,

a_v where v is on the other side of the mean: the vertex there, if all find each other, else a place on the
triangle next to it. A bone's other side has its head and its tail there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mathutils.bvhtree import BVHTree
from mathutils.kdtree import KDTree

from ..base.refusal import Refusal
from ..base.surface import diagonal

_OTHER_SIDE = 0.02  # of the size: how far from its mirror image the other side may lie on the mean body


class Mirror(NamedTuple):
    axis: int
    middle: float  # of the plane, along the axis
    vertices: np.ndarray  # [v][3] of the other side
    shares: np.ndarray  # [v][3] of sum 1
    mean: np.ndarray  # [v][3]

    def of(self, points: np.ndarray) -> np.ndarray:
        """[..., 3] across the plane"""
        found = np.array(points, np.float64)
        found[..., self.axis] = 2 * self.middle - found[..., self.axis]
        return found

    def body(self, rest: np.ndarray) -> np.ndarray:
        """[v][3] the mirror image of a body, vertex by vertex"""
        apart = ((rest - self.mean)[self.vertices] * self.shares[..., None]).sum(axis=1)
        apart[:, self.axis] *= -1
        return self.mean + apart


def _by_vertices(mean: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, float]:
    """[v] the vertex next to each image, and how far the farthest is; infinite unless all find each other"""
    tree = KDTree(len(mean))
    for number, point in enumerate(mean):
        tree.insert(point, number)
    tree.balance()
    found = [tree.find(image) for image in images]
    others = np.array([number for _, number, _ in found])
    mutual = others[others] == np.arange(len(mean))
    return others, max(away for _, _, away in found) if mutual.all() else np.inf


def _by_surface(mean, images, triangles) -> tuple[np.ndarray, np.ndarray, float]:
    """[v][3] corners and shares of the place next to each image on the surface, and how far most are"""
    tree = BVHTree.FromPolygons(mean.tolist(), triangles.tolist())
    found = [tree.find_nearest(image) for image in images]
    corners = triangles[[number for _, _, number, _ in found]]
    places, (a, b, c) = np.array([place for place, *_ in found], np.float64), mean[corners].transpose(1, 0, 2)
    sides = np.stack([b - a, c - a], axis=2)
    across = np.einsum("vji,vj->vi", sides, places - a)
    even = 1e-12 * diagonal(mean) ** 2 * np.eye(2)  # a triangle without area
    two = np.linalg.solve(np.einsum("vji,vjk->vik", sides, sides) + even, across[..., None])[..., 0]
    shares = np.concatenate([1 - two.sum(axis=1, keepdims=True), two], axis=1)
    return corners, shares, float(np.sqrt(np.mean(np.square([away for *_, away in found]))))


def _across(mean: np.ndarray, triangles: np.ndarray, axis: int) -> tuple[Mirror, float]:
    """The mirror across an axis, and how far the other side is from the image."""
    rows = np.arange(len(mean))
    middle = float(mean[:, axis].min() + mean[:, axis].max()) / 2
    alone = np.repeat(rows[:, None], 3, 1), np.tile([1.0, 0, 0], (len(mean), 1))
    mirror = Mirror(axis, middle, *alone, mean)
    others, away = _by_vertices(mean, mirror.of(mean))
    if away <= _OTHER_SIDE * diagonal(mean) or not len(triangles):
        return mirror._replace(vertices=others[alone[0]]), away
    corners, shares, away = _by_surface(mean, mirror.of(mean), triangles)
    return mirror._replace(vertices=corners, shares=shares), away


def mirror_of(rests: np.ndarray, triangles: np.ndarray) -> Mirror:
    """Of the mean of bodies [s][v][3], across X if it can be, as Blender mirrors, else Y or Z."""
    mean = np.asarray(rests, np.float64).mean(axis=0)
    for axis in range(3):
        mirror, away = _across(mean, triangles, axis)
        if away <= _OTHER_SIDE * diagonal(mean):
            return mirror
    raise Refusal("The mean of the bodies is no mirror image of itself: make sliders without Mirrored.")


def with_images(rests, heads, tails, triangles, bones: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Bodies [s][v][3] and heads [s][b][3], and then the images of both: [2 s]..."""
    rests, heads = np.asarray(rests, np.float64), np.asarray(heads, np.float64)
    triangles = np.asarray(triangles)
    mirror = mirror_of(rests, triangles[np.diff(np.sort(triangles, axis=1), axis=1).all(axis=1)])
    middle = heads.mean(axis=0), np.asarray(tails, np.float64).mean(axis=0)
    ends, images = np.concatenate(middle, axis=1), np.concatenate([mirror.of(end) for end in middle], axis=1)
    apart = np.linalg.norm(ends[:, None] - images[None], axis=2)
    others, away = apart.argmin(axis=0), apart.min(axis=0)
    alone = (away > 2 * _OTHER_SIDE * diagonal(rests[0])) | (others[others] != np.arange(len(others)))
    if alone.any():
        raise Refusal(
            f"{bones[int(alone.argmax())]} has no bone on the other side: make sliders without Mirrored."
        )
    return (
        np.concatenate([rests, [mirror.body(rest) for rest in rests]]),
        np.concatenate([heads, mirror.of(heads[:, others])]),
    )
