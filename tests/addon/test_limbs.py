"""Rolls of bones along chains of known hinges."""

import numpy as np
import pytest
from ossify import limbs, native, placement

SPREAD = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.05, 0.5, 0.95)])


def stacked(axes, kinds, plane=None):
    """[b][3][3] X, Y and Z of bones that stand one above the other, each with its hinge"""
    count = len(axes)
    rest = np.concatenate([SPREAD + np.array([0, 0, b]) for b in range(count)])
    dense = np.kron(np.eye(count), np.ones((len(SPREAD), 1)))
    skeleton = native.Skeleton(
        root=0,
        parents=np.arange(count) - 1,
        joints=np.array([[0.0, 0, b] for b in range(count)]),
        kinds=kinds,
        axes=np.array(axes, float),
        angles=np.full(count, 0.5),
        drifts=np.zeros(count),
        mirrors=np.arange(count) if plane is not None else np.full(count, -1),
        plane=plane,
        message="",
    )
    bones = placement.place(rest, dense, np.empty((0, 3), int), np.eye(3))
    limbs.lay(bones, rest, dense, skeleton, np.eye(3))
    ways = bones.tails - bones.heads
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return np.stack([np.cross(ways, bones.facing), ways, bones.facing], axis=1)


def test_a_hinge_is_x_and_its_chain_follows():
    slanted = np.array([0.6, 0.8, 0])
    found = stacked([(0, 0, 0), slanted, (0, 0, 0)], ["root", "hinge", "ball"])
    for axes in found:
        assert abs(axes[0] @ slanted) == pytest.approx(1, abs=1e-6)
        assert axes[0] @ found[0][0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("turn", [0.2, 0.7, 0.9, 1.5, 2.5, 3.0])
def test_hinges_across_each_other_do_not_twist_a_chain(turn):
    """The second is the bone's X or its Z, whichever turns it by less than half a right angle."""
    other = np.array([np.cos(turn), np.sin(turn), 0])
    found = stacked([(0, 0, 0), (1, 0, 0), other], ["root", "hinge", "hinge"])
    assert max(abs(found[2][0] @ other), abs(found[2][2] @ other)) == pytest.approx(1, abs=1e-6)
    assert found[1][0] @ found[2][0] > np.sqrt(0.5) - 1e-6


def test_in_the_middle_of_a_symmetric_body_x_goes_from_side_to_side():
    """However a tail wags."""
    axes = [(0, 0, 0), (0.6, 0.8, 0), (0, 1, 0)]
    for found in stacked(axes, ["root", "hinge", "hinge"], plane=np.array([1.0, 0, 0, 0])):
        assert abs(found[0][0]) == pytest.approx(1, abs=1e-6)
