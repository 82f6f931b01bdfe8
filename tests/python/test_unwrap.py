"""addon/native and bench/unwrap.py: a map in and out, measured from the definition, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from solves import few

import native

BENCH = Path(__file__).resolve().parents[2] / "bench"


def rolled(turns):
    """A sheet of 20 x 10 cells rolled up by so many turns, its edges as long as they were."""
    angle = 2 * np.pi * turns / 20
    x, y = np.meshgrid(np.arange(21), np.arange(11))
    radius = 0.5 / np.sin(angle / 2)
    place = [radius * np.sin(angle * x), y, radius * (1 - np.cos(angle * x))]
    return np.stack(place, -1).reshape(-1, 3).astype(np.float32)


@pytest.fixture
def sheet():
    first = (np.arange(10)[:, None] * 21 + np.arange(20)).ravel()
    triangles = np.concatenate(
        [np.stack([first, first + 1, first + 22], 1), np.stack([first, first + 22, first + 21], 1)]
    ).astype(np.int32)
    frames = np.array([rolled(turns) for turns in (0.1, 0.4, 0.6, 0.9)])
    x, y = frames[0, :, 1], np.arange(len(frames[0])) % 21
    uv = np.stack([0.03 * y + 0.02 * x, 0.05 * x + 0.001 * y * x], -1)[triangles]
    return frames[0], frames, triangles, uv.astype(np.float32)


def test_the_defaults_are_the_header_s():
    wish = native.Unwrapping()
    assert (wish.method, wish.place, wish.iterations, wish.with_rest) == ("stretch", "kept", 50, False)
    assert wish.margin == 0.005


def test_what_can_be_laid_flat_is(sheet):
    rest, frames, triangles, uv = sheet
    found, info = native.unwrap(rest, frames, triangles, uv, settings=few())
    assert found.stretch_before > 5
    assert found.stretch < 0.01
    assert (found.islands, found.restarted, found.left, found.flipped) == (1, 0, 0, 0)
    assert info.iterations > 0
    assert np.abs(found.triangle_stretch - 1).max() < 0.01
    lengths = np.linalg.norm(found.uv[:, 1] - found.uv[:, 0], axis=1)[:200]  # along the rows: equal edges
    np.testing.assert_allclose(lengths, lengths.mean(), rtol=1e-3)


def test_a_job_gives_what_the_call_gives(sheet):
    direct, _ = native.unwrap(*sheet, settings=few())
    job = native.Job.start(native.unwrap, *sheet, settings=few())
    found, _ = job.finish()
    np.testing.assert_array_equal(found.uv, direct.uv)
    assert found.stretch == direct.stretch


def unwrapped(*arguments):
    command = [sys.executable, str(BENCH / "unwrap.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def files(sheet, tmp_path):
    rest, frames, triangles, uv = sheet
    np.savez(tmp_path / "seq.npz", rest=rest, frames=frames, triangles=triangles)
    np.savez(tmp_path / "uv.npz", uv=uv)
    return tmp_path


def test_the_command_writes_a_map_and_measures_what_it_left_out(files):
    out = files / "out.npz"
    run = unwrapped(files / "seq.npz", "--uv", files / "uv.npz", "--leave-out", 2, "--out", out)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.splitlines()[-1])
    assert told["held_out_frames"] == 2
    assert told["held_out_stretch_before"] == pytest.approx(
        told["stretch_before"], rel=1e-4
    )  # rolls are alike
    assert told["held_out_stretch"] < 0.01
    assert told["flipped"] == 0
    with np.load(out) as arrays:
        assert arrays["uv"].shape == np.load(files / "uv.npz")["uv"].shape
        np.savez(files / "again.npz", uv=arrays["uv"])
    run = unwrapped(
        files / "seq.npz", "--uv", files / "again.npz", "--iterations", 0, "--test", files / "seq.npz"
    )
    again = json.loads(run.stdout)
    assert again["held_out_stretch"] == pytest.approx(again["stretch"], abs=1e-6)  # by two codes


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["seq.npz", "--uv", "none.npz"], "none.npz is not there"),
        (["seq.npz", "--uv", "seq.npz"], "has no array `uv`"),
        (["seq.npz", "--uv", "wrong.npz"], "it must be [400][3][2]"),
        (["seq.npz", "--uv", "uv.npz", "--leave-out", "9"], "it must be 2..4"),
        (["faceless.npz", "--uv", "uv.npz"], "has no triangles"),
        (["seq.npz"], "--uv"),
    ],
)
def test_what_cannot_be_is_refused(files, monkeypatch, arguments, says):
    monkeypatch.chdir(files)
    np.savez("wrong.npz", uv=np.zeros((3, 3, 2)))
    np.savez("faceless.npz", frames=np.load("seq.npz")["frames"])
    run = unwrapped(*arguments)
    assert run.returncode == 1
    assert says in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
