"""A rig is refitted: what is held stays, equal to the bit, the error never rises, and a way back is left."""

import sys

import bpy
import numpy as np
import pytest
import scenes
from bone_edits import stages_of
from contents import curves_of, groups_of
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.record import changes
from ossify.refit import refit_trial, refit_write
from ossify.rig import standing
from refits import (
    bits,
    cancelled,
    creature_rig,
    delete_bone,
    error,
    named_curves,
    paint_noise,
    refitted,
    sheet_rig,
    source_frames,
    steps_of,
)

# ---- nothing changed, everything held


KINDS = {
    "flat": {},
    "reduced": {"keys": "REDUCED"},
    "flexible": {"bone_kind": "FLEXIBLE"},
    "synthesised": {"rest": "SYNTHESISED"},
}


@pytest.mark.solver
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_never_rises_when_nothing_was_changed(kind):
    result = sheet_rig(**KINDS[kind])
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    for _ in range(2):
        found = refitted(armature)
        assert found.changes == changes.Changes()
        after = error(armature, mesh, goal)
        assert after <= before * (1 + 1e-4)
        assert found.after.rms == pytest.approx(after, rel=1e-3)
        before = after


@pytest.mark.solver
@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
@pytest.mark.parametrize("solve", ["BOTH", "TRANSFORMS", "WEIGHTS"])
def test_the_error_of_a_skeleton_never_rises(kind, solve):
    result = creature_rig(skeleton=kind)
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    refitted(armature, solve=solve)
    assert error(armature, mesh, goal) <= before * (1 + 1e-4)


@pytest.mark.parametrize("way", ["told", "locked"])
def test_everything_held_changes_not_a_bit(sheet, way):
    armature, meshes = sheet.armature, sheet.meshes
    if way == "told":
        for bone in armature.data.bones:
            changes.hold_bone(bone, True)
        for mesh in meshes:
            changes.hold_vertices(mesh.data, np.ones(len(mesh.data.vertices), bool), True)
    else:
        for bone in armature.pose.bones:
            bone.lock_location = bone.lock_rotation = (True, True, True)
        for group in meshes[0].vertex_groups:
            group.lock_weight = True
    before = bits(armature, meshes)
    refitted(armature, rest=way == "told")
    assert bits(armature, meshes) == before


def test_blenders_own_locks_hold_what_they_lock(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    armature.pose.bones["Bone.002"].lock_rotation = (True, True, True)
    mesh.vertex_groups["Bone.003"].lock_weight = True
    delete_bone(armature, "Bone.005")
    keys = {name: curves_of(armature, name) for name in standing.bone_names(armature)}
    weights = standing.painted(mesh, list(keys))
    assert refitted(armature, move_idle="NEVER").written
    assert [name for name in keys if curves_of(armature, name) == keys[name]] == ["Bone.002"]
    same = (standing.painted(mesh, list(keys)) == weights).all(axis=0)
    assert [name for name, held in zip(keys, same, strict=True) if held] == ["Bone.003"]


def test_weights_alone_leave_keys_and_motion_alone_leaves_weights(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    bones, keys, skins = bits(armature, [mesh])
    refitted(armature, solve="WEIGHTS")
    assert bits(armature, [mesh])[:2] == (bones, keys)
    _, _, skins = bits(armature, [mesh])
    refitted(armature, solve="TRANSFORMS", rest=False)
    assert bits(armature, [mesh])[2] == skins


# ---- parts


def test_only_selected_bones_and_frames_change(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    paint_noise(mesh, armature, share=0.3)
    armature.ossify.keep_repainted = False
    before, skins = curves_of(armature), standing.painted(mesh, standing.bone_names(armature))
    refitted(armature, ["Side.002.L"], only="BONES")
    after = curves_of(armature)
    changed = {path.split('"')[1] for path, index in after if after[path, index] != before.get((path, index))}
    assert changed <= {"Side.002.L"}
    names = standing.bone_names(armature)
    others = [b for b, name in enumerate(names) if name != "Side.002.L"]
    assert (standing.painted(mesh, names)[:, others] == skins[:, others]).all()


def test_frames_outside_of_the_range_stay(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    paint_noise(mesh, armature, share=0.3)
    outside = [1, 2, 3, 7, 8]
    names = standing.bone_names(armature)
    values = {
        (name, key): [c.evaluate(f) for f in outside]
        for name in names
        for key, c in named_curves(armature, name)
    }
    found = refitted(armature, solve="TRANSFORMS", frames="CUSTOM", frame_start=4, frame_end=6)
    assert found.written
    moved = 0
    for name in names:
        for key, curve in named_curves(armature, name):
            assert [curve.evaluate(f) for f in outside] == values[name, key]
            moved += 1
    assert moved
    rows = np.argsort(found.after.frame_error - found.before.frame_error)[:3]
    assert set(rows) == {3, 4, 5}


@pytest.mark.parametrize(("first", "last"), [(500, 700), (6, 4)])
def test_a_range_without_a_frame_is_refused(sheet, first, last):
    with pytest.raises(Refusal, match=f"not made from any frame between {first} and {last}"):
        refitted(sheet.armature, frames="CUSTOM", frame_start=first, frame_end=last)


def test_only_selected_vertices_change(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    rows = paint_noise(mesh, armature, share=0.3)
    armature.ossify.keep_repainted = False
    before = bits(armature, [mesh])
    some = rows & (np.arange(81) < 40)
    refitted(armature, vertices={mesh.name: some}, only="VERTICES")
    now = groups_of(mesh)
    changed = np.array([now[v] != before[2][0][2][v] for v in range(81)])
    assert changed.any()
    assert not (changed & ~some).any()
    assert curves_of(armature) == before[1]


# ---- cancel, errors, undo


def whole_picture(armature, meshes):
    return scenes.picture(), bits(armature, meshes)


def assert_untouched(before, armature, meshes):
    after = whole_picture(armature, meshes)
    assert scenes.difference(before[0], after[0]) == ""
    assert after[1] == before[1]


@pytest.mark.parametrize("motion", ["KEPT", "SOURCE"])
def test_cancelling_at_every_step_leaves_the_file_as_it_was(sheet, motion):
    armature, meshes = sheet.armature, sheet.meshes
    delete_bone(armature, "Bone.002")
    bpy.context.scene.frame_set(3)
    before, stages = whole_picture(armature, meshes), set()
    for stage in cancelled(armature, motion=motion):
        stages.add(stage)
        assert_untouched(before, armature, meshes)
        if motion == "SOURCE" and stage == "Building":  # from there on as KEPT
            break
    assert {"Reading", "Solving", "Building"} <= stages


@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building", "Measuring"])
def test_cancelling_in_each_stage_leaves_the_file_as_it_was(creature, stage):
    delete_bone(creature.armature, "Side.002.R")
    before = whole_picture(creature.armature, creature.meshes)
    steps = steps_of(creature.armature)
    stages_of(steps, stage)
    steps.close()
    assert_untouched(before, creature.armature, creature.meshes)


@pytest.mark.parametrize(
    ("room", "name"), [(refit_trial, "solve"), (refit_write, "plan"), (refit_write, "write")]
)
def test_an_error_leaves_the_file_as_it_was(sheet, monkeypatch, room, name):
    before = whole_picture(sheet.armature, sheet.meshes)

    def fail(*_arguments):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(room, name, fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        refitted(sheet.armature)
    assert_untouched(before, sheet.armature, sheet.meshes)


def test_a_rig_that_is_changed_while_it_runs_is_left_alone(sheet):
    steps = steps_of(sheet.armature)
    stages_of(steps, "Measuring")
    sheet.meshes[0].vertex_groups[0].add([0], 0.123, "REPLACE")
    before = bits(sheet.armature, sheet.meshes)
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        run(steps)
    assert bits(sheet.armature, sheet.meshes) == before
    assert len(bpy.data.scenes) == 1


def test_a_mode_that_is_entered_while_it_runs_is_refused(sheet):
    steps = steps_of(sheet.armature)
    stages_of(steps, "Measuring")
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(Refusal, match="is in Edit Mode"):
        run(steps)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert len(bpy.data.scenes) == 1


def test_undo_takes_a_refit_back_and_redo_does_it_again(sheet):
    name, mesh = sheet.armature.name, sheet.meshes[0].name

    def now():
        return bits(bpy.data.objects[name], [bpy.data.objects[mesh]])

    delete_bone(sheet.armature, "Bone.002")
    bpy.ops.ed.undo_push(message="before")
    before = now()
    assert bpy.ops.ossify.refit() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    after = now()
    assert after != before
    bpy.ops.ed.undo()
    assert now() == before
    assert changes.find(bpy.data.objects[name]).deleted == ["Bone.002"]
    bpy.ops.ed.redo()
    assert now() == after
    assert changes.find(bpy.data.objects[name]) == changes.Changes()


def test_a_refit_does_not_come_to_what_a_person_sees(sheet):
    """Imports go one way (make lint), and so do calls."""
    entered = set()

    def see(frame, event, _argument):
        if event == "call":
            entered.add(frame.f_globals.get("__name__", ""))

    delete_bone(sheet.armature, "Bone.002")
    sys.setprofile(see)
    try:
        assert refitted(sheet.armature).written
    finally:
        sys.setprofile(None)
    rooms = {name.rpartition("ossify.")[2].partition(".")[0] for name in entered if "ossify." in name}
    assert {"refit", "record", "rig"} <= rooms
    assert "ui" not in rooms
