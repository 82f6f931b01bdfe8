"""One rig for several clips: an action for each, in the scene and in what other programs read."""

import json
import math
import re

import bpy
import numpy as np
import pytest
import scenes
from chain import converted, curves
from ossify.base.refusal import Refusal
from ossify.convert import convert
from ossify.files import outputs
from ossify.motion import clips
from ossify.options import options
from ossify.rig import actions
from takes import TAKES, shown, take, two_takes


def test_takes_become_an_action_each():
    walk, run = two_takes()
    times = range(1, TAKES + 1)
    expected = scenes.seen_frames(walk, times), scenes.seen_frames(run, times) - (5, 0, 0)
    result = converted(walk, run, clips="TAKES", bones=12)
    assert [clip.name for clip in result.armature.ossify.clips] == ["Walk", "Run"]
    assert [clip.action for clip in result.armature.ossify.clips] == [
        bpy.data.actions[n] for n in ("Walk", "Run")
    ]
    assert result.armature.animation_data.action.name == "Walk"
    assert len(result.meshes) == 1
    assert result.report.vertices == 81
    for name, points in zip(("Walk", "Run", "Walk"), (*expected, expected[0]), strict=True):
        distance = np.linalg.norm(shown(result.armature, result.meshes[0], name, times) - points, axis=2)
        assert distance.max() <= 1.01 * result.report.maximum
        rms = math.sqrt((distance**2).mean())
        clip = next(clip for clip in result.armature.ossify.clips if clip.name == name)
        assert clip.rms == pytest.approx(100 * rms / result.report.size, rel=1e-3)
    assert result.report.percent(result.report.rms) < 2
    assert all(bpy.data.actions[name].use_fake_user for name in ("Walk", "Run"))
    assert not any(obj.visible_get() for obj in (walk, run))


def test_every_action_keys_the_same_channels():
    result = converted(*two_takes(), clips="TAKES", keys="REDUCED")
    first, second = (
        {(curve.data_path, curve.array_index) for curve in curves(bpy.data.actions[name])}
        for name in ("Walk", "Run")
    )
    assert first == second
    assert first
    assert result.report.keys == sum(
        len(curve.keyframe_points) for name in ("Walk", "Run") for curve in curves(bpy.data.actions[name])
    )


def test_markers_divide_the_range():
    obj = take("Sheet", 0.0)
    expected = scenes.seen_frames(obj, range(1, 9))
    for name, frame in (("Later", 6), ("First", 1), ("Beyond", 40)):
        bpy.context.scene.timeline_markers.new(name, frame=frame)
    result = converted(obj, clips="MARKERS", nla=True, bones=12)
    found = [(clip.name, clip.first_frame, clip.last_frame) for clip in result.armature.ossify.clips]
    assert found == [("First", 1, 5), ("Later", 6, 8)]
    data = result.armature.animation_data
    assert data.action is None
    tracks = [(track.name, track.mute, track.strips[0].action.name) for track in data.nla_tracks]
    assert tracks == [("First", False, "First"), ("Later", False, "Later")]
    distance = scenes.seen_frames(result.meshes[0], range(1, 9)) - expected
    assert np.linalg.norm(distance, axis=2).max() <= 1.01 * result.report.maximum


def test_takes_that_share_frames_are_heard_one_at_a_time():
    result = converted(*two_takes(), clips="TAKES", nla=True)
    assert [track.mute for track in result.armature.animation_data.nla_tracks] == [False, True]


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        ([(1, "a"), (5, "b")], [("a", 0, 4), ("b", 4, 10)]),
        ([(4, "b")], [("whole", 0, 3), ("b", 3, 10)]),
        ([(-3, "a"), (0, "b"), (20, "c")], [("b", 0, 10)]),
        ([(5, "b"), (1, "a"), (5, "c")], [("a", 0, 4), ("c", 4, 10)]),
        ([(10, "end")], [("whole", 0, 9), ("end", 9, 10)]),
    ],
)
def test_markers_divide_frames_into_rows(markers, expected):
    found = clips.divide(markers, list(range(1, 11)), "whole")
    assert [(name, rows.start, rows.stop) for name, rows in found] == expected


def test_a_shorter_take_ends_where_it_stops():
    walk, short = take("Walk", 0.0), take("Short", 1.0, frames=5)
    result = converted(walk, short, clips="TAKES")
    assert [(clip.first_frame, clip.last_frame) for clip in result.armature.ossify.clips] == [(1, 8), (1, 5)]


def test_takes_that_are_none_are_refused():
    walk = take("Walk", 0.0)
    with pytest.raises(Refusal, match="There is one take"):
        converted(walk, clips="TAKES")
    with pytest.raises(Refusal, match="The timeline has no markers up to frame 8"):
        converted(walk, clips="MARKERS")
    other = scenes.tube("Other")
    other.location.x = 1
    other.keyframe_insert("location", frame=1)
    other.location.x = 2
    other.keyframe_insert("location", frame=8)
    with pytest.raises(Refusal, match="Other has 72 vertices and Walk 81"):
        converted(walk, other, clips="TAKES")
    assert "one clip" in options.contradiction(options.Options(frames="POSES", clips="TAKES"))


def test_cancelling_while_a_take_is_read_leaves_the_file_as_it_was():
    walk, run = two_takes()
    before = scenes.picture()
    context = bpy.context
    steps = convert.convert(context.scene, context.view_layer, [walk, run], options.Options(clips="TAKES"))
    for _ in range(TAKES + 3):
        next(steps)
    steps.close()
    assert scenes.difference(before, scenes.picture()) == ""


def test_the_frames_of_the_report_show_their_clip():
    result = converted(*two_takes(), clips="TAKES")
    rig = result.armature.ossify
    assert len(rig.frames) == 2 * TAKES
    rig.frame_index = TAKES + 2
    assert result.armature.animation_data.action.name == "Run"
    assert bpy.context.scene.frame_current == 3
    rig.frame_index = 0
    assert result.armature.animation_data.action.name == "Walk"
    values = json.loads(json.dumps(result.report.to_json()))
    assert [clip["name"] for clip in values["clips"]] == ["Walk", "Run"]
    assert all(len(clip["frame_error"]) == TAKES for clip in values["clips"])
    assert sum("clip " in line for line in result.report.lines()) == 2


@pytest.mark.parametrize("ending", ["glb", "fbx"])
def test_other_programs_get_every_clip(tmp_path, ending):
    """Each clip is an animation of its own in the file, and moves the mesh as the action did."""
    result = converted(*two_takes(), clips="TAKES", bones=12)
    times = range(1, TAKES + 1)
    expected = {n: shown(result.armature, result.meshes[0], n, times) for n in ("Walk", "Run")}
    actions.assign(result.armature, bpy.data.actions["Walk"])
    before = scenes.picture()
    path = tmp_path / f"clips.{ending}"
    outputs.write(path, result.armature, result.meshes, 4)
    scenes.select(result.armature, *result.meshes)
    assert scenes.difference(before, scenes.picture()) == ""

    bpy.ops.wm.read_homefile(use_empty=True)
    if ending == "glb":
        bpy.ops.import_scene.gltf(filepath=str(path))
    else:
        bpy.ops.import_scene.fbx(filepath=str(path), automatic_bone_orientation=False)
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH" and obj.find_armature() == armature)
    scene = bpy.context.scene
    if armature.animation_data:
        for track in armature.animation_data.nla_tracks:
            track.mute = True
    rows = None
    for name, points in expected.items():
        action = next(action for action in bpy.data.actions if name in re.split("[|_]", action.name))
        actions.assign(armature, action)
        first = action.frame_range[0]
        for f, wanted in enumerate(points):
            time = first + f * (action.frame_range[1] - first) / (TAKES - 1)
            scene.frame_set(math.floor(time), subframe=time - math.floor(time))
            seen = scenes.seen(mesh)
            if rows is None:  # the file may have its vertices in another order
                rows = np.linalg.norm(seen[:, None] - wanted[None], axis=2).argmin(axis=1)
            assert np.linalg.norm(seen - wanted[rows], axis=1).max() < 2e-3 * scenes.size_of(wanted)


def test_a_new_skeleton_keeps_every_clip():
    walk, run = two_takes()
    result = converted(walk, run, clips="TAKES", bones=8, skeleton="NONE")
    times = range(1, TAKES + 1)
    before = {n: shown(result.armature, result.meshes[0], n, times) for n in ("Walk", "Run")}
    actions.assign(result.armature, bpy.data.actions["Run"])
    scenes.select(result.armature)
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert result.armature.animation_data.action.name == "Run"
    assert any(bone.parent and bone.parent.name != "Root" for bone in result.armature.data.bones)
    for name, points in before.items():
        after = shown(result.armature, result.meshes[0], name, times)
        assert np.abs(after - points).max() < 1e-3 * scenes.size_of(points)


def test_clips_do_not_change_the_rig():
    """Solved together means as one long clip: the same bones, joints and weights to the bit."""

    def rig_of(**chosen):
        bpy.ops.wm.read_homefile(use_empty=True)
        body, _ = scenes.creature(frames=16)
        for name, frame in (("a", 1), ("b", 5), ("c", 9), ("d", 13)):
            bpy.context.scene.timeline_markers.new(name, frame=frame)
        result = converted(body, bones=10, skeleton="HIERARCHY", **chosen)
        bones = [
            (bone.name, bone.parent and bone.parent.name, np.array(bone.matrix_local).tolist(), bone.length)
            for bone in result.armature.data.bones
        ]
        weights = [
            [(group.group, group.weight) for group in vertex.groups]
            for vertex in result.meshes[0].data.vertices
        ]
        played = []
        for clip in result.armature.ossify.clips:
            actions.assign(result.armature, clip.action)
            played += list(scenes.seen_frames(result.meshes[0], range(clip.first_frame, clip.last_frame + 1)))
        return bones, weights, np.array(played)

    whole, parts = rig_of(), rig_of(clips="MARKERS")
    assert whole[:2] == parts[:2]
    assert np.abs(whole[2] - parts[2]).max() < 1e-5 * scenes.size_of(whole[2][0])
