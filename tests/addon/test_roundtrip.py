"""Out to other programs and back: the exported rig replays what Blender showed."""

import bpy
import builds
import chain
import numpy as np
import pytest
import scenes
from exchange import bones_of, compare, exported_and_imported, times_of_action
from ossify.files import outputs


@pytest.fixture
def source():
    return moved(scenes.grid())


def moved(obj):
    scenes.key_shapes(obj)
    obj.rotation_euler = (0.3, 0.2, 0.1)
    obj.scale = (1, -2, 1)
    obj.keyframe_insert("location", frame=1)
    obj.location = (1, 2, 0)
    obj.keyframe_insert("location", frame=8)
    return obj


# USD's skeletons have no shear: flexible bones do not go there
ROUND_TRIPS = [(kind, suffix) for kind in ("RIGID", "FLEXIBLE") for suffix in (".glb", ".fbx")]


@pytest.mark.parametrize(("kind", "suffix"), [*ROUND_TRIPS, ("RIGID", ".usdc")])
def test_other_programs_replay_what_blender_showed(tmp_path, suffix, kind):
    if suffix == ".usdc":
        builds.needs("usd")
    times = list(range(1, 9))
    source = moved(scenes.grid() if kind == "RIGID" else scenes.tube())
    result = chain.converted(source, bones=5, bone_kind=kind)
    shown = scenes.seen_frames(result.meshes[0], times)
    bones = bones_of(result.armature)
    meshes = exported_and_imported(result, tmp_path / f"rig{suffix}")
    if suffix != ".usdc":  # their times are seconds, and importers begin where they like
        times = times_of_action(times)
    compare(shown, meshes, times, 2e-3 if suffix == ".fbx" else 1e-4)
    armature = meshes[0].find_armature()
    assert bones_of(armature) == bones  # no leaf bones, no neutral bone


@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
def test_bones_that_move_away_from_their_parents_tails_still_do(tmp_path, suffix):
    """A tube that stretches: its bones are in line, and need their location."""
    obj, times = scenes.tube(), list(range(1, 9))
    rest = scenes.positions(obj.data)
    frames = np.array([rest * [1, 1, 1 + 0.1 * f] + [0.02 * f, 0, 0] * rest[:, 2:] ** 2 for f in range(8)])
    scenes.cached(obj, tmp_path / "stretch.pc2", frames.astype(np.float32))
    result = chain.converted(obj, bones=4, skeleton="HIERARCHY")
    bones = result.armature.data.bones
    apart = [bone for bone in bones if bone.parent and bone.parent.use_deform and not bone.use_connect]
    gaps = [(bone.parent.tail_local - bone.head_local).length / bone.parent.length for bone in apart]
    assert min(gaps) < 0.01  # on the way of its parent to the eye, yet
    assert min(gaps) > 1e-4  # not for an importer that connects by place
    shown = scenes.seen_frames(result.meshes[0], times)
    meshes = exported_and_imported(result, tmp_path / f"rig{suffix}")
    compare(shown, meshes, times_of_action(times), 2e-3 if suffix == ".fbx" else 1e-4)


def test_blend_keeps_everything(tmp_path, source):
    result = chain.converted(source)
    shown = scenes.seen_frames(result.meshes[0], range(1, 9))
    outputs.write(tmp_path / "rig.blend", result.armature, result.meshes, 4)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    again = scenes.seen_frames(bpy.data.objects["Sheet Rigged"], range(1, 9))
    assert np.abs(again - shown).max() < 1e-6


def test_glb_is_small(tmp_path):
    obj = scenes.cached(scenes.grid(n=30), tmp_path / "wave.pc2")
    result = chain.converted(obj, keys="REDUCED")
    outputs.write(tmp_path / "rig.glb", result.armature, result.meshes, 4)
    assert (tmp_path / "rig.glb").stat().st_size < 150_000
