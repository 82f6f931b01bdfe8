"""bench/solve.py with several subjects, and what it leaves to bench/fit.py."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import made_up  # noqa: E402
import native  # noqa: E402


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """Two eels, one of them longer and thinner, that swim alike."""
    folder = tmp_path_factory.mktemp("family")
    eel = made_up.eel(vertices=200, frames=8, bones=3)
    stretch = np.float32([1.3, 0.8, 0.8])
    rest = np.stack([eel.rest, eel.rest * stretch])
    frames = np.concatenate([eel.frames, eel.frames[::2] * 2])
    np.savez(
        folder / "family.npz",
        rest=np.stack([eel.rest, eel.rest * 2]),
        frames=frames,
        subject=np.repeat(np.int32([0, 1]), [8, 4]),
        triangles=eel.triangles,
    )
    np.savez(folder / "new.npz", rest=rest, triangles=eel.triangles)
    return folder


def run(program, *arguments):
    command = [sys.executable, ROOT / "bench" / program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_verbs_take_poses_of_several_subjects(family):
    given = np.load(family / "family.npz")
    motion = [given[name] for name in ("rest", "frames", "triangles")]
    settings = native.Settings(bones=3, quality="draft")
    rig, info = native.decompose(*motion, settings, subject=given["subject"])
    assert rig.rest.shape == given["rest"].shape
    skeleton = native.connect(rig, given["triangles"], subject=given["subject"])
    assert skeleton.joints.shape == (2, 3, 3)
    found = native.evaluate(given["rest"], given["frames"], rig, subject=given["subject"])
    rest = np.concatenate([rig.rest, np.ones((*rig.rest.shape[:2], 1))], 2)[given["subject"]]
    blended = np.tensordot(rig.transforms, rig.dense_weights().astype(float), ([1], [1]))  # [f][3][4][v]
    assert np.allclose(found.frames, np.einsum("fijv,fvj->fvi", blended, rest), atol=1e-4)
    jointed, held, more = native.articulate(*motion, rig, skeleton, settings, subject=given["subject"])
    assert more.rms_percent < info.rms_percent + 3
    for f, s in enumerate(given["subject"]):
        for b, parent in enumerate(held.parents):
            joint = np.append(held.joints[s, b], 1)
            if parent >= 0:
                ends = jointed.transforms[f, b] @ joint, jointed.transforms[f, parent] @ joint
                assert np.allclose(*ends, atol=1e-5)
    with pytest.raises(native.OssifyError, match=r"subject\[0\] is 7"):
        native.decompose(*motion, settings, subject=np.full(12, 7))


def test_two_bodies_share_a_rig(family):
    arguments = ("--bones", "3", "--skeleton", "--quality", "draft", "--out", family / "rig.npz")
    done = run("solve.py", family / "family.npz", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout.splitlines()[-1])
    given, rig = np.load(family / "family.npz"), np.load(family / "rig.npz")
    assert said["subjects"] == 2
    vertices = given["frames"].shape[1]
    assert rig["rest"].shape == (2, vertices, 3)
    assert rig["joints"].shape == (2, 3, 3)
    assert sorted(rig["parents"])[0] == -1
    rest = np.concatenate([rig["rest"], np.ones((2, vertices, 1))], 2)[given["subject"]]
    bones = np.maximum(rig["influence_bones"], 0)
    moved = np.einsum("fvkij,fvj->fvki", rig["transforms"][:, bones], rest)
    replayed = np.einsum("vk,fvki->fvi", rig["influence_weights"], moved)
    size = np.linalg.norm(np.ptp(given["rest"], 1), axis=1)[given["subject"]]
    off = np.square(replayed - given["frames"]).sum(2) / size[:, None] ** 2
    assert 100 * np.sqrt(off.mean()) == pytest.approx(said["rms_percent"], rel=1e-2, abs=1e-5)
    done = run("fit.py", family / "rig.npz", family / "new.npz", "--out", family / "fitted.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert np.abs(np.load(family / "fitted.npz")["joints"][0] - rig["joints"][0]).max() < 0.05 * size[0]


def test_joints_of_each_body_hold_when_they_are_asked_to(family):
    arguments = (
        "--bones",
        "3",
        "--skeleton",
        "articulated",
        "--quality",
        "draft",
        "--out",
        family / "held.npz",
    )
    done = run("solve.py", family / "family.npz", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    said, rig = json.loads(done.stdout.splitlines()[-1]), np.load(family / "held.npz")
    assert said["free_erms"] <= said["erms"] + 1e-6
    for moves, s in zip(rig["transforms"], np.load(family / "family.npz")["subject"], strict=True):
        joints = np.concatenate([rig["joints"][s], np.ones((3, 1))], 1)
        for b, parent in enumerate(rig["parents"]):
            assert parent < 0 or np.allclose(moves[b] @ joints[b], moves[parent] @ joints[b], atol=1e-5)


def test_a_rig_of_several_bodies_finds_its_way_in_new_frames(family, tmp_path):
    done = run("solve.py", family / "family.npz", "--bones", "3", "--out", tmp_path / "rig.npz")
    assert done.returncode == 0
    given = dict(np.load(family / "family.npz"))
    new = given | {"frames": given["frames"][[9, 3]], "subject": np.int32([1, 0])}
    np.savez(tmp_path / "new.npz", **new)
    tracked = ("--track", tmp_path / "rig.npz", "--out", tmp_path / "new_rig.npz")
    done = run("solve.py", tmp_path / "new.npz", *tracked)
    assert (done.returncode, done.stderr) == (0, "")
    rig, found = np.load(tmp_path / "rig.npz"), np.load(tmp_path / "new_rig.npz")
    assert np.array_equal(found["influence_weights"], rig["influence_weights"])
    assert np.allclose(found["transforms"], rig["transforms"][[9, 3]], atol=1e-3)


def test_one_body_needs_no_subject(family, tmp_path):
    given = np.load(family / "family.npz")
    alone = {"rest": given["rest"][:1], "frames": given["frames"][:8], "triangles": given["triangles"]}
    np.savez(tmp_path / "one.npz", **alone)
    arguments = ("--bones", "3", "--skeleton", "articulated", "--out", tmp_path / "rig.npz")
    done = run("solve.py", tmp_path / "one.npz", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert np.load(tmp_path / "rig.npz")["joints"].shape == (1, 3, 3)


@pytest.mark.parametrize(
    ("changed", "arguments", "says"),
    [
        ({"subject": None}, (), "no `subject` [f]"),
        ({"rest": np.zeros((200, 3))}, (), "no `rest` [s][v][3]"),
        ({"subject": np.full(12, 2)}, (), "subjects.subject[0] is 2"),
        ({}, ("--flexible",), "leave out --flexible"),
        ({}, ("--correctives", "2"), "leave out --correctives"),
        ({}, ("--skeleton", "animator"), "take --skeleton articulated"),
        ({}, ("--armature", "rig.npz"), "leave out --armature"),
    ],
)
def test_what_subjects_cannot_share_is_refused(family, tmp_path, changed, arguments, says):
    arrays = dict(np.load(family / "family.npz")) | changed
    np.savez(tmp_path / "family.npz", **{key: array for key, array in arrays.items() if array is not None})
    bones = () if "--armature" in arguments else ("--bones", "3")
    done = run("solve.py", tmp_path / "family.npz", *bones, *arguments)
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
