"""Made rigs-0.1.0.blend: run by the Python of bpy 4.2 with the add-on of version 0.1.0 (commit 4e9614b).

    OSSIFY_LIBRARY=build/libossify.so python make_rigs_0_1_0.py ADDON OUT.blend

Two rigs without their sources, which keep their motion: a tube in a hierarchy, with a control that an artist
hung below a bone, and a sheet of flexible bones.
"""

import importlib.util
import math
import os
import sys
from pathlib import Path

import bpy
import numpy as np

FRAMES = 8


def load(folder):
    spec = importlib.util.spec_from_file_location(
        "ossify", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = sys.modules["ossify"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.register()


def mesh_of(name, points, faces, frames):
    """A mesh that moves by a shape key a frame."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points.tolist(), [], faces)
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.shape_key_add(name="Basis", from_mix=False)
    for f, moved in enumerate(frames):
        key = obj.shape_key_add(name=f"Key {f + 1}", from_mix=False)
        key.points.foreach_set("co", np.ascontiguousarray(moved, np.float32).ravel())
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    return obj


def tube():
    """Along Z, bent in two places."""
    rings, around = 13, 6
    angles = 2 * math.pi * np.arange(around) / around
    circle = 0.3 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    up = np.array((0, 0, 4 / (rings - 1)))
    points = np.concatenate([circle + ring * up for ring in range(rings)])
    here = np.arange((rings - 1) * around)
    beside = here - here % around + (here + 1) % around
    faces = np.stack([here, beside, beside + around, here + around], axis=1).tolist()
    frames = []
    for f in range(FRAMES):
        moved = points.copy()
        for height, swing in ((2.7, 0.7), (1.3, 0.5)):
            angle = swing * math.sin(2 * math.pi * f / FRAMES + height)
            share = np.clip((moved[:, 2] - height) / 0.4 + 0.5, 0, 1) * angle
            y, z = moved[:, 1].copy(), moved[:, 2] - height
            moved[:, 1] = y * np.cos(share) - z * np.sin(share)
            moved[:, 2] = height + y * np.sin(share) + z * np.cos(share)
        frames.append(moved)
    return mesh_of("Tube", points, faces, frames)


def sheet():
    """It waves, and stretches."""
    count = 7
    at = np.linspace(-1, 1, count)
    points = np.array([(x, y, 0.0) for y in at for x in at])
    faces = [
        (r * count + c, r * count + c + 1, (r + 1) * count + c + 1, (r + 1) * count + c)
        for r in range(count - 1)
        for c in range(count - 1)
    ]
    frames = []
    for f in range(FRAMES):
        phase, moved = 2 * math.pi * f / FRAMES, points.copy()
        moved[:, 2] += 0.3 * np.sin(2 * moved[:, 0] + phase) * (moved[:, 0] + 1)
        moved[:, 1] *= 1 + 0.2 * math.sin(phase) * (moved[:, 0] > 0)
        frames.append(moved)
    return mesh_of("Sheet", points, faces, frames)


def convert(obj, **chosen):
    from ossify.convert import convert, run
    from ossify.options import Options

    steps = convert(bpy.context.scene, bpy.context.view_layer, [obj], Options(**chosen))
    armature = run(steps).armature
    armature.ossify.sources.clear()
    for clip in armature.ossify.clips:
        clip.source = None
    mesh = obj.data
    bpy.data.objects.remove(obj)
    bpy.data.meshes.remove(mesh)
    return armature


def add_control(armature):
    """A control below the last bone."""
    names = [bone.name for bone in armature.data.bones if bone.use_deform]
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("Handle")
    bone.head, bone.tail = (0, 0, 4), (0, 0.5, 4)
    bone.parent, bone.use_deform = armature.data.edit_bones[names[-1]], False
    bpy.ops.object.mode_set(mode="OBJECT")


def main():
    bpy.ops.wm.read_homefile(use_empty=True)
    load(Path(sys.argv[1]).resolve())
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    add_control(convert(tube(), bones=3, skeleton="HIERARCHY"))
    convert(sheet(), bones=4, bone_kind="FLEXIBLE", quality="DRAFT")
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(Path(sys.argv[2]).resolve()), compress=True)
    print("made", [obj.name for obj in bpy.data.objects if obj.type == "ARMATURE"], flush=True)
    os._exit(0)


main()
