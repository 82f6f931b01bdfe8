"""Where bones lie: heads, tails and the way their rolls face, from the region that each moves.

A region with a surface all around it is a part of a body: its bone runs through it along its longest axis,
from the end near the body's core to the other. A region whose normals agree is a patch of cloth or of skin:
its bone stands on it like a pin. Where there is a skeleton, limbs.py moves the bones into it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

_PATCH = 0.75  # length of the summed normals over the sum of their lengths
_REACH = 0.04  # share of a part's weight that lies beyond either end of its bone
_PIN = 1.6  # length, in standard deviations of a patch
_ROUND = 0.5  # how much of its length is left to a bone in a region without a long axis
_SHORTEST, _LONGEST = 0.01, 0.5  # of the size


@dataclasses.dataclass
class Bones:
    heads: np.ndarray  # [b][3]
    tails: np.ndarray  # [b][3]
    facing: np.ndarray  # [b][3] where the roll turns the bone's Z axis
    boxes: np.ndarray  # [b][8][3] corners of a box around the vertices the bone moves


def diagonal(points: np.ndarray) -> float:
    """The length of the box around the points; 1 when it has none."""
    length = float(np.linalg.norm(points.max(axis=0).astype(np.float64) - points.min(axis=0)))
    return length if length > 0 else 1.0


def vertex_normals(rest: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """[v][3] sums of the normals of a vertex's faces, as long as their areas"""
    corners = rest[triangles].astype(np.float64)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros((len(rest), 3))
    for corner in range(3):
        for axis in range(3):
            normals[:, axis] += np.bincount(triangles[:, corner], across[:, axis], len(rest))
    return normals


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


def toward_core(points: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """[b][3] for each bone the middle of what it shares with its neighbour on the way to the core.

    Bones that share weights are neighbours; the tree of the strongest ties (Prim 1957) grows from the bone
    nearest to the middle of the body. dense [v][b]. A bone without a neighbour looks at the core itself.
    """
    bones = dense.shape[1]
    ties = dense.T @ dense
    mass = np.maximum(dense.sum(axis=0), 1e-12)
    middles = dense.T @ points / mass[:, None]
    core = int(np.argmin(np.linalg.norm(middles - points.mean(axis=0), axis=1)))
    goals = np.tile(middles[core], (bones, 1))
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
    first, last = np.searchsorted(share, (_REACH, 1 - _REACH))
    return along[order[first]], along[order[min(last, len(order) - 1)]]


def _part_bone(region, weight, middle, variance, axis, goal) -> tuple[np.ndarray, np.ndarray]:
    """Head and tail of a bone that runs through its region; in a round one it ends sooner, or it would hide
    all that lies around it."""
    if (goal - middle) @ axis > 0:
        axis = -axis
    low, high = _ends((region - middle) @ axis, weight)
    roundness = np.sqrt(max(variance[1], 0.0) / max(variance[2], 1e-30))
    return middle + low * axis, middle + (high - _ROUND * roundness * (high - low)) * axis


def _within(head, tail, size: float, otherwise) -> np.ndarray:
    """The tail, moved so that the bone is neither tiny nor as long as the body."""
    length = np.linalg.norm(tail - head)
    return head + unit(tail - head, otherwise) * np.clip(length, _SHORTEST * size, _LONGEST * size)


def place(rest, dense, triangles, world=None) -> Bones:
    """rest [v][3], weights [v][b] -> places in the coordinates of the rest.

    world [3][3]: the world's axes, a row each.
    """
    world = np.eye(3) if world is None else world
    points, dense = rest.astype(np.float64), dense.astype(np.float64)
    size, normals = diagonal(rest), vertex_normals(rest, triangles)
    areas = np.linalg.norm(normals, axis=1)
    goals = toward_core(points, dense)
    bones = Bones(*(np.zeros((dense.shape[1], *shape)) for shape in ((3,), (3,), (3,), (8, 3))))
    for b, column in enumerate(dense.T):
        rows = np.flatnonzero(column)
        if not len(rows):  # moves nothing
            bones.heads[b] = bones.boxes[b] = points.mean(axis=0)
            bones.tails[b] = bones.heads[b] + _SHORTEST * size * world[2]
            continue
        region, weight = points[rows], column[rows] ** 2  # the squares: where the bone rules
        middle = weight @ region / weight.sum()
        spread = region - middle
        variance, axes = np.linalg.eigh((spread * weight[:, None]).T @ spread / weight.sum())  # rising
        bones.boxes[b] = box(region, axes)
        outward = weight @ normals[rows]
        if np.linalg.norm(outward) > _PATCH * (weight @ areas[rows]):
            head = middle
            tail = middle + unit(outward, world[2]) * _PIN * np.sqrt(max(variance[2], 0.0))
        else:
            head, tail = _part_bone(region, weight, middle, variance, axes[:, 2], goals[b])
        bones.heads[b], bones.tails[b] = head, _within(head, tail, size, world[2])
    for b, direction in enumerate(bones.tails - bones.heads):
        bones.facing[b] = facing(unit(direction, world[2]), world)
    return bones
