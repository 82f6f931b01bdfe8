"""Channels of bones and the fewest keys that follow them."""

import math

import numpy as np
import pytest
from ossify.base import rigid
from ossify.rig import channels


def turns(rng, count):
    q = rng.normal(size=(count, 4))
    return channels.rotations(q)


def test_quaternions_come_back():
    rotations = turns(np.random.default_rng(1), 500)
    assert np.abs(channels.rotations(channels.quaternions(rotations)) - rotations).max() < 1e-12
    half = np.array([np.diag(d) for d in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, 1])], float)
    assert np.abs(channels.rotations(channels.quaternions(half)) - half).max() < 1e-12


def test_continuous_quaternions_start_positive_and_never_turn_back():
    angles = np.linspace(0, 20, 100)
    q = np.stack([np.cos(angles / 2), np.sin(angles / 2), 0 * angles, 0 * angles], -1)
    flipped = q * np.where(np.arange(100) % 3, 1, -1)[:, None]
    back = channels.continuous(flipped)
    assert np.allclose(back, q)


def test_singular_values_come_back_smoothly():
    rng = np.random.default_rng(2)
    matrices = np.eye(3) + 0.4 * np.cumsum(rng.normal(size=(60, 5, 3, 3)), axis=0) / 8
    u, s, vt = channels.singular(matrices)
    assert np.abs(u @ (s[..., None] * vt) - matrices).max() < 1e-9
    for side in (u, vt):
        assert np.abs(np.linalg.det(side) - 1).max() < 1e-9


def test_equal_scales_leave_the_axes_where_they_were():
    rng = np.random.default_rng(3)
    u, s, vt = channels.singular(turns(rng, 20)[:, None])
    assert np.abs(vt - np.eye(3)).max() < 1e-6
    assert np.abs(s - 1).max() < 1e-9
    assert np.abs(np.linalg.det(u) - 1).max() < 1e-9


def test_body_motion_of_a_rigid_body_a_line_and_a_point():
    rng = np.random.default_rng(4)
    moves = turns(rng, 6)
    for rest in (rng.normal(size=(50, 3)), np.outer(np.linspace(0, 1, 9), [1, 2, 3]), np.ones((1, 3))):
        frames = np.array([rest @ move.T + [f, 0, 1] for f, move in enumerate(moves)])
        body = rigid.body_motion(rest.astype(np.float32), frames.astype(np.float32))
        again = np.einsum("fij,vj->fvi", body[:, :3, :3], rest) + body[:, None, :3, 3]
        assert np.abs(again - frames).max() < 1e-4
        assert np.abs(np.linalg.det(body[:, :3, :3]) - 1).max() < 1e-9


def test_body_motion_does_not_follow_a_swinging_part():
    rest = np.random.default_rng(5).normal(size=(400, 3))
    frames = np.tile(rest, (5, 1, 1))
    frames[:, :80, 0] += np.linspace(0, 3, 5)[:, None]  # a fifth of the body swings out
    body = rigid.body_motion(rest, frames)
    assert np.abs(body - np.eye(4)).max() < 0.03


# ---- reduction


def carried(path, tolerance):
    """The frames kept of one bone that is carried along a path [f][3]."""
    poses = np.tile(np.eye(4), (len(path), 1, 1, 1))
    poses[:, 0, :3, 3] = path
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    links = channels.Chain(np.eye(4)[None], np.array([-1]), corners[None], poses)
    (track,) = channels.tracks(links, np.arange(len(path)), tolerance)
    return track.rows.tolist()


def fewest_keys(path, tolerance):
    """The least number of keys that keep every frame within the tolerance, over all choices of frames."""
    frames = len(path)
    least = [1] + [frames] * (frames - 1)
    for last in range(1, frames):
        for first in range(last):
            share = np.linspace(0, 1, last - first + 1)[:, None]
            between = path[first] + share * (path[last] - path[first])
            if np.linalg.norm(between - path[first : last + 1], axis=1).max() <= tolerance:
                least[last] = min(least[last], least[first] + 1)
    held = [np.linalg.norm(path[row:] - path[row], axis=1).max() <= tolerance for row in range(frames)]
    return min(count for count, ends in zip(least, held, strict=True) if ends)


def test_straight_stretches_have_keys_at_their_corners():
    times, corners = [0, 7, 20, 29], np.array([(0, 0, 0), (1, 0, 0), (1, 3, 0), (0, 1, 2)], float)
    path = np.stack([np.interp(np.arange(30), times, axis) for axis in corners.T], -1)
    assert carried(path, 1e-6) == times


@pytest.mark.parametrize("seed", range(4))
def test_about_as_few_keys_as_any_choice_of_frames_needs(seed):
    """Splitting at the worst frame looks no further ahead: half as many again is what that may cost."""
    rng = np.random.default_rng(seed)
    at = np.arange(60)[:, None] / 60
    path = sum(rng.normal(size=3) / n * np.sin(2 * math.pi * (n * at + rng.random(3))) for n in (1, 2, 3, 5))
    for tolerance in (0.003, 0.01, 0.03, 0.1):
        assert fewest_keys(path, tolerance) <= len(carried(path, tolerance))
        assert len(carried(path, tolerance)) <= 1.5 * fewest_keys(path, tolerance)


def test_no_tolerance_at_all_ends():
    rng = np.random.default_rng(6)
    poses = np.tile(np.eye(4), (30, 3, 1, 1))
    poses[:, :, :3, :3] = turns(rng, 90).reshape(30, 3, 3, 3)
    links = channels.Chain(
        rest=np.tile(np.eye(4), (3, 1, 1)),
        parents=np.array([-1, 0, 1]),
        boxes=rng.normal(size=(3, 8, 3)),
        transforms=poses,
    )
    tracks = channels.tracks(links, np.arange(30), 0.0)
    assert [len(track.rows) for track in tracks] == [30, 30, 30]
