"""The command line: every kind of file in and out, several at once, and exit codes that mean something."""

import json

import bpy
import builds
import numpy as np
import pytest
import scenes
from commands import FAST, outside, run, save_moving, write_obj
from ossify import command, command_line
from ossify.base.refusal import Refusal
from ossify.files import inputs
from ossify.options import options


def export(path):
    """The moving sheet in another format, with Blender's own exporter."""
    obj = scenes.grid()
    if path.suffix in {".glb", ".gltf", ".fbx"}:
        scenes.key_shapes(obj)
    else:
        scenes.cached(obj, path.with_suffix(".pc2"))
    scenes.select(obj)
    if path.suffix == ".abc":
        bpy.ops.wm.alembic_export(filepath=str(path), start=1, end=8, selected=True, as_background_job=False)
    elif path.suffix in {".usd", ".usdc"}:
        bpy.ops.wm.usd_export(filepath=str(path), selected_objects_only=True, export_animation=True)
    elif path.suffix in {".glb", ".gltf"}:
        form = "GLB" if path.suffix == ".glb" else "GLTF_SEPARATE"
        bpy.ops.export_scene.gltf(filepath=str(path), use_selection=True, export_format=form)
    else:
        bpy.ops.export_scene.fbx(
            filepath=str(path),
            use_selection=True,
            bake_anim_simplify_factor=0,
            bake_anim_use_nla_strips=False,
            bake_anim_use_all_actions=False,  # with it, keys of shape keys are left out
        )
    return path


@pytest.mark.parametrize("suffix", [".abc", ".usd", ".usdc", ".glb", ".gltf", ".fbx"])
def test_every_kind_of_file_is_converted(tmp_path, suffix):
    if suffix in {".abc", ".usd", ".usdc"}:
        builds.needs("alembic" if suffix == ".abc" else "usd")
    path = export(tmp_path / f"wave{suffix}")
    report = tmp_path / "report.json"
    assert run("convert", path, "--output", tmp_path / "rig.blend", "--report", report, *FAST) == 0
    (record,) = json.loads(report.read_text())["inputs"]
    assert record["ok"]
    assert record["vertices"] >= 81  # glTF splits vertices
    assert record["frames"] >= 8
    assert 0 < record["rms_percent"] < 5


def test_one_of_several_objects_is_chosen_by_name(tmp_path, capsys):
    scenes.key_shapes(scenes.grid("Other"))
    path = save_moving(tmp_path / "scene.blend")
    assert run("convert", path, "--output", tmp_path / "rig.blend", *FAST) == 1
    assert "choose with --object" in capsys.readouterr().err
    assert run("convert", path, "--output", tmp_path / "rig.blend", "--object", "Nobody", *FAST) == 1
    assert "no object named Nobody" in capsys.readouterr().err
    assert run("convert", path, "--output", tmp_path / "rig.blend", "--object", "Sheet", *FAST) == 0
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    assert "Sheet Rig" in bpy.data.objects
    assert bpy.data.objects["Other"].visible_get()


@pytest.mark.parametrize("kind", [".pc2", ".mdd"])
@pytest.mark.parametrize("mesh", [".obj", ".ply"])
def test_a_cache_beside_a_mesh_is_found(tmp_path, kind, mesh):
    obj = scenes.grid()
    points = scenes.positions(obj.data)
    if mesh == ".obj":
        write_obj(tmp_path / "sheet.obj", points)
    else:
        scenes.select(obj)
        bpy.ops.wm.ply_export(filepath=str(tmp_path / "sheet.ply"), export_uv=False)
    frames = scenes.waves(points)
    write = scenes.write_pc2 if kind == ".pc2" else scenes.write_mdd
    write(tmp_path / f"sheet{kind}", frames)  # found beside the mesh
    write(tmp_path / f"other{kind}", frames[:5])
    report = tmp_path / "r.json"
    arguments = ["--output", tmp_path / "rig.glb", "--report", report, *FAST]
    assert run("convert", tmp_path / f"sheet{mesh}", *arguments) == 0
    assert json.loads(report.read_text())["inputs"][0]["frames"] == 8
    cache = ["--cache", tmp_path / f"other{kind}"]
    assert run("convert", tmp_path / f"sheet{mesh}", *cache, *arguments) == 0
    assert json.loads(report.read_text())["inputs"][0]["frames"] == 5


def test_a_folder_of_numbered_meshes_is_a_motion(tmp_path):
    folder = tmp_path / "take"
    folder.mkdir()
    frames = scenes.waves(scenes.positions(scenes.grid().data), 12)
    for f, points in enumerate(frames):
        write_obj(folder / f"take_{f + 1}.obj", points)  # without leading zeros: 10 comes after 9
    report = tmp_path / "r.json"
    assert run("convert", folder, "--output", tmp_path / "rig.blend", "--report", report, *FAST) == 0
    record = json.loads(report.read_text())["inputs"][0]
    assert record["frames"] == 12
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    assert [obj.name for obj in bpy.data.objects] == ["take Rig", "take Rigged"]  # no source on a lost file
    shown = scenes.seen_frames(bpy.data.objects["take Rigged"], range(1, 13))
    turned = np.stack([frames[..., 0], -frames[..., 2], frames[..., 1]], -1)  # .obj has Y up
    assert np.sqrt(((shown - turned) ** 2).sum(axis=2).mean()) < 0.05 * scenes.size_of(frames)


@pytest.mark.parametrize("suffix", [".blend", ".glb", ".fbx", ".usdc"])
def test_every_kind_of_file_is_written(tmp_path, suffix):
    if suffix == ".usdc":
        builds.needs("usd")
    path = save_moving(tmp_path / "scene.blend")
    out = tmp_path / "deep" / f"rig{suffix}"
    assert run("convert", path, "--output", out, *FAST) == 0
    assert out.stat().st_size > 1000


def test_one_failing_input_does_not_stop_the_rest(tmp_path, capsys):
    first = save_moving(tmp_path / "first.blend")
    bpy.ops.wm.read_homefile(use_empty=True)
    still = scenes.grid("Still")
    assert still
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "still.blend"))
    (tmp_path / "broken.abc").write_bytes(b"not a cache")
    inputs = [tmp_path / "still.blend", tmp_path / "gone.abc", tmp_path / "broken.abc", first]
    report = tmp_path / "r.json"
    code = run("convert", *inputs, "--output", tmp_path / "{name}.rig.glb", "--report", report, *FAST)
    assert code == command.FAILED
    records = json.loads(report.read_text())["inputs"]
    assert [record["ok"] for record in records] == [False, False, False, True]
    assert all(record["error"] for record in records[:3])
    assert (tmp_path / "first.rig.glb").is_file()
    assert "no mesh that moves" in capsys.readouterr().err


def test_wrong_arguments_are_told(tmp_path, capsys):
    some = tmp_path / "a.blend"
    assert run() == command.WRONG
    assert run("convert", some) == command.WRONG
    assert run("convert", some, "--output", "rig.txt") == command.WRONG
    assert run("convert", some, tmp_path / "b.blend", "--output", "rig.glb") == command.WRONG
    assert "{name}" in capsys.readouterr().err
    assert run("convert", some, "--output", "rig.glb", "--bones", "0") == command.WRONG
    assert "--bones is 0" in capsys.readouterr().err
    assert run("--help") == 0
    assert run("convert", some, "--output", tmp_path / "{name}.blend") == command.WRONG
    assert f"would overwrite {some}, which is read" in capsys.readouterr().err


def test_what_nobody_foresaw_fails_one_input(tmp_path, capsys, monkeypatch):
    good = save_moving(tmp_path / "good.blend")
    bad = save_moving(tmp_path / "bad.blend", scenes.grid("Bad"))
    opened = inputs.Opened._open

    def break_on_bad(self):
        if self.path == bad:
            raise ZeroDivisionError("of somebody else")
        opened(self)

    monkeypatch.setattr(inputs.Opened, "_open", break_on_bad)
    code = run("convert", bad, good, "--output", tmp_path / "{name}.glb", *FAST)
    assert code == command.FAILED
    assert "It failed (ZeroDivisionError: of somebody else)." in capsys.readouterr().err
    assert (tmp_path / "good.glb").is_file()


def test_a_report_that_cannot_be_written_is_told(tmp_path, capsys):
    path = save_moving(tmp_path / "scene.blend")
    (tmp_path / "taken").write_text("")
    arguments = ["--output", tmp_path / "rig.glb", "--report", tmp_path / "taken" / "r.json", *FAST]
    assert run("convert", path, *arguments) == command.FAILED
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence.startswith(f"There is no folder {tmp_path / 'taken'}, and it cannot be made")
    assert sentence.endswith("name another one with --report.")
    (tmp_path / "r.json").mkdir()
    assert run("convert", path, *arguments[:3], tmp_path / "r.json", *FAST) == command.FAILED
    said = capsys.readouterr().err
    assert said == f"{tmp_path / 'r.json'} cannot be written: Is a directory (name a file in it).\n"


@pytest.mark.parametrize("verb", ["convert", "refit", "track", "bake"])
def test_a_folder_that_cannot_be_made_is_told_before_anything_is_done(tmp_path, capsys, verb):
    path = save_moving(tmp_path / "scene.blend")
    (tmp_path / "taken").write_text("")
    folder = tmp_path / "taken" / "rigs"
    given = [path, tmp_path / "take.abc"] if verb == "track" else [path]
    assert run(verb, *given, "--output", folder / "rig.blend") == command.FAILED
    said = capsys.readouterr().err
    assert f"scene.blend: There is no folder {folder}, and it cannot be made (Not a directory)" in said
    assert "name another one with --output" in said
    assert "Errno" not in said
    assert "%" not in said  # nothing was begun


def test_the_command_runs_in_a_process_of_its_own(tmp_path):
    path = save_moving(tmp_path / "scene.blend")
    done = outside("convert", path, "--output", tmp_path / "rig.glb", *FAST)
    assert done.returncode == command.DONE, done.stderr
    assert "E_RMS" in done.stdout
    assert (tmp_path / "rig.glb").is_file()
    assert outside("convert").returncode == command.WRONG


def test_flags_cover_every_setting_and_imply_what_they_belong_to():
    parser = command_line.make_parser()

    def parsed(*flags):
        return command_line.options_of(parser.parse_args(["convert", "a.blend", "--output", "b.glb", *flags]))

    assert parsed() == options.Options()
    assert parsed("--budget", "0.5").bones_by == "BUDGET"
    assert parsed("--frame-end", "9").frames == "CUSTOM"
    assert parsed("--rest-frame", "3").rest == "FRAME"
    placed = parsed("--root-place", "1", "-0.5", "2")
    assert (placed.root, placed.root_place) == ("PLACE", (1.0, -0.5, 2.0))
    assert not parsed("--no-locality").locality
    assert parsed("--preset", "cloth").bones == options.preset_values("CLOTH")["bones"]
    assert parsed("--preset", "cloth", "--bones", "7").bones == 7
    text = " ".join(
        parser.parse_args.__self__._subparsers._group_actions[0].choices["convert"].format_help().split()
    )
    for field in options.FIELDS:
        assert "--" + field.replace("_", "-") in text


def test_progress_goes_to_stderr(tmp_path, capsys):
    path = save_moving(tmp_path / "scene.blend")
    assert run("convert", path, "--output", tmp_path / "rig.glb", "--bones", "3") == 0
    printed = capsys.readouterr()
    assert "scene.blend: reading" in printed.err
    assert "E_RMS" in printed.out


def test_info_says_what_moves(tmp_path, capsys):
    path = save_moving(tmp_path / "scene.blend")
    assert run("info", path) == 0
    assert "Sheet: 81 vertices, moved by 9 shape keys" in capsys.readouterr().out
    assert run("info", path, "--json") == 0
    out = capsys.readouterr().out
    (record,) = json.loads(out[out.index("[\n") :])
    assert record["objects"][0]["vertices"] == 81
    assert run("info", tmp_path / "gone.glb") == command.FAILED


def test_damaged_caches_are_refused(tmp_path):
    write_obj(tmp_path / "sheet.obj", scenes.positions(scenes.grid().data))
    for name, data in (("short.pc2", b"POINT"), ("wrong.pc2", b"X" * 64), ("short.mdd", b"\0")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(Refusal, match="damaged"):
            inputs.Opened(tmp_path / "sheet.obj", [], tmp_path / name).__enter__()
    scenes.write_pc2(tmp_path / "other.pc2", np.zeros((3, 7, 3)))
    with pytest.raises(Refusal, match="has 7 vertices, but"):
        inputs.Opened(tmp_path / "sheet.obj", [], tmp_path / "other.pc2").__enter__()
