"""Everything a change must pass: python tools/check.py (.ci/run calls it when what it needs is there)

    --tests            only what `make test` runs
    --others           only what neither `make lint` nor `make test` runs
    --without-clang    leave out what needs clang
    --go-on            after a part that failed, too
    WORD...            only the parts whose names hold one of the words
    NAME=VALUE...      for every make

What uses all processors by itself comes first, one after the other; then the others side by side, one a
processor, those of `make test` before the rest. The first that fails ends all of it. What each says is
printed when it has ended; last come the seconds, on the clock and of processors, and what was left out.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import blenders
from cache import ROOT
from platforms import PLATFORMS, this_platform

SPENT = int(os.environ.get("CHECK_SPENT", 0))  # seconds, by what came before
WHOLE = 85 * 60 - SPENT  # seconds for everything; a good run on two processors takes less than half of that
WORTH_REPEATING = re.compile(r"(FAILED )?(tests|window) in Blender|skipped |\d+ passed")


HAS_GCOV = shutil.which(os.environ.get("GCOV", "gcov")) is not None
HAS_CLANG = "--without-clang" not in sys.argv
GOES_ON = "--go-on" in sys.argv
ONLY_TESTS = "--tests" in sys.argv
ONLY_OTHERS = "--others" in sys.argv
GIVEN = [word for word in sys.argv[1:] if not word.startswith("--")]
WORDS = [word for word in GIVEN if "=" not in word]
CHOICES = dict(word.split("=", 1) for word in GIVEN if "=" in word)  # for make
LEFT_OUT = {
    "skipped coverage: there is no gcov": not HAS_GCOV,
    "skipped fuzz and clang's warnings: there is no clang with libFuzzer, and it could not be installed": (
        not HAS_CLANG
    ),
}


class Part(NamedTuple):
    name: str
    limit: int  # seconds
    commands: list


class Done(NamedTuple):
    name: str
    passed: bool
    wall: float
    processors: float
    lines: list  # of what it said, those to say again


def make(*arguments):
    """On one processor: other parts have the others."""
    return ["make", "-j1", *arguments, *chosen()]


def chosen():
    return [f"{name}={value}" for name, value in CHOICES.items()]


def as_shipped():
    """What the zip carries is what is tested, so that the library is compiled once; where no zip is made, or
    somebody names another build, that one."""
    named = {"target", "config", "CC", "ARCH", "OPENBLAS"} & set(CHOICES)
    return [] if named or this_platform() not in PLATFORMS else [f"target={this_platform()}"]


def first_parts():
    if not ONLY_TESTS and not ONLY_OTHERS:
        yield Part("lint", 900, [["make", "lint"]])  # and the development environment, when there is none yet
    if not ONLY_OTHERS:
        yield Part("what is tested", 1800, [["make", "test-build", *as_shipped(), *chosen()]])
    if not ONLY_TESTS:  # the trials of farms and engines start from it
        yield Part("the library by the compiler at hand", 600, [["make", "lib", *chosen()]])


def blender(name, part):
    only = CHOICES.get("TESTS", "")
    return [sys.executable, "tools/test_blenders.py", "--only", only, "--parts", part, "--", name]


def tests_in(name):
    return Part(f"tests in Blender {name}", 2700, [blender(name, "tests")])


def test_parts():
    """What `make test` stands for."""
    yield from map(tests_in, blenders.ends())
    yield Part("tests in Python", 1800, [make("test-python", *as_shipped())])
    yield Part("tests in C", 1800, [make("test-c", *as_shipped())])


def other_parts():
    """The longest first. What writes the same files is one part."""
    if HAS_GCOV:
        yield Part("coverage", 2700, [make("coverage")])
    yield Part("windows in Debian's Blenders", 3000, [blender("trixie", "window"), blender("sid", "window")])
    yield Part("thread sanitizer", 2700, [make("test-threads")])
    yield Part(
        "extensions for every platform, their bytes and rules, the wheel for pip, and tests for Windows",
        2700,
        [
            make("extensions"),
            [sys.executable, "tools/release.py", "--check"],
            [sys.executable, "tools/pip_trial.py"],
            make("test-rebuild"),
            make("test-windows"),
        ],
    )
    for name in ("4.5", "trixie", "sid"):  # `make test` takes the oldest and the newest package
        yield tests_in(name)
    yield Part("address and undefined-behaviour sanitizers", 2700, [make("test-address")])
    if HAS_CLANG:
        yield Part("warnings of clang", 600, [make("lib", "CC=clang", "config=debug")])
        yield Part("fuzz, one minute", 600, [make("fuzz", "FUZZ_SECONDS=60")])
    yield Part("shots on schedulers", 900, [[sys.executable, "tools/farm_trial.py"]])
    yield Part("rigs in engines", 900, [[sys.executable, "tools/engines_trial.py"]])
    yield Part("fuzz of files, half a minute", 600, [make("fuzz-files", "FUZZ_SECONDS=30")])


class Checks:
    """Parts that were run, and those that are at it."""

    def __init__(self):
        self.began, self.done, self.running = time.monotonic(), [], set()
        self.lock, self.is_over = threading.Lock(), False

    @property
    def failed(self):
        return any(not part.passed for part in self.done)

    def _run_one(self, command, until, said, environment):
        """The exit code, None when it was not done in time; the processors' seconds"""
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=said, stderr=said, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        with self.lock:
            self.running.add(process.pid)
        in_time = threading.Timer(max(until - time.monotonic(), 0), kill, [process.pid])
        in_time.start()
        _, status, used = os.wait4(process.pid, 0)
        with self.lock:
            self.running.discard(process.pid)
        was_late = not in_time.is_alive()
        in_time.cancel()
        kill(process.pid)  # what it left behind
        process.returncode = os.waitstatus_to_exitcode(status)
        return None if was_late else process.returncode, used.ru_utime + used.ru_stime

    def run(self, part, environment=None):
        if self.is_over or not is_asked_for(part):
            return
        began, processors, code = time.monotonic(), 0.0, 0
        until = min(began + part.limit, self.began + WHOLE)
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            for command in part.commands:
                code, used = self._run_one(command, until, said, os.environ | (environment or {}))
                processors += used
                if code != 0:
                    break
            said.seek(0)
            text = said.read()
        with self.lock:
            if self.is_over:
                return  # it was ended because of another
            print(f"\n== {part.name}\n{text}", flush=True)
            if code is None:
                print(f"== {part.name}: not done within {until - began:.0f} s")
            wall = time.monotonic() - began
            lines = [line for line in text.splitlines() if WORTH_REPEATING.match(line)]
            self.done.append(Done(part.name, code == 0, wall, processors, lines))
            if code != 0 and not GOES_ON:
                self.is_over = True
                for pid in self.running:
                    kill(pid)

    def run_all(self):
        for part in first_parts():
            self.run(part)
        beside = [*([] if ONLY_OTHERS else test_parts()), *([] if ONLY_TESTS else other_parts())]
        processors = os.cpu_count() or 1
        share = {"JOBS": str(max(processors + 1 - len(beside), 1))}
        with ThreadPoolExecutor(processors) as pool:
            for ended in [pool.submit(self.run, part, share) for part in beside]:
                ended.result()

    def tell(self):
        print(f"\n== {'FAILED' if self.failed else 'passed'}")
        print(" clock  processors")
        for part in self.done:
            failed = "" if part.passed else ": FAILED"
            print(f"{part.wall:5.0f} s {part.processors:5.0f} s  {part.name}{failed}")
        all_used = sum(part.processors for part in self.done)
        print(f"{time.monotonic() - self.began:5.0f} s {all_used:5.0f} s  in all")
        again = [line for part in self.done for line in part.lines]
        again += left_out()
        print("\n".join(dict.fromkeys(again)), flush=True)


def left_out():
    why = blenders.unusable()
    without_blender = [f"skipped the tests in Blender: {why}"] if why else []
    return without_blender + [sentence for sentence, is_so in LEFT_OUT.items() if is_so and not ONLY_TESTS]


def is_asked_for(part):
    return not WORDS or any(word in part.name for word in WORDS)


def kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def main():
    checks = Checks()
    checks.run_all()
    checks.tell()
    sys.exit(checks.failed)


if __name__ == "__main__":
    main()
