"""What the tools share: the cache folder, its locks, the pinned versions, environments with packages."""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ossify"
STALE = 1800  # seconds after which a lock was left by somebody who was killed
TRIES = 3  # of a download
PAUSE = 10  # seconds between them
PIP_LIMIT = 900  # seconds


class Unavailable(SystemExit):
    """Something that is not on this machine could not be fetched: its sentence ends the tool, if uncaught."""

    def __init__(self, sentence):
        super().__init__(f"{Path(sys.argv[0]).name}: {sentence}")


def stop(sentence):
    sys.exit(f"{Path(sys.argv[0]).name}: {sentence}")


@contextlib.contextmanager
def alone(path):
    """Two makes at the same time take turns; a lock left by a killed one is taken over."""
    lock = path.with_name(path.name + ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    told = False
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            if not told:
                print(f"waiting for another make ({lock}; if there is none, remove it)", file=sys.stderr)
                told = True
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.stat().st_mtime > STALE:
                    lock.rmdir()
            time.sleep(0.5)
    try:
        yield
    finally:
        lock.rmdir()


def pinned(package):
    """The version requirements.txt names, whatever its conditions."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(package)}==([^;\s]+)", text, re.MULTILINE)
    if not found:
        stop(f"requirements.txt pins no {package}.")
    return found.group(1)


def refuse_unfit_python():
    if sys.version_info < (3, 10):  # noqa: UP036
        stop(
            f"{sys.executable} is Python {sys.version.split()[0]}; 3.10 or newer is needed (make PYTHON=...)."
        )
    if importlib.util.find_spec("ensurepip") is None:
        stop(
            f"{sys.executable} comes without ensurepip, so no environment can be made with it; install your"
            " system's package for it (python3-venv on Debian and Ubuntu) or name another: make PYTHON=..."
        )


def interpreter(folder):
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def attempt(command, limit, environment=None):
    """Whether a command succeeded within `limit` seconds; what it says goes to stderr."""
    try:
        return subprocess.run(command, stdout=sys.stderr, timeout=limit, env=environment).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def pip(python, *arguments):
    """Tries again when it fails: networks do."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    for wait in (*[PAUSE] * (TRIES - 1), 0):
        if attempt(command, PIP_LIMIT):
            return
        time.sleep(wait)
    raise Unavailable(f"`{' '.join(command[1:])}` failed {TRIES} times (see above).")


def make_environment(folder, *requirements, python=sys.executable):
    """A virtual environment with packages: names with versions, or "-r" and a file."""
    shutil.rmtree(folder, ignore_errors=True)
    if not attempt([str(python), "-m", "venv", str(folder)], PIP_LIMIT):
        raise Unavailable(f"{python} could not make an environment in {folder} (see above).")
    pip(interpreter(folder), "install", "--quiet", "--only-binary", ":all:", *requirements)
