"""The root of a skeleton, when the artist says where it is.

Bones have no names before they are found, so a place in the scene says it, and the bone that moves the
surface around that place is the root,

    argmax over b of sum_v w_bv exp(-|x_v - p|^2 / 2 r^2),      r = distance to the surface + size / 50.
"""

from __future__ import annotations

import numpy as np

from .capture import Motion
from .native import Rig
from .options import Options
from .placement import diagonal

_AROUND = 1 / 50  # of the size


def bone_at(place: np.ndarray, points: np.ndarray, dense: np.ndarray) -> int:
    """place [3], points [v][3], weights [v][b]"""
    distances = np.linalg.norm(points - place, axis=1)
    reach = distances.min() + _AROUND * diagonal(points)
    near = np.exp(-0.5 * (distances / reach) ** 2)
    return int((near @ dense).argmax())


def chosen(options: Options, motion: Motion, rig: Rig, now: int) -> int:
    """The bone, -1 when it is left to the motion; `now` is the frame in which the artist chose the place."""
    if options.root == "FOUND":
        return -1
    points = rig.rest if motion.poses else motion.frames[np.abs(motion.times - now).argmin()]
    place = np.linalg.inv(motion.space) @ [*options.root_place, 1.0]
    return bone_at(place[:3], points.astype(np.float64), rig.dense_weights().astype(np.float64))
