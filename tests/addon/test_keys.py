"""Key reduction: within the tolerance, by measuring what Blender shows."""

import math

import bpy
import chain
import numpy as np
import pytest
import scenes

STILL = 20  # frames after the first


def slow_wave(frames=60):
    """A sheet that waves slowly over many frames, with a still start."""
    obj = scenes.grid(n=7)
    rest = scenes.positions(obj.data).astype(float)
    values = np.clip(np.arange(frames) - STILL, 0, None) / (frames - STILL - 1)
    shapes = [rest + [[0, 0, 1]] * rest[:, :1] ** 2 * math.sin(3 * value) for value in values]
    return obj, np.array(shapes, np.float32)


@pytest.mark.parametrize("tolerance", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("kind", ["RIGID", "FLEXIBLE"])
def test_reduced_keys_move_no_vertex_beyond_the_tolerance(tmp_path, tolerance, kind):
    obj, frames = slow_wave()
    scenes.cached(obj, tmp_path / "wave.pc2", frames)
    bpy.context.scene.frame_end = len(frames)
    motion, rig, armature, meshes = chain.built(
        obj, keys="REDUCED", key_tolerance=tolerance, bone_kind=kind, bones=4
    )
    expected = chain.replay(motion, rig)
    moved = scenes.seen_frames(meshes[0], motion.times.tolist()) - expected
    size = scenes.size_of(rig.rest)
    assert np.sqrt((moved**2).sum(axis=-1)).max() <= tolerance / 100 * size * 1.001 + 2e-6 * size
    for curve in chain.curves(armature.animation_data.action):  # the still start needs two keys at most
        assert len(curve.keyframe_points) <= len(frames) - (STILL - 1)


def test_looser_tolerances_keep_fewer_keys(tmp_path):
    obj, frames = slow_wave()
    scenes.cached(obj, tmp_path / "wave.pc2", frames)
    bpy.context.scene.frame_end = len(frames)
    counts = [
        chain.converted(obj, keys="REDUCED", key_tolerance=t, hide_source=False).report.keys
        for t in (0.005, 0.05, 0.5)
    ]
    assert counts[0] > counts[1] > counts[2]
    every = chain.converted(obj, keys="EVERY").report
    assert every.keys == every.keys_if_every > counts[0]


def test_still_stretches_have_no_keys(tmp_path):
    obj, frames = slow_wave()
    scenes.cached(obj, tmp_path / "wave.pc2", frames)
    bpy.context.scene.frame_end = len(frames)
    _, _, armature, _ = chain.built(obj, keys="REDUCED", key_tolerance=0.1)
    for curve in chain.curves(armature.animation_data.action):
        inside = [point.co[0] for point in curve.keyframe_points if 3 < point.co[0] < 18]
        assert not inside
