"""The command as a person calls it."""

import os
import subprocess
import sys
from pathlib import Path

import bpy
from ossify import command, native


def outside(*arguments):
    """The command as a person calls it, in a process of its own."""
    if bpy.app.binary_path:
        call = [bpy.app.binary_path, "--factory-startup", "--addons", command.__package__]
        call += ["--command", command.NAME]
    else:
        call = [sys.executable, str(Path(command.__file__).parent)]
    environment = os.environ | {"OSSIFY_LIBRARY": str(native.library_path())}
    return subprocess.run(
        [*call, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=120
    )
