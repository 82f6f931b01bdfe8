"""A rig's skeleton made anew from the rig itself, with what the artist wants of it: no solving.

Weights are those of the vertex groups, and transforms what Blender evaluates in the rig's own frames, so what
was painted or posed since counts. The bones stay the same data: they get other parents, places, names and
keys, and what an artist has added to them is kept.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import bpy
import numpy as np

from . import actions, keys, native, standing
from .armature import plan_bones, rearrange
from .keying import ROOT, Keyed, key
from .options import Options, Refusal
from .standing import bone_names, meshes_of

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


# ---- the motion


class _Clip(NamedTuple):
    action: object
    times: np.ndarray  # [f]


def _clips(armature) -> list[_Clip]:
    """All actions that the rig is known to have, the one it plays first: new bones need new keys in each."""
    record, now = armature.ossify, keys.action_of(armature)
    found = [
        _Clip(clip.action, np.arange(clip.first_frame, clip.last_frame + 1, clip.frame_step))
        for clip in record.clips
        if clip.action is not None
    ]
    if now is None and found:
        return found
    mine = [clip for clip in found if clip.action == now]
    if not mine:
        times = np.array([item.frame for item in record.frames])
        mine = [_Clip(now or bpy.data.actions.new(armature.name), times)]
    return [*mine, *(clip for clip in found if clip.action != now)]


def _read(armature, scene, layer, names: list[str], clips: list[_Clip]) -> np.ndarray:
    """[f][b][4][4] of all clips, one after the other"""
    found = []
    for clip in clips:
        actions.assign(armature, clip.action)
        if len(clips) > 1:  # of one, what was posed without a key counts
            actions.rest_pose(armature, clip.action, names)
        found.append(standing.read_transforms(armature, scene, layer, names, clip.times.tolist()))
    return np.concatenate(found)


def _key(armature, clips: list[_Clip], rig, body: np.ndarray, plan, options: Options, poses) -> Keyed:
    """Keys every clip with its part of the transforms."""
    keyed, start = [], 0
    for clip in clips:
        rows = slice(start, start + len(clip.times))
        start = rows.stop
        part = dataclasses.replace(rig, transforms=rig.transforms[rows])
        some = dataclasses.replace(plan, transforms=plan.transforms[rows])
        keyed.append(key(armature, clip.action, part, body[rows], clip.times, some, options, poses))
    found = [clip.action for clip in clips]
    extra = actions.complete(armature, found, [ROOT, *plan.names]) if len(found) > 1 else 0
    return Keyed.of(keyed, extra)


# ---- all of it


def rejoin(context, armature) -> tuple[native.Skeleton, Keyed]:
    """Hangs the bones of a rig anew, in place."""
    record, scene, layer = armature.ossify, context.scene, context.view_layer
    options = record.settings.options()
    if options.bone_kind == "FLEXIBLE":
        raise Refusal("Flexible bones stretch and shear, and joints do not: this rig cannot have a skeleton.")
    standing.check(armature)
    names, clips = bone_names(armature), _clips(armature)
    now = clips[0].action
    armature.data.pose_position = "POSE"
    skin = standing.read_skin(armature, names)
    rest, dense, triangles = skin.rest[skin.moved], skin.weights()[skin.moved], skin.moved_triangles()
    transforms = _read(armature, scene, layer, [ROOT, *names], clips)
    body, moved = np.split(standing.rigid(transforms), [1], axis=1)
    rig = native.Rig(np.ascontiguousarray(moved[:, :, :3]), *standing.sparse(dense), rest.astype(np.float32))
    skeleton = native.connect(rig, triangles, _wishes(record, options, names))
    options.skeleton = "HIERARCHY"
    taken = {group.name for obj in meshes_of(armature) for group in obj.vertex_groups} - set(names)
    poses = [item.name for item in record.frames] if options.frames == "POSES" else None
    plan = plan_bones(rig, triangles, np.array(armature.matrix_world), options, taken, skeleton, bool(poses))
    for clip in clips:
        actions.assign(armature, clip.action)
        keys.clear(armature, [ROOT, *names])
    rearrange(armature, scene, layer, names, plan)
    keyed = _key(armature, clips, rig, body[:, 0], plan, options, poses)
    actions.assign(armature, now)
    _rename_wishes(record, dict(zip(names, plan.names, strict=True)))
    _remember(record, keyed, plan)
    layer.update()
    return skeleton, keyed


def _remember(record, keyed: Keyed, plan) -> None:
    if keyed.located or record.settings.skeleton == "NONE":
        record.settings.skeleton = "HIERARCHY"
    record.keys, record.keys_if_every = keyed.keys, keyed.keys_if_every
    record.located, record.location = keyed.located, 100 * keyed.location / plan.size
