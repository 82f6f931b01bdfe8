"""An artist's armature for a mesh that moves: its joints and its tree stay, weights are solved.

With its motion, transforms are held and only weights are left: first of any bones, then, from there, in one
region a bone. Without, it stands still in the rest pose: first every vertex follows the bones around it,
bones follow such weights freely, and from there weights and poses are solved with the joints held. Weights
that an artist holds, of some groups or of some vertices, stay.

steps() asks for one verb after the other, as animator.steps() does; fit() calls them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from . import verbs
from .animator import Ask, run
from .nouns import Info, Rig, Settings, Skeleton, dense

_FALL = 4  # power of the distance by which bones around a vertex share it at first
_TIP = 0.5  # of the bone above: the length of one from which nothing hangs
_NEAREST = 1e-3  # of the size: nearer does not count for more


def skeleton_of(parents, joints) -> Skeleton:
    """As one that was found: balls, not mirrored."""
    parents, joints = np.array(parents, np.int32), np.array(joints, np.float64)
    count, roots = len(parents), np.flatnonzero(parents < 0)
    kinds = ["root" if parent < 0 else "ball" for parent in parents]
    zeros, root = np.zeros(count), int(roots[0]) if len(roots) else 0
    mirrors = np.full(count, -1, np.int32)
    return Skeleton(
        root, parents, joints, kinds, np.zeros((count, 3)), zeros, zeros.copy(), mirrors, None, ""
    )


def _segments(skeleton: Skeleton) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """A bone lies between its joint and those of what hangs from it; a tip goes on as the bone above does."""
    found, joints, parents = [], skeleton.joints, skeleton.parents
    for b, parent in enumerate(parents):
        ends = joints[parents == b]
        if not len(ends):
            ends = [joints[b] + _TIP * (joints[b] - joints[parent])] if parent >= 0 else [joints[b]]
        found += [(b, joints[b], end) for end in ends]
    return found


def first_weights(rest: np.ndarray, skeleton: Skeleton, influences: int) -> tuple[np.ndarray, np.ndarray]:
    """Influences by the distance to the bones."""
    points, far = rest.astype(np.float64), np.full((len(rest), len(skeleton.parents)), np.inf)
    for b, begin, end in _segments(skeleton):
        way = end - begin
        along = np.clip((points - begin) @ way / max(way @ way, 1e-30), 0, 1)
        away = np.linalg.norm(points - begin - along[:, None] * way, axis=1)
        far[:, b] = np.minimum(far[:, b], away)
    least = _NEAREST * max(np.linalg.norm(np.ptp(points, axis=0)), 1e-30)
    count = min(influences, far.shape[1])
    bones = np.argsort(far, axis=1, kind="stable")[:, :count]
    near = np.maximum(np.take_along_axis(far, bones, axis=1), least)
    weights = (near[:, :1] / near) ** _FALL
    return bones.astype(np.int32), (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _with_held(
    bones: np.ndarray, weights: np.ndarray, held: Rig, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Influences as these, but for the held ones of a rig; the others share what those leave."""
    groups = np.zeros(count, bool) if held.held_groups is None else held.held_groups.astype(bool)
    whole = np.zeros(len(bones), bool) if held.held_vertices is None else held.held_vertices.astype(bool)
    present = dense(held.influence_bones, held.influence_weights, count)
    free = dense(bones, weights, count)
    free[:, groups] = 0
    stays = np.where(groups, present, 0)
    left = np.maximum(1 - stays.sum(axis=1, keepdims=True), 0)
    total = free.sum(axis=1, keepdims=True)
    mixed = stays + np.where(total > 0, free * left / np.maximum(total, 1e-30), 0)
    mixed = np.where(whole[:, None], present, mixed)
    most = max(int((mixed > 0).sum(axis=1).max()), 1)
    order = np.argsort(-mixed, axis=1, kind="stable")[:, :most]
    amounts = np.take_along_axis(mixed, order, axis=1)
    amounts /= np.maximum(amounts.sum(axis=1, keepdims=True), 1e-30)
    return np.where(amounts > 0, order, -1).astype(np.int32), amounts.astype(np.float32)


def steps(
    rest, frames, triangles, parents, joints, transforms=None, settings: Settings | None = None, held=None
) -> Generator[Ask, object, tuple[Rig, Skeleton, Info]]:
    """The rig, its skeleton, where the joints are as they were, and how it went.

    held: a Rig with weights of which groups or vertices are held; the others begin elsewhere.
    """
    settings = Settings() if settings is None else settings
    skeleton = skeleton_of(parents, joints)
    count = len(skeleton.parents)
    settings = dataclasses.replace(settings, bones=count, budget_kind="none", jointed=False)
    poses, held = (rest, frames, triangles), Rig() if held is None else held
    kept = {"held_groups": held.held_groups, "held_vertices": held.held_vertices}
    bones, weights = first_weights(rest, skeleton, settings.influences)
    if held.influence_bones is not None:
        bones, weights = _with_held(bones, weights, held, count)
    if transforms is not None:
        stays = np.ones(np.shape(transforms)[:2], np.uint8)
        given = Rig(transforms, rest=rest, held_transforms=stays)
        if held.influence_bones is not None:
            given = dataclasses.replace(given, influence_bones=bones, influence_weights=weights, **kept)
        anywhere = dataclasses.replace(settings, locality=False)
        rig, info = yield Ask(verbs.decompose, (*poses, anywhere, given), {}, 0.0, 0.5)
        if settings.locality:
            given = dataclasses.replace(rig, held_transforms=stays, **kept)
            rig, info = yield Ask(verbs.decompose, (*poses, settings, given), {}, 0.5, 1.0)
        return rig, skeleton, info
    still = dataclasses.replace(settings, rest_mode="fixed")
    given = Rig(None, bones, weights, rest, held_vertices=np.ones(len(rest), np.uint8))
    rig, _ = yield Ask(verbs.decompose, (*poses, still, given), {}, 0.0, 0.3)
    free = Rig(rig.transforms, rig.influence_bones, rig.influence_weights, rig.rest, **kept)
    fixed = np.ones(count, np.uint8)
    return (yield Ask(verbs.articulate, (*poses, free, skeleton, settings), {"held_joints": fixed}, 0.3, 1.0))


def fit(*arguments, **named) -> tuple[Rig, Skeleton, Info]:
    """All steps, one after the other."""
    return run(steps(*arguments, **named))
