"""Weights as the solver has them, a row of bones and weights a vertex (-1 unused), as vertex groups want
them."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..base import tolerances
from ..native import Rig

_LEAST_EXPORTED = 1.01e-4  # what Blender's glTF exporter leaves out, and a little


def without_faint(rig: Rig) -> Rig:
    """As it will be exported: the strongest takes what is too faint for that."""
    amounts = np.where(rig.influence_bones >= 0, rig.influence_weights, 0)
    rows, strongest = np.arange(len(amounts)), amounts.argmax(axis=1)
    faint = amounts < _LEAST_EXPORTED
    faint[rows, strongest] = False
    amounts[rows, strongest] += np.where(faint, amounts, 0).sum(axis=1)
    bones, amounts = np.where(faint, -1, rig.influence_bones).astype(np.int32), np.where(faint, 0, amounts)
    return dataclasses.replace(rig, influence_bones=bones, influence_weights=amounts.astype(np.float32))


def exact(influence_bones, influence_weights, whole=None) -> tuple[np.ndarray, np.ndarray]:
    """Bones rising in each row, unused (-1) last; weights whose sum in float32, in that order, is 1.

    Blender adds a vertex's weights one after the other in single precision. With s the sum of all but the
    last, rounded as Blender rounds it, s + fl(1 - s) is 1 for every s from 0 to 1. whole [v] float32: what
    the sum is instead, where other groups have the rest.
    """
    whole = np.ones(len(influence_bones), np.float32) if whole is None else whole
    used = (influence_bones >= 0) & (influence_weights >= tolerances.WEIGHT)
    far = np.iinfo(np.int32).max
    order = np.argsort(np.where(used, influence_bones, far), axis=1, kind="stable")
    bones = np.take_along_axis(np.where(used, influence_bones, -1), order, axis=1)
    weights = np.take_along_axis(np.where(used, influence_weights, 0), order, axis=1).astype(np.float32)
    last = np.maximum((bones >= 0).sum(axis=1) - 1, 0)
    rows = np.arange(len(bones))
    total = np.zeros(len(bones), np.float32)
    for k in range(bones.shape[1]):
        total = np.where(k < last, total + weights[:, k], total).astype(np.float32)
    weights[rows, last] = np.where(bones[rows, last] >= 0, np.maximum(whole - total, 0), 0)
    return bones, weights


def strongest(dense: np.ndarray, most: int | None = None) -> np.ndarray:
    """[v][k] the bones of each vertex of weights [v][b], the strongest first, at most so many"""
    count = max(int((dense > 0).sum(axis=1).max(initial=0)), 1)
    count = count if most is None else min(count, most)
    bones = np.argsort(-dense, axis=1, kind="stable")[:, :count]
    return np.where(np.take_along_axis(dense, bones, axis=1) > 0, bones, -1)


def at(dense: np.ndarray, bones: np.ndarray) -> np.ndarray:
    """[v][k] the weights of these bones"""
    return np.where(bones >= 0, np.take_along_axis(dense, np.maximum(bones, 0), axis=1), 0.0)


def by_bone(bones: np.ndarray, weights: np.ndarray, count: int):
    """For each bone the vertices it moves, rising, and their weights."""
    used = (bones >= 0) & (weights > 0)
    rows = np.nonzero(used)[0]
    owners, values = bones[used], weights[used]
    order = np.argsort(owners, kind="stable")
    ends = np.searchsorted(owners[order], np.arange(count + 1))
    for b in range(count):
        mine = order[ends[b] : ends[b + 1]]
        yield rows[mine], values[mine]
