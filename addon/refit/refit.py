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
from ..base.handles import Place
from ..base.steps import Clock, Step, each, step
from ..motion.capture import Motion
from ..options.options import RefitOptions
from ..record import amend, memory, rig_record
from ..record.changes import Changes, note
from ..record.recapture import motion_of
from ..rig import heat, played, report, standing
from . import joint_refit, refit_check, refit_start, refit_write, relocation
from .refit_start import Start, start_of
from .refit_trial import Read, best, measured
from .refit_write import Written

_RISEN = 1e-5  # relative: an error that is larger by more has risen
_ROUNDING = 1e-6  # of the size: what it may rise by when new bones are given vertices


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


def _by_bone(start: Start, rig: native.Rig, before: report.Report, after: report.Report) -> list[Line]:
    """Weighed by what each bone moves."""
    dense = rig.dense_weights().astype(np.float64)
    mass = np.maximum(dense.sum(axis=0), 1e-12)

    def rms(found: report.Report) -> np.ndarray:
        return 100 / found.size * np.sqrt(found.vertex_error**2 @ dense / mass)

    names = start.names[: rig.bones]  # without those that found no vertex
    return [Line(*line) for line in zip(names, rms(before).tolist(), rms(after).tolist(), strict=True)]


def _by_mesh(motion: Motion, before: report.Report, after: report.Report) -> list[Line]:
    def rms(found: report.Report, rows: slice) -> float:
        return 100 / found.size * math.sqrt(float((found.vertex_error[rows] ** 2).mean()))

    return [Line(p.name, rms(before, p.vertices), rms(after, p.vertices)) for p in motion.parts]


def _finish(armature, start: Start, wanted: Written, result: Refitted) -> None:
    """Into the rig itself."""
    meshes = memory.meshes_of(armature)
    if result.written:
        others = refit_start.tracked(armature, start.names, start.rebased)
        refit_write.write(armature, meshes, start, wanted)
        relocation.dress(armature, wanted.moves)
        refit_write.write_tracked(armature, start, wanted, others)
        joint_refit.note_own(armature, result.changes)
        amend.renew(armature, result.changes)
        if armature.ossify.looked:  # what is kept stays listed
            armature.ossify.looked = bool(note(armature))
    rig_record.note_refit(armature.ossify, result)
    for obj, rows in zip(meshes, start.skin.slices, strict=True):
        percent = 100 / result.after.size
        after, before = result.after.vertex_error[rows] * percent, result.before.vertex_error[rows] * percent
        heat.store(obj.data, after)
        heat.store(obj.data, after - before, heat.CHANGE)
    heat.recolour(armature)


def refit(
    scene, view_layer, armature, options: RefitOptions, bones=(), vertices=None
) -> Generator[Step, None, Refitted]:
    """bones: names of those that are selected; vertices: object name -> [v] likewise. They count if the
    options say so."""
    clock = Clock()
    now, changes = refit_check.check(armature)
    if options.motion == "SOURCE":
        memory.check(armature.ossify.settings.options())
    rig = Read.of(armature, now)
    place = Place.of(scene, view_layer)
    start = start_of(armature, options, changes, set(bones), vertices or {})
    mine = start.mine
    yield step("Reading", 0.0)
    reading = motion_of(place, rig.handle, start.skin, options.motion)
    motion = yield from each("Reading", reading, 0.0, 0.5)
    yield step("Reading", 0.5)
    before = yield from each("Reading", measured(rig, start, motion), 0.5, 1.0)
    clock.lap("read")
    most = before.rms * (1 + _RISEN) + (_ROUNDING * before.size if start.new else 0.0)
    tried = yield from best(most, rig, start, motion, options, clock)
    start, solved, wanted, after, _ = tried
    armature = rig.wake(start)
    written = after.rms <= most
    after = after if written else before
    after.seconds = clock.seconds
    shown = solved if written else standing.replayable(start.rig)
    lines = _by_bone(start, shown, before, after), _by_mesh(motion, before, after)
    asked = options.move_idle == "ALWAYS"
    left = relocation.notes(mine, wanted.moves, asked, relocation.limit(armature, options))
    notes = [*start.notes, *start.doubled, *left] if written else []
    elsewhere = start.rebased.any() or bool(wanted.heads)
    notes += played.left_alone(armature) if written and elsewhere else []
    after.notes = [*after.notes, *notes]
    result = Refitted(armature, written, before, after, *lines, changes, notes)
    replaced = written and options.motion == "SOURCE" and len(motion.parts) == len(armature.ossify.meshes)
    keeping = motion, armature.ossify.settings.options()
    file = memory.store(armature, *keeping) if replaced else ""  # it may fail, while the rig is as it was
    _finish(armature, start, wanted, result)
    if replaced:  # it is the rig's motion from now on
        memory.keep(armature, *keeping, file)
    place.get()[1].update()  # what was given may have gone with an undo
    return result
