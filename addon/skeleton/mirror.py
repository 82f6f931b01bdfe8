"""The plane that mirrors a body, and bones that are mirror images of each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .placement import Bones

_ALONG = 0.7  # of a bone's length: what is left of it in the plane of the mirror


class Mirror(NamedTuple):
    plane: np.ndarray  # [4] n.x = d
    images: np.ndarray  # [b] the bone on the other side, itself in the middle, -1 none


def reflected(points: np.ndarray, plane: np.ndarray) -> np.ndarray:
    """[...][3] on the other side of n.x = d"""
    normal, distance = plane[:3], plane[3]
    return points - 2 * (points @ normal - distance)[..., None] * normal


def oriented(plane: np.ndarray) -> np.ndarray:
    """The plane with its normal toward the left, which is +X."""
    return plane * np.sign(plane[np.abs(plane[:3]).argmax()])


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
