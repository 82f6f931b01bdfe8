"""The chain: capture, solve, build, measure. One generator serves the operator, the command and the tests.

    for step in convert(scene, view_layer, objects, Options()): ...     # the generator's value is a Result

The artist's scene is untouched until the last step; closing the generator, or an error in it, takes
everything back.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Generator
from typing import NamedTuple

from . import clips, memory, native, report, rooting
from .build import Built, build, discard, hand_over
from .capture import Motion
from .options import Options
from .properties import remember

_SHARES = {"Reading": 0.15, "Solving": 0.7, "Building": 0.05, "Measuring": 0.1}
_POLL = 0.01  # seconds
_FREE_SHARE = 0.6  # of the solving, before joints are made to hold
# E_RMS to percent of the diagonal, for a sphere as wide as the box is long: never too small
_PERCENT = 100 * math.sqrt(3) / 1000 / 2


class Step(NamedTuple):
    stage: str
    fraction: float  # 0..1 of the whole
    error: float | None = None  # so far, root mean square, percent of the size
    bones: int | None = None
    wait: bool = False  # nothing to do but to ask again later


class Solved(NamedTuple):
    rig: native.Rig
    info: native.Info
    skeleton: native.Skeleton | None
    free: native.Info | None  # before its joints held; None: they do not


class Result(NamedTuple):
    armature: object
    meshes: list
    report: report.Report


class Clock:
    """The seconds of each stage."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = now - self._last, now


def step(stage: str, fraction: float, **more) -> Step:
    before = 0.0
    for name, share in _SHARES.items():
        if name == stage:
            return Step(stage, before + share * min(max(fraction, 0.0), 1.0), **more)
        before += share
    raise KeyError(stage)


def each(stage: str, work: Generator[float, None, object], first=0.0, last=1.0) -> Generator:
    """The steps of a stage, or of a part of it from `first` to `last`; and its value."""
    try:
        while True:
            yield step(stage, first + (last - first) * next(work))
    except StopIteration as end:
        return end.value
    finally:
        work.close()


def watch(job: native.Job, motion: Motion, first: float, last: float) -> Generator[Step, None, tuple]:
    """The steps of a job that is a part of the solving, from `first` to `last`; its answer."""
    with job:
        while True:
            progress = job.poll()
            if progress.finished:
                return job.finish()
            motion.check_sources()
            fraction = first + (last - first) * progress.fraction
            error = None if progress.erms is None else _PERCENT * progress.erms
            yield step("Solving", fraction, error=error, bones=progress.bones or None, wait=True)


def _solve(motion: Motion, options: Options, now: int) -> Generator[Step, None, Solved]:
    """now: the frame in which the artist started it"""
    poses, settings = (motion.rest, motion.frames, motion.triangles), options.solver()
    articulated = options.skeleton == "ARTICULATED"
    free_share = _FREE_SHARE if articulated else 1.0
    rig, info = yield from watch(native.Job.start(*poses, settings), motion, 0.0, free_share)
    if options.skeleton == "NONE":
        return Solved(rig, info, None, None)
    wishes = options.wishes(root=rooting.chosen(options, motion, rig, now))
    settings = dataclasses.replace(settings, bones=rig.bones, budget_kind="none", budget=0.0)  # found by now
    skeleton = native.connect(rig, motion.triangles, wishes, settings)
    if not articulated:
        return Solved(rig, info, skeleton, None)
    job = native.Job.start_articulate(*poses, rig, skeleton, settings)
    rig, skeleton, refitted = yield from watch(job, motion, free_share, 1.0)
    return Solved(rig, refitted, skeleton, info)


def convert(scene, view_layer, objects, options: Options) -> Generator[Step, None, Result]:
    """The first object gives the rig its place and its name."""
    clock, now = Clock(), scene.frame_current
    native.library()  # refuses at once when it is not there
    memory.check(options)
    motion = yield from each("Reading", clips.read(scene, view_layer, objects, options))
    clock.lap("capture")
    solved = yield from _solve(motion, options, now)
    clock.lap("solve")
    built = yield from each("Building", build(motion, solved.rig, options, solved.skeleton))
    clock.lap("build")
    try:
        measured = yield from each(
            "Measuring", report.measure(built, motion, solved.rig, solved.info, solved.free)
        )
        clock.lap("measure")
        measured.seconds = clock.seconds
        remember(built, motion, options, measured)
        memory.begin(built, motion, options)
        hand_over(built, motion, options)
    except BaseException:
        discard(built.made)
        raise
    return _result(built, measured)


def _result(built: Built, measured: report.Report) -> Result:
    return Result(built.armature.get(), [handle.get() for handle in built.meshes], measured)


def run(steps: Generator[Step, None, Result], watch: Callable[[Step], object] | None = None) -> Result | None:
    """To the end, for scripts: `watch` sees every step; a true value from it cancels, and None comes back."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return end.value
        if watch is not None and watch(step):
            steps.close()
            return None
        if step.wait:
            time.sleep(_POLL)
