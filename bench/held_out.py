"""Animation space on frames that were not used, as a table of docs/animation-space.md.

    python bench/held_out.py SETS [--rest untouched]

Solves some frames of each sequence in SETS and lets the bones find their way through others (bench/solve.py,
--track): E_RMS of linear skinning there, and how many times as much there is with positions for a vertex's
own bones, and padded. --rest untouched: corrections vanish in the rest pose. 20 bones, of the face 30.
"""

import argparse
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import solve
from subjects import table


def some(count, step, most=None):
    """Every so-manyth frame, and as many of the others as are wanted, spread evenly"""
    used = np.arange(0, count, step)
    others = np.setdiff1d(np.arange(count), used)
    return used, others if most is None else others[np.linspace(0, len(others) - 1, most).round().astype(int)]


def halves(count, at):
    return np.arange(at), np.arange(at, count)


SPLITS = {  # name, in words: bones, and which frames are used and left out
    ("horse-gallop", "every fourth on 12 others"): (20, lambda n: some(n, 4, 12)),
    ("horse-gallop", "the first half on the second"): (20, lambda n: halves(n, n // 2)),
    ("samba", "every tenth on 40 others"): (20, lambda n: some(n, 10, 40)),
    ("elephant-gallop", "every fourth on 12 others"): (20, lambda n: some(n, 4, 12)),
    ("lion-poses", "two thirds on every third"): (20, lambda n: some(n, 3)[::-1]),
    ("vellum-cloth", "every fourth on 23 others"): (20, lambda n: some(n, 4, 23)),
    ("cat-poses", "the first six on the last three"): (20, lambda n: halves(n, 6)),
    ("cat-poses", "the last six on the first three"): (20, lambda n: halves(n, 3)[::-1]),
    ("ict-face", "two thirds on every third"): (30, lambda n: some(n, 3)[::-1]),
}


def solved(*arguments):
    """What bench/solve.py prints"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = solve.main([str(argument) for argument in arguments])
    if code:
        sys.exit(code)
    return json.loads(said.getvalue().splitlines()[-1])


def held_out(path, bones, split, folder, more):
    with np.load(path) as file:
        arrays = {name: file[name] for name in ("rest", "frames", "triangles")}
    for name, chosen in zip(("used", "left"), split(len(arrays["frames"])), strict=True):
        np.savez(folder / f"{name}.npz", **{**arrays, "frames": arrays["frames"][chosen]})
    errors = []
    for kind in ("own", "padded"):
        rig = folder / "rig.npz"
        words = ("--bones", bones, "--threads", 1, *more)
        solved(folder / "used.npz", *words, "--animation-space", kind, "--out", rig)
        errors.append(solved(folder / "left.npz", "--track", rig, "--threads", 1))
    return errors


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rest", choices=("untouched",))
    options = parser.parse_args()
    more, rows = ("--rest", options.rest) if options.rest else (), []
    with tempfile.TemporaryDirectory() as folder:
        for (name, words), (bones, split) in SPLITS.items():
            own, padded = held_out(options.folder / f"{name}.npz", bones, split, Path(folder), more)
            ratios = (f"{found['erms'] / found['bare_erms']:.3f}" for found in (own, padded))
            rows.append((f"{name}, {words}", f"{own['bare_erms']:.3f}", *ratios))
            print(*rows[-1], file=sys.stderr, flush=True)
    table("frames | linear | own | padded", rows)


if __name__ == "__main__":
    main()
