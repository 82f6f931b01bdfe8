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


def pip(python, *arguments):
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def make_environment(folder, *requirements, python=sys.executable):
    """A virtual environment with packages: names with versions, or "-r" and a file."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    pip(interpreter(folder), "install", "--quiet", "--only-binary", ":all:", *requirements)
