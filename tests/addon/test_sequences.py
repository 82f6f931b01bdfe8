"""Folders with a file a frame, of every kind: read as one moving mesh, or refused in a sentence."""

import struct

import bpy
import builds
import numpy as np
import pytest
import scenes
from ossify.base.refusal import Refusal
from ossify.files import inputs, sequence

FRAMES = 11


def frames_of(obj):
    return scenes.waves(scenes.positions(obj.data), FRAMES)


def triangles(obj):
    obj.data.calc_loop_triangles()
    return np.array([triangle.vertices for triangle in obj.data.loop_triangles], np.int32)


def write_stl(path, points, faces):
    corners = np.asarray(points, "<f4")[faces]
    body = b"".join(bytes(12) + triangle.tobytes() + bytes(2) for triangle in corners)
    path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + body)


def write_text_stl(path, points, faces):
    lines = ["solid sheet"]
    for corners in np.asarray(points, np.float32)[faces]:
        lines += ["facet normal 0 0 1", "outer loop"]
        lines += ["vertex " + " ".join(f"{value:.9g}" for value in corner) for corner in corners]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid sheet", ""]))


def export(path, obj, points):
    """One frame with Blender's own exporter; the sheet is cut in two by its texture."""
    obj.data.vertices.foreach_set("co", np.asarray(points, np.float32).ravel())
    obj.data.update()
    scenes.select(obj)
    if path.suffix in (".glb", ".gltf"):
        form = "GLB" if path.suffix == ".glb" else "GLTF_SEPARATE"
        bpy.ops.export_scene.gltf(filepath=str(path), use_selection=True, export_format=form)
    else:
        bpy.ops.wm.usd_export(filepath=str(path), selected_objects_only=True, export_animation=False)


def cut_texture(obj):
    """UVs that make an exporter part vertices: half of the sheet lies elsewhere on its picture."""
    for polygon in obj.data.polygons:
        for corner in polygon.loop_indices:
            if polygon.center.x > 0:
                obj.data.uv_layers[0].data[corner].uv.x += 2.0


def write_folder(folder, kind, zeros):
    """The frames of a sheet, and the same as arrays."""
    folder.mkdir()
    obj = scenes.grid()
    obj.data.shade_smooth()  # else a vertex is parted in some frames alone
    cut_texture(obj)
    frames, faces = frames_of(obj), triangles(obj)
    for number, points in enumerate(frames):
        path = folder / f"take2_{number:0{zeros}}_mesh7.{kind}"
        if kind == "npz":
            more = {"faces": faces} if number == 0 else {}  # the others are the same
            np.savez(path, vertices=points.astype(np.float32), **more)
        elif kind == "stl":
            (write_stl if zeros == 3 else write_text_stl)(path, points, faces)
        else:
            export(path, obj, points)
    bpy.ops.wm.read_homefile(use_empty=True)
    return frames


@pytest.mark.parametrize("zeros", [1, 3])
@pytest.mark.parametrize("kind", ["npz", "stl", "glb", "gltf", "usdc"])
def test_a_file_a_frame(tmp_path, kind, zeros):
    if kind == "usdc":
        builds.needs("usd")
    frames = write_folder(tmp_path / "walk", kind, zeros)
    with inputs.Opened(tmp_path / "walk", [], None) as opened:
        (obj,) = opened.objects()
        assert obj.name == "walk"
        shown = scenes.seen_frames(obj, range(1, FRAMES + 1))
        assert shown.shape == frames.shape  # what was parted is one vertex again
        match = np.linalg.norm(shown[0][:, None] - frames[0][None], axis=2).argmin(axis=1)
        assert sorted(match) == list(range(frames.shape[1]))
        assert np.abs(shown - frames[:, match]).max() < 1e-5
        assert [other.name for other in bpy.data.objects if other.type == "MESH"] == ["walk"]
        assert len(bpy.data.meshes) == 1
    assert not opened.folder.exists()


def test_vertices_that_meet_for_a_while_stay_two():
    twins = sequence._Twins(4)
    apart, met = np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]), np.zeros((4, 3))
    twins.see(met)
    assert twins.leader.tolist() == [0, 0, 0, 0]
    twins.see(apart)
    twins.see(met)
    assert twins.leader.tolist() == [0, 0, 2, 0]
    twins.see(np.array([[0.0, 0, 0], [5, 0, 0], [5, 0, 0], [5, 0, 0]]))
    assert twins.leader.tolist() == [0, 1, 2, 1]


def refused(folder):
    with pytest.raises(Refusal) as error, inputs.Opened(folder, [], None):
        pass
    return str(error.value)


def test_frames_that_are_another_mesh_are_counted(tmp_path):
    obj = scenes.grid()
    frames, faces = frames_of(obj), triangles(obj)
    for number, points in enumerate(frames):
        np.savez(tmp_path / f"{number}.npz", vertices=points, faces=faces)
    other = np.random.default_rng(1).permutation(len(frames[0]))
    for number in (7, 9, 10):
        back = np.argsort(other)
        np.savez(tmp_path / f"{number}.npz", vertices=frames[number][other], faces=back[faces])
    said = refused(tmp_path)
    assert "3 of 11 files are not the mesh of 0.npz: 7.npz is the first that differs" in said
    assert "another order" in said
    np.savez(tmp_path / "4.npz", vertices=frames[4][:-1], faces=faces[:1])
    said = refused(tmp_path)
    assert "4 of 11" in said
    assert "4.npz is the first that differs (80 vertices instead of 81)" in said


@pytest.mark.parametrize("has_faces", [True, False])
def test_vertices_in_another_order_under_the_same_faces_are_told(tmp_path, has_faces):
    obj = scenes.grid()
    frames, faces = frames_of(obj), triangles(obj)
    shuffled = np.random.default_rng(5).permutation(frames.shape[1])
    for number, points in enumerate(frames):
        points = points[shuffled] if number in (4, 7) else points
        more = {"faces": faces} if has_faces or number == 0 else {}
        np.savez(tmp_path / f"{number}.npz", vertices=points.astype(np.float32), **more)
    said = refused(tmp_path)
    assert "2 of 11 files are not the mesh of 0.npz: 4.npz is the first that differs" in said
    assert "in another order" in said


def test_a_mesh_that_is_torn_or_grows_is_no_other_order(tmp_path):
    obj = scenes.grid()
    frames, faces = frames_of(obj), triangles(obj)
    frames[:6] *= 1e-3  # grows
    frames[8][frames[8][:, 0] > 0] += [0, 0, 9]  # torn in two
    frames[9] *= [5.0, 0.2, 1.0]
    for number, points in enumerate(frames):
        np.savez(tmp_path / f"{number}.npz", vertices=points.astype(np.float32), faces=faces)
    with inputs.Opened(tmp_path, [], None) as opened:
        assert len(opened.objects()) == 1


@pytest.mark.parametrize("first", [0.0, 0.1])
def test_a_bar_that_grows_is_no_other_order(tmp_path, first):
    """It has few edges, and those along it were short, or nothing."""
    corners = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], np.float32)
    faces = np.array([[a, (a + 1) % 4, (a + 1) % 4 + 4] for a in range(4)])
    for number, height in enumerate((first, 1, 5, 20)):
        np.savez(tmp_path / f"{number}.npz", vertices=corners * np.float32([1, 1, height]), faces=faces)
    with inputs.Opened(tmp_path, [], None) as opened:
        assert len(opened.objects()) == 1


@pytest.mark.parametrize("cut", [1, 60, -30])
def test_a_frame_that_is_cut(tmp_path, cut):
    write_folder(tmp_path / "walk", "stl", 3)
    path = tmp_path / "walk" / "take2_005_mesh7.stl"
    data = path.read_bytes()
    path.write_bytes(data[:-cut] if cut > 0 else data + bytes(-cut))
    said = refused(tmp_path / "walk")
    assert f"{path} is damaged" in said


def test_what_a_frame_may_lack(tmp_path):
    for name, arrays, words in [
        ("points", {"other": np.zeros((4, 3))}, "holds no positions"),
        ("faces", {"vertices": np.zeros((4, 3))}, "holds no faces"),
        ("shape", {"vertices": np.zeros((4, 2)), "faces": np.zeros((1, 3), int)}, "the shape [4, 2]"),
        ("index", {"vertices": np.zeros((4, 3)), "faces": np.full((1, 3), 4)}, "names vertex 4 of 4"),
        ("motion", {"frames": np.zeros((2, 4, 3)), "faces": np.zeros((1, 3), int)}, "holds a motion"),
    ]:
        (tmp_path / name).mkdir()
        for number in range(2):
            np.savez(tmp_path / name / f"{number}.npz", **arrays)
        assert words in refused(tmp_path / name)
    (tmp_path / "none").mkdir()
    assert "holds no numbered files" in refused(tmp_path / "none")


def test_one_file_with_all_frames(tmp_path):
    obj = scenes.grid()
    frames, faces, rest = frames_of(obj), triangles(obj), scenes.positions(obj.data)
    np.savez(tmp_path / "walk.npz", rest=rest, frames=frames, triangles=faces)
    with inputs.Opened(tmp_path / "walk.npz", [], None) as opened:
        (obj,) = opened.objects()
        assert np.abs(scenes.positions(obj.data) - rest).max() < 1e-6
        assert np.abs(scenes.seen_frames(obj, range(1, FRAMES + 1)) - frames).max() < 1e-5
