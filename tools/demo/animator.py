"""Runs inside Blender: captured and sculpted bodies with 24 free bones, and with an animator's.

    python tools/demo/animator.py -- ZIP FOLDER DATA [WIDTH]

DATA holds the sequences (bench/rows.py says where they are looked for). FOLDER gets animator-NAME.png for
each: above the bones of the least error, below those that an animator would rig, both in the same frame, and
with the same joint turned by hand.
"""

import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bpy
import numpy as np
import picture
from picture import Grip

EXTENSION = "bl_ext.user_default.ossify"
ROOMS = (
    "base.pointcache",
    "base.steps",
    "convert.convert",
    "options.options",
    "rig.build",
    "rig.heat",
    "rig.report",
)
FREE = {
    "skeleton": "HIERARCHY",
    "bones": 24,
    "fairness": 0.0,
    "rest_correction": "KEPT",
}


class Case(NamedTuple):
    frame: int
    turn: tuple[float, float]  # about the vertical, then toward the camera
    posed: str
    grip: Grip


CASES = {
    "pdance": Case(140, (2.6, 0.1), "the head turned", Grip((-0.44, 0.12, 1.70), (0, 0, 0.8))),
    "lion-poses": Case(3, (1.15, 0.12), "a foreleg turned", Grip((-0.116, -0.33, 0.63), (-0.9, 0, 0))),
    "gt-cow": Case(4, (0.9, 0.15), "a hind leg turned", Grip((-34.4, 52.6, 52.6), (0.8, 0, 0))),
}


def upright(points):
    """[...][3] Y up, as the sequences are, to Z up"""
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)


def bring_in(ossify, path, folder):
    """The sequence as a mesh with a cache."""
    with np.load(path) as file:
        rest, frames, triangles = upright(file["rest"]), upright(file["frames"]), file["triangles"]
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, len(frames)
    mesh = bpy.data.meshes.new(path.stem)
    mesh.from_pydata(rest.tolist(), [], triangles.tolist())
    obj = bpy.data.objects.new(path.stem, mesh)
    scene.collection.objects.link(obj)
    cache = folder / f"{path.stem}.pc2"
    with ossify.base.pointcache.Writer(cache, len(rest), np.arange(1, len(frames) + 1)) as writer:
        for points in frames:
            writer.add(points)
        writer.finish()
    modifier = obj.modifiers.new("Cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath, modifier.frame_start = "PC2", str(cache), 1
    return obj


def captions(report, case, how):
    percent = report.percent
    return (
        f"frame {case.frame} of {len(report.times)}",
        report.bone_words(),
        f"{case.posed}: {how}",
        f"mean {percent(report.mean):.2g} % of the size, largest {percent(report.maximum):.2g} %",
    )


def rows(ossify, source, case):
    """Free bones, then an animator's."""
    found, context = [], bpy.context
    for settings, how in ((FREE, "free bones"), ({}, "an animator's")):
        options = ossify.options.options.wished(hide_source=False, threads=1, **settings)
        steps = ossify.convert.convert.convert(context.scene, context.view_layer, [source], options)
        result = ossify.base.steps.run(steps)
        print(source.name, how, *result.report.lines(), *result.report.notes, sep="\n  ")
        words = captions(result.report, case, how)
        found.append(picture.take(ossify, source, result, case.frame, case.turn, words, [case.grip]))
    return found


def main(zip_file, folder, data, width=str(picture.WIDTH)):
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=zip_file, repo="user_default", enable_on_install=True, overwrite=True
    )
    ossify = importlib.import_module(EXTENSION)
    for room in ROOMS:
        importlib.import_module(f"{EXTENSION}.{room}")
    for name, case in CASES.items():
        source = bring_in(ossify, Path(data) / f"{name}.npz", Path(folder))
        picture.render(ossify, rows(ossify, source, case), Path(folder) / f"animator-{name}.png", int(width))


if __name__ == "__main__":
    try:
        main(*sys.argv[sys.argv.index("--") + 1 :])
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
