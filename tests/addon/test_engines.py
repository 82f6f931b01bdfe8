"""Rigs written for engines: what each takes is kept, and the error is measured on the file itself."""

import json
import re

import bpy
import numpy as np
import pytest
import scenes
from chain import converted
from commands import FAST, run, save_moving
from exchange import nearest
from ossify import command
from ossify.base.refusal import Refusal
from ossify.engine import adapted, contract, export, reread
from ossify.files import gltf, inputs, outputs
from refits import sheet_rig, source_frames
from takes import two_takes

PLAIN = re.compile(r"[A-Za-z0-9_-]+")


@pytest.fixture
def rig():
    result = sheet_rig(influences=8, bones=12)
    scenes.select(result.armature)
    return result


def written(result, path, name):
    return export.write(path, result.armature, result.meshes, 8, contract.ENGINES[name])


def imported(path, times):
    """What another Blender shows of a file, and its armature."""
    bpy.ops.wm.read_homefile(use_empty=True)
    with inputs.Opened(path, [], None) as opened:
        meshes = [obj for obj in opened.objects() if obj.type == "MESH"]
        armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        first = min(action.frame_range[0] for action in bpy.data.actions)
        shown = scenes.seen_frames(meshes[0], [int(first) + time - times[0] for time in times])
        return shown, meshes[0], armature


@pytest.mark.parametrize(
    ("name", "ending"),
    [("WEB", ".glb"), ("GODOT", ".gltf"), ("UNITY", ".fbx"), ("UNREAL", ".fbx"), ("ROBLOX", ".glb")],
)
def test_the_contract_is_kept_and_the_error_is_that_of_the_file(rig, tmp_path, name, ending):
    path, engine = tmp_path / f"rig{ending}", contract.ENGINES[name]
    goal, times = source_frames(rig.armature), [item.frame for item in rig.armature.ossify.frames]
    before = scenes.picture()
    wide = max(sum(item.weight > 0 for item in vertex.groups) for vertex in rig.meshes[0].data.vertices)
    found = written(rig, path, name)
    assert scenes.difference(before, scenes.picture()) == ""
    assert f"as {engine.label} will see it" in found.notes[-1]
    shown, mesh, armature = imported(path, times)
    gap = shown - goal[:, nearest(shown[0], goal[0])]
    size = scenes.size_of(goal[:1])
    assert found.error.rms == pytest.approx(100 * np.sqrt((gap**2).sum(2).mean()) / size, rel=0.05)
    told = [note for note in found.notes if f"Convert again with {engine.influences} influences" in note]
    assert len(told) == (wide > engine.influences)
    most = max(sum(item.weight > 0 for item in vertex.groups) for vertex in mesh.data.vertices)
    assert most <= engine.influences
    assert all(abs(sum(item.weight for item in vertex.groups) - 1) < 1e-4 for vertex in mesh.data.vertices)
    assert sum(bone.parent is None for bone in armature.data.bones) == 1
    assert all(PLAIN.fullmatch(bone.name) for bone in armature.data.bones)
    assert not any(bone.name.endswith("_end") for bone in armature.data.bones)
    assert not engine.top or armature.name == engine.top


def cracks(frames, goal, edges):
    """Root mean square of what neighbours miss apart"""
    missed = frames - goal
    return float(np.sqrt(((missed[:, edges[:, 0]] - missed[:, edges[:, 1]]) ** 2).sum(axis=2).mean()))


@pytest.mark.parametrize(("name", "ending"), [("WEB", ".glb"), ("UNITY", ".fbx")])
def test_influences_go_by_what_they_cost_where_the_motion_is_known(rig, tmp_path, monkeypatch, name, ending):
    """A file with the strongest of them is no better, and cracks more."""
    goal, times = source_frames(rig.armature), [item.frame for item in rig.armature.ossify.frames]
    engine = contract.ENGINES[name]._replace(influences=2)
    monkeypatch.setitem(contract.ENGINES, name, engine)
    pruned = written(rig, tmp_path / f"pruned{ending}", name)
    assert "had more than 2 bones; in the file those went whose loss costs least: error " in pruned.notes[0]
    assert "Convert again with 2 influences" in pruned.notes[0]
    monkeypatch.setattr(export.fewer, "prune", lambda *_: None)
    strongest = written(rig, tmp_path / f"strongest{ending}", name)
    assert "the file has the strongest of them" in strongest.notes[0]
    assert pruned.error.rms < 0.95 * strongest.error.rms
    edges = np.array([edge.vertices[:] for edge in rig.meshes[0].data.edges])
    left = []
    for path in (tmp_path / f"pruned{ending}", tmp_path / f"strongest{ending}"):
        shown, _, _ = imported(path, times)
        left.append(cracks(shown[:, nearest(goal[0], shown[0])], goal, edges))
    assert left[0] < 0.95 * left[1]


def test_a_gltf_is_tidy(rig, tmp_path):
    for path, plain in ((tmp_path / "a.glb", contract.plain), (tmp_path / "b.gltf", None)):
        outputs.write(path, rig.armature, rig.meshes, 4, plain=plain)
        words = gltf.Document.read(path).words
        skinned = [number for number, node in enumerate(words["nodes"]) if "skin" in node]
        assert set(skinned) <= set(words["scenes"][0]["nodes"])
        assert not any(number in node.get("children", ()) for node in words["nodes"] for number in skinned)
        paths = {c["target"]["path"] for some in words["animations"] for c in some["channels"]}
        assert paths == {"rotation", "translation"}
        used = {number for holder, name in gltf._holders(words) for number in [holder[name]]}
        assert used == set(range(len(words["accessors"])))
        inputs_of = [s["input"] for some in words["animations"] for s in some["samplers"]]
        firsts = {words["accessors"][number]["min"][0] for number in inputs_of}
        assert plain is None or firsts == {0.0}


def test_flexible_bones_keep_their_scale(tmp_path):
    result = converted(scenes.key_shapes(scenes.tube()), bone_kind="FLEXIBLE", skeleton="NONE", bones=3)
    found = export.write(tmp_path / "rig.glb", result.armature, result.meshes, 4, contract.ENGINES["GODOT"])
    assert any("change size in the motion" in note for note in found.notes)
    assert found.error.rms < 1.5 * result.report.percent(result.report.rms) + 0.1


def test_the_player_agrees_with_blender(rig, tmp_path):
    """On the file alone, between its keys, too."""
    path = tmp_path / "rig.glb"
    written(rig, path, "WEB")
    document = gltf.Document.read(path)
    times = np.arange(1, 9)
    mine = gltf.play(document, document.words["animations"][0], (times - 1) / 24)
    shown, _, _ = imported(path, times)
    assert mine.shape == shown.shape
    match = nearest(mine[0], shown[0])
    assert np.abs(mine - shown[:, match]).max() < 1e-4


def test_a_file_that_was_spoilt_measures_so(rig, tmp_path):
    path = tmp_path / "rig.glb"
    good = written(rig, path, "WEB").error
    document = gltf.Document.read(path)
    number = next(n for n, node in enumerate(document.words["nodes"]) if node["name"] == "Root")
    for animation in document.words["animations"]:
        animation["channels"] = [c for c in animation["channels"] if c["target"]["node"] == number]
        gltf._drop_samplers(animation)
    document.write(path)
    spoilt = reread.measure(path, rig.armature, rig.meshes, contract.ENGINES["WEB"])
    assert spoilt.rms > 3 * good.rms


@pytest.mark.parametrize("ending", [".glb", ".fbx"])
def test_every_clip_is_measured(tmp_path, ending, monkeypatch):
    walk, other = two_takes()
    result = converted(walk, other, clips="TAKES", bones=12)
    name = "GODOT" if ending == ".glb" else "UNITY"
    seen, play = [], reread._Gltf.play if ending == ".glb" else reread._Imported.play

    def noted(self, clip, alone):
        shown = play(self, clip, alone)
        seen.append((clip.name, shown is not None))
        return shown

    monkeypatch.setattr(reread._Gltf if ending == ".glb" else reread._Imported, "play", noted)
    found = written(result, tmp_path / f"rig{ending}", name)
    assert seen == [("Walk", True), ("Run", True)]
    assert found.error.rms < 1.1 * result.report.percent(result.report.rms) + 0.05


def test_without_the_motion_the_rig_itself_is_the_measure(tmp_path):
    result = sheet_rig(keep_motion="NONE")
    found = written(result, tmp_path / "rig.glb", "WEB")
    assert not found.error.of_source
    assert found.error.rms < 0.01
    result.meshes[0].modifiers.new("Fine", "SUBSURF")
    found = written(result, tmp_path / "fine.glb", "WEB")
    assert found.error is None
    assert "was not measured: Sheet Rigged has the modifier Fine" in found.notes[-1]


def test_bones_whose_names_become_one(rig):
    bones = rig.armature.data.bones
    bones[1].name, bones[2].name = "Arm.001", "Arm 001"
    with adapted.beside(rig.armature, rig.meshes, contract.ENGINES["UNITY"], 4) as (copy, meshes):
        names = [bone.name for bone in copy.data.bones]
        assert {"Arm_001", "Arm_001_2"} <= set(names)
        assert {"Arm_001", "Arm_001_2"} <= {group.name for group in meshes[0].vertex_groups}
    assert {"Arm.001", "Arm 001"} <= set(bones.keys())


def test_what_an_engine_does_not_take_is_told(rig, tmp_path):
    few = contract.ENGINES["UNREAL"]._replace(bones=5, triangles=100)
    with_two = rig.armature
    scenes.select(with_two)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = with_two.data.edit_bones.new("Stray")
    bone.tail = (0, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    notes = " ".join(contract.trouble(few, with_two, rig.meshes))
    assert "takes one root, and the rig has Root and Stray" in notes
    assert "follows 12 bones; Unreal takes 5 in a section: take fewer bones" in notes
    assert "more than the 100 triangles" in notes
    with pytest.raises(Refusal, match=r"not for Godot: the ending must be \.glb or \.gltf"):
        written(rig, tmp_path / "rig.fbx", "GODOT")


def test_bones_are_counted_in_each_section(rig):
    """By the weights, so that a mesh of two materials may follow twice as many."""
    mesh, count = rig.meshes[0], len(rig.armature.data.bones)
    groups = {group.index: group.name for group in mesh.vertex_groups}

    def most(sections):
        used = [set() for _ in range(sections)]
        for face in mesh.data.polygons:
            for vertex in face.vertices:
                own = mesh.data.vertices[vertex].groups
                used[face.material_index] |= {groups[item.group] for item in own if item.weight > 0}
        return max(len(some & set(rig.armature.data.bones.keys())) for some in used)

    def told(bones):
        return any(
            "in a section" in note for note in contract.trouble(engine(bones), rig.armature, rig.meshes)
        )

    def engine(bones):
        return contract.ENGINES["UNREAL"]._replace(bones=bones)

    whole = most(1)
    assert not told(whole)
    assert told(whole - 1)
    for name in ("near", "far"):
        mesh.data.materials.append(bpy.data.materials.new(name))
    centres = np.array([face.center[:] for face in mesh.data.polygons])
    for face in mesh.data.polygons:
        face.material_index = int(face.center[0] > np.median(centres[:, 0]))
    halves = most(2)
    assert halves < whole <= count
    assert not told(halves)
    assert told(halves - 1)


def test_from_the_menu(rig, tmp_path):
    scenes.pose(rig.armature)
    path = tmp_path / "rig"
    assert bpy.ops.ossify.export_engine(engine="UNREAL", filepath=str(path)) == {"FINISHED"}
    assert (tmp_path / "rig.fbx").is_file()
    assert bpy.context.mode == "POSE"
    assert bpy.ops.ossify.export_engine(engine="VRM", filepath=f"{path}.fbx") == {"FINISHED"}
    assert (tmp_path / "rig.glb").is_file()


def test_from_the_command_line(tmp_path, capsys):
    path, report = save_moving(tmp_path / "walk.blend"), tmp_path / "r.json"
    given = ["convert", path, "--target", "web", "--influences", "8", "--report", report, *FAST]
    assert run(*given, "--output", tmp_path / "rig.fbx") == command.WRONG
    assert "is not for the web" in capsys.readouterr().err
    assert run(*given, "--output", tmp_path / "rig.glb") == 0
    said = json.loads(report.read_text())
    assert said["settings"]["influences"] == 4
    assert said["inputs"][0]["target"]["engine"] == "web"
    assert said["inputs"][0]["target"]["against"] == "source"
    assert "as the web will see it" in capsys.readouterr().out
