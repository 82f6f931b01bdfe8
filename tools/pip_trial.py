"""The wheel as pip's users have it: python tools/pip_trial.py

Installed into fresh environments with NumPy 1.26 and 2.x, for every Python that is here; there the examples
of docs/python.md are run, and `python -m ossify solve`. What is not here is said.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cache import REQUIREMENTS, ROOT, Unavailable, install, interpreter, make_environment
from extension import wheel_path
from platforms import this_platform

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
NUMPYS = {"numpy1": PYTHONS[:3], "numpy2": PYTHONS[:4]}  # those that each has wheels for
MAKE = """
import numpy as np
rest = np.random.default_rng(1).normal(size=(200, 3))
frames = np.stack([rest + [0, 0, 0.1 * f] + 0.3 * np.sin(f) * (rest[:, :1] > 0) for f in range(6)])
np.savez("seq.npz", rest=rest, frames=frames, triangles=np.arange(198).reshape(-1, 3).astype(np.int32))
"""


def run(*command, folder):
    done = subprocess.run([*map(str, command)], text=True, capture_output=True, timeout=300, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))[:200]}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def try_it(python, folder):
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL))
    run(python, "-I", "-c", code, folder=folder)
    run(python, "-I", "-c", MAKE, folder=folder)
    words = [
        "-m",
        "ossify",
        "solve",
        "seq.npz",
        "--bones",
        "2",
        "--skeleton",
        "hierarchy",
        "--out",
        "rig.npz",
    ]
    run(python, *words, folder=folder)
    look = "import numpy as np; r = np.load('rig.npz'); r['joints'];"
    look += " assert r['transforms'].shape == (6, 2, 3, 4)"
    run(python, "-I", "-c", look, folder=folder)
    typed = "import ossify, pathlib; assert (pathlib.Path(ossify.__file__).parent / 'py.typed').is_file()"
    run(python, "-I", "-c", typed, folder=folder)


def python_of(version):
    """One that answers: what is on the path may be a stand-in of pyenv for none."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    places = [shutil.which(f"python{version}"), *sorted(versions.glob(f"{version}.*/bin/python"))]
    for place in filter(None, places):
        done = subprocess.run([place, "-V"], capture_output=True, text=True, timeout=60)
        if done.returncode == 0 and done.stdout.startswith(f"Python {version}."):
            return place
    return None


def install_wheel(python, wheel, folder):
    """From disk alone, by its hash as everything else."""
    asked = folder / "wheel.txt"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    asked.write_text(f"ossify @ {wheel.as_uri()} --hash=sha256:{digest}\n", encoding="utf-8")
    install(python, asked, "--no-index", "--no-deps")


def main():
    wheel = wheel_path(this_platform())
    for version in PYTHONS:
        found = python_of(version)
        if found is None:
            print(f"skipped Python {version}: it is not here")
            continue
        for numpy, fits in NUMPYS.items():
            if version not in fits:
                continue
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                try:
                    make_environment(folder / "venv", REQUIREMENTS / f"{numpy}.txt", found)
                except Unavailable:
                    print(f"skipped Python {version} with {numpy}: it could not be fetched")
                    continue
                python = interpreter(folder / "venv")
                install_wheel(python, wheel, folder)
                try_it(python, folder)
                print(f"pip: {wheel.name} in Python {version} with {numpy}: examples run", flush=True)


if __name__ == "__main__":
    main()
