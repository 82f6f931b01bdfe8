"""Makes the development environment: python3 tools/venv.py FOLDER REQUIREMENTS MAKEFILE

A virtual environment in FOLDER with the pinned packages, and MAKEFILE, which tells make
where OpenBLAS is. Written last, MAKEFILE is also the sign that the environment is whole.
"""

import subprocess
import sys
from pathlib import Path

from cache import alone, interpreter, make_environment, refuse_unfit_python, stop
from openblas import openblas_lines


def package_folder(folder, name):
    """Where a package of the environment lies; it is not imported."""
    code = f"import importlib.util as u; print(u.find_spec({name!r}).submodule_search_locations[0])"
    said = subprocess.run([str(interpreter(folder)), "-c", code], check=True, capture_output=True, text=True)
    return Path(said.stdout.strip())


def main():
    if len(sys.argv) != 4:
        stop("usage: python3 tools/venv.py FOLDER REQUIREMENTS MAKEFILE")
    folder, requirements, makefile = map(Path, sys.argv[1:])
    refuse_unfit_python()
    with alone(folder):
        if makefile.exists():
            return
        print(f"making the development environment in {folder}", file=sys.stderr)
        make_environment(folder, requirements)
        lines = openblas_lines(package_folder(folder, "scipy_openblas32"))
        makefile.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
