"""Maps for a motion against maps for one pose, as tables of docs/unwrap.md and docs/animation-space.md.

    python bench/stretch.py SETS [--only seams,models]      with a bpy package of Blender 4.3 or later

SETS is a folder with horse-gallop.npz and samba.npz. Maps are Blender's own *Minimum Stretch* of the rest
pose, along the seams of a smart projection, or cut along the middle plane alone; a tube has one seam along
it. Every second frame is used, the others are measured. Stretch in percent by which Sander's L2 is above 1,
mean over the frames that were left out.

`models` remakes Table II of Merry, Marais and Gain (2006), with maps as here: relaxed for the rest pose, for
poses that a skeleton could take if all rotations were as likely, for poses in which every joint is turned as
in a frame of its own, and for the frames themselves. The poses are drawn, for the metric of sampled poses is
the mean over them; skeleton and weights come from the frames that are used.
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from unwrap import native, split, stretch  # first: the add-on has a room of that name

# isort: split
import tube
from subjects import hang, replay, table

ANGLE = math.radians(66)  # of a smart projection
MARGIN = 0.003
EVERY = 2  # the second frame of so many is left out
TUBE = 121, 48  # rings, and vertices of each
TUBE_FRAMES, TUBE_BEND = 40, 120
DRAWN = 64  # poses of a model
ONE = native.Settings(threads=1)


class Case(NamedTuple):
    name: str
    rest: np.ndarray
    frames: np.ndarray
    triangles: np.ndarray
    seams: str  # "smart", "middle", or "along": where a tube is closed
    bones: int


# ---- maps by Blender


def edges_of(mesh, chosen):
    """Marks the edges for which chosen(a, b) of the faces beside them holds."""
    beside = {}
    for face in mesh.polygons:
        for key in face.edge_keys:
            beside.setdefault(key, []).append(face.index)
    for edge in mesh.edges:
        faces = beside.get(edge.key, [])
        edge.use_seam = len(faces) == 2 and bool(chosen(*faces))


def mark_seams(mesh, case):
    """Seams that need no map."""
    centres = case.rest[case.triangles].mean(axis=1)
    if case.seams == "middle":
        side = centres[:, 0] > np.median(case.rest[:, 0])
        edges_of(mesh, lambda a, b: side[a] != side[b])
    else:
        angle = np.arctan2(centres[:, 2], centres[:, 1])
        edges_of(mesh, lambda a, b: abs(angle[a] - angle[b]) > math.pi)


def first_map(case):
    """[t][3][2]"""
    bpy.ops.wm.read_homefile(use_empty=True)
    mesh = bpy.data.meshes.new("Mesh")
    mesh.from_pydata(case.rest.tolist(), [], case.triangles.tolist())
    mesh.uv_layers.new()
    obj = bpy.data.objects.new("Mesh", mesh)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    if case.seams != "smart":
        mark_seams(mesh, case)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    if case.seams == "smart":
        bpy.ops.uv.smart_project(angle_limit=ANGLE, island_margin=MARGIN)
        bpy.ops.uv.select_all(action="SELECT")
        bpy.ops.uv.seams_from_islands()
    bpy.ops.uv.unwrap(method="MINIMUM_STRETCH", margin=MARGIN)
    bpy.ops.object.mode_set(mode="OBJECT")
    flat = np.empty(2 * len(mesh.loops), np.float32)
    mesh.uv_layers.active.data.foreach_get("uv", flat)
    return flat.reshape(-1, 3, 2)


# ---- poses of a model


def any_turn(random):
    """[3][3] uniform over all rotations (Shoemake 1992)"""
    w, x, y, z = (q := random.standard_normal(4)) / np.linalg.norm(q)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def draw(case, used):
    """Poses [f][v][3] of both models: rotations all as likely, and as they are, each joint by itself"""
    settings = native.Settings(bones=case.bones, threads=1, jointed=True, quality="draft")
    rig, _ = native.decompose(case.rest, used, case.triangles, settings)
    skeleton = native.connect(rig, case.triangles)
    rig, skeleton, _ = native.articulate(case.rest, used, case.triangles, rig, skeleton, settings)
    parents, turns, random = skeleton.parents, rig.transforms[..., :3], np.random.default_rng(0)
    own = turns.copy()  # seen from the parent
    for b, parent in enumerate(parents):
        own[:, b] = np.swapaxes(turns[:, parent], 1, 2) @ turns[:, b] if parent >= 0 else np.eye(3)
    poses = {"uniform": [], "independent": []}
    for _ in range(DRAWN):
        frames = random.integers(len(own), size=len(parents))
        local = {
            "uniform": [any_turn(random) if parent >= 0 else np.eye(3) for parent in parents],
            "independent": own[frames, np.arange(len(parents))],
        }
        for name, found in local.items():
            poses[name].append(hang(found, skeleton.joints, parents))
    made = {
        name: native.Rig(np.array(t), rig.influence_bones, rig.influence_weights, rig.rest)
        for name, t in poses.items()
    }
    return [replay(made[name], rig.rest).astype(np.float32) for name in ("uniform", "independent")]


# ---- tables


def cases(folder):
    for name, bones in (("horse-gallop", 24), ("samba", 24)):
        with np.load(folder / f"{name}.npz") as file:
            rest, frames, triangles = file["rest"], file["frames"], file["triangles"]
        for seams in ("smart", "middle"):
            yield Case(name, rest, frames, triangles, seams, bones)
    made = tube.tube(*TUBE)
    frames, _ = tube.poses(made, "bend", np.linspace(0, TUBE_BEND, TUBE_FRAMES))
    yield Case("tube", made.rest, frames, made.triangles, "along", 3)


def relaxed(case, frames, uv, method="stretch"):
    """What the library makes of it, and seconds of the processor"""
    began = time.process_time()
    found, _ = native.unwrap(case.rest, frames, case.triangles, uv, native.Unwrapping(method), ONE)
    return found, time.process_time() - began


def by_seams(case, uv, used, left):
    def off(found):
        return stretch(found.uv, case.triangles, left)

    (ours, seconds), (same, _), (flat, _) = (
        relaxed(case, used, uv, method) for method in ("stretch", "isometric", "conformal")
    )
    before, after = stretch(uv, case.triangles, left), off(ours)
    conformal = "flips" if flat.flipped else f"{off(flat):.3g}"
    name = f"{case.name}, {len(case.rest)} vertices, {len(used)} frames; {case.seams}"
    figures = f"{before:.4g}", f"{after:.3g}", f"{after / before:.2f}", f"{off(same):.3g}"
    return name, ours.islands, *figures, conformal, ours.flipped, f"{seconds:.1f}"


def by_models(case, uv, used, left):
    poses = [case.rest[None], *draw(case, used), used]
    cells = []
    for method in ("conformal", "stretch"):
        for frames in poses:
            found, _ = relaxed(case, frames, uv, method)
            cells.append("flips" if found.flipped else f"{stretch(found.uv, case.triangles, left):.3g}")
    return f"{case.name}; {case.seams}", *cells


TABLES = {
    "seams": (
        "mesh, seams | islands | Minimum Stretch | for the motion | ratio | *isometric* | conformal, L2,2"
        " | flipped | seconds",
        by_seams,
    ),
    "models": (
        "mesh, seams | conformal: rest | uniform | independent | frames | *stretch*: rest | uniform"
        " | independent | frames",
        by_models,
    ),
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(TABLES))
    options = parser.parse_args()
    asked = options.only.split(",")
    rows = {name: [] for name in asked}
    for case in cases(options.folder):
        uv = first_map(case)
        used, left = split(case.frames, EVERY)
        for name in asked:
            rows[name].append(TABLES[name][1](case, uv, used, left))
    for name in asked:
        table(TABLES[name][0], rows[name])


if __name__ == "__main__":
    main()
