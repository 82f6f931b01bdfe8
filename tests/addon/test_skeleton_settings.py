"""Skeletons as they are asked for: by the motion, by settings, by the command."""

import json

import bpy
import chain
import numpy as np
import pytest
import scenes
from creature_rigs import COUNT, converted, deforming, matched, strongest
from ossify import command
from ossify.convert import convert
from ossify.options import options
from ossify.rig import roles

# ---- a skeleton that is left to the motion


@pytest.mark.solver
def test_joints_hold_by_themselves_where_that_costs_nothing():
    result, body, bones = converted(skeleton="AUTO")
    assert result.armature.ossify.settings.skeleton == "ANIMATOR"
    assert not [bone for bone in result.armature.data.bones if roles.is_helper(bone)]
    assert result.report.notes == []
    assert result.report.solver.rms_percent < 0.1
    matches = matched(result, body)
    for name, (parent, _, _) in bones.items():
        if parent:
            assert result.armature.data.bones[matches[name]].parent.name == matches[parent]


@pytest.mark.solver
def test_a_surface_has_no_limbs():
    """A sheet that waves: one bone that is turned must not drag half of it along."""
    sheet = scenes.key_shapes(scenes.grid(n=15))
    result = chain.converted(sheet, bones=6, quality="NORMAL", skeleton="AUTO")
    assert result.armature.ossify.settings.skeleton == "NONE"
    assert all(bone.parent.name == "Root" for bone in deforming(result.armature))
    (note,) = result.report.notes
    assert "side by side" in note


def jelly(path, frames=24):
    """A body with limbs that bends, swells and shears everywhere, by waves as long as it is."""
    random, mesh = np.random.default_rng(5), scenes.body_mesh(scenes.creature_bones(), 1)
    body = scenes.link(bpy.data.objects.new("Jelly", mesh))
    points = scenes.positions(body.data).astype(np.float64)
    size, moved = scenes.size_of(points), np.repeat(points[None], frames, axis=0)
    for _ in range(6):
        way, drift, start = random.normal(size=3) * 3 / size, random.normal(size=3), 6 * random.random(2)
        turns = start[1] + 2 * np.pi * np.arange(frames) / frames * random.integers(1, 4)
        share = np.sin(points @ way + start[0])[:, None] * drift
        moved += 0.06 * size * share * np.sin(turns)[:, None, None]
    return scenes.cached(body, path, moved)


@pytest.mark.solver
def test_a_body_that_bends_everywhere_has_no_joints(tmp_path):
    """Bones that hold would leave it; as handles, side by side, they replay it closer and stay."""
    by_parts = {"bones_by": "PARTS", "frames": "CUSTOM", "frame_end": 24}
    result = chain.converted(jelly(tmp_path / "1.pc2"), skeleton="AUTO", **by_parts)
    assert result.armature.ossify.settings.skeleton == "NONE"
    assert all(bone.parent.name == "Root" for bone in deforming(result.armature))
    assert any(note.startswith("The body bends everywhere") for note in result.report.notes)
    meant = chain.converted(jelly(tmp_path / "2.pc2"), skeleton="ANIMATOR", **by_parts)
    assert meant.armature.ossify.settings.skeleton == "ANIMATOR"
    assert result.report.rms < 0.7 * meant.report.rms


def slipping_tube(tmp_path):
    """Three parts that slide past each other, and turn about nothing."""
    tube = scenes.tube(rings=31, around=10)
    points = scenes.positions(tube.data)
    parts = np.minimum((points[:, 2] / 4.0 * 3).astype(int), 2)
    frames = np.repeat(points[None], 12, axis=0)
    for f in range(12):
        for part in range(3):
            frames[f, parts == part, part % 2] += 1.2 * np.sin(2 * np.pi * f / 12 + 2 * part)
    return scenes.cached(tube, tmp_path / "tube.pc2", frames.astype(np.float32))


def test_joints_that_nothing_holds_are_told_of(tmp_path):
    bpy.context.scene.frame_end = 12
    result = chain.converted(slipping_tube(tmp_path), bones=3, quality="NORMAL", skeleton="AUTO")
    assert result.armature.ossify.settings.skeleton == "HIERARCHY"
    (note,) = result.report.notes
    assert note.startswith("2 of 2 joints are guesses")


@pytest.mark.solver
def test_joints_that_would_break_the_budget_do_not_hold():
    generous, _, _ = converted(skeleton="AUTO", bones_by="BUDGET", budget=5.0, bones_most=COUNT)
    assert generous.report.percent(generous.report.rms) < 5.0
    info = generous.report.solver
    chosen = options.Options(bones_by="BUDGET", budget=0.9 * info.rms_percent)
    assert not convert._costs_little(info, info, chosen)
    assert convert._costs_little(info, info, options.Options())


# ---- settings


def test_without_a_skeleton_bones_hang_side_by_side():
    result, _, _ = converted(skeleton="NONE")
    assert {bone.parent.name for bone in deforming(result.armature)} == {"Root"}
    assert result.report.skeleton is None


def test_without_symmetry_no_name_has_a_side():
    result, _, _ = converted(symmetry="NONE")
    assert not [b.name for b in result.armature.data.bones if b.name.endswith((".L", ".R"))]


def test_the_x_plane_is_the_objects_own():
    result, body, _ = converted(symmetry="X")
    assert matched(result, body)["hand.L"].endswith(".L")


def seen_middle(body, name, frame):
    """Where the middle of a part is in a frame, in the scene"""
    return scenes.seen(body, frame)[[part == name for part in strongest(body)]].mean(axis=0)


@pytest.mark.parametrize("name", ["head", "shin.L"])
@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_the_root_is_at_the_place_that_was_chosen(name, kind):
    """In the frame that was looked at, far from the rest pose."""
    body, _ = scenes.creature(frames=12)
    body.location = (3, -2, 1)
    place = tuple(seen_middle(body, name, 10))
    # a draft may miss the head
    picked = {"bones": COUNT, "quality": "NORMAL", "root": "PLACE", "root_place": place}
    result = chain.converted(body, skeleton=kind, **picked)
    match = matched(result, body)
    assert result.armature.data.bones[match[name]].parent.name == "Root"
    assert result.armature.ossify.root_bone == match[name]
    scenes.select(result.armature)
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert result.armature.data.bones[matched(result, body)[name]].parent.name == "Root"


def test_the_root_is_at_the_cursor():
    body, bones = scenes.creature(frames=12)
    bpy.context.scene.cursor.location = seen_middle(body, "head", 12)
    assert bpy.ops.ossify.root_at_cursor() == {"FINISHED"}
    assert bpy.context.scene.ossify.root == "PLACE"
    scenes.select(body)
    assert bpy.ops.ossify.convert(bones=COUNT, quality="DRAFT") == {"FINISHED"}
    assert bpy.context.object.ossify.root_bone == "Core.001"
    head = np.array(bpy.context.object.data.bones["Core.001"].matrix_local.translation)
    assert np.linalg.norm(head - bones["head"][1]) < np.linalg.norm(head - bones["trunk"][1])


def test_a_place_is_the_same_by_operator_and_by_command(tmp_path):
    body, _ = scenes.creature(frames=12)
    place = seen_middle(body, "head", 12)
    scenes.select(body)
    picked = {"bones": COUNT, "quality": "DRAFT", "root": "PLACE", "root_place": place}
    assert bpy.ops.ossify.convert(hide_source=False, **picked) == {"FINISHED"}
    found = bpy.context.object
    assert np.allclose(found.ossify.settings.root_place, place)
    root, names = found.data.bones["Core.001"].head_local.copy(), {bone.name for bone in found.data.bones}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "creature.blend"))
    arguments = ["convert", tmp_path / "creature.blend", "--object", "Creature", "--quiet"]
    arguments += ["--output", tmp_path / "rig.blend", "--bones", COUNT, "--quality", "draft"]
    assert command.main([*map(str, arguments), "--root-place", *map(repr, map(float, place))]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    again = bpy.data.objects["Creature Rig.001"]  # beside the operator's
    assert again.ossify.root_bone == "Core.001"
    assert {bone.name for bone in again.data.bones} == names
    assert (again.data.bones["Core.001"].head_local - root).length < 1e-5


def test_settings_are_stored_on_the_armature(articulated):
    assert articulated[0].armature.ossify.settings.skeleton == "ARTICULATED"


@pytest.mark.solver
@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_bones_are_counted_by_themselves(kind):
    result, body, _ = converted(bones_by="PARTS", bones_most=40, skeleton=kind)
    assert result.report.bones == COUNT
    assert len(set(matched(result, body).values())) == COUNT


@pytest.mark.solver
def test_articulated_bones_keep_a_budget():
    result, _, _ = converted(
        bones_by="BUDGET", budget=1.0, bones_most=40, skeleton="ARTICULATED", rest_correction="KEPT"
    )
    assert result.report.bones < 40
    assert result.report.percent(result.report.rms) < 1.5


def test_one_bone_has_a_skeleton_too():
    obj = scenes.key_shapes(scenes.grid())
    result = chain.converted(obj, bones=1, skeleton="HIERARCHY")
    assert [bone.name for bone in result.armature.data.bones] == ["Root", "Core.001"]


@pytest.mark.solver
@pytest.mark.parametrize("rest", ["UNDEFORMED", "SYNTHESISED"])
def test_articulated_bones_fit_from_every_rest_shape(rest):
    result, _, _ = converted(skeleton="ARTICULATED", rest=rest)
    assert result.report.percent(result.report.rms) < 0.5


def test_undo_takes_a_skeleton_back():
    body, _ = scenes.creature(frames=12)
    bpy.ops.ed.undo_push(message="before")
    scenes.select(body)
    before = {block.name for kind in (bpy.data.objects, bpy.data.armatures) for block in kind}
    assert bpy.ops.ossify.convert(bones=COUNT, quality="DRAFT", skeleton="ARTICULATED") == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert {block.name for kind in (bpy.data.objects, bpy.data.armatures) for block in kind} == before


@pytest.mark.parametrize("kind", ["none", "hierarchy", "articulated"])
def test_the_command_makes_every_kind_of_skeleton(tmp_path, kind):
    scenes.creature(frames=12)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "creature.blend"))
    arguments = ["convert", tmp_path / "creature.blend", "--object", "Creature", "--quiet"]
    arguments += ["--output", tmp_path / "rig.blend", "--report", tmp_path / "report.json"]
    arguments += ["--bones", COUNT, "--quality", "draft", "--skeleton", kind]
    assert command.main([*map(str, arguments)]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["settings"]["skeleton"] == kind.upper()
    (record,) = report["inputs"]
    if kind == "none":
        assert "skeleton" not in record
    else:
        assert sum(record["skeleton"]["joints"].values()) == COUNT - 1
        assert (record["skeleton"]["free_erms"] is not None) == (kind == "articulated")
