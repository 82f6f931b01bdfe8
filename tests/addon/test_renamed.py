"""A bone that is renamed while a rig plays one of several clips: Blender renames it in that one alone."""

import bpy
import chain
import pytest
from ossify.base.refusal import Refusal
from ossify.edit import bone_growth
from ossify.record import changes, renamed
from refits import refitted
from takes import takes_rig
from tracks import first_rig, sheet, tracked

OLD, NEW = "Bone.002", 'Hüfte "links" [2]'


@pytest.fixture
def rig():
    result = takes_rig()
    result.armature.data.bones[OLD].name = NEW
    return result


def bones_of(armature, action):
    names = {bpy.utils.escape_identifier(bone.name) for bone in armature.data.bones} | {OLD}
    paths = [curve.data_path for curve in chain.curves(action)]
    return {name for name in names if any(f'"{name}"' in path for path in paths)}


def test_no_solver_takes_it_for_a_bone_that_was_keyed_anew(rig):
    armature = rig.armature
    words = "is still called Bone.002 in"
    with pytest.raises(Refusal, match=words):
        refitted(armature)
    with pytest.raises(Refusal, match=words):
        list(bone_growth.add_at_worst(bpy.context, armature))
    with pytest.raises(Refusal, match=words):
        tracked(rig, sheet("Third", 0.4))


def test_looking_for_changes_renames_it_everywhere(rig):
    armature = rig.armature
    before = [len(chain.curves(clip.action)) for clip in armature.ossify.clips]
    errors = [clip.rms for clip in armature.ossify.clips]
    assert bpy.ops.ossify.look_for_changes() == {"FINISHED"}
    assert [item.name for item in armature.ossify.changes] == ["RENAMED"]
    first, second = (clip.action for clip in armature.ossify.clips)
    assert [len(chain.curves(action)) for action in (first, second)] == before
    assert bones_of(armature, first) == bones_of(armature, second)
    assert OLD not in bones_of(armature, second)
    assert {curve.group.name for curve in chain.curves(second)} == {
        curve.group.name for curve in chain.curves(first)
    }
    result = refitted(armature)
    assert all(clip.rms <= 1.001 * error for clip, error in zip(armature.ossify.clips, errors, strict=True))
    assert not result.changes.rekeyed
    assert not changes.find(armature).renamed
    assert renamed.follow(armature) == []


def test_playing_the_other_clip_renames_it_there(rig):
    armature = rig.armature
    assert bpy.ops.ossify.play_clip(clip=1) == {"FINISHED"}
    assert OLD not in bones_of(armature, armature.animation_data.action)
    assert not changes.find(armature).rekeyed


def test_a_clip_that_was_tracked_is_renamed_as_well():
    result = first_rig()
    armature = result.armature
    first = armature.animation_data.action
    tracked(result, sheet("Second", 0.8))
    armature.data.bones[OLD].name = NEW
    assert renamed.follow(armature) == [first.name]
    assert OLD not in bones_of(armature, first)


def test_names_that_were_exchanged_follow_at_once(rig):
    armature = rig.armature
    armature.data.bones["Bone.003"].name = OLD
    renamed.follow(armature)
    first, second = (clip.action for clip in armature.ossify.clips)
    assert bones_of(armature, first) == bones_of(armature, second)
    assert not changes.find(armature).rekeyed


def test_an_old_name_comes_back_in_every_clip(rig):
    armature = rig.armature
    assert bpy.ops.ossify.look_for_changes() == {"FINISHED"}
    assert bpy.ops.ossify.put_back(kind="RENAMED") == {"FINISHED"}
    assert OLD in armature.data.bones
    for clip in armature.ossify.clips:
        paths = {curve.data_path for curve in chain.curves(clip.action)}
        assert any(f'"{OLD}"' in path for path in paths)
        assert not any(bpy.utils.escape_identifier(NEW) in path for path in paths)
    assert not armature.ossify.changes
