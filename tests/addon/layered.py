"""Rigs that Ossify did not make, with weights of many bones, to be compressed."""

import math

import bpy
import numpy as np
import scenes
from ossify.base.steps import run
from ossify.options.options import CompressOptions
from ossify.two_layer import compress


def chain(bones=6, rings=24, moves=True, width=0.8):
    """A tube along Z on a chain of bones, each vertex following all of them; and its armature."""
    tube = scenes.tube(rings=rings, around=8)
    data = bpy.data.armatures.new("Spine")
    armature = scenes.link(bpy.data.objects.new("Spine", data))
    armature.location, armature.rotation_euler = (0.3, -0.2, 0.1), (0.2, 0.4, -0.3)
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for b in range(bones):
        bone = data.edit_bones.new(f"spine.{b}")
        bone.head, bone.tail = (0, 0, 4 * b / bones), (0, 0, 4 * (b + 1) / bones)
        bone.parent, bone.use_connect = (data.edit_bones[b - 1], True) if b else (None, False)
    bpy.ops.object.mode_set(mode="OBJECT")
    tube.parent = armature
    tube.modifiers.new("Armature", "ARMATURE").object = armature
    heights = scenes.positions(tube.data)[:, 2]
    for b in range(bones):
        group = tube.vertex_groups.new(name=f"spine.{b}")
        for vertex, z in enumerate(heights.tolist()):
            group.add((vertex,), math.exp(-(((z - 4 * (b + 0.5) / bones) / width) ** 2)), "REPLACE")
    if moves:
        wave(armature)
    bpy.context.view_layer.update()
    return armature, tube


def wave(armature, frames=8, moved=None):
    """All bones, or the first of them: those below then move as one."""
    for b, bone in enumerate(list(armature.pose.bones)[:moved]):
        bone.rotation_mode = "XYZ"
        for frame in range(1, frames + 1):
            phase = 2 * math.pi * frame / frames + 0.7 * b
            bone.rotation_euler = (
                0.4 * math.sin(phase),
                0.2 * math.cos(1.3 * phase),
                0.3 * math.sin(2 * phase),
            )
            bone.keyframe_insert("rotation_euler", frame=frame)


def rigify_person():
    """A body on a rig of Rigify's, with automatic weights, that steps and waves; and its armature."""
    bpy.ops.object.armature_basic_human_metarig_add()
    plan = bpy.context.object
    bones = {
        bone.name: (bone.parent and bone.parent.name, np.array(bone.head_local), np.array(bone.tail_local))
        for bone in plan.data.bones
    }
    bpy.ops.pose.rigify_generate()
    armature = bpy.context.object
    bpy.data.objects.remove(plan)
    body = scenes.link(bpy.data.objects.new("Body", scenes.body_mesh(bones, 1, 0.06)))
    remesh = body.modifiers.new("Remesh", "REMESH")  # one closed surface, as the heat of the bones needs it
    remesh.mode, remesh.voxel_size = "VOXEL", 0.04
    scenes.select(body)
    bpy.ops.object.modifier_apply(modifier="Remesh")
    scenes.select(armature, body)
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    for name, turn in (("torso", (0.1, 0.3, 0.2)), ("chest", (0.3, 0, 0.4)), ("head", (0.2, 0.5, 0))):
        _swing(armature.pose.bones[name], "rotation_euler", turn)
    for name, way in (
        ("hand_ik.L", (0.1, -0.4, 0.3)),
        ("hand_ik.R", (0, -0.2, 0.2)),
        ("foot_ik.L", (0, -0.3, 0.2)),
    ):
        _swing(armature.pose.bones[name], "location", way)
    bpy.context.view_layer.update()
    return armature, body


def _swing(bone, channel, most, frames=8):
    if channel == "rotation_euler":
        bone.rotation_mode = "XYZ"
    for frame in range(1, frames + 1):
        setattr(bone, channel, [math.sin(2 * math.pi * frame / frames) * value for value in most])
        bone.keyframe_insert(channel, frame=frame)


def compressed(armature, **chosen):
    context = bpy.context
    options = CompressOptions(**{"count": 20, "masters": 4, **chosen})
    return run(compress.compress(context.scene, context.view_layer, armature, options))


def by_hand(armature, mesh):
    """[v][3] in the world as two layers say, in double precision: constraints, groups and masters alone"""
    dense = np.zeros((len(mesh.data.vertices), len(mesh.vertex_groups)))
    for vertex in mesh.data.vertices:
        for group in vertex.groups:
            dense[vertex.index, group.group] = group.weight
    bones = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    moved = {
        bone.name: np.array(bone.matrix, float) @ np.linalg.inv(np.array(bone.bone.matrix_local, float))
        for bone in bones
    }
    blended = np.zeros((len(mesh.vertex_groups), 4, 4))
    for group in mesh.vertex_groups:
        targets = armature.pose.bones[group.name].constraints[0].targets
        total = sum(target.weight for target in targets)
        blended[group.index] = sum(t.weight / total * moved[t.subtarget] for t in targets)
    dense /= dense.sum(axis=1, keepdims=True)
    rest = np.concatenate([scenes.positions(mesh.data), np.ones((len(dense), 1))], axis=1)
    local = np.linalg.inv(np.array(armature.matrix_world, float)) @ np.array(mesh.matrix_world, float)
    points = np.einsum("vj,jrc,vc->vr", dense, blended, rest @ local.T)
    return (points @ np.array(armature.matrix_world, float).T)[:, :3]
