"""Names of a skeleton's bones: by the place of their chain, numbered from the root, and by side.

`Core.001` is the skeleton's own root and `Core.002` continues it. Other chains are named for where they end,
seen from the middle of the body: `FrontDown.001.L` and `FrontDown.001.R` are mirror images, +X is left as
for all of Blender's mirror tools. Nothing is called by a part of the body, since none was recognised.
"""

from __future__ import annotations

import numpy as np

from .limbs import oriented
from .native import Skeleton

CORE = "Core"
_MIDDLE = 0.15  # of half the largest extent: what ends nearer to the middle of the body is in no direction
_ALSO = 0.6  # of the largest direction: what is less is not named


def _words(tip: np.ndarray, paired: bool) -> str:
    """tip [3] right to left, front to back, low to high; from the middle, the body's ends at 1"""
    x, y, z = tip
    directions = [("Front" if y < 0 else "Back", abs(y)), ("Up" if z > 0 else "Down", abs(z))]
    directions.insert(0, ("Side" if paired else "Left" if x > 0 else "Right", abs(x)))
    most = max(size for _, size in directions)
    if most < _MIDDLE:
        return "Middle"
    return "".join(word for word, size in directions if size >= _ALSO * most)


def _partners(skeleton: Skeleton, chains: list[list[int]]) -> dict[int, int]:
    """For each chain on a side the one on the other; the root's is on none."""
    first = {chain[0]: i for i, chain in enumerate(chains) if skeleton.parents[chain[0]] >= 0}
    found = {}
    for i, chain in enumerate(chains):
        other = int(skeleton.mirrors[chain[0]])
        if other != chain[0] and chain[0] in first and other in first:
            found[i] = first[other]
    return found


def name_chains(
    skeleton: Skeleton, chains: list[list[int]], tails: np.ndarray, rest: np.ndarray, world: np.ndarray
) -> list[tuple[str, str]]:
    """For each chain its name and its side, "", ".L" or ".R"."""
    low, high = rest.min(axis=0), rest.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-30)
    tips = (tails - (low + high) / 2) @ world.T / half
    partners = _partners(skeleton, chains)
    plane = None if skeleton.plane is None else oriented(skeleton.plane)
    names, used = {}, set()

    def fresh(words: str) -> str:
        name, count = words, 1
        while name in used:
            count += 1
            name = f"{words}{count}"
        used.add(name)
        return name

    for i, chain in enumerate(chains):
        if i in names:
            continue
        other = partners.get(i)
        if skeleton.parents[chain[0]] < 0:
            names[i] = fresh(CORE), ""
        elif other is None:
            names[i] = fresh(_words(tips[chain[-1]], False)), ""
        else:
            name = fresh(_words(tips[chain[-1]], True))
            left, right = (i, other) if _is_left(chains[i], chains[other], tails, plane) else (other, i)
            names[left], names[right] = (name, ".L"), (name, ".R")
    return [names[i] for i in range(len(chains))]


def _is_left(chain: list[int], other: list[int], tails: np.ndarray, plane: np.ndarray) -> bool:
    return tails[chain].mean(axis=0) @ plane[:3] > tails[other].mean(axis=0) @ plane[:3]


def name_bones(chains: list[list[int]], names: list[tuple[str, str]], taken: set[str]) -> list[str]:
    """By bone; `taken` are names of others."""
    result = {}
    for chain, (name, side) in zip(chains, names, strict=True):
        for number, b in enumerate(chain):
            result[b] = f"{name}.{number + 1:03}{side}"
    ordered = [result[b] for b in range(len(result))]
    return [f"Ossify {name}" for name in ordered] if taken & set(ordered) else ordered
