"""Jitter smoothed in time: closer to the motion without it, and nothing is done to motion that has none."""

import numpy as np
import pytest
from ossify.motion import jitter


def arm(frames=60, vertices=300, speed=2.0):
    """[f][v][3] a rod that swings at its upper half, and walks."""
    along = np.linspace(0, 1, vertices)
    time = np.linspace(0, 1, frames)[:, None]
    turn = 0.8 * np.sin(2 * np.pi * speed * time) * np.clip(3 * along - 1, 0, 1)
    beyond = np.maximum(along - 0.5, 0)
    points = np.stack(
        [
            beyond * np.sin(turn),
            0.1 * np.sin(40 * along) + 0 * turn,
            np.minimum(along, 0.5) + beyond * np.cos(turn),
        ],
        -1,
    )
    return points + np.array([0.5, 0.0, 0.0]) * time[:, :, None]


def rms(a, b):
    return np.sqrt(((a.astype(np.float64) - b) ** 2).sum(axis=2).mean())


def white(rng, clean, amount):
    return amount * rng.normal(size=clean.shape)


def whole_parts(rng, clean, amount):
    """Jitter that moves neighbours alike, as of a generator: the rig would follow it."""
    along = np.linspace(0, 1, clean.shape[1])
    shapes = np.cos(np.outer(along, rng.uniform(2, 9, 6)) + rng.uniform(0, 6, 6))
    return amount * np.einsum("vm,fmc->fvc", shapes, rng.normal(size=(len(clean), 6, 3))) / np.sqrt(3)


@pytest.mark.parametrize("amount", [0.002, 0.01])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_smoothed_is_closer_to_the_motion_without_jitter(amount, seed):
    clean = arm()
    seen = clean + whole_parts(np.random.default_rng(seed), clean, amount)
    found = jitter.steadied(seen.astype(np.float32), 1.0)
    assert rms(found.frames, clean) < 0.8 * rms(seen, clean)
    assert found.noise == pytest.approx(rms(seen, clean), rel=0.5)
    assert "was smoothed in time" in found.words


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_the_rig_leaves_out_is_smoothed_less(seed):
    """The mean of neighbours, which a bone follows, must not become worse."""
    clean = arm(vertices=6400)
    seen = clean + white(np.random.default_rng(seed), clean, 0.01)
    found = jitter.steadied(seen.astype(np.float32), 1.0).frames
    assert rms(found, clean) < rms(seen, clean)

    def parts(frames):
        return frames.reshape(len(frames), 64, 100, 3).mean(axis=2, dtype=np.float64)

    assert rms(parts(found), parts(clean)) < 1.05 * rms(parts(seen), parts(clean))


def test_the_strength_is_nearly_the_best_there_is():
    """Against all strengths, tried with the clean motion at hand, by least squares without eigenvectors."""
    clean = arm()
    seen = clean + whole_parts(np.random.default_rng(4), clean, 0.01)
    second = np.diff(np.eye(len(clean)), 2, axis=0)

    def smoothed(strength):
        system = np.eye(len(clean)) + strength * second.T @ second
        return np.linalg.solve(system, seen.reshape(len(seen), -1)).reshape(seen.shape)

    best = min(rms(smoothed(strength), clean) for strength in np.logspace(-3, 6, 60))
    assert rms(jitter.steadied(seen.astype(np.float32), 1.0).frames, clean) < 1.1 * best


def test_motion_without_jitter_stays():
    clean = arm().astype(np.float32)
    found = jitter.steadied(clean, 1.0)
    assert rms(found.frames, clean) < 2e-4
    even = (np.linspace(0, 3, 20)[:, None, None] + np.linspace(0, 1, 30)[:, None] * np.ones(3)).astype(
        np.float32
    )
    assert rms(jitter.steadied(even, 1.0).frames, even) < 1e-6


def test_frames_without_time_are_left_alone():
    poses = arm()[np.random.default_rng(5).permutation(60)].astype(np.float32)
    found = jitter.steadied(poses, 1.0)
    assert found.frames is poses
    assert "do not follow each other" in found.words
    assert "too few" in jitter.steadied(poses[:11], 1.0).words


def kicks(frames=48, vertices=400):
    """[f][v][3] a rod that jolts at once everywhere: its motion reaches to the quickest frequencies."""
    along, time = np.linspace(0, 1, vertices)[:, None], np.arange(frames)[:, None, None]
    blows = np.random.default_rng(8).uniform(0, frames, (7, 1, 1, 1))
    jolts = np.exp(-(((time - blows) / 1.6) ** 2))  # [7][f][1][1]
    ways = np.random.default_rng(9).normal(size=(7, 1, 1, 3))
    points = np.concatenate([0 * along, 0 * along, along], axis=1)
    return points + 0.05 * (jolts * ways * (1 + np.sin(3 * along[:, :1]))).sum(axis=0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_quick_motion_is_not_taken_for_jitter(seed):
    clean = kicks()
    assert rms(jitter.steadied(clean.astype(np.float32), 1.0).frames, clean) < 1e-4
    seen = clean + whole_parts(np.random.default_rng(seed), clean, 0.0005)
    assert rms(jitter.steadied(seen.astype(np.float32), 1.0).frames, clean) < 1.02 * rms(seen, clean)


def test_many_vertices_are_taken_in_parts(monkeypatch):
    clean = arm(vertices=50)
    seen = (clean + whole_parts(np.random.default_rng(6), clean, 0.01)).astype(np.float32)
    whole = jitter.steadied(seen, 1.0)
    monkeypatch.setattr(jitter, "_AT_ONCE", 3 * 60 * 7)
    parts = jitter.steadied(seen, 1.0)
    assert np.allclose(whole.frames, parts.frames, atol=1e-7)
    assert parts.words == whole.words
