"""Long work as a generator of steps: how far it is, what a stage took, a job of the library watched."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from typing import NamedTuple

from .. import native

_SHARES = {"Reading": 0.15, "Solving": 0.7, "Building": 0.05, "Measuring": 0.1}
_FIRST_LOOK, _LATER = 0.001, 0.01  # seconds until a job is looked at again
_LONGER = 1.2  # times, with every look
# E_RMS to percent of the diagonal, for a sphere as wide as the box is long: never too small
_PERCENT = 100 * math.sqrt(3) / 1000 / 2


class Step(NamedTuple):
    stage: str
    fraction: float  # 0..1 of the whole
    error: float | None = None  # so far, root mean square, percent of the size
    bones: int | None = None
    wait: bool = False  # nothing to do but to ask again later


class Clock:
    """The seconds of each stage."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = self.seconds.get(name, 0.0) + now - self._last, now


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


def share_of(steps: Generator, number: int, count: int) -> Generator:
    """The steps of one of several pieces of work as those of the whole; and its value."""
    try:
        while True:
            step = next(steps)
            yield step._replace(fraction=(number + step.fraction) / count)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()


def watch(job: native.Job, motion, first: float, last: float) -> Generator[Step, None, tuple]:
    """The steps of a job that is a part of the solving, from `first` to `last`; its answer.

    motion: what the job was given; check_sources() refuses when what it was read from is gone
    """
    with job:
        while True:
            progress = job.poll()
            motion.check_sources()
            if progress.finished:
                return job.finish()
            fraction = first + (last - first) * progress.fraction
            error = None if progress.erms is None else _PERCENT * progress.erms
            yield step("Solving", fraction, error=error, bones=progress.bones or None, wait=True)


def run(steps: Generator, watch: Callable[[Step], object] | None = None):
    """To the end, for scripts: `watch` sees every step; a true value from it cancels, and None comes back."""
    pause = _FIRST_LOOK
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return end.value
        if watch is not None and watch(step):
            steps.close()
            return None
        if step.wait:
            time.sleep(pause)
        pause = min(_LONGER * pause, _LATER) if step.wait else _FIRST_LOOK
