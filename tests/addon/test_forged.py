"""What a rig remembers, damaged and forged in Blender: a sentence, and nothing is changed or made. What can
be done without Blender is in tests/python/test_stored.py, place by place."""

import json
import time

import bpy
import numpy as np
import pytest
import scenes
from ossify import command
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.edit import bone_merge
from ossify.options.options import RefitOptions
from ossify.put_back import put_back
from ossify.record import changes, memory, merge_notes
from ossify.refit import refit, refit_check
from ossify.track import track
from ossify.ui import panel_refit
from refits import bits, refitted, sheet_rig
from screens import drawn

HUGE = 2**31 - 1
VALUES = {
    "nothing": None,
    "a word": "x",
    "a number": 7,
    "a large number": HUGE,
    "a fraction": 0.5,
    "bytes": b"\0\xff",
    "a group": {"x": 1},
    "words": ["x", "y"],
    "large numbers": [HUGE] * 3,
    "no numbers": [float("nan")] * 3,
    "a list": "[]",
    "a half": None,  # of what is there
}
NOTES = ["shape", "columns", "bones", "meshes", "rests", "channels", "influences", "weights", "rest", "looks"]
KNOWN = "What Sheet Rig remembers of itself is damaged ("


def looked_at(armature):
    """All that reads what is stored, short of solving."""
    refit_check.check(armature)
    changes.note(armature)
    memory.recall(armature)
    memory.columns(armature)
    merge_notes.merges(armature)


def sentence_of(act, *arguments):
    """What is said, or None when it works; anything else that is raised fails the test."""
    try:
        act(*arguments)
    except Refusal as refusal:
        return str(refusal)
    return None


def forge(mesh, name, value):
    """None: it is deleted; half: of what is there"""
    there = mesh[name]
    if value == "a half":
        plain = there if isinstance(there, (str, bytes)) else there.to_list()
        half = plain[: len(plain) // 2]
    del mesh[name]
    if value == "a half":
        mesh[name] = half
    elif VALUES[value] is not None:
        mesh[name] = VALUES[value]


@pytest.mark.parametrize("name", NOTES)
def test_each_note_forged(sheet, name):
    armature = sheet.armature
    mesh = armature.ossify.memory
    before, there = bits(armature, sheet.meshes), mesh[name]
    plain = there if isinstance(there, (str, bytes)) else there.to_list()
    for value in VALUES:
        forge(mesh, name, value)
        sentence = sentence_of(looked_at, armature)
        harmless = (name, value) in {("looks", "nothing"), ("channels", "a half")}  # fewer frames are known
        noted = name == "bones" and value == "nothing"  # then there are no notes
        assert harmless or noted or sentence.startswith(KNOWN), (value, sentence)
        assert not noted or sentence.startswith("Sheet Rig remembers nothing")
        if name in mesh:
            del mesh[name]  # an array that is there keeps its length
        mesh[name] = plain
    assert bits(armature, sheet.meshes) == before
    assert sentence_of(looked_at, armature) is None
    assert refitted(armature).after.rms > 0


def test_a_sentence_where_an_artist_meets_it(sheet):
    armature = sheet.armature
    armature.ossify.memory["influences"] = [HUGE] * 8
    assert sentence_of(lambda: run(refit_steps(armature))).startswith(KNOWN)
    assert sentence_of(put_back.put_back, bpy.context, armature, "MOVED").startswith(KNOWN)
    with pytest.raises(RuntimeError, match="What Sheet Rig remembers of itself is damaged"):
        bpy.ops.ossify.refit()


def refit_steps(armature):
    return refit.refit(bpy.context.scene, bpy.context.view_layer, armature, RefitOptions())


@pytest.mark.parametrize("number", [HUGE, -5, 2**20 + 1, "x", 1.5, [1, 2], {"x": 1}, True])
def test_a_bone_with_a_number_that_it_cannot_have(sheet, number):
    """It is a bone that nobody has noted."""
    bone = sheet.armature.data.bones["Bone.002"]
    del bone[memory.NUMBER]
    bone[memory.NUMBER] = number
    began = time.monotonic()
    assert "Bone.002" in changes.find(sheet.armature).added
    assert refitted(sheet.armature).written
    assert time.monotonic() - began < 60
    assert changes.find(sheet.armature).added == []


@pytest.mark.parametrize("version", ["99.0.0", "1.0.0", "0.3"])
def test_a_rig_of_a_version_to_come(sheet, tmp_path, capsys, version):
    armature = sheet.armature
    armature.ossify.version = version
    sentence = sentence_of(looked_at, armature)
    assert sentence.startswith(f"Sheet Rig was made by a newer Ossify ({version}; this is ")
    assert sentence.endswith("install that one to change it.")
    assert sentence_of(bone_merge_steps, armature) == sentence
    assert track.trouble(armature) == sentence
    assert sentence in " ".join(drawn(panel_refit.OSSIFY_PT_refit).split())
    path = tmp_path / "rig.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert command.main(["refit", str(path), "--output", str(tmp_path / "out.blend")]) == command.FAILED
    assert sentence in capsys.readouterr().err


def bone_merge_steps(armature):
    kept, gone = [bone.name for bone in armature.data.bones if bone.use_deform][:2]
    return run(bone_merge.merge(bpy.context, armature, kept, [gone]))


def test_notes_in_a_format_to_come(sheet):
    sheet.armature.ossify.memory["format"] = 2
    assert "was made by a newer Ossify" in sentence_of(looked_at, sheet.armature)


@pytest.mark.parametrize("version", ["banana", "1", "-1.0.0"])
def test_a_version_that_is_none(sheet, version):
    sheet.armature.ossify.version = version
    assert sentence_of(looked_at, sheet.armature).startswith(f"{KNOWN}its version)")


def test_frames_that_are_gone_or_cannot_be(sheet):
    record = sheet.armature.ossify
    record.frames[2].frame = HUGE
    assert sentence_of(looked_at, sheet.armature).startswith(f"{KNOWN}frames)")
    record.frames[2].frame = 3
    record.frames[2].clip = -4
    sentence_of(looked_at, sheet.armature)
    record.frames.clear()
    assert sentence_of(looked_at, sheet.armature).startswith(f"{KNOWN}frames)")


def test_meshes_more_or_fewer_than_were_noted(sheet):
    record = sheet.armature.ossify
    record.meshes.add()
    assert sentence_of(looked_at, sheet.armature).startswith(KNOWN)
    record.meshes.clear()
    assert sentence_of(looked_at, sheet.armature)


def test_motion_with_points_missing_or_no_numbers(sheet):
    mesh = sheet.armature.ossify.memory
    positions = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.attributes["position"].data.foreach_get("vector", positions)
    positions[7] = np.nan
    mesh.attributes["position"].data.foreach_set("vector", positions)
    assert sentence_of(looked_at, sheet.armature).startswith(f"{KNOWN}motion)")
    mesh.clear_geometry()
    mesh.vertices.add(3)
    assert sentence_of(looked_at, sheet.armature).startswith(f"{KNOWN}motion)")


def test_the_memory_of_another_rig(sheet):
    other = sheet_rig(bones=3, hide_source=False).armature
    scenes.select(sheet.armature)
    sheet.armature.ossify.memory = sheet.meshes[0].data
    assert "remembers nothing" in sentence_of(looked_at, sheet.armature)
    sheet.armature.ossify.memory = other.ossify.memory
    sentence_of(looked_at, sheet.armature)


@pytest.mark.parametrize(
    "arrays",
    [
        {"frames": np.zeros((8, 80, 3), np.float32)},
        {"frames": np.zeros((7, 81, 3), np.float32)},
        {"frames": np.zeros((8, 81, 2), np.float32)},
        {"frames": np.zeros((8, 81, 3))},
        {"frames": np.full((8, 81, 3), np.nan, np.float32)},
        {"frames": np.zeros(8 * 81 * 3, np.float32)},
        {"frames": np.array(["x"])},
        {"rest": np.zeros((81, 3), np.float32)},
        {},
    ],
)
def test_a_motion_file_of_something_else(tmp_path, arrays):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    armature = sheet_rig(keep_motion="FILE").armature
    (file,) = tmp_path.glob("*.npz")
    with np.load(file) as there:
        rest = {"rest": there["rest"]} if "rest" in there else {}
    np.savez(file, **(rest | arrays))
    sentence = sentence_of(memory.recall, armature)
    assert sentence.startswith(str(file))
    assert "does not hold the motion" in sentence or "the motion of another rig" in sentence


def test_a_merge_that_was_forged(sheet):
    armature = sheet.armature
    bone_merge_steps(armature)
    (name,) = [name for name in armature.ossify.memory.keys() if name.startswith("merged ")]  # noqa: SIM118
    mesh = armature.ossify.memory
    whole = bytes(mesh[name])
    for value in (b"", b"x" * 99, whole[:-1], whole[: len(whole) // 2], "text", 7, [1.0, 2.0]):
        mesh[name] = value
        assert sentence_of(looked_at, armature).startswith(f"{KNOWN}{name})")
        assert sentence_of(put_back.put_back, bpy.context, armature, "MERGED").startswith(KNOWN)
    mesh[name] = whole
    mesh["merged"] = json.dumps([[HUGE, "Bone.002", 0]])
    assert sentence_of(looked_at, armature).startswith(f"{KNOWN}merged)")
