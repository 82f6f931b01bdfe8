"""Runs inside Blender: converts a sequence brought in as a .pc2, and prints the seconds of each stage.

    python bench/blender.py SEQUENCE.npz        with a bpy package, OSSIFY_LIBRARY naming the library

The last line is JSON: capture, solve, build, measure, each the least of a few runs at the default settings.
"""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

import bpy
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RUNS = 4


def load_addon():
    folder = ROOT / "addon"
    spec = importlib.util.spec_from_file_location(
        "ossify", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = sys.modules["ossify"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.register()


def bring_in(path, folder):
    """The sequence as a mesh object with a Mesh Cache modifier."""
    from ossify.base import pointcache

    with np.load(path) as file:
        rest, frames, triangles = file["rest"], file["frames"], file["triangles"]
    bpy.ops.wm.read_homefile(use_empty=True)
    mesh = bpy.data.meshes.new(path.stem)
    mesh.from_pydata(rest.tolist(), [], triangles.tolist())
    obj = bpy.data.objects.new(path.stem, mesh)
    bpy.context.collection.objects.link(obj)
    cache = folder / "sequence.pc2"
    with pointcache.Writer(cache, len(rest), np.arange(1, len(frames) + 1)) as writer:
        for points in frames:
            writer.add(points)
        writer.finish()
    modifier = obj.modifiers.new("Cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath, modifier.frame_start = "PC2", str(cache), 1
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, len(frames)
    return obj


def main():
    load_addon()
    from ossify.base.steps import run as run_to_end
    from ossify.convert import convert
    from ossify.options import options

    seconds = []
    with tempfile.TemporaryDirectory(prefix="ossify-") as folder:
        for _ in range(RUNS):
            obj = bring_in(Path(sys.argv[1]), Path(folder))
            steps = convert.convert(bpy.context.scene, bpy.context.view_layer, [obj], options.Options())
            report = run_to_end(steps).report
            seconds.append(report.seconds)
    least = {stage: min(run[stage] for run in seconds) for stage in seconds[0]}
    facts = {"vertices": report.vertices, "frames": len(report.times), "bones": report.bones}
    print(json.dumps(facts | least), flush=True)
    os._exit(0)  # with add-ons enabled, bpy may not come to its end by itself


if __name__ == "__main__":
    main()
