"""bench/fit.py: the skeleton of a rig in new bodies."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import native

ROOT = Path(__file__).resolve().parent.parent.parent


def limb(length, thick, at=0.0):
    """A tube of 12 rings of 8 vertices, bent nowhere: rest [v][3], and joints, one amid ring 6."""
    turn = np.arange(8) * np.pi / 4
    ring = np.stack([thick * np.cos(turn), thick * np.sin(turn)], 1)
    along = at + length * np.arange(12)
    rest = np.concatenate([np.concatenate([ring, np.full((8, 1), z)], 1) for z in along])
    return rest.astype(np.float32), np.array([[0, 0, along[0]], [0, 0, along[6]]])


@pytest.fixture
def rig():
    upper = np.repeat(np.arange(12) >= 6, 8)
    return native.Rig(
        None,
        np.stack([upper, ~upper], 1).astype(np.int32),
        np.tile(np.float32([0.75, 0.25]), (96, 1)),
        limb(1, 1)[0],
    )


@pytest.fixture
def files(tmp_path, rig):
    bodies = [limb(length, thick) for length, thick in ((1, 1), (1.2, 0.8), (0.8, 1.1), (1.5, 1.5))]
    arrays = {
        "rest": np.stack([rest for rest, _ in bodies]),
        "joints": np.stack([joints for _, joints in bodies]),
        "parents": np.array([-1, 0], np.int32),
        "influence_bones": rig.influence_bones,
        "influence_weights": rig.influence_weights,
    }
    np.savez(tmp_path / "rig.npz", **arrays)
    np.savez(tmp_path / "new.npz", rest=np.stack([limb(1.1, 1.2, at=3)[0], limb(0.9, 0.7)[0]]))
    return tmp_path


def run(*arguments):
    command = [sys.executable, ROOT / "bench" / "fit.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_joints_in_bodies_that_were_not_seen(files):
    done = run(files / "rig.npz", files / "new.npz", "--out", files / "out.npz")
    assert (done.returncode, done.stderr) == (0, "")
    out = np.load(files / "out.npz")
    truth = np.stack([limb(1.1, 1.2, at=3)[1], limb(0.9, 0.7)[1]])
    assert np.abs(out["joints"] - truth).max() < 0.05
    new = np.load(files / "new.npz")["rest"].astype(float)
    shares = np.where(out["vertices"] < 0, 0, out["shares"])
    assert np.allclose(np.einsum("bi,sbix->sbx", shares, new[:, out["vertices"]]), out["joints"])
    assert out["parents"].tolist() == [-1, 0]


def test_one_known_body_is_enough(files):
    known = dict(np.load(files / "rig.npz"))
    np.savez(files / "one.npz", **{**known, "rest": known["rest"][0], "joints": known["joints"][0]})
    done = run(files / "one.npz", files / "new.npz", "--out", files / "out.npz")
    assert (done.returncode, done.stderr) == (0, "")
    out = np.load(files / "out.npz")
    assert out["joints"].shape == (2, 2, 3)
    assert "vertices" not in out


@pytest.mark.parametrize(
    ("known", "new", "says"),
    [
        ({"joints": None}, {}, "has no array `joints`"),
        ({}, {"rest": np.zeros((1, 95, 3))}, "bodies of 95 vertices; the rig's have 96"),
        ({}, {"rest": np.zeros(3)}, "`rest` has shape (3,)"),
        ({"joints": np.zeros((3, 2, 3))}, {}, "joints has shape (3, 2, 3)"),
        ({}, {"rest": np.full((1, 96, 3), np.nan)}, "bodies.rest[0][0][0] is nan"),
        ({"parents": np.array([-1, 7])}, {}, "bodies.parents[1] is 7"),
    ],
)
def test_what_does_not_belong_together_is_refused(files, known, new, says):
    for name, changed in (("rig.npz", known), ("new.npz", new)):
        arrays = dict(np.load(files / name)) | changed
        np.savez(files / name, **{key: array for key, array in arrays.items() if array is not None})
    done = run(files / "rig.npz", files / "new.npz", "--out", files / "out.npz")
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (files / "out.npz").exists()
