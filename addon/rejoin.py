"""A rig's skeleton made anew from the rig itself, with what the artist wants of it: no solving.

Weights are those of the vertex groups, and transforms what Blender evaluates in the rig's own frames, so what
was painted or posed since counts. The bones stay the same data: they get other parents, places, names and
keys, and what an artist has added to them is kept.
"""

from __future__ import annotations

import bpy
import numpy as np

from . import keys, native
from .armature import ROOT, Keyed, key, plan_bones, rearrange
from .capture import positions
from .options import Options, Refusal
from .rigid import nearest_rotation

_WEIGHTLESS = 1e-4  # as for Blender's modifier


def meshes_of(armature) -> list:
    """The meshes that the armature moves."""
    return [
        obj
        for obj in armature.children
        if obj.type == "MESH" and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers)
    ]


def bone_names(armature) -> list[str]:
    """Of the bones that deform."""
    return [bone.name for bone in armature.data.bones if bone.use_deform]


# ---- the rig as arrays


def _dense(obj, names: list[str]) -> np.ndarray:
    """[v][b]"""
    weights = np.zeros((len(obj.data.vertices), len(names)))
    columns = {obj.vertex_groups[name].index: b for b, name in enumerate(names) if name in obj.vertex_groups}
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            if group.group in columns:
                weights[vertex.index, columns[group.group]] = group.weight
    return weights


def _corners(mesh) -> np.ndarray:
    """[t][3]"""
    mesh.calc_loop_triangles()
    corners = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", corners)
    return corners.reshape(-1, 3)


def _skin(armature, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """rest [v][3] in the armature's space, weights [v][b] with a sum of 1, triangles; of what is moved"""
    back = np.linalg.inv(np.array(armature.matrix_world, np.float64))
    rests, weights, triangles, count = [np.empty((0, 3))], [np.empty((0, len(names)))], [], 0
    for obj in meshes_of(armature):
        matrix = back @ np.array(obj.matrix_world, np.float64)
        rests.append(positions(obj.data).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3])
        weights.append(_dense(obj, names))
        triangles.append(_corners(obj.data) + count)
        count += len(rests[-1])
    rest, dense = np.concatenate(rests), np.concatenate(weights)
    total = dense.sum(axis=1)
    moved = total > _WEIGHTLESS
    if not moved.any():
        raise Refusal(
            f"{armature.name} has no mesh with vertex groups of its bones: there is nothing to join."
        )
    corners = np.concatenate(triangles)
    number = np.cumsum(moved) - 1
    corners = number[corners[moved[corners].all(axis=1)]]
    return rest[moved], dense[moved] / total[moved, None], corners.astype(np.int32)


def _sparse(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The strongest influences of each vertex, as the library wants them."""
    most = min(int((dense > 0).sum(axis=1).max()), native.MAX_INFLUENCES)
    bones = np.argsort(-dense, axis=1, kind="stable")[:, :most]
    weights = np.take_along_axis(dense, bones, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.where(weights > 0, bones, -1).astype(np.int32), weights.astype(np.float32)


def _transforms(armature, scene, layer, names: list[str], times: list[int]) -> np.ndarray:
    """[f][b][4][4] rest to frame, rigid; the scene's frame stays"""
    before = scene.frame_current, scene.frame_subframe
    rests = np.array([np.array(armature.data.bones[name].matrix_local) for name in names], np.float64)
    poses = np.empty((len(times), len(names), 4, 4))
    try:
        for row, time in enumerate(times):
            scene.frame_set(time)
            bones = armature.evaluated_get(layer.depsgraph).pose.bones
            poses[row] = [np.array(bones[name].matrix) for name in names]
    finally:
        scene.frame_set(before[0], subframe=before[1])
    result = poses @ np.linalg.inv(rests)
    result[..., :3, :3] = nearest_rotation(result[..., :3, :3])
    return result


# ---- the artist's word


def _wishes(rig, options: Options, names: list[str]) -> native.Wishes:
    """Wishes for bones that are gone are left alone."""
    number = {name: b for b, name in enumerate(names)}
    pairs = {True: [], False: []}
    for wish in rig.wishes:
        if wish.first in number and wish.second in number:
            pairs[wish.joined].append((number[wish.first], number[wish.second]))
    return options.wishes(root=number.get(rig.root_bone, -1), demanded=pairs[True], forbidden=pairs[False])


def _rename_wishes(rig, renamed: dict[str, str]) -> None:
    for wish in rig.wishes:
        wish.first, wish.second = renamed.get(wish.first, wish.first), renamed.get(wish.second, wish.second)
    rig.root_bone = renamed.get(rig.root_bone, rig.root_bone)


# ---- all of it


def rejoin(context, armature) -> tuple[native.Skeleton, Keyed]:
    """Hangs the bones of a rig anew, in place."""
    record, scene, layer = armature.ossify, context.scene, context.view_layer
    options = record.settings.options()
    if options.bone_kind == "FLEXIBLE":
        raise Refusal("Flexible bones stretch and shear, and joints do not: this rig cannot have a skeleton.")
    names, times = bone_names(armature), [item.frame for item in record.frames]
    if ROOT not in armature.data.bones or not names:
        raise Refusal(f"{armature.name} has lost its bone {ROOT}, or all the others.")
    armature.data.pose_position = "POSE"
    rest, dense, triangles = _skin(armature, names)
    body, moved = np.split(_transforms(armature, scene, layer, [ROOT, *names], times), [1], axis=1)
    rig = native.Rig(np.ascontiguousarray(moved[:, :, :3]), *_sparse(dense), rest.astype(np.float32))
    skeleton = native.connect(rig, triangles, _wishes(record, options, names))
    options.skeleton = "HIERARCHY"
    taken = {group.name for obj in meshes_of(armature) for group in obj.vertex_groups} - set(names)
    poses = [item.name for item in record.frames] if options.frames == "POSES" else None
    plan = plan_bones(rig, triangles, np.array(armature.matrix_world), options, taken, skeleton, bool(poses))
    action = armature.animation_data.action if armature.animation_data else None
    action = action or bpy.data.actions.new(armature.name)
    keys.clear(armature, [ROOT, *names])
    rearrange(armature, scene, layer, names, plan)
    keyed = key(armature, action, rig, body[:, 0], np.array(times), plan, options, poses)
    _rename_wishes(record, dict(zip(names, plan.names, strict=True)))
    _remember(record, keyed, plan)
    layer.update()
    return skeleton, keyed


def _remember(record, keyed: Keyed, plan) -> None:
    if keyed.located or record.settings.skeleton == "NONE":
        record.settings.skeleton = "HIERARCHY"
    record.keys, record.keys_if_every = keyed.keys, keyed.keys_if_every
    record.located, record.location = keyed.located, 100 * keyed.location / plan.size
