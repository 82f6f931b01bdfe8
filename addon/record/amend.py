"""What a rig remembers of itself, brought up to date where Ossify has changed it and nowhere else.

An artist's own changes elsewhere stay changes: they are still listed, and still held. So do weights, keys and
places at rest that a refit has kept: the next one keeps them, too, until they are given back.
"""

from __future__ import annotations

import numpy as np

from . import memory
from .changes import Changes, Seen
from .memory import Bones, Snapshot

_OF_BONES = ("names", "parents", "connected", "deforms", "lengths", "rests")


def _merged_bones(
    then, now, written: set[str], moved: set[str], removed: set[str], named: set[str]
) -> tuple[Bones, np.ndarray]:
    """Bones and channels: as they are for those written or moved, as they were for the others."""
    old = {number: b for b, number in enumerate(then.bones.numbers)}
    rows, channels = [], []
    for b, number in enumerate(now.bones.numbers):
        name, ours = now.bones.names[b], now.bones.names[b] in written | moved
        a = old.pop(number, None)
        if a is None and not ours:
            continue  # the artist added it
        stayed = a is not None and name not in moved
        at, row = (then.bones, a) if stayed else (now.bones, b)
        known, own = (now.bones, b) if ours else (then.bones, a)
        hung = known.parents[own], known.connected[own]
        known_as = name if a is None or name in named else then.bones.names[a]
        rows.append((number, known_as, *hung, now.bones.deforms[b], at.lengths[row], at.rests[row]))
        channels.append(now.channels[:, b] if ours else then.channels[:, a])
    for number, a in old.items():
        if then.bones.names[a] not in removed:  # the artist removed it
            rows.append((number, *(getattr(then.bones, field)[a] for field in _OF_BONES)))
            channels.append(then.channels[:, a])
    *columns, rests = map(list, zip(*rows, strict=True))
    return Bones(*columns, np.array(rests)), np.stack(channels, axis=1)


def _widened(influences: np.ndarray, weights: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """[v][width] with room for more"""
    short = ((0, 0), (0, width - influences.shape[1]))
    return np.pad(influences, short, constant_values=-1), np.pad(weights, short)


def _merged_weights(armature, then: Snapshot, now: Snapshot, painted: dict) -> tuple[np.ndarray, np.ndarray]:
    """Influences and weights: as they are for vertices that were painted, as they were for the others."""
    width = max(then.influences.shape[1], now.influences.shape[1])
    influences, weights = _widened(then.influences, then.weights, width)
    starts = [np.concatenate([[0], np.cumsum(counts)]) for counts in (then.counts, now.counts)]
    for index, item in enumerate(armature.ossify.meshes):
        same = then.counts[index] == now.counts[index]
        if same and item.object in painted:
            rows = np.flatnonzero(painted[item.object])
            influences[starts[0][index] + rows] = -1
            weights[starts[0][index] + rows] = 0
            have = now.influences.shape[1]
            influences[starts[0][index] + rows, :have] = now.influences[starts[1][index] + rows]
            weights[starts[0][index] + rows, :have] = now.weights[starts[1][index] + rows]
    return influences, weights


def _still_rekeyed(bones: Bones, channels: np.ndarray, now: Bones, rekeyed: dict) -> None:
    """What the artist keyed stays a change, although all keys are other ones now: it is noted as the same
    rotation of opposite sign, which is another key and no other motion."""
    number = dict(zip(now.names, now.numbers, strict=True))
    for name, rows in rekeyed.items():
        channels[rows, bones.index(number[name]), 3:7] *= -1


def amend(
    armature,
    written: set[str],
    moved: set[str],
    removed: set[str],
    painted: dict,
    named: set[str] = frozenset(),
    rekeyed: dict | None = None,
) -> None:
    """Notes bones that were written (keys, parents), moved or made, removed, or named, and vertices painted.

    painted: mesh object -> [v]; rekeyed: written bone -> [f] frames that the artist had keyed, and that count
    as keyed by the artist still. A rig without notes stays without.
    """
    then = memory.last(armature)
    if then is None:
        return
    now = memory.read(armature)
    for bone, number in zip(armature.data.bones, now.bones.numbers, strict=True):
        if bone.name in moved:
            bone[memory.NUMBER] = number
    bones, channels = _merged_bones(then, now, written, moved, removed, named)
    _still_rekeyed(bones, channels, now.bones, rekeyed or {})
    influences, weights = _merged_weights(armature, then, now, painted)
    memory.note(
        armature,
        Snapshot(bones, then.times, channels, then.counts, then.topology, influences, weights, then.rest),
    )


def _carry_meshes(record, then: Snapshot, noted: Snapshot, found: Changes) -> None:
    width = max(then.influences.shape[1], noted.influences.shape[1])
    influences, weights = _widened(then.influences, then.weights, width)
    noted.influences, noted.weights = _widened(noted.influences, noted.weights, width)
    starts = [np.concatenate([[0], np.cumsum(some.counts)]) for some in (then, noted)]
    for index, item in enumerate(record.meshes):
        name = item.object.name if item.object and noted.counts[index] else ""
        old, new = (int(start[index]) for start in starts)
        if record.keep_repainted and name in found.repainted:
            rows = np.flatnonzero(found.repainted[name])
            noted.influences[new + rows] = influences[old + rows]
            noted.weights[new + rows] = weights[old + rows]
        if record.keep_sculpted and name in found.sculpted:
            rows = np.flatnonzero(found.sculpted[name])
            noted.rest[new + rows] = then.rest[old + rows]


def renew(armature, seen: Seen) -> None:
    """Notes the rig as it is after a refit, but for what the artist had changed, as was seen, and keeps."""
    now = memory.read(armature)
    _carry_meshes(armature.ossify, seen.then, now, seen.changes)
    if armature.ossify.keep_rekeyed:
        _still_rekeyed(now.bones, now.channels, now.bones, seen.changes.rekeyed)
    memory.snapshot(armature, now)
