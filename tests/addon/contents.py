"""What a data-block holds of a rig, to the bit: weights, keys, bones, poses, and what it knows of itself."""

import bmesh
import bpy
import numpy as np

PLAIN = {"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"}
_CHANNELS = "location rotation_quaternion rotation_euler scale lock_location lock_rotation lock_scale".split()


def curves(action):
    """All f-curves, on Blender with action slots and without."""
    if hasattr(action, "layers") and action.layers:
        return [curve for bag in action.layers[0].strips[0].channelbags for curve in bag.fcurves]
    return list(action.fcurves)


def keys_of(curve):
    """Keys with their handles."""
    points = curve.keyframe_points
    return [(*p.co, *p.handle_left, *p.handle_right, p.interpolation, p.type) for p in points]


def weights_of(mesh):
    """[v] (group, weight) of a mesh"""
    body = bmesh.new()  # faster than vertex.groups
    body.from_mesh(mesh)
    layer = body.verts.layers.deform.active
    found = [vertex[layer].items() if layer else [] for vertex in body.verts]
    body.free()
    return found


def weights_by_name(obj):
    """[v] name -> weight of groups with any, of an object"""
    names = [group.name for group in obj.vertex_groups]
    return [{names[group]: weight for group, weight in row if weight > 0} for row in weights_of(obj.data)]


def _flags_of(mesh):
    """Attributes that are on or off, but for those of Blender's own selection."""
    return {
        attribute.name: [item.value for item in attribute.data]
        for attribute in mesh.attributes
        if attribute.data_type == "BOOLEAN" and not attribute.name.startswith(".")
    }


def record_of(group):
    """Plain values of a property group and of all groups in it; data-blocks by name."""
    values = {}
    for prop in group.bl_rna.properties:
        if prop.identifier == "rna_type":
            continue
        value = getattr(group, prop.identifier)
        if prop.type in PLAIN:
            is_array = getattr(prop, "is_array", False)
            values[prop.identifier] = list(value) if is_array or isinstance(value, set) else value
        elif isinstance(value, bpy.types.PropertyGroup):
            values[prop.identifier] = record_of(value)
        elif prop.type == "COLLECTION":
            values[prop.identifier] = [record_of(item) for item in value]
        elif isinstance(value, bpy.types.ID):
            values[prop.identifier] = value.name
    return values


def _of_bone(bone):
    properties = {name: value for name, value in bone.items() if isinstance(value, (bool, int, float, str))}
    parent = bone.parent.name if bone.parent else None
    return bone.name, parent, np.ravel(bone.matrix_local).tolist(), bone.use_connect, properties


def _of_pose(bone):
    return bone.name, [list(getattr(bone, name)) for name in _CHANNELS], [c.name for c in bone.constraints]


def _of_tracks(owner):
    return [
        [(strip.name, strip.frame_start, strip.mute) for strip in track.strips] for track in owner.nla_tracks
    ]


def parts(block):
    """Yields what belongs to the data-block, by name."""
    if isinstance(block, bpy.types.Mesh):
        yield "weights", weights_of(block)
        yield "flags", _flags_of(block)
    elif isinstance(block, bpy.types.Armature):
        yield "bones", [_of_bone(bone) for bone in block.bones]
    elif isinstance(block, bpy.types.Action):
        yield "keys", [(curve.data_path, curve.array_index, keys_of(curve)) for curve in curves(block)]
    elif isinstance(block, bpy.types.Object):
        yield "record", record_of(block.ossify)
        if block.pose is not None:
            yield "pose", [_of_pose(bone) for bone in block.pose.bones]
        if block.animation_data is not None:
            yield "nla", _of_tracks(block.animation_data)


def curves_of(armature, bone=None):
    """(path, index) -> keys, with their handles, to the bit"""
    found = {}
    for curve in curves(armature.animation_data.action):
        if bone is None or f'"{bone}"' in curve.data_path:
            found[curve.data_path, curve.array_index] = keys_of(curve)
    return found


def groups_of(mesh):
    return weights_of(mesh.data)
