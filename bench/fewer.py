"""What fewer influences cost: a rig solved with eight a vertex, brought to four in several ways.

    python bench/fewer.py SEQUENCE.npz BONES...

strongest  the strongest four of each vertex, as engines take them
plain      those whose loss costs least in positions (prune_weights at fairness 0)
fair       the same in the norm that sees cracks
followed   `fair`, then bones that follow these weights (Rig.to_track), and both again: three times
refitted   `fair`, and then bones, weights and regions solved once more (decompose with that rig)
solved     a solve with four

A line each: E_RMS, normals in degrees, bumps in mean edges, vertices with stray weight, seconds of the
processor.
"""

import dataclasses
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "addon")]

import numpy as np

import measure
import native

FEW, MANY, ROUNDS = 4, 8, 3


def strongest(rig):
    """Influences come strongest first."""
    weights = np.array(rig.influence_weights[:, :FEW], np.float64)
    weights /= weights.sum(axis=1, keepdims=True)
    return dataclasses.replace(
        rig, influence_bones=np.array(rig.influence_bones[:, :FEW]), influence_weights=weights
    )


def measured(rest, frames, triangles, rig):
    found = native.evaluate(rest, frames, rig, triangles=triangles, replay=False)
    stray = measure.stray_share(measure.surface_edges(rest, triangles), rig.dense_weights().astype(float))
    return found.erms, found.normal_degrees, found.bumps, stray


def followed(poses, many, few, settings):
    """The influences that came, chosen anew for bones that followed the choice before"""
    rig = many
    for _ in range(ROUNDS):
        rig = dataclasses.replace(many, transforms=rig.transforms)
        rig = strongest(native.prune_weights(*poses, rig, FEW, settings)[0])
        rig = native.decompose(*poses, few, rig.to_track())[0]
    return rig


def ways(rest, frames, triangles, bones):
    """Yields a name, and the rig"""
    settings = native.Settings(bones=bones, influences=MANY, rest_mode="fixed", threads=1)
    poses, few = (rest, frames, triangles), dataclasses.replace(settings, influences=FEW)
    many, _ = native.decompose(*poses, settings)
    yield "eight", many
    yield "strongest", strongest(many)
    plain, _ = native.prune_weights(*poses, many, FEW, dataclasses.replace(settings, fairness=0.0))
    yield "plain", plain
    fair, _ = native.prune_weights(*poses, many, FEW, settings)
    yield "fair", fair
    yield "followed", followed(poses, many, few, settings)
    yield "refitted", native.decompose(*poses, few, strongest(fair))[0]
    yield "solved", native.decompose(*poses, few)[0]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with np.load(sys.argv[1]) as file:
        rest, frames, triangles = (file[name] for name in ("rest", "frames", "triangles"))
    for bones in map(int, sys.argv[2:]):
        print(f"{Path(sys.argv[1]).stem} {bones}", flush=True)
        began = time.process_time()
        for name, rig in ways(rest, frames, triangles, bones):
            seconds = time.process_time() - began
            erms, degrees, bumps, stray = measured(rest, frames, triangles, rig)
            figures = f"{erms:.2f} / {degrees:.1f} / {bumps:.3f}, stray {100 * stray:.1f} %"
            print(f"  {name:10} {figures}, {seconds:.2f} s", flush=True)
            began = time.process_time()


if __name__ == "__main__":
    main()
