"""The gaps that deleted bones leave, and bones that fill them.

What a deleted bone moved, and how, is remembered. With s_b the shares of a vertex now and g the weight that
the bone had there, the rig before it was deleted has the shares (1 - g) s_b and g. Were it deleted still, and
not a bone that is worth less than it, that one would be in its place: this is where a refit starts from.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from .. import native
from ..record import memory
from ..record.changes import Changes, dense_weights
from ..rig import standing


class Gap(NamedTuple):
    """Of one bone."""

    weights: np.ndarray  # [v]
    transforms: np.ndarray  # [f][3][4]


def numbers_of(changes: Changes, then: memory.Bones, now: memory.Bones) -> list[int]:
    """Of the bones that moved something and were deleted."""
    known = zip(then.numbers, then.names, then.deforms, strict=True)
    return [n for n, name, deforms in known if deforms and name in changes.deleted and n not in now.numbers]


def weights_of(armature, then: memory.Snapshot, skin: standing.Skin, numbers: list[int]) -> np.ndarray:
    """[v][gap]"""
    found = np.zeros((len(skin.rest), len(numbers)), np.float32)
    columns = {number: b for b, number in enumerate(numbers)}
    for _, here, there in memory.parts_of(armature, then, skin):
        found[here] = dense_weights(then.influences[there], then.weights[there], columns)
    return found


def _filled(given: native.Rig, gaps: list[Gap], settled: np.ndarray) -> native.Rig:
    """The rig with its gaps filled by bones of their own, which come last; settled [v]: as they are"""
    gone = np.stack([np.where(settled, 0, gap.weights) for gap in gaps], axis=1)
    gone /= np.maximum(gone.sum(axis=1, keepdims=True), 1)
    shares = given.dense_weights() * (1 - gone.sum(axis=1, keepdims=True))
    moved = np.stack([gap.transforms for gap in gaps], axis=1)
    transforms = np.concatenate([given.transforms, moved], axis=1).astype(given.transforms.dtype)
    return native.Rig(transforms, *standing.sparse(np.concatenate([shares, gone], axis=1)), given.rest)


def fill(
    given: native.Rig, poses, settings: native.Settings, mine: np.ndarray, gaps: list[Gap]
) -> tuple[native.Rig, np.ndarray]:
    """The rig with bones in the gaps that are worth less where they are, and [b] which. mine [b]: those that
    may leave."""
    left, settled = np.zeros(given.bones, bool), np.zeros(len(given.rest), bool)
    if not gaps or given.bones + len(gaps) > native.MAX_BONES:
        return given, left
    settled = settled if given.held_vertices is None else given.held_vertices.astype(bool)
    full = _filled(given, gaps, settled)
    settings = dataclasses.replace(settings, bones=full.bones)
    costs = native.bone_costs(*poses, standing.replayable(full), settings)
    dense, transforms = full.dense_weights(), given.transforms.copy()
    own = [b for b in np.argsort(costs[: given.bones], kind="stable") if mine[b]]
    missed = given.bones + np.argsort(-costs[given.bones :], kind="stable")
    for b, gap in zip(own, missed, strict=False):
        if costs[b] < costs[gap]:
            dense[:, b], transforms[:, b], left[b] = dense[:, gap], full.transforms[:, gap], True
    bones, weights = standing.sparse(dense[:, : given.bones].astype(np.float64))
    found = native.Rig(transforms, bones, weights, given.rest)
    return (found, left) if left.any() else (given, left)
