"""The motion that a rig remembers: kept, read again, replaced by another."""

import json

import bpy
import numpy as np
import pytest
import scenes
from ossify.base import whole
from ossify.base.refusal import Refusal
from ossify.record import changes, memory
from ossify.ui import panel_refit
from refits import bits, delete_bone, error, paint_noise, refitted, sheet_rig, source_frames
from screens import drawn


def without_source(result):
    for item in result.armature.ossify.sources:
        bpy.data.objects.remove(item.object)


def test_saved_reopened_and_refitted_without_the_source(tmp_path):
    result = sheet_rig()
    without_source(result)
    name, mesh = result.armature.name, result.meshes[0].name
    frames = memory.recall(result.armature).frames
    path = str(tmp_path / "rig.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    armature = bpy.data.objects[name]
    assert (memory.recall(armature).frames == frames).all()
    assert changes.find(armature) == changes.Changes()
    delete_bone(armature, "Bone.002")
    found = refitted(armature)
    assert found.written
    assert error(armature, bpy.data.objects[mesh], source_frames(armature)) == pytest.approx(
        found.after.rms, rel=1e-3
    )


def test_the_source_is_read_again_when_the_motion_was_not_kept():
    result = sheet_rig(keep_motion="NONE")
    armature, source = result.armature, result.armature.ossify.sources[0].object
    assert memory.recall(armature) is None
    assert source.hide_viewport
    before = scenes.picture()[1]["visible"]
    delete_bone(armature, "Bone.002")
    found = refitted(armature)
    assert found.written
    assert found.after.rms < 0.5 * found.before.rms
    assert source.hide_viewport
    assert scenes.picture()[1]["visible"] == before


def test_a_changed_source_is_fitted_when_asked(sheet):
    armature = sheet.armature
    source = armature.ossify.sources[0].object
    for key in source.data.shape_keys.key_blocks[1:]:
        for point in key.points:
            point.co.z *= 1.5
    kept = refitted(armature)
    assert refitted(armature).before.rms == pytest.approx(kept.after.rms, rel=1e-2)
    found = refitted(armature, motion="SOURCE")
    assert found.before.rms > 5 * kept.after.rms
    assert found.after.rms < 0.5 * found.before.rms
    assert refitted(armature).before.rms == pytest.approx(
        found.after.rms, rel=1e-3
    )  # that is kept from now on


def test_another_source_with_the_same_mesh_may_be_chosen():
    result = sheet_rig(keep_motion="NONE")
    armature = result.armature
    without_source(result)
    with pytest.raises(Refusal, match="choose another one with the same mesh"):
        refitted(armature)
    armature.ossify.sources[0].object = scenes.key_shapes(scenes.tube())
    with pytest.raises(Refusal, match="72 vertices, and the rig was made for 81"):
        refitted(armature)
    armature.ossify.sources[0].object = scenes.key_shapes(scenes.grid("Again"))
    assert refitted(armature).written


def test_the_panel_says_where_the_motion_is_and_offers_to_choose_another(tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    result = sheet_rig(keep_motion="FILE")
    scenes.select(result.armature)
    (file,) = tmp_path.glob("*.npz")
    assert f"Motion kept in {file.name}" in drawn(panel_refit.OSSIFY_PT_refit)
    file.unlink()
    words = drawn(panel_refit.OSSIFY_PT_refit)
    assert f"//{file.name} is gone. Motion read from the source" in words
    without_source(result)
    words = drawn(panel_refit.OSSIFY_PT_refit)
    assert "The motion was not kept, and the source is gone. object For Sheet Rigged" in words
    result.armature.ossify.sources[0].object = scenes.key_shapes(scenes.grid("Again"))
    assert "Motion read from the source" in drawn(panel_refit.OSSIFY_PT_refit)


def test_motion_in_a_file_beside_the_blend_is_found(tmp_path):
    with pytest.raises(Refusal, match="not saved yet"):
        sheet_rig(keep_motion="FILE")
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.context.scene.frame_end = 8
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    result = sheet_rig(keep_motion="FILE")
    without_source(result)
    (file,) = tmp_path.glob("*.npz")
    assert result.armature.ossify.motion_file == f"//{file.name}"
    assert not memory.is_packed(result.armature)
    assert refitted(result.armature).written
    whole = file.read_bytes()
    half, hole = whole[: len(whole) // 2], whole[:1000] + bytes(300) + whole[1300:]
    for content in (b"nothing", b"", half, hole):
        file.write_bytes(content)
        with pytest.raises(Refusal, match="does not hold the motion of Sheet Rig, or is damaged"):
            refitted(result.armature)
    file.unlink()
    with pytest.raises(Refusal, match=f"kept in {file.name}, which is not beside.*choose another one"):
        refitted(result.armature)


@pytest.mark.parametrize("motion", ["KEPT", "SOURCE"])
def test_the_rigs_own_mesh_is_no_source(motion):
    result = sheet_rig(keep_motion="NONE")
    result.armature.ossify.sources[0].object = result.meshes[0]
    with pytest.raises(Refusal, match="Sheet Rigged is moved by Sheet Rig itself"):
        refitted(result.armature, motion=motion)


def higher(armature):
    """Another motion of the source."""
    source = armature.ossify.sources[0].object
    for key in source.data.shape_keys.key_blocks[1:]:
        for point in key.points:
            point.co.z *= 1.5


def test_a_file_that_cannot_be_written_leaves_rig_and_motion_as_they_were(tmp_path, monkeypatch):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    result = sheet_rig(keep_motion="FILE")
    armature = result.armature
    kept, rig = memory.recall(armature).frames, bits(armature, result.meshes)
    higher(armature)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole.os, "replace", full)
    with pytest.raises(Refusal, match="cannot be written: No space left"):
        refitted(armature, motion="SOURCE")
    assert bits(armature, result.meshes) == rig
    assert (memory.recall(armature).frames == kept).all()
    assert len(list(tmp_path.glob(".*.part"))) == 0


def test_undo_brings_back_a_motion_that_was_kept_in_a_file(tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    armature = sheet_rig(keep_motion="FILE").armature
    name, kept = armature.name, memory.recall(armature).frames
    higher(armature)
    bpy.ops.ed.undo_push(message="before")
    assert refitted(armature, motion="SOURCE").written
    other = memory.recall(armature).frames
    assert np.abs(other - kept).max() > 0.01
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert (memory.recall(bpy.data.objects[name]).frames == kept).all()
    bpy.ops.ed.redo()
    assert (memory.recall(bpy.data.objects[name]).frames == other).all()


def test_large_motion_is_not_kept_unasked(monkeypatch):
    monkeypatch.setattr(memory, "PACKED_MOST", 1000)
    assert not memory.is_kept(sheet_rig().armature)
    assert memory.is_kept(sheet_rig(keep_motion="PACKED", hide_source=False).armature)


def test_a_duplicated_rig_has_a_memory_of_its_own(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    scenes.select(armature, mesh)
    bpy.ops.object.duplicate()
    twin = bpy.context.view_layer.objects.active
    assert twin.ossify.meshes[0].object in twin.children
    paint_noise(mesh, armature)
    refitted(twin)
    assert twin.ossify.memory != armature.ossify.memory
    assert mesh.name in changes.find(armature).repainted


def edit_mesh(mesh, operator, **arguments):
    """operator on all of it in Edit Mode"""
    scenes.select(mesh)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    assert operator(**arguments) == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")


FACES = {
    "turned": (bpy.ops.mesh.flip_normals, {}),
    "sorted": (bpy.ops.mesh.sort_elements, {"type": "REVERSE", "elements": {"EDGE", "FACE"}}),
    "gone": (bpy.ops.mesh.delete, {"type": "ONLY_FACE"}),  # their edges are loose
}


@pytest.mark.parametrize("way", FACES)
def test_the_motion_fits_whatever_faces_do(sheet, way):
    operator, arguments = FACES[way]
    edit_mesh(sheet.meshes[0], operator, **arguments)
    assert changes.find(sheet.armature) == changes.Changes()
    paint_noise(sheet.meshes[0], sheet.armature)
    sheet.armature.ossify.keep_repainted = False
    assert refitted(sheet.armature).written


@pytest.mark.parametrize("way", ["divided", "loose"])
def test_other_edges_are_told(sheet, way):
    (mesh,) = sheet.meshes
    if way == "divided":
        edit_mesh(mesh, bpy.ops.mesh.quads_convert_to_tris)
    else:
        mesh.data.edges.add(1)
        mesh.data.edges[-1].vertices = (0, len(mesh.data.vertices) - 1)
    lines = dict(changes.find(sheet.armature).lines([]))
    assert lines == {"RETOPOLOGISED": f"{mesh.name} has other vertices or edges"}


def test_a_rig_that_noted_its_faces_is_not_refused(sheet):
    """As files of before did; a number of vertices is all that can be told by them."""
    noted = json.loads(sheet.armature.ossify.memory["meshes"])
    noted["topology"] = [number + 1 for number in noted.pop("edges")]
    sheet.armature.ossify.memory["meshes"] = json.dumps(noted)
    assert changes.find(sheet.armature) == changes.Changes()
    delete_bone(sheet.armature, "Bone.002")
    assert refitted(sheet.armature).written
    assert "edges" in json.loads(sheet.armature.ossify.memory["meshes"])
    sheet.meshes[0].data.vertices.add(1)
    assert changes.find(sheet.armature).retopologised
