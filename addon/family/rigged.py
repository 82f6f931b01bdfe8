"""A rigged mesh as arrays, whoever rigged it: any armature that moves a mesh by vertex groups."""

from __future__ import annotations

import dataclasses

import numpy as np
from mathutils import Matrix

from .. import native
from ..base.handles import Handle, was_changed
from ..base.meshes import matrix_of, positions
from ..base.refusal import Refusal
from ..motion import sources
from ..rig import roles, standing
from . import carry

_MODES = {"EDIT", "SCULPT", "VERTEX_PAINT", "WEIGHT_PAINT", "TEXTURE_PAINT"}


@dataclasses.dataclass(frozen=True)
class Rigged:
    """A body and the skeleton in it, in the armature's space."""

    mesh: Handle
    armature: Handle
    names: list[str]  # of all bones
    joints: list[int]  # among them: those that move vertices
    parents: np.ndarray  # [b] of those, among themselves
    heads: np.ndarray  # [n][3] of all
    tails: np.ndarray
    skin: standing.Skin  # of the bones that move vertices
    space: np.ndarray  # [4][4] armature to world

    @property
    def deforming(self) -> list[str]:
        return [self.names[b] for b in self.joints]

    @property
    def rest(self) -> np.ndarray:
        """[r][3] of the vertices that it moves"""
        return self.skin.rest[self.skin.moved]

    def weights(self) -> native.Rig:
        bones, amounts = standing.sparse(self.skin.weights[self.skin.moved])
        return native.Rig(None, bones, amounts, np.ascontiguousarray(self.rest, np.float32))

    def follows(self) -> np.ndarray:
        """[2 n][r] who has a say about heads, and then tails"""
        dense = self.skin.weights[self.skin.moved]
        count = len(self.names)
        wants = np.ones((2 * count, len(dense)))
        for b, column in zip(self.joints, dense.T, strict=True):
            if column.any():
                wants[b] = wants[count + b] = column
        return wants

    def check_sources(self) -> None:
        """Refuses when what was read is gone, or another."""
        armature, mesh = self.armature.get(), self.mesh.get()
        if armature.data.bones.keys() != self.names or len(mesh.data.vertices) != len(self.skin.rest):
            raise was_changed(armature)


def armature_of(obj):
    """That which moves a mesh; None: none does."""
    if obj is None or obj.type != "MESH":
        return None
    found = (m.object for m in obj.modifiers if m.type == "ARMATURE" and m.object is not None)
    return next((mover for mover in found if mover.type == "ARMATURE"), None)


def modifier_of(obj, armature):
    return next(m for m in obj.modifiers if m.type == "ARMATURE" and m.object == armature)


def trouble(obj) -> str | None:
    """Why it is no rigged mesh to start from, in one sentence; None when it is."""
    if obj is None or obj.type != "MESH":
        return "The active object is not a mesh: make the rigged mesh the active one."
    armature = armature_of(obj)
    if armature is None:
        return f"No armature moves {obj.name}: make the rigged mesh the active one."
    if not modifier_of(obj, armature).use_vertex_groups:
        return f"{obj.name} follows Bone Envelopes, which are no weights: give it vertex groups first."
    return mode_trouble(obj) or mode_trouble(armature)


def mode_trouble(obj) -> str | None:
    if obj.mode in _MODES:
        return f"{obj.name} is in {obj.mode.replace('_', ' ').title()} Mode: leave it first."
    return None


def new_body_trouble(obj) -> str | None:
    """Why a mesh cannot be given a rig, in one sentence; None when it can."""
    if armature_of(obj) is not None:
        return f"{obj.name} is moved by {armature_of(obj).name}: remove its Armature modifier first."
    for block in (obj, obj.data):
        sentence = sources.library_trouble(block, obj.name)
        if sentence:
            return sentence
    return mode_trouble(obj)


def read(obj) -> Rigged:
    """Refuses what is no rig."""
    sentence = trouble(obj)
    if sentence:
        raise Refusal(sentence)
    armature = armature_of(obj)
    bones = armature.data.bones
    names = bones.keys()
    moving = [name for name in names if roles.moves_vertices(bones[name])]
    skin = standing.read_skin(armature, moving, [obj])
    used = skin.weights.any(axis=0)
    moving = [name for name, is_used in zip(moving, used, strict=True) if is_used]
    if len(moving) > native.MAX_BONES:
        raise Refusal(f"{len(moving)} bones of {armature.name} deform: {native.MAX_BONES} are the most.")
    tails = np.array([bone.tail_local for bone in bones], np.float64)
    return Rigged(
        Handle.of("objects", obj),
        Handle.of("objects", armature),
        names,
        [names.index(name) for name in moving],
        standing.parents_of(armature, moving),
        standing.heads_of(armature, names),
        tails,
        skin.of_bones(np.flatnonzero(used)),
        matrix_of(armature),
    )


def in_space(obj, space: np.ndarray) -> np.ndarray:
    """[v][3] a mesh at rest, seen from a space"""
    matrix = np.linalg.inv(space) @ matrix_of(obj)
    with np.errstate(invalid="ignore"):  # what is not finite is refused in words
        return positions(obj.data).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def rigid_part(matrix: np.ndarray) -> np.ndarray:
    """[4][4] location and rotation"""
    location, rotation, _ = Matrix(matrix).decompose()
    return np.array(Matrix.LocRotScale(location, rotation, None), np.float64)


def skeleton_in(rigged: Rigged, joints: np.ndarray, bodies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[n][b][3] heads and tails of all bones in bodies [n][r][3] whose joints [n][j][3] are known"""
    known = {b: joints[:, number] for number, b in enumerate(rigged.joints)}
    ends = rigged.heads, rigged.tails, rigged.follows()
    return carry.skeleton_in(*ends, known, rigged.rest, rigged.skin.moved_triangles, bodies)
