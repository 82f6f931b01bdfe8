"""Tracking at the screen: the operator, the preview of a source, and what the panel says."""

import math

import bpy
import numpy as np
import pytest
import scenes
from chain import converted, curves
from ossify.refit import refit_check
from ossify.rig import actions
from ossify.ui import panel_track, preview
from refits import COUNT, edit, error, source_frames
from screens import Layout, drawn
from tracks import stage, tracked


def test_the_operator_tracks_what_is_selected():
    result, second = stage()
    assert bpy.ops.ossify.track(name="Take 2", frame_step=2) == {"FINISHED"}
    clip = result.armature.ossify.clips[1]
    assert (clip.name, clip.source, clip.tracked, clip.frame_step) == ("Take 2", second, True, 2)
    assert result.armature.animation_data.action.name == "Take 2"


def test_the_operator_takes_a_chosen_source():
    result, second = stage()
    scenes.select(result.meshes[0])
    with pytest.raises(RuntimeError, match="Select a mesh that moves together with First Rig"):
        bpy.ops.ossify.track()
    bpy.context.scene.ossify_track.source = second
    assert bpy.ops.ossify.track() == {"FINISHED"}
    scenes.select(second)
    with pytest.raises(RuntimeError, match="There is no rig"):
        bpy.ops.ossify.track()


def test_the_operator_refuses_in_words():
    stage()
    before = scenes.picture()
    with pytest.raises(RuntimeError, match="The range ends"):
        bpy.ops.ossify.track(frames="CUSTOM", frame_start=5, frame_end=2)
    assert scenes.difference(before, scenes.picture()) == ""


def test_tracking_is_undone_and_done_again():
    stage()
    bpy.ops.ed.undo_push(message="before")
    before = scenes.picture()
    bpy.ops.ossify.track("EXEC_DEFAULT", True)
    after = scenes.picture()
    assert scenes.difference(before, after) != ""
    bpy.ops.ed.undo()
    assert scenes.difference(before, scenes.picture()) == ""
    bpy.ops.ed.redo()
    assert scenes.difference(after, scenes.picture()) == ""


def test_playing_a_clip_goes_to_its_frames():
    result, _ = stage()
    bpy.ops.ossify.track(frames="CUSTOM", frame_start=3, frame_end=7)
    assert bpy.ops.ossify.play_clip(clip=0) == {"FINISHED"}
    scene = bpy.context.scene
    assert result.armature.animation_data.action == result.armature.ossify.clips[0].action
    bpy.ops.ossify.play_clip(clip=1)
    assert (scene.frame_preview_start, scene.frame_preview_end, scene.frame_current) == (3, 7, 3)
    bpy.data.actions.remove(result.armature.ossify.clips[1].action)
    with pytest.raises(RuntimeError, match="The action of this clip is gone"):
        bpy.ops.ossify.play_clip(clip=1)


# ---- the preview


def poses(armature):
    return {bone.name: np.array(bone.matrix) for bone in armature.pose.bones}


def test_the_preview_poses_the_rig_in_every_frame():
    result, second = stage()
    scene, size = bpy.context.scene, scenes.size_of(scenes.positions(second.data))
    before, keyed = scenes.picture(), poses(result.armature)
    assert bpy.ops.ossify.preview() == {"FINISHED"}
    for frame in (1, 7, 3):
        scene.frame_set(frame)
        bpy.context.view_layer.update()
        distance = np.linalg.norm(scenes.seen(result.meshes[0]) - scenes.seen(second), axis=1)
        assert distance.max() < 0.02 * size
        assert math.sqrt((distance**2).mean()) * 100 / size == pytest.approx(preview._current.error, rel=0.05)
    assert "ms for this frame" in preview.sentence()
    scene.frame_set(1)
    assert bpy.ops.ossify.preview() == {"FINISHED"}
    assert not preview.running()
    assert preview._on_frame not in bpy.app.handlers.frame_change_post
    assert scenes.difference(before, scenes.picture()) == ""
    for name, matrix in poses(result.armature).items():
        assert matrix == pytest.approx(keyed[name], abs=1e-6)


def test_the_preview_poses_an_articulated_rig():
    body, _ = scenes.creature(frames=12)
    result = converted(body, bones=10, skeleton="ARTICULATED")
    body.hide_viewport = False
    body.hide_set(False)
    scenes.select(result.armature, body)
    bpy.ops.ossify.preview()
    bpy.context.scene.frame_set(6)
    distance = np.linalg.norm(scenes.seen(result.meshes[0]) - scenes.seen(body), axis=1)
    assert math.sqrt((distance**2).mean()) < 0.02 * scenes.size_of(scenes.positions(body.data))
    preview.stop()


def channels(armature):
    """All that a preview poses, keyed or not, as the armature itself has it."""
    names = "location rotation_quaternion scale".split()
    return {bone.name: [list(getattr(bone, name)) for name in names] for bone in armature.pose.bones}


def leave_unkeyed(armature):
    """One bone without keys, so that nothing but the preview can put its pose back."""
    bone = armature.pose.bones[-1]
    for curve in curves(armature.animation_data.action):
        if curve.data_path.startswith(f'pose.bones["{bone.name}"]'):
            curve.mute = True
    bone.location, bone.rotation_quaternion = (0.1, 0, 0), (1, 0, 0, 0)
    bpy.context.view_layer.update()
    return bone.name


def test_the_preview_ends_with_its_source():
    result, second = stage()
    name = leave_unkeyed(result.armature)
    before = channels(result.armature)[name]
    bpy.ops.ossify.preview()
    assert channels(result.armature)[name] != before
    bpy.data.objects.remove(second)
    bpy.context.scene.frame_set(4)
    assert not preview.running()
    assert channels(result.armature)[name] == before
    assert "Second was removed" in preview.sentence()
    assert preview._on_frame not in bpy.app.handlers.frame_change_post


def test_the_preview_ends_with_its_file():
    stage()
    bpy.ops.ossify.preview()
    assert preview.running()
    bpy.ops.wm.read_homefile(use_empty=True)
    assert not preview.running()


def test_undo_comes_back_to_the_pose_before_a_preview():
    result, _ = stage()
    rig, name = result.armature.name, leave_unkeyed(result.armature)
    before = channels(result.armature)[name]
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.ossify.preview()
    bpy.context.scene.frame_set(4)
    bpy.ops.ed.undo_push(message="to another frame")
    preview.stop()
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert channels(bpy.data.objects[rig])[name] == before


def test_a_rig_copied_during_a_preview_has_the_pose_before_it():
    result, _ = stage()
    name = leave_unkeyed(result.armature)
    before = channels(result.armature)[name]
    bpy.ops.ossify.preview()
    copy = result.armature.copy()
    bpy.context.scene.collection.objects.link(copy)
    assert channels(copy)[name] != before
    preview.stop()
    assert channels(copy)[name] == channels(result.armature)[name] == before
    copy.pose.bones[name].location = own = (0.5, 0.25, 0)
    copied = copy.name
    bpy.ops.ed.undo_push(message="posed")
    bpy.context.scene.frame_set(2)
    bpy.ops.ed.undo_push(message="to another frame")
    bpy.ops.ed.undo()
    assert tuple(bpy.data.objects[copied].pose.bones[name].location) == own


def test_undo_ends_a_preview():
    result, _ = stage()
    rig, name = result.armature.name, leave_unkeyed(result.armature)
    before = channels(result.armature)[name]
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.ossify.preview()
    bpy.ops.ed.undo_push(message="during")
    bpy.ops.ed.undo()
    assert not preview.running()
    assert "undone" in preview.sentence()
    assert channels(bpy.data.objects[rig])[name] == before


def test_a_file_written_during_a_preview_has_the_pose_before_it(tmp_path):
    result, _ = stage()
    rig, name = result.armature.name, leave_unkeyed(result.armature)
    before = channels(result.armature)[name]
    bpy.ops.ossify.preview()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "preview.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "preview.blend"))
    assert not preview.running()
    assert channels(bpy.data.objects[rig])[name] == before


@pytest.mark.parametrize("work", ["track", "refit", "smooth_weights", "add_bone"])
def test_work_on_the_rig_ends_the_preview(work):
    stage()
    bpy.ops.ossify.preview()
    getattr(bpy.ops.ossify, work)()
    assert not preview.running()


def larger(body):
    """The same body, grown: bones have to move in order to follow it."""
    second = body.copy()
    second.data, second.name, second.hide_viewport = body.data.copy(), "Larger", False
    points = 1.3 * scenes.positions(second.data)
    second.data.attributes["position"].data.foreach_set("vector", points.astype(np.float32).ravel())
    bpy.context.scene.collection.objects.link(second)
    return second


@pytest.mark.parametrize("work", ["update_skeleton", "look_for_changes", "put_back"])
def test_the_pose_of_a_preview_is_no_change_of_the_rig(work):
    body, _ = scenes.creature(frames=12)
    chosen = {"bones": COUNT, "quality": "NORMAL", "skeleton": "HIERARCHY", "keys": "REDUCED"}
    rig, (mesh,) = converted(body, **chosen)[:2]
    goal = source_frames(rig)
    made, size = error(rig, mesh, goal), np.linalg.norm(np.ptp(goal[0], axis=0))
    if work == "put_back":
        edit(rig, lambda bones: setattr(bones["Side.002.L"], "roll", 0.7 + bones["Side.002.L"].roll))
    scenes.select(rig, larger(body))
    assert bpy.ops.ossify.preview() == {"FINISHED"}
    bpy.context.scene.frame_set(6)
    assert getattr(bpy.ops.ossify, work)() == {"FINISHED"}
    assert not preview.running()
    assert not rig.ossify.changes
    assert error(rig, mesh, goal) < made + 1e-2 * size


def test_live_modifiers_have_no_preview():
    _, second = stage()
    second.modifiers.new("Subdivision", "SUBSURF")
    with pytest.raises(RuntimeError, match=r"Second has live modifiers \(Subdivision\)"):
        bpy.ops.ossify.preview()


def test_a_refit_asks_for_one_of_the_rigs_own_clips():
    result, second = stage()
    assert refit_check.trouble(result.armature) is None
    tracked(result, second)
    assert refit_check.trouble(result.armature) is None
    own = bpy.data.actions["Second"].copy()
    own.name = "Mine"
    actions.assign(result.armature, own)
    assert refit_check.trouble(result.armature) == (
        "First Rig plays Mine, an action of your own: play one of its clips, First Rig."
    )
    bpy.ops.ossify.play_clip(clip=0)
    assert refit_check.trouble(result.armature) is None


# ---- the panel


def test_the_panel_says_what_it_will_do():
    result, _ = stage()
    assert panel_track.OSSIFY_PT_track.poll(bpy.context)
    assert "Track Second" in drawn(panel_track.OSSIFY_PT_track)
    scenes.select(result.armature)
    assert "Select a mesh that moves together" in drawn(panel_track.OSSIFY_PT_track)
    scenes.select(result.armature, bpy.data.objects["Second"])
    bpy.ops.ossify.preview()
    assert "ms for this frame" in drawn(panel_track.OSSIFY_PT_track)
    preview.stop()


def test_the_list_of_clips_names_them():
    result, second = stage()
    tracked(result, second)
    layout, rig = Layout(), result.armature.ossify
    for index, clip in enumerate(rig.clips):
        panel_track.OSSIFY_UL_clips.draw_item(None, None, layout, rig, clip, 0, rig, "clip_index", index)
    words = " ".join(layout.words)
    assert "First Rig" in words
    assert "Second" in words
    bpy.data.actions.remove(rig.clips[1].action)
    panel_track.OSSIFY_UL_clips.draw_item(None, None, layout, rig, rig.clips[1], 0, rig, "clip_index", 1)
    assert "Second (gone)" in layout.words
