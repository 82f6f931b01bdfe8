"""A rig is measured on a copy of it: what that shows must be what the rig itself shows."""

import bpy
import pytest
import scenes
from mathutils import Vector
from refits import error, paint_noise, refitted, source_frames


def shown(rig):
    """The error of the rig as Blender shows it, in its own units."""
    armature = rig.armature
    return error(armature, rig.meshes[0], source_frames(armature)) / armature.matrix_world.to_scale().x


def assert_measured(rig, result, before):
    assert result.before.rms == pytest.approx(before, rel=1e-4)
    assert result.after.rms == pytest.approx(shown(rig), rel=1e-4)
    assert result.after.rms < result.before.rms


def test_a_rig_that_is_shown_at_rest_is_measured_in_its_poses(sheet):
    paint_noise(sheet.meshes[0], sheet.armature)
    before = shown(sheet)
    sheet.armature.data.pose_position = "REST"
    result = refitted(sheet.armature)
    assert sheet.armature.data.pose_position == "REST"
    sheet.armature.data.pose_position = "POSE"
    assert_measured(sheet, result, before)


def stand_on(armature, empty):
    armature.parent = empty


def follow(armature, empty):
    armature.constraints.new("COPY_TRANSFORMS").target = empty


@pytest.mark.parametrize("place", [stand_on, follow])
def test_a_bone_that_looks_at_the_world_is_measured_where_the_rig_stands(sheet, place):
    empty = scenes.link(bpy.data.objects.new("Place", None))
    empty.location, empty.rotation_euler, empty.scale = (3, 1, 0), (0, 0, 1), (2, 2, 2)
    place(sheet.armature, empty)
    target = scenes.link(bpy.data.objects.new("Target", None))
    bpy.context.view_layer.update()
    bone = sheet.armature.pose.bones["Bone.002"]
    target.location = sheet.armature.matrix_world @ bone.head + Vector((0.3, 0.1, 0.2))
    bone.constraints.new("COPY_LOCATION").target = target
    bpy.context.view_layer.update()
    before = shown(sheet)
    assert_measured(sheet, refitted(sheet.armature), before)
