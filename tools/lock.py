"""Writes the hashes of every package that is installed: python tools/lock.py [--upgrade]

requirements.in and tools/requirements/*.in name versions; the .txt beside each adds what those bring along
and the SHA-256 of every file of each, for every platform, and pip installs nothing else. What the bpy
packages need follows from the table in tools/blenders.py. Versions that nobody names stay as they are unless
--upgrade is given.
"""

import subprocess
import sys

from blenders import RELEASES, requirements_of
from cache import REQUIREMENTS, ROOT, environment, stop

OLDEST_PYTHON = "3.10"
NEEDED_PYTHON = {"fuzz": "3.11", "numpy2.4": "3.11"}  # where a package has none for the oldest
HEAD = "# Written by `make lock`: versions and hashes. What is asked for stands in {source}.\n"


def purposes():
    """(what is asked for, where that stands, the Python it is for, the file to write)"""
    sources = [ROOT / "requirements.in", *sorted(REQUIREMENTS.glob("*.in"))]
    for source in sources:
        python = NEEDED_PYTHON.get(source.stem, OLDEST_PYTHON)
        yield f"-r {source}\n", source.relative_to(ROOT).as_posix(), python, source.with_suffix(".txt")
    for name, release in RELEASES.items():
        asked = f"bpy=={release.bpy}\nnumpy=={release.numpy}\n"
        yield asked, "tools/blenders.py", release.python, requirements_of(name)


def lock(uv, asked, source, python, file, options):
    command = [uv, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header"]
    command += ["--no-annotate", "--no-emit-index-url", "--only-binary", ":all:", "--python-version", python]
    done = subprocess.run([*command, *options, "-o", file, "-"], input=asked, text=True, cwd=ROOT)
    if done.returncode != 0:
        stop(f"what {source} asks for cannot be had together (see above).")
    file.write_text(HEAD.format(source=source) + file.read_text(encoding="utf-8"), encoding="utf-8")


def main():
    options = sys.argv[1:]
    if options not in ([], ["--upgrade"]):
        stop("usage: python tools/lock.py [--upgrade]")
    uv = environment("lock")
    for asked, source, python, file in purposes():
        lock(uv, asked, source, python, file, options)
        print(f"  {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
