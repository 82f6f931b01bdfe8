"""How soon each verb ends when it is cancelled: python bench/promptness.py [VERTICES FRAMES BONES [VERB...]]

Runs every verb for a few seconds on a made-up eel, on one thread, and prints the longest processor time
that passed between two of its looks for a wish to end, and from the last wish to its end.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "addon"))
import numpy as np

import made_up
import native

SECONDS = 3  # of the processor, a verb
BODIES = 6


def calls(vertices, frames, bones):
    """name -> verb and its arguments; a verb may come several times"""
    eel = made_up.eel(vertices=vertices, frames=frames, bones=bones)
    settings = native.Settings(bones=bones, threads=1)
    near = ((eel.bones[:, :1] + np.arange(4)) % bones).astype(np.int32)
    shares = np.tile(np.float32([0.6, 0.2, 0.15, 0.05]), (len(eel.rest), 1))
    rig = native.Rig(eel.transforms, near, shares, eel.rest)
    parents = np.arange(-1, bones - 1, dtype=np.int32)
    joints = np.arange(bones)[:, None] / bones * [1.0, 0, 0]
    zeros = np.zeros(bones)
    tree = native.Skeleton(
        *(0, parents, joints, ["root"] + ["ball"] * (bones - 1), np.tile([0, 0, 1.0], (bones, 1))),
        *(zeros, zeros, np.full(bones, -1, np.int32), None, ""),
    )
    grown = np.linspace(1, 1.3, BODIES, dtype=np.float32)
    bodies, subject = eel.rest * grown[:, None, None], np.arange(frames, dtype=np.int32) % BODIES
    moving = eel.frames * grown[subject][:, None, None]
    still = native.Rig(np.tile(np.eye(3, 4), (BODIES, bones, 1, 1)), near, shares, eel.rest)
    every = np.tile(joints, (BODIES, 1, 1))
    motion = {"rest": eel.rest, "frames": eel.frames, "triangles": eel.triangles, "settings": settings}
    rigged = {**motion, "rig": rig}
    crowd = {**motion, "rest": bodies, "frames": moving, "subject": subject}
    alone = {"rig": rig, "triangles": eel.triangles, "settings": settings}
    uv = eel.rest[eel.triangles][:, :, :2]
    starts = {
        f"decompose, {start}": {**motion, "settings": native.Settings(bones=bones, threads=1, start=start)}
        for start in native.header.STARTS
    }
    return {
        **{name: (native.decompose, given) for name, given in starts.items()},
        "decompose, refit": (native.decompose, rigged),
        "decompose, bodies": (native.decompose, crowd),
        "evaluate": (native.evaluate, {key: rigged[key] for key in ("rest", "frames", "triangles", "rig")}),
        "connect": (native.connect, alone),
        "articulate": (native.articulate, {**rigged, "skeleton": tree}),
        "bone_costs": (native.bone_costs, rigged),
        "add_bone": (native.add_bone, rigged),
        "prune_weights": (native.prune_weights, {**rigged, "influences": 1}),
        "smooth_weights": (native.smooth_weights, {**rigged, "budget": 0.5, "rounds": 50}),
        "correct": (native.correct, {**rigged, "correction": native.Correction(count=20)}),
        "animation_space": (native.animation_space, {**rigged, "fit": native.SpaceFit(rounds=50)}),
        "compress": (native.compress, {**rigged, "compression": native.Compression(virtual_bones=3 * bones)}),
        "drive": (native.drive, {**rigged, "parents": parents, "driving": native.Driving(count=20)}),
        "unite": (native.unite, crowd),
        "shape_bones": (native.shape_bones, {**motion, "bodies": bodies, "rest": None, "frames": None}),
        "merge": (native.merge, {**crowd, "pose": rig, "parents": parents, "joints": every, "shape": still}),
        "place_joints": (
            native.place_joints,
            {**alone, "parents": parents, "known": bodies, "joints": every, "rest": np.repeat(bodies, 5, 0)},
        ),
        "unwrap": (native.unwrap, {**motion, "uv": uv, "unwrapping": native.Unwrapping(iterations=200)}),
        "fuse": (native.fuse, rigged),
        "inspect": (native.inspect, {**rigged, "skeleton": tree}),
        "average_poses": (native.average_poses, alone),
    }


def longest(verb, given):
    """Seconds between two looks, and from the last to the end"""
    began = last = time.process_time()
    most = 0.0

    def watch(_progress):
        nonlocal last, most
        now = time.process_time()
        most, last = max(most, now - last), now
        return now - began > SECONDS

    try:
        verb(**{name: value for name, value in given.items() if value is not None}, watch=watch)
    except native.OssifyError as error:
        if error.status != native.Status.CANCELLED:
            raise
    return most, time.process_time() - last


def main():
    size = [int(word) for word in sys.argv[1:4]] or [200000, 12, 60]
    found = calls(*size)
    missing = set(native.header.VERBS) - {name.split(",")[0] for name in found}
    if missing:
        sys.exit(f"promptness.py: nothing here calls {', '.join(sorted(missing))}.")
    worst = 0.0
    for name, (verb, given) in found.items():
        if not sys.argv[4:] or name.split(",")[0] in sys.argv[4:]:
            between, behind = longest(verb, given)
            worst = max(worst, between, behind)
            print(f"{name:20} {between:6.3f} s between two looks {behind:6.3f} s to the end", flush=True)
    print(f"{worst:.2f} s at most, {size[0]} vertices, {size[1]} frames, {size[2]} bones")


if __name__ == "__main__":
    main()
