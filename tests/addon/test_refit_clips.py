"""A rig with several actions is refitted: the clips it was made for fit, and the others go on as they did."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from bone_edits import stages_of
from ossify.base.refusal import Refusal
from ossify.base.steps import run as run_to_end
from ossify.edit import bone_growth
from ossify.record import changes, memory
from ossify.refit import refit_check
from ossify.rig import actions, standing
from refits import bits, edit, paint_noise, refitted, steps_of
from takes import TAKES, TIMES, errors, keys_of, take, takes_rig, tracked_rig, two_takes


def all_bits(armature, meshes):
    return bits(armature, meshes), [keys_of(armature, name) for name in ("Walk", "Run")]


# ---- clips that the rig was made for


@pytest.mark.parametrize("plays", ["Walk", "Run"])
@pytest.mark.parametrize("chosen", [{}, {"keys": "REDUCED", "skeleton": "HIERARCHY"}])
def test_nothing_changed_and_no_error_rises(plays, chosen):
    result = takes_rig(**chosen)
    armature, (mesh,) = result.armature, result.meshes
    actions.assign(armature, bpy.data.actions[plays])
    before = errors(armature, mesh)
    found = refitted(armature)
    assert found.changes == changes.Changes()
    assert armature.animation_data.action.name == plays
    after = errors(armature, mesh)
    assert np.hypot(*after.values()) <= np.hypot(*before.values()) * (1 + 1e-4)
    for clip in armature.ossify.clips:
        assert clip.rms == pytest.approx(100 * after[clip.name] / found.after.size, rel=1e-3)
    assert [name for name, _ in found.after.clips] == ["Walk", "Run"]


def test_every_clip_fits_again_after_a_bone_was_deleted():
    result = takes_rig(bones=8)
    armature, (mesh,) = result.armature, result.meshes
    name = standing.bone_names(armature)[3]
    edit(armature, lambda bones: bones.remove(bones[name]))
    broken = errors(armature, mesh)
    found = refitted(armature)
    assert found.changes.deleted == [name]
    after = errors(armature, mesh)
    assert all(after[clip] < 0.5 * broken[clip] for clip in after)
    first, second = ({key[:2] for key in keys_of(armature, clip)} for clip in ("Walk", "Run"))
    assert first == second  # an action keys what any keys
    assert refitted(armature).changes == changes.Changes()


def test_clips_laid_into_the_nla_are_refitted_there():
    for name, frame in (("First", 1), ("Later", 5)):
        bpy.context.scene.timeline_markers.new(name, frame=frame)
    result = chain.converted(take("Sheet", 0.0), clips="MARKERS", nla=True, bones=6)
    armature, (mesh,) = result.armature, result.meshes
    goal = memory.recall(armature).frames.astype(float)
    before = np.sqrt(((scenes.seen_frames(mesh, TIMES) - goal) ** 2).sum(axis=-1).mean())
    paint_noise(mesh, armature)
    armature.ossify.keep_repainted = False
    found = refitted(armature)
    assert found.written
    data = armature.animation_data
    assert data.action is None
    assert data.use_nla
    assert [strip.action.name for track in data.nla_tracks for strip in track.strips] == ["First", "Later"]
    after = np.sqrt(((scenes.seen_frames(mesh, TIMES) - goal) ** 2).sum(axis=-1).mean())
    assert after <= before * (1 + 1e-4)


@pytest.mark.solver
@pytest.mark.parametrize("skeleton", ["HIERARCHY", "ARTICULATED"])
def test_clips_of_a_body_are_refitted(skeleton):
    body, bones = scenes.creature(frames=16)
    for name, frame in (("First", 1), ("Later", 9)):
        bpy.context.scene.timeline_markers.new(name, frame=frame)
    chosen = {"clips": "MARKERS", "quality": "NORMAL", "skeleton": skeleton, "keys": "REDUCED"}
    result = chain.converted(body, bones=len(bones), **chosen)
    armature, (mesh,) = result.armature, result.meshes
    paint_noise(mesh, armature)
    armature.ossify.keep_repainted = False
    found = refitted(armature)
    assert found.written
    assert found.after.rms < 0.1 * found.before.rms
    assert found.after.rms <= 1.01 * result.report.rms
    assert [clip.action.name for clip in armature.ossify.clips] == ["First", "Later"]
    assert refitted(armature).changes == changes.Changes()


def test_a_moved_joint_keeps_the_motion_of_every_clip():
    result = takes_rig(skeleton="HIERARCHY", bones=5)
    armature, (mesh,) = result.armature, result.meshes
    child = next(b.name for b in armature.data.bones if b.parent and b.parent.use_deform)
    before = errors(armature, mesh)

    def move(bones):
        bones[child].use_connect = False
        bones[child].head.z += 0.3

    edit(armature, move)
    broken = errors(armature, mesh)
    assert max(broken.values()) > 1.1 * max(before.values())
    found = refitted(armature)
    assert found.changes.moved == [child]
    after = errors(armature, mesh)
    assert all(after[clip] <= 1.05 * before[clip] for clip in after)


# ---- what is held


def test_frames_of_one_clip_are_held_and_those_of_the_other_are_not():
    result = takes_rig()
    armature, (mesh,) = result.armature, result.meshes
    actions.assign(armature, bpy.data.actions["Run"])
    bpy.ops.ossify.hold(what="FRAMES", frame_start=1, frame_end=TAKES)
    held = [item.name for item in armature.ossify.frames if item.held]
    assert held == [f"Run {time}" for time in TIMES]
    paint_noise(mesh, armature)
    before = [keys_of(armature, name) for name in ("Walk", "Run")]
    refitted(armature)
    after = [keys_of(armature, name) for name in ("Walk", "Run")]
    assert after[1] == before[1]
    assert after[0] != before[0]


def test_everything_held_changes_not_a_bit_of_any_clip():
    result = takes_rig()
    armature, (mesh,) = result.armature, result.meshes
    for bone in armature.data.bones:
        changes.hold_bone(bone, True)
    changes.hold_vertices(mesh.data, np.ones(len(mesh.data.vertices), bool), True)
    before = all_bits(armature, [mesh])
    refitted(armature)
    assert all_bits(armature, [mesh]) == before


def test_a_pose_keyed_in_one_clip_is_kept_there():
    result = takes_rig()
    armature = result.armature
    name = standing.bone_names(armature)[0]
    actions.assign(armature, bpy.data.actions["Run"])
    bone = armature.pose.bones[name]
    bpy.context.scene.frame_set(4)
    bone.location.z += 0.1
    bone.keyframe_insert("location", frame=4)
    wanted = bone.location.z
    bpy.ops.ossify.look_for_changes()
    assert [item.words for item in armature.ossify.changes] == [f"{name} re-keyed in frame 4 of Run"]
    actions.assign(armature, bpy.data.actions["Walk"])
    found = refitted(armature)
    assert np.flatnonzero(found.changes.rekeyed[name]).tolist() == [TAKES + 3]
    assert bone_height(name, "Run", 4) == wanted
    assert bone_height(name, "Walk", 4) != wanted
    again = refitted(armature).changes
    assert np.flatnonzero(again.rekeyed[name]).tolist() == [TAKES + 3]  # it is kept, and still a change
    assert bone_height(name, "Run", 4) == wanted


def bone_height(name, action, time):
    """The height of a bone's location in a frame of an action, by its curve"""
    path = f'pose.bones["{name}"].location'
    (curve,) = (
        c for c in chain.curves(bpy.data.actions[action]) if c.data_path == path and c.array_index == 2
    )
    return curve.evaluate(time)


@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building", "Measuring"])
def test_cancelling_leaves_every_clip_as_it_was(stage):
    result = takes_rig()
    armature, meshes = result.armature, result.meshes
    paint_noise(meshes[0], armature)
    before, picture = all_bits(armature, meshes), scenes.picture()
    steps = steps_of(armature)
    stages_of(steps, stage)
    steps.close()
    assert all_bits(armature, meshes) == before
    assert scenes.difference(picture, scenes.picture()) == ""


# ---- their sources


def test_takes_are_read_again_when_their_motion_was_not_kept():
    result = takes_rig(keep_motion="NONE")
    armature, (mesh,) = result.armature, result.meshes
    paint_noise(mesh, armature)
    armature.ossify.keep_repainted = False
    found = refitted(armature)
    assert found.written
    assert found.after.rms < 0.9 * found.before.rms
    bpy.data.objects.remove(bpy.data.objects["Run"])
    assert "choose another one with the same mesh" in refit_check.trouble(armature)
    armature.ossify.clips[1].source = take("Other Run", 2.0)
    assert refit_check.trouble(armature) is None


def test_a_clip_without_its_action_is_refused():
    result = takes_rig()
    bpy.data.actions.remove(bpy.data.actions["Run"])
    with pytest.raises(Refusal, match="clip Run is gone"):
        refitted(result.armature)


# ---- actions that were tracked onto it


def chained(armature):
    return next(b.name for b in armature.data.bones if b.parent and b.parent.use_deform)


@pytest.mark.parametrize("plays", ["Walk Rig", "Run"])
@pytest.mark.parametrize("way", ["moved", "reparented", "deleted"])
def test_a_tracked_clip_goes_on_as_it_was(plays, way):
    armature = tracked_rig().armature
    child = chained(armature)
    parent = armature.data.bones[child].parent.name
    moved = [name for name in standing.bone_names(armature) if way != "deleted" or name != parent]
    with actions.given(armature, bpy.data.actions["Run"]):
        before = motion(armature, moved)
    actions.assign(armature, bpy.data.actions[plays])

    def change(bones):
        bones[child].use_connect = False
        if way == "moved":
            bones[child].head.z += 0.3
        elif way == "reparented":
            bones[child].parent = bones["Root"]
        else:
            bones.remove(bones[parent])

    edit(armature, change)
    assert refitted(armature).written
    assert armature.animation_data.action.name == plays
    with actions.given(armature, bpy.data.actions["Run"]):
        after = motion(armature, moved)
    assert np.abs(after - before).max() < 2e-3
    first, second = ({key[:2] for key in keys_of(armature, name)} for name in ("Walk Rig", "Run"))
    assert first == second


def motion(armature, names):
    """[f][b][4][4] rest to frame, as Blender shows it"""
    rests = np.array([np.array(armature.data.bones[name].matrix_local) for name in names])
    found = []
    for time in TIMES:
        bpy.context.scene.frame_set(time)
        found.append([np.array(armature.pose.bones[name].matrix) for name in names])
    return np.array(found) @ np.linalg.inv(rests)


def rehung_rig():
    """A rig made for Walk, with a bone that was moved since; Run is to be tracked onto it"""
    walk, run = two_takes()
    run.location = (0, 0, 0)
    armature = chain.converted(walk, skeleton="HIERARCHY", bones=6).armature
    child = chained(armature)

    def move(bones):
        bones[child].use_connect = False
        bones[child].head.z += 0.3

    edit(armature, move)
    scenes.select(armature, run)
    return armature, child


def test_a_clip_is_tracked_after_the_refit_of_bones_that_were_moved():
    """One rig would have keys for two places of a bone, and the refit took all for those of the old one."""
    armature, child = rehung_rig()
    before = scenes.picture()
    with pytest.raises(RuntimeError, match=f"{child}: moved or hung elsewhere since the last refit.*Refit"):
        bpy.ops.ossify.track()
    assert scenes.difference(before, scenes.picture()) == ""
    assert refitted(armature).written
    assert bpy.ops.ossify.track() == {"FINISHED"}
    names = standing.bone_names(armature)
    tracked = motion(armature, names)
    bpy.ops.ossify.play_clip(clip=0)
    refitted(armature)
    with actions.given(armature, bpy.data.actions["Run"]):
        assert np.abs(motion(armature, names) - tracked).max() < 2e-3


def test_the_artists_own_action_is_left_alone_and_named():
    result = tracked_rig()
    armature = result.armature
    own = bpy.data.actions["Run"].copy()
    own.name = "Mine"
    actions.push(armature, own, "Mine", 1, muted=True)
    before = keys_of(armature, "Mine")
    child = chained(armature)

    def move(bones):
        bones[child].use_connect = False
        bones[child].head.z += 0.3

    edit(armature, move)
    found = refitted(armature)
    assert found.notes == [
        "Mine is an action of your own and was not re-keyed: look whether it still plays as it did."
    ]
    assert armature.ossify.notes.splitlines()[-1] == found.notes[0]
    assert keys_of(armature, "Mine") == before


# ---- bone edits


def test_a_bone_is_added_to_every_clip():
    result = takes_rig(skeleton="HIERARCHY", bones=4)
    armature, (mesh,) = result.armature, result.meshes
    actions.assign(armature, bpy.data.actions["Run"])
    before = errors(armature, mesh)
    done = run_to_end(bone_growth.add_at_worst(bpy.context, armature))
    assert armature.animation_data.action.name == "Run"
    after = errors(armature, mesh)
    assert np.hypot(*after.values()) < np.hypot(*before.values())
    for name in ("Walk", "Run"):
        assert any(done.bones[0] in path for path, _ in keys_of(armature, name))
    for clip in armature.ossify.clips:
        assert clip.rms == pytest.approx(100 * after[clip.name] / armature.ossify.size, rel=1e-2)
    assert changes.find(armature) == changes.Changes()
