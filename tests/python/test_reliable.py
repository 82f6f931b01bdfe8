"""What must not end the process, nor last: lengths that do not go together, and very many edges."""

import time

import numpy as np
import pytest

import native

SETTINGS = native.Settings(bones=3, threads=1)


def strip(frames=4):
    """A strip of 2 x 12 vertices that bends in two places"""
    along, across = np.divmod(np.arange(24), 2)
    rest = np.stack([along, across, 0 * along], 1).astype(np.float32)
    motion = np.repeat(rest[None], frames, 0)
    for f in range(frames):
        motion[f, :, 2] += f * (np.maximum(along - 4, 0) + 2 * np.maximum(along - 8, 0))
    at = np.arange(0, 22, 2)
    triangles = np.concatenate([np.stack([at, at + 1, at + 3], 1), np.stack([at, at + 3, at + 2], 1)])
    return rest, motion, triangles.astype(np.int32)


@pytest.mark.parametrize("size", [1e-40, 1e-45, 1e-30])
def test_a_rest_pose_beside_which_frames_are_endless_is_refused(size):
    rest, frames, triangles = strip()
    with pytest.raises(native.OssifyError, match="in the same unit"):
        native.decompose(rest * np.float32(size), frames, triangles, SETTINGS)


@pytest.mark.parametrize("size", [1e-40, 1e-30, 1e25])
def test_all_of_another_size_is_solved(size):
    rest, frames, triangles = strip()
    rig, info = native.decompose(rest * np.float32(size), frames * np.float32(size), triangles, SETTINGS)
    assert np.isfinite(rig.transforms).all()
    assert np.isfinite(info.erms)


def test_edges_by_the_hundred_thousand_end_soon():
    rest, frames, triangles = strip()
    rig, _ = native.decompose(rest, frames, triangles, SETTINGS)
    began = time.process_time()
    wishes = native.Wishes(demanded=[(0, 1)] * 200_000, forbidden=[(1, 2)] * 200_000)
    native.connect(rig, triangles, wishes, SETTINGS)
    assert time.process_time() - began < 20
