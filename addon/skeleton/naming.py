"""Names of a skeleton's bones: by the place of their chain, numbered from the root, and by side.

`Core.001` is the skeleton's own root and `Core.002` continues it. Other chains are named for where they end,
seen from the middle of the body, and if several end alike, from each other: `FrontDown.001.L` and
`FrontDown.001.R` are mirror images, +X is left as for all of Blender's mirror tools. A chain in the middle
keeps the name that it shares with a pair, and the pair becomes `BackDownSide`. Nothing is called by a part of
the body, since none was recognised.
"""

from __future__ import annotations

import numpy as np

from ..native import Skeleton
from . import limbs
from .mirror import oriented

CORE = "Core"
_AXES = (("Right", "Left"), ("Front", "Back"), ("Down", "Up"))  # toward the low and the high end of an axis
_ORDER = (1, 2, 0)  # in which words of several axes stand
_THIN = 0.4  # of the largest extent: a body that is less high, wide or long counts as if it were
_MIDDLE = 0.2  # of half the extent: what ends nearer to the middle of the body is in no direction
_ALSO = 0.6  # of the largest direction: what is less is not named
_APART = 0.1  # of half the extent: chains of like places that end further apart get another word


class _Place:
    """Where a chain, or a pair of them, ends: right to left, front to back, low to high; body's ends at 1."""

    def __init__(self, tip: np.ndarray, paired: bool):
        self.tip, self.paired = tip, paired
        sizes = np.abs(tip)
        if paired and sizes[0] < sizes.max():  # .L and .R say it
            sizes[0] = 0
        named = np.flatnonzero((sizes >= _ALSO * sizes.max()) & (sizes.max() >= _MIDDLE))
        self.words = {int(axis): self._word(int(axis), tip[axis] > 0) for axis in named}

    def _word(self, axis: int, high: bool) -> str:
        return "Side" if self.paired and axis == 0 else _AXES[axis][bool(high)]

    def tell_apart(self, axis: int, middle: float) -> None:
        self.words[axis] = self._word(axis, self.tip[axis] > middle)

    def name(self) -> str:
        return "".join(self.words[axis] for axis in _ORDER if axis in self.words) or "Middle"


def _tell_apart(places: list[_Place]) -> None:
    """Gives places of one name another word: to pairs, or by the axis along which they are furthest apart."""
    pairs = [place for place in places if place.paired and 0 not in place.words]
    if 0 < len(pairs) < len(places):
        for place in pairs:
            place.tell_apart(0, 0.0)
        _tell_apart(pairs)
        _tell_apart([place for place in places if place not in pairs])
        return
    tips = np.array([place.tip for place in places])
    spread = np.ptp(tips, axis=0)
    for place in places:
        spread[list(place.words)] = 0
        spread[0] *= not place.paired
    axis = int(spread.argmax())
    if len(places) < 2 or spread[axis] < _APART:
        return
    for place in places:
        place.tell_apart(axis, float(tips[:, axis].min() + tips[:, axis].max()) / 2)
    for name in sorted({place.name() for place in places}):
        _tell_apart([place for place in places if place.name() == name])


def name_chains(
    skeleton: Skeleton, chains: list[list[int]], tails: np.ndarray, rest: np.ndarray, world: np.ndarray
) -> list[tuple[str, str]]:
    """For each chain its name and its side, "", ".L" or ".R"."""
    points = rest @ world.T
    low, high = points.min(axis=0), points.max(axis=0)
    half = np.maximum(high - low, max(_THIN * float((high - low).max()), 1e-30)) / 2
    tips = (tails @ world.T - (low + high) / 2) / half
    pairs = limbs.partners(skeleton, chains)
    plane = None if skeleton.plane is None else oriented(skeleton.plane)
    places = {}
    for i, chain in enumerate(chains):
        other = pairs.get(i)
        if skeleton.parents[chain[0]] >= 0 and (
            other is None or _is_left(chain, chains[other], tails, plane)
        ):
            places[i] = _Place(tips[chain[-1]], other is not None)
    for _ in _AXES:  # another word may make a name that a third one has
        for name in sorted({place.name() for place in places.values()}):
            _tell_apart([place for place in places.values() if place.name() == name])
    named = [places[i].name() if i in places else CORE for i in range(len(chains))]
    for i, other in pairs.items():
        if i not in places:
            named[i] = named[other]
    return _numbered(named, places, pairs)


def _numbered(named: list[str], places: dict, pairs: dict) -> list[tuple[str, str]]:
    """Unlike names for unlike chains, and the sides of pairs."""
    used, result = set(), {}
    for i, words in enumerate(named):
        if i in pairs and i not in places:
            continue  # the right one follows the left
        name, count = words, 1
        while name in used:
            count += 1
            name = f"{words}{count}"
        used.add(name)
        result[i] = name, ".L" if i in pairs else ""
        if i in pairs:
            result[pairs[i]] = name, ".R"
    return [result[i] for i in range(len(named))]


def _is_left(chain: list[int], other: list[int], tails: np.ndarray, plane: np.ndarray) -> bool:
    return tails[chain].mean(axis=0) @ plane[:3] > tails[other].mean(axis=0) @ plane[:3]


def name_bones(chains: list[list[int]], names: list[tuple[str, str]], taken: set[str]) -> list[str]:
    """By bone; `taken` are names of others, and what all are called tells them apart."""
    result = {}
    for chain, (name, side) in zip(chains, names, strict=True):
        for number, b in enumerate(chain):
            result[b] = f"{name}.{number + 1:03}{side}"
    ordered = [result[b] for b in range(len(result))]
    found, tries = ordered, 0
    while taken & set(found):
        tries += 1
        found = [f"Ossify{'' if tries == 1 else tries} {name}" for name in ordered]
    return found
