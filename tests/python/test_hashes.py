"""bench/hashes.py: a bit that changes is seen, and named with both errors."""

import copy

import numpy as np
import pytest

import hashes
import made_up
import native


@pytest.fixture(scope="module")
def solved():
    eel = made_up.eel(vertices=400, frames=12, bones=3)
    chosen = native.Settings(bones=3, quality="draft", threads=1)
    rig, _ = native.decompose(eel.rest, eel.frames, eel.triangles, chosen)
    return rig, native.connect(rig, eel.triangles)


def with_last_bit_turned(array):
    changed = np.array(array)
    changed.reshape(-1).view(np.uint8)[-changed.itemsize] ^= 1
    return changed


@pytest.mark.parametrize("name", ["transforms", "influence_bones", "influence_weights", "rest"])
def test_one_bit_of_a_rig_changes_its_hash(solved, name):
    rig, skeleton = solved
    changed = copy.copy(rig)
    setattr(changed, name, with_last_bit_turned(getattr(rig, name)))
    assert hashes.digest_of(changed, skeleton) != hashes.digest_of(rig, skeleton)


@pytest.mark.parametrize("name", ["parents", "joints", "axes", "mirrors"])
def test_one_bit_of_a_skeleton_changes_its_hash(solved, name):
    rig, skeleton = solved
    changed = skeleton._replace(**{name: with_last_bit_turned(getattr(skeleton, name))})
    assert hashes.digest_of(rig, changed) != hashes.digest_of(rig, skeleton)


def test_what_differs_is_listed_with_both_errors(capsys):
    row = {"hash": "a", "erms": 1.0, "seconds": 1.0, "mesh": "m"}
    before = {"machine": hashes.machine(), "cases": {"eel/draft": row, "eel/normal": row}}
    now = {"eel/draft": row, "eel/normal": {**row, "hash": "b", "erms": 1.25}, "eel/best": row}
    assert hashes.compare(before, now)
    said = capsys.readouterr().out
    assert "eel/normal: a -> b, E_RMS 1.000000 -> 1.250000" in said
    assert "2 cases compared, 1 differ; 1 are not in the file" in said
    assert not hashes.compare(before, {"eel/draft": row})


def test_nothing_in_common_is_no_success():
    assert hashes.compare({"machine": hashes.machine(), "cases": {}}, {})
