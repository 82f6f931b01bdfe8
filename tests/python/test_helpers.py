"""Hidden helpers, and the bones that they hang from."""

import numpy as np
import pytest
from ossify.native import Rig, Skeleton
from ossify.skeleton import helpers

JAW, BROW = 1, 3
HELPS = np.array([False, False, False, True])


def turned(angles, about):
    """[f][3][4] about the X axis through a point"""
    found = np.zeros((len(angles), 3, 4))
    for f, angle in enumerate(angles):
        c, s = np.cos(angle), np.sin(angle)
        found[f, :, :3] = [[1, 0, 0], [0, c, -s], [0, s, c]]
        found[f, :, 3] = about - found[f, :, :3] @ about
    return found


def face(like):
    """A skull, a jaw and a leg; a helper in the brow, led by the jaw, that moves like one of them."""
    rng = np.random.default_rng(5)
    rest = rng.uniform(-1, 1, (40, 3))
    dense = np.zeros((40, 4))
    dense[:10, 0] = 1  # the skull, which shares ten vertices more with the brow
    dense[10:20, 0], dense[10:20, BROW] = 0.4, 0.6
    dense[20:30, JAW] = 1
    dense[20, JAW], dense[20, BROW] = 0.9, 0.1
    dense[30:, 2] = 1
    skull = turned(rng.uniform(-0.3, 0.3, 9), np.zeros(3))
    jaw, leg = (turned(rng.uniform(-0.8, 0.8, 9), np.array([0, 0.5, z])) for z in (-0.3, -2))
    ways = [skull, jaw, leg]
    brow = ways[like] + rng.normal(0, 1e-3, (9, 3, 4)) * [0, 0, 0, 1]
    bones = np.tile(np.arange(4, dtype=np.int32), (40, 1))
    rig = Rig(np.stack([*ways, brow], axis=1), bones, dense.astype(np.float32), rest.astype(np.float32))
    zeros, none = np.zeros(4), np.full(4, -1, np.int32)
    parents, kinds = np.array([-1, 0, 0, JAW], np.int32), ["root", "ball", "ball", "loose"]
    middle = np.average(rest, axis=0, weights=dense[:, BROW])
    joints = np.array([[0, 0, 0], [0, 0.5, -0.3], [0, 0.5, -2], middle])
    skeleton = Skeleton(0, parents, joints, kinds, np.zeros((4, 3)), zeros, zeros, none, None, "")
    return rig, skeleton


def test_a_helper_hangs_from_the_bone_whose_skin_and_motion_it_shares():
    rig, skeleton = face(like=0)
    found = helpers.rehung(rig, skeleton, HELPS)
    assert found.parents.tolist() == [-1, 0, 0, 0]
    assert found.drifts[BROW] == pytest.approx(
        100 * 1e-3 * np.sqrt(3) / np.linalg.norm(np.ptp(rig.rest, 0)), rel=0.5
    )
    assert found.angles[BROW] == pytest.approx(0, abs=1e-6)
    assert skeleton.parents.tolist() == [-1, 0, 0, JAW]


def test_a_helper_that_moves_like_its_leader_stays_with_it():
    rig, skeleton = face(like=JAW)
    assert helpers.rehung(rig, skeleton, HELPS).parents.tolist() == skeleton.parents.tolist()


def test_a_helper_stays_where_nobody_shares_more_skin_with_it():
    """Also if one that it never touches moves just as it does."""
    rig, skeleton = face(like=2)
    skeleton = skeleton._replace(parents=np.array([-1, 0, 0, 0], np.int32))
    assert helpers.rehung(rig, skeleton, HELPS).parents.tolist() == [-1, 0, 0, 0]
