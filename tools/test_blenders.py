"""Tests the extension in real Blenders: python tools/test_blenders.py [OPTION...] BLENDER...

BLENDER is 4.2, 4.5, ..., oldest or newest for a bpy package, trixie or sid for Debian's. With $BLENDER set,
that one stands for all of them. The zip that `make extension` made is installed in each; tests/addon runs
against what was installed, in as many Blenders at once as there are processors; where there is a screen,
tests/window uses it there as a person would, one after the other. A Blender that dies on the way is started
again: the test it died in must pass there, and the tests after it are run; the line of the result says so.

Every test runs in the newest bpy package. Elsewhere those are left out that are marked `solver`: what the
library chooses, which no version of Blender changes. Blenders between the oldest and the newest run the first
case of each test alone. With --only, all that it names run.
"""

import argparse
import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import blenders
import debian
from cache import ROOT, Unavailable, stop
from extension import zip_path
from platforms import this_platform

LIMITS = {"tests": 2400, "window": 1600}  # seconds
SHARES = {"4.5": "first cases", "trixie": "first cases"}  # of the tests; else "blender", all but the solver's
MOST_DEATHS = 4  # of a Blender in its tests; a test that it dies in twice has failed
SCREENS = ROOT / "build" / "screens"
SCRIPTS = {"tests": ROOT / "tests" / "inside.py", "window": ROOT / "tests" / "window" / "drive.py"}
HOW = {
    "tests": ["--background"],
    "window": ["--enable-event-simulate", "--window-geometry", "0", "0", *debian.SCREEN.split("x")],
}


class Package:
    """Blender as the package bpy."""

    parts = ("tests",)

    def __init__(self, name):
        self.name = name
        self.python = blenders.bpy_python(name)

    def command(self, part, arguments, _written, environment):
        return [self.python, SCRIPTS[part], "--", *arguments], os.environ | environment


class Own:
    """The Blender a person has, at $BLENDER."""

    def __init__(self, path):
        self.name, self.path = "own", shutil.which(path)
        if not self.path:
            stop(f"BLENDER names {path}, which is no program.")
        has_screen = sys.platform == "linux" and os.environ.get("DISPLAY") and shutil.which("import")
        self.parts = ("tests", "window") if has_screen else ("tests",)

    def command(self, part, arguments, _written, environment):
        return [self.path, *_blender_arguments(part, arguments)], os.environ | environment


class Debian:
    """Debian's Blender in a Debian."""

    parts = ("tests", "window")

    def __init__(self, suite, root):
        self.name, self.root = suite, root

    def command(self, part, arguments, written, environment):
        shown = [ROOT, blenders.pytest_folder()]
        inside = ["blender", *_blender_arguments(part, arguments)]
        return debian.inside(self.root, inside, shown, written, environment, part == "window"), os.environ


def _blender_arguments(part, arguments):
    return [
        *HOW[part],
        "--factory-startup",
        "--python-exit-code",
        "1",
        "--python",
        SCRIPTS[part],
        "--",
        *arguments,
    ]


def find_one(name):
    """The Blender of this name, or a sentence why it cannot be had."""
    if name in debian.SUITES:
        why = debian.unfit()
        return why or Debian(name, debian.root_of(name))
    if name not in blenders.RELEASES:
        stop(f"there is no Blender {name} here, only {', '.join([*blenders.RELEASES, *debian.SUITES])}.")
    python = blenders.RELEASES[name].python
    return Package(name) if blenders.python_for(python) else f"its bpy package needs Python {python}"


def find(names):
    """The Blenders of these names, and a sentence for each that cannot be had.

    `oldest` and `newest` must be had where they fit the Python at hand.
    """
    if os.environ.get("BLENDER"):
        return [Own(os.environ["BLENDER"])], []
    fitting = blenders.fitting()
    ends = {"oldest": fitting[:1], "newest": fitting[-1:]}
    needed = [end for name in names for end in ends.get(name, [])]
    asked = dict.fromkeys(end for name in names for end in ends.get(name, [name]))
    found, missing = [], []
    for name in asked:
        try:
            blender = find_one(name)
        except Unavailable as error:
            if name in needed:
                raise
            blender = str(error)
        if isinstance(blender, str):
            missing.append(f"skipped Blender {name}: {blender}")
        else:
            found.append(blender)
    return found, missing


def run(command, environment, limit, said):
    """The exit code; None if it did not end in time. said: a file for all that it says; None: the screen"""
    process = subprocess.Popen(
        [*map(str, command)],
        env=environment,
        start_new_session=True,
        stdout=said,
        stderr=said and subprocess.STDOUT,
    )
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            process.wait()


class Log:
    """What tests/inside.py noted of each test: that it began, and how it ended."""

    def __init__(self, path):
        lines = path.read_text().splitlines() if path.exists() else []
        self.lines = [line.split(" ", 1) for line in lines]

    def counts(self):
        words = collections.Counter(word for word, _ in self.lines)
        return {word: words[word] for word in ("passed", "failed", "skipped") if words[word]}

    def died_in(self):
        """Tests that began, and that nothing more is known of."""
        after = [*self.lines, ["began", None]][1:]
        return [test for (word, test), (then, _) in zip(self.lines, after, strict=True) if word == then]

    def may_go_on(self):
        died = self.died_in()
        return 0 < len(died) <= MOST_DEATHS and len(set(died)) == len(died)


def run_tests(blender, arguments, folder, environment, said):
    """The exit code of the last Blender that it took, and in which tests others died."""
    result, log = folder / "result", folder / "result.tests"
    until = time.monotonic() + LIMITS["tests"]
    while True:
        command = blender.command("tests", arguments, [folder], environment)
        code = run(*command, max(until - time.monotonic(), 1), said)
        if code is None or result.exists() or not Log(log).may_go_on():
            return code
        print(
            f"== Blender died ({code}) in {Log(log).died_in()[-1]}; once more from there",
            file=said,
            flush=True,
        )


def words_of(log, words):
    died = log.died_in()
    if not died:
        return words
    counts = ", ".join(f"{count} {word}" for word, count in log.counts().items())
    return f"{counts or words}; this Blender died in {' and in '.join(died)}, started again there"


def share_of(blender, only):
    is_newest = blender.name in ("own", *blenders.fitting()[-1:])
    return "all" if only or is_newest else SHARES.get(blender.name, "blender")


def judge(blender, part, zip_file, only, sessions, said=None):
    """Whether it passed, and a line that says so."""
    with tempfile.TemporaryDirectory(prefix="ossify-") as name:
        folder, screens = Path(name), SCREENS / blender.name
        result = folder / "result"
        resources = folder / "resources"
        resources.mkdir()
        environment = {
            "BLENDER_USER_RESOURCES": str(resources),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OSSIFY_SHARE": share_of(blender, only),
            "OPENBLAS_NUM_THREADS": "1",  # of NumPy's own, which wait for each other over small matrices
        }
        print(f"\n== {part} in Blender {blender.name}", file=said, flush=True)
        began = time.monotonic()
        if part == "tests":
            arguments = [zip_file, blenders.pytest_folder(), result]
            arguments += ["-k", only, ROOT / "tests" / "addon"] if only else []
            code = run_tests(blender, arguments, folder, environment, said)
        else:
            shutil.rmtree(screens, ignore_errors=True)
            screens.mkdir(parents=True)
            arguments = [zip_file, screens, result, *sessions]
            command = blender.command(part, arguments, [folder, screens], environment)
            code = run(*command, LIMITS[part], said)
        seconds = time.monotonic() - began
        log = Log(folder / "result.tests")
        status, version, words = (result.read_text() if result.exists() else "||").split("|")
        if code is None:
            words = f"did not end within {LIMITS[part]} s; {words}".rstrip("; ")
        elif not words:
            words = f"ended with {code} before any result"
        passed = code == 0 and status == "0" and "failed" not in log.counts()
        where = f"{part} in Blender {version or blender.name} ({blender.name})"
        return passed, f"{where}: {words_of(log, words)}; {seconds:.0f} s"


def judge_aside(blender, zip_file, only):
    """Without a screen; what is said is printed at the end, so that others can run beside it."""
    with tempfile.TemporaryFile("w+") as said:
        result = judge(blender, "tests", zip_file, only, [], said)
        said.seek(0)
        print(said.read(), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("blenders", nargs="*", default=["oldest", "newest"])
    parser.add_argument("--only", help="as pytest's -k", default="")
    parser.add_argument("--sessions", nargs="+", help="those of tests/window/drive.py", default=[])
    parser.add_argument("--parts", nargs="+", choices=list(SCRIPTS), default=list(SCRIPTS))
    asked = parser.parse_args()
    zip_file = zip_path(this_platform())
    if not zip_file.is_file():
        stop(f"{zip_file.relative_to(ROOT)} is not there; make extension makes it.")
    found, missing = find(asked.blenders)
    results = []
    if "tests" in asked.parts:
        blenders.pytest_folder()  # before all of them want it
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results += pool.map(lambda blender: judge_aside(blender, zip_file, asked.only), found)
    if "window" in asked.parts:
        seeing = [blender for blender in found if "window" in blender.parts]
        results += [judge(blender, "window", zip_file, asked.only, asked.sessions) for blender in seeing]
    print("\n" + "\n".join([*(("" if passed else "FAILED ") + line for passed, line in results), *missing]))
    sys.exit(not all(passed for passed, _ in results))


if __name__ == "__main__":
    main()
