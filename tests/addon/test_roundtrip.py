"""Out to other programs and back: the exported rig replays what Blender showed."""

import bpy
import builds
import chain
import numpy as np
import pytest
import scenes
from ossify.files import inputs, outputs


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


def bones_of(armature):
    """Names with those of the parents; USD knows no dots."""
    names = {bone.name: bone.parent.name if bone.parent else "" for bone in armature.data.bones}
    return {name.replace(".", "_"): parent.replace(".", "_") for name, parent in names.items()}


def exported_and_imported(result, path, influences=4):
    """The meshes that another Blender finds in the file."""
    outputs.write(path, result.armature, result.meshes, influences)
    with inputs.Opened(path, [], None) as opened:
        return opened.objects()


def nearest(points, others):
    """[v] for every point the nearest other: exporters may split vertices."""
    return np.linalg.norm(points[:, None] - others[None], axis=2).argmin(axis=1)


def compare(shown, meshes, times, tolerance):
    """Frame by frame; vertices are matched in the first frame."""
    (mesh,) = [obj for obj in meshes if obj.type == "MESH"]
    again = scenes.seen_frames(mesh, times)
    match = nearest(again[0], shown[0])
    assert len(set(match.tolist())) == shown.shape[1]  # all of them are there
    error = np.linalg.norm(again - shown[:, match], axis=2).max()
    assert error < tolerance * scenes.size_of(shown)


# USD's skeletons have no shear: flexible bones do not go there
ROUND_TRIPS = [(kind, suffix) for kind in ("RIGID", "FLEXIBLE") for suffix in (".glb", ".fbx")]


@pytest.mark.parametrize(("kind", "suffix"), [*ROUND_TRIPS, ("RIGID", ".usdc")])
def test_round_trip(tmp_path, suffix, kind):
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


def times_of_action(times):
    first = min(round(action.frame_range[0]) for action in bpy.data.actions)
    return [first + time - times[0] for time in times]


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
