"""Makes the development environment: python3 tools/venv.py FOLDER REQUIREMENTS MAKEFILE

A virtual environment in FOLDER with the pinned packages, and MAKEFILE, which tells make
where OpenBLAS is. Written last, MAKEFILE is also the sign that the environment is whole.
"""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

SHARED = (".so", ".dylib", ".dll")
SAYS_WHERE = (
    "import scipy_openblas32 as b; print(b.get_include_dir(), b.get_lib_dir(), b.get_library(), sep='\\n')"
)


def stop(sentence):
    sys.exit(f"tools/venv.py: {sentence}")


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


@contextlib.contextmanager
def alone(folder):
    """Two makes at the same time take turns; a lock left by a killed one is taken over."""
    lock = folder.with_name(folder.name + ".lock")
    folder.parent.mkdir(parents=True, exist_ok=True)
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
                if time.time() - lock.stat().st_mtime > 900:
                    lock.rmdir()
            time.sleep(0.5)
    try:
        yield
    finally:
        lock.rmdir()


def interpreter(folder):
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(folder, requirements):
    print(f"making the development environment in {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(interpreter(folder)), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--only-binary", ":all:", "-r", str(requirements)], check=True
    )


def openblas_lines(folder):
    """OpenBLAS and what it brings along, as make variables."""
    said = subprocess.run(
        [str(interpreter(folder)), "-c", SAYS_WHERE], check=True, capture_output=True, text=True
    )
    include, library_folder, name = said.stdout.split("\n")[:3]
    package = Path(library_folder).parent
    folders = [package / "lib", package / ".dylibs", package.with_name(package.name + ".libs")]
    files = [file for place in folders if place.is_dir() for file in sorted(place.iterdir())]
    shared = [file for file in files if file.suffix in SHARED or ".so." in file.name]
    if not shared:
        stop(f"scipy-openblas32 brought no shared library for {sysconfig.get_platform()}.")
    spaced = [str(file) for file in (*shared, include) if " " in str(file)]
    if spaced:
        stop(f"make cannot use paths with spaces ({spaced[0]}); set XDG_CACHE_HOME to a folder without.")
    yield f"OPENBLAS_INCLUDE := {Path(include).as_posix()}"
    yield f"OPENBLAS_FOLDER := {Path(library_folder).as_posix()}"
    yield f"OPENBLAS_NAME := {name}"
    yield "OPENBLAS_FILES := " + " ".join(file.as_posix() for file in shared)


def main():
    if len(sys.argv) != 4:
        stop("usage: python3 tools/venv.py FOLDER REQUIREMENTS MAKEFILE")
    folder, requirements, makefile = map(Path, sys.argv[1:])
    refuse_unfit_python()
    with alone(folder):
        if makefile.exists():
            return
        try:
            make_environment(folder, requirements)
            lines = list(openblas_lines(folder))
        except subprocess.CalledProcessError as error:
            stop(f"could not make {folder}: `{' '.join(map(str, error.cmd))}` failed (see above).")
        makefile.write_text("\n".join(lines) + "\n")


main()
