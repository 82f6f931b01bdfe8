"""`farm`, `sweep` and `task` as they are typed: what contradicts the job is refused, and nothing is left."""

import json

import pytest
from commands import run, save_moving
from ossify import command, command_farm


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--report", "x.json"], "--report is said by the job"),
        (["--output=x.glb"], "--output is said by the job"),
        (["--bones", "0"], "--bones"),
        (["--names", "rigify", "--bone-names", "unity"], "--bone-names"),
    ],
)
def test_settings_that_contradict_the_job(tmp_path, capsys, flags, words):
    scene, folder = save_moving(tmp_path / "scene.blend"), tmp_path / "job"
    assert run("farm", scene, "--output", folder, "--", *flags) != command.DONE
    assert words in capsys.readouterr().err
    assert not folder.exists()


def test_what_is_swept_is_not_given_for_all(tmp_path, capsys):
    scene, folder = save_moving(tmp_path / "scene.blend"), tmp_path / "job"
    assert run("sweep", scene, "bones", "4,5", "--output", folder, "--", "--bones=3") == command.FAILED
    assert "--bones is swept, and also given for all tasks" in capsys.readouterr().err
    assert not folder.exists()
    assert run("sweep", scene, "bones", "4,5", "--output", folder) == command.DONE
    assert sorted(path.name for path in (folder / "reports").iterdir()) == []


def test_no_rig_is_written_over_a_shot(tmp_path, capsys):
    scene = save_moving(tmp_path / "scene.blend")
    assert run("farm", scene, "--output", tmp_path, "--format", ".blend") == command.FAILED
    assert "scene.blend would be written, and" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["scene.blend"]


def test_files_are_named_from_the_root_since_workers_start_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = command_farm.checked(
        ["--cache", "a:b.pc2", "--armature=rig.blend:Mine", "--armature", ":Mine"], None
    )
    cache, armature = tmp_path / "a:b.pc2", tmp_path / "rig.blend"
    assert own == ["--cache", str(cache), f"--armature={armature}:Mine", "--armature", ":Mine"]
    assert command_farm.checked(["--cache", ":b.pc2"], None) == ["--cache", str(tmp_path / ":b.pc2")]


def test_a_task_that_cannot_begin_leaves_a_word_for_the_page(tmp_path, capsys):
    scene, folder = save_moving(tmp_path / "scene.blend"), tmp_path / "job"
    assert run("farm", scene, "--output", folder) == command.DONE
    text = (folder / "job.json").read_text()
    (folder / "job.json").write_text(text.replace('"flags": []', '"flags": ["--bones", "no"]'))
    code = run("task", folder / "job.json", "0")
    assert code not in (command.DONE, command.FAILED)
    (record,) = json.loads((folder / "reports" / "scene.json").read_text())["inputs"]
    assert f"exit code {code}" in record["error"]
    capsys.readouterr()
    assert run("gather", folder / "job.json") == command.FAILED
    assert "scene failed" in capsys.readouterr().err
