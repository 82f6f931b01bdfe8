"""`python PATH/OF/THIS/FOLDER convert ...`: the command with the bpy package instead of Blender."""

import importlib.util
import os
import sys
from pathlib import Path

import bpy  # noqa: F401 (first: it brings what the package imports)


def _package(name: str):
    """This folder, imported as a package."""
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    package = _package("ossify")
    package.register()
    code = package.command.main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # with add-ons enabled, bpy may not come to its end by itself
