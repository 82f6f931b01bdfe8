"""bench/solve.py: one sequence file in, one JSON object out, and never a traceback."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import made_up
import native

SOLVE = Path(__file__).resolve().parents[2] / "bench" / "solve.py"


@pytest.fixture(scope="module")
def eel():
    return made_up.eel(vertices=400, frames=12, bones=3)


@pytest.fixture(scope="module")
def sequence(eel, tmp_path_factory):
    path = tmp_path_factory.mktemp("sequence") / "eel.npz"
    np.savez(path, rest=eel.rest, frames=eel.frames, triangles=eel.triangles)
    return path


def solve(*arguments):
    command = [sys.executable, str(SOLVE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def answer(*arguments):
    ran = solve(*arguments, "--quality", "draft", "--threads", 1)
    assert (ran.returncode, ran.stderr) == (0, "")
    return json.loads(ran.stdout.splitlines()[-1])


def refused(*arguments):
    ran = solve(*arguments)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    return ran.stderr


def test_the_last_line_is_the_answer(sequence):
    said = answer(sequence, "--bones", 3)
    assert said["bones"] == 3
    assert said["status"] >= 0
    assert said["erms"] >= 0
    assert said["seconds"] > 0
    assert said["iterations"] >= 0
    assert isinstance(said["message"], str)
    assert set(said["stage_seconds"]) == set(native.STAGES)


def test_the_rig_replays_the_sequence(sequence, eel, tmp_path):
    out = tmp_path / "rig.npz"
    said = answer(sequence, "--bones", 3, "--out", out)
    with np.load(out) as rig:
        assert set(rig.files) == {"transforms", "influence_bones", "influence_weights", "rest"}
        assert rig["transforms"].shape == (12, 3, 3, 4)
        weights, owners = rig["influence_weights"].astype(float), rig["influence_bones"]
        points = np.concatenate([rig["rest"], np.ones((len(eel.rest), 1))], axis=1)
        posed = np.einsum("fvkij,vj->fvki", rig["transforms"][:, np.maximum(owners, 0)], points)
        replayed = np.einsum("vk,fvki->fvi", np.where(owners >= 0, weights, 0), posed)
    diagonal = np.linalg.norm(np.ptp(eel.rest.astype(float), axis=0))
    rms = np.sqrt(np.mean(np.sum((replayed - eel.frames) ** 2, axis=2)))
    assert 100 * rms / diagonal == pytest.approx(said["rms_percent"], rel=1e-3, abs=1e-5)


def test_options_reach_the_solver(sequence, tmp_path):
    out = tmp_path / "rig"  # the name is taken as it is
    options = "--influences 2 --flexible --seed 3 --rest fixed --locality off --iterations 3".split()
    assert answer(sequence, "--bones", 3, *options, "--out", out)["status"] >= 0
    with np.load(out) as rig:
        assert rig["influence_bones"].shape[1] == 2


@pytest.mark.parametrize("start", native.STARTS)
def test_every_start_is_solved(sequence, start):
    said = answer(sequence, "--bones", 3, "--start", start)
    assert said["bones"] == 3
    assert said["rms_percent"] < 1


@pytest.mark.parametrize("connect", native.CONNECTS)
def test_bones_are_joined_by_every_rule(sequence, connect, tmp_path):
    out = tmp_path / "rig.npz"
    said = answer(sequence, "--bones", 3, "--skeleton", "--connect", connect, "--out", out)
    assert said["status"] >= 0
    with np.load(out) as rig:
        assert sorted(rig["parents"] < 0) == [False, False, True]


def test_until_stops_at_the_error(sequence):
    said = answer(sequence, "--bones", 3, "--until", 50)
    assert said["status"] == native.Status.REACHED
    assert said["erms"] <= 50


def test_auto_bones_finds_the_number_of_parts(sequence):
    assert answer(sequence, "--auto-bones")["bones"] == 3
    assert answer(sequence, "--auto-bones", "--bones", 2)["bones"] <= 2
    assert "take one of them" in refused(sequence, "--auto-bones", "--budget", 1)


def test_a_budget_finds_the_number_of_bones(sequence):
    said = answer(sequence, "--budget", 1)
    assert said["rms_percent"] <= 1
    assert answer(sequence, "--budget", 1, "--budget-kind", "max")["maximum_percent"] <= 1


def test_the_surface_is_among_the_figures(sequence):
    said = answer(sequence, "--bones", 3, "--rest", "kept")
    assert 0 < said["normal_degrees"] < 90
    assert 0 < said["bumps"] < 1
    assert 0 < said["rest_normal_degrees"] < 90
    still = answer(sequence, "--bones", 3, "--rest", "fixed")
    assert still["rest_normal_degrees"] == still["rest_bumps"] == still["rest_percent"] == 0


@pytest.mark.parametrize("count", [("--bones", 3), ("--budget", 2), ("--auto-bones",)], ids=lambda c: c[0])
@pytest.mark.parametrize("kind", ["hierarchy", "articulated"])
def test_a_skeleton_joins_the_bones(sequence, eel, tmp_path, kind, count):
    out = tmp_path / "rig.npz"
    said = answer(sequence, *count, "--skeleton", kind, "--out", out)
    with np.load(out) as rig:
        transforms = rig["transforms"].astype(float)
        parents, joints = rig["parents"], rig["joints"].astype(float)
    assert parents.shape == (said["bones"],)
    assert joints.shape == (said["bones"], 3)
    assert np.flatnonzero(parents < 0).tolist() == [said["root"]]
    for bone in range(said["bones"]):
        path = [bone]
        while parents[path[-1]] >= 0:
            path.append(parents[path[-1]])
            assert len(path) <= said["bones"], "the bones hang in a ring"
    if kind == "articulated":
        at = np.concatenate([joints, np.ones((len(joints), 1))], axis=1)
        kept = np.flatnonzero(parents >= 0)
        own = np.einsum("fbij,bj->fbi", transforms[:, kept], at[kept])
        held = np.einsum("fbij,bj->fbi", transforms[:, parents[kept]], at[kept])
        assert np.abs(own - held).max(initial=0) <= 1e-5 * np.linalg.norm(np.ptp(eel.rest, axis=0))


def test_correctives_lower_the_error_and_are_written(sequence, eel, tmp_path):
    out = tmp_path / "rig.npz"
    bare = answer(sequence, "--bones", 2)
    said = answer(sequence, "--bones", 2, "--correctives", 3, "--out", out)
    assert said["bare_erms"] == pytest.approx(bare["erms"], rel=1e-6)
    assert said["erms"] < 0.5 * bare["erms"]
    assert said["correctives"] == len(said["gains"]) == 3
    assert said["correct_seconds"] > 0
    assert said["stage_seconds"]["explore"] > 0
    assert said["stage_seconds"]["correct"] > 0
    with np.load(out) as rig:
        assert rig["fields"].shape == (3, len(eel.rest), 3)
        assert rig["coefficients"].shape == (12, 3)
        weights, owners = rig["influence_weights"].astype(float), rig["influence_bones"]
        rest = rig["rest"] + np.einsum("fn,nvi->fvi", rig["coefficients"], rig["fields"].astype(float))
        blended = np.einsum(
            "vk,fvkij->fvij", np.where(owners >= 0, weights, 0), rig["transforms"][:, np.maximum(owners, 0)]
        )
        replayed = np.einsum("fvij,fvj->fvi", blended[..., :3], rest) + blended[..., 3]
    diagonal = np.linalg.norm(np.ptp(eel.rest.astype(float), axis=0))
    rms = np.sqrt(np.mean(np.sum((replayed - eel.frames) ** 2, axis=2)))
    assert 100 * rms / diagonal == pytest.approx(said["rms_percent"], rel=1e-3, abs=1e-5)


def test_correctives_on_joints_that_hold_leave_the_bones(sequence, tmp_path):
    """Best quality solves the weights along, and nothing may pull a bone from its joint."""
    rigs, errors = [], []
    for count in (0, 2):
        out = tmp_path / f"{count}.npz"
        chosen = ("--bones", 2, "--skeleton", "articulated", "--quality", "best", "--threads", 1)
        ran = solve(sequence, *chosen, "--correctives", count, "--out", out)
        assert (ran.returncode, ran.stderr) == (0, "")
        errors.append(json.loads(ran.stdout.splitlines()[-1])["erms"])
        with np.load(out) as rig:
            rigs.append((rig["transforms"], rig["influence_weights"]))
    np.testing.assert_array_equal(rigs[0][0], rigs[1][0])
    assert (rigs[0][1] != rigs[1][1]).any()
    assert errors[1] < errors[0]


def test_a_budget_of_correctives_is_met_by_the_fewest(sequence):
    said = answer(sequence, "--bones", 2, "--correctives-budget", 0.2)
    assert said["rms_percent"] <= 0.2
    fewer = answer(sequence, "--bones", 2, "--correctives", said["correctives"] - 1)
    assert fewer["rms_percent"] > 0.2


def test_a_sequence_without_rest_or_triangles_is_solved(eel, tmp_path):
    path = tmp_path / "bare.npz"
    np.savez(path, frames=eel.frames)
    assert answer(path, "--bones", 3)["bones"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--bones", "many"),
        ("--bones", 0),
        ("--bones", 10**7),
        ("--bones", 3, "--quality", "perfect"),
        ("--nonsense",),
    ],
)
def test_wrong_options_get_a_sentence(sequence, arguments):
    assert refused(sequence, *arguments)


def test_a_missing_file_gets_a_sentence(tmp_path):
    assert "is not there" in refused(tmp_path / "none.npz", "--bones", 3)


def test_a_folder_gets_a_sentence(tmp_path):
    assert "cannot be read" in refused(tmp_path, "--bones", 3)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04broken", b"\x93NUMPY\x01\x00"])
def test_a_file_that_is_not_npz_gets_a_sentence(tmp_path, content):
    path = tmp_path / "wrong.npz"
    path.write_bytes(content)
    assert "wrong.npz" in refused(path, "--bones", 3)


def test_a_cut_file_gets_a_sentence(sequence, tmp_path):
    path = tmp_path / "cut.npz"
    path.write_bytes(sequence.read_bytes()[:-2000])
    assert "cut.npz" in refused(path, "--bones", 3)


def test_a_damaged_file_gets_a_sentence(sequence, tmp_path):
    content = bytearray(sequence.read_bytes())
    content[len(content) // 2] ^= 255
    path = tmp_path / "damaged.npz"
    path.write_bytes(content)
    assert "damaged.npz" in refused(path, "--bones", 3)


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"rest": np.zeros((4, 3))}, "frames"),
        ({"frames": np.zeros((2, 4))}, "frames"),
        ({"frames": np.array(["a", "b"])}, "frames"),
        ({"frames": np.array([{}], dtype=object)}, ""),
        ({"rest": np.zeros((5, 3)), "frames": np.zeros((2, 4, 3))}, "rest"),
        ({"rest": np.zeros((4, 3)), "frames": np.full((2, 4, 3), np.nan)}, "frames[0][0][0]"),
        (
            {"rest": np.zeros((4, 3)), "frames": np.zeros((2, 4, 3)), "triangles": np.array([[0, 1, 9]])},
            "triangles[0][2]",
        ),
    ],
)
def test_wrong_arrays_get_a_sentence(tmp_path, arrays, named):
    path = tmp_path / "wrong.npz"
    np.savez(path, **arrays)
    assert named in refused(path, "--bones", 2)


def test_a_rig_that_cannot_be_written_gets_a_sentence(sequence, tmp_path):
    assert "cannot be written" in refused(sequence, "--bones", 3, "--out", tmp_path / "none" / "rig.npz")
    assert "cannot be written" in refused(sequence, "--bones", 3, "--out", tmp_path)


def test_the_sequence_is_not_written_over(tmp_path):
    path, link = tmp_path / "seq.npz", tmp_path / "link.npz"
    np.savez(path, rest=np.zeros((4, 3)), frames=np.zeros((2, 4, 3)))
    link.symlink_to(path)
    before = path.read_bytes()
    for out in (path, link):
        assert "is the sequence that is read" in refused(path, "--bones", 2, "--out", out)
        assert path.read_bytes() == before
