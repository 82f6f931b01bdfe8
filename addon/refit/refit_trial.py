"""Attempts at a refit: each is solved, written to a copy of the rig, and measured there by playing it.

Between two steps nothing of the work is in the file, and the rig is looked at again after each: it may have
been changed in the meantime.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import NamedTuple

from .. import native
from ..base.handles import Handle, was_changed
from ..base.refusal import Refusal
from ..base.steps import Clock, Step, each, step
from ..motion.capture import Motion
from ..options.options import RefitOptions
from ..record import memory
from ..rig import report, standing
from ..rig.keying import Keyed
from ..rig.trial import Trial, keyed_of
from . import refit_check, refit_write, relocation
from .refit_solve import may_tie, solve
from .refit_start import Start
from .refit_write import Written

_PART = 0.1  # seconds that a rig is played for in one step, at least
_SHORT = 1.02  # times what the solver promised: what Blender shows is another motion


class Read(NamedTuple):
    """The rig in the file."""

    handle: Handle
    mark: bytes  # of what was read
    shape: tuple  # the part of it that is quickly told

    @classmethod
    def of(cls, armature, now: memory.Snapshot) -> Read:
        return cls(Handle.of("objects", armature), memory.print_of(now), _shape(armature))

    def glance(self, start: Start):
        """The armature, after a step; refuses one that cannot be written any more or to a copy of which what
        was solved cannot be written, and finds its meshes again."""
        armature = self.handle.get()
        sentence = refit_check.trouble(armature)
        if sentence:
            raise Refusal(sentence)
        if _shape(armature) != self.shape:
            raise was_changed(armature)
        start.skin.meshes = memory.meshes_of(armature)
        return armature

    def wake(self, start: Start):
        """The same; refuses one that is another than was read, by as little as a key or a weight."""
        armature = self.glance(start)
        if memory.print_of(memory.read(armature)) != self.mark:
            raise was_changed(armature)
        return armature


def _shape(armature) -> tuple:
    """Its bones, and how many vertices and which groups its meshes have: these take no time to read."""
    bones = memory.read_bones(armature)
    meshes = [(len(obj.data.vertices), obj.vertex_groups.keys()) for obj in memory.meshes_of(armature)]
    return bones.names, bones.parents, bones.connected, bones.deforms, bones.rests.tobytes(), meshes


class Attempt(NamedTuple):
    start: Start  # in whose order bones are
    solved: native.Rig
    wanted: Written
    after: report.Report
    promised: float  # percent of the size, by the solver

    @property
    def falls_short(self) -> bool:
        """Whether Blender cannot do what was solved: bones that only turn were asked to move."""
        return self.after.percent(self.after.rms) > _SHORT * self.promised


def _write(trial: Trial, start: Start, wanted: Written) -> Keyed:
    meshes = [mesh.get() for mesh in trial.meshes]
    return refit_write.write(trial.armature.get(), meshes, start, wanted)


def _played(
    rig: Read, start: Start, measuring: report.Measuring, wanted: Written | None = None
) -> Generator[float, None, None]:
    """Plays the rig, with what is wanted, if that is planned; yields how far it is, 0 to 1.

    Between two steps nothing of the work is in the file: each plays a part of the motion on a copy of its
    own. A copy is soon made, and as keys are planned soon written; no part is shorter than that takes.
    """
    while not measuring.ended:
        armature, began = rig.glance(start), time.perf_counter()
        with Trial(armature, start.skin.meshes, start.names) as trial:
            keyed = None
            if wanted is not None:
                keyed = _write(trial, start, wanted)
            ready = time.perf_counter()
            for _ in measuring.play(trial.built(keyed)):
                if time.perf_counter() - ready >= max(_PART, ready - began):
                    break
        yield measuring.fraction


def _attempt(
    rig: Read, start: Start, motion: Motion, options: RefitOptions, clock: Clock
) -> Generator[Step, None, Attempt]:
    """Solves, writes to a trial and measures there."""
    solved, info = yield from solve(rig.handle, start, motion, options)
    clock.lap("solve")
    yield step("Building", 0.0)
    wanted = refit_write.plan(rig.wake(start), start, solved)
    yield step("Building", 0.3)
    with Trial(rig.glance(start), start.skin.meshes, start.names) as trial:
        keyed = _write(trial, start, wanted)
        built = trial.built(keyed)
    clock.lap("write")
    yield step("Measuring", 0.0)
    measuring = report.Measuring(motion, standing.replayable(solved))
    yield from each("Measuring", _played(rig, start, measuring, wanted))
    after = measuring.report(built, info, None)
    clock.lap("measure")
    yield step("Measuring", 1.0)
    return Attempt(start, solved, wanted, after, info.rms_percent)


def best(
    most: float, rig: Read, start: Start, motion: Motion, options: RefitOptions, clock: Clock
) -> Generator[Step, None, Attempt]:
    """An attempt with an error of no more than `most`, if there is one."""
    given = motion, options, clock
    tried = yield from _attempt(rig, start, *given)
    if tried.after.rms > most and start.returned.any():
        start.leave_painted()
        tried = yield from _attempt(rig, start, *given)
    if tried.after.rms > most and start.claims:  # bones that only turn cannot do all that a solver wants
        start.set_aside(list(start.claims))
        tried = yield from _attempt(rig, start, *given)
    elif tried.falls_short and not start.tied and not start.new and may_tie(rig.handle.get(), start):
        start.tied = True
        other = yield from _attempt(rig, start, *given)
        tried = min(tried, other, key=lambda attempt: attempt.after.rms)
    if start.mine is not None and start.mine.any():
        tried = yield from _weighed(tried, rig, start, *given)
    return tried


def _weighed(tried: Attempt, rig: Read, start: Start, *given) -> Generator[Step, None, Attempt]:
    """The best of attempts: `tried`, in which bones looked for other places, one in which they fill what
    deleted bones have left, and one in which nothing of the kind is done. None leaves for little."""
    made = [tried]
    for fills in [True, False] if start.gaps and not start.new else [False]:
        other = start.copy()
        other.fills, other.looked, other.moves = fills, None, relocation.Moves()
        other.mine = start.mine if fills else None
        made.append((yield from _attempt(rig, other, *given)))
        if not made[-1].wanted.moves.left:  # if nobody fills a gap, all stay
            break
    made.sort(key=lambda attempt: attempt.after.rms)
    staying = next(attempt for attempt in made if not attempt.wanted.moves.left)
    worth = relocation.WORTH * staying.after.rms
    return next((a for a in made if a.wanted.moves.left and a.after.rms < worth), staying)


def _info(motion: Motion, rig: native.Rig) -> native.Info:
    """Of a rig that nobody solved."""
    found = native.evaluate(motion.rest, motion.frames, rig, replay=False)
    percent = 100 / (found.diagonal or 1.0)
    status = native.Status.CONVERGED
    return native.Info(
        status, rig.bones, 0, found.erms, percent * found.rms, percent * found.maximum, 0.0, {}, ""
    )


def measured(rig: Read, start: Start, motion: Motion) -> Generator[float, None, report.Report]:
    """The rig as it is; what is seen of bound bones goes into the start. Yields how far it is, 0 to 1."""
    given = standing.replayable(start.rig)
    measuring = report.Measuring(motion, given)
    yield from _played(rig, start, measuring)
    armature = rig.wake(start)
    with Trial(armature, start.skin.meshes, start.names) as trial:
        built = trial.built(keyed_of(armature, start.names))
        refit_write.see_bound(trial.armature.get(), start)
    yield 1.0
    return measuring.report(built, _info(motion, given), None)
