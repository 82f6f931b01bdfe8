"""Moving meshes made with Blender's own tools: a soft dog that trots, a flag in the wind."""

import math
import struct
from typing import NamedTuple

import bmesh
import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

FRAMES = 72
_DOG_AT, _FLAG_AT = -2.4, 2.4  # along x: both may stand in one scene


def empty_scene(frames=FRAMES):
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, frames
    scene.gravity = (0, 0, -9.81)
    scene.frame_set(1)
    return scene


def _select(*objects):
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]


def _points(mesh):
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.attributes["position"].data.foreach_get("vector", points)
    return points.reshape(-1, 3).astype(np.float64)


def _group(obj, name, weights):
    group = obj.vertex_groups.new(name=name)
    for vertex, weight in enumerate(weights):
        group.add((vertex,), float(weight), "REPLACE")
    return group


def _paint(obj, colours):
    """A material for each name."""
    for name, colour in colours.items():
        material = bpy.data.materials.new(name)
        material.use_nodes = True
        shader = material.node_tree.nodes["Principled BSDF"]
        shader.inputs["Base Color"].default_value = (*colour, 1)
        shader.inputs["Roughness"].default_value = 0.42
        material.diffuse_color = (*colour, 1)
        obj.data.materials.append(material)


# ---- a flag: Blender's cloth, held along one edge


def _blow(strength, turbulence):
    """Wind along the flag, and swirls in it."""
    bpy.ops.object.effector_add(type="WIND", location=(_FLAG_AT - 3, -0.8, 0), rotation=(0, 1.5, 0.2))
    wind = bpy.context.object
    wind.field.strength, wind.field.noise, wind.field.seed = strength, 3.0, 3
    bpy.ops.object.effector_add(type="TURBULENCE", location=(_FLAG_AT + 1, 0.4, 0))
    swirl = bpy.context.object
    swirl.field.strength, swirl.field.size, swirl.field.flow = turbulence, 1.1, 0.5


def flag(_folder):
    """A sheet of 56 x 36 vertices, pinned at the pole; its simulation is baked into the file."""
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=55, y_subdivisions=35, size=2)
    obj = bpy.context.object
    obj.name = obj.data.name = "Flag"
    obj.scale, obj.rotation_euler = (1.5, 0.95, 1), (math.pi / 2, 0, 0)
    bpy.ops.object.transform_apply()
    across = _points(obj.data)[:, 0]
    _group(obj, "Pole", across < across.min() + 1e-4)
    _paint(obj, {"Field": (0.016, 0.16, 0.22), "Border": (0.88, 0.70, 0.42)})
    for face in obj.data.polygons:
        to_edge = min(1.5 - abs(face.center.x), 0.95 - abs(face.center.z))
        face.material_index = 0.1 < to_edge < 0.21
    obj.location.x = _FLAG_AT
    cloth = obj.modifiers.new("Cloth", "CLOTH")
    settings = cloth.settings
    settings.quality, settings.mass, settings.air_damping = 5, 0.15, 1.0
    settings.tension_stiffness = settings.compression_stiffness = settings.shear_stiffness = 25
    settings.bending_stiffness, settings.vertex_group_mass = 0.5, "Pole"
    settings.effector_weights.gravity = 0.25
    cloth.collision_settings.use_self_collision = False
    cloth.point_cache.frame_end = bpy.context.scene.frame_end
    _blow(2200, 140)
    _select(obj)
    bpy.ops.object.shade_smooth()
    bpy.ops.ptcache.bake_all(bake=True)  # into memory: it is saved with the file, and played from there
    return obj


# ---- a dog that trots: grown around bones, moved by them, then kept as a cache without them


class _Bone(NamedTuple):
    parent: str | None
    head: tuple[float, float, float]
    tail: tuple[float, float, float]
    radii: tuple[float, float]  # of the body around its ends


# The middle and the left side, which is +x; it looks toward -y.
_DOG = {
    "hips": _Bone(None, (0, 0.78, 1.0), (0, 0.12, 1.02), (0.26, 0.3)),
    "chest": _Bone("hips", (0, 0.12, 1.02), (0, -0.62, 1.08), (0.3, 0.34)),
    "neck": _Bone("chest", (0, -0.62, 1.08), (0, -0.98, 1.68), (0.29, 0.2)),
    "head": _Bone("neck", (0, -0.98, 1.68), (0, -1.62, 1.62), (0.31, 0.13)),
    "ear": _Bone("head", (0.2, -0.93, 1.9), (0.36, -0.84, 1.5), (0.1, 0.13)),
    "tail.1": _Bone("hips", (0, 0.92, 1.12), (0, 1.27, 1.34), (0.13, 0.1)),
    "tail.2": _Bone("tail.1", (0, 1.27, 1.34), (0, 1.5, 1.68), (0.1, 0.09)),
    "tail.3": _Bone("tail.2", (0, 1.5, 1.68), (0, 1.5, 2.05), (0.09, 0.05)),
    "arm": _Bone("chest", (0.23, -0.56, 0.92), (0.25, -0.46, 0.5), (0.19, 0.13)),
    "wrist": _Bone("arm", (0.25, -0.46, 0.5), (0.25, -0.52, 0.1), (0.13, 0.11)),
    "paw": _Bone("wrist", (0.25, -0.52, 0.1), (0.25, -0.78, 0.07), (0.11, 0.12)),
    "thigh": _Bone("hips", (0.23, 0.72, 0.94), (0.26, 0.55, 0.5), (0.24, 0.15)),
    "shin": _Bone("thigh", (0.26, 0.55, 0.5), (0.26, 0.86, 0.2), (0.15, 0.1)),
    "foot": _Bone("shin", (0.26, 0.86, 0.2), (0.26, 0.6, 0.07), (0.1, 0.12)),
}
_PAIRED = {"ear", "arm", "wrist", "paw", "thigh", "shin", "foot"}


def _dog_bones():
    """Both sides."""
    bones = {}
    for name, bone in _DOG.items():
        if name not in _PAIRED:
            bones[name] = bone
            continue
        for side, sign in ((".L", 1), (".R", -1)):
            above = bone.parent + side if bone.parent in _PAIRED else bone.parent
            ends = ((sign * x, y, z) for x, y, z in (bone.head, bone.tail))
            bones[name + side] = _Bone(above, *ends, bone.radii)
    return bones


def _grown(bone):
    """A round tube along the bone, as a mesh; those of neighbours overlap."""
    form = bmesh.new()
    head, tail = Vector(bone.head), Vector(bone.tail)
    turn = (tail - head).to_track_quat("Z", "Y").to_matrix().to_4x4()
    bmesh.ops.create_cone(
        form,
        cap_ends=True,
        segments=24,
        radius1=bone.radii[0],
        radius2=bone.radii[1],
        depth=(tail - head).length,
        matrix=Matrix.Translation((head + tail) / 2) @ turn,
    )
    for end, radius in zip((head, tail), bone.radii, strict=True):
        place = Matrix.Translation(end)
        bmesh.ops.create_uvsphere(form, u_segments=24, v_segments=16, radius=radius, matrix=place)
    mesh = bpy.data.meshes.new("Part")
    form.to_mesh(mesh)
    form.free()
    return mesh


def _one_skin(obj):
    """What overlaps grown together, smoothed, and the same on both sides."""
    remesh = obj.modifiers.new("Remesh", "REMESH")
    remesh.mode, remesh.voxel_size = "VOXEL", 0.05
    smooth = obj.modifiers.new("Smooth", "SMOOTH")
    smooth.factor, smooth.iterations = 0.5, 6
    old = obj.data
    obj.data = bpy.data.meshes.new_from_object(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    obj.modifiers.clear()
    bpy.data.meshes.remove(old)
    form = bmesh.new()
    form.from_mesh(obj.data)
    bmesh.ops.symmetrize(form, input=[*form.verts, *form.edges, *form.faces], direction="X", dist=1e-4)
    form.to_mesh(obj.data)
    form.free()


def _dog_body(bones):
    form = bmesh.new()
    for bone in bones.values():
        part = _grown(bone)
        form.from_mesh(part)
        bpy.data.meshes.remove(part)
    mesh = bpy.data.meshes.new("Dog")
    form.to_mesh(mesh)
    form.free()
    obj = bpy.data.objects.new("Dog", mesh)
    bpy.context.collection.objects.link(obj)
    _one_skin(obj)
    return obj


def _add_face(obj):
    """Eyes and a nose, which are shells of their own; how many vertices the skin has."""
    form = bmesh.new()
    form.from_mesh(obj.data)
    skin, faces = len(form.verts), len(form.faces)
    for place, radius in (((0.17, -1.22, 1.8), 0.06), ((-0.17, -1.22, 1.8), 0.06), ((0, -1.74, 1.66), 0.075)):
        bmesh.ops.create_uvsphere(
            form, u_segments=16, v_segments=12, radius=radius, matrix=Matrix.Translation(place)
        )
    form.faces.ensure_lookup_table()
    for face in form.faces[faces:]:
        face.material_index = 1
    form.to_mesh(obj.data)
    form.free()
    return skin


def _add_rig(obj, bones, skin):
    """An armature with Blender's automatic weights, and its smoothing of what bends."""
    armature = bpy.data.objects.new("Mover", bpy.data.armatures.new("Mover"))
    bpy.context.collection.objects.link(armature)
    _select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for name, bone in bones.items():
        made = armature.data.edit_bones.new(name)
        made.head, made.tail = bone.head, bone.tail
        made.parent = armature.data.edit_bones[bone.parent] if bone.parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    obj.select_set(True)
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    obj.vertex_groups["head"].add(range(skin, len(obj.data.vertices)), 1.0, "REPLACE")
    soften = obj.modifiers.new("Soften", "CORRECTIVE_SMOOTH")
    soften.factor, soften.iterations = 0.5, 6
    return armature


def _trot(name, time):
    """How a bone is turned about the world's axes, in radians; time 0 to 2 pi, three strides."""
    stride, side = 3 * time, -1 if name.endswith(".R") else 1
    sin = math.sin
    part = name.removesuffix(".L").removesuffix(".R")
    front = part in {"arm", "wrist", "paw"}
    step = stride + (0 if (side > 0) == front else math.pi)  # a trot: legs across from each other together
    swings = {
        "hips": (0.05 * sin(2 * stride), 0.06 * sin(stride), 0.08 * sin(stride)),
        "chest": (0.1 * sin(2 * stride + 1), -0.1 * sin(stride), -0.14 * sin(stride) + 0.1 * sin(time)),
        "neck": (0.16 * sin(2 * stride + 2) + 0.15 * sin(time + 1), 0, 0.22 * sin(time)),
        "head": (
            0.2 * sin(2 * stride + 3) + 0.2 * sin(2 * time),
            0.22 * sin(2 * time),
            0.4 * sin(time + 0.4),
        ),
        "ear": (0.35 * sin(2 * stride + 1), side * (0.35 + 0.35 * sin(2 * stride + 2.2)), 0),
        "tail.1": (0.15 * sin(2 * stride), 0, 0.4 * sin(2 * stride)),
        "tail.2": (0.15 * sin(2 * stride - 0.8), 0.35 * sin(2 * stride - 0.9), 0.2 * sin(2 * stride - 0.8)),
        "tail.3": (0.2 * sin(2 * stride - 1.6), 0.4 * sin(2 * stride - 1.8), 0),
        "arm": (0.5 * sin(step), 0.05 * side * sin(step + 1), 0),
        "wrist": (0.45 + 0.5 * sin(step - 1.5), 0, 0),
        "paw": (0.3 - 0.6 * sin(step + 0.6), 0.2 * side * sin(step), 0.15 * side * sin(step + 2)),
        "thigh": (0.45 * sin(step), 0.05 * side * sin(step + 1), 0),
        "shin": (-0.3 - 0.4 * sin(step + 2.2), 0, 0),
        "foot": (0.3 + 0.5 * sin(step + 1.2), 0.15 * side * sin(step), 0.15 * side * sin(step + 2)),
    }
    return swings[part]


def _key_trot(armature, frames):
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
        rest = bone.bone.matrix_local.to_3x3()
        for frame in range(1, frames + 1):
            time = 2 * math.pi * (frame - 1) / (frames - 1)
            turn = Euler(_trot(bone.name, time)).to_matrix()
            bone.rotation_quaternion = (rest.inverted() @ turn @ rest).to_quaternion()
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            if bone.parent is None:
                bob = Vector((0, 0, 0.05 * math.sin(6 * time + 0.5)))
                bone.location = rest.inverted() @ bob
                bone.keyframe_insert("location", frame=frame)


def _keep_as_cache(obj, path):
    """Writes what Blender shows of the mesh to a .pc2 file, and lets nothing but that file move it."""
    scene, frames = bpy.context.scene, []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        frames.append(_points(shown).astype("<f4").tobytes())
    head = struct.pack("<12siiffi", b"POINTCACHE2", 1, len(obj.data.vertices), 1.0, 1.0, len(frames))
    path.write_bytes(head + b"".join(frames))
    obj.modifiers.clear()
    obj.vertex_groups.clear()
    obj.parent = None
    cache = obj.modifiers.new("Cache", "MESH_CACHE")
    cache.cache_format, cache.filepath, cache.frame_start = "PC2", str(path), scene.frame_start
    scene.frame_set(scene.frame_start)


def dog(folder):
    """A soft body with ears, a tail and four legs that trots: a mesh, and a cache in the folder."""
    bones = _dog_bones()
    obj = _dog_body(bones)
    skin = _add_face(obj)
    _paint(obj, {"Fur": (0.80, 0.34, 0.10), "Eyes and Nose": (0.012, 0.014, 0.02)})
    armature = _add_rig(obj, bones, skin)
    _key_trot(armature, bpy.context.scene.frame_end)
    _keep_as_cache(obj, folder / "dog.pc2")
    data = armature.data
    bpy.data.objects.remove(armature)
    bpy.data.armatures.remove(data)
    bpy.context.view_layer.update()
    obj.location.x = _DOG_AT
    _select(obj)
    bpy.ops.object.shade_smooth()
    return obj
