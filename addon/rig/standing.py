"""A rig that stands in the scene, as arrays: what joining, refitting and tracking start from.

Weights are those of the vertex groups, and transforms what Blender evaluates in the frames asked for, so what
was painted or posed since the rig was made counts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Collection
from typing import NamedTuple

import bpy
import numpy as np

from .. import native
from ..base.handles import Handle, was_changed
from ..base.meshes import matrices_of, matrix_of, positions, triangles_of
from ..base.refusal import Refusal
from ..base.rigid import nearest_rotation
from ..native.animator import STIFFNESS
from ..options.options import holds
from . import roles, virtual_bones, volumes
from .armature import edit_mode

WEIGHTLESS = 1e-4  # a vertex with less weight is not moved, as for Blender's modifier


def is_rig(obj) -> bool:
    """Whether Ossify made the object as a rig; None is none."""
    return obj is not None and obj.type == "ARMATURE" and bool(obj.ossify.version)


def meshes_of(armature) -> list:
    """The meshes that the armature moves."""
    return [
        obj
        for obj in armature.children
        if obj.type == "MESH"
        and not volumes.is_probe(obj)
        and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers)
    ]


def followers(armature, own: list) -> list:
    """Meshes that the armature moves as well, although the rig was not made with them: copies, clothes."""
    return [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH"
        and obj not in own
        and not volumes.is_probe(obj)
        and obj.data.library is None
        and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers)
    ]


def bone_names(armature) -> list[str]:
    """Of the bones that deform, by themselves or by way of virtual bones."""
    return [bone.name for bone in armature.data.bones if roles.moves_vertices(bone)]


def check(armature) -> None:
    """Refuses what is no longer a rig of Ossify's."""
    if roles.root_of(armature) is None:
        root = roles.ROOT_NAME
        again = "" if roles.is_told(armature) else f"call it {root} again if it was renamed, or "
        raise Refusal(f"{armature.name} has lost its bone {root}, which carries the body: {again}undo that.")
    if not bone_names(armature):
        raise Refusal(f"{armature.name} has no bone left that deforms a mesh: undo that, or convert again.")


def with_bones(armature, names: list[str]):
    """The armature itself; refuses when some of the bones that it had are gone."""
    if not set(names) <= set(armature.data.bones.keys()):
        raise was_changed(armature)
    return armature


def _only_turns(armature, name: str) -> bool:
    bone, pose = armature.data.bones[name], armature.pose.bones[name]
    held = holds(armature.ossify.settings) and not roles.is_helper(bone)
    return held or bone.use_connect or all(pose.lock_location)


def heads_of(armature, names: list[str]) -> np.ndarray:
    """[b][3]"""
    return np.array([armature.data.bones[name].head_local for name in names], np.float64).reshape(-1, 3)


def parents_of(armature, names: list[str]) -> np.ndarray:
    """[b] the nearest of the names above each; -1: there is none"""
    number = {name: b for b, name in enumerate(names)}
    lines = ([above.name for above in armature.data.bones[name].parent_recursive] for name in names)
    return np.array([next((number[n] for n in line if n in number), -1) for line in lines], np.int32)


def turning_parents(armature, names: list[str], pinned: Collection[str] = ()) -> np.ndarray:
    """[b] the same of bones that only turn, the pinned ones among them; -1 also where the bone moves"""
    turns = np.array([name in pinned or _only_turns(armature, name) for name in names], bool)
    return np.where(turns, parents_of(armature, names), -1).astype(np.int32)


class Ties(NamedTuple):
    """Joints for the library: those that hold, and those of helpers, which are pulled together."""

    parents: np.ndarray  # [b] -1: free to move
    stiffness: np.ndarray | None  # [b] 0: holds; None: all do


def helping(armature, names: list[str]) -> np.ndarray:
    """[b] whether it is a helper; one that is still to come is none"""
    bones = armature.data.bones
    return np.array([name in bones and roles.is_helper(bones[name]) for name in names], bool)


def softness(armature, names: list[str], parents) -> np.ndarray | None:
    """[b] how stiff the joints of helpers to their parents are, 0 of others; None: there is no helper"""
    soft = helping(armature, names) & (np.asarray(parents) >= 0)
    return np.where(soft, STIFFNESS, 0.0) if soft.any() else None


def ties(armature, names: list[str], turning: np.ndarray) -> Ties:
    """turning [b]: what bones only turn against; -1 where they also move, as helpers do"""
    soft = helping(armature, names) & (turning < 0)
    parents = np.where(soft, parents_of(armature, names), turning).astype(np.int32)
    return Ties(parents, softness(armature, names, np.where(soft, parents, -1)))


# ---- weights


def _in_groups(obj, names: list[str]) -> np.ndarray:
    """[v][b] float32"""
    weights = np.zeros((len(obj.data.vertices), len(names)), np.float32)
    columns = {obj.vertex_groups[name].index: b for b, name in enumerate(names) if name in obj.vertex_groups}
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            if group.group in columns:
                weights[vertex.index, columns[group.group]] = group.weight
    return weights


def painted(obj, names: list[str]) -> np.ndarray:
    """[v][b] float32 as they are in the vertex groups, whatever their sum; through virtual bones, D A"""
    blends, weights = virtual_bones.of_mesh(obj), _in_groups(obj, names)
    if blends is None:
        return weights
    shares = np.zeros((len(blends.names), len(names)))
    for b, name in enumerate(names):
        if name in blends.masters:
            weights[:, b], shares[:, b] = 0, blends.shares[:, blends.masters.index(name)]
    return weights + (_in_groups(obj, blends.names) @ shares).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class Skin:
    """The meshes of a rig, one after the other."""

    handles: list[Handle]  # of the meshes
    slices: list[slice]  # their rows
    rest: np.ndarray  # [v][3] float64 in the armature's space
    painted: np.ndarray  # [v][b] float32
    triangles: np.ndarray  # [t][3] int32; a loose edge is a triangle with a corner twice

    @property
    def meshes(self) -> list:
        """The objects, as they are found now."""
        return [handle.get() for handle in self.handles]

    @functools.cached_property
    def total(self) -> np.ndarray:
        """[v] float64 sums of what is painted"""
        return self.painted.sum(axis=1, dtype=np.float64)

    @functools.cached_property
    def moved(self) -> np.ndarray:
        """[v] whether the armature moves the vertex"""
        return self.total > WEIGHTLESS

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """[v][b] float64 as Blender's modifier uses them: with a sum of 1, or all 0"""
        return self.painted / np.where(self.moved, self.total, np.inf)[:, None]

    @functools.cached_property
    def moved_triangles(self) -> np.ndarray:
        """[t][3] of moved vertices alone, which count from 0"""
        number = np.cumsum(self.moved) - 1
        return number[self.triangles[self.moved[self.triangles].all(axis=1)]].astype(np.int32)

    def of_bones(self, columns) -> Skin:
        """With some of the bones, in this order."""
        return dataclasses.replace(self, painted=np.ascontiguousarray(self.painted[:, columns]))


def read_followed(armature, names: list[str], meshes: list) -> Skin:
    """With the groups of these bones themselves, virtual ones, too."""
    return read_skin(armature, names, meshes, [_in_groups(obj, names) for obj in meshes])


def read_skin(armature, names: list[str], meshes: list | None = None, groups: list | None = None) -> Skin:
    """Of all meshes that the armature moves, or of some; groups: what is painted on each, if that is known"""
    back = np.linalg.inv(matrix_of(armature))
    meshes = meshes_of(armature) if meshes is None else meshes
    groups = [painted(obj, names) for obj in meshes] if groups is None else groups
    slices, rests, triangles, count = [], [], [], 0
    for obj in meshes:
        matrix = back @ matrix_of(obj)
        rests.append(positions(obj.data).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3])
        triangles.append(triangles_of(obj.data) + count)
        slices.append(slice(count, count + len(rests[-1])))
        count += len(rests[-1])
    handles = [Handle.of("objects", obj) for obj in meshes]
    arrays = map(np.concatenate, (rests, groups, triangles))
    skin = Skin(handles, slices, *arrays) if meshes else None
    if skin is None or not skin.moved.any():
        raise Refusal(f"{armature.name} has no mesh with vertex groups of its bones.")
    return skin


def sparse(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The strongest influences of each vertex, as the library wants them; rows of 0 stay unused."""
    most = min(max(int((dense > 0).sum(axis=1).max()), 1), native.MAX_INFLUENCES)
    bones = np.argsort(-dense, axis=1, kind="stable")[:, :most]
    weights = np.take_along_axis(dense, bones, axis=1)
    total = weights.sum(axis=1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1)
    return np.where(weights > 0, bones, -1).astype(np.int32), weights.astype(np.float32)


def replayable(rig: native.Rig) -> native.Rig:
    """A vertex without weights counts as one of the first bone: the library wants all of them to move."""
    lost = (rig.influence_bones < 0).all(axis=1)
    if not lost.any():
        return rig
    bones, weights = rig.influence_bones.copy(), rig.influence_weights.copy()
    bones[lost, 0], weights[lost, 0] = 0, 1
    return native.Rig(rig.transforms, bones, weights, rig.rest)


# ---- transforms


def read_transforms(armature, scene, layer, names: list[str], times) -> np.ndarray:
    """[f][b][4][4] rest to frame, as Blender evaluates them; the scene's frame stays"""
    before = scene.frame_current, scene.frame_subframe
    here, known = armature.pose.bones.keys(), armature.data.bones.keys()
    shown, own = [here.index(name) for name in names], [known.index(name) for name in names]
    rests = matrices_of(armature.data.bones, "matrix_local")[own]
    poses = np.empty((len(times), len(names), 4, 4))
    try:
        for row, time in enumerate(times):
            scene.frame_set(int(time))
            bones = armature.evaluated_get(layer.depsgraph).pose.bones
            poses[row] = matrices_of(bones, "matrix")[shown]
    finally:
        scene.frame_set(before[0], subframe=before[1])
    return poses @ np.linalg.inv(rests)


@contextlib.contextmanager
def alone(armature, meshes=()):
    """A scene, and its view layer, in which the rig is played by itself: that is quick, and the artist's
    scene stays in its frame. What the rig depends on is evaluated with it."""
    pose, hidden = armature.data.pose_position, armature.hide_viewport
    scene = bpy.data.scenes.new("Ossify Workshop")
    try:
        armature.data.pose_position, armature.hide_viewport = "POSE", False
        for obj in (armature, *meshes):
            scene.collection.objects.link(obj)
        yield scene, scene.view_layers[0]
    finally:
        armature.data.pose_position, armature.hide_viewport = pose, hidden
        bpy.data.scenes.remove(scene)


@contextlib.contextmanager
def editing(armature):
    """Its edit bones, wherever it is: Edit Mode wants an object that is in a view layer and not disabled."""
    with alone(armature) as (scene, layer), edit_mode(armature, scene, layer) as bones:
        yield bones


def rigid(transforms: np.ndarray) -> np.ndarray:
    """The same without what rounding, or a scale, has done to the rotations."""
    result = transforms.copy()
    result[..., :3, :3] = nearest_rotation(result[..., :3, :3])
    return result
