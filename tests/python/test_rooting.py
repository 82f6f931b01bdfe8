"""Which bone a body hangs from when nobody says it."""

import itertools

import numpy as np
import pytest
from ossify import native
from ossify.skeleton import rooting


def turned(angle, axis=(1.0, 0.0, 0.0)):
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


# A body along y in three parts, a head in front of it and a leg of two parts under each end of it.
PARENTS = [1, 2, -1, 2, 1, 4, 3, 6]
PLACES = [(0, -3, 0), (0, -2, 0), (0, -1, 0), (0, 0, 0), (0, -2, -1), (0, -2, -2), (0, 0, -1), (0, 0, -2)]
SIZES = [20, 60, 60, 60, 15, 15, 15, 15]


def body(angles, frames=12):
    """A rig whose bones turn about their places by `angles` at most, and which hang as PARENTS says."""
    random = np.random.default_rng(1)
    points = [
        np.array(place) + random.uniform(-0.5, 0.5, (n, 3)) for place, n in zip(PLACES, SIZES, strict=True)
    ]
    owners = np.repeat(np.arange(len(SIZES)), SIZES)
    transforms = np.zeros((frames, len(SIZES), 3, 4))
    for f in range(frames):
        for b, angle in enumerate(angles):
            turn = turned(angle * np.sin(2 * np.pi * f / frames + b))
            transforms[f, b] = np.column_stack([turn, np.array(PLACES[b]) - turn @ np.array(PLACES[b])])
    bones = np.full((len(owners), 4), -1, np.int32)
    bones[:, 0] = owners
    weights = np.zeros((len(owners), 4), np.float32)
    weights[:, 0] = 1
    return native.Rig(transforms, bones, weights, np.concatenate(points).astype(np.float32))


def skeleton(root):
    """PARENTS hung from another bone."""
    parents = np.array(PARENTS)
    chain, b = [root], root
    while parents[b] >= 0:
        b = int(parents[b])
        chain.append(b)
    for lower, upper in itertools.pairwise(chain):
        parents[upper] = lower
    parents[root] = -1
    n = len(parents)
    kinds = ["root" if p < 0 else "ball" for p in parents]
    return native.Skeleton(
        *(root, parents, np.array(PLACES, float), kinds, np.zeros((n, 3)), np.full(n, 0.5), np.zeros(n)),
        *(np.full(n, -1), None, ""),
    )


NONE = np.empty((0, 3), int)


@pytest.mark.parametrize("end", [0, 5, 7], ids=["head", "fore foot", "hind foot"])
def test_a_body_does_not_hang_from_an_end_of_it(end):
    """Even if that end does not turn; of the middle, the part that turns least is taken."""
    angles = np.full(len(PARENTS), 0.8)
    angles[end], angles[2] = 0.0, 0.3
    assert rooting.balanced(skeleton(end), body(angles), NONE) == 2


def test_a_chain_hangs_from_its_end():
    """A snake's head or a tentacle's stump is a root like any other."""
    rig = body(np.full(len(PARENTS), 0.8))
    chain = skeleton(0)._replace(parents=np.arange(len(PARENTS)) - 1)
    assert rooting.balanced(chain, rig, NONE) == 0
    forked = chain._replace(parents=np.where(np.arange(len(PARENTS)) == 7, 5, chain.parents))
    assert rooting.balanced(forked, rig, NONE) != 0


def test_a_root_in_the_middle_stays():
    angles = np.full(len(PARENTS), 0.8)
    angles[2] = 0.1
    assert rooting.balanced(skeleton(1), body(angles), NONE) == 1


def test_a_pair_is_no_root():
    """As long as another bone is to be had."""
    angles = np.full(len(PARENTS), 0.8)
    angles[0], angles[2] = 0.0, 0.1
    paired = skeleton(0)
    paired.mirrors[2], paired.mirrors[1] = 1, 1
    assert rooting.balanced(paired, body(angles), NONE) == 1


def test_the_skeleton_is_hung_from_the_middle():
    angles = np.full(len(PARENTS), 0.8)
    angles[0] = 0.0
    rig, edges = body(angles), [(parent, b) for b, parent in enumerate(PARENTS) if parent >= 0]
    wishes = native.Wishes(symmetry="none", demanded=edges)
    assert native.connect(rig, NONE, wishes).root == 0
    found = rooting.connect(rig, NONE, wishes)
    assert found.root in (1, 2, 3)
    assert found.parents[found.root] == -1
    assert (found.parents < 0).sum() == 1


def test_a_root_that_is_asked_for_is_given():
    rig = body(np.full(len(PARENTS), 0.8))
    assert rooting.connect(rig, NONE, native.Wishes(root=5, symmetry="none")).root == 5
