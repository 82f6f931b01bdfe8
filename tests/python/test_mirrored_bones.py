"""Bones laid as mirror images of each other, and their sides."""

import numpy as np
import pytest
from known_skeletons import skeleton_of
from ossify.skeleton import mirror, placement

PLANE = np.array([1.0, 0, 0, 0.5])  # x = 0.5


def bones(heads, tails, facing=None):
    count = len(heads)
    facing = np.tile([0.0, 0, 1], (count, 1)) if facing is None else np.array(facing, float)
    return placement.Bones(np.array(heads, float), np.array(tails, float), facing, np.zeros((count, 8, 3)))


def test_the_right_is_laid_as_the_left_is():
    """Whichever way its bone lay."""
    laid = bones([(1, 0, 0), (0.1, 0, 0)], [(2, 1, 0), (0.3, 0, 0)], [(0.6, 0, 0.8), (0, 0, 1)])
    mirror.even_out(laid, mirror.Mirror(PLANE, np.array([1, 0])))
    assert laid.heads[1] == pytest.approx([0, 0, 0])
    assert laid.tails[1] == pytest.approx([-1, 1, 0])
    assert laid.facing[1] == pytest.approx([-0.6, 0, 0.8])
    assert laid.tails[0] == pytest.approx([2, 1, 0])


def test_a_bone_in_the_middle_lies_in_the_plane():
    laid = bones([(0.6, 0, 0), (0.0, 0, 0)], [(0.7, 1, 0), (1.0, 0.1, 0)])
    mirror.even_out(laid, mirror.Mirror(PLANE, np.array([0, 1])))
    assert (laid.heads[0][0], laid.tails[0][0]) == pytest.approx((0.5, 0.5))
    assert laid.tails[1] == pytest.approx([1.0, 0.1, 0])  # it lies across, and would be nothing


@pytest.mark.parametrize("normal", [1.0, -1.0])
def test_left_is_toward_positive_x(normal):
    turned = mirror.Mirror(normal * PLANE, np.array([1, 0, 2, -1]))
    places = np.array([(2.0, 0, 0), (-1, 0, 0), (0.5, 0, 0), (3, 0, 0)])
    assert mirror.sides(turned, places) == [".L", ".R", "", ""]


@pytest.mark.parametrize(
    ("parents", "mirrors", "below", "which"),
    [
        ([-1, 0, 0, 1], [0, 2, 1, -1], [1, 0.6, 0.1, 0.5], [3]),  # half of the body on the left arm alone
        ([-1, 0, 0, 1], [0, 2, 1, -1], [1, 0.2, 0.1, 0.1], []),  # a bag
        ([-1, 0, 0, 1, 2], [0, 2, 1, 4, 3], [1, 0.45, 0.45, 0.3, 0.3], []),  # both carry as much
        ([-1, 0, 0, 1], [0, 2, 1, 3], [1, 0.6, 0.1, 0.5], [3]),  # from the middle
        ([-1, 0, 1, 2], [-1, -1, -1, -1], [1, 0.9, 0.8, 0.7], []),  # nothing is mirrored
        ([-1, 0, 1, 2], [0, 1, 2, 3], [1, 0.9, 0.8, 0.7], []),  # a spine
    ],
)
def test_what_hangs_from_one_of_a_pair_with_much_of_the_body(parents, mirrors, below, which):
    skeleton = skeleton_of(parents, np.zeros((len(parents), 3)), mirrors=np.array(mirrors), plane=PLANE)
    assert np.flatnonzero(mirror.lopsided(skeleton, np.array(below))).tolist() == which
