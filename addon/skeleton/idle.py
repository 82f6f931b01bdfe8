"""Bones that move nothing leave a rig before anyone sees it.

A solver that is asked for more bones than a body has parts may end with some that hold no vertex, or a trace
of a few. They are taken out, and what they held is shared out among the other bones of the vertex. One that
others hang from stays: they turn about its joint.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..native import Rig, Skeleton

_TRACE = 0.01  # a bone with no larger weight on any vertex moves nothing


def _idle(rig: Rig, skeleton: Skeleton | None) -> np.ndarray:
    """[b] whether it can go"""
    idle = rig.dense_weights().max(axis=0) < _TRACE
    if skeleton is not None:
        idle[skeleton.parents[skeleton.parents >= 0]] = False
        idle[skeleton.parents < 0] = False
    return idle


def _kept_weights(rig: Rig, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The influences without those of bones that go (number -1); sums are as before."""
    bones = np.where(rig.influence_bones >= 0, number[rig.influence_bones], -1).astype(np.int32)
    weights = np.where(bones >= 0, rig.influence_weights, 0)
    before = rig.influence_weights.sum(axis=1, keepdims=True)
    weights = weights * (before / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30))
    order = np.argsort(-weights, axis=1, kind="stable")
    pick = (np.take_along_axis(values, order, axis=1) for values in (bones, weights))
    bones, weights = map(np.ascontiguousarray, pick)
    return bones, weights.astype(np.float32)


def _renumbered(values: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.where(values >= 0, number[values], -1).astype(np.int32)


def leave(rig: Rig, skeleton: Skeleton | None = None) -> tuple[Rig, Skeleton | None]:
    """The rig, and its skeleton, without bones that move nothing."""
    while (idle := _idle(rig, skeleton)).any():
        stay = np.flatnonzero(~idle)
        number = np.full(rig.bones, -1)
        number[stay] = np.arange(len(stay))
        bones, weights = _kept_weights(rig, number)
        transforms = np.ascontiguousarray(rig.transforms[:, stay])
        rig = dataclasses.replace(
            rig, transforms=transforms, influence_bones=bones, influence_weights=weights
        )
        if skeleton is not None:
            skeleton = skeleton._replace(
                root=int(number[skeleton.root]),
                parents=_renumbered(skeleton.parents[stay], number),
                mirrors=_renumbered(skeleton.mirrors[stay], number),
                kinds=[skeleton.kinds[b] for b in stay],
                **{name: getattr(skeleton, name)[stay] for name in ("joints", "axes", "angles", "drifts")},
            )
    return rig, skeleton
