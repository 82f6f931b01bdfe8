"""Attempts at a refit: solved, written to copies of the rig, measured there, and the best of them taken.

Between two steps nothing of the work is in the file: a copy is made, played for a part of the motion, and
removed again.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import NamedTuple

from ..base.refusal import Refusal
from ..base.steps import Clock, Step, each, step
from ..motion.capture import Motion
from ..options.options import RefitOptions
from ..record import reading
from ..rig import report, standing
from ..rig.build import Built
from ..rig.trial import Trial, keyed_of
from . import refit_check, refit_write, relocation
from .facts import Facts
from .over import Change, Laid
from .refit_solve import Solved, Way, may_tie, solve
from .refit_write import Written

_RISEN = 1e-5  # relative: an error that is larger by more has risen
_FAIRER = 0.05  # likewise, of distances, while the norm that sees cracks does not rise
_PART = 0.1  # seconds that a rig is played for in one step, at least
_SHORT = 1.02  # times what the solver promised: what Blender shows is another motion


class Bound(NamedTuple):
    """What a refit may come to; distances in scene units."""

    cost: float  # in the norm that it is solved in
    rms: float

    @classmethod
    def of(cls, before: report.Report, more: float) -> Bound:
        """No more than the rig has."""
        return cls(before.cost * (1 + _RISEN) + more, before.rms * (1 + _RISEN) + more)

    def allows(self, after: report.Report) -> bool:
        """For a fairer skin, distances may grow by what nobody sees."""
        fairer = after.cost <= self.cost and after.rms <= (1 + _FAIRER) * self.rms
        return after.rms <= self.rms or fairer


def glance(facts: Facts):
    """The armature, after a step; refuses one that cannot be written any more, or to a copy of which what was
    solved cannot be written."""
    sentence = refit_check.trouble(facts.stands.armature)
    if sentence:
        raise Refusal(sentence)
    return reading.glance(facts.stands)


def wake(facts: Facts):
    """The same; refuses one that is another than was read, by as little as a key or a weight."""
    glance(facts)
    return reading.wake(facts.stands)


class Attempt(NamedTuple):
    solved: Solved
    wanted: Written
    after: report.Report

    @property
    def facts(self) -> Facts:
        """In whose order bones are."""
        return self.solved.facts

    @property
    def falls_short(self) -> bool:
        """Whether Blender cannot do what was solved: bones that only turn were asked to move."""
        return self.after.percent(self.after.rms) > _SHORT * self.solved.info.rms_percent


def _played(
    facts: Facts,
    measuring: report.Measuring,
    wanted: Written | None = None,
    clock: Clock | None = None,
    off: Change | None = None,
    on: Change | None = None,
) -> Generator[float, None, Built]:
    """Plays the rig, with what is wanted; yields how far it is, 0 to 1. The first copy is the value. off, on:
    done to each copy before that is written, and after

    Each step plays a part of the motion on a copy of its own. A copy is soon made, and as keys are planned on
    the first soon written; no later part is shorter than that takes.
    """
    first = keyed = None
    while not measuring.ended:
        armature, began = glance(facts), time.perf_counter()
        with Trial(armature, facts.skin.meshes, facts.names) as trial:
            copy = trial.armature.get(), [mesh.get() for mesh in trial.meshes]
            if off is not None:
                off(*copy)
            if wanted is not None:
                keyed = refit_write.write(*copy, facts, wanted)
            elif first is None:
                keyed = keyed_of(armature, facts.names)
            if on is not None:
                on(*copy)
            if first is None and clock is not None:
                clock.lap("write")
            ready = time.perf_counter()
            part = _PART if first is None else max(_PART, ready - began)
            built = trial.built(keyed)
            first = first or built
            for _ in measuring.play(built):
                if time.perf_counter() - ready >= part:
                    break
        yield measuring.fraction
    return first


def _attempt(
    facts: Facts, way: Way, motion: Motion, options: RefitOptions, clock: Clock
) -> Generator[Step, None, Attempt]:
    """Solves, writes to copies and measures there."""
    solved = yield from solve(facts, way, motion, options)
    clock.lap("solve")
    yield step("Building", 0.0)
    wanted = refit_write.plan(glance(facts), solved)
    yield step("Building", 0.3)
    measuring = report.Measuring(motion, standing.replayable(solved.rig), facts.stands.options.fairness)
    playing = _played(solved.facts, measuring, wanted, clock, facts.over.bare)
    built = yield from each("Measuring", playing)
    after = measuring.report(built, solved.info, None)
    clock.lap("measure")
    yield step("Measuring", 1.0)
    return Attempt(solved, wanted, after)


def best(
    most: Bound, facts: Facts, motion: Motion, options: RefitOptions, clock: Clock
) -> Generator[Step, None, Attempt]:
    """An attempt with an error of no more than `most`, if there is one."""
    given, way = (motion, options, clock), Way(facts.tied)
    tried = yield from _attempt(facts, way, *given)
    if not most.allows(tried.after) and facts.returned.any():
        tried = yield from _attempt(tried.facts.as_painted(), way, *given)
    facts = tried.facts
    if (
        not most.allows(tried.after) and facts.claims
    ):  # bones that only turn cannot do all that a solver wants
        tried = yield from _attempt(facts.without_claims(facts.claims), way, *given)
    elif tried.falls_short and not way.tied and not facts.new and may_tie(facts, facts.turning(facts.names)):
        way = Way(True, looked=tried.solved.looked)
        other = yield from _attempt(facts, way, *given)
        tried = min(tried, other, key=lambda attempt: attempt.after.cost)
    if facts.may_leave:
        tried = yield from _weighed(tried, way, *given)
    return tried


def _weighed(tried: Attempt, way: Way, *given) -> Generator[Step, None, Attempt]:
    """The best of attempts: `tried`, in which bones looked for other places, one in which they fill what
    deleted bones have left, and one in which nothing of the kind is done. None leaves for little."""
    made, facts = [tried], tried.facts
    for fills in [True, False] if facts.gaps and not facts.new else [False]:
        other = facts if fills else facts.staying()
        made.append((yield from _attempt(other, Way(way.tied, fills), *given)))
        if not made[-1].wanted.moves.left:  # if nobody fills a gap, all stay
            break
    made.sort(key=lambda attempt: attempt.after.cost)
    staying = next(attempt for attempt in made if not attempt.wanted.moves.left)
    worth = relocation.WORTH * staying.after.cost
    return next((a for a in made if a.wanted.moves.left and a.after.cost < worth), staying)


def measured(facts: Facts, motion: Motion) -> Generator[float, None, tuple[Facts, report.Report]]:
    """The rig as it is, and the facts with what is seen of bones that something else moves. Yields how far it
    is, 0 to 1."""
    measuring = report.Measuring(motion, standing.replayable(facts.rig), facts.stands.options.fairness)
    built = yield from _played(facts, measuring)
    facts = refit_write.see_bound(wake(facts), facts)
    yield 1.0
    return facts, measuring.report(built, measuring.info(), None)


def measured_bare(facts: Facts, motion: Motion) -> Generator[float, None, report.Report]:
    """Its bones alone."""
    measuring = report.Measuring(motion, standing.replayable(facts.rig), facts.stands.options.fairness)
    built = yield from _played(facts, measuring, off=facts.over.bare)
    return measuring.report(built, measuring.info(), None)


def laid_over(tried: Attempt, motion: Motion) -> Generator[Step, None, tuple[Attempt, Laid]]:
    """What lay over the bones, solved for those of an attempt; and that measured with it."""
    facts, wanted = tried.facts, tried.wanted
    with Trial(glance(facts), facts.skin.meshes, facts.names) as trial:
        copy = trial.armature.get(), [mesh.get() for mesh in trial.meshes]
        facts.over.bare(*copy)
        refit_write.write(*copy, facts, wanted)
        seen = facts.over.look(*copy, motion, facts.stands)
    laid = yield from facts.over.solve(seen, motion, facts.stands)
    measuring = report.Measuring(motion, laid.rig, facts.stands.options.fairness)
    playing = _played(facts, measuring, wanted, None, laid.off, laid.on)
    built = yield from each("Measuring", playing)
    return tried._replace(after=measuring.report(built, measuring.info(), None)), laid
