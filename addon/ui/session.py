"""The work that is running at the screen: there is one at a time, and every window may look at it."""

from __future__ import annotations

import time
from collections.abc import Generator

from ..base.steps import Step
from ..base.words import counted
from ..convert.convert import Result

current: Session | None = None
BUSY = "Ossify is at work: wait for it, or cancel it with ESC"  # why nothing else can be started


class Session:
    def __init__(self, steps: Generator[Step, None, Result], operator: str = ""):
        self._steps = steps
        self.operator = operator  # the class that started it
        self.step = Step("Reading", 0.0)
        self.cancelled = False
        self.result: Result | None = None
        self._began = time.monotonic()

    def advance(self, seconds: float) -> bool:
        """Works for about that long; whether it has ended. What goes wrong is raised."""
        until = time.monotonic() + seconds
        while not self.cancelled:
            try:
                self.step = next(self._steps)
            except StopIteration as end:
                self.result = end.value
                return True
            if self.step.wait or time.monotonic() >= until:
                return False
        return True

    def cancel(self) -> None:
        """At once, from wherever: everything is taken back, and the next advance says that it has ended."""
        self.cancelled = True
        self._steps.close()

    @property
    def touches_scene(self) -> bool:
        """While it reads or plays frames, an artist's edits would get into the motion."""
        return self.step.stage != "Solving"

    def progress(self) -> str:
        """Stage, percent and time left, short enough for a bar in the sidebar."""
        step, spent = self.step, time.monotonic() - self._began
        parts = [f"{step.stage} {100 * step.fraction:.0f} %"]
        if spent > 1 and step.fraction > 0.02:
            parts.append(f"{spent * (1 - step.fraction) / step.fraction:.0f} s left")
        return " · ".join(parts)

    def fit(self) -> str:
        """The error so far; empty while there is none."""
        if self.step.error is None:
            return ""
        bones = f" with {counted(self.step.bones, 'bone')}" if self.step.bones else ""
        return f"Error {self.step.error:.2g} %{bones}"


def start(steps: Generator[Step, None, Result], operator: str = "") -> Session:
    global current
    current = Session(steps, operator)
    return current


def end() -> None:
    """Forgets the session; one that still runs is cancelled."""
    global current
    session, current = current, None
    if session is not None:
        session.cancel()
