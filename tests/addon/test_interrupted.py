"""What an artist may do while a refit or a tracking runs: undo, save, change the rig. Between two steps
nothing of the work is in the file, and nothing is kept that an undo takes away."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from bone_edits import EDITS, rigged, stages_of
from kept import fresh
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.convert import convert
from ossify.edit import bone_change, bone_growth
from ossify.options import options
from ossify.refit import refit_trial
from ossify.rig import report
from ossify.track import track
from refits import COUNT, bits, creature_rig, edit, error, paint_noise, sheet_rig, source_frames, steps_of
from tracks import FRAMES, bind, first_rig, sheet

KINDS = ("actions", "armatures", "collections", "meshes", "objects", "scenes")


def blocks():
    """All data-blocks of the file, but for those that nobody sees"""
    return {(kind, block.name) for kind in KINDS for block in getattr(bpy.data, kind)}


def refit_plain():
    return steps_of(sheet_rig().armature)


def refit_from_the_source():
    return steps_of(sheet_rig().armature, motion="SOURCE")


def add_sleeve(armature):
    """A bone that claims vertices and helps nothing"""

    def add(bones):
        bone, arm = bones.new("Sleeve"), bones["Side.001.L"]
        bone.head, bone.tail, bone.parent = arm.head, arm.tail, arm

    edit(armature, add)


def refit_with_a_bone_more():
    armature = creature_rig().armature
    add_sleeve(armature)
    return steps_of(armature)


def refit_of_joints():
    """Bones near the one that is gone are solved again, joints and all."""
    armature = creature_rig(skeleton="ARTICULATED").armature
    edit(armature, lambda bones: bones.remove(bones["Side.001.L"]))
    return steps_of(armature)


def refit_above_a_driver():
    armature = creature_rig().armature
    armature.pose.bones["Side.002.L"].driver_add("scale", 0).driver.expression = "1"

    def move(bones):
        for name in ("Side.001.L", "Side.002.L"):
            bones[name].use_connect = False
        bones["Side.001.L"].head.z += 0.1

    edit(armature, move)
    return steps_of(armature)


def tracking(result, source):
    context = bpy.context
    return track.track(context.scene, context.view_layer, result.armature, [source], options.TrackOptions())


def track_plain():
    return tracking(first_rig(), sheet("Second", 0.8))


def track_around_a_constraint():
    result = first_rig()
    bind(result.armature, "Bone.002")
    return tracking(result, sheet("Second", 0.8))


def refit_two_clips():
    """Painted anew: there is something to write."""
    result = chain.converted(sheet("First", 0.0), sheet("Second", 0.8), clips="TAKES", bones=6)
    paint_noise(result.meshes[0], result.armature)
    return steps_of(result.armature)


REFITS = (refit_plain, refit_from_the_source, refit_with_a_bone_more, refit_of_joints, refit_above_a_driver)
TRACKS = (track_plain, track_around_a_constraint)


# ---- what is in the file


@pytest.mark.parametrize("begin", REFITS + TRACKS)
def test_nothing_is_made_before_the_last_step(begin):
    steps = begin()
    before, met = blocks(), []
    for step in chain.unhurried(steps):
        assert blocks() == before, step
        met.append(step.stage)
    assert met.index("Reading") < met.index("Solving") < met.index("Building")
    made = {("actions", "Second")} if begin in TRACKS else set()
    assert blocks() - before == made


class Stopped:
    """A clock that stands still: then every frame is a part of its own."""

    @staticmethod
    def perf_counter():
        return 0.0


FEWEST = 8  # frames of the rigs here
PARTED = (*REFITS, refit_two_clips)


@pytest.fixture
def frame_by_frame(monkeypatch):
    """From its call on, every frame is measured in a part of its own."""

    def part():
        monkeypatch.setattr(refit_trial, "_PART", 0.0)
        monkeypatch.setattr(refit_trial, "time", Stopped)

    return part


@pytest.mark.parametrize("begin", PARTED)
def test_nothing_is_made_between_the_parts_of_a_measuring(begin, frame_by_frame):
    steps = begin()
    frame_by_frame()
    before, met = blocks(), []
    for step in chain.unhurried(steps):
        assert blocks() == before, step
        met.append(step.stage)
    assert blocks() == before
    assert met.count("Measuring") > FEWEST
    assert met.count("Reading") > FEWEST


def outcome(steps):
    result = run(steps)
    (mesh,) = (item.object for item in result.armature.ossify.meshes)
    found = [result.before, result.after]
    numbers = [
        (r.rms, r.keys_moved, r.worst_row, r.frame_error.tolist(), r.vertex_error.tolist()) for r in found
    ]
    return numbers, bits(result.armature, [mesh])


@pytest.mark.parametrize("begin", PARTED)
def test_measured_in_parts_is_the_same(begin, frame_by_frame):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(refit_trial, "_PART", 1e9)
        whole = outcome(begin())
    fresh()
    steps = begin()
    frame_by_frame()
    assert outcome(steps) == whole


@pytest.mark.parametrize("stage", ["Reading", "Measuring"])
def test_cancelling_while_it_is_measured_leaves_the_file_as_it_was(stage, frame_by_frame):
    steps = refit_two_clips()
    frame_by_frame()
    (armature,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    meshes = [item.object for item in armature.ossify.meshes]
    before, whole = bits(armature, meshes), blocks()
    for _ in range(6):
        stages_of(steps, stage)
    steps.close()
    assert bits(armature, meshes) == before
    assert blocks() == whole


def test_a_group_that_goes_while_it_is_measured_is_told(frame_by_frame):
    steps = refit_two_clips()
    frame_by_frame()
    (armature,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    (mesh,) = (item.object for item in armature.ossify.meshes)
    stages_of(steps, "Measuring")
    mesh.vertex_groups.remove(mesh.vertex_groups[0])
    whole = blocks()
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        run(steps)
    assert blocks() == whole


def test_an_action_that_is_made_for_the_copy_goes_with_it():
    result = sheet_rig()
    bpy.data.actions.remove(result.armature.animation_data.action)
    result.armature.ossify.keep_rekeyed = False
    before = blocks()
    run(steps_of(result.armature))
    assert blocks() - before == {("actions", result.armature.animation_data.action.name)}


@pytest.mark.parametrize("begin", REFITS + TRACKS)
def test_an_error_on_the_copy_leaves_nothing_behind(begin, monkeypatch):
    steps = begin()
    stages_of(steps, "Solving")
    before = blocks()

    def fail(*_arguments, **_options):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(report.Measuring, "play", fail)
    monkeypatch.setattr(track, "_measure", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        run(steps)
    assert blocks() == before


# ---- undo


def touch():
    """Something to be undone: it touches all data of a rig, so that then no reference to it is of any use."""
    old = [*bpy.data.objects, *bpy.data.armatures, *bpy.data.meshes]
    bpy.ops.ed.undo_push(message="before")
    for block in old:
        block["touched"] = 1
    bpy.ops.ed.undo_push(message="touched")
    return old


def undo(touched):
    bpy.ops.ed.undo()
    for block in touched:
        with pytest.raises(ReferenceError):
            block.name  # noqa: B018


def undone(begin, stage):
    """The steps of a work in which the artist has undone something, from the first of a stage on"""
    steps = begin()
    touched = touch()
    stages_of(steps, stage)
    undo(touched)
    return steps


@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building"])
@pytest.mark.parametrize("begin", REFITS + TRACKS)
def test_an_undo_on_the_way_does_no_harm(begin, stage):
    steps = undone(begin, stage)
    before = blocks()
    result = run(steps)
    assert result.armature == bpy.data.objects[result.armature.name]
    if begin in REFITS:
        assert blocks() == before
        rounding = 1e-4 * result.before.rms + 1e-6 * result.before.size
        assert result.after.rms <= result.before.rms + rounding
        (mesh,) = (item.object for item in result.armature.ossify.meshes)
        shown = error(result.armature, mesh, source_frames(result.armature))
        assert result.after.rms == pytest.approx(shown, rel=1e-3)
    else:
        assert result.armature.animation_data.action == result.action
        mesh, source, times = (
            bpy.data.objects["First Rigged"],
            bpy.data.objects["Second"],
            range(1, FRAMES + 1),
        )
        apart = scenes.seen_frames(mesh, times) - scenes.seen_frames(source, times)
        shown = float(np.sqrt((apart**2).sum(axis=-1).mean()))
        assert result.rms == pytest.approx(shown, rel=1e-3)


def test_no_bone_more_is_told_after_an_undo(monkeypatch):
    """The sentence names the rig, and that is another data-block by then."""
    steps = bone_growth.add_at_worst(bpy.context, creature_rig(bones=COUNT - 2).armature)
    monkeypatch.setattr(bone_growth, "_GAIN", 1e9)
    solve, touched = bone_change.turning, touch()

    def turning(*arguments):
        result = yield from solve(*arguments)
        undo(touched)
        return result

    monkeypatch.setattr(bone_change, "turning", turning)
    with pytest.raises(Refusal, match="does not lower the error of Creature Rig"):
        run(steps)


@pytest.mark.parametrize("clips", ["TAKES", "MARKERS"])
def test_clips_are_read_on_after_an_undo(clips):
    objects = [sheet("First", 0.0), sheet("Second", 0.8)][: 2 if clips == "TAKES" else 1]
    for frame in (1, 5):
        bpy.context.scene.timeline_markers.new(f"At {frame}", frame=frame)
    context, picked = bpy.context, chain.quick(clips=clips)

    def begin():
        return convert.convert(context.scene, context.view_layer, objects, picked)

    result = run(undone(begin, "Reading"))
    assert len(result.armature.ossify.clips) == 2


# ---- changes


@pytest.mark.parametrize("begin", REFITS + TRACKS)
@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building"])
def test_a_bone_that_goes_on_the_way_is_told(begin, stage):
    steps = begin()
    stages_of(steps, stage)
    (armature,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.ossify.frames)
    name = next(bone.name for bone in armature.data.bones if bone.use_deform and not bone.children)
    scenes.select(armature)
    edit(armature, lambda bones: bones.remove(bones[name]))
    meshes = [item.object for item in armature.ossify.meshes]
    before, whole = bits(armature, meshes), blocks()
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        run(steps)
    assert bits(armature, meshes) == before
    assert blocks() == whole


def rename_late(armature):
    armature.data.bones["Side.002.L"].name = "Elbow"


def rehang_late(armature):
    def hang(bones):
        bones["Side.002.L"].use_connect, bones["Side.002.L"].parent = False, bones["Root"]

    edit(armature, hang)


@pytest.mark.parametrize("change", [rename_late, rehang_late])
def test_a_bone_that_is_another_after_the_last_look_is_told(change):
    result = creature_rig()
    armature = result.armature
    scenes.select(armature)
    steps = steps_of(armature)
    for step in steps:
        if step.stage == "Solving" and step.wait:
            break
    change(armature)
    before, whole = bits(armature, result.meshes), blocks()
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        run(steps)
    assert bits(armature, result.meshes) == before
    assert blocks() == whole


@pytest.mark.parametrize("which", EDITS)
@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building"])
def test_a_bone_that_goes_during_an_edit_is_told(which, stage):
    armature, mesh = rigged(which)
    steps = EDITS[which](armature)
    stages_of(steps, stage)
    name = next(bone.name for bone in armature.data.bones if bone.use_deform and not bone.children)
    edit(armature, lambda bones: bones.remove(bones[name]))
    before = bits(armature, [mesh])
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        run(steps)
    assert bits(armature, [mesh]) == before


def test_a_mesh_that_is_cut_while_a_motion_is_tracked_is_told():
    steps = track_plain()
    stages_of(steps, "Solving")
    mesh = bpy.data.objects["First Rigged"]
    mesh.data.vertices.add(1)
    mesh.data.update()
    whole = blocks()
    with pytest.raises(Refusal, match="First Rigged was changed while Ossify was working"):
        run(steps)
    assert blocks() == whole
    assert np.isfinite(scenes.positions(mesh.data)).all()
