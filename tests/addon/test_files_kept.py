"""Nothing that was there is lost: outputs of every kind survive a kill and a full disk, no input is written
over, and what is cut is not read."""

import contextlib
import importlib.util
import os
import shutil
import signal
import struct
import time

import bpy
import builds
import numpy as np
import pytest
import refits
import scenes
from commands import FAST, run, save_moving, started, write_obj
from ossify import command
from ossify.base.refusal import Refusal
from ossify.base.steps import run as run_steps
from ossify.files import bake, inputs, overlaps, wholeness
from ossify.options.options import BakeOptions

EVERY = [".blend", ".glb", ".gltf", ".fbx", ".usdc", ".usda", ".abc", ".pc2", ".mdd"]


def needs(suffix):
    if suffix == ".abc":
        builds.needs("alembic")
    elif suffix.startswith(".usd"):
        builds.needs("usd")


def everything(folder):
    """All files of a folder but those that a kill may leave."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if ".part" not in str(p)}


def has_begun(folder):
    """Whether anything is in a file that is not whole yet. Such files are renamed while one looks at them."""
    for place, _, names in os.walk(folder):
        for name in names if ".part" in place else []:
            with contextlib.suppress(FileNotFoundError):
                if os.path.getsize(os.path.join(place, name)):
                    return True
    return False


def arguments_for(scene, out):
    return ["bake" if out.suffix in {".abc", ".pc2", ".mdd"} else "convert", scene, "--output", out]


# ---- kills and full disks


def earlier(tmp_path, suffix):
    """A scene, and an output of an earlier run with all its files."""
    needs(suffix)
    scene = save_moving(tmp_path / "scene.blend")
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder / f"rig{suffix}"
    given = arguments_for(scene, out)
    assert run(*given, *(FAST if given[0] == "convert" else ["--quiet"])) == 0
    assert wholeness.is_whole(out)
    return given, folder


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such kill here")
@pytest.mark.parametrize("suffix", [".blend", ".gltf", ".fbx", ".usdc", ".abc"])
def test_killed_while_it_writes(tmp_path, suffix):
    given, folder = earlier(tmp_path, suffix)
    before = everything(folder)
    more = ["--bones", "3", "--quality", "draft"] if given[0] == "convert" else []
    child = started(*given, "--quiet", *more)
    deadline = time.monotonic() + 100
    try:
        while child.poll() is None and time.monotonic() < deadline:
            if has_begun(folder):
                break
            time.sleep(0.001)
    finally:
        child.kill()
        child.communicate()
    after = everything(folder)
    if after != before:  # it was whole already
        assert wholeness.is_whole(folder / f"rig{suffix}")
        assert all(file.is_file() for file in overlaps.parts_of_gltf(folder / "rig.gltf"))


@contextlib.contextmanager
def full_disk(most):
    """A limit on the size of files stands for it: the system answers as then, if with another word. What the
    tests say goes into a file, too, and may not be written meanwhile."""
    resource = pytest.importorskip("resource")
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("suffix", EVERY)
def test_a_full_disk_is_told(tmp_path, capsys, suffix):
    given, folder = earlier(tmp_path, suffix)
    before = everything(folder)
    capsys.readouterr()
    # before Alembic, a point cache is written elsewhere, and shall fit
    most = 100_000 if suffix == ".abc" else max(map(len, before.values())) // 2
    with full_disk(most):
        status = run(*given, "--quiet", *(FAST if given[0] == "convert" else []))
    assert status == command.FAILED
    said, out = capsys.readouterr().err.splitlines()[-1], folder / f"rig{suffix}"
    if suffix == ".blend" and "did not write" in said:  # to 4.5 Blender notices, and says something else
        assert said.startswith(f"scene.blend: Blender did not write {out} (")
        assert said.endswith("look whether there is room for it, or choose another place.")
    else:
        assert said.startswith(f"scene.blend: {out} cannot be written: File too large (choose a place that")
    assert everything(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == sorted(before)


def test_a_gltf_takes_its_other_files_with_it(tmp_path):
    """And leaves none of an earlier one behind, nor touches what is not its own."""
    scene, out = save_moving(tmp_path / "scene.blend"), tmp_path / "out" / "rig.gltf"
    out.parent.mkdir()
    (out.parent / "rig.bin").write_bytes(b"of somebody else")
    assert run("convert", scene, "--output", out, *FAST) == 0
    (first,) = overlaps.parts_of_gltf(out)
    assert first.is_file()
    assert run("convert", scene, "--output", out, *FAST) == 0
    assert overlaps.parts_of_gltf(out) == [first]
    assert run("convert", scene, "--output", out, "--bones", "2", "--quality", "draft", "--quiet") == 0
    (second,) = overlaps.parts_of_gltf(out)
    assert second != first
    assert sorted(path.name for path in out.parent.iterdir()) == sorted(["rig.bin", "rig.gltf", second.name])
    assert (out.parent / "rig.bin").read_bytes() == b"of somebody else"
    bpy.ops.wm.read_homefile(use_empty=True)
    assert bpy.ops.import_scene.gltf(filepath=str(out)) == {"FINISHED"}
    assert any(obj.type == "ARMATURE" for obj in bpy.data.objects)


# ---- what is read is not written over


def refused_untouched(folder, *arguments):
    """What is said, after nothing has changed."""
    before = everything(folder)
    code = run(*arguments)
    assert everything(folder) == before
    return code


def names_of(path, folder):
    """A file by all the names it can have."""
    symbolic, hard = folder / f"symbolic{path.suffix}", folder / f"hard{path.suffix}"
    symbolic.symlink_to(path)
    os.link(path, hard)
    roundabout = path.parent / "nowhere" / ".." / path.name
    (path.parent / "nowhere").mkdir()
    return [path, symbolic, hard, roundabout, os.path.relpath(path)]


def test_a_rig_is_not_refitted_onto_itself(tmp_path, capsys):
    scene = save_moving(tmp_path / "scene.blend")
    rig = tmp_path / "rig.blend"
    assert run("convert", scene, "--output", rig, *FAST) == 0
    for name in names_of(rig, tmp_path):
        assert refused_untouched(tmp_path, "refit", rig, "--output", name) == command.WRONG
        assert refused_untouched(tmp_path, "track", rig, scene, "--output", name) == command.WRONG
        assert refused_untouched(tmp_path, "convert", rig, "--output", name) == command.WRONG
        assert refused_untouched(tmp_path, "bake", rig, "--output", name) == command.WRONG
    assert capsys.readouterr().err.count(f"would overwrite {rig}, which is read") == 4 * 5


def test_a_report_is_neither_input_nor_cache_nor_output(tmp_path, capsys):
    mesh, cache = tmp_path / "sheet.obj", tmp_path / "sheet.pc2"
    points = scenes.positions(scenes.grid().data)
    write_obj(mesh, points)
    scenes.write_pc2(cache, scenes.waves(points))
    out = tmp_path / "rig.glb"
    for wrong in (mesh, cache, tmp_path / "nowhere" / ".." / "rig.glb"):
        given = ["convert", mesh, "--output", out, "--report", wrong, *FAST]
        (tmp_path / "nowhere").mkdir(exist_ok=True)
        assert refused_untouched(tmp_path, *given) == command.WRONG
    said = capsys.readouterr().err
    assert f"would overwrite {mesh}, which is read" in said
    assert f"would overwrite {cache}, which is read" in said
    assert "is also what --output names" in said


@pytest.mark.parametrize("kind", ["pc2", "mdd", "abc"])
def test_the_cache_of_an_opened_file_is_not_written_over(tmp_path, capsys, kind):
    cache, scene = tmp_path / f"sheet.{kind}", tmp_path / "scene.blend"
    obj = scenes.grid()
    if kind == "abc":
        builds.needs("alembic")
        scenes.key_shapes(obj)
        scenes.select(obj)
        bpy.ops.wm.alembic_export(filepath=str(cache), start=1, end=8, as_background_job=False)
        bpy.ops.wm.read_homefile(use_empty=True)
        bpy.ops.wm.alembic_import(filepath=str(cache), as_background_job=False)
    else:
        scenes.cached(obj, cache)
    bpy.ops.wm.save_as_mainfile(filepath=str(scene))
    (tmp_path / "away").mkdir()
    link = tmp_path / "away" / f"link.{kind}"
    os.link(cache, link)
    for name in (cache, link):
        given = ["convert", scene, "--output", tmp_path / "rig.glb", "--report", name, *FAST]
        assert refused_untouched(tmp_path, *given) == command.FAILED
        assert refused_untouched(tmp_path, "bake", scene, "--output", name) == command.FAILED
    assert capsys.readouterr().err.count(f"would overwrite {cache}, which is read") >= 4


def test_an_output_is_not_the_input_that_comes_next(tmp_path, capsys):
    first = save_moving(tmp_path / "walk.blend")
    assert run("convert", first, "--output", tmp_path / "glb" / "walk.glb", *FAST) == 0
    second = tmp_path / "glb" / "walk.glb"
    shutil.copy(first, tmp_path / "other.blend")
    given = ["convert", first, tmp_path / "other.blend", second, "--output", tmp_path / "glb" / "{name}.glb"]
    assert refused_untouched(tmp_path, *given) == command.WRONG
    assert capsys.readouterr().err


def test_numbered_files_are_not_written_over(tmp_path, capsys):
    folder = tmp_path / "walk"
    folder.mkdir()
    for frame, points in enumerate(scenes.waves(scenes.positions(scenes.grid().data))):
        write_obj(folder / f"walk.{frame:03}.obj", points)
    report = folder / "walk.003.obj"
    given = ["convert", folder, "--output", tmp_path / "rig.glb", "--report", report, *FAST]
    assert refused_untouched(tmp_path, *given) == command.WRONG
    assert f"would overwrite {report}, which is read" in capsys.readouterr().err


def test_on_the_screen_a_bake_spares_the_cache_it_reads(tmp_path):
    cache = tmp_path / "sheet.pc2"
    obj = scenes.cached(scenes.grid(), cache)
    before = cache.read_bytes()
    context = bpy.context

    def baked(path):
        options = BakeOptions(to="PC2", filepath=str(path))
        return run_steps(bake.bake(context.scene, context.view_layer, [obj], options))

    with pytest.raises(Refusal, match=r"would overwrite .*which is read"):
        baked(cache)
    assert cache.read_bytes() == before
    other = tmp_path / "other.pc2"
    baked(other)
    baked(other)  # of a copy in the scene, which is no input


def test_on_the_screen_an_export_spares_the_cache_it_reads(tmp_path):
    builds.needs("usd")
    rig, path = refits.sheet_rig().armature, tmp_path / "sheet.usdc"
    scenes.select(rig)
    assert bpy.ops.ossify.export(kind=".usdc", filepath=str(path)) == {"FINISHED"}
    assert bpy.ops.ossify.export(kind=".usdc", filepath=str(path)) == {"FINISHED"}  # nobody reads it
    before = path.read_bytes()
    assert bpy.ops.cachefile.open(filepath=str(path)) == {"FINISHED"}
    with pytest.raises(RuntimeError, match=r"would overwrite .*which is read"):
        bpy.ops.ossify.export(kind=".usdc", filepath=str(path))
    assert path.read_bytes() == before
    assert bpy.ops.ossify.export(kind=".usdc", filepath=str(tmp_path / "other.usdc")) == {"FINISHED"}


# ---- what is cut is not read


@pytest.mark.parametrize("cut", [1, 500, 700])
@pytest.mark.parametrize("kind", ["pc2", "mdd"])
def test_a_cut_cache(tmp_path, capsys, kind, cut):
    """Beside a mesh file, and in a .blend."""
    points = scenes.positions(scenes.grid().data)
    write_obj(tmp_path / "sheet.obj", points)
    cache, scene = tmp_path / f"sheet.{kind}", tmp_path / "scene.blend"
    scenes.cached(scenes.grid(), cache)
    bpy.ops.wm.save_as_mainfile(filepath=str(scene))
    cache.write_bytes(cache.read_bytes()[:-cut])
    for path in (tmp_path / "sheet.obj", scene):
        assert run("convert", path, "--output", tmp_path / "rig.glb", *FAST) == command.FAILED
        assert f"{cache} is damaged: 8 frames of 81 vertices take" in capsys.readouterr().err
    assert run("info", tmp_path / "sheet.obj") == command.FAILED
    assert not (tmp_path / "rig.glb").exists()


def test_a_header_that_claims_all_frames_there_are(tmp_path, capsys):
    points = scenes.positions(scenes.grid().data)
    write_obj(tmp_path / "sheet.obj", points)
    cache = tmp_path / "sheet.pc2"
    scenes.write_pc2(cache, scenes.waves(points)[:3])
    data = bytearray(cache.read_bytes())
    data[28:32] = struct.pack("<i", 2**31 - 1)
    cache.write_bytes(data)
    began = time.monotonic()
    assert run("convert", tmp_path / "sheet.obj", "--output", tmp_path / "rig.glb", *FAST) == command.FAILED
    assert time.monotonic() - began < 5
    assert "2,147,483,647 frames" in capsys.readouterr().err


def test_a_ply_that_would_end_blender(tmp_path):
    head = "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n"
    head += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    body = np.zeros((3, 3), "<f4").tobytes() + struct.pack("<Biii", 3, 0, 1, 99_999_999)
    path = tmp_path / "sheet.ply"
    for data in (head.format("binary_little_endian", 3).encode() + body, head.format("ascii", 9**9).encode()):
        path.write_bytes(data)
        scenes.write_pc2(tmp_path / "sheet.pc2", np.zeros((3, 3, 3)))
        with pytest.raises(Refusal, match=r"sheet\.ply is damaged"):
            inputs.Opened(path, [], None).__enter__()


def test_a_file_is_brought_in_though_the_open_one_is_gone_and_never_into_itself(tmp_path):
    other, mine = save_moving(tmp_path / "other.blend"), tmp_path / "mine.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(mine))
    link = tmp_path / "link.blend"
    link.hardlink_to(mine)
    for path in (mine, link):
        with pytest.raises(Refusal, match="is the file that is open"):
            inputs.Opened(path, [], None, beside=True).__enter__()
    mine.unlink()
    with inputs.Opened(other, [], None, beside=True) as opened:
        assert opened.objects()


@pytest.mark.parametrize("suffix", [".abc", ".glb"])
def test_a_scene_that_is_cut_and_would_end_blender(tmp_path, capsys, suffix):
    """Over some of these archives Blender's importer ends the process."""
    needs(suffix)
    scene, out = save_moving(tmp_path / "scene.blend"), tmp_path / f"moves{suffix}"
    fast = FAST if suffix == ".glb" else ["--quiet"]
    assert run(*arguments_for(scene, out), *fast) == 0
    whole = out.read_bytes()
    assert run("info", out) == 0
    for length in (20, len(whole) // 2, len(whole) - 9):
        out.write_bytes(whole[:length])
        assert run("info", out) == command.FAILED
        assert f"moves{suffix} is damaged: " in capsys.readouterr().err


def test_a_frame_of_a_sequence_that_is_cut(tmp_path, capsys):
    folder = tmp_path / "walk"
    folder.mkdir()
    for frame, points in enumerate(scenes.waves(scenes.positions(scenes.grid().data))):
        write_obj(folder / f"walk.{frame:03}.obj", points)
    path = folder / "walk.005.obj"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:110] + lines[111:]))  # a face within others: no vertex is lost by it
    assert run("convert", folder, "--output", tmp_path / "rig.glb", *FAST) == command.FAILED
    assert "walk.005.obj is the first that differs (63 faces instead of 64)" in capsys.readouterr().err
    path.write_text("".join(lines[:81])[:-8])
    assert run("convert", folder, "--output", tmp_path / "rig.glb", *FAST) == command.FAILED
    assert "walk.005.obj is the first that differs (0 faces instead of 64)" in capsys.readouterr().err


# ---- words


def test_an_exporter_that_fails_says_why_and_not_where(tmp_path, capsys, monkeypatch):
    scene, out = save_moving(tmp_path / "scene.blend"), tmp_path / "rig.glb"
    modules = ("io_scene_gltf2.io.exp.gltf2_io_export", "io_scene_gltf2.io.exp.export")
    exporter = next(importlib.import_module(name) for name in modules if importlib.util.find_spec(name))

    def broken(*_arguments, **_more):
        raise ValueError("a number is too large")

    monkeypatch.setattr(exporter, "save_gltf", broken)
    assert run("convert", scene, "--output", out, *FAST) == command.FAILED
    said = capsys.readouterr().err
    assert f"scene.blend: Blender did not write {out} (ValueError: a number is too large)" in said
    assert "Location:" not in said.splitlines()[-1]
