"""A rig solved again from what it is now: what is held stays, equal to the bit, and the rest fits around it.

    for step in refit(scene, view_layer, armature, RefitOptions()): ...  # the generator's value: Refitted

The motion is the one the rig was made from, as it was kept; without it, its source. Everything is tried on a
copy of the rig and measured there. The rig itself is written at the very end, and only if the error did not
rise; an error, or closing the generator, leaves it as it was.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from .. import native
from ..base import tolerances
from ..base.handles import Place
from ..base.steps import Clock, Step, each, step
from ..motion.capture import Motion
from ..nodes import volume
from ..options.options import Options, RefitOptions
from ..record import amend, memory, rig_record
from ..record.changes import Changes, note
from ..record.recapture import motion_of
from ..rig import corrected, heat, played, report, standing
from . import joint_refit, refit_check, refit_write, relocation
from .facts import Facts, facts_of, tracked
from .over import Laid
from .refit_trial import Attempt, Bound, best, laid_over, measured, measured_bare, wake


class Line(NamedTuple):
    """A bone or a mesh, before and after; root mean square in percent of the size."""

    name: str
    before: float
    after: float


class Refitted(NamedTuple):
    armature: object
    written: bool  # False: nothing better was found, and nothing was changed
    before: report.Report
    after: report.Report
    bones: list[Line]
    meshes: list[Line]
    changes: Changes
    notes: list[str]  # for the artist, a sentence each


def _by_bone(facts: Facts, dense: np.ndarray, before: report.Report, after: report.Report) -> list[Line]:
    """Weighed by what each bone moves, dense [v][b]."""
    dense = dense.astype(np.float64)
    mass = np.maximum(dense.sum(axis=0), 1e-12)

    def rms(found: report.Report) -> np.ndarray:
        return 100 / found.size * np.sqrt(found.vertex_error**2 @ dense / mass)

    names = facts.names[: dense.shape[1]]  # without those that found no vertex
    return [Line(*line) for line in zip(names, rms(before).tolist(), rms(after).tolist(), strict=True)]


def _by_mesh(motion: Motion, before: report.Report, after: report.Report) -> list[Line]:
    def rms(found: report.Report, rows: slice) -> float:
        return 100 / found.size * math.sqrt(float((found.vertex_error[rows] ** 2).mean()))

    return [Line(p.name, rms(before, p.vertices), rms(after, p.vertices)) for p in motion.parts]


def _notes(armature, tried: Attempt, mine, options: RefitOptions) -> list[str]:
    """On what was written; mine [b]: bones that might have left"""
    facts, moves = tried.facts, tried.wanted.moves
    asked = options.move_idle == "ALWAYS"
    left = relocation.notes(mine, moves, asked, relocation.limit(armature, options), facts.stands.root)
    elsewhere = facts.rebased.any() or bool(tried.wanted.heads)
    others = played.left_alone(armature) if elsewhere else []
    return [*facts.notes, *tried.solved.notes, *left, *others]


def _renew_volume(armature, facts: Facts, motion: Motion) -> None:
    """Keep Volume, if it is on, fits what was written."""
    if volume.is_on(armature):
        names = standing.bone_names(armature)
        skin = standing.read_skin(armature, names, facts.skin.meshes)
        moved = np.ascontiguousarray(played.read_transforms(armature, names)[:, :, :3])
        rest = np.ascontiguousarray(skin.rest[skin.moved], np.float32)
        rig = native.Rig(moved, *standing.sparse(skin.weights[skin.moved]), rest)
        volume.renew(armature, names, skin, rig, np.ascontiguousarray(motion.frames[:, skin.moved]))


def _write(armature, tried: Attempt, laid: Laid | None, motion: Motion) -> None:
    """Into the rig itself, and onto its notes."""
    facts, wanted, changes = tried.facts, tried.wanted, tried.facts.seen.changes
    others, values = tracked(armature, facts), corrected.tracked_of(armature, facts.skin.meshes)
    if laid is not None:
        laid.off(armature, facts.skin.meshes)
    refit_write.write(armature, facts.skin.meshes, facts, wanted)
    if laid is not None:
        laid.on(armature, facts.skin.meshes)
        corrected.carry(armature, facts.skin.meshes, values, facts.stands.size)
    relocation.dress(armature, wanted.moves)
    refit_write.write_tracked(armature, facts, wanted, others)
    joint_refit.note_own(armature, changes)
    amend.renew(armature, facts.seen)
    _renew_volume(armature, facts, motion)
    if armature.ossify.looked:  # what is kept stays listed
        armature.ossify.looked = bool(note(armature))


def _show(armature, facts: Facts, result: Refitted) -> None:
    """On its record and its meshes."""
    rig_record.note_refit(armature.ossify, result)
    percent = 100 / result.after.size
    for obj, rows in zip(facts.skin.meshes, facts.skin.slices, strict=True):
        after, before = result.after.vertex_error[rows] * percent, result.before.vertex_error[rows] * percent
        heat.store(obj.data, after)
        heat.store(obj.data, result.after.vertex_degrees[rows], heat.NORMALS)
        heat.store(obj.data, after - before, heat.CHANGE)
    heat.recolour(armature)


def _most(before: report.Report, facts: Facts) -> Bound:
    """What a refit may come to."""
    return Bound.of(before, tolerances.LENGTH * before.size if facts.new else 0.0)


def _tried(
    facts: Facts, motion: Motion, options: RefitOptions, before: report.Report, clock: Clock
) -> Generator[Step, None, tuple[Attempt, Laid | None]]:
    """The best attempt, with what lies over the bones, if anything does."""
    if not facts.over:
        return (yield from best(_most(before, facts), facts, motion, options, clock)), None
    bare = yield from each("Reading", measured_bare(facts, motion))
    tried = yield from best(_most(bare, facts), facts, motion, options, clock)
    tried, laid = yield from laid_over(tried, motion)
    clock.lap("layers")
    return tried, laid


def refit(
    scene, view_layer, armature, options: RefitOptions, bones=(), vertices=None
) -> Generator[Step, None, Refitted]:
    """bones: names of those that are selected; vertices: object name -> [v] likewise. They count if the
    options say so."""
    clock, seen = Clock(), refit_check.check(armature)
    if options.motion == "SOURCE":
        memory.check(Options.of(armature.ossify.settings))
    place = Place.of(scene, view_layer)
    facts = facts_of(place, armature, seen, options, set(bones), vertices)
    mine = facts.mine
    yield step("Reading", 0.0)
    motion = yield from each("Reading", motion_of(facts.stands, options.motion), 0.0, 0.5)
    yield step("Reading", 0.5)
    facts, before = yield from each("Reading", measured(facts, motion), 0.5, 1.0)
    clock.lap("read")
    tried, laid = yield from _tried(facts, motion, options, before, clock)
    armature, facts = wake(tried.facts), tried.facts
    written = _most(before, facts).allows(tried.after)
    after = tried.after if written else before
    after.seconds = clock.seconds
    shown = tried.wanted.dense if written else standing.replayable(facts.rig).dense_weights()
    lines = _by_bone(facts, shown, before, after), _by_mesh(motion, before, after)
    notes = _notes(armature, tried, mine, options) if written else []
    notes += [laid.note] if written and laid is not None else []
    after.notes = [*after.notes, *notes]
    result = Refitted(armature, written, before, after, *lines, seen.changes, notes)
    replaced = written and options.motion == "SOURCE" and len(motion.parts) == len(armature.ossify.meshes)
    keeping = motion, Options.of(armature.ossify.settings)
    file = memory.store(armature, *keeping) if replaced else ""  # it may fail, while the rig is as it was
    if written:
        _write(armature, tried, laid, motion)
    _show(armature, facts, result)
    if replaced:  # it is the rig's motion from now on
        memory.keep(armature, *keeping, file)
    place.get()[1].update()  # what was given may have gone with an undo
    return result
