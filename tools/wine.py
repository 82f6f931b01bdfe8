"""Runs a program for Windows: python tools/wine.py PROGRAM ARGUMENT...

Without a program it says whether there is a wine, after trying to install Debian's as root.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cache import FOLDER, stop
from debian import install_packages

LIMIT = 1200  # seconds


def wine():
    """Debian keeps the 64-bit one off the path."""
    names = ["wine64", "/usr/lib/wine/wine64", "wine64-stable", "wine"]
    return next((found for found in map(shutil.which, names) if found), None)


def environment():
    prefix = FOLDER / "wine"
    prefix.mkdir(parents=True, exist_ok=True)
    quiet = {"WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
    without_screen = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    return without_screen | quiet


def main():
    if len(sys.argv) > 1:
        if wine() is None:
            stop("there is no wine.")
        try:
            done = subprocess.run([wine(), *sys.argv[1:]], env=environment(), timeout=LIMIT)
        except subprocess.TimeoutExpired:
            stop(f"{Path(sys.argv[1]).name} did not end within {LIMIT} s.")
        sys.exit(done.returncode)
    if wine() is None and not (install_packages("wine64") and wine()):
        print("skipped the tests for Windows: there is no wine, and it could not be installed")
        sys.exit(1)


if __name__ == "__main__":
    main()
