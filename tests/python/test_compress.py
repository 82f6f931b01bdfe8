"""addon/native and bench/compress.py: two layers in and out, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from solves import few

import native

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def rig(eel):
    return native.Rig(eel.transforms, eel.bones.astype(np.int32), eel.weights, eel.rest)


def blended(layers, bones):
    """[v][b] of all masters"""
    shares = layers.transforms(np.broadcast_to(np.eye(bones)[None, :, None, :], (1, bones, 1, bones)))[
        0, :, 0
    ]
    used = layers.influence_bones >= 0
    return np.einsum(
        "vk,vkb->vb", np.where(used, layers.influence_weights, 0), shares[layers.influence_bones]
    )


def test_the_defaults_are_the_header_s():
    wish = native.Compression()
    assert (wish.virtual_bones, wish.masters, wish.influences) == (100, 8, 4)
    assert (wish.source, wish.method, wish.affine, wish.refine) == ("weights", "exact", False, False)
    assert wish.tolerance == 0


def test_weights_alone_are_met_without_motion(eel, rig):
    still = native.Rig(None, rig.influence_bones, rig.influence_weights, rig.rest)
    wish = native.Compression(virtual_bones=60, masters=3, influences=3)
    _, layers, _ = native.compress(eel.rest, None, eel.triangles, still, wish, few())
    given = rig.dense_weights()[:, : still.bones]
    off = blended(layers, still.bones) - given
    assert layers.delta == pytest.approx(1000 * np.sqrt((off**2).mean()), rel=1e-3, abs=1e-3)
    assert layers.delta < 20
    assert layers.dense_erms is None


def test_virtual_bones_replay_as_they_say(eel, rig):
    wish = native.Compression(virtual_bones=20, masters=3, influences=2, source="poses")
    found, layers, info = native.compress(eel.rest, eel.frames, eel.triangles, rig, wish, few())
    np.testing.assert_array_equal(found.transforms, rig.transforms)
    played = native.Rig(
        layers.transforms(rig.transforms), layers.influence_bones, layers.influence_weights, rig.rest
    )
    assert native.evaluate(eel.rest, eel.frames, played).erms == pytest.approx(info.erms, rel=1e-6)


def test_dense_weights_come_back_in_the_rig(eel, rig):
    wish = native.Compression(virtual_bones=0, source="poses")
    found, layers, info = native.compress(eel.rest, eel.frames, eel.triangles, rig, wish, few())
    assert found.influence_bones.shape[1] == rig.bones
    assert len(layers.virtual_bones) == 0
    assert info.erms <= native.evaluate(eel.rest, eel.frames, rig).erms + 1e-3


def test_the_command_line_writes_the_names_that_others_read(eel, rig, tmp_path):
    names = ("transforms", "influence_bones", "influence_weights", "rest")
    np.savez(tmp_path / "rig.npz", **{name: getattr(rig, name) for name in names})
    np.savez(tmp_path / "seq.npz", rest=eel.rest, frames=eel.frames, triangles=eel.triangles)
    for sequence in (["seq.npz"], []):
        command = [sys.executable, str(BENCH / "compress.py"), "rig.npz", *sequence, "--virtual", "12"]
        command += ["--virtual-masters", "3", "--virtual-influences", "2", "--out", "out.npz"]
        said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        told = json.loads(said.splitlines()[-1])
        with np.load(tmp_path / "out.npz") as file:
            assert file["virtual_bones"].shape == file["virtual_weights"].shape == (told["virtual"], 3)
            assert file["influence_bones"].shape == (len(eel.rest), 2)
            np.testing.assert_allclose(file["influence_weights"].sum(1), 1, atol=1e-6)
            assert file["transforms"].shape[1] == rig.bones


def test_dense_weights_are_written_without_virtual_bones(eel, rig, tmp_path):
    names = ("transforms", "influence_bones", "influence_weights", "rest")
    np.savez(tmp_path / "rig.npz", **{name: getattr(rig, name) for name in names})
    np.savez(tmp_path / "seq.npz", rest=eel.rest, frames=eel.frames, triangles=eel.triangles)
    command = [sys.executable, str(BENCH / "compress.py"), "rig.npz", "seq.npz", "--virtual", "0"]
    subprocess.run([*command, "--out", "out.npz"], cwd=tmp_path, check=True, capture_output=True)
    with np.load(tmp_path / "out.npz") as file:
        assert file["influence_bones"].shape == (len(eel.rest), rig.bones)
        np.testing.assert_allclose(file["influence_weights"].sum(1), 1, atol=1e-6)


def test_a_solve_goes_on_to_virtual_bones(eel, tmp_path):
    np.savez(tmp_path / "seq.npz", rest=eel.rest, frames=eel.frames, triangles=eel.triangles)
    command = [sys.executable, str(BENCH / "solve.py"), "seq.npz", "--bones", "3", "--quality", "draft"]
    command += ["--virtual", "9", "--virtual-influences", "2", "--out", "out.npz"]
    said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    told = json.loads(said.splitlines()[-1])
    with np.load(tmp_path / "out.npz") as file:
        assert file["virtual_bones"].shape == (told["virtual"], 8)
        assert file["influence_bones"].max() < told["virtual"] <= 9
