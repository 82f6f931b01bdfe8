"""Poses that layers are solved for: the motion of the rig, and every bone by itself turned about its head.

    x[f][v] = sum_b W[v][b] M[f][b] p[v]

From its own motion alone, bones that always move together could stand in for each other, and a part far away
would move when an artist poses one of them. The turns tell them apart.
"""

from __future__ import annotations

import math

import numpy as np

from ..base.meshes import matrices_of
from ..rig import played, standing
from ..rig.keys import action_of

MOST_FRAMES = 120  # of the motion, spread over all of it
_TURN = math.radians(30)
_MOTIONLESS = 1e-5  # of a transform's entries, in sizes


def _times(armature, scene) -> list[int]:
    """Frames of its action, or else of the scene."""
    action = action_of(armature)
    first, last = action.frame_range if action is not None else (scene.frame_start, scene.frame_end)
    every = np.arange(math.floor(first), math.ceil(last) + 1)
    some = np.linspace(0, len(every) - 1, min(len(every), MOST_FRAMES)).round().astype(int)
    return every[some].tolist()


def motion(armature, scene, names: list[str], size: float) -> np.ndarray:
    """[f][b][4][4] rest to frame; no frames: nothing moves"""
    if standing.is_rig(armature) and len(armature.ossify.frames) and played.trouble(armature) is None:
        found = played.read_transforms(armature, names)
        rows = np.linspace(0, len(found) - 1, min(len(found), MOST_FRAMES)).round().astype(int)
        found = found[rows]
    else:
        with standing.alone(armature) as (own, layer):
            found = standing.read_transforms(armature, own, layer, names, _times(armature, scene))
    scaled = found / np.array([[1, 1, 1, size]] * 3 + [[1, 1, 1, 1]])
    moves = len(found) > 0 and np.abs(scaled - scaled[:1]).max() > _MOTIONLESS
    return found if moves else found[:0]


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """[3][3] about an axis of length 1"""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def turned(heads: np.ndarray, axes: np.ndarray, parents: np.ndarray, angle: float = _TURN) -> np.ndarray:
    """[2 b][b][4][4] each bone turned about its head [b][3] and two axes [b][2][3], with all that hang from
    it"""
    below = [[b] for b in range(len(heads))]
    for b, parent in enumerate(parents.tolist()):
        while parent >= 0:
            below[parent].append(b)
            parent = int(parents[parent])
    found = np.tile(np.eye(4), (2 * len(heads), len(heads), 1, 1))
    for b, head in enumerate(heads):
        for side in range(2):
            turn = _rotation(axes[b, side] / np.linalg.norm(axes[b, side]), angle)
            found[2 * b + side, below[b], :3, :3] = turn
            found[2 * b + side, below[b], :3, 3] = head - turn @ head
    return found


def turns(armature, names: list[str]) -> np.ndarray:
    """The same of bones that lie in an armature, about their own X and Z."""
    known = armature.data.bones.keys()
    rests = matrices_of(armature.data.bones, "matrix_local")[[known.index(name) for name in names]]
    axes = rests[:, :3, [0, 2]].swapaxes(1, 2)
    return turned(rests[:, :3, 3], axes, standing.parents_of(armature, names))


def replay(rest: np.ndarray, dense: np.ndarray, transforms: np.ndarray) -> np.ndarray:
    """[f][v][3] float32"""
    points = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    frames = np.empty((len(transforms), len(rest), 3), np.float32)
    for frame, matrices in zip(frames, transforms[:, :, :3], strict=True):
        blended = (dense @ matrices.reshape(len(matrices), 12)).reshape(-1, 3, 4)
        frame[:] = np.einsum("vrc,vc->vr", blended, points)
    return frames
