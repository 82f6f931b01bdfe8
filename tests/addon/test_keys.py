"""Key reduction: within the tolerance, by measuring what Blender shows."""

import itertools
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
        obj, keys="REDUCED", key_tolerance=tolerance, bone_kind=kind, bones=4, key_shape="LINEAR"
    )
    expected = chain.replay(motion, rig)
    moved = scenes.seen_frames(meshes[0], motion.times.tolist()) - expected
    size = scenes.size_of(rig.rest)
    assert np.sqrt((moved**2).sum(axis=-1)).max() <= tolerance / 100 * size * 1.001 + 2e-6 * size
    for curve in chain.curves(armature.animation_data.action):  # the still start needs two keys at most
        assert len(curve.keyframe_points) <= len(frames) - (STILL - 1)


@pytest.mark.parametrize("tolerance", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("kind", ["RIGID", "FLEXIBLE"])
def test_curves_keep_99_in_100_vertices_within_the_tolerance(tmp_path, tolerance, kind):
    obj, frames = slow_wave()
    scenes.cached(obj, tmp_path / "wave.pc2", frames)
    bpy.context.scene.frame_end = len(frames)
    chosen = {"keys": "REDUCED", "key_tolerance": tolerance, "bone_kind": kind, "bones": 4}
    motion, rig, armature, meshes = chain.built(obj, **chosen)
    moved = scenes.seen_frames(meshes[0], motion.times.tolist()) - chain.replay(motion, rig)
    off, size = np.sqrt((moved**2).sum(axis=-1)), scenes.size_of(rig.rest)
    limit = tolerance / 100 * size
    assert np.quantile(off, 0.99) <= 1.001 * limit + 2e-6 * size
    assert off.max() <= 3 * limit + 2e-6 * size
    curves = chain.curves(armature.animation_data.action)
    kinds = {point.interpolation for curve in curves for point in curve.keyframe_points}
    assert "BEZIER" in kinds
    for curve in curves:
        points = curve.keyframe_points
        for a, b in itertools.pairwise(points):  # time runs evenly between keys
            assert a.handle_right[0] - a.co[0] == pytest.approx((b.co[0] - a.co[0]) / 3, abs=1e-3)
    fewer = sum(len(curve.keyframe_points) for curve in curves)
    obj.hide_viewport = False
    obj.hide_set(False)
    straight = chain.built(obj, **chosen, key_shape="LINEAR")[2]
    assert fewer <= sum(len(c.keyframe_points) for c in chain.curves(straight.animation_data.action))


def test_the_report_counts_what_blender_has(tmp_path):
    obj, frames = slow_wave()
    scenes.cached(obj, tmp_path / "wave.pc2", frames)
    bpy.context.scene.frame_end = len(frames)
    result = chain.converted(obj, keys="REDUCED", key_tolerance=0.1)
    curves = chain.curves(result.armature.animation_data.action)
    kinds = [point.interpolation for curve in curves for point in curve.keyframe_points]
    report = result.report
    assert report.keys == len(kinds)
    assert report.numbers == len(kinds) + kinds.count("BEZIER")
    assert report.key_bytes == 4 * (report.keys + report.numbers)
    assert report.keys_within >= 0.99
    assert report.keys_moved <= 3 * 0.001 * report.size * 1.001
    line = next(line for line in report.lines() if " keys of " in line)
    assert f"{report.numbers:,} numbers" in line


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


@pytest.mark.parametrize("shape", ["BEZIER", "LINEAR"])
def test_still_stretches_have_no_keys(tmp_path, shape):
    obj, frames = slow_wave()
    scenes.cached(obj, tmp_path / "wave.pc2", frames)
    bpy.context.scene.frame_end = len(frames)
    _, _, armature, _ = chain.built(obj, keys="REDUCED", key_tolerance=0.1, key_shape=shape)
    for curve in chain.curves(armature.animation_data.action):
        inside = [point.co[0] for point in curve.keyframe_points if 3 < point.co[0] < 18]
        assert not inside
