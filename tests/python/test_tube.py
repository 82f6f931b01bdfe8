"""bench/tube.py: the twisted and the bent tube, against what can be worked out on paper."""

import math

import numpy as np
import pytest

import tube

# A ring half-way between bones that twist by t is fitted as A cos(t/2) + B sin(t/2) = 1, over 0..180 degrees.
FREE = 2 / (math.pi / 2 + 1)  # A = B, by symmetry
EXACT = 2 / math.pi  # B, where A = 1: the rest stays


@pytest.mark.parametrize("motion", tube.MOTIONS)
def test_bones_move_the_ends_rigidly(motion):
    made = tube.tube()
    points, bones = tube.POSED[motion](made, 70.0)
    rest = np.c_[made.rest, np.ones(len(made.rest))]
    for end, bone in ((made.share == 0, 0), (made.share == 1, 1)):
        np.testing.assert_allclose(points[end], rest[end] @ bones[bone].T, atol=1e-6)


def test_a_twisted_tube_keeps_what_two_bones_can_keep():
    free, exact = tube.measure("twist", False), tube.measure("twist", True)
    assert free.ends[0] == pytest.approx(0, abs=1e-6)
    assert free.middle[0] == pytest.approx(math.cos(math.pi / 4), abs=1e-6)
    assert free.ends[1] == pytest.approx(FREE, abs=0.02)
    assert free.middle[1] == pytest.approx(math.sqrt(2) * FREE, abs=0.02)
    assert exact.ends[1] == pytest.approx(EXACT, abs=0.03)
    assert exact.middle[1] == pytest.approx((1 + EXACT) / math.sqrt(2), abs=0.03)
    assert free.erms[1] < exact.erms[1] < 0.4 * exact.erms[0]
    assert exact.beyond[1] < 0.6 * exact.beyond[0]


def test_a_bent_tube_stays_round():
    for rest_exact in (True, False):
        found = tube.measure("bend", rest_exact)
        assert found.erms[1] < 1.3 < 10 < found.erms[0]
        assert found.beyond[1] < 0.3 * found.beyond[0]
        assert found.ends[1] > 0.95 > found.ends[0]
