"""The report is measured on what Blender evaluates, and agrees with the solver and with the eye."""

import json

import bpy
import chain
import numpy as np
import pytest
import scenes
from ossify import native
from ossify.rig import build, heat, report


@pytest.fixture
def source():
    return scenes.key_shapes(scenes.grid())


def test_numbers_are_those_of_the_evaluated_meshes(source):
    times = list(range(1, 9))
    expected = scenes.seen_frames(source, times)
    result = chain.converted(source, bones=3)
    report = result.report
    distance = np.linalg.norm(scenes.seen_frames(result.meshes[0], times) - expected, axis=2)
    assert report.rms == pytest.approx(np.sqrt((distance**2).mean()), rel=1e-4)
    assert report.mean == pytest.approx(distance.mean(), rel=1e-4)
    assert report.percentile_95 == pytest.approx(np.percentile(distance, 95), rel=1e-4)
    assert report.maximum == pytest.approx(distance.max(), rel=1e-4)
    frame, vertex = np.unravel_index(distance.argmax(), distance.shape)
    assert (report.worst_frame, report.worst_vertex) == (frame + 1, vertex)
    assert report.worst_object == "Sheet"
    assert report.frame_error == pytest.approx(np.sqrt((distance**2).mean(axis=1)), rel=1e-3)
    assert report.vertex_error == pytest.approx(np.sqrt((distance**2).mean(axis=0)), rel=1e-3)
    assert report.size == pytest.approx(np.sqrt(8), rel=1e-6)


@pytest.mark.parametrize("kind", ["RIGID", "FLEXIBLE"])
@pytest.mark.parametrize("rest", ["UNDEFORMED", "FRAME", "SYNTHESISED"])
def test_it_agrees_with_the_solver(source, kind, rest):
    source.scale = (2, -1, 0.5)
    report = chain.converted(source, bone_kind=kind, rest=rest, rest_frame=2).report
    assert report.erms == pytest.approx(report.solver.erms, rel=1e-3, abs=1e-3)
    assert report.percent(report.rms) == pytest.approx(report.solver.rms_percent, rel=1e-3, abs=1e-4)
    assert report.percent(report.maximum) == pytest.approx(report.solver.maximum_percent, rel=1e-3, abs=2e-4)
    assert report.percent(report.keys_moved) < 1e-3


def test_live_modifiers_do_not_disturb_the_measure(source):
    plain = chain.converted(source, hide_source=False).report
    source.modifiers.new("Subdivision", "SUBSURF")
    source.modifiers.new("Hidden", "SOLIDIFY").show_viewport = False
    result = chain.converted(source)
    assert result.report.erms == pytest.approx(plain.erms, rel=1e-6)
    shown = [modifier.show_viewport for modifier in result.meshes[0].modifiers]
    assert shown == [True, True, False]


def test_two_meshes_name_the_worst_one(source):
    other = scenes.tube()
    other.location = (5, 0, 0)
    report = chain.converted(other, source, bones=2).report
    assert report.worst_object == "Sheet"
    assert report.worst_vertex < 81


def test_json_and_words_say_the_same(source):
    report = chain.converted(source).report
    values = json.loads(json.dumps(report.to_json()))
    assert values["erms"] == report.erms
    assert values["maximum_percent"] == pytest.approx(100 * values["maximum"] / values["size"])
    assert len(values["frame_error"]) == values["frames"] == 8
    assert values["rig_bytes"] < values["cache_bytes"] * 10
    assert set(values["seconds"]) == {"capture", "solve", "build", "measure"}
    assert any("E_RMS" in line for line in report.lines())


def test_everything_is_remembered_on_the_armature(source):
    result = chain.converted(source, bones=4, rest="FRAME", rest_frame=3)
    rig = result.armature.ossify
    assert rig.version
    assert rig.blender == bpy.app.version_string
    assert rig.settings.bones == 4
    assert (rig.settings.rest, rig.settings.rest_frame) == ("FRAME", 3)
    assert [item.object for item in rig.sources] == [source]
    assert rig.rms == pytest.approx(result.report.percent(result.report.rms), rel=1e-5)
    assert len(rig.frames) == 8
    assert rig.worst_frame_error == pytest.approx(max(item.error for item in rig.frames))


def test_it_is_still_there_after_saving(source, tmp_path):
    result = chain.converted(source)
    erms = result.report.erms
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    rig = bpy.data.objects["Sheet Rig"].ossify
    assert rig.erms == pytest.approx(erms)
    assert rig.sources[0].object == bpy.data.objects["Sheet"]


# ---- the heat map


def test_the_error_of_vertices_is_stored_on_the_mesh(source):
    result = chain.converted(source, bones=2)
    stored = heat.error_of(result.meshes[0].data)
    assert stored == pytest.approx(100 * result.report.vertex_error / result.report.size, rel=1e-5)


def faces_of(mesh):
    mesh.calc_loop_triangles()
    return np.array([face.vertices[:] for face in mesh.loop_triangles])


def normals_and_areas(points, faces):
    """[f][t][3] of length 1, [f][t]"""
    corners = points[:, faces]
    across = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    lengths = np.linalg.norm(across, axis=2)
    return across / lengths[..., None], lengths / 2


def test_normals_are_measured_and_shown(source):
    faces, times = faces_of(source.data), range(1, 9)
    goal, areas = normals_and_areas(scenes.seen_frames(source, times), faces)
    result = chain.converted(source, bones=2)
    mesh = result.meshes[0]
    found, _ = normals_and_areas(scenes.seen_frames(mesh, times), faces)
    angles = np.degrees(np.arccos(np.clip((goal * found).sum(axis=2), -1, 1)))
    expected = np.sqrt((areas * angles**2).sum() / areas.sum())
    assert expected > 1
    assert result.report.normal_degrees == pytest.approx(expected, rel=1e-3)
    assert f"Surface: normals {expected:.1f} degrees off" in result.report.lines()
    degrees = heat.error_of(mesh.data, heat.NORMALS)
    worst = int((areas * angles**2).sum(axis=0).argmax())
    assert degrees[faces[worst]].max() > np.median(degrees)
    record = result.armature.ossify
    assert record.normal_degrees == pytest.approx(expected, rel=1e-3)
    record.show_error, record.show_error_of = True, "NORMALS"
    colours = np.empty(4 * len(degrees), np.float32)
    mesh.data.color_attributes[heat.COLOURS].data.foreach_get("color", colours)
    colours = colours.reshape(-1, 4)
    assert colours[degrees.argmax(), 0] > colours[degrees.argmax(), 2]  # red
    assert colours[degrees.argmin(), 2] > colours[degrees.argmin(), 0]  # blue
    record.show_error = False
    assert heat.COLOURS not in mesh.data.color_attributes


def test_a_rig_is_weighed_in_the_norm_that_sees_cracks(source):
    """Steps of the error between neighbours count as fairness says; without it the cost is the error."""
    motion, picked = chain.captured(source), chain.quick(bones=2)
    rig, info = native.decompose(motion.rest, motion.frames, motion.triangles, picked.solver())
    made = chain.drain(build.build(motion, rig, picked))
    gaps = native.evaluate(motion.rest, motion.frames, rig).frames - motion.frames
    faces = motion.triangles.tolist()
    pairs = {tuple(sorted(pair)) for a, b, c in faces for pair in ((a, b), (b, c), (c, a))}
    first, second = np.array(sorted(pairs)).T
    neighbours = 2 * len(pairs) / gaps.shape[1]
    steps = ((gaps[:, first] - gaps[:, second]) ** 2).sum()
    squares, count = (gaps**2).sum(), gaps.shape[0] * gaps.shape[1]
    for fairness in (0.0, 10.0):
        measuring = report.Measuring(motion, rig, fairness)
        chain.drain(measuring.play(made))
        strength = fairness * gaps.shape[1] / (200 * 2)  # two bones of so few vertices
        expected = np.sqrt((squares + strength / neighbours * steps) / count)
        assert measuring.report(made, info, None).cost == pytest.approx(expected, rel=1e-3)


def test_show_error_colours_the_meshes_and_leaves_nothing_behind(source):
    result = chain.converted(source, bones=2)
    mesh = result.meshes[0].data
    result.armature.ossify.show_error = True
    colours = np.empty(4 * 81, np.float32)
    mesh.color_attributes[heat.COLOURS].data.foreach_get("color", colours)
    colours = colours.reshape(-1, 4)
    worst, best = heat.error_of(mesh).argmax(), heat.error_of(mesh).argmin()
    assert colours[worst, 0] > colours[worst, 2]  # red
    assert colours[best, 2] > colours[best, 0]  # blue
    assert mesh.color_attributes.active_color.name == heat.COLOURS
    result.armature.ossify.show_error = False
    assert heat.COLOURS not in mesh.color_attributes


def test_the_worst_vertices_are_selected(source):
    result = chain.converted(source, bones=2)
    scenes.select(result.armature)
    assert bpy.ops.ossify.select_worst(percent=10) == {"FINISHED"}
    assert bpy.context.mode == "EDIT_MESH"
    bpy.ops.object.mode_set(mode="OBJECT")
    mesh = result.meshes[0].data
    chosen = [vertex.index for vertex in mesh.vertices if vertex.select]
    assert len(chosen) == 8
    error = heat.error_of(mesh)
    assert error[chosen].min() >= np.delete(error, chosen).max()


def test_the_frame_list_jumps(source):
    result = chain.converted(source)
    result.armature.ossify.frame_index = 4
    assert bpy.context.scene.frame_current == 5
