"""Fit Rig to Meshes: the rig of one body, put into others that have the same vertices.

    for step in fit(scene, view_layer, active, meshes, FitOptions()): ...       # its value is Fitted

Each mesh gets a copy of the armature with joints in its own body (`ossify_place_joints`), and the weights.
Rigged meshes among them are bodies to learn from. A copy stands to its mesh as the armature stands to its
own; where the mesh lies turned, so does the copy. Bones have the names and the tree of the rig, so that
actions are shared; only locations must be as large as the body is, in actions of its own.

Axes: a rotation means the same on all bodies as long as bones have the same axes at rest, which is why they
keep them; FOLLOW turns them to where each body's own bones lead. Bones that constraints aim at each other
must follow, or they would be aimed away from their rest.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from mathutils import Matrix

from .. import native
from ..base.handles import Handle, Place, was_changed
from ..base.meshes import matrix_of
from ..base.refusal import Refusal
from ..base.steps import Step, step, watch
from ..base.surface import diagonal
from ..base.words import counted
from ..options.options import FitOptions
from ..rig import correctives, volumes
from ..rig.build import Maker, discard, present
from . import bodies, copies, rigged
from .rigged import Rigged

_LIES_TURNED = math.radians(30)  # more than a body leans by being another one
_WORTH_SCALING = 1e-3  # of the size: bodies that differ by less share locations, too


class NewBody(NamedTuple):
    """A mesh that gets a skeleton."""

    mesh: Handle
    vertices: int
    space: np.ndarray  # [4][4] of its armature to be
    rest: np.ndarray  # [v][3] in there


class Fitted(NamedTuple):
    armatures: list
    meshes: list
    known: int  # bodies that joints were learnt from
    joints: int
    notes: list[str]

    def sentence(self) -> str:
        learnt = "from one body" if self.known == 1 else f"learnt from {self.known} bodies"
        return f"{counted(len(self.meshes), 'mesh')} rigged: {counted(self.joints, 'joint')} each, {learnt}."


# ---- what is there


def trouble(active, others) -> str | None:
    """For polls: quick; whether these can be fitted, in one sentence; None when they can."""
    sentence = rigged.trouble(active)
    if sentence:
        return sentence
    new = [obj for obj in others if obj.type == "MESH" and rigged.armature_of(obj) is None]
    if not new:
        return "Select the meshes that shall have the rig, and make the rigged mesh the active one."
    return next(filter(None, map(rigged.new_body_trouble, new)), None)


def _space_of(first: Rigged, obj) -> np.ndarray:
    """[4][4] where its armature stands: to the mesh as the first's to its own, if the body then lies as
    the first does; else in the same axes of the world; else turned with the body."""
    source = first.mesh.get()
    own, like = rigged.rigid_part(matrix_of(obj)), rigged.rigid_part(matrix_of(source))
    beside = first.space.copy()
    beside[:3, 3] += own[:3, 3] - like[:3, 3]
    for space in (own @ np.linalg.inv(like) @ first.space, beside):
        if bodies.turned(first.skin.rest, rigged.in_space(obj, space)).angle <= _LIES_TURNED:
            return space
    turn = bodies.turned(rigged.in_space(source, np.eye(4)), rigged.in_space(obj, np.eye(4)))
    with_body = np.eye(4)
    with_body[:3, :3] = turn.rotation
    space = with_body @ first.space
    space[:3, 3] = turn.scale * turn.rotation @ first.space[:3, 3] + turn.shift
    return space


def _in_world(obj) -> np.ndarray:
    return rigged.in_space(obj, np.eye(4))


def new_body(first: Rigged, obj) -> NewBody:
    sentence = rigged.new_body_trouble(obj)
    if sentence:
        raise Refusal(sentence)
    source = first.mesh.get()
    bodies.check(obj, source, _in_world(obj), _in_world(source))
    space = _space_of(first, obj)
    return NewBody(Handle.of("objects", obj), len(obj.data.vertices), space, rigged.in_space(obj, space))


def _known_body(first: Rigged, obj) -> Rigged:
    """A rigged mesh to learn from; refuses another rig."""
    source = first.mesh.get()
    bodies.check(obj, source, _in_world(obj), _in_world(source))
    found = rigged.read(obj)
    missing = [name for name in first.deforming if name not in found.names]
    if missing:
        raise Refusal(
            f"{found.armature.name}, which moves {obj.name}, has no bone {missing[0]}: only rigs with the"
            " same bones can be learnt from; deselect it."
        )
    return found


def joints_in(first: Rigged, known: Rigged) -> np.ndarray:
    """[b][3] by the names of the first"""
    return known.heads[[known.names.index(name) for name in first.deforming]]


def family_of(active, others) -> tuple[list[Rigged], list[NewBody]]:
    """Bodies that are known, the first among them the one whose rig is copied, and those that are new."""
    native.library()
    first = rigged.read(active)
    meshes = [obj for obj in dict.fromkeys(others) if obj.type == "MESH" and obj != active]
    known = [_known_body(first, obj) for obj in meshes if rigged.armature_of(obj) is not None]
    new = [new_body(first, obj) for obj in meshes if rigged.armature_of(obj) is None]
    return [first, *known], new


def read(active, others) -> tuple[list[Rigged], list[NewBody]]:
    """The family; refuses when there is nothing to fit."""
    sentence = trouble(active, others)
    if sentence:
        raise Refusal(sentence)
    return family_of(active, others)


# ---- steps


def check_sources(known: list[Rigged], new: list[NewBody]) -> None:
    """Refuses when what was read is gone, or another."""
    for one in known:
        one.check_sources()
    for body in new:
        if len(body.mesh.get().data.vertices) != body.vertices:
            raise was_changed(body.mesh.get())


class _Sources(NamedTuple):
    """What `watch` asks whether it is still there."""

    known: list[Rigged]
    new: list[NewBody]

    def check_sources(self) -> None:
        check_sources(self.known, self.new)


def _notes(first: Rigged) -> list[str]:
    mesh, armature, found = first.mesh.get(), first.armature.get(), []
    if volumes.modifier_of(mesh) is not None:
        found.append(f"Keep Volume stays with {mesh.name}: it is fitted to that body alone.")
    if correctives.names_of(armature):
        found.append(f"Correctives stay with {mesh.name}: they are shapes of that body alone.")
    return found


def placed_joints(first: Rigged, known: list[Rigged], rest: np.ndarray) -> native.Job:
    """A job that puts the joints into bodies rest [n][r][3]."""
    moved = first.skin.moved
    others = np.stack([one.skin.rest[moved] for one in known]).astype(np.float32)
    joints = np.stack([joints_in(first, one) for one in known])
    given = (first.weights(), first.parents, others, joints, rest.astype(np.float32))
    return native.Job.start(native.place_joints, *given, first.skin.moved_triangles, native.Settings())


def fit(scene, view_layer, active, others, options: FitOptions) -> Generator[Step, None, Fitted]:
    """The meshes among `others` get the rig of the active one; it is one step to undo."""
    view_layer.update()
    place = Place.of(scene, view_layer)
    known, new = read(active, others)
    first, moved = known[0], known[0].skin.moved
    yield step("Reading", 1.0)
    rest = np.stack([body.rest[moved] for body in new])
    placed = yield from watch(placed_joints(first, known, rest), _Sources(known, new), 0.0, 1.0)
    heads, tails = rigged.skeleton_in(first, placed.joints, rest)
    yield step("Building", 0.5)
    _Sources(known, new).check_sources()
    return _write(place, known, new, (heads, tails), options)


def _write(place: Place, known, new, ends, options: FitOptions) -> Fitted:
    """All of it, or nothing."""
    first, maker, undone, armatures = known[0], Maker(), [], []
    source, armature = first.mesh.get(), first.armature.get()
    size, groups = diagonal(first.rest), copies.groups_of(source, first.names)
    aimed = any(len(bone.constraints) for bone in armature.pose.bones)
    follow = aimed if options.axes == "AUTO" else options.axes == "FOLLOW"
    try:
        for body, heads, tails in zip(new, *ends, strict=True):
            obj = body.mesh.get()
            copy = copies.copy_armature(maker, armature, f"{obj.name} Rig", Matrix(body.space))
            copies.lay(copy, first.names, heads, tails, follow)
            ratio = diagonal(body.rest[first.skin.moved]) / size
            if abs(ratio - 1) > _WORTH_SCALING:
                copies.scale_locations(maker, copy, ratio)
            undone.append(copies.Bound(obj))
            copies.bind(obj, copy, rigged.modifier_of(source, armature), groups)
            armatures.append(copy)
    except BaseException:
        for bound in reversed(undone):
            bound.restore()
        discard(maker.made)
        raise
    _, layer = place.get()
    layer.update()
    meshes = [body.mesh.get() for body in new]
    present(layer, [*armatures, *meshes])
    return Fitted(armatures, meshes, len(known), len(first.joints), _notes(first))
