"""The chain as a whole: progress, cancel and errors anywhere, undo, and sources that change under it."""

import itertools

import bpy
import chain
import numpy as np
import pytest
import scenes
from bone_edits import stages_of
from ossify import native
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.convert import convert
from ossify.rig import actions, build, report
from ossify.ui import session


def steps_of(*objects, **chosen):
    context = bpy.context
    return convert.convert(context.scene, context.view_layer, list(objects), chain.quick(**chosen))


@pytest.fixture
def source():
    obj = scenes.key_shapes(scenes.grid())
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    scenes.select(obj)
    return obj


def test_progress_rises_through_the_stages(source):
    seen = []
    result = run(steps_of(source), lambda step: seen.append(step))
    assert result.armature.name == "Sheet Rig"
    fractions = [step.fraction for step in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1)
    stages = list(dict.fromkeys(step.stage for step in seen))
    assert [stage for stage in stages if stage != "Solving"] == ["Reading", "Building", "Measuring"]


def world_points(obj):
    """As they are evaluated now, without asking for a frame."""
    evaluated = obj.evaluated_get(bpy.context.view_layer.depsgraph)
    matrix = np.array(evaluated.matrix_world)
    points = np.array([vertex.co for vertex in evaluated.data.vertices])
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def test_a_new_rig_shows_the_frame_that_the_scene_is_in():
    source = scenes.key_shapes(scenes.grid())
    bpy.context.scene.frame_set(3)
    (mesh,) = run(steps_of(source)).meshes
    shown = world_points(mesh)
    bpy.context.scene.frame_set(3)
    assert shown == pytest.approx(world_points(mesh), abs=1e-6)


def test_cancelling_at_every_step_leaves_the_file_as_it_was(source):
    bpy.context.scene.frame_set(3)
    before = scenes.picture()
    stages, count = set(), 0
    while True:
        steps = steps_of(source, bones=3)
        seen = list(itertools.islice(chain.unhurried(steps), count))
        if len(seen) < count:
            break
        steps.close()
        assert scenes.difference(before, scenes.picture()) == "", f"cancelled after {count} steps"
        stages |= {step.stage for step in seen[-1:]}
        count += 1
    assert {"Reading", "Building", "Measuring"} <= stages


@pytest.mark.parametrize(
    ("module", "name"),
    [(build, "hand_over"), (report, "measure"), (build.skin, "bind"), (build.skin, "shape"), (build, "key")],
)
def test_an_error_anywhere_leaves_the_file_as_it_was(source, monkeypatch, module, name):
    before = scenes.picture()

    def fail(*_arguments):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(convert if name == "hand_over" else module, name, fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        run(steps_of(source))
    assert scenes.difference(before, scenes.picture()) == ""


def test_a_refusal_of_the_library_leaves_the_file_as_it_was(source):
    before = scenes.picture()
    with pytest.raises(native.OssifyError):
        run(steps_of(source, bones=5000))
    assert scenes.difference(before, scenes.picture()) == ""


@pytest.mark.parametrize("stage", ["Reading", "Solving"])
def test_the_source_is_deleted_while_it_runs(stage):
    obj, other = scenes.key_shapes(scenes.tube(rings=120, around=24)), scenes.grid("Other")
    steps = steps_of(obj, quality="NORMAL", bones=12)
    stages_of(steps, stage)
    bpy.data.objects.remove(obj)
    with pytest.raises(Refusal, match="Tube was removed while Ossify was working"):
        run(steps)
    assert list(bpy.data.objects) == [other]
    assert len(bpy.data.scenes) == 1


def test_the_source_is_edited_while_it_runs():
    obj = scenes.key_shapes(scenes.tube(rings=120, around=24))
    steps = steps_of(obj, quality="NORMAL", bones=12)
    stages_of(steps, "Solving")
    obj.data = bpy.data.meshes.new("Emptied")
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        run(steps)
    assert len(bpy.data.scenes) == 1


def test_the_source_is_renamed_while_it_runs():
    obj = scenes.key_shapes(scenes.tube(rings=120, around=24))
    steps = steps_of(obj)
    stages_of(steps, "Reading")
    obj.name = "Renamed"
    assert run(steps).armature.ossify.sources[0].object == obj


def test_another_file_is_opened_while_it_runs(source, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "other.blend"))
    running = session.start(steps_of(source))
    running.advance(0)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "other.blend"))
    assert session.current is None
    assert running.cancelled
    assert len(bpy.data.armatures) == 0


def test_a_session_ends_cancels_and_speaks(source):
    running = session.start(steps_of(source))
    while not running.advance(0.001):
        assert "%" in running.progress()
        assert running.fit().startswith("Error") == (running.step.error is not None)
    assert running.result.armature.name == "Sheet Rig"
    session.end()
    running = session.start(steps_of(chain.build.hide(source, bpy.context.view_layer, False) or source))
    running.advance(0)
    running.cancel()
    assert running.advance(1)
    assert running.result is None
    session.end()


def test_undo_and_redo_leave_no_orphans(source):
    bpy.ops.ed.undo_push(message="before")
    before = scenes.picture()
    run(steps_of(source))
    bpy.ops.ed.undo_push(message="Convert Motion to Rig")
    after = scenes.picture()
    bpy.ops.ed.undo()
    assert scenes.difference(before, scenes.picture()) == ""
    bpy.ops.ed.redo()
    assert scenes.difference(after, scenes.picture()) == ""
    assert all(block.users for block in [*bpy.data.meshes, *bpy.data.actions, *bpy.data.armatures])


def test_a_rig_of_somebody_else_can_be_converted(source):
    first = chain.converted(source, bones=4, keys="EVERY")
    first.armature.ossify.version = ""
    mesh = first.meshes[0]
    times = list(range(1, 9))
    shown = scenes.seen_frames(mesh, times)
    second = chain.converted(mesh, bones=4, keys="EVERY")
    error = np.linalg.norm(scenes.seen_frames(second.meshes[0], times) - shown, axis=2)
    assert np.sqrt((error**2).mean()) < 0.02 * scenes.size_of(shown)
    assert len(second.meshes[0].vertex_groups) <= 4


def test_shape_keys_become_named_poses():
    obj = scenes.grid()
    names = ["Smile", "Frown", "Blink"]
    scenes.add_shape_keys(obj, scenes.waves(scenes.positions(obj.data), 3), names)
    result = chain.converted(obj, frames="POSES", keys="REDUCED")
    markers = result.armature.animation_data.action.pose_markers
    assert [(marker.name, marker.frame) for marker in markers] == list(
        zip(["Basis", *names], range(1, 5), strict=True)
    )
    assert result.report.worst_pose in names
    assert [item.name for item in result.armature.ossify.frames] == ["Basis", *names]
    for curve in chain.curves(result.armature.animation_data.action):
        assert len(curve.keyframe_points) in (1, 4)


def test_shape_keys_become_pose_assets_that_bring_the_mesh_back():
    obj = scenes.grid()
    names = ["Smile", "Frown"]
    scenes.add_shape_keys(obj, scenes.waves(scenes.positions(obj.data), 2), names)
    result = chain.converted(obj, frames="POSES")
    armature, mesh = result.armature, result.meshes[0]
    played = armature.animation_data.action
    for frame, name in enumerate(["Basis", *names], 1):
        goal = scenes.seen(mesh, frame)
        pose = bpy.data.actions[name]
        assert pose.asset_data is not None
        actions.assign(armature, pose)
        assert np.abs(scenes.seen(mesh, 1) - goal).max() < 1e-5 * scenes.size_of(goal)
        actions.assign(armature, played)
    obj.hide_viewport = False
    obj.hide_set(False)
    without = chain.converted(obj, frames="POSES", pose_assets=False)
    assert without.armature.animation_data.action.asset_data is None
    assert sum(action.asset_data is not None for action in bpy.data.actions) == 3
