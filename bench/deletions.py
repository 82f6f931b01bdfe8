"""Runs inside Blender: deletes a bone of a rig as an artist would, refits, and compares with a conversion.

    python bench/deletions.py SEQUENCE.npz BONES      with a bpy package, OSSIFY_LIBRARY naming the library

Everything at the default settings. The last line is JSON: errors in percent of the size as Blender measures
them, of the rig, of a conversion with one bone less, and of refits without the bone whose loss costs least
and without the middle one, with the seconds of each. Where the two conversions have other skeletons, `alike`
is one with the skeleton of the rig.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import bpy
import numpy as np

from blender import bring_in, load_addon


def converted(path, folder, **chosen):
    """The armature, and the facts."""
    from ossify.base.steps import run
    from ossify.convert import convert
    from ossify.options import options

    obj = bring_in(path, folder)
    began = time.perf_counter()
    steps = convert.convert(bpy.context.scene, bpy.context.view_layer, [obj], options.wished(**chosen))
    result = run(steps)
    seconds, found = time.perf_counter() - began, result.report
    kind = result.armature.ossify.settings.skeleton
    facts = {"error": found.percent(found.rms), "bones": found.bones, "skeleton": kind, "seconds": seconds}
    return result.armature, facts


def by_cost(armature, path):
    """Names of the bones, those first whose loss costs least."""
    from ossify import native
    from ossify.base.handles import Place
    from ossify.options import options
    from ossify.record import changes
    from ossify.refit import facts

    place = Place.of(bpy.context.scene, bpy.context.view_layer)
    start = facts.facts_of(place, armature, changes.look(armature), options.RefitOptions())
    with np.load(path) as file:
        costs = native.bone_costs(file["rest"], file["frames"], file["triangles"], start.rig)
    return [start.names[b] for b in np.argsort(costs)]


def delete(armature, name):
    """The bone, in Edit Mode, and its vertex group."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.remove(armature.data.edit_bones[name])
    bpy.ops.object.mode_set(mode="OBJECT")
    for item in armature.ossify.meshes:
        item.object.vertex_groups.remove(item.object.vertex_groups[name])


def refitted(armature, **chosen):
    from ossify.base.steps import run
    from ossify.options import options
    from ossify.refit import refit

    began = time.perf_counter()
    given = bpy.context.scene, bpy.context.view_layer, armature, options.RefitOptions(**chosen)
    found = run(refit.refit(*given))
    seconds, left = time.perf_counter() - began, sum("it left for" in note for note in found.notes)
    return {"error": found.after.percent(found.after.rms), "left": left, "seconds": seconds}


def main():
    load_addon()
    path, bones = Path(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="ossify-") as name:
        folder = Path(name)
        rig = folder / "rig.blend"
        armature, full = converted(path, folder, bones=bones)
        order, which = by_cost(armature, path), armature.name
        bpy.ops.wm.save_as_mainfile(filepath=str(rig))
        answer = {"full": full, "less": converted(path, folder, bones=full["bones"] - 1)[1]}
        if answer["less"]["skeleton"] != full["skeleton"]:
            chosen = {"bones": full["bones"] - 1, "skeleton": full["skeleton"]}
            answer["alike"] = converted(path, folder, **chosen)[1]
        for key, gone in (("cheapest", order[0]), ("middle", order[len(order) // 2])):
            bpy.ops.wm.open_mainfile(filepath=str(rig))
            delete(bpy.data.objects[which], gone)
            answer[key] = {"gone": gone, **refitted(bpy.data.objects[which])}
    print(json.dumps(answer), flush=True)
    os._exit(0)  # with add-ons enabled, bpy may not come to its end by itself


if __name__ == "__main__":
    main()
