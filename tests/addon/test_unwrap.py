"""Unwrap for Motion: a new map, what it says about stretch, and everything else as it was."""

import json

import bpy
import numpy as np
import pytest
import scenes
from ossify import command
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.options.options import UnwrapOptions
from ossify.unwrap import stretched, unwrap


def uv_of(layer):
    flat = np.empty(2 * len(layer.data), np.float32)
    layer.data.foreach_get("uv", flat)
    return flat.reshape(-1, 2)


def stretch_of(obj, uv, frames):
    """Percent above 1, mean over the frames, from the definition; quads are two triangles"""
    mesh = obj.data
    mesh.calc_loop_triangles()
    corners = np.array([triangle.loops[:] for triangle in mesh.loop_triangles])
    vertices = np.array([triangle.vertices[:] for triangle in mesh.loop_triangles])
    place = uv[corners].astype(np.float64)
    d = np.stack([place[:, 1] - place[:, 0], place[:, 2] - place[:, 0]], -1)
    whole, found = np.abs(np.linalg.det(d)).sum() / 2, []
    for points in frames:
        p = points[vertices].astype(np.float64)
        e = np.stack([p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]], -1)
        area = np.linalg.norm(np.cross(e[..., 0], e[..., 1]), axis=1) / 2
        values = np.linalg.svd(e @ np.linalg.inv(d), compute_uv=False)
        found.append(np.sqrt((area * (values**2).sum(1) / 2).sum() * whole) / area.sum() - 1)
    return 100 * np.mean(found)


def sheet(stretchy=True):
    """One that is pulled out on one side, by shape keys that play; its map is that of the rest."""
    obj = scenes.grid(n=9)
    points = scenes.positions(obj.data)
    frames = []
    for amount in np.linspace(0.2, 1, 4):
        moved = points.copy()
        moved[:, 0] += amount * np.maximum(points[:, 0], 0) * (1.5 if stretchy else 0)
        moved[:, 2] += 0.0 if stretchy else amount
        frames.append(moved)
    keys = scenes.add_shape_keys(obj, frames)
    for f, key in enumerate(list(keys)[1:]):
        for frame in range(1, 6):
            key.value = float(frame == f + 2)
            key.keyframe_insert("value", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 2, 5
    scenes.select(obj)
    return obj, np.array(frames, np.float32)


def unwrapped(obj, **options):
    return run(unwrap.unwrap(bpy.context.scene, bpy.context.view_layer, obj, UnwrapOptions(**options)))


def test_a_new_map_is_stretched_less_and_the_old_one_stays():
    obj, frames = sheet()
    before = uv_of(obj.data.uv_layers["UVMap"])
    found = unwrapped(obj)
    layers = obj.data.uv_layers
    assert [layer.name for layer in layers] == ["UVMap", "Motion"]
    assert layers.active.name == "Motion"
    assert layers["Motion"].active_render
    np.testing.assert_array_equal(uv_of(layers["UVMap"]), before)
    assert found.frames == 4
    assert found.stretch_before == pytest.approx(stretch_of(obj, before, frames), rel=1e-3)
    assert found.stretch == pytest.approx(stretch_of(obj, uv_of(layers["Motion"]), frames), rel=1e-3)
    assert found.stretch < 0.6 * found.stretch_before
    assert found.rest_stretch_before == pytest.approx(0, abs=1e-4)
    assert found.rest_stretch > 1
    assert (found.flipped, found.left, found.islands) == (0, 0, 1)
    assert "stretch over 4 frames" in found.sentence()


def test_shape_keys_are_poses_too():
    obj, _ = sheet()
    obj.data.shape_keys.animation_data_clear()
    found = unwrapped(obj, frames="POSES", place="PACKED", name="Face")
    assert found.map == "Face"
    assert found.frames == 5  # and the Basis
    assert found.stretch < found.stretch_before
    uv = uv_of(obj.data.uv_layers["Face"])
    assert uv.min() >= 0
    assert uv.max() <= 1


@pytest.mark.parametrize("seams", [True, False])
def test_without_a_map_blender_s_own_comes_first(seams):
    obj = scenes.tube()
    if seams:
        for edge in obj.data.edges:
            a, b = sorted(edge.vertices)
            edge.use_seam = a % 6 == 0 and b - a == 6
    points = scenes.positions(obj.data)
    bent = points.copy()
    bent[:, 0] += 0.2 * points[:, 2] ** 2
    keys = scenes.add_shape_keys(obj, [bent])
    keys[1].value = 0
    scenes.select(obj)
    for face in obj.data.polygons:
        face.select = face.index == 3
    found = unwrapped(obj, frames="POSES")
    assert [layer.name for layer in obj.data.uv_layers] == ["Motion"]
    assert [face.index for face in obj.data.polygons if face.select] == [3]
    assert ("along its seams" if seams else "no seams") in found.notes[0]
    assert found.islands == 1 if seams else found.islands > 1
    assert found.flipped == 0
    assert found.stretch <= found.stretch_before
    assert len(bpy.data.objects) == len(bpy.data.meshes) == 1
    assert bpy.context.view_layer.objects.active == obj
    assert obj.select_get()


def test_in_edit_mode_it_comes_back_there():
    obj, _ = sheet()
    bpy.ops.object.mode_set(mode="EDIT")
    assert bpy.ops.ossify.unwrap.poll()
    assert bpy.ops.ossify.unwrap() == {"FINISHED"}
    assert obj.mode == "EDIT"
    bpy.ops.object.mode_set(mode="OBJECT")
    assert obj.data.uv_layers.active.name == "Motion"


@pytest.mark.parametrize("stage", ["Reading", "Solving"])
def test_a_cancelled_unwrap_leaves_everything_as_it_was(stage):
    obj, _ = sheet()
    before = scenes.picture()
    steps = unwrap.unwrap(bpy.context.scene, bpy.context.view_layer, obj, UnwrapOptions())
    while next(steps).stage != stage:
        pass
    steps.close()
    assert scenes.difference(before, scenes.picture()) == ""


def test_the_operator_is_undone_at_once():
    obj, _ = sheet()
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.ossify.unwrap(name="New") == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Sheet"]
    assert [layer.name for layer in obj.data.uv_layers] == ["UVMap"]
    assert stretched.ATTRIBUTE not in obj.data.attributes


def test_stretch_is_shown_and_hidden():
    obj, _ = sheet()
    assert not bpy.ops.ossify.show_stretch.poll()
    unwrapped(obj)
    values = stretched.stretch_of(obj.data)
    assert len(values) == 64
    assert values.max() > 1
    assert bpy.ops.ossify.show_stretch() == {"FINISHED"}
    colours = np.empty(4 * len(obj.data.loops), np.float32)
    obj.data.color_attributes[stretched.COLOURS].data.foreach_get("color", colours)
    colours = colours.reshape(64, 4, 4)  # faces, corners, channels
    assert colours[values.argmin(), 0, 2] > colours[values.argmin(), 0, 0]  # blue
    assert colours[values.argmax(), 0, 0] > colours[values.argmax(), 0, 2]  # red
    assert bpy.ops.ossify.show_stretch() == {"FINISHED"}
    assert stretched.COLOURS not in obj.data.color_attributes


def test_what_cannot_be_is_refused_in_words():
    obj, _ = sheet()
    obj.modifiers.new("Finer", "SUBSURF")
    obj.modifiers.new("Wave", "WAVE")
    with pytest.raises(Refusal, match="change its vertices or faces"):
        unwrapped(obj)
    obj.modifiers.clear()
    for index in range(7):
        obj.data.uv_layers.new(name=f"More {index}")
    with pytest.raises(Refusal, match="has 8 UV maps"):
        unwrapped(obj)
    still = scenes.grid("Still")
    with pytest.raises(Refusal, match="does not move"):
        unwrapped(still)
    points = bpy.data.meshes.new("Points")
    points.from_pydata([(0, 0, 0)], [], [])
    with pytest.raises(Refusal, match="has no faces"):
        unwrapped(scenes.link(bpy.data.objects.new("Points", points)))


def test_menus_offer_it():
    for menu in ("IMAGE_MT_uvs_unwrap", "VIEW3D_MT_uv_map", "VIEW3D_MT_object_animation"):
        drawn = [function.__module__ for function in getattr(bpy.types, menu).draw._draw_funcs]
        assert any(module.endswith("operators_unwrap") for module in drawn), menu


# ---- the command line


def test_the_command_writes_the_map(tmp_path, capsys):
    sheet()
    file, out, report = tmp_path / "sheet.blend", tmp_path / "out.blend", tmp_path / "report.json"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    arguments = ["unwrap", file, "--output", out, "--report", report, "--name", "Walk", "--quiet"]
    assert command.main([str(argument) for argument in arguments]) == 0
    assert "stretch over 4 frames" in capsys.readouterr().out
    told = json.loads(report.read_text())["inputs"][0]
    assert told["map"] == "Walk"
    assert told["stretch"] < told["stretch_before"]
    bpy.ops.wm.open_mainfile(filepath=str(out))
    assert [layer.name for layer in bpy.data.objects["Sheet"].data.uv_layers] == ["UVMap", "Walk"]


def test_the_command_refuses(tmp_path, capsys):
    assert command.main(["unwrap", "none.blend", "--output", "out.obj"]) == 2
    assert "the ending must be .blend" in capsys.readouterr().err
    assert (
        command.main(["unwrap", str(tmp_path / "none.blend"), "--output", str(tmp_path / "out.blend")]) == 1
    )
    assert "is not there" in capsys.readouterr().err
