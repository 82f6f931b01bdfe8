"""The measure of bones turned by hand: known answers, and rigs that are known to pose well and badly."""

import numpy as np
import pytest

import posing

AROUND, RINGS = 12, 25


def bar():
    """A tube along z: points [v][3], triangles, and the height of each point in 0..1"""
    angles, heights = 2 * np.pi * np.arange(AROUND) / AROUND, np.linspace(0, 1, RINGS)
    points = [(0.1 * np.cos(a), 0.1 * np.sin(a), h) for h in heights for a in angles]
    low = [(r * AROUND + k, r * AROUND + (k + 1) % AROUND) for r in range(RINGS - 1) for k in range(AROUND)]
    faces = [(a, b, b + AROUND) for a, b in low] + [(a, b + AROUND, a + AROUND) for a, b in low]
    return np.array(points), np.array(faces), np.repeat(heights, AROUND)


def shares(height, soft):
    """[v][2] two bones that meet in the middle, over a length `soft`"""
    upper = np.clip((height - 0.5) / soft + 0.5, 0, 1)
    return np.stack([1 - upper, upper], axis=1)


def test_a_bone_that_moves_everything_bends_nothing():
    points, faces, _ = bar()
    found = posing.posing(points, points[None], faces, points, np.ones((len(points), 1)))
    assert found["stretch"] < 1e-9
    assert found["volume_percent"] < 1e-9
    assert found["normal_degrees"] < 1e-4


def test_a_bone_turns_about_its_middle_where_it_shares_nothing():
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0.0)])
    weight, turn = np.array([0, 0, 1.0, 1.0]), posing.turned(0, posing.ANGLE)
    shape = posing.posed(points, weight, turn)
    pivot = points[2:].mean(axis=0)
    assert shape[:2] == pytest.approx(points[:2])
    assert shape[2:] == pytest.approx((points[2:] - pivot) @ turn.T + pivot)


def test_a_pose_of_the_source_itself_is_found():
    points, faces, height = bar()
    weights = shares(height, 0.3)
    bent = posing.posed(points, weights[:, 1], posing.turned(0, posing.ANGLE))
    spun = bent @ posing.turned(2, 1.0).T + [3, 2, 1]  # anywhere else, as a whole
    rows = np.unique(faces)
    off, area = posing.normals_off(bent, [points, spun], rows, faces)
    assert np.sqrt(off / area) < 1e-4
    off, area = posing.normals_off(bent, [points], rows, faces)
    assert np.sqrt(off / area) > 5


def test_bones_that_cancel_each_other_pose_worse():
    """In the clip both rigs stand still; by hand the noisy one is torn."""
    points, faces, height = bar()
    smooth = shares(height, 0.3)
    upper = np.clip(smooth[:, 1] + 0.3 * np.random.default_rng(1).uniform(-1, 1, len(points)), 0, 1)
    noisy = np.stack([1 - upper, upper], axis=1)
    good, bad = (posing.posing(points, points[None], faces, points, weights) for weights in (smooth, noisy))
    assert good["stretch"] < 0.5 * bad["stretch"]
    assert good["normal_degrees"] < 0.5 * bad["normal_degrees"]
