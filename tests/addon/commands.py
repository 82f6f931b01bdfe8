"""The command as a person calls it, and files to call it with."""

import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import scenes
from ossify import command, native

FAST = ["--bones", "4", "--quality", "draft", "--quiet"]


def run(*arguments):
    """The exit code, in this process."""
    return command.main([str(argument) for argument in arguments])


def started(*arguments, **more):
    """In a process of its own, beside this one."""
    if bpy.app.binary_path:
        call = [bpy.app.binary_path, "--factory-startup", "--addons", command.__package__]
        call += ["--command", command.NAME]
    else:
        call = [sys.executable, str(Path(command.__file__).parent)]
    environment = os.environ | {"OSSIFY_LIBRARY": str(native.library_path())}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*call, *map(str, arguments)], env=environment, **pipes, **more)


def outside(*arguments):
    """The same when it has ended."""
    with started(*arguments) as process:
        out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def save_moving(path, obj=None):
    """A .blend with a moving sheet."""
    scenes.key_shapes(obj or scenes.grid())
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def write_obj(path, points):
    n = int(np.sqrt(len(points)))
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in points]
    for r in range(n - 1):
        for c in range(n - 1):
            a = r * n + c + 1
            lines.append(f"f {a} {a + 1} {a + n + 1} {a + n}")
    path.write_text("\n".join(lines) + "\n")
