"""What a farm costs beside a plain loop: python bench/farm.py [SHOTS]

As many bending tubes, converted at draft quality by (1) one `convert` of all of them, (2) a `convert` for
each, one after the other, (3) the same with a picture of each rig, (4) `openjd run` of the job that `farm`
writes, which makes pictures and the page: its difference to (3) is what a task costs beside its shot.
Seconds of the processor, of this machine, and shots an hour of one processor by them; sizes of the wheels
that `make release` made. Prints what docs/benchmarks.md has.
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from blenders import bpy_python, fitting
from cache import environment
from engines_trial import MAKE_TUBE

FLAGS = ["--bones", "4", "--quality", "draft"]


def spent(*command):
    """Seconds of the processor and on the clock."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))[:200]}\n{done.stdout[-1000:]}\n{done.stderr[-1000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.monotonic() - start


def ways(folder, count):
    """(what, seconds of the processor, on the clock)"""
    python = bpy_python(fitting()[-1])
    program = [python, ROOT / "addon"]
    shots = [folder / f"shot{number}.npz" for number in range(count)]
    for shot in shots:
        spent(python, "-c", MAKE_TUBE, shot, 16)
    yield (
        "one `convert` of all",
        *spent(*program, "convert", *shots, "--output", folder / "a{name}.glb", *FLAGS),
    )
    each = [spent(*program, "convert", shot, "--output", folder / "b.glb", *FLAGS) for shot in shots]
    yield ("a `convert` for each", *map(sum, zip(*each, strict=True)))
    pictured = [
        spent(*program, "convert", shot, "--output", folder / "c.glb", "--picture", folder / "c.png", *FLAGS)
        for shot in shots
    ]
    yield ("the same, with a picture", *map(sum, zip(*pictured, strict=True)))
    out = folder / "job"
    spent(*program, "farm", *shots, "--output", out, "--program", " ".join(map(str, program)), "--", *FLAGS)
    openjd = environment("farm").parent / "openjd"
    yield ("`openjd run`, with pictures and the page", *spent(openjd, "run", out / "openjd.json"))


def main():
    count = int(sys.argv[1]) if sys.argv[1:] else 6
    print(
        "| how | processor s a shot | shots an hour of a processor | s on the clock, all |",
        "|---|---|---|---|",
        sep="\n",
    )
    with tempfile.TemporaryDirectory() as folder:
        for what, used, clock in ways(Path(folder), count):
            print(f"| {what} | {used / count:.2f} | {3600 * count / used:.0f} | {clock:.1f} |", flush=True)
    wheels = sorted((ROOT / "build" / "wheels").glob("*.whl"))
    sizes = [f"{re.sub('.*none-', '', wheel.stem)} {wheel.stat().st_size / 1e6:.1f} MB" for wheel in wheels]
    print(f"\nWheels: {', '.join(sizes) or 'none were made'}.")


if __name__ == "__main__":
    main()
