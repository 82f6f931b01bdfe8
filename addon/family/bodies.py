"""Meshes that may be bodies of one family: the same vertices in the same order, in other shapes.

Why two do not belong together is said in a sentence: another number of vertices, edges that join others (with
the vertices in another order, or another mesh), a scale as if one were in centimetres, a mirror image.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.meshes import edges_of
from ..base.refusal import Refusal
from ..base.rigid import nearest_rotation
from ..base.surface import diagonal

_OTHER_UNITS = 10.0  # times as large: no family has such children
_SAME_BODY = 1e-3  # of the size: shapes nearer than this are one body's
_UNSURE = 1e-2  # of the size: a body that is another by less may be the same in another pose
_MIRRORED = 0.5  # of the distance without: a mirror image fits that much better
_TOO_FAR_TO_TELL = 0.02  # of the size: shapes nearer than this fit either way


class Turned(NamedTuple):
    """The similarity that brings one body nearest to another: x -> scale rotation x + shift."""

    rotation: np.ndarray
    scale: float
    shift: np.ndarray
    distance: float  # root mean square, of the size of the other
    mirrored: bool  # a reflection would bring it much nearer

    @property
    def angle(self) -> float:
        """Radians."""
        return float(np.arccos(np.clip((np.trace(self.rotation) - 1) / 2, -1, 1)))


def turned(points: np.ndarray, other: np.ndarray, scaled: bool = True) -> Turned:
    """points, other [v][3]"""
    points, other = np.asarray(points, np.float64), np.asarray(other, np.float64)
    middle, centre = points.mean(axis=0), other.mean(axis=0)
    p, q = points - middle, other - centre
    moment, own = q.T @ p, float((p * p).sum())
    size, found = diagonal(other), []
    u, _, v = np.linalg.svd(moment)
    for rotation in (nearest_rotation(moment), u @ v):
        scale = float(np.trace(rotation.T @ moment)) / own if scaled and own > 0 else 1.0
        apart = np.sqrt(((scale * p @ rotation.T - q) ** 2).sum(axis=1).mean()) / size
        found.append((rotation, scale, float(apart)))
    (rotation, scale, distance), (_, _, reflected) = found
    mirrored = distance > _TOO_FAR_TO_TELL and reflected < _MIRRORED * distance
    return Turned(rotation, scale, centre - scale * rotation @ middle, distance, mirrored)


# ---- sentences


def _first_difference(mesh, other) -> str:
    """The first face that joins other vertices; or an edge, when only those differ."""
    for mine, theirs in zip(mesh.polygons, other.polygons, strict=False):
        a, b = list(mine.vertices), list(theirs.vertices)
        if sorted(a) != sorted(b):
            return f"face {mine.index} joins the vertices {_numbers(a)} here and {_numbers(b)} there"
    return f"it has {len(mesh.edges)} edges here and {len(other.edges)} there"


def _numbers(vertices: list[int]) -> str:
    return ", ".join(map(str, vertices[:4])) + (", ..." if len(vertices) > 4 else "")


def _in_another_order(edges: np.ndarray, others: np.ndarray, count: int) -> bool:
    """Whether as many vertices have as many neighbours in both."""
    found = [np.sort(np.bincount(pairs.ravel(), minlength=count)) for pairs in (edges, others)]
    return len(edges) == len(others) and np.array_equal(*found)


def topology_trouble(obj, other) -> str | None:
    """Why obj has not the vertices and edges of the other, in one sentence; None when it has."""
    mesh, like = obj.data, other.data
    if len(mesh.vertices) != len(like.vertices):
        return (
            f"{obj.name} has {len(mesh.vertices):,} vertices and {other.name} {len(like.vertices):,}: only"
            " meshes with the same vertices in the same order share a rig."
        )
    edges, others = edges_of(mesh), edges_of(like)
    if np.array_equal(edges, others):
        return None
    where = _first_difference(mesh, like)
    if _in_another_order(edges, others, len(mesh.vertices)):
        return (
            f"{obj.name} looks like {other.name} with its vertices in another order ({where}): export it"
            " again with the order kept."
        )
    return f"{obj.name} is another mesh than {other.name}: {where}."


def arrays_trouble(name: str, shape, other: str, like) -> str | None:
    """The same of meshes as modifiers make them; shape, like: how many vertices, and triangles [t][3]"""
    (count, triangles), (others, wanted) = shape, like
    if count != others:
        return (
            f"{name} has {count:,} vertices and {other} {others:,}: only meshes with the same vertices in the"
            " same order share a rig."
        )
    if np.array_equal(triangles, wanted):
        return None
    pairs = zip(np.sort(triangles, axis=1), np.sort(wanted, axis=1), strict=False)
    where = next((t for t, (a, b) in enumerate(pairs) if (a != b).any()), min(len(triangles), len(wanted)))
    return f"{name} joins its vertices otherwise than {other}, from triangle {where} on: it is another mesh."


def _extent(points: np.ndarray) -> float:
    """However the body is turned."""
    return float(np.sqrt(np.asarray(points, np.float64).var(axis=0).sum())) or 1.0


def shape_trouble(name: str, rest: np.ndarray, other: str, like: np.ndarray) -> str | None:
    """Why shapes [v][3] in the world's units are not of one family, in a sentence; None when they may be."""
    if not np.isfinite(rest).all():
        return f"{name} has no finite position for vertex {int(np.argmin(np.isfinite(rest).all(axis=1)))}."
    ratio = _extent(rest) / _extent(like)
    if not 1 / _OTHER_UNITS < ratio < _OTHER_UNITS:
        much = f"{ratio:.3g} times as large as" if ratio > 1 else f"{1 / ratio:.3g} times smaller than"
        return f"{name} is {much} {other}, as if its units were others: scale it first."
    if turned(rest, like).mirrored:
        return f"{name} is a mirror image of {other}: its left is the other's right, so mirror it back first."
    return None


def check(obj, other, rest: np.ndarray, like: np.ndarray) -> None:
    """Refuses what does not belong together; rest, like [v][3] in the world's units."""
    sentence = topology_trouble(obj, other) or shape_trouble(obj.name, rest, other.name, like)
    if sentence:
        raise Refusal(sentence)


# ---- the same body?


class Likeness(NamedTuple):
    same: bool
    sure: bool
    percent: float  # how far the shapes are from each other, of the size


def likeness(rest: np.ndarray, other: np.ndarray) -> Likeness:
    """Whether two rest shapes [v][3] are of one body, moved and turned at most."""
    apart = turned(rest, other, scaled=False).distance
    return Likeness(apart <= _SAME_BODY, not _SAME_BODY < apart <= _UNSURE, 100 * apart)
