"""addon/native and bench/solve.py: animation space in and out, against the definition."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from solves import few

import native

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def creased(eel):
    """The eel as its bones show it, with noise that they cannot, and its rig."""
    random = np.random.default_rng(2)
    frames = (eel.frames + random.normal(0, 0.01, eel.frames.shape)).astype(np.float32)
    rig = native.Rig(eel.transforms, eel.bones.astype(np.int32), eel.weights, eel.rest)
    return eel.rest, frames, eel.triangles, rig


def replayed(transforms, bones, positions):
    """v = sum_k T p, by definition"""
    there = np.where(bones[..., None] >= 0, positions, 0)
    return np.einsum("fvkij,vkj->fvi", transforms[:, np.maximum(bones, 0)], there)


def test_the_defaults_are_the_header_s():
    fit = native.SpaceFit()
    assert (fit.bones, fit.form, fit.rest_exact, fit.rounds) == ("own", "corrections", True, 0)
    assert (fit.smoothness, fit.damping) == (1e-3, 1e-2)


@pytest.mark.parametrize("bones", native.SPACE_BONES)
def test_positions_replay_what_is_measured(creased, bones):
    rest, frames, triangles, rig = creased
    fit = native.SpaceFit(bones=bones, rounds=1)
    found, space, info = native.animation_space(rest, frames, triangles, rig, fit, few())
    shown = replayed(found.transforms, space.bones, space.positions(found))
    measured = native.evaluate(rest, frames, found, triangles=triangles, space=space)
    np.testing.assert_allclose(measured.frames, shown, atol=1e-5)
    assert measured.erms == pytest.approx(info.erms)
    assert info.erms < native.evaluate(rest, frames, rig).erms
    np.testing.assert_array_equal(found.dense_weights(), rig.dense_weights())


def test_positions_sum_to_the_rest(creased):
    rest, frames, triangles, rig = creased
    _, space, _ = native.animation_space(rest, frames, triangles, rig, settings=few())
    sums = np.where(space.bones[..., None] >= 0, space.positions(rig), 0).sum(1)
    np.testing.assert_allclose(sums, np.c_[rig.rest, np.ones(len(rest))], atol=1e-5)


def test_bones_are_tracked_with_positions_that_stay(creased):
    rest, frames, triangles, rig = creased
    fit = native.SpaceFit(rounds=2)
    known, space, info = native.animation_space(rest, frames, triangles, rig, fit, few())
    moved = native.Rig(known.transforms.copy(), rig.influence_bones, rig.influence_weights, rig.rest)
    moved.transforms[..., 3] += 0.01
    found, same, again = native.animation_space(rest, frames, triangles, moved, None, few(), space)
    np.testing.assert_array_equal(same.corrections, space.corrections)
    assert again.erms <= info.erms * 1.001
    assert not np.array_equal(found.transforms, moved.transforms)


def test_joints_hold_while_bones_are_solved(creased):
    rest, frames, triangles, rig = creased
    bones = rig.bones
    parents = np.arange(-1, bones - 1, dtype=np.int32)
    joints = np.array([[b / bones, 0.0, 0.0] for b in range(bones)])
    held = native.Rig(rig.transforms.copy(), rig.influence_bones, rig.influence_weights, rig.rest)
    for b in range(1, bones):  # as the joints would have it
        gap = held.transforms[:, b - 1] @ [*joints[b], 1] - held.transforms[:, b] @ [*joints[b], 1]
        held.transforms[:, b, :, 3] += gap
    _, _, before = native.animation_space(rest, frames, triangles, held, native.SpaceFit(rounds=0), few())
    fit = native.SpaceFit(rounds=3)
    found, _, after = native.animation_space(
        rest, frames, triangles, held, fit, few(), parents=parents, joints=joints
    )
    assert after.erms < before.erms
    at = np.c_[joints, np.ones(bones)]
    own = np.einsum("fbij,bj->fbi", found.transforms, at)[:, 1:]
    above = np.einsum("fbij,bj->fbi", found.transforms[:, :-1], at[1:])
    np.testing.assert_allclose(own, above, atol=1e-9)


def solve(*arguments):
    command = [sys.executable, str(ROOT / "bench" / "solve.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_solve_writes_positions_and_tracks_with_them(creased, tmp_path):
    rest, frames, triangles, _ = creased
    sequence, out, tracked = (tmp_path / name for name in ("seq.npz", "rig.npz", "tracked.npz"))
    np.savez(sequence, rest=rest, frames=frames, triangles=triangles)
    told = solve(sequence, "--bones", 3, "--quality", "draft", "--animation-space", "padded", "--out", out)
    assert told.returncode == 0, told.stderr
    figures, rig = json.loads(told.stdout), np.load(out)
    assert rig["positions"].shape == (*rig["influence_bones"].shape, 4)
    there = np.where(rig["influence_bones"][..., None] >= 0, rig["positions"], 0).sum(1)
    np.testing.assert_allclose(there, np.c_[rig["rest"], np.ones(len(there))], atol=1e-5)
    shown = replayed(rig["transforms"], rig["influence_bones"], rig["positions"])
    size = np.linalg.norm(np.ptp(rest, 0))
    error = np.sqrt(((shown - frames) ** 2).sum(-1).mean())
    assert 100 * error / size == pytest.approx(figures["rms_percent"], rel=1e-4)
    assert figures["erms"] < figures["bare_erms"]
    told = solve(sequence, "--track", out, "--out", tracked)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["erms"] <= 1.01 * figures["erms"]
    np.testing.assert_allclose(np.load(tracked)["positions"], rig["positions"], atol=1e-6)


def test_solve_tracks_with_a_plain_rig(creased, tmp_path):
    rest, frames, triangles, rig = creased
    sequence, known = tmp_path / "seq.npz", tmp_path / "rig.npz"
    np.savez(sequence, rest=rest, frames=frames, triangles=triangles)
    names = ("influence_bones", "influence_weights", "rest")
    np.savez(known, **{name: getattr(rig, name) for name in names})
    told = solve(sequence, "--track", known)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["erms"] < 1.1 * native.evaluate(rest, frames, rig).erms


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--track", "{rig}", "--bones", "4"], "leave out --bones"),
        (["--track", "{missing}"], "is not there"),
        (["--track", "{sequence}"], "has no array `influence_bones`"),
        (["--track", "{other}"], "a mesh with 2 vertices"),
        (["--bones", "2", "--animation-space", "--correctives", "2"], "take one of them"),
    ],
)
def test_solve_refuses_in_words(creased, tmp_path, arguments, sentence):
    rest, frames, triangles, rig = creased
    paths = {name: str(tmp_path / f"{name}.npz") for name in ("sequence", "rig", "missing", "other")}
    np.savez(paths["sequence"], rest=rest, frames=frames, triangles=triangles)
    names = ("influence_bones", "influence_weights", "rest")
    np.savez(paths["rig"], **{name: getattr(rig, name) for name in names})
    np.savez(paths["other"], **{name: getattr(rig, name)[:2] for name in names})
    told = solve(paths["sequence"], *(argument.format(**paths) for argument in arguments))
    assert told.returncode == 1
    assert sentence in told.stderr
    assert told.stderr.count("\n") == 1
