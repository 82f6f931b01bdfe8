"""Edits of bones and weights that are cancelled, or overtaken by the artist, leave the file as it was."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from bone_edits import EDITS, deforming, linked_pair, rigged, stages_of
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.files import bake
from ossify.options import options
from ossify.record import changes
from ossify.rig import standing
from ossify.ui import modal, operators_bake, operators_bones, operators_paint, session
from refits import bits


@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building"])
@pytest.mark.parametrize("which", EDITS)
def test_cancelling_in_each_stage_leaves_the_file_as_it_was(which, stage):
    armature, mesh = rigged(which)
    before, whole = bits(armature, [mesh]), scenes.picture()
    steps = EDITS[which](armature)
    met = stages_of(steps, stage)
    assert met[-1] == stage
    steps.close()
    assert bits(armature, [mesh]) == before
    assert scenes.difference(whole, scenes.picture()) == ""


def test_a_merge_that_cannot_enter_edit_mode_has_not_happened(monkeypatch):
    armature, mesh = rigged("merge")
    _, gone = linked_pair(armature)
    empty = scenes.link(bpy.data.objects.new("Follower", None))
    empty.parent, empty.parent_type, empty.parent_bone = armature, "BONE", gone
    scenes.select(armature)
    before, whole = bits(armature, [mesh]), scenes.picture()

    def fail(*_):
        raise RuntimeError("no Edit Mode")

    monkeypatch.setattr(standing, "edit_mode", fail)
    with pytest.raises(RuntimeError, match="no Edit Mode"):
        run(EDITS["merge"](armature))
    assert changes.find(armature) == changes.Changes()
    assert empty.parent_bone == gone
    assert bits(armature, [mesh]) == before
    assert scenes.difference(whole, scenes.picture()) == ""


@pytest.mark.parametrize("which", EDITS)
def test_a_rig_that_was_changed_in_the_meantime_is_left_as_it_is(which):
    armature, mesh = rigged(which)
    steps = EDITS[which](armature)
    stages_of(steps, "Solving")
    mesh.vertex_groups[deforming(armature)[0]].add([0], 0.123, "REPLACE")
    mesh.data.update()
    before = bits(armature, [mesh])
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        stages_of(steps)
    assert bits(armature, [mesh]) == before


@pytest.mark.parametrize("which", ["merge", "split", "add", "remove"])
def test_a_mode_that_was_entered_in_the_meantime_is_refused(which):
    armature, mesh = rigged(which)
    before = bits(armature, [mesh])
    steps = EDITS[which](armature)
    stages_of(steps, "Solving")
    scenes.select(mesh)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    with pytest.raises(Refusal, match="is in another mode now"):
        stages_of(steps)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert bits(armature, [mesh]) == before


@pytest.mark.parametrize("which", EDITS)
def test_a_rig_that_goes_in_the_meantime_is_told(which):
    armature, _ = rigged(which)
    steps = EDITS[which](armature)
    stages_of(steps, "Solving")
    bpy.data.objects.remove(armature)
    with pytest.raises(Refusal, match="was removed while Ossify was working"):
        stages_of(steps)


def test_an_undo_in_the_meantime_does_no_harm():
    """Data-blocks are other ones after an undo: an edit finds them again."""
    armature, mesh = rigged("add")
    names = armature.name, mesh.name
    scenes.select(armature)
    bpy.ops.ed.undo_push(message="before")
    armature.location.x = 1
    bpy.ops.ed.undo_push(message="moved")
    steps = EDITS["add"](armature)
    stages_of(steps, "Solving")
    bpy.ops.ed.undo()
    armature, mesh = (bpy.data.objects[name] for name in names)
    bones = len(armature.data.bones)
    assert run(steps).bones[0] in armature.data.bones
    assert len(armature.data.bones) == bones + 1


# ---- the operators


OPERATORS = [
    *operators_bones.CLASSES,
    *operators_paint.CLASSES,
    operators_bake.OSSIFY_OT_bake,
]


@pytest.mark.parametrize("cls", OPERATORS, ids=lambda cls: cls.__name__)
def test_operators_work_step_by_step_in_a_window(cls):
    """With a bar and ESC: the base class does it, and they leave its ways alone."""
    assert issubclass(cls, modal.Working)
    for name in ("execute", "modal", "cancel", "begin"):
        assert getattr(cls, name) is getattr(modal.Working, name)


def test_a_session_of_an_edit_shows_its_progress_and_is_cancelled():
    armature, mesh = rigged("remove")
    before = bits(armature, [mesh])
    running = session.start(EDITS["remove"](armature))
    assert not running.advance(0.0)
    while running.step.stage != "Solving":
        running.advance(0.0)
    assert running.progress().startswith("Solving ")
    running.cancel()
    assert running.advance(1.0)
    assert running.result is None
    session.end()
    assert bits(armature, [mesh]) == before


def test_a_session_of_a_bake_is_cancelled(tmp_path):
    result = chain.converted(scenes.key_shapes(scenes.grid()))
    scenes.select(result.armature)
    before = scenes.picture()
    picked = options.BakeOptions(to="PC2", filepath=str(tmp_path / "sheet.pc2"))
    work = bake.bake(bpy.context.scene, bpy.context.view_layer, [result.armature], picked)
    running = session.start(work)
    for _ in range(3):
        running.advance(0.0)
    assert running.progress().startswith("Baking ")
    assert running.touches_scene
    running.cancel()
    session.end()
    assert not list(tmp_path.iterdir())
    assert scenes.difference(before, scenes.picture()) == ""
    assert np.isfinite(scenes.seen(result.meshes[0])).all()
