"""An artist's armature for a mesh that moves: its joints and its tree stay, weights are solved.

With its motion, transforms are held and only weights are left: first of any bones, then, from there, in one
region a bone. Without, it stands still in the rest pose: first every vertex follows the bones around it,
bones follow such weights freely, and from there weights and poses are solved with the joints held.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from . import verbs
from .nouns import Info, Rig, Settings, Skeleton

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


def fit(
    rest, frames, triangles, parents, joints, transforms=None, settings: Settings | None = None
) -> tuple[Rig, Skeleton, Info]:
    """The rig, its skeleton, where the joints are as they were, and how it went."""
    settings = Settings() if settings is None else settings
    skeleton = skeleton_of(parents, joints)
    settings = dataclasses.replace(settings, bones=len(skeleton.parents), budget_kind="none", jointed=False)
    poses = rest, frames, triangles
    if transforms is not None:
        held = np.ones(np.shape(transforms)[:2], np.uint8)
        anywhere = dataclasses.replace(settings, locality=False)
        rig, info = verbs.decompose(*poses, anywhere, Rig(transforms, rest=rest, held_transforms=held))
        if settings.locality:
            rig, info = verbs.decompose(*poses, settings, dataclasses.replace(rig, held_transforms=held))
        return rig, skeleton, info
    bones, weights = first_weights(rest, skeleton, settings.influences)
    still = dataclasses.replace(settings, rest_mode="fixed")
    given = Rig(None, bones, weights, rest, held_vertices=np.ones(len(rest), np.uint8))
    rig, _ = verbs.decompose(*poses, still, given)
    free = Rig(rig.transforms, rig.influence_bones, rig.influence_weights, rig.rest)
    held = np.ones(len(skeleton.parents), np.uint8)
    return verbs.articulate(*poses, free, skeleton, settings, held_joints=held)
