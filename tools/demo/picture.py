"""A picture of conversions: a row for each, with the source, its bones, the rig posed by hand, and the error.

One scene holds everything, seen by a camera without perspective: bones that are moved straight toward it are
drawn in front of the mesh, and stay where they are in the picture.
"""

import dataclasses
import math
from typing import NamedTuple

import _cycles
import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

WIDTH = 1400
_COLUMNS = ("source", "bones", "posed by hand", "error")
_CELL = (3.3, 3.35)  # of the stage, in its units
_FIT = (2.85, 2.35)  # widest and highest extent of a mesh
_BACKGROUND = (0.012, 0.015, 0.021)
_INK, _FAINT = (0.86, 0.88, 0.9), (0.36, 0.40, 0.46)
_NEARER = 3.0  # how far in front of its mesh a bone is
_UNAIDED = 2  # times as many samples without a denoiser


class Grip(NamedTuple):
    """What a hand does to a bone: to the one whose head is nearest to a place of the rest pose."""

    place: tuple[float, float, float]  # in the armature's space
    turn: tuple[float, float, float] = (0, 0, 0)  # about the world's axes
    shift: tuple[float, float, float] = (0, 0, 0)


@dataclasses.dataclass
class Row:
    """What a conversion shows in one frame; meshes in world space."""

    captions: tuple[str, str, str, str]
    source: bpy.types.Mesh
    rig: bpy.types.Mesh
    posed: bpy.types.Mesh
    weights: np.ndarray  # [v][b]
    colours: np.ndarray  # [b][3] of the bones
    shown: np.ndarray  # [s][3] of those that an animator sees
    bones: list[tuple[Matrix, float]]  # pose in world space, length
    posed_bones: list[tuple[Matrix, float]]
    error_colours: np.ndarray  # [v][4]
    error_top: float  # percent
    turn: Matrix  # 3x3: from which side it is seen


# ---- taken from a converted scene


def _still(obj):
    """The evaluated mesh in world space, without what would move it again."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated = obj.evaluated_get(depsgraph)
    mesh = bpy.data.meshes.new_from_object(evaluated, depsgraph=depsgraph)
    mesh.transform(evaluated.matrix_world)
    return mesh


def _weights(obj, names):
    weights = np.zeros((len(obj.data.vertices), len(names)))
    columns = {obj.vertex_groups[name].index: b for b, name in enumerate(names) if name in obj.vertex_groups}
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            if group.group in columns:
                weights[vertex.index, columns[group.group]] = group.weight
    return weights


def _poses(armature, bones):
    return [(armature.matrix_world @ armature.pose.bones[b.name].matrix, b.length) for b in bones]


def _is_seen(bone):
    """Helpers are hidden."""
    return bone.get("ossify_role") != "helper"


def bone_at(armature, place):
    """The pose bone whose head is nearest to a place of the rest pose, in the armature's space; no helper."""
    bones = [bone for bone in armature.pose.bones if bone.bone.use_deform and _is_seen(bone.bone)]
    return min(bones, key=lambda bone: (bone.bone.head_local - Vector(place)).length)


def pose(armature, grips):
    """Turns and shifts bones from where they are in this frame; what hangs on them follows."""
    for grip in grips:
        found = bone_at(armature, grip.place)
        stood = (armature.matrix_world @ found.matrix).to_quaternion()
        found.location += found.rotation_quaternion @ stood.inverted() @ Vector(grip.shift)
        found.rotation_quaternion @= stood.inverted() @ Euler(grip.turn).to_quaternion() @ stood
        bpy.context.view_layer.update()


def take(ossify, source, result, frame, turn, captions, grips):
    """The row of a conversion whose source is a visible object."""
    armature, mesh = result.armature, result.meshes[0]
    bpy.context.scene.frame_set(frame)
    bones = [bone for bone in armature.data.bones if bone.use_deform]
    seen = [bone for bone in bones if _is_seen(bone)]
    shown, poses = [_still(source), _still(mesh)], _poses(armature, seen)
    pose(armature, grips)
    shown, posed_bones = [*shown, _still(mesh)], _poses(armature, seen)
    bpy.context.scene.frame_set(frame)  # keys take the hand's work back
    top = ossify.rig.heat.top_error([mesh])
    return Row(
        captions,
        *shown,
        _weights(mesh, [bone.name for bone in bones]),
        np.array([bone.color.custom.normal for bone in bones]),
        np.array([bone.color.custom.normal for bone in seen]),
        poses,
        posed_bones,
        ossify.rig.heat.ramp(np.clip(ossify.rig.heat.error_of(mesh.data) / top, 0, 1)),
        top,
        Matrix.Rotation(turn[1], 3, "X") @ Matrix.Rotation(turn[0], 3, "Z"),
    )


# ---- materials


def linear(colour):
    """sRGB, as bones have it, to the linear light that materials want"""
    colour = np.asarray(colour, float)
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def _material(name, colour=None, glow=False, attribute=None, roughness=0.5):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    if glow:
        nodes.clear()
        shader, output = nodes.new("ShaderNodeEmission"), nodes.new("ShaderNodeOutputMaterial")
        links.new(shader.outputs[0], output.inputs[0])
        target = shader.inputs["Color"]
    else:
        shader = nodes["Principled BSDF"]
        shader.inputs["Roughness"].default_value = roughness
        target = shader.inputs["Base Color"]
    if attribute:
        colours = nodes.new("ShaderNodeAttribute")
        colours.attribute_name = attribute
        links.new(colours.outputs["Color"], target)
    else:
        target.default_value = (*colour, 1)
    return material


def _ghost():
    """Seen through, but for its outline."""
    material = _material("Ghost", (0.30, 0.42, 0.55), glow=True)
    nodes, links = material.node_tree.nodes, material.node_tree.links
    rim, mix = nodes.new("ShaderNodeLayerWeight"), nodes.new("ShaderNodeMixShader")
    rim.inputs["Blend"].default_value = 0.35
    links.new(rim.outputs["Facing"], mix.inputs[0])
    links.new(nodes.new("ShaderNodeBsdfTransparent").outputs[0], mix.inputs[1])
    links.new(nodes["Emission"].outputs[0], mix.inputs[2])
    links.new(mix.outputs[0], nodes["Material Output"].inputs[0])
    return material


def _dye(mesh, colours, material):
    """colours [v][3 or 4], linear"""
    attribute = mesh.color_attributes.new("Stage", "FLOAT_COLOR", "POINT")
    rows = np.ones((len(colours), 4), np.float32)
    rows[:, : colours.shape[1]] = colours
    attribute.data.foreach_set("color", rows.ravel())
    mesh.materials.clear()
    mesh.materials.append(material)


# ---- the stage


def _put(scene, name, data, matrix=None):
    obj = bpy.data.objects.new(name, data)
    scene.collection.objects.link(obj)
    if matrix is not None:
        obj.matrix_world = matrix
    return obj


def _text(scene, words, place, size, colour, align="CENTER"):
    curve = bpy.data.curves.new("Text", "FONT")
    curve.body, curve.size, curve.align_x, curve.align_y = words, size, align, "CENTER"
    curve.materials.append(_material("Ink", colour, glow=True))
    _put(scene, "Text", curve, Matrix.Translation(place) @ Matrix.Rotation(math.pi / 2, 4, "X"))


def _octahedron(length, thickness=0.11):
    """A bone as Blender draws it, along y."""
    w, at = thickness * length, 0.14 * length
    corners = [(0, 0, 0), (w, at, w), (w, at, -w), (-w, at, -w), (-w, at, w), (0, length, 0)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 1), (5, 2, 1), (5, 3, 2), (5, 4, 3), (5, 1, 4)]
    mesh = bpy.data.meshes.new("Bone")
    mesh.from_pydata(corners, [], faces)
    return mesh


def _add_bones(scene, bones, colours, place):
    for (stands, length), colour in zip(bones, colours, strict=True):
        mesh = _octahedron(length)
        mesh.materials.append(_material("Bone", linear(colour) * 0.75, roughness=0.6))
        obj = _put(scene, "Bone", mesh, Matrix.Translation((0, -_NEARER, 0)) @ place @ stands)
        obj.visible_shadow = False


def _view(row):
    """World to stage: the source and what was posed fit, in the middle."""
    points = np.array([row.turn @ v.co for mesh in (row.source, row.posed) for v in mesh.vertices])
    low, high = points.min(axis=0), points.max(axis=0)
    room = high - low
    scale = min(_FIT[0] / room[0], _FIT[1] / room[2])
    return Matrix.Scale(scale, 4) @ Matrix.Translation(-Vector((low + high) / 2)) @ row.turn.to_4x4()


def _across(column):
    return (column - (len(_COLUMNS) - 1) / 2) * _CELL[0]


def _add_row(scene, row, height):
    stained, view = _material("Stained", attribute="Stage"), _view(row)
    ghost, error = row.rig, row.rig.copy()
    ghost.materials.clear()
    ghost.materials.append(_ghost())
    _dye(row.posed, 0.12 + 0.88 * (row.weights @ linear(row.colours)), stained)
    _dye(error, row.error_colours, stained)
    bones = None, row.bones, row.posed_bones, None
    for column, mesh in enumerate((row.source, ghost, row.posed, error)):
        place = Matrix.Translation((_across(column), 0, height)) @ view
        _put(scene, "Mesh", mesh, place)
        _add_bones(scene, bones[column] or [], row.shown if bones[column] else [], place)
        _text(scene, row.captions[column], (_across(column), -4, height - 1.5), 0.17, _FAINT)


def _add_scale(scene, ossify, top, x, z):
    """The colours of the error, from 0 to the top."""
    count, width = 64, 1.5
    mesh = bpy.data.meshes.new("Scale")
    across = np.linspace(-width / 2, width / 2, count)
    mesh.from_pydata(
        [(a, 0, b) for a in across for b in (0, 0.07)],
        [],
        [(2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1) for i in range(count - 1)],
    )
    colours = np.repeat(ossify.rig.heat.ramp(np.linspace(0, 1, count)), 2, axis=0)
    _dye(mesh, colours, _material("Scale", glow=True, attribute="Stage"))
    _put(scene, "Scale", mesh, Matrix.Translation((x, -4, z)))
    _text(scene, "0", (x - width / 2 - 0.12, -4, z + 0.035), 0.15, _FAINT, "RIGHT")
    _text(scene, f"{top:.2g} %", (x + width / 2 + 0.1, -4, z + 0.035), 0.15, _FAINT, "LEFT")


def _light(scene, name, turn, energy, angle, colour):
    light = bpy.data.lights.new(name, "SUN")
    light.energy, light.angle, light.color = energy, angle, colour
    _put(scene, name, light).rotation_euler = turn


def _set_light(scene):
    _light(scene, "Key", (0.75, 0.0, -0.65), 3.2, 0.25, (1.0, 0.95, 0.88))
    _light(scene, "Rim", (-1.15, 0.0, 0.7), 3.0, 0.15, (0.75, 0.86, 1.0))
    _light(scene, "Fill", (1.2, 0.0, 1.0), 0.8, 0.8, (0.8, 0.88, 1.0))
    world = scene.world = bpy.data.worlds.new("Stage")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.32, 0.36, 0.42, 1)
    backdrop = bpy.data.meshes.new("Backdrop")
    backdrop.from_pydata([(-20, 8, -12), (20, 8, -12), (20, 8, 12), (-20, 8, 12)], [], [(0, 1, 2, 3)])
    backdrop.materials.append(_material("Backdrop", _BACKGROUND, glow=True))
    obj = _put(scene, "Backdrop", backdrop)
    obj.visible_shadow = obj.visible_diffuse = obj.visible_glossy = False


def _set_camera(scene, rows, width):
    camera = bpy.data.cameras.new("Camera")
    camera.type, camera.ortho_scale = "ORTHO", len(_COLUMNS) * _CELL[0] + 0.1
    scene.camera = _put(scene, "Camera", camera, Matrix.Translation((0, -20, 0)))
    scene.camera.rotation_euler = (math.pi / 2, 0, 0)
    render = scene.render
    render.resolution_x = width
    render.resolution_y = round(width * (rows * _CELL[1] + 0.75) / camera.ortho_scale)
    render.resolution_percentage = 100


def _set_render(scene, path, samples):
    render = scene.render
    render.engine, render.filepath = "CYCLES", str(path)
    render.image_settings.file_format, render.image_settings.color_mode = "PNG", "RGB"
    render.image_settings.compression, render.dither_intensity = 100, 0
    denoises = _cycles.with_openimagedenoise  # not every Blender was built with it: then light takes longer
    scene.cycles.samples, scene.cycles.use_denoising = samples * (1 if denoises else _UNAIDED), denoises
    scene.cycles.max_bounces, scene.cycles.use_adaptive_sampling = 2, True
    scene.view_settings.view_transform = "Standard"


def render(ossify, rows, path, width=WIDTH, samples=16):
    """Writes the picture."""
    scene = bpy.data.scenes.new("Picture")
    _set_light(scene)
    _set_camera(scene, len(rows), width)
    _set_render(scene, path, samples)
    top = len(rows) * _CELL[1] / 2
    for column, words in enumerate(_COLUMNS):
        _text(scene, words, (_across(column), -4, top + 0.05), 0.24, _INK)
    for index, row in enumerate(rows):
        height = top - (index + 0.5) * _CELL[1] - 0.12
        _add_row(scene, row, height)
        _add_scale(scene, ossify, row.error_top, _across(len(_COLUMNS) - 1), height - 1.85)
    with bpy.context.temp_override(scene=scene):
        bpy.ops.render.render(write_still=True, scene=scene.name)
