"""Helpers of an animator's skeleton: bones that nobody poses, each below the bone that leads it.

They come after the others, the core. What they move is counted as their leader's where the core is laid and
named, as if they were not there. A helper itself is a stub in the middle of what it moves, along its leader,
and is called after it: no mirror image is meant, so the side is not at the end of its name.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..native import Skeleton
from .placement import Bones

_STUB = 0.25  # of its leader's


def core_of(skeleton: Skeleton, helps: np.ndarray) -> Skeleton:
    """The skeleton of the bones that an animator sees; helps [b]"""
    count = int((~helps).sum())
    lists = {
        name: getattr(skeleton, name)[:count] for name in "parents joints kinds axes angles drifts".split()
    }
    mirrors = skeleton.mirrors[:count]
    return skeleton._replace(**lists, mirrors=np.where(mirrors < count, mirrors, -1).astype(np.int32))


def joined(skeleton: Skeleton, leaders: np.ndarray, heads: np.ndarray) -> Skeleton:
    """The skeleton of a core with helpers below leaders [n], at heads [n][3]"""
    count = len(leaders)

    def longer(values: np.ndarray, fill) -> np.ndarray:
        return np.concatenate([values, np.full((count, *values.shape[1:]), fill, values.dtype)])

    return skeleton._replace(
        parents=np.append(skeleton.parents, leaders).astype(np.int32),
        joints=np.concatenate([skeleton.joints, heads]),
        kinds=[*skeleton.kinds, *["loose"] * count],
        mirrors=longer(skeleton.mirrors, -1),
        **{name: longer(getattr(skeleton, name), 0.0) for name in ("axes", "angles", "drifts")},
    )


def core_places(places: Bones, helps: np.ndarray) -> Bones:
    count = int((~helps).sum())
    parts = places.heads, places.tails, places.facing, places.boxes
    return Bones(*(part[:count].copy() for part in parts))


def led(dense: np.ndarray, parents: np.ndarray, helps: np.ndarray) -> np.ndarray:
    """[v][core] weights [v][b] with those of helpers given to who leads them"""
    count = int((~helps).sum())
    result = dense[:, :count].copy()
    for b in np.flatnonzero(helps):
        result[:, parents[b]] += dense[:, b]
    return result


def names(core: list[str], parents: np.ndarray, taken: set[str]) -> list[str]:
    """Of the helpers: their leader's with a number; taken: names that none may have"""
    used, found = {*taken, *core}, []
    for leader in parents[len(core) :]:
        numbered = (f"{core[leader]} Helper{number}" for number in itertools.count(1))
        found.append(next(name for name in numbered if name not in used))
        used.add(found[-1])
    return found


def lay(places: Bones, core: Bones, skeleton: Skeleton) -> None:
    """Puts all bones into places: those of the core as they lie, helpers as stubs along their leaders."""
    count = len(core.heads)
    for all_of, some in zip(
        (places.heads, places.tails, places.facing), (core.heads, core.tails, core.facing), strict=True
    ):
        all_of[:count] = some
    leaders = skeleton.parents[count:]
    ways = core.tails[leaders] - core.heads[leaders]
    places.heads[count:] = skeleton.joints[count:]
    places.tails[count:] = skeleton.joints[count:] + _STUB * ways
    places.facing[count:] = core.facing[leaders]
