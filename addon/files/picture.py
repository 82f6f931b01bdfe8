"""A picture of a rig in its worst frame: the mesh and its bones, by Cycles on the processor."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..base import whole
from ..rig import roles

_PIXELS = (480, 360)
_SAMPLES = 24
_PICTURE_MARGIN = 1.08  # around what is shown
_BEHIND = Vector((0.55, -1.0, 0.45))  # from where one looks, in sizes
_THICK = 0.012  # of a bone, in sizes


def _material(name: str, colour: tuple, glow: float):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = colour
    shader.inputs["Emission Color"].default_value = colour
    shader.inputs["Emission Strength"].default_value = glow
    shader.inputs["Alpha"].default_value = 0.45 if glow == 0 else 1.0
    return material


def _frozen(obj, depsgraph):
    """The mesh as it is in this frame, in the scene's coordinates."""
    mesh = bpy.data.meshes.new_from_object(obj.evaluated_get(depsgraph), depsgraph=depsgraph)
    mesh.transform(obj.matrix_world)
    mesh.materials.clear()
    return mesh


def _spindles(armature, depsgraph, size: float):
    """A thin double pyramid for every bone that deforms and that an animator sees."""
    posed = armature.evaluated_get(depsgraph)
    corners, faces = [], []
    for bone in posed.pose.bones:
        if not bone.bone.use_deform or roles.is_helper(bone.bone):
            continue
        head, tail = (posed.matrix_world @ point for point in (bone.head, bone.tail))
        side = (posed.matrix_world @ bone.matrix).to_3x3().normalized() @ Matrix.Scale(_THICK * size, 3)
        middle, first = head.lerp(tail, 0.2), len(corners)
        ring = [middle + side @ Vector(way) for way in ((1, 0, 0), (0, 0, 1), (-1, 0, 0), (0, 0, -1))]
        corners += [head, tail, *ring]
        for at in range(4):
            one, next_one = first + 2 + at, first + 2 + (at + 1) % 4
            faces += [(first, one, next_one), (first + 1, next_one, one)]
    mesh = bpy.data.meshes.new("Bones")
    mesh.from_pydata(corners, [], faces)
    return mesh


def _points(meshes) -> np.ndarray:
    points = []
    for mesh in meshes:
        flat = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", flat)
        points.append(flat.reshape(-1, 3))
    return np.concatenate(points)


def _size(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0


def _framed(points: np.ndarray, size: float):
    """A camera that shows all points, as large as they fit."""
    turn = (-_BEHIND).to_track_quat("-Z", "Y")
    seen = points @ np.array(turn.to_matrix())  # to the right, up, towards the camera
    low, high = seen.min(axis=0), seen.max(axis=0)
    wide, tall = high[:2] - low[:2]
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.data.type = "ORTHO"
    camera.data.ortho_scale = _PICTURE_MARGIN * (
        max(float(wide), float(tall) * _PIXELS[0] / _PIXELS[1]) or size
    )
    camera.data.clip_end = 100 * size
    camera.location = turn @ Vector((low + high) / 2) + 3 * size * _BEHIND
    camera.rotation_euler = turn.to_euler()
    return camera


def _staged(scene, meshes: list, size: float) -> None:
    for mesh in meshes:
        scene.collection.objects.link(bpy.data.objects.new(mesh.name, mesh))
    camera = _framed(_points(meshes), size)
    light = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    light.data.energy, light.rotation_euler = 5.0, (0.7, 0.3, 0.5)
    for obj in (camera, light):
        scene.collection.objects.link(obj)
    scene.camera = camera


def _rendered(scene, path: Path) -> None:
    render = scene.render
    render.engine, render.filepath = "CYCLES", str(path)
    render.resolution_x, render.resolution_y, render.resolution_percentage = *_PIXELS, 100
    render.image_settings.file_format, render.film_transparent = "PNG", True
    scene.view_settings.view_transform = "Standard"
    scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.device = _SAMPLES, False, "CPU"
    scene.cycles.max_bounces = 4
    bpy.ops.render.render(write_still=True, scene=scene.name)


def render(path: Path, armature, objects: list, frame: float) -> None:
    """The scene's frame is left at the one that is shown; all else is as it was."""
    bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
    depsgraph = bpy.context.evaluated_depsgraph_get()
    made = {kind: set(getattr(bpy.data, kind)) for kind in _KINDS}
    meshes = [_frozen(obj, depsgraph) for obj in objects]
    size = _size(_points(meshes))
    skin, bone = _material("Skin", (0.6, 0.6, 0.62, 1), 0), _material("Bone", (1.0, 0.35, 0.05, 1), 1.0)
    bones = _spindles(armature, depsgraph, size)
    for mesh in meshes:
        mesh.materials.append(skin)
    bones.materials.append(bone)
    scene = bpy.data.scenes.new("Picture")
    try:
        _staged(scene, [*meshes, bones], size)
        with whole.replacing(path) as part:
            _rendered(scene, part)
    finally:
        bpy.data.scenes.remove(scene)
        for kind in _KINDS:
            every = getattr(bpy.data, kind)
            for block in set(every) - made[kind]:
                every.remove(block)


_KINDS = ("objects", "meshes", "cameras", "lights", "materials")
