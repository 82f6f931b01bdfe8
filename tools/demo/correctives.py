"""Runs inside Blender: an elbow and a flag as they move, by bones alone, and with correctives.

    python tools/demo/correctives.py -- ZIP FOLDER [WIDTH]

FOLDER gets correctives.png; what the correctives are worth is printed.
"""

import importlib
import math
import os
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bpy
import numpy as np
import picture
import scenes
from mathutils import Matrix, Vector

EXTENSION = "bl_ext.user_default.ossify"
FRAMES = 36
COLUMNS = ("the motion", "bones alone", "with correctives")
CASES = {
    "elbow": ({"bones": 2, "skeleton": "HIERARCHY", "rest_correction": "FIXED"}, "DRIVEN", 13, (0.35, 0.12)),
    "flag": ({"bones": 10, "skeleton": "NONE", "smoothness": 2.0}, "KEYED", 46, (-0.75, 0.2)),
}


def bent(points, angle):
    """An arm along Z that bends at its elbow, with a muscle that grows as it does."""
    moved = points.copy()
    height = moved[:, 2] - 2
    turn = angle * np.clip(0.5 + height / 0.7, 0, 1)
    muscle = 0.3 * (1 - math.cos(angle)) * np.exp(-((moved[:, 2] - 1.2) ** 2) / 0.18)
    moved[:, :2] *= 1 + muscle[:, None]
    x, z = moved[:, 0].copy(), np.maximum(height, 0)
    moved[:, 0] = x * np.cos(turn) + z * np.sin(turn)
    moved[:, 2] = np.minimum(moved[:, 2], 2) - x * np.sin(turn) + z * np.cos(turn) * (height > 0)
    return moved


def elbow(_folder, rings=81, around=32):
    points, faces = [], []
    for r in range(rings):
        z = 4 * r / (rings - 1)
        radius = 0.42 - 0.03 * z - 0.06 * math.exp(-((z - 2) ** 2) / 0.1)
        turns = [2 * math.pi * k / around for k in range(around)]
        points += [(radius * math.cos(turn), radius * math.sin(turn), z) for turn in turns]
    for r in range(rings - 1):
        for k in range(around):
            a, b = r * around + k, r * around + (k + 1) % around
            faces.append((a, b, b + around, a + around))
    mesh = bpy.data.meshes.new("Elbow")
    mesh.from_pydata(points, [], faces)
    obj = bpy.data.objects.new("Elbow", mesh)
    bpy.context.collection.objects.link(obj)
    obj.shape_key_add(name="Basis", from_mix=False)
    for f in range(FRAMES):
        angle = 0.95 - 0.95 * math.cos(2 * math.pi * 1.5 * f / FRAMES)
        block = obj.shape_key_add(name=f"Key {f}", from_mix=False)
        block.points.foreach_set("co", bent(np.array(points), angle).astype(np.float32).ravel())
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            block.value = value
            block.keyframe_insert("value", frame=time)
    for polygon in mesh.polygons:
        polygon.use_smooth = True
    return obj


def install(zip_file):
    done = bpy.ops.extensions.package_install_files(
        filepath=str(zip_file), repo="user_default", enable_on_install=True
    )
    if done != {"FINISHED"}:
        sys.exit(f"Blender {bpy.app.version_string} did not install {zip_file}.")
    names = "base.steps", "convert.convert", "edit.correction", "options.options", "rig.heat", "rig.build"
    for name in names:
        importlib.import_module(f"{EXTENSION}.{name}")
    return sys.modules[EXTENSION]


def points_of(mesh):
    return np.array([vertex.co for vertex in mesh.vertices])


def take(ossify, name, folder):
    """The meshes of a row, in world space, and the captions."""
    settings, kind, frame, turn = CASES[name]
    context, run = bpy.context, ossify.base.steps.run
    scene = context.scene
    source = elbow(folder) if name == "elbow" else scenes.flag(folder)
    scene.frame_end = FRAMES if name == "elbow" else scenes.FRAMES
    options = ossify.options.options.wished(hide_source=False, **settings)
    result = run(ossify.convert.convert.convert(scene, context.view_layer, [source], options))
    scene.frame_set(frame)
    shown = [picture._still(source), picture._still(result.meshes[0])]
    before = result.armature.ossify.rms
    done = run(ossify.edit.correction.add(context, result.armature, kind, 5))
    print("demo:", name, done.words(), flush=True)
    scene.frame_set(frame)
    shown.append(picture._still(result.meshes[0]))
    words = [
        "",
        f"error {before:.2g} % of the size",
        f"{len(done.names)} {kind.lower()}, error {done.after:.2g} %",
    ]
    ossify.rig.build.hide(source, context.view_layer, True)
    return shown, words, Matrix.Rotation(turn[1], 3, "X") @ Matrix.Rotation(turn[0], 3, "Z")


def add_row(scene, ossify, row, height):
    meshes, words, turn = row
    points = np.array([turn @ Vector(p) for mesh in meshes for p in points_of(mesh)])
    low, high = points.min(axis=0), points.max(axis=0)
    size = min(picture._FIT[0] / (high - low)[0], picture._FIT[1] / (high - low)[2])
    view = Matrix.Scale(size, 4) @ Matrix.Translation(-Vector((low + high) / 2)) @ turn.to_4x4()
    apart = [np.linalg.norm(points_of(mesh) - points_of(meshes[0]), axis=1) for mesh in meshes]
    top = max(np.percentile(apart[1], 99), 1e-9)
    stained = picture._material("Stained", attribute="Stage")
    plain = picture._material("Plain", (0.55, 0.55, 0.55), roughness=0.6)
    for column, mesh in enumerate(meshes):
        x = (column - 1) * picture._CELL[0]
        colours = ossify.rig.heat.ramp(np.clip(apart[column] / top, 0, 1))
        picture._dye(mesh, colours, stained if column else plain)
        picture._put(scene, "Shown", mesh, Matrix.Translation((x, 0, height)) @ view)
        picture._text(scene, words[column], (x, -4, height - 1.45), 0.17, picture._FAINT)


def main():
    zip_file, folder, *width = sys.argv[sys.argv.index("--") + 1 :]
    ossify = install(zip_file)
    scenes.empty_scene()
    rows = [take(ossify, name, Path(folder)) for name in CASES]
    scene = bpy.data.scenes.new("Picture")
    picture._set_light(scene)
    picture._set_camera(scene, len(rows), int(width[0]) if width else 1050)
    scene.camera.data.ortho_scale *= len(COLUMNS) / 4
    scene.render.resolution_y = int(scene.render.resolution_y * 4 / len(COLUMNS))
    picture._set_render(scene, Path(folder) / "correctives.png", 32)
    top = len(rows) * picture._CELL[1] / 2
    for column, words in enumerate(COLUMNS):
        picture._text(scene, words, ((column - 1) * picture._CELL[0], -4, top + 0.05), 0.24, picture._INK)
    for index, row in enumerate(rows):
        add_row(scene, ossify, row, top - (index + 0.5) * picture._CELL[1] - 0.12)
    with bpy.context.temp_override(scene=scene):
        bpy.ops.render.render(write_still=True, scene=scene.name)


try:
    main()
    code = 0
except BaseException:
    traceback.print_exc()
    code = 1
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # with add-ons enabled, Blender may not come to its end by itself
