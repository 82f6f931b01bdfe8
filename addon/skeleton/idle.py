"""Bones that move nothing leave a rig before anyone sees it.

A solver that is asked for more bones than a body has parts may end with some that hold no vertex, or a trace
of a few. They are taken out, and what they held is shared out among the other bones of the vertex. One that
others hang from stays: they turn about its joint.

Others are faint: they have weights on many vertices, and on next to none the largest. What they move by far
belongs to other bones, and in a skeleton they would be limbs of their own that lead nowhere. Those leave if
the rest, solved again, does as well; convert.py sees to that.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..native import Rig, Skeleton

_TRACE = 0.01  # a bone with no larger weight on any vertex moves nothing
_FAINT = 1e-3  # of the vertices: a bone that is the strongest on no more of them has no part of its own


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


def faint(rig: Rig) -> np.ndarray:
    """[b] whether it is the strongest bone of next to no vertex; the one with the most is not"""
    owned = np.bincount(rig.dense_weights().argmax(axis=1), minlength=rig.bones)
    return owned <= min(_FAINT * len(rig.influence_bones), owned.max() - 1)


def _numbers(gone: np.ndarray) -> np.ndarray:
    """[b] that those which stay will have; -1 of the others"""
    return np.where(gone, -1, np.cumsum(~gone) - 1)


def without(rig: Rig, gone: np.ndarray) -> Rig:
    """The rig without some bones [b]; vertices that had no other get the weights of the nearest that has."""
    bones, weights = _kept_weights(rig, _numbers(gone))
    has = weights.sum(axis=1) > 0
    dressed = np.flatnonzero(has)
    for v in np.flatnonzero(~has & (rig.influence_weights.sum(axis=1) > 0)):
        like = dressed[((rig.rest[dressed] - rig.rest[v]) ** 2).sum(axis=1).argmin()]
        bones[v], weights[v] = bones[like], weights[like]
    transforms = np.ascontiguousarray(rig.transforms[:, ~gone])
    return dataclasses.replace(rig, transforms=transforms, influence_bones=bones, influence_weights=weights)


def _renumbered(values: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.where(values >= 0, number[values], -1).astype(np.int32)


def leave(rig: Rig, skeleton: Skeleton | None = None) -> tuple[Rig, Skeleton | None]:
    """The rig, and its skeleton, without bones that move nothing."""
    while (idle := _idle(rig, skeleton)).any():
        stay, number, rig = np.flatnonzero(~idle), _numbers(idle), without(rig, idle)
        if skeleton is not None:
            skeleton = skeleton._replace(
                root=int(number[skeleton.root]),
                parents=_renumbered(skeleton.parents[stay], number),
                mirrors=_renumbered(skeleton.mirrors[stay], number),
                kinds=[skeleton.kinds[b] for b in stay],
                **{name: getattr(skeleton, name)[stay] for name in ("joints", "axes", "angles", "drifts")},
            )
    return rig, skeleton
