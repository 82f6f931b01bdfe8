"""Whether another build gives the same bytes: python tools/rebuild.py PLATFORM

Builds the extension a second time, in another folder, at another time, for another user's habits (umask, time
zone, language), and compares the wheel and the zip with those in build/, which `make extension` made.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from archive import read
from cache import ROOT, stop
from extension import wheel_path, zip_path
from platforms import PLATFORMS

LIMIT = 1800  # seconds
LEFT_OUT = shutil.ignore_patterns("build", ".git", "__pycache__", ".*_cache")


def build_again(folder):
    habits = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "extension"],
        cwd=folder,
        env=inherited | habits,
        timeout=LIMIT,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.umask(0o077),
    )
    if done.returncode != 0:
        stop(f"the second build failed in {folder} (see above).")


def difference(first, second):
    """A sentence about the first file inside that differs; None: the bytes are the same"""
    if first.read_bytes() == second.read_bytes():
        return None
    here, there = read(first), read(second)
    other = [name for name in here.keys() | there.keys() if here.get(name) != there.get(name)]
    what = f"{', '.join(sorted(other))} in it" if other else "how it is packed, not what is in it"
    return f"{first.name} has other bytes when it is built again: {what}."


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PLATFORMS:
        stop(f"usage: python tools/rebuild.py {'|'.join(PLATFORMS)}")
    built = [wheel_path(sys.argv[1]), zip_path(sys.argv[1])]
    with tempfile.TemporaryDirectory(prefix="ossify-in-a-folder-of-another-length-") as name:
        folder = Path(name) / "tree"
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        build_again(folder)
        sentences = [difference(path, folder / path.relative_to(ROOT)) for path in built]
    if any(sentences):
        stop(" ".join(filter(None, sentences)))
    for path in built:
        print(f"  {path.relative_to(ROOT)}: the same bytes when built again elsewhere")


if __name__ == "__main__":
    main()
