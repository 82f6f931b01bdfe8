"""Tails of bones, which child continues a limb, and rolls along chains of known hinges."""

import numpy as np
import pytest
from known_skeletons import skeleton_of
from ossify import native
from ossify.skeleton import limbs, placement

NO_FACES = np.empty((0, 3), int)
SPREAD = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.05, 0.5, 0.95)])


def laid(skeleton, parts, dense=None):
    """The bones of a body; parts: [n][3] what each of them moves. Also the children that tails lead to."""
    rest = np.concatenate(parts)
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    dense = np.eye(len(parts))[owners] if dense is None else dense
    bones = placement.place(rest, dense, NO_FACES, np.eye(3))
    return bones, limbs.lay(bones, rest, dense, NO_FACES, skeleton, np.eye(3))[1]


def rod(start, end, radius=0.1, count=40):
    """Points around the way from one place to another."""
    start, end = np.array(start, float), np.array(end, float)
    way = (end - start) / np.linalg.norm(end - start)
    side = np.cross(way, (0.36, 0.48, 0.8))
    side /= np.linalg.norm(side)
    across = np.stack([side, np.cross(way, side)])
    turns = 2 * np.pi * np.arange(8) / 8
    ring = radius * np.stack([np.cos(turns), np.sin(turns)], 1) @ across
    return np.concatenate([start + t * (end - start) + ring for t in np.linspace(0, 1, count)])


def test_an_end_bone_ends_in_the_far_end_of_its_part():
    """A lower leg with a foot that turns off to the front: the bone does not end above the toes."""
    foot = [rod((0, 0, 1), (0, 0, 0)), rod((0, 0, 0), (0, -1, 0))]
    bones, _ = laid(
        skeleton_of([-1, 0], [(0, 0, 1.5), (0, 0, 1)]), [rod((0, 0, 2), (0, 0, 1)), np.concatenate(foot)]
    )
    toes = np.concatenate(foot)[np.concatenate(foot)[:, 1] < -0.6].mean(axis=0)
    assert np.linalg.norm(bones.tails[1] - toes) < 0.3
    assert np.linalg.norm(np.concatenate(foot) - bones.tails[1], axis=1).min() < 0.15


def test_an_end_bone_is_as_long_as_what_it_rules():
    """It also has a fifth of what its parent moves, all the way."""
    parts = [rod((0, 0, 0), (0, 0, 4)), rod((0, 0, 4), (0, 0, 4.5), count=10)]
    dense = np.zeros((sum(map(len, parts)), 2))
    dense[: len(parts[0])] = 0.8, 0.2
    dense[len(parts[0]) :, 1] = 1
    bones, _ = laid(skeleton_of([-1, 0], [(0, 0, 0), (0, 0, 4)]), parts, dense)
    assert bones.tails[1] == pytest.approx([0, 0, 4.5], abs=0.1)


PELVIS = [rod((0, -2, 0), (0, -1, 0)), rod((0, -1, 0), (0, 0, 0))]
LEGS = [rod((0.3, 0, 0), (0.4, 0.3, -2)), rod((-0.3, 0, 0), (-0.4, 0.2, -2.1))]


def test_one_of_two_legs_does_not_continue_a_pelvis():
    """Though nobody knows that the body is symmetric."""
    parts = [*PELVIS, *LEGS]
    joints = [(0, -1.5, 0), (0, -1, 0), (0.3, 0, 0), (-0.3, 0, 0)]
    bones, leading = laid(skeleton_of([-1, 0, 1, 1], joints), parts)
    assert leading.tolist() == [1, -1, -1, -1]
    assert bones.tails[1] == pytest.approx([0, 0, 0], abs=0.15)


def test_a_tail_between_two_legs_continues_a_pelvis():
    parts = [*PELVIS, *LEGS, rod((0, 0.1, 0), (0, 1.5, 0.2), 0.05, 20)]
    joints = [(0, -1.5, 0), (0, -1, 0), (0.3, 0, 0), (-0.3, 0, 0), (0, 0.1, 0)]
    _, leading = laid(skeleton_of([-1, 0, 1, 1, 1], joints), parts)
    assert leading.tolist() == [1, 4, -1, -1, -1]


def stacked(axes, kinds, plane=None):
    """[b][3][3] X, Y and Z of bones that stand one above the other, each with its hinge"""
    count = len(axes)
    rest = np.concatenate([SPREAD + np.array([0, 0, b]) for b in range(count)])
    dense = np.kron(np.eye(count), np.ones((len(SPREAD), 1)))
    skeleton = skeleton_of(
        np.arange(count) - 1,
        [(0, 0, b) for b in range(count)],
        kinds=kinds,
        axes=np.array(axes, float),
        mirrors=np.arange(count) if plane is not None else np.full(count, -1),
        plane=plane,
    )
    bones = placement.place(rest, dense, np.empty((0, 3), int), np.eye(3))
    limbs.lay(bones, rest, dense, NO_FACES, skeleton, np.eye(3))
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


def test_a_chain_of_which_a_part_has_a_mirror_image_is_not_twisted():
    """A spine of three bones with an arm; one of the three was taken for the arm's image."""
    parts = [*(rod((0, 0, b), (0, 0, b + 1)) for b in range(3)), rod((0.5, 0, 2), (1.5, 0.3, 1.8))]
    skeleton = skeleton_of([-1, 0, 1, 1], [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0.5, 0, 2)])
    plain, chain = laid(skeleton, parts)
    assert chain.tolist() == [1, 2, -1, -1]
    images = {"mirrors": np.array([-1, -1, 3, 2]), "plane": np.array([1.0, 0, 0, 0.3])}
    found, _ = laid(skeleton._replace(**images), parts)
    for values, known in ((found.facing, plain.facing), (found.tails, plain.tails)):
        assert values == pytest.approx(known)


def test_mirrored_legs_have_mirrored_rolls():
    """Also where one bone of them was not found to be an image."""
    legs = [rod((0.5, 0, 0), (0.6, -0.2, -1)), rod((0.6, -0.2, -1), (0.7, 0.2, -2))]
    flip = np.array([-1.0, 1, 1])
    parts = [rod((0, 0, 0), (0, 0, 1)), *legs, *(leg * flip for leg in legs)]
    joints = [(0, 0, 0), (0.5, 0, 0), (0.6, -0.2, -1), (-0.5, 0, 0), (-0.6, -0.2, -1)]
    images = {"mirrors": np.array([0, 3, -1, 1, -1]), "plane": np.array([1.0, 0, 0, 0])}
    found, _ = laid(skeleton_of([-1, 0, 1, 0, 3], joints, **images), parts)
    for left, right in ((1, 3), (2, 4)):
        assert found.facing[right] == pytest.approx(found.facing[left] * flip, abs=0.02)


def test_images_in_legs_of_unlike_lengths_have_mirrored_rolls():
    """The right one has a bone more, and the hinge of the left one was not found there."""
    legs = [rod((0.5, 0, 0), (0.6, -0.2, -1)), rod((0.6, -0.2, -1), (0.7, 0.2, -2))]
    flip = np.array([-1.0, 1, 1])
    hip = rod((-0.3, 0, 0.4), (-0.5, 0, 0))
    parts = [rod((0, 0, 0), (0, 0, 1)), *legs, hip, *(leg * flip for leg in legs)]
    parts.append(rod((0, 0, 1), (0, 0, 3), count=200))
    joints = [(0, 0, 0), (0.5, 0, 0), (0.6, -0.2, -1), (-0.3, 0, 0.4), (-0.5, 0, 0), (-0.6, -0.2, -1)]
    joints.append((0, 0, 1))
    axes = np.zeros((7, 3))
    axes[2] = 0.6, 0.8, 0
    images = {"mirrors": np.array([0, 4, 5, -1, 1, 2, 6]), "plane": np.array([1.0, 0, 0, 0])}
    kinds = ["root", "ball", "hinge", "ball", "ball", "ball", "ball"]
    skeleton = skeleton_of([-1, 0, 1, 0, 3, 4, 0], joints, kinds=kinds, axes=axes, **images)
    found, leading = laid(skeleton, parts)
    assert leading.tolist() == [6, 2, -1, 4, 5, -1, -1]
    for left, right in ((1, 4), (2, 5)):
        assert found.facing[right] == pytest.approx(found.facing[left] * flip, abs=0.02)


ARMS = [rod((0.4, 0, 1), (1.4, 0, 1)), rod((1.4, 0, 1), (2.4, 0, 0.9))]
PERSON = [
    *ARMS,
    *(arm * (-1, 1, 1) for arm in ARMS),
    rod((0, 0, -2), (0, 0, 1.2)),
    rod((0, 0, 1.2), (0, 0, 2)),
]


@pytest.mark.parametrize("order", [range(6), range(5, -1, -1), (2, 4, 3, 0, 1, 5)])
def test_a_limb_does_not_depend_on_the_order_of_bones(order):
    """Two arms with hands, a trunk and a head, which hang from the right arm."""
    joints = np.array([(0.4, 0, 1), (1.4, 0, 1), (-0.4, 0, 1), (-1.4, 0, 1), (-0.4, 0, 1), (0, 0, 1.2)])
    parents, mirrors = [4, 0, -1, 2, 2, 4], [2, 3, 0, 1, 4, 5]
    number = {-1: -1, **{b: i for i, b in enumerate(order)}}
    skeleton = skeleton_of(
        [number[parents[b]] for b in order],
        joints[list(order)],
        mirrors=np.array([number[mirrors[b]] for b in order]),
        plane=np.array([1.0, 0, 0, 0]),
    )
    _, leading = laid(skeleton, [PERSON[b] for b in order])
    assert leading[number[2]] == number[4]  # the trunk goes on where the arm hangs, and the hand branches off
    assert leading[number[0]] == number[1]


@pytest.mark.parametrize("share", [0.1, 2.0], ids=["jaw", "neck"])
def test_a_bone_does_not_end_at_a_small_part_inside_of_what_it_moves(share):
    """A neck along z, what it carries from z = 1 to 2, and a last bone whose joint is just above z = 1."""
    heights = np.concatenate([np.linspace(0, 1, 50), np.linspace(1, 2, 100), np.full(int(100 * share), 1.2)])
    points = np.stack([0 * heights, 0.1 * np.sin(np.arange(len(heights))), heights], -1)
    dense = np.zeros((len(points), 3))
    dense[:50, 0] = dense[50:150, 1] = dense[150:, 2] = 1
    joints = np.array([(0, 0, 0), (0, 0, 1), (0, 0, 1.1)], float)
    bare = np.zeros(3)
    skeleton = native.Skeleton(
        *(0, np.array([-1, 0, 1]), joints, ["root", "ball", "ball"], np.zeros((3, 3)), bare, bare),
        *(np.full(3, -1), None, ""),
    )
    leading = limbs.leads(skeleton, limbs.Region.of(points, dense, np.empty((0, 3), int)), 0.01)
    assert leading.tolist() == [1, -1 if share < 1 else 2, -1]


CHEST = np.concatenate([rod((0, 0, 1), (0, 0, 1.8)), rod((0.3, 0, 1.2), (1.2, 0, 1.5), 0.3)])
AROUND = [
    rod((0, 0, 0), (0, 0, 1)),
    rod((0.3, 1, 1.7), (0.3, 2, 1.7)),
    rod((-0.3, -1, 1.7), (-0.3, -2, 1.7)),
    rod((0, -0.5, 0.5), (0, -0.5, -1)),
]


@pytest.mark.parametrize("leg", [0, 3], ids=["of the pelvis", "of the chest"])
def test_a_chest_goes_up_to_the_shoulders_though_it_has_a_front(leg):
    """Also if a leg hangs from it, beyond its tail."""
    origin = CHEST.mean(axis=0)
    joints = [origin, (0, 0, 1), (0.3, 1, 1.7), (-0.3, -1, 1.7), (0, -0.5, 0.5)]
    bones, leading = laid(skeleton_of([-1, 0, 0, 0, 1 if leg == 0 else 0], joints), [CHEST, *AROUND])
    assert leading[0] == 1
    assert bones.tails[0] == pytest.approx([0, 0, 1], abs=1e-6)
    way = bones.heads[0] - bones.tails[0]
    assert way == pytest.approx([0, 0, 0.7], abs=0.05)  # no further than the shoulders
