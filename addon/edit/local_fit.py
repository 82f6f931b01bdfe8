"""A standing rig solved again in one place: some bones' transforms and some vertices' weights, all else held.

What the artist holds is held as well: locked vertex groups, and bones that constraints or drivers move.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.refusal import Refusal
from ..base.steps import Step, watch
from ..rig import channels, rewrite, standing
from ..rig.stand import Standing, hanging


@dataclasses.dataclass
class Fit:
    """A rig as it shall be; its bones are those of the subject, without or with some more at the end."""

    names: list[str]
    weights: np.ndarray  # [v][b] float64 of sum 1
    transforms: np.ndarray  # [f][b][4][4]
    error: float  # percent of the size, as the library replays it


def _influences(subject: Standing) -> int:
    """As many as a vertex has that is held, as most are; with held groups, one more than those."""
    weighted = subject.skin.painted[subject.rows] > 0
    locked = weighted[:, subject.holds.groups].sum(axis=1)
    return int(np.maximum(weighted.sum(axis=1), locked + (locked > 0)).max())


def solver(subject: Standing, bones: int) -> native.Settings:
    """The rig's own settings, for a rig that is given."""
    return subject.settings(bones, max(subject.options.influences, _influences(subject)))


def held_transforms(subject: Standing, names: list[str], touched: np.ndarray) -> np.ndarray:
    """[f][b] all but the touched bones, and of those what no key can change"""
    held = np.tile(~touched, (len(subject.transforms), 1))
    old = [b for b, name in enumerate(names) if name in subject.names]
    known = [names[b] for b in old]
    fixed = rewrite.held_with_ancestors(subject.armature, known, None)
    held[:, old] |= fixed | subject.holds.transforms[:, [subject.names.index(name) for name in known]]
    return held


def error(subject: Standing, rig: native.Rig) -> float:
    """Percent of the size."""
    measured = native.evaluate(rig.rest, subject.frames, rig, replay=False)
    return 100 * measured.rms / subject.size


Span = tuple[float, float]  # of the solving, 0 to 1


def _solved(
    subject: Standing, names: list[str], rig: native.Rig, touched, free, span: Span, **chosen
) -> Generator[Step, None, native.Rig]:
    subject.check_sources()
    locked = dict(zip(subject.names, subject.holds.groups, strict=True))
    given = native.Rig(
        rig.transforms,
        rig.influence_bones,
        rig.influence_weights,
        rig.rest,
        held_transforms=held_transforms(subject, names, touched).astype(np.uint8),
        held_vertices=(~free).astype(np.uint8),
        held_groups=np.array([locked.get(name, False) for name in names], np.uint8),
    )
    settings = dataclasses.replace(solver(subject, len(names)), **chosen)
    job = native.Job.start(native.decompose, rig.rest, subject.frames, subject.triangles, settings, given)
    return (yield from watch(job, subject, *span))[0]


def fit(
    subject: Standing, names: list[str], rig: native.Rig, touched, free, span: Span = (0.0, 1.0)
) -> Generator[Step, None, Fit]:
    """Solves the transforms of touched bones [b] and the weights of free vertices [v] of a whole rig.

    Transforms first, by themselves: bones that an edit has just made or merged are far from where they
    belong, and weights solved for them would be as far. These are plain least squares: weights that nobody
    has solved yet tear the surface, and bones would move to hide that.
    """
    free = free & ~subject.holds.vertices[subject.rows]
    tried, middle = [rig], (span[0] + span[1]) / 2
    if touched.any():
        none = np.zeros(len(free), bool)
        tried.append(
            (yield from _solved(subject, names, rig, touched, none, (span[0], middle), fairness=0.0))
        )
    if free.any():
        tried.append((yield from _solved(subject, names, tried[-1], touched, free, (middle, span[1]))))
    best = min(tried[1:] or tried, key=lambda some: error(subject, some))
    dense = best.dense_weights().astype(np.float64)
    dense /= dense.sum(axis=1, keepdims=True)
    return Fit(names, dense, channels.homogeneous(best.transforms), error(subject, best))


# ---- joints that hold


def turning(
    subject: Standing, fit: Fit, free, parents, heads, held
) -> Generator[Step, None, tuple[Fit, np.ndarray]]:
    """The fit with bones that only turn about their joints, for a rig whose joints hold; those joints [b][3].

    parents [b], heads [b][3] as they shall be, held [b] joints that stay there. All bones are solved again: a
    joint that holds hands on what happens above it.
    """
    fixed = held_transforms(subject, fit.names, np.ones(len(fit.names), bool))
    if fixed.any() or subject.holds.groups.any():
        raise Refusal(
            f"The joints of {subject.armature.name} hold, so that all its bones are solved together: let go"
            " of held bones, frames and vertex groups, or remove the constraints and drivers of its bones."
        )
    rest = np.ascontiguousarray(subject.rest, np.float32)
    influences = standing.sparse(fit.weights)
    rig = native.Rig(np.ascontiguousarray(fit.transforms[:, :, :3]), *influences, rest)
    pairs = [(int(parent), b) for b, parent in enumerate(parents) if parent >= 0]
    joined = native.connect(rig, subject.triangles, native.Wishes(symmetry="none", demanded=pairs))
    skeleton = hanging(parents, heads, joined)
    rig.held_vertices = (~(free & ~subject.holds.vertices[subject.rows])).astype(np.uint8)
    poses = rest, subject.frames, subject.triangles
    settings = solver(subject, len(fit.names))
    joints = held.astype(np.uint8)
    soft = standing.softness(subject.armature, fit.names, parents)
    job = native.Job.start(native.articulate, *poses, rig, skeleton, settings, False, joints, soft)
    solved, skeleton, _ = yield from watch(job, subject, 0.0, 1.0)
    dense = solved.dense_weights().astype(np.float64)
    dense /= dense.sum(axis=1, keepdims=True)
    transforms = channels.homogeneous(solved.transforms)
    return Fit(fit.names, dense, transforms, error(subject, solved)), skeleton.joints
