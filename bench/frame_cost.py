"""Runs inside Blender: what a frame costs with virtual bones and with correctives, against the bones alone.

    python bench/frame_cost.py SEQUENCE.npz [BONES]    with a bpy package, OSSIFY_LIBRARY naming the library

The last line is JSON: for each kind of rig its processor milliseconds for a whole frame, the least of a few
runs, its error in percent of the size and as E_RMS, and how many vertex groups a vertex has in the mean.
--kinds words of the kinds that are meant; --rest KEPT and --fairness 0 as in a conversion.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from blender import load_addon
from keep_volume import cost, moving

KINDS = {
    "plain": {},
    "virtual 50": {"virtual_bones": 50},
    "virtual 200": {"virtual_bones": 200},
    "keyed 5": {"correctives": "KEYED", "corrective_count": 5},
    "keyed 20": {"correctives": "KEYED", "corrective_count": 20},
    "driven 5": {"correctives": "DRIVEN", "corrective_count": 5},
    "driven 20": {"correctives": "DRIVEN", "corrective_count": 20},
}


def made(path, bones, chosen):
    """A rig of the sequence, alone in the scene: the scene, the mesh and the report."""
    from ossify.base.steps import run
    from ossify.convert.convert import convert
    from ossify.options.options import Options

    bpy.ops.wm.read_homefile(use_empty=True)
    sequence, scene = np.load(path), bpy.context.scene
    scene.frame_end = len(sequence["frames"])
    wish = Options(bones_by="COUNT", bones=bones, skeleton="NONE", keep_motion="PACKED", **chosen)
    source = moving(sequence)
    result = run(convert(scene, bpy.context.view_layer, [source], wish))
    bpy.data.objects.remove(source)
    return scene, result


def figures(path, bones, chosen):
    scene, result = made(path, bones, chosen)
    (mesh,) = result.meshes
    groups = np.mean([sum(group.weight > 0 for group in v.groups) for v in mesh.data.vertices])
    keys = mesh.data.shape_keys
    return {
        "milliseconds": cost(scene, scene.frame_end),
        "percent": result.report.percent(result.report.rms),
        "erms": result.report.erms,
        "groups": float(groups),
        "keys": len(keys.key_blocks) - 1 if keys else 0,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("sequence")
    parser.add_argument("bones", type=int, nargs="?", default=20)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--rest", default="FIXED")
    parser.add_argument("--fairness", type=float, default=10.0)
    given = parser.parse_args(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else None)
    load_addon()
    common = {"rest_correction": given.rest, "fairness": given.fairness}
    kinds = {kind: KINDS[kind] for kind in KINDS if any(word in kind for word in given.kinds.split(","))}
    found = {kind: figures(given.sequence, given.bones, common | chosen) for kind, chosen in kinds.items()}
    print(json.dumps({"blender": bpy.app.version_string, "bones": given.bones, **found}))
    sys.stdout.flush()
    os._exit(0)
