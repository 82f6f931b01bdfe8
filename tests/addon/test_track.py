"""New motion on a rig that stands, against what Blender shows of the source."""

import itertools
import math

import bpy
import numpy as np
import pytest
import scenes
from chain import converted, curves, drain, unhurried
from ossify.base.refusal import Refusal
from ossify.options import options
from ossify.rig import actions, standing
from ossify.track import track
from tracks import FRAMES, bind, distances, first_rig, refused, sheet, tracked


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
    result = first_rig(bones=8)
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


def test_a_retimed_take_is_the_same_motion():
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


def test_a_subdivided_take_fits_as_well():
    first = sheet("First", 0.0)
    result = converted(first, bones=10, rest_correction="FIXED")
    exact = tracked(result, sheet("Same", 0.8))
    dense = sheet("Dense", 0.8, n=17)
    got = tracked(result, dense)
    (note,) = got.notes  # of the same size, however many vertices it has
    assert "other vertices than the rig" in note
    assert got.rms == pytest.approx(exact.rms, rel=0.05)
    sparse = sheet("Sparse", 0.8, n=7)
    got = tracked(result, sparse)
    assert got.rms * got.percent < 2
    assert len(got.notes) == 1


def test_a_take_elsewhere_is_followed_or_carried_to_the_rig():
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


def test_a_rig_that_was_moved_and_scaled_fits_as_well():
    result = first_rig(bones=10)
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


def test_flexible_bones_are_tracked():
    result = first_rig(bone_kind="FLEXIBLE")
    second = sheet("Second", 0.8)
    got = tracked(result, second)
    assert distances(result, second).max() == pytest.approx(got.maximum, rel=1e-3)
    assert got.rms * got.percent < 1


def test_an_artists_bones_keep_what_they_have():
    result = first_rig()
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


def keyed_bones(action):
    """Names of bones with keys that change something"""
    moving = [c for c in curves(action) if len({round(p.co.y, 5) for p in c.keyframe_points}) > 1]
    return {curve.data_path.split('"')[1] for curve in moving}


@pytest.mark.parametrize("kind", ["constraint", "driver", "muted"])
def test_bones_that_something_else_moves_are_solved_around(monkeypatch, kind):
    def result_of(rounds):
        monkeypatch.setattr(track, "_ROUNDS", rounds)
        bpy.ops.wm.read_homefile(use_empty=True)
        result = first_rig(skeleton="NONE")
        name = standing.bone_names(result.armature)[2]
        if kind == "driver":
            curve = result.armature.pose.bones[name].driver_add("location", 2)
            curve.driver.expression = "frame / 60"
        else:
            bind(result.armature, name, "COPY_LOCATION")
            result.armature.pose.bones[name].constraints[0].mute = kind == "muted"
        second = sheet("Second", 0.8)
        got = tracked(result, second)
        assert distances(result, second).max() == pytest.approx(got.maximum, rel=1e-3)
        return name, got, set(standing.bone_names(result.armature))

    name, without, _ = result_of(0)
    assert without.rms > 0
    name, got, names = result_of(2)
    if kind == "muted":
        assert got.rms == without.rms
        assert name in keyed_bones(got.action)
        assert got.notes == []
        return
    assert keyed_bones(got.action) - {"Root"} == names - {name}
    assert got.rms < 0.9 * without.rms
    assert got.notes == [
        f"{name} is moved by a constraint or driver: not keyed, and the other bones were solved around that."
    ]


def test_a_bone_that_does_not_inherit_is_told():
    result = first_rig(skeleton="NONE")
    name = standing.bone_names(result.armature)[2]
    result.armature.data.bones[name].use_inherit_rotation = False
    got = tracked(result, sheet("Second", 0.8))
    assert got.notes == [
        f"{name} has Inherit Rotation off: not keyed, and the other bones were solved around that."
    ]


def test_bones_above_one_that_a_constraint_moves_are_keyed():
    body, _ = scenes.creature(frames=FRAMES)
    result = converted(body, bones=10, quality="NORMAL", skeleton="HIERARCHY", hide_source=False)
    armature = result.armature
    child = next(b for b in armature.data.bones if not b.children and b.parent.parent.use_deform)
    empty = scenes.link(bpy.data.objects.new("Guide", None))
    constraint = armature.pose.bones[child.name].constraints.new("COPY_ROTATION")
    constraint.target, constraint.target_space, constraint.owner_space = empty, "LOCAL", "LOCAL"
    limited = next(b.name for b in armature.data.bones if not b.children and b != child)
    armature.pose.bones[limited].constraints.new("LIMIT_ROTATION")
    got = tracked(result, body)
    keyed = keyed_bones(got.action)
    assert {bone.name for bone in child.parent_recursive if bone.use_deform} <= keyed
    assert child.name not in keyed
    assert limited in keyed
    assert any("has limits" in note for note in got.notes)
    far = distances(result, body).max(axis=0)
    weights = standing.painted(result.meshes[0], [child.name])[:, 0]
    assert far[weights == 0].max() < 0.1 * far[weights > 0.99].max()  # the rest of the body is in its place


def test_the_earlier_action_goes_into_the_nla():
    result = first_rig()
    old = result.armature.animation_data.action
    second = sheet("Second", 0.8)
    got = tracked(result, second, nla=True, name="Retake")
    (strip,) = (strip for t in result.armature.animation_data.nla_tracks for strip in t.strips)
    assert strip.action == old
    assert got.action.name == "Retake"
    assert distances(result, second).max() == pytest.approx(got.maximum, rel=1e-3)


def test_both_actions_key_the_same_channels():
    result = first_rig(keys="REDUCED")
    old = result.armature.animation_data.action
    got = tracked(result, sheet("Second", 0.8))
    mine, theirs = ({(c.data_path, c.array_index) for c in curves(a)} for a in (old, got.action))
    assert mine == theirs


def test_cancelling_at_every_step_leaves_the_file_as_it_was():
    """Whether the solver is waited for depends on its speed; the stage after it comes in any case."""
    result, second = first_rig(), sheet("Second", 0.8)
    context, stages = bpy.context, set()
    context.scene.frame_set(3)
    before = scenes.picture()

    def begun():
        return track.track(
            context.scene, context.view_layer, result.armature, [second], options.TrackOptions()
        )

    steps = begun()
    assert any(step.stage == "Building" for step in steps)
    steps.close()
    assert scenes.difference(before, scenes.picture()) == "", "cancelled while it builds"
    for count in itertools.count(1):
        steps = begun()
        met = [step.stage for step in itertools.islice(unhurried(steps), count)]
        if len(met) < count:
            break
        stages.add(met[-1])
        steps.close()
        assert scenes.difference(before, scenes.picture()) == "", f"cancelled after {count} steps"
    assert {"Reading"} < stages <= {"Reading", "Solving", "Building"}


def test_what_cannot_be_tracked_is_told():
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
    del result.armature.data.bones["Root"]["ossify_role"]
    assert "has lost its bone Root" in refused(result, sheet("Second", 0.8))


@pytest.mark.parametrize("place", ["WORLD", "RIG"])
def test_a_source_without_a_size_is_refused(place):
    result, second = first_rig(), sheet("Second", 0.8)
    second.scale = (0, 0, 0)
    second.rotation_euler = (0.3, 0.2, 0.1)
    assert refused(result, second, place=place) == "Second is scaled to nothing: give it a size."


def test_a_rig_without_its_meshes_is_refused():
    result = first_rig()
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


def test_a_source_that_goes_when_it_was_read_does_no_harm():
    result, second = first_rig(), sheet("Second", 0.8)
    steps = solving(result, second)
    bpy.data.objects.remove(second)
    got = drain(steps)
    assert result.armature.animation_data.action == got.action
    assert result.armature.ossify.clips[1].source is None


def test_a_rig_that_goes_is_refused():
    result, second = first_rig(), sheet("Second", 0.8)
    steps = solving(result, second)
    known = set(bpy.data.actions.keys())
    bpy.data.objects.remove(result.armature)
    with pytest.raises(Refusal, match="First Rig was removed while Ossify was working"):
        drain(steps)
    assert set(bpy.data.actions.keys()) == known


def test_one_frame_is_a_pose():
    result, second = first_rig(), sheet("Second", 0.8)
    got = tracked(result, second, frames="CUSTOM", frame_start=4, frame_end=4)
    assert got.frames == 1
    assert distances(result, second, [4]).max() == pytest.approx(got.maximum, rel=1e-3)
