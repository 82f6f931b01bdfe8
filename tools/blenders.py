"""Real Blenders without installing any: the bpy packages, and a person's own.

    python tools/blenders.py python 4.2      prints the Python in which `import bpy` is Blender 4.2
    python tools/blenders.py list            the Blenders that fit the Pythons at hand, one a line
    python tools/blenders.py any             whether there is one at all; if not, it says why
    python tools/blenders.py needed          the same for what cannot go on without one

"oldest" and "newest" stand for the first and the last of the list. What is not there yet is made in the
cache folder: no root, half a minute and a gigabyte each.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from cache import FOLDER, REQUIREMENTS, alone, digest, download, environment, install, stop
from platforms import PLATFORMS, this_platform


class Release(NamedTuple):
    bpy: str  # version of the package
    python: str  # the only one it is made for
    numpy: str  # the one that Blender itself ships


RELEASES = {
    "4.2": Release("4.2.23", "3.11", "1.24.3"),
    "4.5": Release("4.5.15", "3.11", "1.26.4"),
    "5.0": Release("5.0.1", "3.11", "1.26.4"),
    "5.1": Release("5.1.2", "3.13", "2.3.5"),
    "5.2": Release("5.2.3", "3.13", "2.3.5"),
}


def python_for(version):
    """An interpreter of this version that can make environments, or None; the one at hand if it fits."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    other = shutil.which(f"python{version}")
    if other and subprocess.run([other, "-c", "import ensurepip"], capture_output=True).returncode == 0:
        return other
    return None


def fitting():
    """The releases that the Python at hand can run; those of other installed Pythons, if it can run none."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    names = [name for name, release in RELEASES.items() if release.python == here]
    return names or [name for name, release in RELEASES.items() if python_for(release.python)]


def none_fits():
    return (
        f"there is no bpy package for Python {sys.version_info[0]}.{sys.version_info[1]} (only for"
        f" {' and '.join(sorted({release.python for release in RELEASES.values()}))}); make PYTHON=... names"
        " another, BLENDER=... a Blender of your own"
    )


def requirements_of(name):
    """The file with the hashes of a release's packages; tools/lock.py writes it."""
    return REQUIREMENTS / f"bpy-{name}.txt"


def bpy_python(name):
    """The Python in which `import bpy` is this Blender; Unavailable where it cannot be fetched."""
    release = RELEASES[name]
    python = python_for(release.python)
    if python is None:
        stop(f"Blender {name} as a package needs Python {release.python}, which is not here.")
    return environment(requirements_of(name).stem, python)


def script(path, *arguments):
    """A command that runs a Python file in a Blender without a window: a person's own, or the newest bpy."""
    given = ["--", *map(str, arguments)]
    own = os.environ.get("BLENDER")
    if own:
        if not shutil.which(own):
            stop(f"BLENDER names {own}, which is no program.")
        quiet = ["--background", "--factory-startup", "--python-exit-code", "1"]
        return [own, *quiet, "--python", str(path), *given]
    names = fitting()
    if not names:
        stop(f"{none_fits()}.")
    return [str(bpy_python(names[-1])), str(path), *given]


def pytest_folder():
    """pytest as a folder for sys.path: it is pure Python, and Blender's own Python knows no packages."""
    requirements = REQUIREMENTS / "pytest.txt"
    folder = FOLDER / f"pytest-{digest(requirements)}"
    whole = folder / "whole"
    with alone(folder):
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            install(sys.executable, requirements, "--target", folder)
            whole.touch()
    return folder


def builder(verb):
    """Blender's extension tool, as the start of a command: `verb` is build or validate."""
    if os.environ.get("BLENDER"):
        return [os.environ["BLENDER"], "--factory-startup", "--command", "extension", verb]
    names = fitting()
    if names:
        python = bpy_python(names[-1])
        (scripts,) = python.parent.parent.glob("[Ll]ib/**/site-packages/bpy/*/scripts")
    else:
        python, scripts = sys.executable, _scripts_alone()
    tool = scripts / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    tags = scripts / "modules" / "_bpy_internal" / "extensions" / "tags.py"
    return [str(python), str(tool), verb, "--valid-tags", str(tags)]


def _scripts_alone():
    """Only the extension tool, for a Python that cannot run any bpy."""
    if sys.version_info < (3, 11):
        stop(f"Blender's extension tool needs Python 3.11 or newer, and {none_fits()}.")
    release = RELEASES["5.0"]
    folder = FOLDER / f"scripts-{digest(requirements_of('5.0'))}"
    whole = folder / "whole"
    with alone(folder):
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            print(f"getting Blender's extension tool into {folder}", file=sys.stderr)
            with tempfile.TemporaryDirectory() as downloads:
                of = ("--python-version", release.python, "--platform", PLATFORMS[this_platform()].wheel)
                download(requirements_of("5.0"), downloads, *of)
                (wheel,) = Path(downloads).glob("bpy-*.whl")
                with zipfile.ZipFile(wheel) as file:
                    parts = ("/addons_core/bl_pkg/cli/", "/_bpy_internal/extensions/")
                    file.extractall(folder, [n for n in file.namelist() if any(part in n for part in parts)])
            whole.touch()
    (scripts,) = folder.glob("bpy/*/scripts")
    return scripts


def ends():
    """The oldest and the newest that can be had, each once; with $BLENDER set, that one stands for both."""
    if unusable():
        return []
    return ["newest"] if os.environ.get("BLENDER") else [*dict.fromkeys((fitting()[0], fitting()[-1]))]


def unusable():
    """Why the extension cannot be used here in any Blender; None when it can."""
    if this_platform() not in PLATFORMS:
        return f"no extension is made for {this_platform()}"
    return None if os.environ.get("BLENDER") or fitting() else none_fits()


def main():
    names = fitting()
    if sys.argv[1:] == ["list"]:
        print("\n".join(names))
        return
    if sys.argv[1:] in (["any"], ["needed"]):
        why = unusable()
        if why and sys.argv[1] == "needed":
            stop(f"{why}.")
        if why:
            print(f"skipped the tests in Blender: {why}")
        sys.exit(why is not None)
    if len(sys.argv) != 3 or sys.argv[1] != "python":
        stop("usage: python tools/blenders.py python 4.2|...|oldest|newest, list, or any")
    if not names:
        stop(none_fits() + ".")
    name = {"oldest": names[0], "newest": names[-1]}.get(sys.argv[2], sys.argv[2])
    if name not in RELEASES:
        stop(f"there is no Blender {name} here, only {', '.join(RELEASES)}.")
    print(bpy_python(name))


if __name__ == "__main__":
    main()
