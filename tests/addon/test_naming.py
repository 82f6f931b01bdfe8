"""Names of chains: by where they end, and unlike for unlike ones."""

import numpy as np
from ossify.skeleton import naming
from test_limbs import skeleton_of

PLANE = np.array([1.0, 0, 0, 0])


def named(chains, tips, rest, mirrors, root=0):
    """What chains of one bone each are called; tips [b][3] where they end"""
    parents = np.where(np.arange(len(tips)) == root, -1, root)
    skeleton = skeleton_of(parents, np.zeros((len(tips), 3)), mirrors=np.array(mirrors), plane=PLANE)
    pairs = naming.name_chains(skeleton, chains, np.array(tips, float), np.array(rest, float), np.eye(3))
    return [name + side for name, side in pairs]


def long_body(tips):
    """Four times as long as it is high, and narrow."""
    return np.concatenate([tips, [(0.2, -4, 1), (-0.2, 4, -1)]])


def test_legs_of_a_long_body_end_low():
    """The height counts as much as the length."""
    tips = [(0, -0.5, 0), (0.3, -2.5, -1), (-0.3, -2.5, -1), (0.3, 2, -1), (-0.3, 2, -1), (0, 4, 0.2)]
    found = named([[b] for b in range(6)], tips, long_body(tips), [0, 2, 1, 4, 3, 5])
    assert found == ["Core", "FrontDown.L", "FrontDown.R", "BackDown.L", "BackDown.R", "Back"]


def test_a_tail_between_legs_is_told_from_them():
    tips = [(0, 0, 0), (0.5, 2, -1), (-0.5, 2, -1), (0, 2.1, -0.9), (0, -2, 1)]
    found = named([[b] for b in range(5)], tips, tips, [0, 2, 1, 3, 4])
    assert found == ["Core", "BackDownSide.L", "BackDownSide.R", "BackDown", "FrontUp"]


def test_a_word_that_makes_a_third_name_is_told_from_that():
    """Two chains at the back, one low: that is where the legs are, too."""
    tips = [(0, 0, 0), (0.5, 2, -2), (-0.5, 2, -2), (0, 2, -0.5), (0, 2, 0.9), (0, -2, 2)]
    found = named([[b] for b in range(6)], tips, tips, [0, 2, 1, 3, 4, 5])
    assert len(set(found)) == 6
    assert not any("2" in name for name in found)


def test_chains_are_a_pair_if_most_of_their_bones_are():
    """The first bones of two legs were not found to be mirror images, the others were."""
    parents = [-1, 0, 1, 2, 0, 4, 5]
    joints = [
        (0, 0, 0),
        (0.5, 0, -1),
        (0.5, 0, -2),
        (0.5, 0, -3),
        (-0.5, 0, -1),
        (-0.5, 0, -2),
        (-0.5, 0, -3),
    ]
    skeleton = skeleton_of(parents, joints, mirrors=np.array([0, -1, 5, 6, -1, 2, 3]), plane=PLANE)
    tails = np.array(joints, float) - (0, 0, 1)
    pairs = naming.name_chains(skeleton, [[0], [1, 2, 3], [4, 5, 6]], tails, tails, np.eye(3))
    assert pairs == [("Core", ""), ("Down", ".L"), ("Down", ".R")]
    lonely = skeleton._replace(mirrors=np.array([0, -1, -1, 6, -1, -1, 3]))
    pairs = naming.name_chains(lonely, [[0], [1, 2, 3], [4, 5, 6]], tails, tails, np.eye(3))
    assert [side for _, side in pairs] == ["", "", ""]
