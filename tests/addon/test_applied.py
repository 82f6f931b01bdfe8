"""A rig whose location, rotation or scale was applied lies elsewhere than the motion that it keeps."""

import bpy
import pytest
import scenes
from mathutils import Vector
from ossify.base.refusal import Refusal
from ossify.edit import bone_growth
from ossify.refit import refit_check
from refits import bits, edit, refitted, sheet_rig, steps_of

WORDS = "location, rotation or scale of Sheet Rig was applied"


def apply(rig, **which):
    chosen = {"location": False, "rotation": False, "scale": False, **which}
    bpy.context.view_layer.update()
    assert bpy.ops.object.transform_apply(**chosen) == {"FINISHED"}
    scenes.select(rig.armature)


def turn(rig):
    rig.armature.rotation_mode, rig.armature.rotation_euler = "XYZ", (0, 0, 1)
    apply(rig, rotation=True)


def carry(rig):
    rig.armature.location = (5, 0, 0)
    apply(rig, location=True)


def enlarge(rig):
    rig.armature.scale = (2, 2, 2)
    apply(rig, scale=True)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("change", [turn, carry, enlarge])
def test_what_was_applied_is_refused(sheet, change, whole):
    scenes.select(sheet.armature, *(sheet.meshes if whole else ()))
    change(sheet)
    before = bits(sheet.armature, sheet.meshes)
    with pytest.raises(Refusal, match=WORDS):
        refitted(sheet.armature)
    with pytest.raises(Refusal, match=WORDS):
        list(bone_growth.add_at_worst(bpy.context, sheet.armature))
    assert bits(sheet.armature, sheet.meshes) == before


def test_with_a_source_alone_it_is_refused_as_well():
    result = sheet_rig(keep_motion="NONE")
    scenes.select(result.armature, *result.meshes)
    turn(result)
    with pytest.raises(Refusal, match=WORDS):
        list(steps_of(result.armature))


def test_bones_that_the_artist_moved_by_the_same_are_a_change(sheet):
    """The mesh lies where it did."""

    def shift(bones):
        for bone in bones:
            bone.head, bone.tail = bone.head + Vector((0, 0, 0.2)), bone.tail + Vector((0, 0, 0.2))

    edit(sheet.armature, shift)
    assert len(refit_check.check(sheet.armature)[1].moved) == 6
    assert refitted(sheet.armature).written
