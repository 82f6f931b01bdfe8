"""Where bones lie that hang side by side, and what tells a surface from a body."""

import numpy as np
import pytest
from ossify.base.surface import diagonal
from ossify.skeleton import placement


def sheet(wide, high, step=0.1):
    """A sheet in the plane of x and z that faces the front: points, triangles"""
    across, up = np.arange(0, wide + step / 2, step), np.arange(0, high + step / 2, step)
    points = np.array([(x, 0.0, z) for z in up for x in across])
    n = len(across)
    corners = [r * n + c for r in range(len(up) - 1) for c in range(n - 1)]
    triangles = [t for a in corners for t in ((a, a + 1, a + n + 1), (a, a + n + 1, a + n))]
    return points, np.array(triangles)


def tube(rings=20, around=12, radius=0.2, length=2.0):
    """Along z: points, triangles"""
    turns = 2 * np.pi * np.arange(around) / around
    heights = np.linspace(0, length, rings)
    points = np.array([(radius * np.cos(t), radius * np.sin(t), z) for z in heights for t in turns])
    triangles = []
    for r in range(rings - 1):
        for k in range(around):
            a, b = r * around + k, r * around + (k + 1) % around
            triangles += [(a, b, b + around), (a, b + around, a + around)]
    return points, np.array(triangles)


def owned(owners):
    return np.eye(owners.max() + 1)[owners]


def test_the_pin_of_a_long_strip_is_not_longer_than_others():
    """A flag's strip along its pole."""
    points, triangles = sheet(3.0, 2.0)
    owners = np.where(
        points[:, 0] < 0.5, 0, 1 + (points[:, 0] // 0.76).astype(int) * 3 + (points[:, 2] // 0.7).astype(int)
    )
    owners = np.unique(owners, return_inverse=True)[1]
    bones = placement.place(points, owned(owners), triangles)
    lengths = np.linalg.norm(bones.tails - bones.heads, axis=1)
    assert lengths[0] < 1.3 * np.median(lengths)
    assert lengths.max() < 0.2 * diagonal(points)


def test_a_sheet_has_no_parts():
    points, triangles = sheet(2.0, 2.0)
    owners = (points[:, 0] // 0.5).clip(0, 3).astype(int) * 4 + (points[:, 2] // 0.5).clip(0, 3).astype(int)
    assert placement.moves_patches(points, owned(owners), triangles)


@pytest.mark.parametrize("parts", [1, 5])
def test_a_tube_has_parts(parts):
    points, triangles = tube()
    owners = np.minimum(points[:, 2] / 2.0 * parts, parts - 1).astype(int)
    assert not placement.moves_patches(points, owned(owners), triangles)


def ball(rings=24, around=32):
    """Points and triangles."""
    points, triangles = tube(rings, around)
    turns, heights = np.arctan2(points[:, 1], points[:, 0]), np.pi * points[:, 2] / 2.0
    return np.stack(
        [np.sin(heights) * np.cos(turns), np.sin(heights) * np.sin(turns), np.cos(heights)], 1
    ), triangles


def test_patches_on_a_head_are_a_face():
    points, triangles = ball()
    patches = 100 + (points[:, 0] // 0.5).astype(int) + 10 * (points[:, 2] // 0.5).astype(int)
    owners = np.unique(np.where(points[:, 1] < -0.4, patches, 0), return_inverse=True)[1]
    assert placement.agreements(points, owned(owners), triangles).mean() < 0.95
    assert placement.moves_patches(points, owned(owners), triangles)


def test_halves_of_limbs_are_no_face():
    """A body with twice as many bones as it has parts: normals agree as much as on a face."""
    points, triangles = tube()
    owners = 2 * np.minimum(points[:, 2] / 0.5, 3).astype(int) + (points[:, 0] > 0)
    assert placement.agreements(points, owned(owners), triangles).mean() > 0.55
    assert not placement.moves_patches(points, owned(owners), triangles)


def test_points_without_faces_have_parts():
    points, _ = tube()
    assert not placement.moves_patches(points, np.ones((len(points), 1)), np.empty((0, 3), int))


def test_surface_counts_and_not_vertices():
    """One end of a sheet has ten times as many vertices: the bone is in the middle all the same."""
    coarse, triangles = sheet(2.0, 1.0, 0.25)
    fine, more = sheet(2.0, 1.0, 0.05)
    fine[:, 0] += 2.0
    points = np.concatenate([coarse, fine])
    triangles = np.concatenate([triangles, more + len(coarse)])
    bones = placement.place(points, np.ones((len(points), 1)), triangles)
    assert bones.heads[0] == pytest.approx([2.0, 0.0, 0.5], abs=0.05)


def test_what_a_bone_lends_a_hand_to_does_not_move_it():
    points, triangles = tube()
    dense = np.zeros((len(points), 2))
    dense[:, 1] = np.where(points[:, 2] > 1.7, 1.0, 0.2)  # rules the upper end alone
    dense[:, 0] = 1 - dense[:, 1]
    bones = placement.place(points, dense, triangles)
    assert (bones.heads[1][2], bones.tails[1][2]) > (1.6, 1.6)


def test_the_bone_of_a_body_without_neighbours_points_up():
    points, triangles = tube()
    bones = placement.place(points, np.ones((len(points), 1)), triangles)
    assert bones.tails[0][2] > bones.heads[0][2] + 0.5


def test_a_nose_among_patches_has_a_pin_and_no_bone_across():
    """On a body the same part is an end of a limb, and the bone runs through it."""
    points, triangles = sheet(2.0, 2.0, 0.05)
    aside = points[:, [0, 2]] - 1.0
    height = np.sqrt(np.maximum(0.3**2 - (aside**2 * (1, 0.25)).sum(axis=1), 0))
    points[:, 1] -= 1.2 * height
    owners = 1 + (points[:, 0] // 0.501).astype(int) * 4 + (points[:, 2] // 0.501).astype(int)
    dense = owned(np.unique(np.where(height > 0, 0, owners), return_inverse=True)[1])
    assert 0.5 < placement.agreements(points, dense, triangles)[0] < 0.75
    bones = placement.place(points, dense, triangles)
    ways = bones.tails - bones.heads
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    assert ways[0] == pytest.approx(ways[1:].mean(axis=0), abs=0.1)
    assert abs(ways[0, 1]) > 0.99
