"""What a rig remembers of itself, brought up to date where Ossify has changed it and nowhere else.

An artist's own changes elsewhere stay changes: they are still listed, and still held.
"""

from __future__ import annotations

import numpy as np

from . import memory
from .memory import Bones, Snapshot

_OF_BONES = ("names", "parents", "deforms", "lengths", "rests")


def _merged_bones(
    then, now, written: set[str], moved: set[str], removed: set[str]
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
        known = now.bones if ours else then.bones
        parent = known.parents[b if ours else a]
        known_as = name if a is None else then.bones.names[a]
        rows.append((number, known_as, parent, now.bones.deforms[b], at.lengths[row], at.rests[row]))
        channels.append(now.channels[:, b] if ours else then.channels[:, a])
    for number, a in old.items():
        if then.bones.names[a] not in removed:  # the artist removed it
            rows.append((number, *(getattr(then.bones, field)[a] for field in _OF_BONES)))
            channels.append(then.channels[:, a])
    *columns, rests = map(list, zip(*rows, strict=True))
    return Bones(*columns, np.array(rests)), np.stack(channels, axis=1)


def _merged_weights(armature, then: Snapshot, now: Snapshot, painted: dict) -> tuple[np.ndarray, np.ndarray]:
    """Influences and weights: as they are for vertices that were painted, as they were for the others."""
    width = max(then.influences.shape[1], now.influences.shape[1])
    short = ((0, 0), (0, width - then.influences.shape[1]))
    influences = np.pad(then.influences, short, constant_values=-1)
    weights = np.pad(then.weights, short)
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


def amend(armature, written: set[str], moved: set[str], removed: set[str], painted: dict) -> None:
    """Notes bones that were written (keys, parents), moved or made, and removed, and vertices painted.

    painted: mesh object -> [v]. A rig without notes stays without.
    """
    then = memory.last(armature)
    if then is None:
        return
    now = memory.read(armature)
    for bone, number in zip(armature.data.bones, now.bones.numbers, strict=True):
        if bone.name in moved:
            bone[memory.NUMBER] = number
    bones, channels = _merged_bones(then, now, written, moved, removed)
    influences, weights = _merged_weights(armature, then, now, painted)
    memory.note(
        armature,
        Snapshot(bones, then.times, channels, then.counts, then.topology, influences, weights, then.rest),
    )
