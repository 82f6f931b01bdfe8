"""Moving meshes made with Blender's own tools: a flag in the wind, a soft creature that swims."""

import math

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Vector

FRAMES = 72
_CREATURE_AT, _FLAG_AT = -2.4, 2.4  # along x: both may stand in one scene
_ARMS = 8


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


def flag():
    """A sheet of 56 x 36 vertices, pinned at the pole."""
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


# ---- a creature: keyed shapes on a body that swims


def _centre(index, s):
    """The middle of an arm, from under the head (s = 0) outward and down to its tip (s = 1)."""
    turn = 2 * math.pi * (index + 0.5) / _ARMS + 0.45 * s * s
    reach = 0.2 + 1.7 * s - 0.2 * s * s
    height = -0.15 - 0.25 * s - 0.75 * s**1.7 + 0.45 * s**4
    return np.stack([reach * np.cos(turn), reach * np.sin(turn), height], -1)


def _arm(index):
    """A tapering tube; the mesh of a curve."""
    curve = bpy.data.curves.new("Arm", "CURVE")
    curve.dimensions, curve.bevel_depth, curve.bevel_resolution, curve.use_fill_caps = "3D", 1.0, 4, True
    spline = curve.splines.new("POLY")
    spline.points.add(27)
    for s, point in zip(np.linspace(0, 1, 28), spline.points, strict=True):
        point.co = (*_centre(index, s), 1)
        point.radius = 0.25 * (1 - s) ** 0.9 + 0.06
    obj = bpy.data.objects.new("Arm", curve)
    mesh = bpy.data.meshes.new_from_object(obj)
    bpy.data.objects.remove(obj)
    bpy.data.curves.remove(curve)
    return mesh


def _head():
    form = bmesh.new()
    bmesh.ops.create_uvsphere(form, u_segments=32, v_segments=24, radius=0.62)
    for vertex in form.verts:
        up = vertex.co.z / 0.62
        vertex.co *= 1 + 0.14 * up
        vertex.co.z = vertex.co.z * (1.35 if up > 0 else 0.95) + 0.3
    return form


def _body():
    """Head and arms in one skin."""
    form = _head()
    for index in range(_ARMS):
        arm = _arm(index)
        form.from_mesh(arm)
        bpy.data.meshes.remove(arm)
    mesh = bpy.data.meshes.new("Creature")
    form.to_mesh(mesh)
    form.free()
    obj = bpy.data.objects.new("Creature", mesh)
    bpy.context.collection.objects.link(obj)
    remesh = obj.modifiers.new("Remesh", "REMESH")
    remesh.mode, remesh.voxel_size = "VOXEL", 0.07
    smooth = obj.modifiers.new("Smooth", "SMOOTH")
    smooth.factor, smooth.iterations = 0.5, 4
    obj.data = bpy.data.meshes.new_from_object(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    obj.modifiers.clear()
    bpy.data.meshes.remove(mesh)
    return obj


def _add_eyes(body):
    form = bmesh.new()
    form.from_mesh(body.data)
    skin = len(form.faces)
    for side in (-1, 1):
        place = Matrix.Translation((0.3 * side, -0.5, 0.26))
        bmesh.ops.create_uvsphere(form, u_segments=20, v_segments=14, radius=0.14, matrix=place)
    form.faces.ensure_lookup_table()
    for face in form.faces[skin:]:
        face.material_index = 1
    form.to_mesh(body.data)
    form.free()
    _paint(body, {"Skin": (0.80, 0.16, 0.09), "Eyes": (0.012, 0.014, 0.02)})


def _reach(points):
    """For each point the arm that it is nearest to, and how far down that arm it is (0 to 1)."""
    along = np.linspace(0, 1, 60)
    lines = np.array([_centre(index, along) for index in range(_ARMS)])  # [arm][s][3]
    apart = np.linalg.norm(points[:, None, None] - lines[None], axis=-1)
    nearest = apart.reshape(len(points), -1).argmin(axis=1)
    arms, s = nearest // len(along), along[nearest % len(along)]
    radius = np.hypot(points[:, 0], points[:, 1])
    return arms, np.where(radius > 0.3, s, 0.0)


def _bent(points, arms, s, beat):
    """The arms bent joint by joint, from the tips to the head: strokes close them, waves run down them."""
    stroke = (0.5 - 0.5 * math.cos(2 * beat)) ** 1.3
    points = points.copy()
    for arm in range(_ARMS):
        members = np.flatnonzero(arms == arm)
        turn = 2 * math.pi * (arm + 0.5) / _ARMS
        around = Vector((-math.sin(turn), math.cos(turn), 0))
        for joint in np.linspace(0.85, 0.15, 6):
            down = 0.2 * stroke + 0.26 * math.sin(3 * beat - 4.5 * joint + 0.9 * arm)
            aside = 0.16 * math.sin(2 * beat - 3.5 * joint + 2.1 * arm)
            share = np.clip((s[members] - joint) / 0.16 + 0.5, 0, 1)
            share = share * share * (3 - 2 * share)
            turned = np.array(Matrix.Rotation(aside, 3, "Z") @ Matrix.Rotation(down, 3, around))
            centre = _centre(arm, joint)
            moved = (points[members] - centre) @ turned.T + centre
            points[members] += share[:, None] * (moved - points[members])
    points[:, :2] *= 1 - 0.1 * stroke * np.clip(points[:, 2:] / 0.3 + 0.5, 0, 1)
    return points


def _swim(obj, frames, step=3):
    """Keyed shapes, one every few frames, on a body that rises and turns with its strokes."""
    rest = _points(obj.data)
    arms, s = _reach(rest)
    obj.shape_key_add(name="Basis")
    times = range(1, frames + step, step)
    for time in times:
        beat = 2 * math.pi * (time - 1) / (frames - 1)
        shape = obj.shape_key_add(name=f"Frame {time}")
        shape.data.foreach_set("co", _bent(rest, arms, s, beat).astype(np.float32).ravel())
        obj.location = (_CREATURE_AT + 0.25 * math.sin(beat), 0, 0.35 * math.sin(2 * beat - 1))
        obj.rotation_euler = (0.1 * math.sin(beat), 0.2 * math.sin(beat + 1), 0.4 * math.sin(beat))
        obj.keyframe_insert("location", frame=time)
        obj.keyframe_insert("rotation_euler", frame=time)
    keys = obj.data.shape_keys
    keys.use_relative = False
    for shape in keys.key_blocks:
        shape.interpolation = "KEY_CARDINAL"
    for shape, time in ((1, times[0]), (-1, times[-1])):
        keys.eval_time = keys.key_blocks[shape].frame
        keys.keyframe_insert("eval_time", frame=time)
    _straighten(keys.animation_data.action)


def _straighten(action):
    """Linear keys, on Blender with action slots and without."""
    curves = (
        action.fcurves if hasattr(action, "fcurves") else action.layers[0].strips[0].channelbags[0].fcurves
    )
    for curve in curves:
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


def creature():
    """Eight arms, a head and two eyes that are shells of their own."""
    obj = _body()
    _add_eyes(obj)
    obj.name = obj.data.name = "Creature"
    _swim(obj, bpy.context.scene.frame_end)
    _select(obj)
    bpy.ops.object.shade_smooth()
    return obj
