"""Curves through few keys: least squares, few keys, and within what is allowed."""

import math

import numpy as np
import pytest
from ossify.rig import bezier, channels


def hermite(t, keys, values, slopes):
    """A cubic Hermite spline at times t, written from its definition span by span."""
    result = np.empty((len(t), values.shape[1]))
    for row, time in enumerate(t):
        p = min(int(np.searchsorted(keys, time, side="right")) - 1, len(keys) - 2)
        h = keys[p + 1] - keys[p]
        s = (time - keys[p]) / h
        result[row] = (
            (2 * s**3 - 3 * s**2 + 1) * values[p]
            + (s**3 - 2 * s**2 + s) * h * slopes[p]
            + (3 * s**2 - 2 * s**3) * values[p + 1]
            + (s**3 - s**2) * h * slopes[p + 1]
        )
    return result


def some_keys(rng, frames, bones):
    keyed = rng.random((frames, bones)) < 0.2
    keyed[0] = keyed[-1] = True
    return keyed


def test_a_spline_comes_back_from_its_own_keys():
    rng, times = np.random.default_rng(1), np.arange(3.0, 63.0)
    keyed = some_keys(rng, 60, 3)
    values = np.empty((60, 3, 2))
    for b in range(3):
        keys = times[keyed[:, b]]
        values[:, b] = hermite(times, keys, rng.normal(size=(len(keys), 2)), rng.normal(size=(len(keys), 2)))
    points, slopes, spans = bezier.fit(values, times, keyed)
    again = bezier.between(points, slopes, spans)
    assert np.abs(again - values).max() < 0.02  # slopes are held a little
    for b in range(3):
        rows = np.flatnonzero(keyed[:, b])
        own = hermite(times, times[rows], points[rows, b], slopes[rows, b])
        assert np.abs(own - again[:, b]).max() < 1e-12


def test_no_other_values_and_slopes_are_nearer():
    """The gradient of the sum of squares, with the pull on slopes, is nothing."""
    rng, times = np.random.default_rng(2), np.arange(40.0)
    values, keyed = np.cumsum(rng.normal(size=(40, 2, 3)), axis=0), some_keys(rng, 40, 2)
    points, slopes, _ = bezier.fit(values, times, keyed)
    for b in range(2):
        rows = np.flatnonzero(keyed[:, b])
        wish = np.gradient(values[:, b], axis=0)[rows]

        def cost(y, m, b=b, rows=rows, wish=wish):
            near = hermite(times, times[rows], y, m) - values[:, b]
            return (near**2).sum() + bezier._SLOPE_PULL * ((m - wish) ** 2).sum()

        y, m = points[rows, b], slopes[rows, b]
        best = cost(y, m)
        for _ in range(30):
            dy, dm = 1e-4 * rng.normal(size=y.shape), 1e-4 * rng.normal(size=m.shape)
            assert cost(y + dy, m + dm) > best
            assert abs(cost(y + dy, m + dm) - cost(y - dy, m - dm)) < 1e-9 * max(best, 1)


def test_every_frame_keyed_is_met():
    values = np.random.default_rng(3).normal(size=(20, 2, 3))
    points, slopes, spans = bezier.fit(values, np.arange(20.0), np.ones((20, 2), bool))
    assert np.abs(bezier.between(points, slopes, spans) - values).max() < 1e-9


def carried(path, tolerance, curved=True):
    poses = np.tile(np.eye(4), (len(path), 1, 1, 1))
    poses[:, 0, :3, 3] = path
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    links = channels.Chain(np.eye(4)[None], np.array([-1]), corners[None], poses)
    (track,) = channels.tracks(links, np.arange(len(path)), tolerance, curved)
    return track


@pytest.mark.parametrize("seed", range(4))
def test_curves_stay_within_with_fewer_keys_than_lines(seed):
    rng = np.random.default_rng(seed)
    at = np.arange(120)[:, None] / 120
    path = sum(rng.normal(size=3) / n * np.sin(2 * math.pi * (n * at + rng.random(3))) for n in (1, 2, 3, 5))
    for tolerance in (0.001, 0.01, 0.05):
        track = carried(path, tolerance)
        near = hermite(np.arange(120), track.rows, track.location, track.slopes.location)
        assert np.linalg.norm(near - path, axis=1).max() <= tolerance * (1 + 1e-9)
        assert len(track.rows) < 0.7 * len(carried(path, tolerance, curved=False).rows)


def test_noise_and_jumps_end_and_stay_within():
    rng = np.random.default_rng(5)
    path = rng.normal(size=(50, 3))
    path[25:] += 40
    track = carried(path, 0.05)
    near = hermite(np.arange(50), track.rows, track.location, track.slopes.location)
    assert np.linalg.norm(near - path, axis=1).max() <= 0.05 * (1 + 1e-9)


def test_what_stands_still_has_its_ends_alone():
    assert carried(np.zeros((40, 3)), 0.01).rows.tolist() == [0, 39]


def test_the_sample_decides_how_far_corners_may_be_off():
    """Vertices near the middle of a large box move less than its corners: there are fewer keys."""
    turn = 0.3 * np.cumsum(np.random.default_rng(6).normal(size=100)) / 3
    poses = np.tile(np.eye(4), (100, 1, 1, 1))
    poses[:, 0, 0, 0] = poses[:, 0, 1, 1] = np.cos(turn)
    poses[:, 0, 1, 0], poses[:, 0, 0, 1] = np.sin(turn), -np.sin(turn)
    corners = 10 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    links = channels.Chain(np.eye(4)[None], np.array([-1]), corners[None], poses)
    (plain,) = channels.tracks(links, np.arange(100), 0.2, True)
    points = np.random.default_rng(7).uniform(-3, 3, size=(200, 3))
    links.skin = channels.Sample(points, np.zeros((200, 1), int), np.ones((200, 1)), 200)
    (track,) = channels.tracks(links, np.arange(100), 0.2, True)
    assert len(track.rows) < len(plain.rows)
    q = hermite(np.arange(100), track.rows, track.rotation, track.slopes.rotation)
    moved = np.einsum("fij,nj->fni", channels.rotations(q) - poses[:, 0, :3, :3], points)
    off = np.linalg.norm(moved, axis=-1)
    assert np.quantile(off, channels.WITHIN) <= 0.2 * (1 + 1e-9)
    assert off.max() <= 0.2 * channels.WORST
