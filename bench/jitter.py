"""How much nearer Smooth Jitter comes to the motion without jitter: python bench/jitter.py [--rigs]

Made-up jitter is added to the shared sequences that are captured or played in time: once to each vertex by
itself, once to whole parts (smooth fields that change from frame to frame, as of a generator that makes
each frame anew), each as large as AMOUNTS says. A figure below 1 is a gain; that of the motion alone shows
what is done where nothing is to do. Three seeds, the worst of them. Prints the table of docs/benchmarks.md;
NumPy alone, a minute. With --rigs the error of rigs instead, solved as the preset Generated does from the
frames as they come and from those smoothed, to the motion without jitter; some minutes.
"""

import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "addon"), str(ROOT / "tools")]
package = types.ModuleType("ossify")
package.__path__ = [str(ROOT / "addon")]
sys.modules["ossify"] = package

from ossify.motion import jitter

from rows import DATA

NAMES = (
    "samba",
    "pdance",
    "horse-gallop",
    "horse-collapse",
    "pcow",
    "elephant-gallop",
    "vellum-cloth",
    "threejs-horse",
)
RIGS = {"horse-collapse": 20, "samba": 24}  # bones
AMOUNTS = 0.002, 0.01  # of the size, RMS of a vertex
SEEDS = 1, 2, 3
FIELDS = 12  # smooth ones that jitter of parts is made of
MOST = 1500  # vertices


def by_vertex(rng, clean):
    return rng.normal(size=clean.shape)


def by_parts(rng, clean):
    place = (clean[0] - clean[0].mean(axis=0)) / np.ptp(clean[0], axis=0).max()
    fields = np.cos(place @ rng.uniform(-9, 9, (3, FIELDS)) + rng.uniform(0, 6, FIELDS))
    return np.einsum("vm,fmc->fvc", fields, rng.normal(size=(len(clean), FIELDS, 3)))


def rms(difference):
    return float(np.sqrt((difference**2).sum(axis=2).mean()))


def gain(clean, size, kind, amount, seed):
    """The error to the clean motion, smoothed against as it came."""
    added = kind(np.random.default_rng(seed), clean)
    seen = (clean + amount * size / rms(added) * added).astype(np.float32)
    found = jitter.steadied(seen, size).frames
    return rms(found - clean) / rms(seen - clean)


def row(path):
    with np.load(path) as file:
        clean = file["frames"].astype(np.float64)
    clean = clean[:, :: max(1, clean.shape[1] // MOST)]
    size = float(np.linalg.norm(np.ptp(clean[0], axis=0)))
    alone = 100 * rms(jitter.steadied(clean.astype(np.float32), size).frames - clean) / size
    cells = [
        f"{max(gain(clean, size, kind, amount, seed) for seed in SEEDS):.3f}"
        for kind in (by_parts, by_vertex)
        for amount in AMOUNTS
    ]
    return [path.stem, str(len(clean)), *cells, f"{alone:.3f} %"]


def solved(path, frames, triangles, bones):
    """What an articulated rig of frames alone shows: no neutral pose is given."""
    rig = path.with_name("rig.npz")
    np.savez(path, frames=frames, triangles=triangles)
    words = ["--bones", bones, "--skeleton", "articulated", "--threads", 1, "--out", rig]
    solve = [sys.executable, ROOT / "bench" / "solve.py", path, *words]
    subprocess.run([*map(str, solve)], check=True, capture_output=True)
    with np.load(rig) as file:
        found = {name: file[name] for name in file.files}
    bone, shares = found["influence_bones"], found["influence_weights"].astype(np.float64)
    rest = np.concatenate([found["rest"], np.ones((len(found["rest"]), 1))], axis=1).astype(np.float64)
    turned = [np.einsum("vkij,vj,vk->vi", moved[bone], rest, shares) for moved in found["transforms"]]
    return np.array(turned)


def rig_row(folder, name, bones, kind, amount):
    with np.load(DATA / f"{name}.npz") as file:
        clean, triangles = file["frames"].astype(np.float64), file["triangles"]
    size = float(np.linalg.norm(np.ptp(clean[0], axis=0)))
    added = kind(np.random.default_rng(SEEDS[0]), clean)
    seen = (clean + amount * size / rms(added) * added).astype(np.float32)
    given = clean.astype(np.float32), seen, jitter.steadied(seen, size).frames
    off = [100 * rms(solved(folder / "seen.npz", x, triangles, bones) - clean) / size for x in given]
    return [
        f"{name}, {bones} bones",
        f"{kind.__name__[3:]}, {100 * amount:g} %",
        *map("{:.3f} %".format, off),
    ]


def rigs():
    print(
        "| sequence | jitter | rig of the motion without any | as it came | smoothed |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, bones in RIGS.items():
            for kind in (by_parts, by_vertex):
                print("| " + " | ".join(rig_row(Path(folder), name, bones, kind, 0.01)) + " |", flush=True)


def smoothed():
    found = [DATA / f"{name}.npz" for name in NAMES if (DATA / f"{name}.npz").is_file()]
    if not found:
        sys.exit(f"bench/jitter.py: the sequences are read from {DATA}, and none is there.")
    small, large = (f"{100 * amount:g} %" for amount in AMOUNTS)
    head = (
        f"| sequence | frames | parts, {small} | {large} | vertices, {small} | {large} | moved without any |"
    )
    print(head, "|---|---|---|---|---|---|---|", sep="\n")
    for path in found:
        print("| " + " | ".join(row(path)) + " |", flush=True)


if __name__ == "__main__":
    rigs() if sys.argv[1:] == ["--rigs"] else smoothed()
