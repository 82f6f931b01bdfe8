"""What the tools share: the cache folder, its locks, and environments with packages of known hashes."""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tools" / "requirements"
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


def _pip(python, *arguments):
    """Tries again when it fails: networks do. python: a path, or the start of a command"""
    start = python if isinstance(python, list) else [python]
    command = [*map(str, start), "-I", "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    for wait in (*[PAUSE] * (TRIES - 1), 0):
        if attempt(command, PIP_LIMIT):
            return
        time.sleep(wait)
    raise Unavailable(f"`{' '.join(command[1:])}` failed {TRIES} times (see above).")


def install(python, requirements, *arguments):
    """Only what requirements names, and only files with the hashes that stand there."""
    only = ("--quiet", "--only-binary", ":all:", "--require-hashes")
    _pip(python, "install", *only, *arguments, "-r", requirements)


def download(requirements, folder, *arguments):
    """The wheels of requirements, for any platform; with the hashes that stand there."""
    only = ("--quiet", "--only-binary", ":all:", "--require-hashes", "--no-deps")
    _pip(sys.executable, "download", *only, *arguments, "--dest", folder, "-r", requirements)


def digest(requirements):
    """Other pins or hashes make another folder in the cache."""
    return hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]


def make_environment(folder, requirements, python=sys.executable):
    """A virtual environment with the packages of a file; its pip is the one that came with its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    if not attempt([str(python), "-I", "-m", "venv", str(folder)], PIP_LIMIT):
        raise Unavailable(f"{python} could not make an environment in {folder} (see above).")
    install(interpreter(folder), requirements)


def environment(purpose, python=sys.executable):
    """The Python of an environment with the packages of tools/requirements/PURPOSE.txt, made if need be."""
    requirements = REQUIREMENTS / f"{purpose}.txt"
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    folder = FOLDER / f"{purpose}-python{version.rpartition('.')[0]}-{digest(requirements)}"
    whole = folder / "whole"
    with alone(folder):
        if not whole.exists():
            refuse_unfit_python()
            print(f"getting what {requirements.relative_to(ROOT)} names into {folder}", file=sys.stderr)
            make_environment(folder, requirements, python)
            whole.touch()
    return interpreter(folder)
