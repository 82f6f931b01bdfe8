"""The wheel as pip's users have it: python tools/pip_trial.py

Installed into fresh environments with NumPy 1.26 and 2.x, for every Python that is here or can be had from
Debian (as root, in a system of its own); there the examples of docs/python.md are run, and `python -m ossify
solve`. What could not be had is said.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import debian
from cache import REQUIREMENTS, ROOT, Unavailable, download, install, interpreter, make_environment
from extension import wheel_path
from platforms import this_platform

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
NUMPYS = {"numpy1": PYTHONS[:3], "numpy2": PYTHONS[:4], "numpy2.4": PYTHONS[3:]}  # that each has wheels for
MAKE = """
import numpy as np
rest = np.random.default_rng(1).normal(size=(200, 3))
frames = np.stack([rest + [0, 0, 0.1 * f] + 0.3 * np.sin(f) * (rest[:, :1] > 0) for f in range(6)])
np.savez("seq.npz", rest=rest, frames=frames, triangles=np.arange(198).reshape(-1, 3).astype(np.int32))
"""

LOOK = """
import numpy as np
rig = np.load("rig.npz")
assert rig["joints"].shape == (2, 3)
assert rig["transforms"].shape == (6, 2, 3, 4)
"""
TYPED = "import ossify, pathlib; assert (pathlib.Path(ossify.__file__).parent / 'py.typed').is_file()"


def run(*command, folder):
    done = subprocess.run([*map(str, command)], text=True, capture_output=True, timeout=300, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))[:200]}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def try_it(python, folder):
    """python: the start of a command"""
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL))
    for some in (code, MAKE):
        run(*python, "-I", "-c", some, folder=folder)
    words = ["seq.npz", "--bones", "2", "--skeleton", "hierarchy", "--out", "rig.npz"]
    run(*python, "-m", "ossify", "solve", *words, folder=folder)
    for some in (LOOK, TYPED):
        run(*python, "-I", "-c", some, folder=folder)


def python_of(version):
    """One that answers: what is on the path may be a stand-in of pyenv for none."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    places = [shutil.which(f"python{version}"), *sorted(versions.glob(f"{version}.*/bin/python"))]
    for place in filter(None, places):
        done = subprocess.run([place, "-V"], capture_output=True, text=True, timeout=60)
        if done.returncode == 0 and done.stdout.startswith(f"Python {version}."):
            return place
    return None


def asked_for(wheel, folder):
    """From disk alone, by its hash as everything else."""
    asked = folder / "wheel.txt"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    asked.write_text(f"ossify @ {wheel.as_uri()} --hash=sha256:{digest}\n", encoding="utf-8")
    return asked


def installed_here(found, numpy, wheel, folder):
    """An environment of a Python of this system, as the start of a command."""
    make_environment(folder / "venv", REQUIREMENTS / f"{numpy}.txt", found)
    install(interpreter(folder / "venv"), asked_for(wheel, folder), "--no-index", "--no-deps")
    return [interpreter(folder / "venv")]


def installed_in_debian(version, numpy, wheel, folder):
    """The same in a Debian that has this Python; what is installed is fetched from outside."""
    why = debian.unfit()
    if why:
        raise Unavailable(f"{why}.")
    root = debian.root_with_python(version)
    wheels = folder / "wheels"
    fits = ["--python-version", version, "--platform", "manylinux_2_28_x86_64"]
    download(REQUIREMENTS / f"{numpy}.txt", wheels, *fits, "--platform", "manylinux_2_27_x86_64")

    def inside(*words):
        return debian.inside(root, words, shown=[ROOT], written=[folder])

    python = folder / "venv" / "bin" / "python"
    run(*inside(f"/usr/bin/python{version}", "-I", "-m", "venv", folder / "venv"), folder=folder)
    from_disk = ("--no-index", "--no-deps", "--find-links", wheels)
    for asked in (REQUIREMENTS / f"{numpy}.txt", asked_for(wheel, folder)):
        install(inside(python), asked, *from_disk)
    return inside(python)


def try_with(version, numpy, wheel):
    found = python_of(version)
    make = installed_here if found else installed_in_debian
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            python = make(found or version, numpy, wheel, folder)
        except Unavailable as why:
            print(f"skipped Python {version} with {numpy}: {why}")
            return
        try_it(python, folder)
        numbers = "import sys, numpy; print(sys.version.split()[0], 'with NumPy', numpy.__version__)"
        said = run(*python, "-I", "-c", numbers, folder=folder).strip()
        print(f"pip: {wheel.name} in Python {said}: examples run", flush=True)


def main():
    wheel = wheel_path(this_platform())
    for version in PYTHONS:
        for numpy, fits in NUMPYS.items():
            if version in fits:
                try_with(version, numpy, wheel)


if __name__ == "__main__":
    main()
