"""A rig made again from its source, rigs that are not taken for sources, and a rig for each object."""

import json

import bpy
import chain
import numpy as np
import pytest
import scenes
from commands import FAST, run
from ossify.base.refusal import Refusal
from ossify.base.steps import run as finish
from ossify.convert import again, convert
from ossify.options import options
from ossify.ui import panel
from screens import drawn, told

QUICK = {"bones": 3, "quality": "DRAFT", "skeleton": "NONE", "keys": "EVERY", "threads": 1}


def made(**chosen):
    source = scenes.key_shapes(scenes.grid())
    scenes.select(source)
    bpy.ops.ossify.convert(**{**QUICK, **chosen})
    return source, bpy.context.object


def error_of(mesh, source_frames):
    times = range(1, len(source_frames) + 1)
    return float(np.sqrt(((scenes.seen_frames(mesh, times) - source_frames) ** 2).sum(-1).mean()))


def test_a_rig_is_not_a_source():
    _, armature = made()
    (mesh,) = armature.children
    before = scenes.picture()
    sentence = "Sheet Rigged is moved by the rig Sheet Rig: Convert Again starts from the rig's source"
    for chosen in ([mesh], [armature, mesh], [mesh, armature]):
        scenes.select(*chosen)
        assert sentence in told(bpy.ops.ossify.convert)
    with pytest.raises(Refusal, match="Convert Again"):
        chain.converted(mesh)
    assert "ossify.convert_again" in drawn(panel.OSSIFY_PT_convert)
    scenes.select(armature, mesh)
    assert scenes.difference(before, scenes.picture()) == ""


@pytest.mark.parametrize("selected", ["armature", "mesh", "both", "left"])
def test_again_is_measured_against_the_source(selected):
    """The more bones, the nearer to the source itself: the rig before is no part of it."""
    source, armature = made()
    source.hide_viewport, source.hide_render = False, False
    source.hide_set(False)
    goal = scenes.seen_frames(source, range(1, 9))
    build_before = error_of(armature.children[0], goal)
    source.hide_set(True)
    source.hide_viewport = source.hide_render = True
    (mesh,) = armature.children
    scenes.select(
        *{"armature": [armature], "mesh": [mesh], "both": [armature, mesh], "left": [armature]}[selected]
    )
    if selected == "left":
        armature.select_set(False)
    bpy.ops.ossify.convert_again(**{**QUICK, "bones": 12})
    found = bpy.context.object
    assert found != armature
    assert [item.object for item in found.ossify.sources] == [source]
    assert found.children[0].name.startswith("Sheet Rigged")
    assert "Rigged Rigged" not in found.children[0].name
    after = error_of(found.children[0], goal)
    assert after < 0.8 * build_before
    assert found.ossify.rms == pytest.approx(100 * after / found.ossify.size, rel=1e-3)
    assert source.hide_viewport
    assert source.hide_render
    assert armature.hide_viewport
    assert mesh.hide_viewport
    assert found.visible_get()


def test_again_leaves_a_source_that_is_seen_in_sight():
    source, armature = made(hide_source=False)
    scenes.select(armature)
    bpy.ops.ossify.convert_again(**QUICK, hide_source=False)
    assert source.visible_get()


def test_again_cancelled_leaves_everything_as_it_was():
    _, armature = made()
    before = scenes.picture()
    for stage in ("Reading", "Solving", "Building", "Measuring"):
        context = bpy.context
        steps = again.convert_again(context.scene, context.view_layer, armature, chain.quick(bones=4))
        while next(steps).stage != stage:
            pass
        steps.close()
        assert scenes.difference(before, scenes.picture()) == "", stage


def test_again_without_the_source_says_so():
    source, armature = made()
    bpy.data.objects.remove(source)
    scenes.select(armature)
    assert "The source of Sheet Rig is gone" in told(bpy.ops.ossify.convert_again)
    assert "is gone" in drawn(panel.OSSIFY_PT_convert)


def test_again_of_takes_is_one_rig_of_takes():
    takes = [scenes.key_shapes(scenes.grid(name)) for name in ("Walk", "Run")]
    scenes.select(*takes)
    bpy.ops.ossify.convert(**QUICK, clips="TAKES")
    assert len(bpy.context.object.ossify.clips) == 2
    bpy.ops.ossify.convert_again(**QUICK, clips="ONE", each=True)
    assert [clip.source for clip in bpy.context.object.ossify.clips] == takes


# ---- one rig for each


def several():
    return [scenes.key_shapes(scenes.grid(name)) for name in ("Left", "Right", "Tail")]


def test_each_object_has_the_rig_that_it_has_alone():
    objects = several()
    result = chain.converted(*objects, each=True, hide_source=False)
    rigs = [result, *result.others]
    assert [rig.armature.name for rig in rigs] == ["Left Rig", "Right Rig", "Tail Rig"]
    assert set(bpy.context.selected_objects) == {part for rig in rigs for part in (rig.armature, *rig.meshes)}
    assert bpy.context.object == result.armature
    assert len(bpy.data.scenes) == 1
    alone = chain.converted(objects[1], hide_source=False)
    assert alone.report.erms == result.others[0].report.erms
    assert len(rigs[1].meshes) == 1


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_each_cancelled_on_the_way_takes_back_all(wanted):
    objects, before = several(), scenes.picture()
    context = bpy.context
    steps = convert.convert(context.scene, context.view_layer, objects, chain.quick(each=True))
    built = 0
    last = 0.0
    for step in steps:
        assert step.fraction >= last - 1e-9
        last = step.fraction
        if step.stage == "Measuring":
            built = int(step.fraction * 3 - 1e-6) + 1
            if built == wanted:
                break
    steps.close()
    assert scenes.difference(before, scenes.picture()) == ""


def test_takes_are_not_rigs_of_their_own():
    settings = options.Options(each=True, clips="TAKES")
    assert "one rig" in options.contradiction(settings)
    with pytest.raises(Refusal, match="one rig"):
        finish(convert.convert(bpy.context.scene, bpy.context.view_layer, several(), settings))


def test_each_object_of_a_file_is_written(tmp_path, capsys):
    several()
    path, report = tmp_path / "many.blend", tmp_path / "report.json"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    names = [flag for name in ("Left", "Tail") for flag in ("--object", name)]
    command = ["convert", path, *names, "--each", *FAST]
    assert run(*command, "--output", tmp_path / "{object}.glb", "--report", report) == 0
    assert (tmp_path / "Left.glb").is_file()
    assert (tmp_path / "Tail.glb").is_file()
    (record,) = json.loads(report.read_text())["inputs"]
    assert [other["output"] for other in record["others"]] == [str(tmp_path / "Tail.glb")]
    assert run(*command, "--output", tmp_path / "rig.glb") == 2
    assert "{object}" in capsys.readouterr().err
