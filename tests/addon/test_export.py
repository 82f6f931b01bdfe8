"""The rig written from the menu as the command line writes it; presets of one's own; the sidebar."""

from pathlib import Path

import bpy
import builds
import chain
import exchange
import numpy as np
import pytest
import scenes
from ossify.base.refusal import Refusal
from ossify.files import exporting, outputs
from ossify.options import options
from ossify.ui import panel
from refits import sheet_rig
from screens import drawn


@pytest.fixture
def rig():
    armature = sheet_rig().armature
    scenes.select(armature)
    return armature


def test_fbx_from_the_menu_is_not_simplified(rig, tmp_path, monkeypatch):
    seen, write = {}, exporting.write
    monkeypatch.setattr(exporting, "write", lambda *given: seen.update(given[2]) or write(*given))
    path = tmp_path / "rig.fbx"
    assert bpy.ops.ossify.export(kind=".fbx", filepath=str(path)) == {"FINISHED"}
    assert seen["bake_anim_simplify_factor"] == 0
    assert not seen["add_leaf_bones"]
    goal = scenes.seen_frames(rig.children[0], range(1, 9))
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0)
    mesh = next(obj for obj in bpy.context.scene.objects if obj.type == "MESH")
    found = scenes.seen_frames(mesh, range(1, 9))
    assert np.abs(found - goal).max() < 1e-3 * scenes.size_of(goal[0])


@pytest.mark.parametrize("kind", [".glb", ".gltf", ".usdc"])
def test_export_writes_and_leaves_the_scene_as_it_was(rig, tmp_path, kind):
    if kind == ".usdc":
        builds.needs("usd")
    before = scenes.picture()
    assert bpy.ops.ossify.export(kind=kind, filepath=str(tmp_path / "rig")) == {"FINISHED"}
    assert (tmp_path / f"rig{kind}").stat().st_size > 500
    assert scenes.difference(before, scenes.picture()) == ""
    scenes.pose(rig)
    assert bpy.ops.ossify.export(kind=kind, filepath=str(tmp_path / "again.fbx")) == {"FINISHED"}
    assert (tmp_path / f"again{kind}").is_file()
    assert bpy.context.mode == "POSE"


def read_again(path):
    """The meshes that bones move, in an empty scene"""
    bpy.ops.wm.read_homefile(use_empty=True)
    if path.suffix == ".glb":
        bpy.ops.import_scene.gltf(filepath=str(path))
    else:
        bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0)
    return [obj for obj in bpy.data.objects if obj.find_armature()]


@pytest.mark.parametrize("kind", [".glb", ".fbx"])
def test_the_motions_of_other_rigs_stay_out_of_the_file(rig, tmp_path, kind):
    goal = scenes.seen_frames(rig.children[0], range(1, 9))
    other = bpy.data.actions.new("Other")  # with bones of the same names
    stranger = bpy.data.objects.new("Stranger", rig.data)
    stranger.animation_data_create().action = other
    bone = scenes.link(stranger).pose.bones[-1]
    for frame in (1, 8):
        bone.location = (0.5 * frame, 2, 0)
        bone.keyframe_insert("location", frame=frame)
    scenes.select(rig)
    assert bpy.ops.ossify.export(kind=kind, filepath=str(tmp_path / "rig")) == {"FINISHED"}
    exchange.compare(goal, read_again(tmp_path / f"rig{kind}"), range(1, 9), 1e-3)


def close_eyes(armature):
    for obj in (armature, *armature.children):
        obj.hide_set(True)


def disable(armature):
    for obj in (armature, *armature.children):
        obj.hide_viewport = True


def disable_mesh(armature):
    armature.children[0].hide_viewport = True


@pytest.mark.parametrize("hide", [close_eyes, disable, disable_mesh])
@pytest.mark.parametrize("kind", [".glb", ".fbx"])
def test_a_rig_that_is_hidden_is_written_whole(rig, tmp_path, kind, hide):
    hide(rig)
    before = scenes.picture()
    assert bpy.ops.ossify.export(kind=kind, filepath=str(tmp_path / "rig")) == {"FINISHED"}
    assert scenes.difference(before, scenes.picture()) == ""
    (mesh,) = read_again(tmp_path / f"rig{kind}")
    assert np.ptp(scenes.seen_frames(mesh, (1, 3, 5)), axis=0).max() > 0.1


def test_a_rig_in_a_collection_that_is_hidden_is_not_written_in_parts(rig, tmp_path):
    bpy.context.view_layer.layer_collection.children[rig.users_collection[0].name].hide_viewport = True
    with pytest.raises(Refusal, match="is in a collection that is hidden or left out"):
        outputs.write(tmp_path / "rig.glb", rig, list(rig.children), 4)
    assert not (tmp_path / "rig.glb").exists()


def test_a_preset_of_ones_own_comes_back():
    settings = bpy.context.scene.ossify
    settings.bones, settings.key_tolerance = 37, 0.4
    assert bpy.ops.ossify.preset_add(name="Mine") == {"FINISHED"}
    (path,) = [entry for folder in bpy.utils.preset_paths("ossify") for entry in options_of(folder)]
    bpy.ops.ossify.preset(preset="DRAFT")
    assert settings.bones != 37
    bpy.ops.script.execute_preset(filepath=path, menu_idname="OSSIFY_MT_presets")
    assert (settings.bones, round(settings.key_tolerance, 6)) == (37, 0.4)
    assert options.preset_of(settings) is None
    assert bpy.ops.ossify.preset_add(name="Mine", remove_name=True) == {"FINISHED"}


def options_of(folder):
    return [str(path) for path in Path(folder).glob("*.py")]


def test_the_sidebar_has_few_figures_and_a_legend(rig):
    words = drawn(panel.OSSIFY_PT_rig)
    assert "E_RMS" not in words
    assert "keys kept" not in words
    assert words.startswith(f"Error {rig.ossify.rms:.3g} % of the size Largest ")
    assert "Worst Frame" in words
    assert "bones" not in words
    details = drawn(panel.OSSIFY_PT_details)
    assert "E_RMS" in details
    assert "keys kept" in details
    assert f"{rig.ossify.bones} bones" in details
    rig.ossify.show_error = True
    top, shown = panel.heat.top_error(panel.heat.meshes_of(rig)), drawn(panel.OSSIFY_PT_rig)
    assert f"0 % {top / 2:.2g} % {0.75 * top:.2g} % {top:.2g} %" in shown
    assert "Show or Hide Source" in shown  # what comes after it


def person(**chosen):
    body, _ = scenes.creature(12)
    given = {"bones": 10, "skeleton": "ARTICULATED", "names": "HUMAN", "facing": "MINUS_Y", **chosen}
    return chain.converted(body, **given)


def test_a_person_is_named_by_parts_and_written_by_those_of_other_programs(tmp_path):
    rig = person()
    armature = rig.armature
    names = set(armature.data.bones.keys())
    assert {"Head", "UpperLeg.L", "LowerLeg.R", "UpperArm.L", "LowerArm.R"} <= names
    left = armature.data.bones["UpperLeg.L"].head_local.x
    assert left > armature.data.bones["UpperLeg.R"].head_local.x
    assert set(rig.meshes[0].vertex_groups.keys()) <= names
    scenes.select(armature)
    before, path = scenes.picture(), tmp_path / "rig.glb"
    assert bpy.ops.ossify.export(kind=".glb", filepath=str(path), names="UNITY") == {"FINISHED"}
    assert scenes.difference(before, scenes.picture()) == ""
    goal = scenes.seen_frames(rig.meshes[0], range(1, 13))
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=str(path))
    found = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    assert {"Head", "LeftUpperLeg", "RightLowerLeg", "LeftUpperArm"} <= set(found.data.bones.keys())
    mesh = next(obj for obj in found.children if obj.type == "MESH")
    start = round(found.animation_data.action.frame_range[0])
    size = scenes.size_of(goal[0])
    for row, frame in enumerate((start, start + 6)):
        shown, wanted = scenes.seen(mesh, frame), goal[6 * row]
        assert abs(scenes.size_of(shown) - scenes.size_of(wanted)) < 1e-2 * size


@pytest.mark.usefixtures("rig")
def test_what_is_no_human_is_not_written_by_the_names_of_one(tmp_path):
    with pytest.raises(RuntimeError, match="known as a part of a human"):
        bpy.ops.ossify.export(kind=".glb", filepath=str(tmp_path / "rig"), names="VRM")
    assert not (tmp_path / "rig.glb").exists()
