"""The meshes of a rig: copies of the sources at rest, in place, weighted and bound to the armature."""

from __future__ import annotations

from collections.abc import Generator

import bpy
import numpy as np
from mathutils import Matrix

from ..base import tolerances
from ..base.handles import Handle, Place
from ..base.refusal import Refusal
from ..motion.capture import Part, unmirrored
from . import volumes, weights

MODIFIER = "Armature"


def _evaluated_mesh(part: Part, place: Place):
    """The source's mesh as its modifiers make it, up to the last that moves vertices."""
    source = part.source.get()
    _, layer = place.get()
    hidden = [source.modifiers[name] for name in part.kept if name in source.modifiers]
    hidden = [modifier for modifier in hidden if modifier.show_viewport]
    try:
        for modifier in hidden:
            modifier.show_viewport = False
        layer.update()
        return bpy.data.meshes.new_from_object(
            source.evaluated_get(layer.depsgraph), preserve_all_data_layers=True, depsgraph=layer.depsgraph
        )
    finally:
        for modifier in hidden:
            modifier.show_viewport = True
        layer.update()


def _mesh_of(part: Part, place: Place):
    mesh = part.source.get().data.copy() if part.own_mesh else _evaluated_mesh(part, place)
    if len(mesh.vertices) != part.vertices.stop - part.vertices.start:
        bpy.data.meshes.remove(mesh)
        raise Refusal(f"{part.name} was changed while Ossify was working: try it again.")
    return mesh


def _mirrored_normals(mesh, mirror: np.ndarray) -> np.ndarray:
    """[corner][3] as they will be when the faces are turned over: each keeps its first corner."""
    normals = np.empty(3 * len(mesh.loops), np.float32)
    mesh.corner_normals.foreach_get("vector", normals)
    starts, totals = np.empty(len(mesh.polygons), np.int32), np.empty(len(mesh.polygons), np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    mesh.polygons.foreach_get("loop_total", totals)
    order = np.arange(len(mesh.loops))
    for start, total in zip(starts, totals, strict=True):
        order[start + 1 : start + total] = order[start + 1 : start + total][::-1].copy()
    return (normals.reshape(-1, 3) * np.diag(mirror)[:3])[order]


def set_positions(mesh, points: np.ndarray) -> None:
    mesh.attributes["position"].data.foreach_set("vector", np.ascontiguousarray(points, np.float32).ravel())
    mesh.update()


def _put(obj, armature, matrix: np.ndarray) -> None:
    """Under the armature at `matrix`; a shear, which an object has no channels for, goes to the parent's."""
    obj.parent, obj.parent_type = armature, "OBJECT"
    obj.delta_location, obj.delta_rotation_euler, obj.delta_scale = (0, 0, 0), (0, 0, 0), (1, 1, 1)
    obj.delta_rotation_quaternion = (1, 0, 0, 0)
    plain = Matrix(matrix)
    plain = Matrix.LocRotScale(*plain.decompose())
    sheared = np.abs(np.array(plain) - matrix).max() > 1e-5 * np.abs(matrix[:3, :3]).max()
    obj.matrix_parent_inverse = Matrix(matrix) if sheared else Matrix.Identity(4)
    obj.matrix_basis = Matrix.Identity(4) if sheared else plain


def _needed_groups(obj) -> set[str]:
    """Names of the vertex groups that what stays live on the object asks for."""
    if obj.particle_systems or any(modifier.type == "NODES" for modifier in obj.modifiers):
        return {group.name for group in obj.vertex_groups}
    names = set()
    for modifier in obj.modifiers:
        for prop in modifier.bl_rna.properties:
            if prop.type == "STRING" and prop.identifier.startswith(("vertex_group", "rim_vertex_group")):
                names.add(getattr(modifier, prop.identifier))
    return names & {group.name for group in obj.vertex_groups}


def _clear_shape_keys(obj) -> None:
    """shape_key_clear() leaves the keys behind as an orphan, with a hold on their action."""
    keys = obj.data.shape_keys
    if keys is not None:
        handle = Handle.of("shape_keys", keys)
        obj.shape_key_clear()
        orphan = handle.find()
        if orphan is not None:
            bpy.data.batch_remove([orphan])


def copy_source(part: Part, place: Place, name: str, note):
    """The source without its motion: what is left of its modifiers is what stays live.

    note(kind, block) is told of every data-block made.
    """
    source = part.source.get()
    mesh = _mesh_of(part, place)
    note("meshes", mesh)
    obj = source.copy()
    note("objects", obj)
    obj.data = mesh
    obj.name = name
    mesh.name = obj.name
    _clear_shape_keys(obj)
    volumes.forget(mesh)
    for block in (obj, mesh):
        block.animation_data_clear()
    obj.constraints.clear()
    for modifier in list(obj.modifiers):
        if modifier.name not in part.kept:
            obj.modifiers.remove(modifier)
    needed = _needed_groups(obj)
    for group in list(obj.vertex_groups):
        if group.name not in needed:
            obj.vertex_groups.remove(group)
    return obj


def shape(obj, part: Part, armature, rest: np.ndarray) -> None:
    """Puts the object in its place at rest. Its scale stays, for the modifiers that measure in its units; a
    mirrored object becomes a proper one with a mirrored mesh."""
    mirror = unmirrored(part.matrix)
    matrix = part.matrix @ mirror
    if (
        np.linalg.det(matrix[:3, :3]) <= tolerances.SINGULAR * np.abs(matrix[:3, :3]).max() ** 3
    ):  # scaled to nothing
        matrix = mirror = np.eye(4)
    _put(obj, armature, matrix)
    back, mesh = np.linalg.inv(matrix), obj.data
    points = rest[part.vertices].astype(np.float64) @ back[:3, :3].T + back[:3, 3]
    if np.linalg.det(mirror) > 0:
        set_positions(mesh, points)
        return
    normals = _mirrored_normals(mesh, mirror) if mesh.has_custom_normals else None
    mesh.flip_normals()
    set_positions(mesh, points)
    if normals is not None:
        mesh.normals_split_custom_set(normals)


def weigh(handle: Handle, part: Part, influences, names: list[str]) -> Generator[float, None, None]:
    """Vertex groups, named as their bones; yields how far it is, 0 to 1."""
    bones, values = influences
    rows = weights.by_bone(bones[part.vertices], values[part.vertices], len(names))
    for b, (name, (vertices, amounts)) in enumerate(zip(names, rows, strict=True)):
        if len(vertices):
            add = handle.get().vertex_groups.new(name=name).add
            whole = amounts == 1
            add(vertices[whole].tolist(), 1.0, "REPLACE")
            for vertex, amount in zip(vertices[~whole].tolist(), amounts[~whole].tolist(), strict=True):
                add((vertex,), amount, "REPLACE")
        yield (b + 1) / len(names)


def bind(obj, armature) -> None:
    modifier = obj.modifiers.new(MODIFIER, "ARMATURE")
    modifier.object = armature
    modifier.use_vertex_groups, modifier.use_bone_envelopes = True, False
    modifier.use_deform_preserve_volume = False
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
