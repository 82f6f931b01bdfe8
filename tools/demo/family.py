"""Runs inside Blender: a figure with a rig, four others that get it, and one whose body is set by sliders.

    python tools/demo/family.py -- ZIP FOLDER [WIDTH]

FOLDER gets family.png: five bodies in the same pose with the skeleton of one, above; below, the first slider
at both ends and in the middle, in a pose; below that, pose bones, shape bones, and both where they have made
another body of it.
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
from mathutils import Vector
from volume import EXTENSION, light_up, material, put

# name: (parent, head, tail, thickness); .L is mirrored
FIGURE = {
    "hips": (None, (0, 0, 1.0), (0, 0, 1.15), 0.17),
    "chest": ("hips", (0, 0, 1.15), (0, 0, 1.5), 0.18),
    "head": ("chest", (0, 0, 1.55), (0, 0, 1.85), 0.13),
    "arm.L": ("chest", (0.2, 0, 1.45), (0.5, 0, 1.35), 0.07),
    "hand.L": ("arm.L", (0.5, 0, 1.35), (0.85, 0, 1.25), 0.055),
    "leg.L": ("hips", (0.11, 0, 0.95), (0.13, 0, 0.5), 0.1),
    "foot.L": ("leg.L", (0.13, 0, 0.5), (0.14, 0, 0.04), 0.075),
}
BODIES = {  # how long and how thick: trunk, head, arms, legs
    "Ann": ((1, 1), (1, 1), (1, 1), (1, 1)),
    "Bob": ((1.15, 1.3), (1, 1), (1.1, 1.4), (1.05, 1.35)),
    "Cat": ((0.75, 0.9), (1.15, 1.2), (0.75, 1), (0.65, 1)),
    "Dan": ((1.05, 0.8), (0.95, 0.9), (1.3, 0.8), (1.35, 0.8)),
    "Eve": ((1.0, 1.6), (1, 1.1), (0.9, 1.3), (0.85, 1.3)),
}
POSE = {
    "chest": (0.1, 0.15, 0.1),
    "head": (0.1, -0.2, 0.1),
    "arm.L": (0.5, 0.2, 0.7),
    "arm.R": (-0.3, 0.1, 0.6),
    "hand.L": (0.9, 0.1, 0.2),
    "hand.R": (0.4, 0.2, -0.6),
    "leg.L": (-0.6, 0, -0.1),
    "foot.L": (0.9, 0, 0),
    "leg.R": (0.25, 0, 0.15),
}
STEP = 1.55  # from body to body
SHAPE_BONES = 12
BONE = 0.03  # how thick a bone is drawn


def figure():
    """name -> parent, head, tail, thickness"""
    found = {}
    for name, (parent, head, tail, thick) in FIGURE.items():
        found[name] = parent, np.array(head, float), np.array(tail, float), thick
        if name.endswith(".L"):
            other = parent.replace(".L", ".R")
            found[name.replace(".L", ".R")] = (
                other,
                head * np.array([-1, 1, 1.0]),
                tail * np.array([-1, 1, 1.0]),
                thick,
            )
    return found


def body_mesh(bones):
    """A ball around every step along every bone, grown together by metaballs."""
    balls = bpy.data.metaballs.new("Body")
    balls.resolution = 0.04
    obj = bpy.data.objects.new("Body", balls)
    bpy.context.scene.collection.objects.link(obj)
    for _, head, tail, thick in bones.values():
        for share in np.linspace(0, 1, 9):
            ball = balls.elements.new()
            ball.co, ball.radius = Vector(head + share * (tail - head)), 1.55 * thick
    bpy.context.view_layer.update()
    mesh = bpy.data.meshes.new_from_object(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    bpy.data.objects.remove(obj)
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    return mesh


def rigged(bones, mesh):
    obj = bpy.data.objects.new("Ann", mesh)
    armature = bpy.data.objects.new("Ann Rig", bpy.data.armatures.new("Ann Rig"))
    for one in (obj, armature):
        bpy.context.scene.collection.objects.link(one)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (parent, head, tail, _) in bones.items():
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = Vector(head), Vector(tail)
        bone.parent = armature.data.edit_bones[parent] if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    for one in (armature, obj):
        one.select_set(True)
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    return obj, armature


def weights(obj, names):
    dense = np.zeros((len(obj.data.vertices), len(names)))
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            dense[vertex.index, names.index(obj.vertex_groups[group.group].name)] = group.weight
    return dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-9)


def grown(bones, points, dense, sizes):
    """[v][3] every part as long and as thick as it shall be, and at the end of the one it hangs from"""
    part = {"hips": 0, "chest": 0, "head": 1, "arm": 2, "hand": 2, "leg": 3, "foot": 3}
    starts, stretches, result = {}, {}, np.zeros_like(points)
    for column, (name, (parent, head, tail, _)) in zip(dense.T, bones.items(), strict=True):
        long, thick = sizes[part[name.split(".")[0]]]
        way = (tail - head) / np.linalg.norm(tail - head)
        stretches[name] = thick * np.eye(3) + (long - thick) * np.outer(way, way)
        above = bones[parent][1] if parent else None
        starts[name] = starts[parent] + stretches[parent] @ (head - above) if parent else head
        result += column[:, None] * ((points - head) @ stretches[name].T + starts[name])
    result[:, 2] -= result[:, 2].min()
    return result


def posed(armature):
    for name, turn in POSE.items():
        armature.pose.bones[name].rotation_mode = "XYZ"
        armature.pose.bones[name].rotation_euler = turn


def still(obj):
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return bpy.data.meshes.new_from_object(obj.evaluated_get(depsgraph), depsgraph=depsgraph)


def is_shape(name):
    return name.startswith("Shape ")


def spindles(armature, shaping=False):
    """Double pyramids where bones that are posed are, or those that shape the body, in front of it."""
    corners, faces = [], []
    for bone in armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones:
        if bone.name.startswith(("Joint ", "Skin ")) or is_shape(bone.name) != shaping:
            continue
        side, middle, first = bone.matrix.to_3x3(), bone.head.lerp(bone.tail, 0.2), len(corners)
        ring = [middle + side @ Vector(way) * BONE for way in ((1, 0, 0), (0, 0, 1), (-1, 0, 0), (0, 0, -1))]
        corners += [bone.head, bone.tail, *ring]
        for at in range(4):
            one, after = first + 2 + at, first + 2 + (at + 1) % 4
            faces += [(first, one, after), (first + 1, after, one)]
    mesh = bpy.data.meshes.new("Bones")
    mesh.from_pydata(corners, [], faces)
    return mesh


class Picture:
    def __init__(self):
        self.scene = bpy.data.scenes.new("Picture")
        self.skin, self.bone = material((0.62, 0.6, 0.58)), material((0.9, 0.25, 0.03))
        self.shape = material((0.03, 0.25, 0.9))
        shader = self.skin.node_tree.nodes["Principled BSDF"]
        shader.inputs["Alpha"].default_value = 0.4
        for bones, colour in ((self.bone, (1, 0.2, 0, 1)), (self.shape, (0, 0.2, 1, 1))):
            glow = bones.node_tree.nodes["Principled BSDF"].inputs
            glow["Emission Color"].default_value, glow["Emission Strength"].default_value = colour, 1.5

    def add(self, obj, armature, place, posing=True, shaping=False):
        parts = [(still(obj), self.skin)]
        parts += [(spindles(armature), self.bone)] * posing
        parts += [(spindles(armature, True), self.shape)] * shaping
        for mesh, colour in parts:
            mesh.materials.clear()
            mesh.materials.append(colour)
            put(self.scene, mesh.name, mesh, place)

    def take(self, path, width):
        light_up(self.scene)
        camera = bpy.data.cameras.new("Camera")
        camera.type, camera.ortho_scale = "ORTHO", 5 * STEP + 0.5
        self.scene.camera = put(self.scene, "Camera", camera, (1.5, -20, -1.2), (math.pi / 2, 0, 0.075))
        wish = self.scene.render
        wish.engine, wish.filepath = "CYCLES", str(path)
        wish.resolution_x, wish.resolution_y = width, round(width * 0.99)
        wish.image_settings.file_format, wish.image_settings.color_mode = "PNG", "RGB"
        wish.image_settings.compression, wish.dither_intensity = 100, 0
        self.scene.cycles.samples, self.scene.cycles.use_denoising = 24, True
        self.scene.view_settings.view_transform = "Standard"
        bpy.ops.render.render(write_still=True, scene=self.scene.name)


def made(bones):
    """The rigged one, its armature, and the others."""
    first, armature = rigged(bones, body_mesh(bones))
    names, points = list(bones), np.array([vertex.co for vertex in first.data.vertices])
    dense, others = weights(first, names), []
    for name, sizes in list(BODIES.items())[1:]:
        mesh = first.data.copy()
        mesh.vertices.foreach_set("co", grown(bones, points, dense, sizes).astype(np.float32).ravel())
        mesh.update()
        others.append(bpy.data.objects.new(name, mesh))
        bpy.context.scene.collection.objects.link(others[-1])
        others[-1].vertex_groups.clear()
    return first, armature, others


def main(zip_file, folder, width="920"):
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=zip_file, repo="user_default", enable_on_install=True, overwrite=True
    )
    family = ("family.fit", "family.sliders", "family.slider_rig", "family.body_bones")
    rooms = ("options.options", "base.steps", *family)
    options, steps, fit, sliders, slider_rig, body_bones = (
        importlib.import_module(f"{EXTENSION}.{room}") for room in rooms
    )
    first, armature, others = made(figure())
    context, picture = bpy.context, Picture()
    found = steps.run(fit.fit(context.scene, context.view_layer, first, others, options.FitOptions()))
    print(found.sentence())
    for place, (obj, rig) in enumerate(zip([first, *others], [armature, *found.armatures], strict=True)):
        posed(rig)
        context.view_layer.update()
        picture.add(obj, rig, (STEP * (place - 2), 0, 0.2))
    rig = steps.run(sliders.make(context.scene, context.view_layer, first, others, options.SlidersOptions()))
    print(rig.sentence())
    record = slider_rig.record_of(rig.armature)
    for place, value in enumerate((record["seen"][:, 0].min(), 0.0, record["seen"][:, 0].max())):
        rig.armature[record["names"][0]] = float(value)
        rig.armature.update_tag()
        context.view_layer.update()
        picture.add(rig.mesh, rig.armature, (STEP * 1.5 * (place - 1), 0, -2.4))
    wish = options.BodyBonesOptions(count=SHAPE_BONES)
    rig = steps.run(body_bones.make(context.scene, context.view_layer, first, others, wish))
    print(rig.sentence())
    for place, (posing, shaping) in enumerate(((True, False), (False, True), (True, True))):
        if place == 2:
            rig.armature.pose.apply_pose_from_action(bpy.data.actions[f"{others[0].name} Body"])
        context.view_layer.update()
        picture.add(rig.mesh, rig.armature, (STEP * 1.5 * (place - 1), 0, -5.0), posing, shaping)
    picture.take(Path(folder) / "family.png", int(width))


if __name__ == "__main__":
    try:
        main(*sys.argv[sys.argv.index("--") + 1 :])
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)
