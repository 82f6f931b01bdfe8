"""New motion on a rig that stands, against what Blender shows of the source."""

import math
import types

import bpy
import numpy as np
import pytest
import scenes
from chain import converted, curves, drain
from ossify import actions, convert, options, panel_track, preview, refit, standing, track

FRAMES = 12


def sheet(name, phase, frames=FRAMES, **more):
    """A sheet that waves, by a shape key a frame."""
    obj = scenes.grid(name, **more)
    points = scenes.positions(obj.data)
    moved = [scenes.wave(points, phase + 2 * math.pi * f / FRAMES) for f in range(frames)]
    blocks = scenes.add_shape_keys(obj, moved)
    for f in range(frames):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            blocks[f + 1].value = value
            blocks[f + 1].keyframe_insert("value", frame=time)
    bpy.context.scene.frame_end = FRAMES
    bpy.context.view_layer.update()
    return obj


def tracked(result, *objects, **chosen):
    context = bpy.context
    steps = track.track(
        context.scene, context.view_layer, result.armature, list(objects), options.TrackOptions(**chosen)
    )
    return convert.run(steps)


def distances(result, source, times=range(1, FRAMES + 1)):
    """[f][v] between the rig's mesh and the source, as seen"""
    mine, theirs = scenes.seen_frames(result.meshes[0], times), scenes.seen_frames(source, times)
    return np.linalg.norm(mine - theirs, axis=2)


def state(armature, mesh):
    """What tracking holds: weights, rest shape, bones."""
    names = standing.bone_names(armature)
    bones = [
        (b.name, b.parent and b.parent.name, b.use_connect, np.array(b.matrix_local).tolist(), b.length)
        for b in armature.data.bones
    ]
    return standing.painted(mesh, names).tolist(), scenes.positions(mesh.data).tolist(), bones


def test_a_second_take_becomes_an_action():
    first, second = sheet("First", 0.0), sheet("Second", 0.8)
    result = converted(first, bones=10)
    held, old = state(result.armature, result.meshes[0]), result.armature.animation_data.action
    own = distances(result, first)
    got = tracked(result, second)
    assert state(result.armature, result.meshes[0]) == held
    assert result.armature.animation_data.action == got.action
    assert got.action.name == "Second"
    assert old.use_fake_user
    distance = distances(result, second)
    size = 100 / got.percent
    assert got.rms == pytest.approx(math.sqrt((distance**2).mean()), rel=1e-3)
    assert got.maximum == pytest.approx(distance.max(), rel=1e-3)
    assert got.rms / size < 0.02
    actions.assign(result.armature, old)
    assert distances(result, first) == pytest.approx(own, abs=1e-6)
    assert [clip.action for clip in result.armature.ossify.clips] == [old, got.action]
    assert result.armature.ossify.clips[1].source == second
    assert {"Ossify Workshop"}.isdisjoint(scene.name for scene in bpy.data.scenes)


def test_a_motion_that_the_rig_can_make_comes_back():
    """The second take is the rig's own mesh in another pose of its bones."""
    result = converted(sheet("First", 0.0), bones=8)
    posed = result.armature.copy()
    posed.animation_data_clear()
    bpy.context.scene.collection.objects.link(posed)
    mesh = result.meshes[0].copy()
    bpy.context.scene.collection.objects.link(mesh)
    mesh.parent, mesh.modifiers["Armature"].object, mesh.name = posed, posed, "Posed"
    rng = np.random.default_rng(5)
    for frame in (1, 5, FRAMES):
        for bone in posed.pose.bones:
            bone.location = rng.normal(0, 0.03, 3)
            bone.rotation_quaternion = (1, *rng.normal(0, 0.1, 3))
            for channel in ("location", "rotation_quaternion"):
                bone.keyframe_insert(channel, frame=frame)
    got = tracked(result, mesh)
    assert got.rms * got.percent < 0.001
    assert distances(result, mesh).max() * got.percent < 0.05  # half of the tolerance of keys


def test_twice_the_speed():
    """A retimed cache: every second frame of the same motion."""
    first = sheet("First", 0.0)
    result = converted(first, bones=10, keys="EVERY")
    fast = scenes.grid("Fast")
    points = scenes.positions(fast.data)
    blocks = scenes.add_shape_keys(
        fast, [scenes.wave(points, 2 * math.pi * f / FRAMES) for f in range(0, FRAMES, 2)]
    )
    for f in range(6):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            blocks[f + 1].value = value
            blocks[f + 1].keyframe_insert("value", frame=time)
    got = tracked(result, fast, frames="CUSTOM", frame_start=1, frame_end=6)
    fitted = scenes.seen_frames(result.meshes[0], range(1, 7))
    actions.assign(result.armature, result.armature.ossify.clips[0].action)
    whole = scenes.seen_frames(result.meshes[0], range(1, FRAMES + 1, 2))
    assert got.frames == 6
    assert np.abs(fitted - whole).max() * got.percent < 0.5


def test_a_subdivided_take():
    first = sheet("First", 0.0)
    result = converted(first, bones=10, rest_correction="FIXED")
    exact = tracked(result, sheet("Same", 0.8))
    dense = sheet("Dense", 0.8, n=17)
    got = tracked(result, dense)
    assert any("other vertices than the rig" in note for note in got.notes)
    assert got.rms == pytest.approx(exact.rms, rel=0.05)
    sparse = sheet("Sparse", 0.8, n=7)
    got = tracked(result, sparse)
    assert got.rms * got.percent < 2


def test_a_take_elsewhere():
    """In the world the rig goes there; carried to the rig it stays, and another size does not matter."""
    first = sheet("First", 0.0)
    result = converted(first, bones=10)
    second = sheet("Second", 0.8)
    here = tracked(result, second)
    mine = scenes.seen_frames(result.meshes[0], range(1, FRAMES + 1))
    second.location, second.rotation_euler = (3, -1, 2), (0.2, 0.5, 1.0)
    away = tracked(result, second)
    assert away.rms == pytest.approx(here.rms, rel=0.02)
    assert distances(result, second).max() == pytest.approx(away.maximum, rel=1e-3)
    second.scale = (10, 10, 10)
    carried = tracked(result, second, place="RIG")
    assert carried.rms == pytest.approx(here.rms, rel=0.02)
    assert np.abs(scenes.seen_frames(result.meshes[0], range(1, FRAMES + 1)) - mine).max() < 1e-2
    note = tracked(result, second).notes[0]
    assert note.startswith("Second is 10 times as large")


def test_the_root_carries_the_body():
    first, second = sheet("First", 0.0), sheet("Second", 0.8)
    result = converted(first, bones=6)
    for frame, x in ((1, 0.0), (FRAMES, 7.0)):
        second.location.x = x
        second.keyframe_insert("location", frame=frame)
    tracked(result, second)
    scene, root = bpy.context.scene, result.armature.pose.bones["Root"]
    scene.frame_set(1)
    before = np.array(root.matrix)[:3, 3]
    scene.frame_set(FRAMES)
    assert np.array(root.matrix)[:3, 3] - before == pytest.approx([7, 0, 0], abs=0.3)


def test_a_rig_that_was_moved_and_scaled():
    result = converted(sheet("First", 0.0), bones=10)
    second = sheet("Second", 0.8)
    here = tracked(result, second)
    result.armature.location, result.armature.rotation_euler = (1, 2, 3), (0.3, 0, 0.4)
    result.armature.scale = (2, 2, 2)
    second.scale = (2, 2, 2)
    bpy.context.view_layer.update()
    got = tracked(result, second)
    assert got.rms == pytest.approx(here.rms, rel=0.02)
    assert distances(result, second).max() == pytest.approx(2 * got.maximum, rel=1e-3)


def test_an_articulated_rig_stays_so():
    body, _ = scenes.creature(frames=16)
    result = converted(body, bones=10, skeleton="ARTICULATED", quality="NORMAL")
    mover = bpy.data.objects["Mover"]
    heads = {bone.name: np.array(bone.head_local) for bone in result.armature.data.bones}
    rng = np.random.default_rng(3)
    for bone in mover.pose.bones:  # another motion of the same body
        for frame in (1, 8, 16):
            bone.rotation_quaternion = (1, *rng.normal(0, 0.15, 3))
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        action = mover.animation_data.action
        for curve in curves(action):
            for point in reversed(list(curve.keyframe_points)):
                if round(point.co.x) not in (1, 8, 16):
                    curve.keyframe_points.remove(point)
    bpy.context.view_layer.update()
    body.hide_set(False)
    body.hide_viewport = False
    got = tracked(result, body)
    for bone in result.armature.data.bones:
        assert np.array_equal(np.array(bone.head_local), heads[bone.name])
    located = {
        curve.data_path.split('"')[1] for curve in curves(got.action) if curve.data_path.endswith(".location")
    }
    free = {
        bone.name for bone in result.armature.data.bones if bone.parent is None or bone.parent.name == "Root"
    }
    assert located <= free
    assert got.rms * got.percent < 2
    assert distances(result, body, range(1, 17)).max() == pytest.approx(got.maximum, rel=1e-3)


@pytest.mark.parametrize("keys", ["EVERY", "REDUCED"])
def test_bones_whose_location_is_locked_only_turn(keys):
    body, _ = scenes.creature(frames=12)
    result = converted(body, bones=8, skeleton="HIERARCHY", keys=keys)
    free = [
        bone
        for bone in result.armature.pose.bones
        if bone.bone.use_deform and bone.parent.name != "Root" and not bone.bone.use_connect
    ]
    assert free
    free[0].lock_location = (True, True, True)
    body.hide_viewport = False
    body.hide_set(False)
    got = tracked(result, body)
    moved = {c.data_path.split('"')[1] for c in curves(got.action) if c.data_path.endswith(".location")}
    still = {c.data_path.split('"')[1] for c in curves(got.action) if _rests(c)}
    assert free[0].name not in moved - still
    assert got.rms * got.percent < 2


def _rests(curve):
    return curve.data_path.endswith(".location") and all(abs(p.co.y) < 1e-6 for p in curve.keyframe_points)


def test_flexible_bones():
    result = converted(sheet("First", 0.0), bones=6, bone_kind="FLEXIBLE")
    second = sheet("Second", 0.8)
    got = tracked(result, second)
    assert distances(result, second).max() == pytest.approx(got.maximum, rel=1e-3)
    assert got.rms * got.percent < 1


def test_an_artists_bones_keep_what_they_have():
    result = converted(sheet("First", 0.0), bones=6)
    scenes.select(result.armature)
    bpy.ops.object.mode_set(mode="EDIT")
    control = result.armature.data.edit_bones.new("Control")
    control.head, control.tail, control.use_deform = (0, 0, 1), (0, 0, 2), False
    bpy.ops.object.mode_set(mode="OBJECT")
    result.armature.pose.bones["Control"].location = (1, 2, 3)
    second = sheet("Second", 0.8)
    got = tracked(result, second)
    assert tuple(result.armature.pose.bones["Control"].location) == (1, 2, 3)
    assert not any("Control" in curve.data_path for curve in curves(got.action))


def test_the_earlier_action_in_the_nla():
    result = converted(sheet("First", 0.0), bones=6)
    old = result.armature.animation_data.action
    second = sheet("Second", 0.8)
    got = tracked(result, second, nla=True, name="Retake")
    (strip,) = (strip for t in result.armature.animation_data.nla_tracks for strip in t.strips)
    assert strip.action == old
    assert got.action.name == "Retake"
    assert distances(result, second).max() == pytest.approx(got.maximum, rel=1e-3)


def test_both_actions_key_the_same_channels():
    result = converted(sheet("First", 0.0), bones=6, keys="REDUCED")
    old = result.armature.animation_data.action
    got = tracked(result, sheet("Second", 0.8))
    mine, theirs = ({(c.data_path, c.array_index) for c in curves(a)} for a in (old, got.action))
    assert mine == theirs


def test_cancelled_at_every_stage():
    result, second = converted(sheet("First", 0.0), bones=6), sheet("Second", 0.8)
    before = scenes.picture()
    context, stages = bpy.context, set()
    for stop in ("Reading", "Solving", "Building", "Measuring"):
        steps = track.track(
            context.scene, context.view_layer, result.armature, [second], options.TrackOptions()
        )
        for step in steps:
            if step.stage == stop:
                stages.add(stop)
                break
        steps.close()
        assert scenes.difference(before, scenes.picture()) == "", stop
    assert stages == {"Reading", "Solving", "Building", "Measuring"}


def refused(result, *objects, **chosen):
    with pytest.raises(options.Refusal) as refusal:
        tracked(result, *objects, **chosen)
    return str(refusal.value)


def test_refusals():
    first = sheet("First", 0.0)
    result = converted(first, bones=6)
    before = scenes.picture()
    assert refused(result).startswith("There is nothing to track")
    assert "First is hidden" in refused(result, first)
    assert "is moved by First Rig itself" in refused(result, result.meshes[0])
    assert "not a mesh" in refused(result, result.armature)
    assert "ends (1) before it starts (5)" in refused(
        result, first, frames="CUSTOM", frame_start=5, frame_end=1
    )
    assert scenes.difference(before, scenes.picture()) == ""
    tube = scenes.tube("Other")
    sentence = refused(result, tube)
    assert "vertices of First Rigged lie farther than 2 % of the size from Other" in sentence
    result.armature.data.bones["Root"].name = "Gone"
    assert "has lost its bone Root" in refused(result, sheet("Second", 0.8))


def test_a_source_without_a_size_is_refused():
    result, second = converted(sheet("First", 0.0), bones=6), sheet("Second", 0.8)
    second.scale = (0, 0, 0)
    assert refused(result, second, place="RIG") == "Second is scaled to nothing: give it a size."


def test_a_rig_without_its_meshes_is_refused():
    result = converted(sheet("First", 0.0), bones=6)
    bpy.data.objects.remove(result.meshes[0])
    assert "has no mesh with vertex groups" in refused(result, sheet("Second", 0.8))


def solving(result, source):
    """A tracking that has read all that it needs."""
    context = bpy.context
    steps = track.track(context.scene, context.view_layer, result.armature, [source], options.TrackOptions())
    for step in steps:
        if step.stage == "Solving":
            return steps
    raise AssertionError("it ended too soon")


def test_a_source_that_goes_when_it_was_read():
    result, second = converted(sheet("First", 0.0), bones=6), sheet("Second", 0.8)
    steps = solving(result, second)
    bpy.data.objects.remove(second)
    got = drain(steps)
    assert result.armature.animation_data.action == got.action
    assert result.armature.ossify.clips[1].source is None


def test_a_rig_that_goes_is_refused():
    result, second = converted(sheet("First", 0.0), bones=6), sheet("Second", 0.8)
    steps = solving(result, second)
    known = set(bpy.data.actions.keys())
    bpy.data.objects.remove(result.armature)
    with pytest.raises(options.Refusal, match="First Rig was removed while Ossify was working"):
        drain(steps)
    assert set(bpy.data.actions.keys()) == known


def test_one_frame_is_a_pose():
    result, second = converted(sheet("First", 0.0), bones=6), sheet("Second", 0.8)
    got = tracked(result, second, frames="CUSTOM", frame_start=4, frame_end=4)
    assert got.frames == 1
    assert distances(result, second, [4]).max() == pytest.approx(got.maximum, rel=1e-3)


# ---- at the screen


def stage():
    """A rig and a second take; both selected, the rig active."""
    result, second = converted(sheet("First", 0.0), bones=6), sheet("Second", 0.8)
    scenes.select(result.armature, second)
    return result, second


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


def test_undo_and_redo():
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


def test_a_linked_rig_is_refused(tmp_path):
    result, _ = stage()
    bpy.data.libraries.write(str(tmp_path / "rig.blend"), {result.armature, *result.meshes})
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(tmp_path / "rig.blend"), link=True) as (there, here):
        here.objects = there.objects
    for obj in here.objects:
        scenes.link(obj)
    armature = next(obj for obj in here.objects if obj.type == "ARMATURE")
    second = sheet("Second", 0.8)
    scenes.select(armature, second)
    with pytest.raises(RuntimeError, match="First Rig is linked from another file"):
        bpy.ops.ossify.track()


def test_playing_a_clip():
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


def test_the_preview_of_an_articulated_rig():
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


def test_the_preview_ends_with_its_source():
    _, second = stage()
    bpy.ops.ossify.preview()
    bpy.data.objects.remove(second)
    bpy.context.scene.frame_set(4)
    assert not preview.running()
    assert "Second was removed" in preview.sentence()
    assert preview._on_frame not in bpy.app.handlers.frame_change_post


def test_the_preview_ends_with_its_file():
    stage()
    bpy.ops.ossify.preview()
    assert preview.running()
    bpy.ops.wm.read_homefile(use_empty=True)
    assert not preview.running()


def test_tracking_ends_the_preview():
    stage()
    bpy.ops.ossify.preview()
    bpy.ops.ossify.track()
    assert not preview.running()


def test_live_modifiers_have_no_preview():
    _, second = stage()
    second.modifiers.new("Subdivision", "SUBSURF")
    with pytest.raises(RuntimeError, match=r"Second has live modifiers \(Subdivision\)"):
        bpy.ops.ossify.preview()


def test_a_refit_asks_for_the_clip_that_the_rig_was_made_from():
    result, second = stage()
    assert refit.trouble(result.armature) is None
    tracked(result, second)
    assert refit.trouble(result.armature) == (
        "First Rig plays Second: play the clip that it was made from, First Rig."
    )
    bpy.ops.ossify.play_clip(clip=0)
    assert refit.trouble(result.armature) is None


# ---- the panel


class Layout:
    """Takes whatever a panel draws, and remembers its words."""

    def __init__(self):
        object.__setattr__(self, "words", [])

    def __getattr__(self, _name):
        def part(*arguments, **chosen):
            self.words.extend(str(word) for word in (*arguments, chosen.get("text")) if isinstance(word, str))
            return self

        return part

    def __setattr__(self, name, value):
        """Settings of a layout, and of the operators in it."""


def drawn(panel):
    """The words of a panel for the selection at hand."""
    context = bpy.context
    around = types.SimpleNamespace(
        scene=context.scene,
        view_layer=context.view_layer,
        selected_objects=context.selected_objects,
        preferences=context.preferences,
        region=types.SimpleNamespace(width=300),
    )
    layout = Layout()
    panel.draw(types.SimpleNamespace(layout=layout), around)
    return " ".join(layout.words)


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
