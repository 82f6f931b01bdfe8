"""Refits from the screen and from the command line: what is refused, told, listed and held."""

import bpy
import numpy as np
import pytest
import scenes
from contents import curves_of, groups_of
from ossify import command, native
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.edit import bone_merge
from ossify.record import changes
from ossify.rig import standing
from refits import delete_bone, edit, error, give_weights, paint_noise, refitted, source_frames
from screens import told


def test_what_cannot_be_refitted_is_told(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    scenes.select(armature.ossify.sources[0].object)
    assert "not a rig made by Ossify" in told(bpy.ops.ossify.refit)
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    assert "is in Edit Mode" in told(bpy.ops.ossify.refit)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "No bones of" in told(bpy.ops.ossify.refit, only="BONES")
    mesh.data.vertices.add(1)
    assert "has other vertices or edges" in told(bpy.ops.ossify.refit)
    bpy.data.objects.remove(mesh)
    assert "moves none of the meshes" in told(bpy.ops.ossify.refit)
    armature.ossify.memory = None
    assert "remembers nothing" in told(bpy.ops.ossify.refit)


@pytest.mark.usefixtures("sheet")
def test_linked_rigs_are_refused(tmp_path):
    path = str(tmp_path / "rig.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(path, link=True) as (_, here):
        here.objects = [sheet_name := "Sheet Rig"]
    armature = bpy.data.objects[sheet_name]
    bpy.context.scene.collection.objects.link(armature)
    with pytest.raises(Refusal, match=r"is linked from .*\.blend: make it local"):
        refitted(armature)


@pytest.mark.parametrize("kind", ["meshes", "armatures"])
def test_linked_data_of_a_local_rig_is_refused(sheet, tmp_path, kind):
    obj = sheet.armature if kind == "armatures" else sheet.meshes[0]
    path, name = tmp_path / "data.blend", obj.data.name
    bpy.data.libraries.write(str(path), {obj.data})
    with bpy.data.libraries.load(str(path), link=True) as (_, here):
        setattr(here, kind, [name])
    obj.data = getattr(here, kind)[0]
    assert len(sheet.meshes[0].vertex_groups) == 5
    with pytest.raises(Refusal, match=r"is linked from data\.blend: make it local"):
        refitted(sheet.armature)
    for operator in (bpy.ops.ossify.refit, bpy.ops.ossify.smooth_weights, bpy.ops.ossify.hold):
        assert "is linked from data.blend" in told(operator)


@pytest.mark.usefixtures("sheet")
def test_a_missing_library_is_told(monkeypatch):
    def missing():
        raise native.LibraryError("libossify is not here.")

    monkeypatch.setattr(native, "library", missing)
    assert "libossify is not here" in told(bpy.ops.ossify.refit)


def test_changes_are_listed(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    assert bpy.ops.ossify.look_for_changes() == {"FINISHED"}
    assert not armature.ossify.changes
    delete_bone(armature, "Side.002.R")
    paint_noise(mesh, armature)
    bpy.ops.ossify.look_for_changes()
    assert [item.name for item in armature.ossify.changes] == ["DELETED", "REPAINTED"]
    assert armature.ossify.changes[0].words == "Side.002.R deleted"


@pytest.mark.parametrize("way", ["button", "hand"])
def test_merged_bones_are_told_from_deleted_ones(creature, way):
    armature, (mesh,) = creature.armature, creature.meshes
    if way == "button":
        run(bone_merge.merge(bpy.context, armature, "Side.001.R", ["Side.002.R"]))
    else:
        give_weights(mesh, "Side.002.R", "Side.001.R")
        delete_bone(armature, "Side.002.R")
    delete_bone(armature, "Side.002.L")
    found = changes.find(armature)
    assert found.merged == {"Side.002.R": "Side.001.R"}
    assert found.deleted == ["Side.002.L"]
    bpy.ops.ossify.look_for_changes()
    words = {item.name: item.words for item in armature.ossify.changes}
    assert words["MERGED"] == "Side.002.R merged into Side.001.R"
    assert words["DELETED"] == "Side.002.L deleted"
    refitted(armature)
    left = changes.find(armature)
    assert list(left.repainted) == ([mesh.name] if way == "hand" else [])  # what was painted is still kept
    left.repainted.clear()
    assert left == changes.Changes()


def test_heirs_of_merged_bones_are_followed(creature):
    armature = creature.armature
    run(bone_merge.merge(bpy.context, armature, "Side.001.R", ["Side.002.R"]))
    run(bone_merge.merge(bpy.context, armature, "Core.001", ["Side.001.R", "Core.002"]))
    assert changes.find(armature).merged == dict.fromkeys(
        ("Side.002.R", "Side.001.R", "Core.002"), "Core.001"
    )
    lines = changes.find(armature).lines([])
    assert ("MERGED", "Side.002.R, Side.001.R and Core.002 merged into Core.001") in lines
    run(bone_merge.merge(bpy.context, armature, "Down.001.L", ["Down.002.L"]))
    delete_bone(armature, "Down.001.L")
    found = changes.find(armature)
    assert sorted(found.deleted) == ["Down.001.L", "Down.002.L"]
    assert "Down.002.L" not in found.merged


@pytest.mark.parametrize("kind", ["MOVED", "REPARENTED"])
def test_moved_bones_can_be_put_back(creature, kind):
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    before, rest = error(armature, mesh, goal), np.array(armature.data.bones["Side.002.L"].matrix_local)
    parent = armature.data.bones["Side.002.L"].parent.name

    def change(bones):
        bone = bones["Side.002.L"]
        bone.use_connect = False
        if kind == "MOVED":
            bone.head, bone.roll = bone.head + 0.3 * bone.vector, bone.roll + 0.5
        else:
            bone.parent = bones["Core.001"]

    edit(armature, change)
    bpy.ops.ossify.look_for_changes()
    assert [item.name for item in armature.ossify.changes] == [kind]
    assert bpy.ops.ossify.put_back(kind=kind) == {"FINISHED"}
    assert not armature.ossify.changes
    assert armature.data.bones["Side.002.L"].parent.name == parent
    assert np.abs(np.array(armature.data.bones["Side.002.L"].matrix_local) - rest).max() < 1e-5
    assert error(armature, mesh, goal) == pytest.approx(before, rel=1e-2, abs=1e-5)
    assert "was moved" in told(bpy.ops.ossify.put_back, kind="MOVED")


def test_a_parent_and_its_child_that_were_swapped_are_put_back(creature):
    armature = creature.armature
    parents = {bone.name: bone.parent and bone.parent.name for bone in armature.data.bones}

    def swap(bones):
        child, parent = bones["Side.002.L"], bones["Side.001.L"]
        child.use_connect = parent.use_connect = False
        child.parent = parent.parent
        parent.parent = child

    edit(armature, swap)
    assert sorted(changes.find(armature).reparented) == ["Side.001.L", "Side.002.L"]
    bpy.ops.ossify.put_back(kind="REPARENTED")
    assert {bone.name: bone.parent and bone.parent.name for bone in armature.data.bones} == parents
    assert changes.find(armature) == changes.Changes()


def test_a_connected_bone_that_is_put_back_is_connected(creature):
    armature = creature.armature
    connected = {bone.name: bone.use_connect for bone in armature.data.bones}
    assert connected["Side.002.L"]

    def bend(bones):
        bones["Side.001.L"].tail = bones["Side.001.L"].tail + 0.2 * bones["Side.001.L"].vector

    edit(armature, bend)
    assert changes.find(armature).moved == ["Side.002.L"]
    bpy.ops.ossify.put_back(kind="MOVED")
    assert {bone.name: bone.use_connect for bone in armature.data.bones} == connected
    assert not changes.find(armature).moved


def lift(bones):
    """Disconnected, and moved"""
    bones["Side.002.L"].use_connect = False
    bones["Side.002.L"].head += 0.3 * bones["Side.002.L"].vector


def hang_up(bones):
    """Disconnected, and hung elsewhere"""
    bones["Side.002.L"].use_connect = False
    bones["Side.002.L"].parent = bones["Core.001"]


def draw_over(bones):
    """Connected where it was not"""
    bones["Side.001.L"].use_connect = True


@pytest.mark.parametrize(("change", "kind"), [(lift, "MOVED"), (hang_up, "REPARENTED"), (draw_over, "MOVED")])
def test_a_bone_that_is_put_back_is_connected_as_it_was(creature, change, kind):
    armature = creature.armature
    connected = {bone.name: bone.use_connect for bone in armature.data.bones}
    assert connected["Side.002.L"]
    assert not connected["Side.001.L"]
    edit(armature, change)
    assert {bone.name: bone.use_connect for bone in armature.data.bones} != connected
    bpy.ops.ossify.put_back(kind=kind)
    assert {bone.name: bone.use_connect for bone in armature.data.bones} == connected
    assert changes.find(armature) == changes.Changes()


def test_selected_things_are_held_and_let_go(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    scenes.pose(armature, "Bone.003")
    assert bpy.ops.ossify.hold(what="BONES") == {"FINISHED"}
    bpy.context.scene.frame_set(4)
    bpy.ops.ossify.hold(what="FRAMES")
    bpy.ops.ossify.hold(what="FRAMES", frame_start=6, frame_end=7)
    assert [item.frame for item in armature.ossify.frames if item.held] == [4, 6, 7]
    bpy.ops.object.mode_set(mode="OBJECT")
    scenes.select(mesh)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.ossify.hold(what="VERTICES")
    bpy.ops.object.mode_set(mode="OBJECT")
    assert changes.held_vertices(mesh.data).all()
    names = standing.bone_names(armature)
    before = {name: curves_of(armature, name) for name in names}
    weights = groups_of(mesh)
    assert bpy.ops.ossify.refit() == {"FINISHED"}
    assert curves_of(armature, "Bone.003") == before["Bone.003"]
    assert groups_of(mesh) == weights
    bpy.ops.ossify.release_all()
    assert not any(item.held for item in armature.ossify.frames)
    assert not changes.held_vertices(mesh.data).any()


def test_the_report_tells_before_and_after(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    delete_bone(armature, "Bone.002")
    found = refitted(armature)
    record = armature.ossify
    assert record.rms_before == pytest.approx(found.before.percent(found.before.rms), rel=1e-4)
    assert record.rms == pytest.approx(found.after.percent(found.after.rms), rel=1e-4)
    assert {line.name for line in found.bones} == set(standing.bone_names(armature))
    assert [item.name for item in record.fits if item.kind == "MESH"] == [mesh.name]
    change = np.empty(81, np.float32)
    mesh.data.attributes["ossify_change"].data.foreach_get("value", change)
    percent = 100 / found.after.size
    assert change == pytest.approx(percent * (found.after.vertex_error - found.before.vertex_error), abs=1e-4)
    record.show_change = True
    assert "Ossify Error" in mesh.data.color_attributes
    record.show_change = False
    assert "Ossify Error" not in mesh.data.color_attributes


def test_the_command_refits_a_file(sheet, tmp_path, capfd):
    delete_bone(sheet.armature, "Bone.002")
    source, output = tmp_path / "rig.blend", tmp_path / "again.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    assert command.main(["refit", str(source), "--output", str(output), "--quiet"]) == 0
    assert "Sheet Rig: error" in capfd.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=str(output))
    armature = bpy.data.objects["Sheet Rig"]
    assert armature.ossify.refitted
    assert changes.find(armature) == changes.Changes()
    assert command.main(["refit", str(source), "--output", str(output), "--object", "Other"]) == 1
    assert command.main(["refit", "rig.obj", "--output", str(output)]) == 2


def test_what_is_missing_is_told_with_what_to_do(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    mesh.parent = None
    assert "Sheet Rigged is not a child of Sheet Rig any more" in told(bpy.ops.ossify.refit)
    mesh.parent = armature
    assert bpy.ops.ossify.refit() == {"FINISHED"}
    for bone in armature.data.bones:
        bone.use_deform = False
    assert "has no bone left that deforms" in told(bpy.ops.ossify.refit)
