"""The tube of Merry, Marais and Gain (2006), Figure 2: python bench/tube.py

A tube with two bones twists by 0 to 180 degrees and bends by 0 to 90, in 40 poses each. What its middle ring
keeps of its radius, and E_RMS, with linear blend skinning and in animation space; and 30 degrees beyond.

    twist: a ring at share w of the way turns by w t; bend: the middle third is an arc of angle t.
"""

import dataclasses
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "addon"))

import native

RINGS, AROUND, RADIUS, LENGTH, ARC = 61, 24, 0.5, 6.0, 2.0
POSES = 40
BEYOND = 30  # degrees
MOTIONS = {"twist": 180, "bend": 90}  # and how far, in degrees


class Tube(NamedTuple):
    rest: np.ndarray  # [v][3] along X, the joint at 0
    triangles: np.ndarray
    share: np.ndarray  # [v] 0: of the first bone, 1: of the second


def tube(rings=RINGS, around=AROUND):
    along = np.linspace(-LENGTH / 2, LENGTH / 2, rings)
    angle = 2 * np.pi * np.arange(around) / around
    x, a = (grid.ravel() for grid in np.meshgrid(along, angle, indexing="ij"))
    rest = np.stack([x, RADIUS * np.cos(a), RADIUS * np.sin(a)], 1)
    ring, step = np.meshgrid(np.arange(rings - 1), np.arange(around), indexing="ij")
    corner = (ring * around + step).ravel(), (ring * around + (step + 1) % around).ravel()
    triangles = [
        [corner[0], corner[1], corner[0] + around],
        [corner[1], corner[1] + around, corner[0] + around],
    ]
    faces = np.concatenate([np.stack(three, 1) for three in triangles])
    return Tube(rest.astype(np.float32), faces.astype(np.int32), np.clip(x / ARC + 0.5, 0, 1))


def turn(axis, angle):
    """[n][3][3] about X (0) or Z (2)"""
    c, s = np.cos(angle), np.sin(angle)
    one, none = np.ones_like(c), np.zeros_like(c)
    rows = [[one, none, none], [none, c, -s], [none, s, c]] if axis == 0 else None
    rows = rows or [[c, -s, none], [s, c, none], [none, none, one]]
    return np.moveaxis(np.array(rows), -1, 0)


def twisted(made, degrees):
    """The tube and its two bones at so many degrees."""
    angle = np.radians(degrees)
    points = np.einsum("vij,vj->vi", turn(0, angle * made.share), made.rest)
    return points, np.concatenate([turn(0, np.array([0, angle])), np.zeros((2, 3, 1))], axis=2)


def bent(made, degrees):
    """Along an arc of constant length; the bones are the straight ends."""
    angle = max(np.radians(degrees), 1e-9)
    x = made.rest[:, 0].astype(float)
    inside, radius = angle * made.share, ARC / angle
    centre = np.stack([radius * np.sin(inside), radius * (1 - np.cos(inside)), 0 * x], 1)
    over = np.where(np.abs(x) > ARC / 2, x - np.sign(x) * ARC / 2, 0)
    ways = turn(2, inside)
    section = made.rest * [0, 1, 1]
    points = centre + over[:, None] * ways[:, :, 0] + np.einsum("vij,vj->vi", ways, section)
    points[:, 0] -= ARC / 2
    ends = turn(2, np.array([0, angle]))
    at = np.array([radius * np.sin(angle) - ARC / 2, radius * (1 - np.cos(angle)), 0])
    moves = np.stack([np.zeros(3), at - ends[1] @ [ARC / 2, 0, 0]])
    return points, np.concatenate([ends, moves[:, :, None]], axis=2)


POSED = {"twist": twisted, "bend": bent}


def poses(made, motion, degrees):
    """[f][v][3] and [f][b][3][4]"""
    found = [POSED[motion](made, angle) for angle in degrees]
    return np.array([points for points, _ in found], np.float32), np.array([bones for _, bones in found])


def rig_of(made, transforms):
    share = made.share[:, None]
    weights = np.concatenate([1 - share, share], axis=1)
    bones = np.where(weights > 0, [0, 1], -1)
    order = np.argsort(-weights, axis=1, kind="stable")
    bones, weights = (np.take_along_axis(array, order, 1) for array in (bones, weights))
    return native.Rig(transforms, bones.astype(np.int32), weights.astype(np.float32), made.rest)


def middle_radius(points):
    """Of the ring in the middle, in radii of the tube"""
    ring = points[AROUND * (RINGS // 2) : AROUND * (RINGS // 2 + 1)].astype(float)
    return float(np.linalg.norm(ring - ring.mean(axis=0), axis=1).mean()) / RADIUS


@dataclasses.dataclass
class Figures:
    erms: tuple[float, float]  # linear, animation space
    beyond: tuple[float, float]  # the same, in a pose 30 degrees beyond
    ends: tuple[float, float]  # radius of the middle ring in the extreme pose
    middle: tuple[float, float]  # and half-way


def measure(motion, rest_exact):
    made, far = tube(), MOTIONS[motion]
    frames, transforms = poses(made, motion, np.linspace(0, far, POSES))
    rig = rig_of(made, transforms)
    fit = native.SpaceFit(rest_exact=rest_exact)
    _, space, _ = native.animation_space(made.rest, frames, made.triangles, rig, fit)

    def both(degrees):
        shown, bones = poses(made, motion, degrees)
        posed = dataclasses.replace(rig, transforms=bones)
        return [native.evaluate(made.rest, shown, posed, space=some) for some in (None, space)]

    erms = tuple(found.erms for found in both(np.linspace(0, far, POSES)))
    beyond = tuple(found.erms for found in both([far + BEYOND]))
    radii = [tuple(middle_radius(found.frames[0]) for found in both([angle])) for angle in (far, far / 2)]
    return Figures(erms, beyond, *radii)


def main():
    print("| | linear | rest exact | rest a pose |\n|---|---|---|---|")
    for motion in MOTIONS:
        exact, free = (measure(motion, rest_exact) for rest_exact in (True, False))
        rows = {"E_RMS": "erms", f"E_RMS {BEYOND} degrees beyond": "beyond", "radius at the end": "ends"}
        for words, name in (rows | {"radius half-way": "middle"}).items():
            plain, one, two = getattr(exact, name)[0], getattr(exact, name)[1], getattr(free, name)[1]
            print(f"| {motion}, {words} | {plain:.3g} | {one:.3g} | {two:.3g} |")


if __name__ == "__main__":
    main()
