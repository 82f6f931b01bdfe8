"""What fairness costs and brings: the default against fairness 0, which is what 0.1.0 solved.

    python bench/fair.py SEQUENCE.npz:BONES... [--rest fixed|kept|smooth] [--before fixed|kept]

A line each: seconds of the processor, E_RMS, normals in degrees, bumps in mean edges, of both, their ratios,
and by how many degrees the rest pose's normals turned.
"""

import argparse
import math
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "addon")]

import numpy as np

import native


def solved(poses, bones, rest_mode, fairness):
    began = time.process_time()
    settings = native.Settings(bones=bones, threads=1, rest_mode=rest_mode, fairness=fairness)
    _, info = native.decompose(*poses, settings)
    figures = time.process_time() - began, info.erms, info.normal_degrees, info.bumps
    return figures, info.rest_normal_degrees


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="+", metavar="SEQUENCE.npz:BONES")
    parser.add_argument("--rest", default="kept", choices=native.REST_MODES)
    parser.add_argument("--before", choices=native.REST_MODES, help="at fairness 0; as --rest")
    options = parser.parse_args()
    ratios = []
    for row in options.rows:
        path, bones = row.rsplit(":", 1)
        with np.load(path) as file:
            poses = tuple(file[name] for name in ("rest", "frames", "triangles"))
        before, _ = solved(poses, int(bones), options.before or options.rest, 0.0)
        after, turned = solved(poses, int(bones), options.rest, None)
        ratios.append([new / old for old, new in zip(before, after, strict=True)])
        words = " -> ".join("{:.2f} s, {:.3f} / {:.2f} / {:.4f}".format(*one) for one in (before, after))
        share = ", ".join(f"{ratio:.2f}x" for ratio in ratios[-1])
        print(f"{Path(path).stem} {bones}: {words}: {share}; rest {turned:.1f}", flush=True)
    means = [math.exp(sum(map(math.log, column)) / len(ratios)) for column in zip(*ratios, strict=True)]
    print("mean: " + ", ".join(f"{mean:.2f}x" for mean in means))


if __name__ == "__main__":
    main()
