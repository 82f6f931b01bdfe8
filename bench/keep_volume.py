"""Runs inside Blender: what Keep Volume costs a frame, and how far Blender is off the library.

    python bench/keep_volume.py SEQUENCE.npz [BONES]    with a bpy package, OSSIFY_LIBRARY naming the library

The last line is JSON: processor milliseconds a frame with the Armature modifier alone, with Preserve Volume,
and with Keep Volume, each the least of a few runs without the time of an empty frame; the largest difference
to the library, in sizes; the error without and with, in percent of the size.
"""

import json
import os
import sys
import time
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from blender import load_addon

RUNS, FRAMES = 3, 40


def cost(scene, last):
    """Of a frame, in milliseconds of all threads"""
    found = []
    for _ in range(RUNS):
        scene.frame_set(1)
        began = time.process_time()
        for f in range(FRAMES):
            scene.frame_set(1 + f % last)
        found.append(1000 * (time.process_time() - began) / FRAMES)
    return min(found)


def moving(sequence):
    mesh = bpy.data.meshes.new("Mesh")
    mesh.from_pydata(sequence["rest"].tolist(), [], sequence["triangles"].tolist())
    obj = bpy.data.objects.new("Mesh", mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.shape_key_add(name="Basis", from_mix=False)
    for f, points in enumerate(sequence["frames"]):
        key = obj.shape_key_add(name=f"{f + 1}", from_mix=False)
        key.points.foreach_set("co", np.ascontiguousarray(points).ravel())
        for at, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=at)
    return obj


def shown(obj, times):
    frames = []
    for at in times:
        bpy.context.scene.frame_set(at)
        evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        flat = np.empty(3 * len(obj.data.vertices), np.float32)
        evaluated.data.attributes["position"].data.foreach_get("vector", flat)
        frames.append(flat.reshape(-1, 3))
    return np.array(frames, float)


def difference(armature, obj, times):
    """The largest, in sizes: what the modifier adds, against the library's corrections and Blender's bones"""
    from ossify import native
    from ossify.base.steps import run
    from ossify.edit import edits
    from ossify.nodes import tree, volume
    from ossify.rig import volumes

    subject = run(edits.read(bpy.context, armature))
    rig = subject.rig(subject.skin.weights[subject.skin.moved])
    _, space, _ = native.animation_space(
        *volume.fitting(rig.rest, subject.frames, subject.triangles, rig, subject.options.threads)
    )
    expected = native.evaluate(rig.rest, subject.frames, rig, space=space).frames
    plain = native.evaluate(rig.rest, subject.frames, rig).frames
    kept = shown(obj, times)
    tree.set_input(volumes.modifier_of(obj), "Strength", 0.0)
    obj.update_tag()
    off = shown(obj, times)
    tree.set_input(volumes.modifier_of(obj), "Strength", 1.0)
    size = float(np.linalg.norm(np.ptp(rig.rest, axis=0)))
    return float(np.abs(kept - expected).max()) / size, float(np.abs(off - plain).max()) / size


def measure(path, bones):
    load_addon()
    from ossify.base.steps import run
    from ossify.convert.convert import convert
    from ossify.edit import keep_volume
    from ossify.options.options import Options

    bpy.ops.wm.read_homefile(use_empty=True)
    sequence = np.load(path)
    scene = bpy.context.scene
    scene.frame_end = last = len(sequence["frames"])
    wish = Options(bones_by="COUNT", bones=bones, skeleton="NONE", keep_motion="PACKED")
    source = moving(sequence)
    result = run(convert(scene, bpy.context.view_layer, [source], wish))
    bpy.data.objects.remove(source)
    kept = run(keep_volume.add(bpy.context, result.armature))
    (obj,) = result.meshes
    skin, nodes = obj.modifiers[0], obj.modifiers[1]
    figures = {"vertices": len(obj.data.vertices), "bones": result.report.bones}
    skin.show_viewport = nodes.show_viewport = False
    empty = cost(scene, last)
    skin.show_viewport = True
    figures["armature"] = cost(scene, last) - empty
    skin.use_deform_preserve_volume = True
    figures["preserve_volume"] = cost(scene, last) - empty
    skin.use_deform_preserve_volume, nodes.show_viewport = False, True
    figures["keep_volume"] = cost(scene, last) - empty
    figures["difference"], figures["plain_difference"] = difference(result.armature, obj, range(1, last + 1))
    return figures | {"error": kept.fit.before, "error_kept": kept.fit.after}


if __name__ == "__main__":
    given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    print(json.dumps({"blender": bpy.app.version_string, **measure(given[0], int((given[1:] or ["20"])[0]))}))
    sys.stdout.flush()
    os._exit(0)
