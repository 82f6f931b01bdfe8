"""The command line for takes: several inputs as one rig, and more motion on a rig that is there."""

import json
from pathlib import Path

import bpy
import builds
import numpy as np
import pytest
import scenes
from ossify import command

FAST = ["--bones", "8", "--quality", "draft", "--quiet"]
FRAMES = 8


def run(*arguments):
    return command.main([str(argument) for argument in arguments])


def take(folder, name, phase, n=9, frames=FRAMES):
    """An .obj with a .pc2 beside it, of a sheet that waves."""
    obj = scenes.grid(name, n=n)
    points = scenes.positions(obj.data)
    moved = [scenes.wave(points, phase + 2 * np.pi * f / FRAMES) for f in range(frames)]
    scenes.write_pc2(folder / f"{name}.pc2", np.array(moved, np.float32))
    scenes.select(obj)
    bpy.ops.wm.obj_export(
        filepath=str(folder / f"{name}.obj"),
        export_selected_objects=True,
        forward_axis="Y",
        up_axis="Z",
        export_materials=False,
    )
    bpy.data.objects.remove(obj)
    return folder / f"{name}.obj"


@pytest.fixture
def rig(tmp_path):
    """A .blend with a rig, made of a cache that lies beside it."""
    walk = take(tmp_path, "walk", 0.0)
    assert run("convert", walk, "--output", tmp_path / "rig.blend", *FAST) == 0
    return tmp_path / "rig.blend"


def armature():
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")


def shown(name):
    """[f][v][3] with the action of that name"""
    obj = armature()
    clip = next(clip for clip in obj.ossify.clips if clip.name == name)
    obj.animation_data.action = clip.action
    if hasattr(obj.animation_data, "action_slot"):
        obj.animation_data.action_slot = clip.action.slots[0]
    return scenes.seen_frames(obj.children[0], range(1, FRAMES + 1))


def waves(phase):
    """[f][v][3] as seen: what is up in an .obj is Y"""
    grid = scenes.grid("Truth")
    points = scenes.positions(grid.data)
    bpy.data.objects.remove(grid)
    moved = np.array([scenes.wave(points, phase + 2 * np.pi * f / FRAMES) for f in range(FRAMES)])
    return moved[..., [0, 2, 1]] * (1, -1, 1)


def order(points):
    """The rows of the known sheet that belong to those of a file."""
    grid = scenes.grid("Truth")
    known = scenes.positions(grid.data)
    bpy.data.objects.remove(grid)
    return np.linalg.norm(points[:, None] - known[None], axis=2).argmin(axis=1)


def test_takes_become_one_rig(tmp_path):
    walk, go = take(tmp_path, "walk", 0.0), take(tmp_path, "go", 2.0, frames=6)
    out, report = tmp_path / "both.blend", tmp_path / "report.json"
    assert run("convert", walk, go, "--clips", "takes", "--output", out, "--report", report, *FAST) == 0
    (record,) = json.loads(report.read_text())["inputs"]
    assert record["takes"] == [str(walk), str(go)]
    assert [(clip["name"], len(clip["frame_error"])) for clip in record["clips"]] == [("walk", 8), ("go", 6)]
    bpy.ops.wm.open_mainfile(filepath=str(out))
    assert len([obj for obj in bpy.data.objects if obj.type == "ARMATURE"]) == 1
    rows = order(scenes.positions(armature().children[0].data).astype(float))
    for name, phase, frames in (("walk", 0.0, 8), ("go", 2.0, 6)):
        assert np.abs(shown(name)[:frames] - waves(phase)[:frames, rows]).max() < 0.1


def test_takes_to_gltf_are_several_animations(tmp_path):
    walk, go = take(tmp_path, "walk", 0.0), take(tmp_path, "go", 2.0)
    out = tmp_path / "both.gltf"
    assert run("convert", walk, go, "--clips", "takes", "--output", out, *FAST) == 0
    written = json.loads(out.read_text())
    assert [animation["name"] for animation in written["animations"]] == ["walk", "go"]
    assert len(written["skins"]) == 1


def test_track_adds_an_action(rig, tmp_path, capsys):
    again, run_away = take(tmp_path, "again", 0.4), take(tmp_path, "run", 0.9)
    out, report = tmp_path / "more.blend", tmp_path / "report.json"
    assert run("track", rig, again, run_away, "--output", out, "--report", report, "--quiet") == 0
    records = json.loads(report.read_text())["inputs"]
    assert [record["action"] for record in records] == ["again", "run"]
    assert all(record["rms_percent"] < 2 for record in records)
    assert "again.obj: walk Rig: again, 8 frames, error" in capsys.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=str(out))
    assert [clip.name for clip in armature().ossify.clips] == ["walk Rig", "again", "run"]
    assert {obj.name for obj in bpy.data.objects} == {"walk", "walk Rig", "walk Rigged"}
    rows = order(scenes.positions(armature().children[0].data).astype(float))
    for name, phase in (("again", 0.4), ("run", 0.9)):
        assert np.abs(shown(name) - waves(phase)[:, rows]).max() < 0.1


def test_track_writes_every_clip_to_gltf(rig, tmp_path):
    out = tmp_path / "more.gltf"
    assert run("track", rig, take(tmp_path, "again", 0.4, n=17), "--output", out, "--quiet") == 0
    written = json.loads(out.read_text())
    assert [animation["name"] for animation in written["animations"]] == ["walk Rig", "again"]


def test_track_reads_a_blend_and_takes_nothing_else_from_it(rig, tmp_path):
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.context.scene.frame_end = 5
    scenes.key_shapes(scenes.grid("Sheet"))
    bpy.context.scene.frame_end = 5
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "other.blend"))
    out = tmp_path / "more.blend"
    assert run("track", rig, tmp_path / "other.blend", "--output", out, "--quiet") == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    clip = armature().ossify.clips[1]
    assert (clip.name, clip.first_frame, clip.last_frame) == ("other", 1, 5)
    assert not any(obj.name.startswith("Sheet") for obj in bpy.data.objects)
    assert bpy.context.scene.frame_end == FRAMES


def test_track_refuses_in_words(rig, tmp_path, capsys):
    out = tmp_path / "more.blend"
    assert run("track", rig, tmp_path / "none.obj", "--output", out) == 1
    assert "none.obj is not there" in capsys.readouterr().err
    again = take(tmp_path, "again", 0.4)
    assert run("track", again, again, "--output", out) == 2
    assert run("track", rig, again, "--output", rig) == 2
    assert run("track", rig, again, "--output", out, "--match-limit", "0") == 2
    assert run("track", rig, again, "--output", out, "--armature", "Nobody") == 1
    assert "has no rig made by Ossify named Nobody" in capsys.readouterr().err
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "empty.blend"))
    assert run("track", tmp_path / "empty.blend", again, "--output", out) == 1
    assert "empty.blend has no rig made by Ossify" in capsys.readouterr().err
    assert not out.exists()


def test_takes_of_one_name_are_refused(tmp_path):
    walk = take(tmp_path, "walk", 0.0)
    assert run("convert", walk, walk, "--clips", "takes", "--output", tmp_path / "x.blend") == 2


def alembic(take):
    """The take as an .abc in its place."""
    bpy.ops.wm.obj_import(filepath=str(take), forward_axis="Y", up_axis="Z")
    obj = bpy.context.object
    scenes.add_cache(obj, take.with_suffix(".pc2"), "PC2")
    scenes.select(obj)
    path = str(take.with_suffix(".abc"))
    bpy.ops.wm.alembic_export(filepath=path, start=1, end=FRAMES, selected=True, as_background_job=False)


@pytest.mark.parametrize("suffix", [".obj", ".abc"])
def test_names_are_taken_from_where_one_stands(tmp_path, monkeypatch, suffix):
    for number, name in enumerate(("walk", "jump")):
        made = take(tmp_path, name, float(number))
        if suffix == ".abc":
            builds.needs("alembic")
            alembic(made)
    monkeypatch.chdir(tmp_path)
    assert run("convert", f"walk{suffix}", "--output", "rigs/rig.blend", *FAST) == 0
    assert run("track", "rigs/rig.blend", f"jump{suffix}", "--output", "rigs/both.blend", "--quiet") == 0
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rigs" / "both.blend"))
    assert [clip.name for clip in armature().ossify.clips][1:] == ["jump"]
    files = [m.filepath for obj in bpy.data.objects for m in obj.modifiers if m.type == "MESH_CACHE"]
    files += [file.filepath for file in bpy.data.cache_files]
    assert files
    assert all(Path(bpy.path.abspath(file)).is_file() for file in files), files
