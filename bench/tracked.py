"""New frames of a known rig, tracked plainly and in the norm that sees cracks.

    python bench/tracked.py SEQUENCE.npz BONES...

The first half of the frames is solved with four influences, the rest untouched, and its weights find bones
for the second half, at fairness 0 and at the default. A line each, of the second half alone: E_RMS, normals
in degrees, bumps in mean edges, milliseconds of the processor a frame.
"""

import dataclasses
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "addon")]

import numpy as np

import native


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with np.load(sys.argv[1]) as file:
        rest, frames, triangles = (file[name] for name in ("rest", "frames", "triangles"))
    known, new = np.array_split(frames, 2)
    for bones in map(int, sys.argv[2:]):
        settings = native.Settings(bones=bones, rest_mode="fixed", threads=1)
        rig, _ = native.decompose(rest, known, triangles, settings)
        for name, fairness in (("plain", 0.0), ("in norm", settings.fairness)):
            began = time.process_time()
            wish = dataclasses.replace(settings, bones=rig.bones, fairness=fairness)
            _, info = native.decompose(rest, new, triangles, wish, rig.to_track())
            spent = 1000 * (time.process_time() - began) / len(new)
            print(
                f"{Path(sys.argv[1]).stem} {bones} {name:8} {info.erms:.3f} / {info.normal_degrees:.2f} /"
                f" {info.bumps:.4f}  {spent:.2f} ms, {info.iterations} iterations",
                flush=True,
            )


if __name__ == "__main__":
    main()
