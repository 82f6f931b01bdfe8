"""A standing rig solved again in one place: some bones' transforms and some vertices' weights, all else held.

What the artist holds is held as well: locked vertex groups, and bones that constraints or drivers move.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from . import channels, edits, native, rewrite


@dataclasses.dataclass
class Fit:
    """A rig as it shall be; its bones are those of the subject, without or with some more at the end."""

    names: list[str]
    weights: np.ndarray  # [v][b] float64 of sum 1
    transforms: np.ndarray  # [f][b][4][4]
    error: float  # percent of the size, as the library replays it


def solver(subject: edits.Subject, bones: int) -> native.Settings:
    """The rig's own settings, for a rig that is given."""
    settings = subject.armature.ossify.settings.options().solver()
    settings.bones, settings.budget_kind, settings.budget = bones, "none", 0.0
    settings.rest_mode = "fixed"
    return settings


def held_transforms(subject: edits.Subject, names: list[str], touched: np.ndarray) -> np.ndarray:
    """[f][b] all but the touched bones, and of those what no key can change"""
    held = np.tile(~touched, (len(subject.times), 1))
    data = subject.armature.animation_data
    old = [b for b, name in enumerate(names) if name in subject.names]
    known = [names[b] for b in old]
    fixed = rewrite.held_with_ancestors(
        subject.armature, data.action if data else None, known, None, len(subject.times), False
    )
    held[:, old] |= fixed | subject.holds.transforms[:, [subject.names.index(name) for name in known]]
    return held


def error(subject: edits.Subject, rig: native.Rig) -> float:
    """Percent of the size."""
    measured = native.evaluate(rig.rest, subject.frames, rig, replay=False)
    return 100 * measured.rms / subject.size


def _solved(subject: edits.Subject, names: list[str], rig: native.Rig, touched, free) -> native.Rig:
    locked = dict(zip(subject.names, subject.locked(), strict=True))
    given = native.Rig(
        rig.transforms,
        rig.influence_bones,
        rig.influence_weights,
        rig.rest,
        held_transforms=held_transforms(subject, names, touched).astype(np.uint8),
        held_vertices=(~free).astype(np.uint8),
        held_groups=np.array([locked.get(name, False) for name in names], np.uint8),
    )
    settings = solver(subject, len(names))
    return native.decompose(rig.rest, subject.frames, subject.triangles(), settings, given)[0]


def fit(subject: edits.Subject, names: list[str], rig: native.Rig, touched, free) -> Fit:
    """Solves the transforms of touched bones [b] and the weights of free vertices [v] of a whole rig.

    Transforms first, by themselves: bones that an edit has just made or merged are far from where they
    belong, and weights solved for them would be as far.
    """
    free = free & ~subject.holds.vertices[subject.rows]
    tried = [rig]
    if touched.any():
        tried.append(_solved(subject, names, rig, touched, np.zeros(len(free), bool)))
    if free.any():
        tried.append(_solved(subject, names, tried[-1], touched, free))
    best = min(tried[1:] or tried, key=lambda some: error(subject, some))
    dense = best.dense_weights().astype(np.float64)
    dense /= dense.sum(axis=1, keepdims=True)
    return Fit(names, dense, channels.homogeneous(best.transforms), error(subject, best))
