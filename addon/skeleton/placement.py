"""Where bones lie: heads, tails and the way their rolls face, from the region that each moves.

A region with a surface all around it is a part of a body: its bone runs through it along its longest axis,
from the end near the body's core to the other. A region whose normals agree is a patch of cloth or of skin:
its bone stands on it like a pin. Where there is a skeleton, limbs.py moves the bones into it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..base.surface import diagonal, vertex_areas, vertex_normals

_PATCH = 0.75  # agreement of normals from which on a region is a patch;
_BUMP = 0.5  # that of half a ball: from there on one among patches is, as a nose in a face
_FACE, _HEAD = 0.55, 0.5  # mean agreement and share of the surface: patches on a bone that has as much of it
_RULES = 0.5  # of the largest weight of a vertex: a bone with less does not rule it
_BEYOND = 0.04  # share of a part's weight that lies beyond either end of its bone
_PIN = 2.5  # length, in standard deviations of a patch across
_SHORTENED = 0.5  # how much of its length is left to a bone in a region without a long axis
SHORTEST, LONGEST = 0.01, 0.5  # that a bone may be, of the size


@dataclasses.dataclass
class Bones:
    heads: np.ndarray  # [b][3]
    tails: np.ndarray  # [b][3]
    facing: np.ndarray  # [b][3] where the roll turns the bone's Z axis
    boxes: np.ndarray  # [b][8][3] corners of a box around the vertices the bone moves


def rule(dense: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """[v][b] how much of the surface each bone rules: the squares of the larger weights of its vertices.

    What a bone only lends a hand to tells nothing of its place, unless there is nothing else.
    """
    squares = dense.astype(np.float64) ** 2 * areas[:, None]
    ruled = np.where(dense >= _RULES * dense.max(axis=1, keepdims=True), squares, 0.0)
    return np.where(ruled.sum(axis=0) > 0, ruled, squares)


def agreements(rest: np.ndarray, dense: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """[b] length of a region's summed normals over the sum of their lengths: 0 around a part, 1 on a sheet"""
    normals, squares = vertex_normals(rest, triangles), dense.astype(np.float64) ** 2
    sums = np.linalg.norm(squares.T @ normals, axis=1)
    return sums / np.maximum(squares.T @ np.linalg.norm(normals, axis=1), 1e-30)


def moves_patches(rest: np.ndarray, dense: np.ndarray, triangles: np.ndarray) -> bool:
    """Whether the bones move patches of cloth, or of the skin of a head: there are no joints between them."""
    return _are_patches(agreements(rest, dense, triangles), vertex_areas(rest, triangles) @ dense)


def _are_patches(agreed: np.ndarray, shares: np.ndarray) -> bool:
    """agreed, shares of the surface [b]"""
    if not (shares > 0).any():
        return False
    mean = agreed[shares > 0].mean()
    return bool(mean > _PATCH or (mean > _FACE and shares.max() > _HEAD * shares.sum()))


def box(points: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """[8][3] corners of the box along `axes` (columns) around the points"""
    along = points @ axes
    sides = np.array([along.min(axis=0), along.max(axis=0)])
    corners = [[sides[i, 0], sides[j, 1], sides[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    return np.array(corners) @ axes.T


def unit(vector: np.ndarray, otherwise) -> np.ndarray:
    length = np.linalg.norm(vector)
    return vector / length if length > 1e-9 else np.asarray(otherwise, float)


def facing(direction: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Bones that stand up face the front, the others face up, so that neighbours bend about like axes."""
    return world[2] if abs(direction @ world[2]) < 0.7 else -world[1]


def toward_core(points: np.ndarray, dense: np.ndarray, areas: np.ndarray, world: np.ndarray) -> np.ndarray:
    """[b][3] for each bone the middle of what it shares with its neighbour on the way to the core.

    Bones that share weights are neighbours; the tree of the strongest ties (Prim 1957) grows from the bone
    that moves most of the surface, the core. dense [v][b], areas [v]. A bone without a neighbour looks at the
    core itself, and the core's own goal is below and behind it: that bone points up, or to the front.
    """
    bones = dense.shape[1]
    ties = dense.T @ dense
    core = int(np.argmax(areas @ dense))
    goals = np.tile(dense[:, core] @ points / max(dense[:, core].sum(), 1e-12), (bones, 1))
    goals[core] -= diagonal(points) * (world[2] - world[1] / 2)
    best, source = ties[core].copy(), np.full(bones, core)
    done = np.arange(bones) == core
    while not done.all():
        b = int(np.argmax(np.where(done, -1.0, best)))
        if best[b] > 0:
            shared = dense[:, b] * dense[:, source[b]]
            goals[b] = shared @ points / shared.sum()
        done[b] = True
        closer = ties[b] > best
        best[closer], source[closer] = ties[b][closer], b
    return goals


def _ends(along: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Between which all of the weight lies but for a little at either end."""
    order = np.argsort(along)
    share = np.cumsum(weight[order]) / weight.sum()
    first, last = np.searchsorted(share, (_BEYOND, 1 - _BEYOND))
    return along[order[first]], along[order[min(last, len(order) - 1)]]


def _part_bone(region, weight, middle, variance, axis, goal) -> tuple[np.ndarray, np.ndarray]:
    """Head and tail of a bone that runs through its region; in a round one it ends sooner, or it would hide
    all that lies around it."""
    if (goal - middle) @ axis > 0:
        axis = -axis
    low, high = _ends((region - middle) @ axis, weight)
    roundness = np.sqrt(max(variance[1], 0.0) / max(variance[2], 1e-30))
    return middle + low * axis, middle + (high - _SHORTENED * roundness * (high - low)) * axis


def _within(head, tail, size: float, otherwise) -> np.ndarray:
    """The tail, moved so that the bone is neither tiny nor as long as the body."""
    length = np.linalg.norm(tail - head)
    return head + unit(tail - head, otherwise) * np.clip(length, SHORTEST * size, LONGEST * size)


def place(rest, dense, triangles, world=None) -> Bones:
    """rest [v][3], weights [v][b] -> places in the coordinates of the rest.

    world [3][3]: the world's axes, a row each.
    """
    world = np.eye(3) if world is None else world
    points, dense = rest.astype(np.float64), dense.astype(np.float64)
    size, normals = diagonal(rest), vertex_normals(rest, triangles)
    areas, agreed = vertex_areas(rest, triangles), agreements(rest, dense, triangles)
    ruled, goals = rule(dense, areas), toward_core(points, dense, areas, world)
    flat = _BUMP if _are_patches(agreed, areas @ dense) else _PATCH
    bones = Bones(*(np.zeros((dense.shape[1], *shape)) for shape in ((3,), (3,), (3,), (8, 3))))
    for b, column in enumerate(dense.T):
        rows = np.flatnonzero(column)
        if not len(rows):  # moves nothing
            bones.heads[b] = bones.boxes[b] = points.mean(axis=0)
            bones.tails[b] = bones.heads[b] + SHORTEST * size * world[2]
            continue
        region, weight = points[rows], ruled[rows, b]
        middle = weight @ region / weight.sum()
        spread = region - middle
        variance, axes = np.linalg.eigh((spread * weight[:, None]).T @ spread / weight.sum())  # rising
        bones.boxes[b] = box(region, axes)
        if agreed[b] > flat:
            head = middle
            across = np.sqrt(max(variance[1], 0.0))  # the pin of a long strip is not longer than it is wide
            tail = middle + unit(weight @ normals[rows], world[2]) * _PIN * across
        else:
            head, tail = _part_bone(region, weight, middle, variance, axes[:, 2], goals[b])
        bones.heads[b], bones.tails[b] = head, _within(head, tail, size, world[2])
    for b, direction in enumerate(bones.tails - bones.heads):
        bones.facing[b] = facing(unit(direction, world[2]), world)
    return bones
