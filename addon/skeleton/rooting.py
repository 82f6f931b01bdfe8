"""The root of a skeleton: where the artist says, or in the middle of the body.

Bones have no names before they are found, so a place in the scene says it, and the bone that moves the
surface around that place is the root,

    argmax over b of sum_v w_bv exp(-|x_v - p|^2 / 2 r^2),      r = distance to the surface + size / 50.

When nothing is said the library takes the bone that turns least. That can be a head that looks ahead or a
foot that stands, and all of the body would hang from it: then of the bones with no more than three quarters
of the surface to one side the one that turns least is taken. There always is one. A chain without branches
keeps the root that it has.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from .. import native
from ..base.surface import diagonal, vertex_areas
from ..native import Rig, Skeleton, Wishes
from ..options.options import Options
from .limbs import masses_below

if TYPE_CHECKING:  # capture reads Blender's scenes; roots are found without one
    from ..motion.capture import Motion

_AROUND = 1 / 50  # of the size
_ONE_SIDE = 3 / 4  # of the surface: a bone with more of it to one side is an end of the body


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


def _largest_sides(skeleton: Skeleton, mass: np.ndarray) -> np.ndarray:
    """[b] the largest share of the root's tree that hangs together without the bone; 1 in other trees"""
    parents = skeleton.parents
    tops = np.arange(len(parents))
    while (parents[tops] >= 0).any():
        tops = np.where(parents[tops] >= 0, parents[tops], tops)
    below = masses_below(parents, mass)
    whole = max(below[skeleton.root], 1e-30)
    result = 1 - below / whole
    for b in np.flatnonzero(parents >= 0):
        result[parents[b]] = max(result[parents[b]], below[b] / whole)
    return np.where(tops == skeleton.root, result, 1.0)


def _is_chain(skeleton: Skeleton) -> bool:
    """A snake, a rope or a tentacle hangs from an end as well as from anywhere."""
    parents = skeleton.parents[skeleton.parents >= 0]
    children = np.bincount(parents, minlength=len(skeleton.parents))
    return bool(children[skeleton.root] <= 2 and (np.delete(children, skeleton.root) <= 1).all())


def balanced(skeleton: Skeleton, rig: Rig, triangles: np.ndarray) -> int:
    """The bone that shall be the root: the one that is, unless it is an end of the body."""
    dense = rig.dense_weights().astype(np.float64)
    sides = _largest_sides(skeleton, vertex_areas(rig.rest, triangles) @ dense)
    if sides[skeleton.root] <= _ONE_SIDE or _is_chain(skeleton):
        return skeleton.root
    inner = np.flatnonzero(sides <= _ONE_SIDE)
    alone = inner[(skeleton.mirrors[inner] < 0) | (skeleton.mirrors[inner] == inner)]
    inner = alone if len(alone) else inner
    turns = ((rig.transforms[:, inner, :, :3] - np.eye(3)) ** 2).sum(axis=(0, 2, 3))
    return int(inner[turns.argmin()])


def connect(rig: Rig, triangles: np.ndarray, wishes: Wishes, settings=None) -> Skeleton:
    """Joins the bones to a skeleton, with a root that the body hangs from."""
    skeleton = native.connect(rig, triangles, wishes, settings)
    root = skeleton.root if wishes.root >= 0 else balanced(skeleton, rig, triangles)
    if root == skeleton.root:
        return skeleton
    return native.connect(rig, triangles, dataclasses.replace(wishes, root=root), settings)
