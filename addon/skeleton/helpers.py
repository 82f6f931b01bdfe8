"""Helpers of an animator's skeleton: bones that nobody poses, each below the bone that leads it.

They come after the others, the core. What they move is counted as their leader's where the core is laid and
named, as if they were not there. A helper itself is a stub in the middle of what it moves, along its leader,
and is called after it: no mirror image is meant, so the side is not at the end of its name.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..base.surface import diagonal
from ..native import Rig, Skeleton
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


def _apart(rig: Rig, one: int, other: int, moments: np.ndarray) -> float:
    """sum_f,v w_v |(T_one - T_other) p_v|^2, moments [4][4] = sum_v w_v p_v p_v^T"""
    between = rig.transforms[:, one, :3].astype(np.float64) - rig.transforms[:, other, :3]
    return float(np.einsum("fij,jk,fik->", between, moments, between))


def _to_leader(rig: Rig, b: int, leader: int, joint: np.ndarray) -> tuple[float, float]:
    """Root mean square angle, and drift of the joint in percent of the size, as a skeleton has them."""
    own, above = (rig.transforms[:, bone, :3].astype(np.float64) for bone in (b, leader))
    cosines = (np.einsum("fij,fij->f", own[..., :3], above[..., :3]) - 1) / 2
    gaps = (own - above) @ np.append(joint, 1.0)
    drift = np.sqrt((gaps**2).sum(axis=1).mean()) * 100 / (diagonal(rig.rest) or 1.0)
    return float(np.sqrt((np.arccos(np.clip(cosines, -1, 1)) ** 2).mean())), float(drift)


def rehung(rig: Rig, skeleton: Skeleton, helps: np.ndarray) -> Skeleton:
    """The skeleton with each helper below the bone of the core that shares most of the skin with it, if it
    moves more like that one than like its leader: else who turns a jaw turns the brow, too. helps [b]

    What the bones do is the same, since a helper goes where it likes; only what it goes along with is not.
    """
    count = int((~helps).sum())
    dense, points = rig.dense_weights().astype(np.float64), np.ones((len(rig.rest), 4))
    points[:, :3] = rig.rest
    parents, angles, drifts = (getattr(skeleton, name).copy() for name in ("parents", "angles", "drifts"))
    for b in np.flatnonzero(helps):
        shared = dense[:, b] @ dense[:, :count]
        best, leader = int(shared.argmax()), parents[b]
        moments = (points * dense[:, b, None]).T @ points
        if shared[best] > shared[leader] and _apart(rig, b, best, moments) < _apart(rig, b, leader, moments):
            parents[b] = best
            angles[b], drifts[b] = _to_leader(rig, b, best, skeleton.joints[b])
    return skeleton._replace(parents=parents, angles=angles, drifts=drifts)


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
