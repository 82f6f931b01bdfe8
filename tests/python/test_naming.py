"""Names of chains: by where they end, and unlike for unlike ones; sides are those of mirror images."""

import itertools

import numpy as np
import pytest
from known_skeletons import skeleton_of
from ossify.skeleton import limbs, mirror, naming

PLANE = np.array([1.0, 0, 0, 0])


def named(chains, tips, rest, mirrors, plane=PLANE):
    """What chains of one bone each are called; tips [b][3] where they end"""
    parents = np.where(np.arange(len(tips)) == 0, -1, 0)
    skeleton = skeleton_of(parents, np.zeros((len(tips), 3)), mirrors=np.array(mirrors), plane=plane)
    pieces = mirror.pieces(skeleton, chains)
    pairs = naming.name_pieces(skeleton, pieces, np.array(tips, float), np.array(rest, float), np.eye(3))
    return [name + side for name, side in pairs]


def bone_names(skeleton, chains, tails):
    pieces = mirror.pieces(skeleton, chains)
    return naming.name_bones(pieces, naming.name_pieces(skeleton, pieces, tails, tails, np.eye(3)), set())


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


LEGS = [(0, 0, 0), *((x, 0, -z) for x in (0.5, -0.5) for z in (1, 2, 3))]


def legs(mirrors):
    """Names of two legs of three bones each, 1 to 3 and 4 to 6"""
    skeleton = skeleton_of([-1, 0, 1, 2, 0, 4, 5], LEGS, mirrors=np.array(mirrors), plane=PLANE)
    return bone_names(skeleton, [[0], [1, 2, 3], [4, 5, 6]], np.array(LEGS, float) - (0, 0, 1))[1:]


def test_bones_that_have_no_image_have_numbers_of_their_own():
    left, right = ["Down.001.L", "Down.002.L", "Down.003.L"], ["Down.001.R", "Down.002.R", "Down.003.R"]
    assert legs([0, 4, 5, 6, 1, 2, 3]) == left + right
    assert legs([0, -1, 5, 6, -1, 2, 3]) == [
        *("Down.001.L", "Down.003.L", "Down.004.L"),
        *("Down.002.R", "Down.003.R", "Down.004.R"),
    ]


def test_images_of_which_one_is_further_from_the_root_share_a_number():
    """As a foreleg of four bones and one of three do: the first has one more at the shoulder."""
    assert legs([0, -1, 4, 5, 2, 3, -1]) == [
        *("Down.001.L", "Down.002.L", "Down.003.L"),
        *("Down.002.R", "Down.003.R", "Down.004.R"),
    ]


def test_one_bone_with_an_image_gives_limbs_their_sides():
    assert [name[-2:] for name in legs([0, -1, -1, 6, -1, -1, 3])] == [".L"] * 3 + [".R"] * 3


def test_images_in_an_order_of_their_own_are_not_in_one_chain():
    found = legs([0, 5, 4, 6, 2, 1, 3])
    assert len(set(found)) == 6
    for left, right in ((0, 4), (1, 3), (2, 5)):
        assert other_side(found[left]) == found[right]


def test_a_root_with_an_image_is_the_core_and_none_of_a_pair():
    tails = np.array([(1, 0, 0), (-1, 0, 0), (0, 0, 1)], float)
    skeleton = skeleton_of([-1, 2, 0], tails, mirrors=np.array([1, 0, 2]), plane=PLANE)
    found = bone_names(skeleton, [[0], [2], [1]], tails)
    assert found == ["Core.001", "DownSide.001.R", "Up.001"]


def other_side(name):
    """As Blender flips it."""
    return name[:-1] + {"L": "R", "R": "L"}[name[-1]] if name[-2:] in (".L", ".R") else name


def check_sides(names, mirrors, root):
    """Names that differ in the side alone are those of mirror images, and images have such names."""
    for b, name in enumerate(names):
        other = other_side(name)
        if other != name and other in names:
            assert mirrors[b] == names.index(other)
        elif mirrors[b] not in (-1, b):
            assert root in (b, mirrors[b])


@pytest.mark.parametrize("seed", range(40))
def test_sides_are_those_of_images_in_any_skeleton(seed):
    """Of any tree, with any bones for images, numbers rise along every limb."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 30))
    parents = np.array([-1, *(rng.integers(0, b) for b in range(1, count))])
    order, mirrors = rng.permutation(count), np.full(count, -1)
    split = order[: 2 * int(rng.integers(0, count // 2 + 1))].reshape(-1, 2)
    mirrors[split[:, 0]], mirrors[split[:, 1]] = split[:, 1], split[:, 0]
    alone = np.flatnonzero(mirrors < 0)
    middle = alone[rng.random(len(alone)) < 0.5]
    mirrors[middle] = middle
    tails = rng.normal(size=(count, 3))
    leading = np.full(count, -1)
    leading[parents[1:]] = np.arange(1, count)
    chains = limbs.chains(parents, leading)
    names = bone_names(skeleton_of(parents, tails, mirrors=mirrors, plane=PLANE), chains, tails)
    assert len(set(names)) == count
    check_sides(names, mirrors, 0)
    for chain in chains:
        for before, b in itertools.pairwise(chain):
            (stem, number, *side), (later, higher, *other) = names[before].split("."), names[b].split(".")
            assert (stem, side) != (later, other) or number < higher


def about_z(degrees):
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([(cosine, -sine, 0), (sine, cosine, 0), (0, 0, 1)])


def about_x(degrees):
    return np.roll(about_z(degrees), (1, 1), (0, 1))


def turned(points, degrees):
    """About Z."""
    return np.array(points, float) @ about_z(degrees).T


CAT = [(0, 0, 0), (0.5, -2, -1), (-0.5, -2, -1), (0.5, 2, -1), (-0.5, 2, -1), (0, 3.5, 0.2), (0, -3, 1)]
CAT_NAMES = ["Core", "FrontDown.L", "FrontDown.R", "BackDown.L", "BackDown.R", "Back", "FrontUp"]


@pytest.mark.parametrize("degrees", [0, 35, 60, 90])
def test_names_turn_with_the_body(degrees):
    plane = np.append(turned([(1, 0, 0)], degrees)[0], 0.0)
    tips = turned(CAT, degrees)
    for sign in (1, -1):
        assert named([[b] for b in range(7)], tips, tips, [0, 2, 1, 4, 3, 5, 6], sign * plane) == CAT_NAMES


@pytest.mark.parametrize("spin", [(0, 90), (90, 0), (90, 180)])
def test_names_turn_with_the_object(spin):
    """It has its own +X for its left; up is up in the world."""
    stands = about_x(spin[0])
    world = about_z(spin[1]) @ stands
    tips = np.array(CAT, float) @ stands  # as it lies in the object for it to stand in the world
    parents = np.where(np.arange(7) == 0, -1, 0)
    skeleton = skeleton_of(parents, np.zeros((7, 3)), mirrors=np.array([0, 2, 1, 4, 3, 5, 6]), plane=PLANE)
    pieces = mirror.pieces(skeleton, [[b] for b in range(7)])
    found = naming.name_pieces(skeleton, pieces, tips, tips, world)
    assert [name + side for name, side in found] == CAT_NAMES


def test_what_ends_in_the_plane_is_on_no_side():
    """Two tails and a leg that has no image: the plane parts them, and not the middle of where they end."""
    tips = [(0, 0, 0), (0.5, 2, -1), (0, 2, -0.9), (0, 2, -0.95), (-0.5, -2, 1)]
    found = named([[b] for b in range(5)], tips, tips, [0, -1, 2, -1, -1])
    assert found == ["Core", "BackDownSide.L", "BackDown", "BackDown2", "FrontUp.R"]


def test_without_a_plane_nothing_is_left_or_right():
    tips = [(0, 0, 0), (2, 0, 0), (-2, 0, 0.1), (0, 0, 2)]
    found = named([[b] for b in range(4)], tips, tips, [-1] * 4, None)
    assert found == ["Core", "DownSide", "DownSide2", "Up"]


def test_the_plane_is_the_middle_though_a_body_reaches_further_on_one_side():
    tips = [(0, 0, 0), (0.1, 0, 2), (0, 0, -2), (4, 0, 0)]
    found = named([[b] for b in range(4)], tips, tips, [0, -1, 2, -1])
    assert found == ["Core", "Up", "Down", "Side.L"]


def test_another_body_is_on_no_side_of_the_plane_of_the_first():
    """A person with two arms and an ear, and on the left another, whose arms nothing is known to mirror."""
    tips = [(0, 0, 0), (1, 0, 1), (-1, 0, 1), (5, 0, 0), (6, 0, 1), (4, 0, 1), (0.6, -1, 2)]
    skeleton = skeleton_of(
        [-1, 0, 0, -1, 3, 3, 0],
        np.zeros((7, 3)),
        mirrors=np.array([0, 2, 1, -1, -1, -1, -1]),
        plane=PLANE,
    )
    pieces = mirror.pieces(skeleton, [[b] for b in range(7)])
    tips = np.array(tips, float)
    found = naming.name_pieces(skeleton, pieces, tips, tips, np.eye(3))
    assert [side for _, side in found] == ["", ".L", ".R", "", "", "", ".L"]
    assert len(set(found)) == 7
