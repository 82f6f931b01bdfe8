"""The armature: bones in edit mode, their colours and collections, and their keys."""

from __future__ import annotations

import colorsys
import contextlib
import dataclasses

import bpy
import numpy as np
from mathutils import Vector

from . import channels, placement, rigid
from .capture import Motion
from .keys import Writer
from .native import Rig
from .options import Options

ROOT = "Root"
_ROOT_LENGTH = 0.15  # of the size


@dataclasses.dataclass
class Plan:
    """The armature's bones, root first, before any of them is made."""

    names: list[str]  # of deform bones
    carriers: list[str] | None  # of the bones above them, when bones are flexible
    places: placement.Bones
    parents: np.ndarray  # [b] -1: the root
    size: float
    root_axis: np.ndarray
    root_facing: np.ndarray


def _bone_names(count: int, taken: set[str]) -> list[str]:
    digits = max(3, len(str(count)))
    for base in ("Bone", "Ossify"):
        names = [f"{base}.{b + 1:0{digits}}" for b in range(count)]
        if not taken & set(names):
            break
    return names


def plan_bones(motion: Motion, rig: Rig, flexible: bool, taken: set[str], parents, joints) -> Plan:
    places = placement.place(
        rig.rest,
        rig.dense_weights(),
        motion.triangles,
        world=motion.space[:3, :3],  # its rows are the world's axes in the armature's space
        parents=parents,
        joints=joints,
    )
    names = _bone_names(rig.bones, taken)
    carriers = [f"Stretch{name[name.index('.') :]}" for name in names] if flexible else None
    flat = np.full(rig.bones, -1)
    return Plan(
        names,
        carriers,
        places,
        flat if parents is None else np.asarray(parents),
        placement.diagonal(rig.rest),
        np.array([0.0, 1.0, 0.0]),
        np.array([0.0, 0.0, 1.0]),
    )


@contextlib.contextmanager
def _edit_mode(armature, scene):
    layer = scene.view_layers[0]
    layer.objects.active = armature
    context = bpy.context
    with context.temp_override(scene=scene, view_layer=layer, object=armature, active_object=armature):
        bpy.ops.object.mode_set(mode="EDIT")
        try:
            yield armature.data.edit_bones
        finally:
            bpy.ops.object.mode_set(mode="OBJECT")


def _add_bone(bones, name: str, head, tail, facing, parent: str | None, deforms: bool) -> None:
    bone = bones.new(name)
    bone.head, bone.tail = Vector(head), Vector(tail)
    bone.align_roll(Vector(facing))
    bone.use_deform = deforms
    if parent:
        bone.parent = bones[parent]


def add_bones(armature, scene, plan: Plan) -> None:
    places = plan.places
    order = np.argsort(_depths(plan.parents), kind="stable")
    with _edit_mode(armature, scene) as bones:
        _add_bone(
            bones, ROOT, (0, 0, 0), plan.root_axis * _ROOT_LENGTH * plan.size, plan.root_facing, None, False
        )
        for b in order:
            parent = ROOT if plan.parents[b] < 0 else plan.names[plan.parents[b]]
            spot = places.heads[b], places.tails[b], places.facing[b]
            if plan.carriers:
                _add_bone(bones, plan.carriers[b], *spot, parent, False)
                parent = plan.carriers[b]
            _add_bone(bones, plan.names[b], *spot, parent, True)


def _depths(parents: np.ndarray) -> np.ndarray:
    depths = np.zeros(len(parents), int)
    for b in range(len(parents)):
        up = parents[b]
        while up >= 0:
            depths[b] += 1
            up = parents[up]
    return depths


def _paint(bone, hue: float, saturation: float = 0.65) -> None:
    bone.color.palette = "CUSTOM"
    colours = bone.color.custom
    colours.normal = colorsys.hsv_to_rgb(hue % 1, saturation, 0.8)
    colours.select = colorsys.hsv_to_rgb(hue % 1, saturation * 0.6, 1.0)
    colours.active = colorsys.hsv_to_rgb(hue % 1, saturation * 0.3, 1.0)


def dress(armature, plan: Plan) -> None:
    """Colours and bone collections."""
    data = armature.data
    root = data.collections.new("Root")
    deform = data.collections.new("Deform")
    root.assign(data.bones[ROOT])
    _paint(data.bones[ROOT], 0, 0)
    for b, name in enumerate(plan.names):
        deform.assign(data.bones[name])
        _paint(data.bones[name], b * 0.618034)  # the golden section: neighbours in number differ
    if plan.carriers:
        hidden = data.collections.new("Stretch")
        for name in plan.carriers:
            hidden.assign(data.bones[name])
        hidden.is_visible = False
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    armature.show_in_front = True


# ---- keys


def _chain(armature, motion: Motion, rig: Rig, plan: Plan) -> channels.Chain:
    """Root first, then the deform bones; a carrier and its bone are one link."""
    bones = armature.data.bones
    rests = [np.array(bones[name].matrix_local, np.float64) for name in (ROOT, *plan.names)]
    body = rigid.body_motion(rig.rest, motion.frames)
    whole = placement.box(rig.rest.astype(np.float64), np.eye(3))
    return channels.Chain(
        rest=np.array(rests),
        parents=np.concatenate([[-1], plan.parents + 1]),
        boxes=np.concatenate([whole[None], plan.places.boxes]),
        transforms=np.concatenate([body[:, None], channels.homogeneous(rig.transforms)], axis=1),
        rigid=plan.carriers is None,
    )


def key(armature, action, motion: Motion, rig: Rig, plan: Plan, options: Options) -> tuple[int, int]:
    """How many keys were written, and how many there would be with one on every frame."""
    tolerance = None
    if options.keys == "REDUCED" and not motion.poses:
        tolerance = options.key_tolerance / 100 * plan.size
    tracks = channels.tracks(_chain(armature, motion, rig, plan), motion.times, tolerance)
    writer = Writer(armature, action, motion.times, plan.size)
    writer.track(ROOT, tracks[0])
    for b, (bone, track) in enumerate(zip(plan.names, tracks[1:], strict=True)):
        if plan.carriers:
            writer.track(plan.carriers[b], track, bone)
        else:
            writer.track(bone, track)
    if motion.poses:
        writer.name_poses(motion.poses)
    return writer.keys, writer.keys_if_every
