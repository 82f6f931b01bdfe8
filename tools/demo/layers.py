"""Runs inside Blender: a picture of masters and virtual bones, as in Figure 4 of Le & Deng 2013.

    python tools/demo/layers.py -- ZIP FOLDER WIDTH                         with a bpy package

FOLDER gets virtual.png: the bones that one poses; the virtual bones that blend them, each in the colours of
its masters; and the mesh, each vertex in the colours of the masters that it follows through virtual bones.
"""

import importlib
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
TITLES = "masters, which one poses", "virtual bones, which blend them", "what vertices follow"
ACROSS = 4.1
FIT = 3.6, 2.9
TURN = 0.75, 0.22
FRAME = 10


def install(zip_file):
    bpy.ops.extensions.package_install_files(filepath=zip_file, repo="user_default", enable_on_install=True)
    for room in ("base.steps", "convert.convert", "options.options", "rig.standing", "rig.virtual_bones"):
        importlib.import_module(f"{EXTENSION}.{room}")
    return sys.modules[EXTENSION]


def convert(ossify, source):
    chosen = {"bones": 21, "skeleton": "ARTICULATED", "virtual_bones": 100, "hide_source": False}
    options = ossify.options.options.wished(**chosen)
    context = bpy.context
    return ossify.base.steps.run(
        ossify.convert.convert.convert(context.scene, context.view_layer, [source], options)
    )


def ball(scene, place, radius, colour):
    mesh = bpy.data.meshes.new("Ball")
    corners = [(0, 0, 1), (1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, -1)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 1), (5, 2, 1), (5, 3, 2), (5, 4, 3), (5, 1, 4)]
    mesh.from_pydata([radius * Vector(corner) for corner in corners], [], faces)
    mesh.materials.append(picture._material("Ball", colour, roughness=0.6))
    picture._put(scene, "Ball", mesh, Matrix.Translation(place)).visible_shadow = False


def view_of(mesh):
    turn = Matrix.Rotation(TURN[1], 3, "X") @ Matrix.Rotation(TURN[0], 3, "Z")
    points = np.array([turn @ vertex.co for vertex in mesh.vertices])
    low, high = points.min(axis=0), points.max(axis=0)
    scale = min(FIT[0] / (high - low)[0], FIT[1] / (high - low)[2])
    return Matrix.Scale(scale, 4) @ Matrix.Translation(-Vector((low + high) / 2)) @ turn.to_4x4()


def draw(ossify, result, path, width):
    armature, mesh = result.armature, result.meshes[0]
    bpy.context.scene.frame_set(FRAME)
    blends = ossify.rig.virtual_bones.of(armature)
    masters = [armature.data.bones[name] for name in blends.masters]
    colours = np.array([picture.linear(bone.color.custom.normal) for bone in masters])
    followed = ossify.rig.standing.painted(mesh, blends.masters)
    shown = picture._still(mesh)
    poses = picture._poses(armature, masters)
    virtual = picture._poses(armature, [armature.data.bones[name] for name in blends.names])
    scene = bpy.data.scenes.new("Picture")
    picture._set_light(scene)
    picture._set_camera(scene, 1, width)
    scene.camera.data.ortho_scale = len(TITLES) * ACROSS
    scene.render.resolution_y = round(width * 0.31)
    picture._set_render(scene, path, 16)
    view = view_of(shown)
    for column, title in enumerate(TITLES):
        aside = (column - 1) * ACROSS
        place = Matrix.Translation((aside, 0, -0.15)) @ view
        body = shown.copy()
        body.materials.clear()
        if column < 2:
            body.materials.append(picture._ghost())
        else:
            stained = picture._material("Stained", attribute="Stage")
            picture._dye(body, 0.12 + 0.88 * (followed @ colours), stained)
        picture._put(scene, "Mesh", body, place)
        picture._text(scene, title, (aside, -4, 1.65), 0.24, picture._INK)
        if column == 0:
            picture._add_bones(scene, poses, [bone.color.custom.normal for bone in masters], place)
        if column == 1:
            for (stands, _), colour in zip(virtual, blends.shares @ colours, strict=True):
                ball(scene, Vector((0, -3, 0)) + (place @ stands).translation, 0.055, 0.1 + 0.9 * colour)
    with bpy.context.temp_override(scene=scene):
        bpy.ops.render.render(write_still=True, scene=scene.name)


def main():
    zip_file, folder, width = sys.argv[sys.argv.index("--") + 1 :]
    ossify = install(zip_file)
    scenes.empty_scene()
    source = scenes.dog(Path(folder))
    result = convert(ossify, source)
    draw(ossify, result, Path(folder) / "virtual.png", int(width))


try:
    main()
    code = 0
except BaseException:
    traceback.print_exc()
    code = 1
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # with add-ons enabled, Blender may not come to its end by itself
