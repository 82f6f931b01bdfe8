"""A rig that is disabled in viewports, or in a collection that the view layer leaves out, is edited as any
other; and when Edit Mode fails all the same, nothing is lost."""

import bpy
import pytest
import scenes
from bone_edits import EDITS, deforming, rigged
from kept import fresh
from ossify.base.steps import run
from ossify.record import changes
from ossify.rig import standing
from refits import bits, edit, refitted

BONES = ("split", "add", "remove")


def disable(armature):
    armature.hide_viewport = True


def close_eye(armature):
    armature.hide_set(True)


def _layer_collection(armature):
    (collection,) = armature.users_collection
    return bpy.context.view_layer.layer_collection.children[collection.name]


def exclude(armature):
    _layer_collection(armature).exclude = True


def disable_collection(armature):
    _layer_collection(armature).collection.hide_viewport = True


HIDE = (disable, close_eye, exclude, disable_collection)


def states(armature):
    layer = _layer_collection(armature)
    return armature.hide_viewport, layer.exclude, layer.collection.hide_viewport, armature.data.pose_position


def edited(which, hide=None):
    armature, mesh = rigged(which)
    if hide:
        hide(armature)
    before, active = states(armature), bpy.context.view_layer.objects.active
    run(EDITS[which](armature))
    assert states(armature) == before
    assert bpy.context.view_layer.objects.active == active
    return bits(armature, [mesh])


@pytest.mark.parametrize("which", BONES)
def test_bones_are_edited_wherever_the_rig_is(which):
    shown = edited(which)
    for hide in HIDE:
        fresh()
        assert edited(which, hide) == shown, hide.__name__


@pytest.mark.parametrize("hide", HIDE)
def test_a_refit_moves_joints_wherever_the_rig_is(hide):
    armature, _ = rigged("add")
    scenes.select(armature)
    name = next(bone.name for bone in armature.data.bones if bone.use_deform and not bone.children)
    place = tuple(armature.data.bones[name].head_local)

    def move(bones):
        bones[name].use_connect = False
        bones[name].head.z += 0.02

    edit(armature, move)
    hide(armature)
    found = refitted(armature)
    assert found.changes.moved == [name]
    assert found.written
    assert changes.find(armature) == changes.Changes()
    assert tuple(armature.data.bones[name].head_local) != place


@pytest.mark.parametrize("which", BONES)
@pytest.mark.parametrize("mode", ["OBJECT", "POSE"])
def test_nothing_is_lost_when_edit_mode_fails(which, mode, monkeypatch):
    armature, mesh = rigged(which)
    scenes.select(armature)
    bpy.ops.object.mode_set(mode=mode)
    before, whole, names = bits(armature, [mesh]), scenes.picture(), deforming(armature)

    def fail(*_arguments):
        raise RuntimeError("no Edit Mode here")

    monkeypatch.setattr(standing, "edit_mode", fail)
    with pytest.raises(RuntimeError, match="no Edit Mode here"):
        run(EDITS[which](armature))
    assert deforming(armature) == names
    assert bits(armature, [mesh]) == before
    assert scenes.difference(whole, scenes.picture()) == ""
    assert armature.mode == mode
