"""Body Bones: one rig for a whole family without shape keys, as engines without morphs want it.

    for step in make(scene, view_layer, active, others, BodyBonesOptions()): ...       # its value is Made

Shape bones turn the mean body into each of the bodies, and hang among the bones of the rig (`ossify_merge`,
docs/subjects.md); a pose in the pose library sets them to each body. The library solves them on the bodies at
rest and in poses that are made up, so that weights hold when the rig is posed.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from mathutils import Quaternion, Vector

from .. import native
from ..base.handles import Place
from ..base.meshes import matrix_of
from ..base.refusal import Refusal
from ..base.steps import Step, step, watch
from ..base.surface import diagonal
from ..base.words import counted
from ..options.options import BodyBonesOptions
from . import bone_bodies, shapes, whole
from .rigged import Rigged

_POSES = 3  # made up for each body
_SWING = 0.35  # radians an axis
_PLAIN = {"fairness": 0, "locality": False}  # of shapes: no motion says that weights be smooth


class Made(NamedTuple):
    armature: object
    mesh: object
    bones: int
    bodies: int
    left: float  # percent of the size

    def sentence(self) -> str:
        return (
            f"{counted(self.bones, 'shape bone')} for {self.bodies} bodies, a pose of the library for each:"
            f" they miss the bodies by {self.left:.2g} % of the size."
        )


def trouble(active, others) -> str | None:
    """For polls: quick; why there can be no shape bones, in one sentence; None when there can."""
    sentence = whole.trouble(active, others)
    if sentence:
        return sentence
    if active.data.shape_keys is not None:
        return f"{active.name} has shape keys, which are shapes of that body alone: use a rig without."
    return None


# ---- what the library is given


def _one_tree(parents: np.ndarray) -> np.ndarray:
    """Roots beside the first one hang from it: merging wants one tree."""
    root = int(np.flatnonzero(parents < 0)[0])
    found = np.where(parents < 0, root, parents).astype(np.int32)
    found[root] = -1
    return found


def _turn(vector: np.ndarray) -> np.ndarray:
    """[3][3] by its length, about its direction"""
    return np.array(Quaternion(Vector(vector), float(np.linalg.norm(vector))).to_matrix(), np.float64)


def _posed(parents: np.ndarray, joints: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """[b][3][4] what bones do whose joints [b][3] are turned [b][3][3]"""
    own = np.concatenate([turns, joints[:, :, None] - turns @ joints[:, :, None]], axis=2)
    found: dict[int, np.ndarray] = {}

    def of(b: int) -> np.ndarray:
        if b not in found:
            found[b] = own[b] if parents[b] < 0 else _after(of(int(parents[b])), own[b])
        return found[b]

    return np.array([of(b) for b in range(len(parents))])


def _after(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([a[:, :3] @ b[:, :3], a[:, :3] @ b[:, 3:] + a[:, 3:]], axis=1)


class Poses(NamedTuple):
    frames: np.ndarray  # [f][v][3]
    subject: np.ndarray  # [f]
    transforms: np.ndarray  # [f][b][3][4]


def _made_up(dense: np.ndarray, parents, rests: np.ndarray, joints: np.ndarray) -> Poses:
    random, frames, transforms = np.random.default_rng(0), [], []
    for rest, own in zip(rests, joints, strict=True):
        for _ in range(_POSES):
            turns = [_turn(_SWING * way) for way in random.standard_normal((len(parents), 3))]
            moved = _posed(parents, own, np.array(turns))
            at = np.einsum("vb,bij->vij", dense, moved)
            frames.append(np.einsum("vij,vj->vi", at[:, :, :3], rest) + at[:, :, 3])
            transforms.append(moved)
    subject = np.repeat(np.arange(len(rests), dtype=np.int32), _POSES)
    return Poses(np.array(frames, np.float32), subject, np.array(transforms))


def _solve(family: whole.Family, rests: np.ndarray, joints: np.ndarray, count: int):
    """rests [s][r][3], joints [s][j][3] -> the rig of the mean body, and its tree"""
    first, parents = family.first, _one_tree(family.first.parents)
    triangles, weights = first.skin.moved_triangles, first.weights()
    dense = weights.dense_weights().astype(np.float64)
    poses = _made_up(dense, parents, rests, joints)
    bodies = rests.astype(np.float32)
    asked = native.Settings(bones=count, **_PLAIN)
    shape, _ = yield from watch(
        native.Job.start(native.shape_bones, bodies, triangles, asked), family, 0.0, 0.3
    )
    pose = native.Rig(poses.transforms, weights.influence_bones, weights.influence_weights, weights.rest)
    given = bodies, poses.frames, poses.subject, pose, parents, joints, shape, triangles
    rig, tree, _ = yield from watch(native.Job.start(native.merge, *given), family, 0.3, 0.7)
    return rig, tree


def _left(rig: native.Rig, tree: native.Merged, rests: np.ndarray) -> float:
    """What shape bones miss of the bodies at rest, root mean square, percent of the size"""
    dense, missed = rig.dense_weights().astype(np.float64), []
    for own, rest in zip(tree.shapes, rests, strict=True):
        at = np.einsum("vb,bij->vij", dense, own)
        shown = np.einsum("vij,vj->vi", at[:, :, :3], rig.rest.astype(np.float64)) + at[:, :, 3]
        missed.append(((shown - rest) ** 2).sum(axis=1).mean() / diagonal(rest) ** 2)
    return float(100 * np.sqrt(np.mean(missed)))


# ---- steps


def _mean(first: Rigged, rig: native.Rig, rests: np.ndarray) -> np.ndarray:
    """[v][3] the mean body, with the vertices that no bone moves"""
    found = rests.mean(axis=0)
    found[first.skin.moved] = rig.rest
    return found


def make(scene, view_layer, active, others, options: BodyBonesOptions) -> Generator[Step, None, Made]:
    """One step to undo; the rig that is copied is hidden."""
    view_layer.update()
    place, family = Place.of(scene, view_layer), whole.read(active, others, trouble)
    first, moved = family.first, family.first.skin.moved
    if len(first.joints) + options.count > native.MAX_BONES:
        raise Refusal(f"{native.MAX_BONES} bones are the most: ask for fewer shape bones.")
    yield step("Reading", 1.0)
    heads, tails = yield from whole.skeletons(family)
    rests, ends = shapes.in_one_place(family.rests(), np.concatenate([heads, tails], axis=1))
    heads, tails = np.split(ends, 2, axis=1)
    rig, tree = yield from _solve(family, rests[:, moved], heads[:, first.joints], options.count)
    yield step("Building", 0.5)
    family.check_sources()
    laid = bone_bodies.lay_out(first, tree, heads, tails, rig)
    to_mesh = np.linalg.inv(matrix_of(first.mesh.get())) @ first.space
    mean, names = _mean(first, rig, rests), family.names

    def build(maker, armature, mesh) -> None:
        bone_bodies.build(maker, (armature, mesh), laid, names)
        bone_bodies.reshape(mesh, mean @ to_mesh[:3, :3].T + to_mesh[:3, 3])

    armature, mesh = whole.write(place, first, "Bodies", build)
    return Made(armature, mesh, len(laid.shapes), len(rests), _left(rig, tree, rests[:, moved]))
