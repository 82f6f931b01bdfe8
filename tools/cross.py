"""Gets what a foreign platform is built with: python tools/cross.py PLATFORM MAKEFILE

Unpacks the OpenBLAS wheel of PLATFORM beside MAKEFILE, which then tells make how to compile and link
for it. Written last, MAKEFILE is also the sign that the folder is whole.
"""

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from cache import REQUIREMENTS, alone, download, stop
from openblas import openblas_lines
from platforms import PLATFORMS


def unpack_openblas(wheel_platform, folder):
    with tempfile.TemporaryDirectory() as downloads:
        download(REQUIREMENTS / "openblas.txt", downloads, "--platform", wheel_platform)
        (wheel,) = Path(downloads).glob("*.whl")
        shutil.rmtree(folder, ignore_errors=True)
        with zipfile.ZipFile(wheel) as file:
            file.extractall(folder)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in PLATFORMS:
        stop(f"usage: python tools/cross.py {'|'.join(PLATFORMS)} MAKEFILE")
    platform, makefile = PLATFORMS[sys.argv[1]], Path(sys.argv[2])
    folder = makefile.parent
    with alone(folder):
        if makefile.exists():
            return
        print(f"getting OpenBLAS for {sys.argv[1]} into {folder}", file=sys.stderr)
        unpack_openblas(platform.wheel, folder)
        lines = [f"ZIG_TARGET := {platform.zig}", f"WHEEL_TAG := {platform.wheel}"]
        lines += openblas_lines(folder / "scipy_openblas32")
        makefile.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
