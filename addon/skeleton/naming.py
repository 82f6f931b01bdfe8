"""Names of a skeleton's bones: by the place of their chain, numbered from the root, and by side.

`Core.001` is the skeleton's own root and `Core.002` continues it. Other chains are named for where they end,
seen from the middle of the body, and if several end alike, from each other. Left and right are what the plane
of symmetry parts, and front and back go along it; without one nothing is left or right, and front is -Y.

`FrontDown.001.L` and `FrontDown.001.R` are mirror images of each other, always: poses are pasted flipped by
these names, and Blender also flips the words Left and Right, so no name has them. A bone without an image on
a limb that has one gets a number of its own, which the other side lacks, and a limb without one a name of its
own. A chain in the middle keeps the name that it shares with others on the sides, and they become
`BackDownSide`. Nothing is called by a part of the body, since none was recognised.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..native import Skeleton
from . import limbs
from .mirror import Pieces, frame, oriented, reflected

CORE = "Core"
_AXES = (("Side", "Side"), ("Front", "Back"), ("Down", "Up"))  # toward the low and the high end of an axis
_ORDER = (1, 2, 0)  # in which words of several axes stand
_THIN = 0.4  # of the largest extent: a body that is less high, wide or long counts as if it were
_MIDDLE = 0.2  # of half the extent: what ends nearer to the middle of the body is in no direction
_ALSO = 0.6  # of the largest direction: what is less is not named
_APART = 0.1  # of half the extent: chains of like places that end further apart get another word
_CENTRAL = 0.1  # of half the width: what has no image and ends nearer to the plane of symmetry is on no side
_RANK = (0.1, 1.0, 0.3)  # what is further back, or up, or left, comes first of chains that are called alike


class _Place:
    """Where a chain, or a pair of them, ends: right to left, front to back, low to high; body's ends at 1."""

    def __init__(self, tip: np.ndarray, side: str):
        self.tip, self.side = tip, side
        sizes = np.abs(tip)
        if side and sizes[0] < sizes.max():  # .L and .R say it
            sizes[0] = 0
        named = np.flatnonzero((sizes >= _ALSO * sizes.max()) & (sizes.max() >= _MIDDLE))
        self.words = {int(axis): _AXES[axis][int(tip[axis] > 0)] for axis in named}

    def tell_apart(self, axis: int, middle: float) -> None:
        self.words[axis] = _AXES[axis][int(self.tip[axis] > middle)]

    def name(self) -> str:
        return "".join(self.words[axis] for axis in _ORDER if axis in self.words) or "Middle"


def _tell_apart(places: list[_Place]) -> None:
    """Gives places of one name another word: to those on a side, or by the axis along which they are furthest
    apart."""
    sided = [place for place in places if place.side and 0 not in place.words]
    if 0 < len(sided) < len(places):
        for place in sided:
            place.tell_apart(0, 0.0)
        _tell_apart(sided)
        _tell_apart([place for place in places if place not in sided])
        return
    tips = np.array([place.tip for place in places])
    spread = np.ptp(tips, axis=0)
    spread[0] = 0
    for place in places:
        spread[list(place.words)] = 0
    axis = int(spread.argmax())
    if len(places) < 2 or spread[axis] < _APART:
        return
    for place in places:
        place.tell_apart(axis, float(tips[:, axis].min() + tips[:, axis].max()) / 2)
    for name in sorted({place.name() for place in places}):
        _tell_apart([place for place in places if place.name() == name])


def _tips(tails: np.ndarray, skeleton: Skeleton, rest: np.ndarray, world: np.ndarray) -> np.ndarray:
    """[b][3] where bones end, in the directions of names; the middle of the body is at 0, its ends at 1"""
    axes = frame(skeleton.plane, world)
    points = rest @ axes.T
    low, high = points.min(axis=0), points.max(axis=0)
    half = np.maximum(high - low, max(_THIN * float((high - low).max()), 1e-30)) / 2
    middle = (low + high) / 2
    if skeleton.plane is not None and axes is not world:
        ends = np.stack([rest.mean(axis=0), reflected(rest.mean(axis=0), skeleton.plane)])
        middle[0] = (ends @ axes.T)[:, 0].mean()
    return (tails @ axes.T - middle) / half


def name_pieces(
    skeleton: Skeleton, pieces: Pieces, tails: np.ndarray, rest: np.ndarray, world: np.ndarray
) -> list[tuple[str, str]]:
    """For each piece of a chain its name and its side, "", ".L" or ".R"."""
    tips = _tips(tails, skeleton, rest, world)
    sides, places = _sides(skeleton, pieces, tails, tips), {}
    right = {i for i in pieces.pairs if sides[i] == ".R"}  # named as what is on the left
    for i, chain in enumerate(pieces.chains):
        if skeleton.parents[chain[0]] >= 0 and i not in right:
            places[i] = _Place(tips[chain[-1]], sides[i])
    for _ in _AXES:  # another word may make a name that a third one has
        for name in sorted({place.name() for place in places.values()}):
            _tell_apart([place for place in places.values() if place.name() == name])
    named = {i: places[i].name() if i in places else CORE for i in range(len(sides)) if i not in right}
    depths = limbs.depths(skeleton.parents)
    ranks = {i: (depths[chain[0]], -tips[chain[-1]] @ _RANK) for i, chain in enumerate(pieces.chains)}
    unlike = _unlike({i: named[i] for i in sorted(named, key=ranks.get)})
    return [(unlike[pieces.pairs[i] if i in right else i], side) for i, side in enumerate(sides)]


def _bodies(skeleton: Skeleton, pieces: Pieces) -> list[bool]:
    """For each piece whether it is of another body than the root's: of a tree of several pieces that has no
    images. An eye is no body."""
    parents = skeleton.parents
    tops = [[chain[0], *limbs.above(parents, chain[0])][-1] for chain in pieces.chains]
    mirrored = {
        top for top, chain in zip(tops, pieces.chains, strict=True) if (pieces.images[chain] >= 0).any()
    }
    return [top not in mirrored | {skeleton.root} and tops.count(top) > 1 for top in tops]


def _sides(skeleton: Skeleton, pieces: Pieces, tails: np.ndarray, tips: np.ndarray) -> list[str]:
    """On which side pieces are: of their image, or, having none, of the plane, if that is their body's."""
    if skeleton.plane is None or (pieces.images < 0).all():
        return [""] * len(pieces.chains)
    plane, result, others = oriented(skeleton.plane), [], _bodies(skeleton, pieces)
    for i, chain in enumerate(pieces.chains):
        imaged = [b for b in chain if pieces.images[b] >= 0]
        off = float(tips[chain[-1], 0])
        if imaged:
            off = float((tails[imaged] - tails[pieces.images[imaged]]).mean(axis=0) @ plane[:3])
            off = off or float(pieces.pairs.get(i, i) - i)
        elif abs(off) < _CENTRAL or skeleton.parents[chain[0]] < 0 or others[i]:
            off = 0.0
        result.append(".L" if off > 0 else ".R" if off < 0 else "")
    return result


def _unlike(named: dict[int, str]) -> dict[int, str]:
    """Another name for each: what is called alike is numbered, and no other's side makes it a pair."""
    used, result = set(), {}
    for i, words in named.items():
        result[i] = next(name for name in _with_numbers(words) if name not in used)
        used.add(result[i])
    return result


def _with_numbers(words: str):
    return itertools.chain([words], (f"{words}{count}" for count in itertools.count(2)))


def _numbers(chain: list[int], other: list[int], images: np.ndarray) -> dict[int, int]:
    """Of the bones of a piece and of its image, in the order of both; mirror images share one."""
    result, waiting, numbers = {}, list(other), itertools.count(1)
    for b in chain:
        while images[b] in waiting and waiting[0] != images[b]:
            result[waiting.pop(0)] = next(numbers)
        result[b] = next(numbers)
        if images[b] in waiting:
            result[waiting.pop(0)] = result[b]
    return result | dict(zip(waiting, numbers, strict=False))


def name_bones(pieces: Pieces, names: list[tuple[str, str]], taken: set[str]) -> list[str]:
    """By bone; `taken` are names of others, and what all are called tells them apart."""
    result = {}
    for i, (chain, (name, side)) in enumerate(zip(pieces.chains, names, strict=True)):
        other = pieces.chains[pieces.pairs[i]] if i in pieces.pairs else []
        numbers = _numbers(*((other, chain) if other and side == ".R" else (chain, other)), pieces.images)
        result |= {b: f"{name}.{numbers[b]:03}{side}" for b in chain}
    return apart([result[b] for b in range(len(result))], taken)


def apart(names: list[str], taken: set[str]) -> list[str]:
    """The same with a word in front of all, where any of them is taken."""
    found, tries = names, 0
    while taken & set(found):
        tries += 1
        found = [f"Ossify{'' if tries == 1 else tries} {name}" for name in names]
    return found
