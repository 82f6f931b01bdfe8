"""Shows what Ossify does (`make demo`): python demo/run.py

Runs demo/inside.py in the newest bpy package that fits the Python at hand, or in the Blender that $BLENDER
names, with settings and extensions of its own; the result is in build/demo.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import blenders
from cache import stop
from extension import zip_path
from platforms import this_platform

FOLDER = ROOT / "build" / "demo"
LIMIT = 900  # seconds; two minutes are usual


def main():
    zip_file = zip_path(this_platform())
    if not zip_file.is_file():
        stop(f"{zip_file.relative_to(ROOT)} is not there; make extension makes it.")
    command = blenders.script(ROOT / "demo" / "inside.py", zip_file, FOLDER)
    with tempfile.TemporaryDirectory(prefix="ossify-") as resources:
        environment = os.environ | {"BLENDER_USER_RESOURCES": resources, "PYTHONDONTWRITEBYTECODE": "1"}
        log = FOLDER / "log.txt"
        FOLDER.mkdir(parents=True, exist_ok=True)
        try:
            with open(log, "w") as noise:
                done = subprocess.run(command, env=environment, stderr=noise, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            stop(f"the demo did not end within {LIMIT} s; {log.relative_to(ROOT)} may say why.")
    if done.returncode:
        stop(f"the demo failed:\n{log.read_text()[-3000:]}")
    print(f"\n{(FOLDER / 'demo.png').relative_to(ROOT)} shows them; demo.blend opens in Blender.")


if __name__ == "__main__":
    main()
