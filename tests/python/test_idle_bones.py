"""Bones that move nothing leave."""

import numpy as np
import pytest
from known_skeletons import skeleton_of
from ossify import native
from ossify.skeleton import idle


def rig_of(bones, weights, count):
    transforms = np.zeros((3, count, 3, 4))
    transforms[:, :, :, :3] = np.eye(3)
    transforms[:, :, 0, 3] = np.arange(count)
    rest = np.random.default_rng(0).normal(size=(len(bones), 3)).astype(np.float32)
    return native.Rig(transforms, np.array(bones, np.int32), np.array(weights, np.float32), rest)


TRACES = rig_of(
    [[0, 2], [0, 1], [2, 3]], [[1.0, 0.0], [0.996, 0.004], [0.5, 0.5]], 5
)  # 1 has a trace, 4 nothing


def test_bones_without_weights_and_with_a_trace_of_them_leave():
    rig, none = idle.leave(TRACES)
    assert none is None
    assert rig.transforms[0, :, 0, 3].tolist() == [0, 2, 3]
    expected = [[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]]
    assert rig.dense_weights() == pytest.approx(np.array(expected), abs=1e-7)


def test_what_hangs_together_stays_so():
    """4 hangs from 1 and both leave, 3 hangs from 2."""
    skeleton = skeleton_of([-1, 0, 0, 2, 1], np.arange(15).reshape(5, 3), mirrors=np.array([0, 2, 1, 3, -1]))
    rig, left = idle.leave(TRACES, skeleton)
    assert rig.bones == 3
    assert left.parents.tolist() == [-1, 0, 1]
    assert left.mirrors.tolist() == [0, -1, 2]
    assert left.kinds == ["root", "ball", "ball"]
    assert left.joints.tolist() == [[0, 1, 2], [6, 7, 8], [9, 10, 11]]


def test_a_bone_that_others_hang_from_stays():
    skeleton = skeleton_of([-1, 0, 1, 2, 2], np.zeros((5, 3)))
    rig, left = idle.leave(TRACES, skeleton)
    assert left.parents.tolist() == [-1, 0, 1, 2]
    assert rig.bones == 4


def test_a_rig_that_is_in_use_stays_as_it_is():
    rig = rig_of([[0, 1], [1, 0]], [[0.7, 0.3], [1.0, 0.0]], 2)
    same, _ = idle.leave(rig)
    assert same is rig


def test_the_only_bone_is_not_faint():
    assert idle.faint(rig_of([[0], [0]], [[1.0], [1.0]], 1)).tolist() == [False]
