"""Copies of a rig for other bodies: the armature with its bones laid anew, its actions, and the weights."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..base.handles import Handle
from ..rig import actions, aiming, keys, standing
from ..rig.build import Maker

_LEAST_LENGTH = 1e-3  # of the bone's length in the rig: Blender removes bones without length
_JOINED = 1e-5  # of a bone's length: its head is its parent's tail
_SETTINGS = ("use_deform_preserve_volume", "use_vertex_groups", "use_bone_envelopes", "use_multi_modifier")


# ---- the armature


def copy_armature(maker: Maker, armature, name: str, matrix: Matrix):
    """In no bone changed; of Ossify's record only the range is left, since it is about another body."""
    first, last = _range(armature)
    copy = maker.note("objects", armature.copy())
    copy.data = maker.note("armatures", armature.data.copy())
    copy.name, copy.data.name = name, name
    copy.property_unset("ossify")
    copy.ossify.first_frame, copy.ossify.last_frame = first, last
    copy.parent = None
    copy.constraints.clear()
    copy.matrix_world = matrix
    copy.hide_viewport = copy.hide_render = False
    aiming.at_itself(copy, armature)
    return copy


def _range(armature) -> tuple[int, int]:
    action, record = keys.action_of(armature), armature.ossify
    if record.last_frame > record.first_frame or action is None:
        return record.first_frame, record.last_frame
    first, last = action.frame_range
    return int(np.floor(first)), int(np.ceil(last))


def _least_turn(before: Vector, after: Vector):
    """The rotation that takes one direction to another the shortest way."""
    return before.rotation_difference(after).to_matrix()


def lay(copy, names: list[str], heads: np.ndarray, tails: np.ndarray, follow: bool) -> None:
    """Bones from heads [b][3] to tails [b][3], or, unless they follow, as far along their own axes."""
    before = {bone.name: (bone.length, bone.matrix_local.to_3x3()) for bone in copy.data.bones}
    with standing.editing(copy) as bones:
        joined = {bone.name for bone in bones if bone.use_connect}
        for bone in bones:
            bone.use_connect = False
        for name, head, tail in zip(names, heads, tails, strict=True):
            length, axes = before[name]
            bone, way = bones[name], Vector(tail) - Vector(head)
            reach = max(way.length, _LEAST_LENGTH * length)
            along = way.normalized() if follow and way.length >= reach else axes.col[1].normalized()
            bone.head, bone.tail = Vector(head), Vector(head) + reach * along
            bone.align_roll(_least_turn(axes.col[1], along) @ axes.col[2])
        for name in joined:
            bone = bones[name]
            bone.use_connect = (bone.head - bone.parent.tail).length <= _JOINED * bone.length
    for name in joined:
        if not copy.data.bones[name].use_connect:  # as free as it was
            copy.pose.bones[name].lock_location = (True, True, True)
    for bone in copy.pose.bones:
        for constraint in bone.constraints:
            if constraint.type == "STRETCH_TO":
                constraint.rest_length *= bone.bone.length / before[bone.name][0]


# ---- its actions


def _actions_of(copy) -> list:
    data = copy.animation_data
    strips = [strip for track in data.nla_tracks for strip in track.strips] if data else []
    return list(dict.fromkeys(a for a in (keys.action_of(copy), *(s.action for s in strips)) if a))


def _locations(copy, action) -> list:
    """Curves of bones' locations that are not all 0."""
    found = [c for c in keys.curves_of(copy, action) if c.data_path.endswith("].location")]
    return [curve for curve in found if keys.points_of(curve)["co"][:, 1].any()]


def scale_locations(maker: Maker, copy, ratio: float) -> None:
    """Actions in which bones have a location become the copy's own, with locations as large as its body."""
    for action in _actions_of(copy):
        if not _locations(copy, action):
            continue
        own = maker.note("actions", action.copy())
        own.name = f"{action.name} {copy.name}"
        _exchange(copy, action, own)
        for curve in _locations(copy, own):
            points = keys.points_of(curve)
            for name in ("co", "handle_left", "handle_right"):
                points[name][:, 1] *= ratio
            keys.set_points(curve, points)


def _exchange(copy, action, own) -> None:
    slot, data = keys.slot_for(copy, action), copy.animation_data
    for strip in (strip for track in data.nla_tracks for strip in track.strips):
        if strip.action == action:
            strip.action = own
            if hasattr(strip, "action_slot") and slot is not None:
                strip.action_slot = own.slots[slot.identifier]
    if data.action == action:
        if slot is None:
            actions.assign(copy, own)
        else:
            data.action, data.action_slot = own, own.slots[slot.identifier]


# ---- the mesh


def groups_of(obj, names: list[str]) -> dict[str, tuple[list[int], list[float]]]:
    """bone -> vertices and weights, as they are painted"""
    wanted = {group.index: group.name for group in obj.vertex_groups if group.name in set(names)}
    found = {name: ([], []) for name in wanted.values()}
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            if group.group in wanted:
                vertices, amounts = found[wanted[group.group]]
                vertices.append(vertex.index)
                amounts.append(group.weight)
    return found


class Bound:
    """A mesh as it was before it was bound to an armature."""

    def __init__(self, obj):
        self.mesh = Handle.of("objects", obj)
        self.parent, self.inverse = obj.parent, obj.matrix_parent_inverse.copy()
        self.bone, self.kind = obj.parent_bone, obj.parent_type
        self.modifiers = {modifier.name for modifier in obj.modifiers}
        self.groups = groups_of(obj, obj.vertex_groups.keys())

    def restore(self) -> None:
        obj = self.mesh.get()
        obj.parent, obj.parent_type, obj.parent_bone = self.parent, self.kind, self.bone
        obj.matrix_parent_inverse = self.inverse
        for modifier in list(obj.modifiers):
            if modifier.name not in self.modifiers:
                obj.modifiers.remove(modifier)
        for group in list(obj.vertex_groups):
            if group.name not in self.groups:
                obj.vertex_groups.remove(group)
        weigh(obj, self.groups)


def weigh(obj, groups: dict[str, tuple[list[int], list[float]]]) -> None:
    """Groups of these names have these weights, whatever they had."""
    for name, (vertices, amounts) in groups.items():
        if name in obj.vertex_groups:
            obj.vertex_groups.remove(obj.vertex_groups[name])
        add = obj.vertex_groups.new(name=name).add
        for vertex, amount in zip(vertices, amounts, strict=True):
            add((vertex,), amount, "REPLACE")


def bind(obj, armature, like, groups) -> None:
    """Under the armature, which takes its place under what it hung from; like: the modifier of the rig."""
    world = obj.matrix_world.copy()
    if obj.parent is not None:
        above = obj.parent.matrix_world
        armature.parent, armature.matrix_parent_inverse = obj.parent, above.inverted_safe()
    for collection in obj.users_collection:
        if armature.name not in collection.objects:
            collection.objects.link(armature)
    weigh(obj, groups)
    modifier = obj.modifiers.new(like.name, "ARMATURE")
    for name in _SETTINGS:
        setattr(modifier, name, getattr(like, name))
    modifier.object = armature
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    obj.parent, obj.parent_type = armature, "OBJECT"
    bpy.context.view_layer.update()
    obj.matrix_parent_inverse = (
        armature.matrix_world.inverted_safe() @ world @ obj.matrix_basis.inverted_safe()
    )
