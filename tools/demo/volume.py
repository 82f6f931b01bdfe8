"""Runs inside Blender: tubes that twist and bend, converted to two bones, without and with Keep Volume.

    python tools/demo/volume.py -- ZIP FOLDER [WIDTH]

FOLDER gets volume.png: the source, linear skinning, Keep Volume; the twisted tube above, the elbow below.
"""

import importlib
import math
import os
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "bench"), str(HERE.parents[1] / "addon")]

import bpy
import numpy as np
from mathutils import Matrix

import tube

EXTENSION = "bl_ext.user_default.ossify"
FRAMES = 19
SHOWN = {"twist": (17, 0.35), "bend": (17, 0.0)}  # the frame, and how far the tube is tipped to be seen
COLUMNS = ("source", "linear skinning", "Keep Volume")
CELL = (5.6, 3.3)
STRIPES = 6  # faces around, of one colour


def moving(motion):
    """A mesh with keyed shapes, from rest to the farthest."""
    made = tube.tube()
    frames, _ = tube.poses(made, motion, np.linspace(0, tube.MOTIONS[motion], FRAMES))
    mesh = bpy.data.meshes.new(motion)
    around, rings = tube.AROUND, tube.RINGS
    faces = [
        (
            r * around + k,
            r * around + (k + 1) % around,
            (r + 1) * around + (k + 1) % around,
            (r + 1) * around + k,
        )
        for r in range(rings - 1)
        for k in range(around)
    ]
    mesh.from_pydata(made.rest.tolist(), [], faces)
    for colour in ((0.75, 0.76, 0.78), (0.05, 0.22, 0.55)):
        mesh.materials.append(material(colour))
    mesh.polygons.foreach_set("material_index", [(f % around) // STRIPES % 2 for f in range(len(faces))])
    mesh.polygons.foreach_set("use_smooth", [True] * len(faces))
    obj = bpy.data.objects.new(motion, mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.shape_key_add(name="Basis", from_mix=False)
    for f, points in enumerate(frames):
        key = obj.shape_key_add(name=f"{f + 1}", from_mix=False)
        key.points.foreach_set("co", points.ravel())
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    return obj


def material(colour):
    made = bpy.data.materials.new("Stripe")
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1)
    shader.inputs["Roughness"].default_value = 0.5
    return made


def still(obj):
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return bpy.data.meshes.new_from_object(obj.evaluated_get(depsgraph), depsgraph=depsgraph)


def shown(ossify, motion):
    """The source, the rig without and with it, in one frame."""
    source = moving(motion)
    context, frame = bpy.context, SHOWN[motion][0]
    wish = ossify.options.options.wished(
        bones=2, skeleton="NONE", keys="EVERY", keep_volume=True, rest_correction="FIXED", hide_source=False
    )
    steps = ossify.convert.convert.convert(context.scene, context.view_layer, [source], wish)
    result = ossify.base.steps.run(steps)
    print(motion, *result.report.lines(), sep="\n  ")
    context.scene.frame_set(frame)
    found = [still(source)]
    for strength in (0.0, 1.0):
        modifier = ossify.rig.volumes.modifier_of(result.meshes[0])
        ossify.nodes.tree.set_input(modifier, "Strength", strength)
        result.meshes[0].update_tag()
        context.view_layer.update()
        found.append(still(result.meshes[0]))
    return found


def text(scene, words, place, size):
    curve = bpy.data.curves.new("Words", "FONT")
    curve.body, curve.size, curve.align_x = words, size, "CENTER"
    curve.materials.append(material((0.02, 0.02, 0.02)))
    put(scene, "Words", curve, place, (math.pi / 2, 0, 0))


def put(scene, name, data, place, turn=(0, 0, 0)):
    obj = bpy.data.objects.new(name, data)
    obj.location, obj.rotation_euler = place, turn
    scene.collection.objects.link(obj)
    return obj


def light_up(scene):
    for turn, energy in (((0.8, 0, -0.6), 1.6), ((1.2, 0, 1.0), 0.4)):
        light = bpy.data.lights.new("Sun", "SUN")
        light.energy, light.angle = energy, 0.3
        put(scene, "Sun", light, (0, 0, 0), turn)
    scene.world = bpy.data.worlds.new("Grey")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.45, 0.47, 0.5, 1)


def render(scene, high, path, width):
    camera = bpy.data.cameras.new("Camera")
    camera.type, camera.ortho_scale = "ORTHO", 3 * CELL[0]
    scene.camera = put(scene, "Camera", camera, (0, -20, 0.3), (math.pi / 2, 0, 0))
    wish = scene.render
    wish.engine, wish.filepath = "CYCLES", str(path)
    wish.resolution_x, wish.resolution_y = width, round(width * (high + 1.2) / camera.ortho_scale)
    wish.image_settings.file_format, wish.image_settings.color_mode = "PNG", "RGB"
    wish.image_settings.compression, wish.dither_intensity = 100, 0
    scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.max_bounces = 24, True, 2
    scene.view_settings.view_transform = "Standard"
    bpy.ops.render.render(write_still=True, scene=scene.name)


def stage(rows, path, width):
    scene, high = bpy.data.scenes.new("Picture"), len(rows) * CELL[1]
    for r, (motion, meshes) in enumerate(rows.items()):
        for c, mesh in enumerate(meshes):
            points = np.array([vertex.co for vertex in mesh.vertices])
            mesh.transform(Matrix.Translation(-(points.min(axis=0) + points.max(axis=0)) / 2))
            place = CELL[0] * (c - 1), 0, high / 2 - CELL[1] * (r + 0.5)
            put(scene, "Mesh", mesh, place, (math.pi / 2 + SHOWN[motion][1], 0, 0)).scale = (0.78, 0.78, 0.78)
    for c, words in enumerate(COLUMNS):
        text(scene, words, (CELL[0] * (c - 1), -3, high / 2), 0.4)
    light_up(scene)
    render(scene, high, path, width)


def main(zip_file, folder, width="920"):
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=zip_file, repo="user_default", enable_on_install=True, overwrite=True
    )
    ossify = importlib.import_module(EXTENSION)
    for room in ("options.options", "convert.convert", "base.steps", "rig.volumes", "nodes.tree"):
        importlib.import_module(f"{EXTENSION}.{room}")
    bpy.context.scene.frame_end = FRAMES
    rows = {motion: shown(ossify, motion) for motion in SHOWN}
    stage(rows, Path(folder) / "volume.png", int(width))


if __name__ == "__main__":
    try:
        main(*sys.argv[sys.argv.index("--") + 1 :])
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)
