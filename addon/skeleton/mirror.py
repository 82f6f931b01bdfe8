"""The plane that mirrors a body, and bones and limbs that are mirror images of each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..native import Skeleton
from .placement import Bones, unit

_UPRIGHT = 0.5  # sine of the angle from which on a plane's normal does not go from side to side
_ALONG = 0.7  # of a bone's length: what is left of it in the plane of the mirror
_BURDEN = 0.25  # of the body: no limb carries as much that its mirror image does not


class Mirror(NamedTuple):
    plane: np.ndarray  # [4] n.x = d
    images: np.ndarray  # [b] the bone on the other side, itself in the middle, -1 none


def reflected(points: np.ndarray, plane: np.ndarray) -> np.ndarray:
    """[...][3] on the other side of n.x = d"""
    normal, distance = plane[:3], plane[3]
    return points - 2 * (points @ normal - distance)[..., None] * normal


def oriented(plane: np.ndarray) -> np.ndarray:
    """The plane with its normal toward the left: +X, as for all of Blender's mirror tools and for a character
    that faces -Y; of a body that is turned, the positive end of the axis that is nearest to the normal."""
    return plane * np.sign(plane[np.abs(plane[:3]).argmax()])


def frame(plane: np.ndarray | None, world: np.ndarray) -> np.ndarray:
    """[3][3] left, back and up, a row each: the world's X, Y and Z, turned about Z as the body is.

    world [3][3]: the world's axes, a row each.
    """
    left = world @ oriented(plane)[:3] if plane is not None else world[0]
    left = unit(left, (1, 0, 0))
    if plane is None or abs(left[2]) > _UPRIGHT:
        return world
    x, y, _ = unit(left * (1, 1, 0), (1, 0, 0))
    return np.array([(x, y, 0), (-y, x, 0), (0, 0, 1)]) @ world


def sides(mirror: Mirror, points: np.ndarray) -> list[str]:
    """For each bone ".L", ".R", or "" without an image on the other side; points [b][3] where they are"""
    plane = oriented(mirror.plane)
    along = points @ plane[:3]
    pairs = [(b, image) if image >= 0 else (b, b) for b, image in enumerate(mirror.images)]
    return ["" if b == image else ".L" if along[b] > along[image] else ".R" for b, image in pairs]


def even_out(bones: Bones, mirror: Mirror) -> None:
    """Lays bones on the right as those on the left are, and those in the middle into the plane."""
    flat = np.append(mirror.plane[:3], 0.0)  # for directions
    left = np.array([side == ".L" for side in sides(mirror, bones.heads)], bool)
    images = mirror.images[left]
    for values, plane in ((bones.heads, mirror.plane), (bones.tails, mirror.plane), (bones.facing, flat)):
        values[images] = reflected(values[left], plane)
    middle = mirror.images == np.arange(len(mirror.images))
    ends = np.stack([bones.heads, bones.tails])
    level = (ends + reflected(ends, mirror.plane)) / 2
    lengths = [np.linalg.norm(heads - tails, axis=1) for heads, tails in (ends, level)]
    along = middle & (lengths[1] > _ALONG * lengths[0])  # one that lies across the plane stays as it is
    bones.heads[along], bones.tails[along] = level[:, along]


# ---- limbs


class Pieces(NamedTuple):
    """Chains of bones, cut so that each piece has one other for its mirror image, or none, or is its own."""

    chains: list[list[int]]
    pairs: dict[int, int]  # the piece on the other side
    images: np.ndarray  # [b] as the skeleton's, but for a root that is not in the middle: it has none


def _images(skeleton: Skeleton) -> np.ndarray:
    """What hangs from one of two images does not hang from the other: they play unlike parts."""
    images, root = np.array(skeleton.mirrors), skeleton.root
    if images[root] != root:
        images[images == root] = images[root] = -1
    return images


def _cut(
    chain: list[int], images: np.ndarray, number: dict[int, tuple[int, int]], core: bool
) -> list[list[int]]:
    """Bones stay together if their images follow each other in one chain, too; others go with the last."""
    pieces, last = [[]], None
    for b in chain:
        at = number.get(int(images[b]))
        if at is not None:
            follows = not core or images[b] == b if last is None else at == (last[0], last[1] + 1)
            if not follows and pieces[-1]:
                pieces.append([])
            last = at
        pieces[-1].append(b)
    return pieces


def pieces(skeleton: Skeleton, chains: list[list[int]]) -> Pieces:
    """Of a skeleton's limbs."""
    images = _images(skeleton)
    imaged = [[b for b in chain if images[b] >= 0] for chain in chains]
    number = {b: (i, n) for i, bones in enumerate(imaged) for n, b in enumerate(bones)}
    cut = [piece for chain in chains for piece in _cut(chain, images, number, skeleton.root in chain)]
    of_bone = {b: i for i, piece in enumerate(cut) for b in piece}
    pairs = {of_bone[b]: of_bone[int(images[b])] for b in number}
    return Pieces(cut, {i: other for i, other in pairs.items() if i != other}, images)


def lopsided(skeleton: Skeleton, below: np.ndarray) -> np.ndarray:
    """[b] whether it hangs from one bone of a pair, and nothing like it from the other, with more of the body
    than a limb carries: hindquarters that hang from a foreleg. below [b]: shares, of all that hangs there"""
    images, parents = (
        np.append(skeleton.mirrors, -1),
        skeleton.parents,
    )  # -1 has no image, nor has what is none
    above = images[parents]
    paired = (above >= 0) & (above != parents)
    own = images[np.arange(len(parents))]
    alike = (own >= 0) & (np.append(parents, -1)[own] == above)
    return paired & ~alike & (below > _BURDEN)
