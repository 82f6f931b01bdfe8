"""Several bodies in one conversion: one solution, a rig for each with the same bones and weights."""

import bpy
import contents
import numpy as np
import pytest
import scenes
from commands import run as command
from limbs_of_a_family import FRAMES, joints_of, moving, weights
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.convert import subjects
from ossify.convert.convert import convert
from ossify.options.options import Options, contradiction

FAMILY = {"Ann": (1.3, 1.3, 1.3), "Bob": (1.0, 2.0, 1.2), "Cat": (1.8, 0.9, 0.8)}


def family(folder):
    return [moving(folder, name, lengths, seed) for seed, (name, lengths) in enumerate(FAMILY.items())]


def converted(objects, **chosen):
    context = bpy.context
    chosen = {"clips": "SUBJECTS", "bones": 3, "rest_correction": "FIXED", "skeleton": "HIERARCHY", **chosen}
    result = run(convert(context.scene, context.view_layer, objects, Options(**chosen)))
    return [result, *result.others]


def tree(rig):
    return {
        bone.name: (bone.parent and bone.parent.name, bone.use_connect) for bone in rig.armature.data.bones
    }


def test_bodies_share_bones_and_weights_and_have_joints_of_their_own(tmp_path):
    objects = family(tmp_path)
    for number, obj in enumerate(objects):
        obj.location = (3.0 * number, 0, 0)
    sources = [scenes.seen_frames(obj, range(1, FRAMES + 1)) for obj in objects]
    rigs = converted(objects)
    assert [rig.armature.name for rig in rigs] == ["Ann Rig", "Bob Rig", "Cat Rig"]
    assert len({str(tree(rig)) for rig in rigs}) == 1
    assert weights(rigs[0].meshes[0]) == weights(rigs[1].meshes[0]) == weights(rigs[2].meshes[0])
    for rig, source, lengths in zip(rigs, sources, FAMILY.values(), strict=True):
        deform = [bone for bone in rig.armature.data.bones if bone.use_deform]
        ends = sorted(point[2] for bone in deform for point in (bone.head_local, bone.tail_local))
        for joint in joints_of(lengths):
            assert min(abs(end - joint) for end in ends) < 0.03 * sum(lengths)
        shown = scenes.seen_frames(rig.meshes[0], range(1, FRAMES + 1))
        error = np.sqrt(((shown - source) ** 2).sum(axis=2).mean()) / scenes.size_of(
            scenes.positions(rig.meshes[0].data)
        )
        assert error < 0.01
        assert rig.report.percent(rig.report.rms) == pytest.approx(100 * error, rel=1e-3)
        assert rig.armature.ossify.settings.clips == "ONE"


def test_joints_hold_in_each_body_when_they_are_asked_to(tmp_path):
    objects = family(tmp_path)
    sources = [scenes.seen_frames(obj, range(1, FRAMES + 1)) for obj in objects]
    rigs = converted(objects, skeleton="ARTICULATED")
    assert len({str(tree(rig)) for rig in rigs}) == 1
    for rig, source in zip(rigs, sources, strict=True):
        assert rig.armature.ossify.settings.skeleton == "ARTICULATED"
        below = [bone.name for bone in rig.armature.data.bones if bone.parent and bone.use_deform]
        moved = {
            curve.data_path
            for curve in contents.curves(rig.armature.animation_data.action)
            if curve.data_path.endswith("location") and any(f'"{name}"' in curve.data_path for name in below)
        }
        assert not moved  # bones only turn
        shown = scenes.seen_frames(rig.meshes[0], range(1, FRAMES + 1))
        error = np.sqrt(((shown - source) ** 2).sum(axis=2).mean())
        assert error < 0.015 * scenes.size_of(scenes.positions(rig.meshes[0].data))


def test_meshes_of_one_shape_are_takes_of_one_body(tmp_path):
    ann, bob, *_ = family(tmp_path)
    again = moving(tmp_path, "Ann runs", FAMILY["Ann"], 7)
    again.rotation_euler, again.location = (0.2, 0.3, 0), (5, 0, 0)
    rigs = converted([ann, bob, again])
    assert [rig.armature.name for rig in rigs] == ["Ann Rig", "Bob Rig"]
    assert [clip.name for clip in rigs[0].armature.ossify.clips] == ["Ann", "Ann runs"]
    assert rigs[0].armature.ossify.settings.clips == "TAKES"


def test_it_says_what_it_is_not_sure_of_and_what_is_one_body(tmp_path):
    ann = moving(tmp_path, "Ann", FAMILY["Ann"], 1)
    again = moving(tmp_path, "Again", FAMILY["Ann"], 2)
    with pytest.raises(Refusal, match=r"All of them are one body.*choose Selected Takes"):
        converted([ann, again])
    nearly = moving(tmp_path, "Nearly", (1.3, 1.34, 1.26), 3)
    rigs = converted([ann, nearly])
    assert any("Nearly differs from Ann by" in note for note in rigs[1].report.notes)
    with pytest.raises(Refusal, match="There is one body"):
        converted([ann])


def test_it_doubts_bodies_that_are_nearly_alike_before_anything_is_read(tmp_path):
    shapes = {"Ann": FAMILY["Ann"], "Again": FAMILY["Ann"], "Bob": FAMILY["Bob"], "Nearly": (1.3, 1.34, 1.26)}
    bodies = {name: moving(tmp_path, name, shape, seed) for seed, (name, shape) in enumerate(shapes.items())}
    bodies["Again"].rotation_euler, bodies["Again"].location = (0.2, 0.3, 0), (5, 0, 0)
    bpy.context.view_layer.update()
    assert subjects.doubts([bodies["Ann"], bodies["Again"], bodies["Bob"]]) == []
    found = subjects.doubts([bodies["Ann"], bodies["Nearly"], scenes.tube("Other", rings=5)])
    assert len(found) == 1
    assert found[0].startswith("Nearly differs from Ann by")
    empty = [scenes.link(bpy.data.objects.new(name, bpy.data.meshes.new(name))) for name in ("E", "F")]
    assert subjects.doubts(empty) == []


def test_what_is_no_family_is_refused_in_a_sentence(tmp_path):
    ann = moving(tmp_path, "Ann", FAMILY["Ann"], 1)
    other = scenes.tube("Other", rings=5)
    scenes.cached(other, tmp_path / "other.pc2")
    large = moving(tmp_path, "Large", (130, 130, 140), 2)
    whole = scenes.picture()
    for obj, words in ((other, "Other has 30 vertices and Ann 200"), (large, "Large is .* times as large")):
        with pytest.raises(Refusal, match=words):
            converted([ann, obj])
    assert scenes.difference(whole, scenes.picture()) == ""


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"bone_kind": "FLEXIBLE", "skeleton": "NONE"}, "rigid bones"),
        ({"skeleton": "ANIMATOR"}, "choose Articulated"),
        ({"virtual_bones": 20}, "belong to one body"),
    ],
)
def test_what_bodies_cannot_share_is_said(chosen, words):
    assert words in contradiction(Options(clips="SUBJECTS", **chosen))


def test_a_tree_hung_from_another_bone_keeps_its_joints():
    parents, joints = np.array([-1, 0, 1, 1]), np.arange(12.0).reshape(1, 4, 3)
    turned, own = subjects.rerooted(parents, joints, 2, np.array([[9.0, 9, 9]]))
    assert turned.tolist() == [1, 2, -1, 1]
    assert own[0].tolist() == [joints[0, 1].tolist(), joints[0, 2].tolist(), [9, 9, 9], joints[0, 3].tolist()]


def test_cancelled_it_leaves_the_file_as_it_was(tmp_path):
    objects = family(tmp_path)
    whole = scenes.picture()
    context = bpy.context
    for rigs in (0, 1):  # before anything is made, and when one body stands in its workshop
        steps, met = (
            convert(context.scene, context.view_layer, objects, Options(clips="SUBJECTS", bones=3)),
            0,
        )
        for step in steps:
            met += step.stage == "Measuring"
            if (step.stage == "Solving" and not rigs) or met > 1:
                break
        steps.close()
        assert scenes.difference(whole, scenes.picture()) == ""


def test_from_the_command_line(tmp_path):
    for obj in family(tmp_path):
        scenes.select(obj)
        obj.modifiers.clear()
        bpy.ops.wm.obj_export(
            filepath=str(tmp_path / f"{obj.name}.obj"),
            export_selected_objects=True,
            forward_axis="Y",
            up_axis="Z",
            export_materials=False,
        )
    files = [tmp_path / f"{name}.obj" for name in FAMILY]
    asked = ["--subjects", "--bones", "3", "--skeleton", "hierarchy", "--quiet"]
    assert command("convert", *files, "--output", tmp_path / "out.glb", *asked) == 2
    assert command("convert", *files, "--output", tmp_path / "{name}.glb", *asked) == 0
    assert {path.stem for path in tmp_path.glob("*.glb")} == set(FAMILY)
    assert command("convert", *files, "--output", tmp_path / "all.blend", *asked) == 0
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "all.blend"))
    assert sum(obj.type == "ARMATURE" for obj in bpy.data.objects) == 3
