"""What an operator cannot do in a mode, or on what is linked, it says in a sentence; what it can, it does."""

import bmesh
import bpy
import pytest
import scenes
from ossify.record import changes
from ossify.rig import actions
from refits import edit, link_rig
from screens import told
from tracks import refused, stage


@pytest.mark.parametrize("which", ["mesh", "armature"])
def test_changes_are_listed_in_edit_mode(creature, which):
    armature, (mesh,) = creature.armature, creature.meshes
    scenes.select(mesh if which == "mesh" else armature)
    bpy.ops.object.mode_set(mode="EDIT")
    assert bpy.ops.ossify.look_for_changes() == {"FINISHED"}
    assert not armature.ossify.changes
    if which == "mesh":
        body = bmesh.from_edit_mesh(mesh.data)
        body.verts.ensure_lookup_table()
        for vertex in body.verts[5:8]:
            vertex.co.z += 0.1
    else:
        armature.data.edit_bones["Core.002"].roll += 0.5
    bpy.ops.ossify.look_for_changes()
    words = [item.words for item in armature.ossify.changes]
    assert words == (["3 vertices sculpted"] if which == "mesh" else ["Core.002 moved"])
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("which", ["mesh", "armature"])
def test_nothing_is_put_back_in_edit_mode(creature, which):
    armature, (mesh,) = creature.armature, creature.meshes
    edit(armature, lambda bones: setattr(bones["Core.002"], "roll", 0.5))
    obj = mesh if which == "mesh" else armature
    scenes.select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    before = scenes.picture()
    assert f"{obj.name} is in Edit Mode" in told(bpy.ops.ossify.put_back, kind="MOVED")
    assert scenes.difference(before, scenes.picture()) == ""
    bpy.ops.object.mode_set(mode="OBJECT")


def test_bones_of_a_hidden_rig_are_put_back(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    edit(armature, lambda bones: setattr(bones["Core.002"], "roll", 0.5))
    scenes.select(mesh)
    armature.hide_set(True)
    assert bpy.ops.ossify.put_back(kind="MOVED") == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == mesh
    assert changes.find(armature) == changes.Changes()


def test_what_is_held_is_not_noted_in_another_file(sheet, tmp_path):
    link_rig(tmp_path / "rig.blend", sheet.armature, sheet.meshes)
    for what in ("BONES", "VERTICES", "FRAMES"):
        assert "is linked from rig.blend" in told(bpy.ops.ossify.hold, what=what)
    for operator in (bpy.ops.ossify.release_all, bpy.ops.ossify.look_for_changes, bpy.ops.ossify.put_back):
        assert "is linked from rig.blend" in told(operator)


def test_what_is_held_is_not_noted_in_edit_mode_of_the_armature(sheet):
    """Blender forgets there what is written to bones."""
    changes.hold_bone(sheet.armature.data.bones["Bone.002"], True)
    bpy.ops.object.mode_set(mode="EDIT")
    for operator in (bpy.ops.ossify.release_all, bpy.ops.ossify.hold):
        assert "is in Edit Mode" in told(operator)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert sheet.armature.data.bones["Bone.002"].get(changes.HELD)
    bpy.ops.ossify.release_all()
    assert not sheet.armature.data.bones["Bone.002"].get(changes.HELD)


def test_tweak_mode_is_told():
    result, second = stage()
    data = result.armature.animation_data
    actions.push(result.armature, data.action, "Walk", 1, muted=False)
    data.action = None
    data.nla_tracks.active = data.nla_tracks[0]
    data.nla_tracks[0].strips[0].select = True
    data.use_tweak_mode = True
    before = scenes.picture()
    for operator in (bpy.ops.ossify.track, bpy.ops.ossify.play_clip, bpy.ops.ossify.preview):
        with pytest.raises(RuntimeError, match="Tweak Mode of the NLA"):
            operator()
    assert "Tweak Mode" in refused(result, second)
    assert scenes.difference(before, scenes.picture()) == ""
