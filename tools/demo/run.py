"""Shows what Ossify does (`make demo`): python tools/demo/run.py

Runs tools/demo/inside.py in the newest bpy package that fits the Python at hand, or in the Blender that
$BLENDER names, with settings and extensions of its own; the result is in build/demo.
"""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import blenders
from cache import stop
from extension import zip_path
from platforms import this_platform

FOLDER = ROOT / "build" / "demo"
SAID = "demo: "  # starts the lines of tools/demo/inside.py that are for people
LIMIT = 900  # seconds; two minutes are usual


def show(command, environment, log):
    """Runs it; what it says to people is printed, the rest of Blender's words are kept. The exit code."""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        clock = threading.Timer(LIMIT, process.kill)
        clock.start()
        for line in process.stdout:
            if line.startswith(SAID):
                print(line.removeprefix(SAID), end="", flush=True)
            else:
                log.write(line)
        clock.cancel()
    return process.returncode


def main():
    zip_file = zip_path(this_platform())
    if not zip_file.is_file():
        stop(f"{zip_file.relative_to(ROOT)} is not there; make extension makes it.")
    command = blenders.script(ROOT / "tools" / "demo" / "inside.py", zip_file, FOLDER)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "log.txt"
    with tempfile.TemporaryDirectory(prefix="ossify-") as resources, open(path, "w") as log:
        environment = os.environ | {"BLENDER_USER_RESOURCES": resources, "PYTHONDONTWRITEBYTECODE": "1"}
        code = show(command, environment, log)
    if code:
        stop(f"the demo failed or took more than {LIMIT} s:\n{path.read_text()[-2000:]}")
    print(f"\n{(FOLDER / 'demo.png').relative_to(ROOT)} shows them; demo.blend opens in Blender.")


if __name__ == "__main__":
    main()
