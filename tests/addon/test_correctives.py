"""Correctives in Blender: keyed and driven shape keys show what bones miss, follow, and go again."""

import json
import math
import os
import subprocess
import sys
from types import SimpleNamespace

import bpy
import builds
import numpy as np
import pytest
import scenes
from arms import TIMES, angles, arm, bent, corrected, error, lower
from exchange import compare, exported_and_imported, times_of_action
from mathutils import Quaternion, Vector
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.edit import correction, rejoin
from ossify.files import bake
from ossify.options import options
from ossify.rig import correctives, drivers, standing
from ossify.track import track
from refits import bits


@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
def test_what_bones_miss_is_shown(kind):
    source, armature, mesh = arm()
    before = error(source, mesh)
    done = corrected(armature, kind)
    assert done.names == correctives.names_of(armature)
    assert correctives.are_driven(armature) == (kind == "DRIVEN")
    after = error(source, mesh)
    assert after < 0.6 * before
    assert done.after == pytest.approx(after, rel=0.02)
    assert armature.ossify.rms == pytest.approx(after, rel=0.02)
    assert list(mesh.data.shape_keys.key_blocks.keys()) == ["Basis", *done.names]
    for name in done.names:
        block = mesh.data.shape_keys.key_blocks[name]
        values = correctives.read_values(armature, [mesh])[:, done.names.index(name)]
        assert block.slider_min <= values.min() + 1e-6
        assert block.slider_max >= values.max() - 1e-6
        assert np.ptp(values) > 0.1


def test_driven_ones_follow_a_bone_that_is_posed():
    _, armature, mesh = arm()
    done = corrected(armature, "DRIVEN")
    bone = lower(armature)
    shown = []
    armature.animation_data.action = None
    for angle in (0.0, 0.3, 0.6):
        for other in armature.pose.bones:
            other.rotation_quaternion = (1, 0, 0, 0)
        axis = np.array([bone.bone.matrix_local.inverted().to_3x3() @ v for v in bpy_axes()])[1]
        bone.rotation_quaternion = (math.cos(angle / 2), *(math.sin(angle / 2) * axis))
        bpy.context.view_layer.update()
        layer = bpy.context.evaluated_depsgraph_get()
        shapes = mesh.data.shape_keys.evaluated_get(layer)
        shown.append([shapes.key_blocks[name].value for name in done.names])
    assert np.abs(shown[0]).max() < 1e-6
    assert np.abs(np.array(shown[2])).max() > 0.05
    assert np.abs(np.array(shown[2]) - shown[1]).max() > 0.02


def bpy_axes():
    return Vector((1, 0, 0)), Vector((0, 1, 0)), Vector((0, 0, 1))


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "AXIS_ANGLE"])
def test_a_form_is_the_map_of_turn_and_shift(mode):
    """Against rotation matrices, in bones that lie anywhere and are posed in any mode."""
    rng = np.random.default_rng(4)
    armature = scenes.link(bpy.data.objects.new("Bones", bpy.data.armatures.new("Bones")))
    with standing.editing(armature) as bones:
        for number in range(3):
            bone = bones.new(f"B{number}")
            bone.head, bone.tail, bone.roll = rng.normal(size=3), rng.normal(size=3), 0.7 * number
            bone.parent = bones[f"B{number - 1}"] if number else None
    names = [f"B{number}" for number in range(3)]
    rests = np.array([armature.data.bones[name].matrix_local.to_3x3() for name in names])
    weights, shifts = rng.normal(size=(1, 3, 9)), rng.normal(size=(1, 3, 3))
    armature["Sum"] = 0.0
    drivers.turn(armature, "Sum", drivers.forms(weights, rests, shifts)[0], names)
    assert len(drivers.helpers_of(armature, "Sum")) >= 2
    for curve in armature.animation_data.drivers:
        if curve.driver.type == "SCRIPTED":
            assert curve.driver.is_simple_expression
            assert len(curve.driver.expression) <= 255
    expected = 0.0
    for number, name in enumerate(names):
        pose = armature.pose.bones[name]
        pose.rotation_mode = mode
        turn = Quaternion(rng.normal(size=4)).normalized()
        if mode == "QUATERNION":
            pose.rotation_quaternion = turn
        elif mode == "AXIS_ANGLE":
            axis, angle = turn.to_axis_angle()
            pose.rotation_axis_angle = (angle, *axis)
        else:
            pose.rotation_euler = turn.to_euler(mode)
        own = rests[number] @ np.array(turn.to_matrix()) @ rests[number].T - np.eye(3)
        expected += float((weights[0, number] * own.ravel()).sum())
        pose.location = rng.normal(size=3)
        expected += float(shifts[0, number] @ rests[number] @ np.array(pose.location))
    bpy.context.view_layer.update()
    shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())["Sum"]
    assert shown == pytest.approx(expected, abs=2e-5)


def test_removed_ones_leave_the_rig_as_it_was():
    _, armature, mesh = arm()
    before, fit = bits(armature, [mesh]), armature.ossify.rms
    for kind in ("KEYED", "DRIVEN"):
        corrected(armature, kind)
        assert len(list(armature.keys())) >= 2
        run(correction.remove(bpy.context, armature))
        assert bits(armature, [mesh]) == before
        assert mesh.data.shape_keys is None
        assert not correctives.names_of(armature)
        assert armature.ossify.rms == pytest.approx(fit, rel=0.02)
        assert not [key for key, _ in armature.items() if key.startswith("Corrective")]
        assert not len(armature.animation_data.drivers)


def test_correctives_are_made_anew_in_place_of_those_that_are_there():
    _, armature, mesh = arm()
    corrected(armature, "KEYED", 3)
    done = corrected(armature, "DRIVEN", 1)
    assert list(mesh.data.shape_keys.key_blocks.keys()) == ["Basis", *done.names]


def test_bones_that_drive_them_are_not_hung_elsewhere():
    _, armature, _ = arm()
    corrected(armature, "DRIVEN")
    with pytest.raises(Refusal, match="after Remove Correctives"):
        rejoin.rejoin(bpy.context, armature)


@pytest.mark.solver
def test_automatic_adds_none_where_nothing_is_missed():
    _, armature, _ = arm(bones=12, skeleton="NONE", bone_kind="FLEXIBLE", quality="BEST")
    done = corrected(armature, "AUTO")
    assert done.note


def test_automatic_drives_what_follows_the_elbow():
    source, armature, mesh = arm()
    before = error(source, mesh)
    done = corrected(armature, "AUTO")
    assert correctives.are_driven(armature), done.note
    assert error(source, mesh) < 0.6 * before


def test_several_of_a_joint_are_numbered():
    assert correctives.named([1, 0, 1], ["Hip", "Knee.L"]) == ["Knee.L", "Hip", "Knee.L 2"]
    assert correctives.named([-1, -1], ["Hip"]) == ["Corrective.001", "Corrective.002"]


# ---- conversions, clips, files


@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN", "AUTO"])
def test_a_conversion_has_them(kind):
    source, armature, mesh = arm()
    plain = error(source, mesh)
    source, armature, mesh = arm(correctives=kind, corrective_count=2)
    names = correctives.names_of(armature)
    assert names
    assert correctives.are_driven(armature) == (kind != "KEYED")
    assert error(source, mesh) < 0.6 * plain
    assert armature.ossify.rms == pytest.approx(error(source, mesh), rel=0.02)
    assert "corrective" in armature.ossify.notes
    assert "E_RMS" not in armature.ossify.notes


def test_a_conversion_without_them_has_no_shape_key():
    _, armature, mesh = arm()
    assert mesh.data.shape_keys is None
    assert not correctives.names_of(armature)


@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
def test_they_show_a_motion_that_is_tracked(kind):
    _, armature, mesh = arm()
    other = scenes.tube("Other", rings=41, around=12)
    points = scenes.positions(other.data)
    for f, block in enumerate(
        scenes.add_shape_keys(other, [bent(points, 1.1 - 0.9 * angle) for angle in angles()])[1:]
    ):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            block.value = value
            block.keyframe_insert("value", frame=time)
    scene, layer, chosen = bpy.context.scene, bpy.context.view_layer, options.TrackOptions()
    run(track.track(scene, layer, armature, [other], chosen))
    plain = error(other, mesh)
    corrected(armature, kind)
    before = len(bpy.data.shape_keys)
    run(track.track(scene, layer, armature, [other], chosen))
    assert error(other, mesh) < 0.75 * plain
    assert len(bpy.data.shape_keys) == before


@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
def test_a_file_works_without_the_extension(tmp_path, kind):
    """In another Blender, which knows nothing of it and runs no scripts of files."""
    _, armature, mesh = arm()
    names = corrected(armature, kind).names
    shown = scenes.seen_frames(mesh, TIMES[::6])
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "arm.blend"))
    code = (
        "import bpy, json\n"
        f"bpy.ops.wm.open_mainfile(filepath={str(tmp_path / 'arm.blend')!r}, use_scripts=False)\n"
        f"mesh, found = bpy.data.objects[{mesh.name!r}], []\n"
        f"for frame in {TIMES[::6]!r}:\n"
        "    bpy.context.scene.frame_set(frame)\n"
        "    seen = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())\n"
        "    found.append([tuple(seen.matrix_world @ v.co) for v in seen.data.vertices])\n"
        "print('FOUND', json.dumps([hasattr(bpy.types.Object, 'ossify'), found]))\n"
    )
    (tmp_path / "look.py").write_text(code)
    call = [bpy.app.binary_path, "--factory-startup", "--background", "--python"]
    call = call if bpy.app.binary_path else [sys.executable]
    environment = os.environ | {"BLENDER_USER_RESOURCES": str(tmp_path / "none")}
    said = subprocess.run(
        [*call, str(tmp_path / "look.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    known, found = json.loads(next(line[6:] for line in said.splitlines() if line.startswith("FOUND")))
    assert not known
    assert np.abs(np.array(found) - shown).max() < 1e-5
    assert names


@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
@pytest.mark.parametrize("suffix", [".glb", ".fbx", ".usdc"])
def test_they_are_exported(tmp_path, suffix, kind):
    if suffix == ".usdc":
        builds.needs("usd")
    _, armature, mesh = arm()
    corrected(armature, kind)
    shown = scenes.seen_frames(mesh, TIMES)
    made = SimpleNamespace(armature=armature, meshes=[mesh])
    meshes = exported_and_imported(made, tmp_path / f"arm{suffix}")
    for block in meshes[0].data.shape_keys.key_blocks:
        block.slider_min, block.slider_max = -2, 2  # Blender's importers know 0 to 1
    times = TIMES if suffix == ".usdc" else times_of_action(TIMES)
    compare(shown, meshes, times, {".glb": 1e-5, ".fbx": 2e-3, ".usdc": 1e-4}[suffix])


@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
def test_they_are_baked(kind):
    _, armature, mesh = arm()
    corrected(armature, kind)
    shown = scenes.seen_frames(mesh, TIMES)
    context = bpy.context
    baked = run(bake.bake(context.scene, context.view_layer, [armature], options.BakeOptions()))
    assert np.abs(scenes.seen_frames(baked.meshes[0], TIMES) - shown).max() < 1e-5


def test_undo_takes_them_back():
    _, armature, mesh = arm()
    name = armature.name
    scenes.select(armature)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.ossify.add_correctives(kind="DRIVEN", count=2) == {"FINISHED"}
    assert correctives.names_of(armature)
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert not correctives.names_of(bpy.data.objects[name])
    bpy.ops.ed.redo()
    assert correctives.names_of(bpy.data.objects[name])
    assert mesh is not None


def test_correctives_and_virtual_bones_are_refused():
    settings = options.Options(correctives="KEYED", virtual_bones=10)
    assert "choose one of them" in options.contradiction(settings)
