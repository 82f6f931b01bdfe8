"""Runs inside Blender: close-ups of a sequence and of rigs of it, in rest and in poses, under raking light.

    python bench/closeup.py SEQUENCE.npz OUT.png [RIG.npz...] [--centre X Y Z] [--width W] [--frames F G]
                            [--turn Z X] [--cell PIXELS]

with a bpy package. The source is in the first row, each rig (of solve.py --out) in a row below it; the rest
pose in the first column, two frames beside it. --centre: in parts of the rest's box, the middle without;
--width: of what is seen, in parts of the box's diagonal; --turn: degrees about z, then about x, until one
looks along y. Without --frames the one is taken that is farthest from rest, and the one farthest from both.
"""

import argparse
import importlib
import math
import sys
import tempfile
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix, Vector

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measure import dense_weights, replayed

SAMPLES = 12
QUALITY = 85  # of a .jpg
RAKING = ((1.25, 0.0, -0.9), 3.6), ((1.1, 0.0, 1.1), 0.7)  # suns: their turns and energies


def options_of(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sequence")
    parser.add_argument("out")
    parser.add_argument("rigs", nargs="*")
    parser.add_argument("--centre", type=float, nargs=3, default=(0.5, 0.5, 0.5))
    parser.add_argument("--width", type=float, default=0.4)
    parser.add_argument("--frames", type=int, nargs=2)
    parser.add_argument("--turn", type=float, nargs=2, default=(0.0, 0.0))
    parser.add_argument("--cell", type=int, default=360)
    return parser.parse_args(arguments)


def two_frames(rest, frames):
    """The one farthest from rest, and the one farthest from both."""
    first = int(np.argmax([np.square(frame - rest).sum() for frame in frames]))
    others = [np.square(frame - p).sum() for p in (rest, frames[first]) for frame in frames]
    return first, int(np.argmax(np.min(np.reshape(others, (2, -1)), axis=0)))


def shapes_of(options):
    """Rows of meshes' points, and the triangles"""
    sequence = np.load(options.sequence)
    rest, frames = sequence["rest"].astype(float), sequence["frames"].astype(float)
    chosen = options.frames or two_frames(rest, frames)
    rows = [[rest, *(frames[f] for f in chosen)]]
    for path in options.rigs:
        rig = np.load(path)
        shown = replayed(rig["rest"], rig["transforms"][list(chosen)], dense_weights(rig))
        rows.append([rig["rest"].astype(float), *shown])
    return rows, sequence["triangles"]


def light_up(scene):
    for turn, energy in RAKING:
        light = bpy.data.lights.new("Sun", "SUN")
        light.energy, light.angle = energy, 0.05
        obj = bpy.data.objects.new("Sun", light)
        obj.rotation_euler = turn
        scene.collection.objects.link(obj)
    scene.world = bpy.data.worlds.new("Grey")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.16, 0.17, 0.19, 1)


def set_up(scene, width, cell):
    camera = bpy.data.cameras.new("Camera")
    camera.type, camera.ortho_scale = "ORTHO", width
    camera.clip_end = 1e4 * width
    scene.camera = bpy.data.objects.new("Camera", camera)
    scene.camera.location, scene.camera.rotation_euler = (0, -1e3 * width, 0), (math.pi / 2, 0, 0)
    scene.collection.objects.link(scene.camera)
    render = scene.render
    render.engine, render.resolution_x, render.resolution_y = "CYCLES", cell, cell
    render.resolution_percentage = 100
    render.image_settings.file_format, render.image_settings.color_mode = "PNG", "RGB"
    denoises = importlib.import_module("_cycles").with_openimagedenoise  # it is there once bpy is
    scene.cycles.samples, scene.cycles.use_denoising = SAMPLES, denoises
    scene.cycles.max_bounces = 1
    scene.view_settings.view_transform = "Standard"


def material():
    made = bpy.data.materials.new("Clay")
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (0.62, 0.56, 0.5, 1)
    shader.inputs["Roughness"].default_value = 0.45
    return made


def taken(scene, points, triangles, clay, path):
    """[cell][cell][3] what is seen of one shape"""
    mesh = bpy.data.meshes.new("Shape")
    mesh.from_pydata(points.tolist(), [], triangles.tolist())
    mesh.polygons.foreach_set("use_smooth", [True] * len(triangles))
    mesh.materials.append(clay)
    obj = bpy.data.objects.new("Shape", mesh)
    scene.collection.objects.link(obj)
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    bpy.data.meshes.remove(mesh)
    image = bpy.data.images.load(str(path))
    pixels = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(pixels)
    shown = pixels.reshape(image.size[1], image.size[0], 4).copy()
    bpy.data.images.remove(image)
    return shown


def write(grid, path):
    image = bpy.data.images.new("Closeup", grid.shape[1], grid.shape[0])
    image.pixels.foreach_set(np.ascontiguousarray(grid, np.float32).ravel())
    kind = "JPEG" if Path(path).suffix == ".jpg" else "PNG"
    image.filepath_raw, image.file_format = str(path), kind
    image.save(quality=QUALITY)


def main():
    options = options_of(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])
    rows, triangles = shapes_of(options)
    rest = rows[0][0]
    low, high = rest.min(axis=0), rest.max(axis=0)
    turn = np.array(
        Matrix.Rotation(math.radians(options.turn[1]), 3, "X")
        @ Matrix.Rotation(math.radians(options.turn[0]), 3, "Z")
    )
    centre = low + np.array(options.centre) * (high - low)
    nearest = int(np.argmin(np.linalg.norm(rest - centre, axis=1)))  # followed through the poses
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene, clay = bpy.context.scene, material()
    light_up(scene)
    set_up(scene, options.width * float(Vector(high - low).length), options.cell)
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part.png"
        grid = [
            [
                taken(scene, (points - source[nearest]) @ turn.T, triangles, clay, part)
                for points, source in zip(row, rows[0], strict=True)
            ]
            for row in rows
        ]
    write(np.concatenate([np.concatenate(row, axis=1) for row in reversed(grid)], axis=0), options.out)


if __name__ == "__main__":
    main()
