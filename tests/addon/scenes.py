"""Moving meshes made with Blender's own tools, and what Blender shows of them."""

import math
import struct

import bpy
import contents
import numpy as np


def link(obj):
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    return obj


def grid(name="Sheet", n=9, size=2.0):
    """A sheet of n x n vertices with a UV map, a material and an attribute."""
    at = np.linspace(-size / 2, size / 2, n)
    points = [(x, y, 0.0) for y in at for x in at]
    faces = [
        (r * n + c, r * n + c + 1, (r + 1) * n + c + 1, (r + 1) * n + c)
        for r in range(n - 1)
        for c in range(n - 1)
    ]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    corners = np.array([points[vertex][:2] for face in faces for vertex in face], np.float32)
    mesh.uv_layers.new(name="UVMap").data.foreach_set("uv", (corners / size + 0.5).ravel())
    mesh.materials.append(bpy.data.materials.new(name))
    mesh.attributes.new("mark", "INT", "POINT").data.foreach_set("value", np.arange(len(points)))
    mesh.update()
    return link(bpy.data.objects.new(name, mesh))


def tube(name="Tube", rings=12, around=6, length=4.0):
    """A closed tube along Z."""
    points, faces = [], []
    for r in range(rings):
        for k in range(around):
            angle = 2 * math.pi * k / around
            points.append((0.3 * math.cos(angle), 0.3 * math.sin(angle), length * r / (rings - 1)))
    for r in range(rings - 1):
        for k in range(around):
            a, b = r * around + k, r * around + (k + 1) % around
            faces.append((a, b, b + around, a + around))
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    mesh.update()
    return link(bpy.data.objects.new(name, mesh))


def wave(points, phase, amount=0.3):
    """A moving shape for a sheet: it waves, and bends at its end."""
    moved = np.array(points, np.float64)
    moved[:, 2] += amount * np.sin(2 * moved[:, 0] + phase) * (moved[:, 0] - moved[:, 0].min())
    moved[:, 1] += 0.2 * amount * np.cos(phase) * moved[:, 1] ** 2
    return moved


def positions(mesh):
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def waves(points, frames=8):
    """[f][v][3]"""
    return np.array([wave(points, 2 * math.pi * f / frames) for f in range(frames)], np.float32)


def add_shape_keys(obj, frames, names=None):
    """A Basis, and a key for each of the frames."""
    obj.shape_key_add(name="Basis", from_mix=False)
    for f, points in enumerate(frames):
        key = obj.shape_key_add(name=names[f] if names else f"Key {f + 1}", from_mix=False)
        key.points.foreach_set("co", np.ascontiguousarray(points, np.float32).ravel())
    return obj.data.shape_keys.key_blocks


def key_shapes(obj, frames=8):
    """Keyed shape keys: key f is whole in frame f + 1."""
    for f, key in enumerate(add_shape_keys(obj, waves(positions(obj.data), frames))[1:]):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    return obj


def write_pc2(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2", 1, frames.shape[1], 0.0, 1.0, len(frames)))
        file.write(np.ascontiguousarray(frames, "<f4").tobytes())


def write_mdd(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack(">ii", len(frames), frames.shape[1]))
        file.write(np.arange(len(frames), dtype=">f4").tobytes())
        file.write(np.ascontiguousarray(frames, ">f4").tobytes())


def add_cache(obj, path, kind):
    modifier = obj.modifiers.new("Cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath, modifier.frame_start = kind, str(path), 1
    bpy.context.view_layer.update()
    return modifier


def cached(obj, path, frames=None):
    """A sheet moved by a .pc2 or .mdd file."""
    frames = waves(positions(obj.data)) if frames is None else frames
    kind = str(path).rsplit(".", 1)[1].upper()
    (write_pc2 if kind == "PC2" else write_mdd)(path, frames)
    add_cache(obj, path, kind)
    return obj


def seen(obj, frame=None):
    """[v][3] where Blender shows the vertices, in world space"""
    if frame is not None:
        bpy.context.scene.frame_set(frame)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = positions(evaluated.to_mesh()).astype(np.float64)
    evaluated.to_mesh_clear()
    matrix = np.array(evaluated.matrix_world)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def seen_frames(obj, times):
    scene = bpy.context.scene
    before = scene.frame_current
    result = np.array([seen(obj, time) for time in times])
    scene.frame_set(before)
    return result


def size_of(points):
    return float(np.linalg.norm(np.ptp(points.reshape(-1, 3), axis=0)))


def select(*objects):
    bpy.context.view_layer.update()  # or the first that is selected does it, and the list is another one
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]


def pose(armature, *names):
    """In Pose Mode with these bones selected, the last one active."""
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    for bone in armature.pose.bones:
        owner = bone if hasattr(bone, "select") else bone.bone
        owner.select = bone.name in names
    if names:
        armature.data.bones.active = armature.data.bones[names[-1]]


# ---- a creature with known joints

# name: (parent, head, tail), for the middle and the left side; the right side is mirrored
_LIMBS = {
    "trunk": (None, (0, 0, 1.0), (0, 0, 1.9)),
    "head": ("trunk", (0, 0, 2.0), (0, -0.1, 2.7)),
    "arm": ("trunk", (0.35, 0, 1.85), (1.1, 0, 1.85)),
    "hand": ("arm", (1.1, 0, 1.85), (1.8, 0, 1.85)),
    "thigh": ("trunk", (0.3, 0, 0.95), (0.3, 0, 0.3)),
    "shin": ("thigh", (0.3, 0, 0.3), (0.3, 0, -0.4)),
}
_PAIRED = ("arm", "hand", "thigh", "shin")
_BENDS = {"hand": (0, 0, 1), "shin": (1, 0, 0)}  # hinges; the others are balls


def creature_bones():
    """name -> (parent, head, tail)"""
    bones = {}
    for name, (parent, head, tail) in _LIMBS.items():
        if name not in _PAIRED:
            bones[name] = parent, np.array(head, float), np.array(tail, float)
            continue
        for side, flip in ((".L", 1), (".R", -1)):
            above = parent + side if parent in _PAIRED else parent
            bones[name + side] = above, np.array(head) * [flip, 1, 1.0], np.array(tail) * [flip, 1, 1.0]
    return bones


def body_mesh(bones, fineness, radius=0.16):
    """Tubes around the bones, grown together by Blender's own skin modifier."""
    points, edges, at = [], [], {}
    for name, (parent, head, tail) in bones.items():
        joined = parent is not None and np.allclose(head, bones[parent][2])
        first = at[parent] if joined else len(points)
        steps = np.linspace(0, 1, 5)[1 if joined else 0 :]
        rows = list(range(len(points), len(points) + len(steps)))
        points += [tuple(head + share * (tail - head)) for share in steps]
        edges += list(zip([first, *rows] if joined else rows, rows if joined else rows[1:], strict=False))
        if parent is not None and not joined:  # to the nearest point of the parent
            near = min(at[parent, "all"], key=lambda row: np.linalg.norm(np.array(points[row]) - head))
            edges.append((near, first))
        at[name], at[name, "all"] = rows[-1], [first, *rows]
    mesh = bpy.data.meshes.new("Wire")
    mesh.from_pydata(points, edges, [])
    wire = link(bpy.data.objects.new("Wire", mesh))
    wire.modifiers.new("Skin", "SKIN").use_smooth_shade = True
    wire.modifiers.new("Subdivision", "SUBSURF").levels = fineness
    for corner in mesh.skin_vertices[0].data:
        corner.radius = (radius, radius)
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    body = bpy.data.meshes.new_from_object(wire.evaluated_get(depsgraph), depsgraph=depsgraph)
    bpy.data.objects.remove(wire)
    bpy.data.meshes.remove(mesh)
    return body


def _creature_weights(points, bones):
    """[v][b] the nearest bones, with a short crease between them"""
    distances = []
    for _, head, tail in bones.values():
        way = tail - head
        share = np.clip((points - head) @ way / (way @ way), 0, 1)
        distances.append(np.linalg.norm(points - head - share[:, None] * way, axis=1))
    distances = np.array(distances).T
    weights = np.exp(-40 * (distances - distances.min(axis=1, keepdims=True)))
    weights[weights < 0.02] = 0
    return weights / weights.sum(axis=1, keepdims=True)


def creature(frames=30, trunk=0.3, fineness=1):
    """A body with a head, two arms and two legs, moved by an armature of Blender's own; its bones.

    trunk: how far it swings, in radians; the limbs swing by 0.6. It has 702 vertices, with a fineness of 2
    there are 2802.
    """
    bones = creature_bones()
    body = link(bpy.data.objects.new("Creature", body_mesh(bones, fineness)))
    armature = link(bpy.data.objects.new("Mover", bpy.data.armatures.new("Mover")))
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (parent, head, tail) in bones.items():
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        bone.parent = armature.data.edit_bones[parent] if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    weights = _creature_weights(positions(body.data).astype(float), bones)
    for b, name in enumerate(bones):
        group = body.vertex_groups.new(name=name)
        for vertex in np.flatnonzero(weights[:, b]).tolist():
            group.add([vertex], float(weights[vertex, b]), "REPLACE")
    modifier = body.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    _move_creature(armature, frames, trunk)
    bpy.context.scene.frame_end = frames
    bpy.context.scene.frame_set(1)
    return body, bones


def _move_creature(armature, frames, trunk):
    """Balls turn about all axes, hinges about their own; the trunk also walks."""
    rng = np.random.default_rng(7)
    for bone in armature.pose.bones:
        rest = np.array(bone.bone.matrix_local, float)[:3, :3]
        axis = _BENDS.get(bone.name.split(".")[0])
        phases = rng.uniform(0, 2 * math.pi, 3)
        bone.rotation_mode = "QUATERNION"
        for frame in range(1, frames + 1):
            time = 2 * math.pi * (frame - 1) / frames
            swing = (0.6 if bone.parent else trunk) * np.sin(np.array([1, 2, 3]) * time + phases)
            if axis is not None:
                swing = np.array(axis, float) * (0.7 + 0.6 * math.sin(2 * time + phases[0]))
            angle = float(np.linalg.norm(swing))
            turn = rest.T @ (swing / max(angle, 1e-12))
            bone.rotation_quaternion = (math.cos(angle / 2), *(math.sin(angle / 2) * turn))
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            if bone.parent is None:
                bone.location = (0.1 * frame, 0.2 * math.sin(time), 0.05 * frame)
                bone.keyframe_insert("location", frame=frame)


# ---- a picture of the whole file

_VOLATILE = {
    "session_uid",
    "execution_time",
    "is_evaluated",
    "tag",
    "use_nodes",
    "stats",
    "texspace_location",
}
_INTERFACE = {"window_managers", "screens", "workspaces", "all_ids"}  # the last holds the others again
_VOLATILE |= {"texspace_size", "bound_box", "dimensions", "has_data"}  # known once evaluated
_VOLATILE |= {"is_library_indirect"}  # Blender loads its brushes when it likes


def _plain(owner):
    """The properties of a struct that are plain values."""
    values = {}
    for prop in owner.bl_rna.properties:
        if prop.type not in contents.PLAIN or prop.identifier in _VOLATILE:
            continue
        value = getattr(owner, prop.identifier)
        if getattr(prop, "is_array", False):
            value = np.array(value, float).round(6).tolist()
        elif prop.type == "FLOAT":
            value = round(value, 6)
        values[prop.identifier] = sorted(value) if isinstance(value, set) else value
    return values


def _parts(block):
    """What belongs to a data-block and is worth comparing."""
    if isinstance(block, bpy.types.Object):
        yield from (("modifier", modifier.name, _plain(modifier)) for modifier in block.modifiers)
        yield from (("constraint", constraint.name) for constraint in block.constraints)
        yield from (("group", group.name) for group in block.vertex_groups)
        yield "parent", block.parent.name if block.parent else None
        yield "data", block.data.name if block.data else None
        yield "matrix", np.array(block.matrix_world).round(6).tolist()
    elif isinstance(block, bpy.types.Mesh):
        yield "points", positions(block).tolist()
        yield "attributes", sorted(attribute.name for attribute in block.attributes)
        yield "materials", [material.name for material in block.materials if material]
    elif isinstance(block, bpy.types.Key):
        yield from ((key.name, key.value, key.mute) for key in block.key_blocks)
    elif isinstance(block, (bpy.types.Collection, bpy.types.Scene)):
        collection = block if isinstance(block, bpy.types.Collection) else block.collection
        yield "objects", sorted(obj.name for obj in collection.objects)
        yield "children", sorted(child.name for child in collection.children)
    if getattr(block, "animation_data", None):
        action = block.animation_data.action
        yield "action", action.name if action else None
    yield from contents.parts(block)


def picture():
    """All data-blocks with what they hold: equal pictures mean that nothing was changed."""
    scene = bpy.context.scene
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    blocks = {}
    for prop in bpy.data.bl_rna.properties:
        if prop.type == "COLLECTION" and prop.identifier not in _INTERFACE:
            for block in getattr(bpy.data, prop.identifier):
                blocks[prop.identifier, block.name_full] = {**_plain(block), "parts": list(_parts(block))}
    layer = bpy.context.view_layer
    state = {
        "frame": (bpy.context.scene.frame_current, bpy.context.scene.frame_subframe),
        "selected": sorted(obj.name for obj in layer.objects.selected),
        "active": layer.objects.active.name if layer.objects.active else None,
        "modes": {obj.name: obj.mode for obj in bpy.data.objects},
        "visible": {obj.name: obj.visible_get() for obj in layer.objects},
    }
    return blocks, state


def difference(before, after):
    """The first difference of two pictures, as words; empty when there is none."""
    for name in sorted(before[0].keys() | after[0].keys(), key=str):
        if name not in before[0] or name not in after[0]:
            return f"{name} {'came' if name in after[0] else 'went'}"
        for prop in before[0][name]:
            if before[0][name][prop] != after[0][name].get(prop):
                return f"{name}.{prop}: {before[0][name][prop]} became {after[0][name].get(prop)}"
    return "" if before[1] == after[1] else f"{before[1]} became {after[1]}"


def growing(obj):
    """The object, with a modifier that makes it more vertices in every frame."""
    nodes = bpy.data.node_groups.new("Grow", "GeometryNodeTree")
    nodes.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    line, time = nodes.nodes.new("GeometryNodeMeshGrid"), nodes.nodes.new("GeometryNodeInputSceneTime")
    nodes.links.new(time.outputs["Frame"], line.inputs["Vertices X"])
    nodes.links.new(line.outputs[0], nodes.nodes.new("NodeGroupOutput").inputs[0])
    obj.modifiers.new("Grow", "NODES").node_group = nodes
    return obj
