"""Decomposes a made-up moving mesh and prints what came out (`make demo`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "addon"))

import made_up
import native

CASES = [  # what, vertices, frames, true bones, noise
    ("an eel", 2_000, 60, 8, 0.0),
    ("a longer eel", 12_000, 120, 24, 0.0),
    ("the same, scanned", 12_000, 120, 24, 0.001),
]
HEAD = (
    "mesh",
    "vertices",
    "frames",
    "bones",
    "found",
    "error %",
    "worst %",
    "E_RMS",
    "seconds",
    "cache MB",
    "rig MB",
)


def megabytes(count):
    return f"{count / 1e6:.2f}"


def rig_bytes(rig):
    """As a game engine would store it: a quaternion and a position a key, a byte and a short an influence."""
    keys = rig.transforms.shape[0] * rig.transforms.shape[1] * 7 * 4
    return keys + int((rig.influence_bones >= 0).sum()) * 3


def solved(what, vertices, frames, bones, noise):
    eel = made_up.eel(vertices, frames, bones, noise)
    rig, info = native.decompose(eel.rest, eel.frames, eel.triangles, native.Settings(bones=bones))
    return (
        what,
        f"{len(eel.rest):,}",
        f"{len(eel.frames)}",
        f"{bones}",
        f"{info.bones}",
        f"{info.rms_percent:.4f}",
        f"{info.maximum_percent:.4f}",
        f"{info.erms:.4f}",
        f"{info.seconds:.2f}",
        megabytes(eel.frames.nbytes),
        megabytes(rig_bytes(rig)),
    )


def main():
    try:
        rows = [HEAD, *(solved(*case) for case in CASES)]
    except native.OssifyError as error:
        sys.exit(str(error))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for what, *figures in rows:
        cells = [what.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True)]
        print("  ".join(cells))
    print("\nerror: root mean square distance in percent of the mesh's size; worst: the largest distance.")


main()
