"""Hashes the rigs that the library makes, so that two versions of it can be compared to the bit.

    python bench/hashes.py --out BEFORE.json          every mesh; --quick: small ones, without `best`
    python bench/hashes.py --compare BEFORE.json      lists what differs, with both errors; exit code 1

Each line is one case, mesh/case: 16 digits of the SHA-256 over transforms, influences, weights and rest, of a
skeleton also over parents, joints, kinds, axes and mirrors; E_RMS; processor seconds. Meshes are those of
../shared/data (--data, $OSSIFY_DATA), the creatures of bestiary.py where a Blender can make them, and eels.

    draft, normal, best    solved at each quality; best not on what is large
    jointed                bones that a skeleton can join; connect and articulate go on from it
    track                  the frames followed with normal's weights and rest, held
    refit-held             normal's rig given, some transforms, weights, groups, rest positions held
    refit-less, -moves     normal's rig without a bone, the others staying, or free to leave their place
    refit-more             normal's rig with a bone where the error is most

and on the smallest meshes each of the other settings and verbs. Answers depend neither on threads nor
on the processor. A file that is there grows.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path[:0] = [str(ROOT / "addon"), str(ROOT / "tools")]

import numpy as np

import creatures
import made_up
import native
from roundtrip import without_bone
from rows import DATA, machine, say

BONES = {"gt-cheburashka": 11, "elephant-gallop": 27, "pcow": 24, "ict-face": 30, "threejs-horse": 12}
MOST_BONES = 24  # that a budget may use
MOST_FOR_BEST = 600_000  # vertices times frames: more takes many minutes
MOST_FOR_SETTINGS = 40_000
QUICK = ("eel", "threejs-horse", "gt-cheburashka", "truth-human", "snake-hinges")


class Mesh(NamedTuple):
    rest: np.ndarray
    frames: np.ndarray
    triangles: np.ndarray
    bones: int

    @property
    def poses(self):
        return self.rest, self.frames, self.triangles


# ---- the meshes


def read(name, path):
    """None when the file has no frames. Of several subjects the first is everyone's rest."""
    with np.load(path, allow_pickle=False) as file:
        if "frames" not in file.files:
            return None
        bones = file["weights"].shape[1] if "weights" in file.files else BONES.get(name, 20)
        rest = file["rest"]
        return Mesh(rest if rest.ndim == 2 else rest[0], file["frames"], file["triangles"], bones)


def eel(vertices, frames, bones, noise):
    made = made_up.eel(vertices, frames, bones, noise)
    return Mesh(made.rest, made.frames, made.triangles, bones)


def makers(data, quick):
    """{name: a function that brings the mesh}, one at a time: some are large."""
    every = {"eel": lambda: eel(1200, 24, 8, 0.0), "eel-large": lambda: eel(6000, 60, 12, 0.001)}
    files = {path.stem: path for path in sorted(data.glob("*.npz"))}
    if not files:
        say(f"{data} holds no sequences: only what is made up is hashed (--data FOLDER names another).")
    for name, path in {**files, **creatures.paths()}.items():
        every[name] = lambda name=name, path=path: read(name, path)
    return {name: make for name, make in every.items() if not quick or name in QUICK}


# ---- the cases: a name, a rig, a skeleton or None, and E_RMS


def solve(mesh, given=None, **chosen):
    bones = {} if given is not None else {"bones": mesh.bones}
    rig, info = native.decompose(*mesh.poses, settings(**bones | chosen), rig=given)
    return rig, None, info.erms


def settings(**chosen):
    return native.Settings(**{"threads": 1, "fairness": 0.0, **chosen})


def qualities(mesh, quick):
    """And what begins with normal's rig."""
    yield "draft", *solve(mesh, quality="draft")
    yield "normal", *(normal := solve(mesh))
    yield from refits(mesh, normal[0])
    if not quick and mesh.frames.size <= 3 * MOST_FOR_BEST:
        yield "best", *solve(mesh, quality="best")


def refits(mesh, rig):
    less = without_bone(rig, mesh.bones // 3)
    yield "track", *solve(mesh, rig.to_track(), rest_mode="fixed")
    yield "refit-held", *solve(mesh, with_holds(rig))
    yield "refit-less", *solve(mesh, less)
    yield "refit-moves", *solve(mesh, less, relocate="all")
    yield "refit-more", *solve(mesh, native.add_bone(*mesh.poses, rig, settings=settings()))


def with_holds(rig):
    """Of every kind a little: a bone in half of the frames, a group, the first vertices' weights and rest."""
    frames, bones = rig.transforms.shape[:2]
    vertices = np.arange(len(rig.rest))
    return native.Rig(
        rig.transforms,
        rig.influence_bones,
        rig.influence_weights,
        rig.rest,
        held_transforms=np.outer(2 * np.arange(frames) < frames, np.arange(bones) == 0),
        held_vertices=20 * vertices < len(vertices),
        held_groups=np.arange(bones) == bones // 2,
        held_rest=10 * vertices < len(vertices),
    )


def skeletons(mesh):
    jointed, _, erms = solve(mesh, jointed=True)
    yield "jointed", jointed, None, erms
    skeleton = native.connect(jointed, mesh.triangles, settings=settings())
    yield "connect", jointed, skeleton, erms
    rig, skeleton, info = native.articulate(*mesh.poses, jointed, skeleton, settings())
    yield "articulate", rig, skeleton, info.erms


def other_settings(mesh):
    """Each by itself, at the lowest quality; and other verbs."""
    for name, chosen in {
        "flexible": {"bone_kind": "flexible"},
        "faces": {"start": "faces"},
        "spectral": {"start": "spectral"},
        "tried": {"start": "tried"},
        "rest-fixed": {"rest_mode": "fixed"},
        "rest-free": {"rest_mode": "free"},
        "not-local": {"locality": False},
        "smooth": {"smoothness": 20.0},
        "fair": {"fairness": 10.0},
        "fair-rest": {"fairness": 10.0, "rest_mode": "smooth"},
        "six-influences": {"influences": 6},
        "budget-rms": {"budget_kind": "rms", "budget": 0.5, "bones": MOST_BONES},
        "budget-maximum": {"budget_kind": "maximum", "budget": 3.0, "bones": MOST_BONES},
        "parts": {"budget_kind": "parts", "bones": MOST_BONES},
        "seed": {"start": "spectral", "seed": 7},
    }.items():
        yield name, *solve(mesh, quality="draft", **chosen)
    yield "no-rest", *solve(mesh._replace(rest=None), quality="draft")
    yield "no-faces", *solve(mesh._replace(triangles=None), quality="draft")
    rig, _, erms = solve(mesh, quality="draft")
    pruned, info = native.prune_weights(*mesh.poses, rig, 2, settings())
    yield "prune-weights", pruned, None, info.erms
    little = float(np.linalg.norm(np.ptp(mesh.rest, axis=0))) / 1000
    smoothed, info = native.smooth_weights(*mesh.poses, rig, little, settings=settings())
    yield "smooth-weights", smoothed, None, info.erms
    for rule in native.CONNECTS:
        joined = native.connect(rig, mesh.triangles, settings=settings(connect=rule))
        yield f"connect-{rule}", rig, joined, erms
    rig, skeleton, info = native.articulate(*mesh.poses, rig, joined, settings(), stretch=True)
    yield "articulate-stretch", rig, skeleton, info.erms


def cases_of(mesh, quick):
    yield from qualities(mesh, quick)
    yield from skeletons(mesh)
    if mesh.frames.size <= 3 * MOST_FOR_SETTINGS:
        yield from other_settings(mesh)


# ---- hashes


def digest(*arrays):
    """Of numbers as they lie in memory, whatever holds them."""
    hashed = hashlib.sha256()
    for array, dtype in arrays:
        plain = np.ascontiguousarray(array, dtype=dtype)
        hashed.update(f"{plain.shape}".encode())
        hashed.update(plain.tobytes())
    return hashed.hexdigest()[:16]


def digest_of(rig, skeleton):
    arrays = [
        (rig.transforms, np.float64),
        (rig.influence_bones, np.int32),
        (rig.influence_weights, np.float32),
        (rig.rest, np.float32),
    ]
    if skeleton is not None:
        arrays += [
            (skeleton.parents, np.int32),
            (skeleton.joints, np.float64),
            (list(map(str, skeleton.kinds)), np.dtype("S8")),
            (skeleton.axes, np.float64),
            (skeleton.mirrors, np.int32),
        ]
    return digest(*arrays)


def rows_of(name, mesh, quick):
    """{mesh/case: hash, E_RMS, processor seconds, the mesh's own hash}, said while they come."""
    given = digest((mesh.rest, np.float32), (mesh.frames, np.float32), (mesh.triangles, np.int32))
    rows, began = {}, time.process_time()
    for case, rig, skeleton, erms in cases_of(mesh, quick):
        seconds = time.process_time() - began
        row = {"hash": digest_of(rig, skeleton), "erms": erms, "seconds": seconds, "mesh": given}
        rows[f"{name}/{case}"] = row
        say(f"{name + '/' + case:36} {row['hash']} {erms:12.6f} {seconds:8.2f} s")
        began = time.process_time()
    return rows


# ---- what was before


def kept(path):
    """{} when the file is not there yet."""
    return json.loads(path.read_text()) if path.is_file() else {}


def keep(path, rows):
    whole = path.with_name(path.name + ".part")
    whole.write_text(json.dumps({**kept(path), "machine": machine(), "cases": rows}, indent=1) + "\n")
    whole.replace(path)


def is_other(then, now):
    return any(then[key] != now[key] for key in ("hash", "mesh"))


def compare(before, rows):
    """Lists the cases that differ; True when there are any, or nothing to compare."""
    if before["machine"] != machine():
        say(f"before was another machine, {before['machine']}: hashes may differ without reason.")
    common = [name for name in rows if name in before["cases"]]
    differing = [name for name in common if is_other(before["cases"][name], rows[name])]
    for name in differing:
        then, now = before["cases"][name], rows[name]
        errors = f"E_RMS {then['erms']:.6f} -> {now['erms']:.6f}"
        mesh = "" if then["mesh"] == now["mesh"] else "; the mesh itself is another one"
        say(f"{name}: {then['hash']} -> {now['hash']}, {errors}{mesh}")
    seconds = [sum(of[name]["seconds"] for name in common) for of in (before["cases"], rows)]
    say(
        f"{len(common)} cases compared, {len(differing)} differ;"
        f" {len(rows) - len(common)} are not in the file;"
        f" processor seconds {seconds[0]:.1f} before, {seconds[1]:.1f} now"
    )
    return len(differing) > 0 or not common


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, without best")
    parser.add_argument("--only", metavar="WORDS", help="meshes whose names hold one of them, with commas")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="of the shared sequences")
    parser.add_argument("--out", type=Path, metavar="FILE.json")
    parser.add_argument("--compare", type=Path, metavar="FILE.json")
    options = parser.parse_args()
    if options.compare and not options.compare.is_file():
        parser.error(f"{options.compare} is not there")
    return options


def main():
    options = parse()
    words = options.only.split(",") if options.only else [""]
    rows = kept(options.out).get("cases", {}) if options.out else {}
    done = {}
    for name, make in makers(options.data, options.quick).items():
        if not any(word in name for word in words):
            continue
        mesh = make()
        if mesh is not None:
            done |= rows_of(name, mesh, options.quick)
        if options.out:
            keep(options.out, rows | done)
    if options.compare and compare(kept(options.compare), done):
        sys.exit(1)


if __name__ == "__main__":
    main()
