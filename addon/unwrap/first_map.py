"""A first UV map by Blender's own unwrap, for a mesh that has none: along its seams, or, without seams, by
the directions of its faces. It is made on a copy, so that what the artist selected stays selected.
"""

from __future__ import annotations

import math

import bpy
import numpy as np

from ..base.refusal import Refusal

_ANGLE = math.radians(66)  # Blender's own between the faces of an island
_FIRST_MARGIN = 0.003


def _has_seams(mesh) -> bool:
    seams = np.zeros(len(mesh.edges), bool)
    mesh.edges.foreach_get("use_seam", seams)
    return bool(seams.any())


def _unwrap(seams: bool) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.reveal(select=False)
    bpy.ops.mesh.select_all(action="SELECT")
    if seams:
        bpy.ops.uv.unwrap(method="ANGLE_BASED", margin=_FIRST_MARGIN)
    else:
        bpy.ops.uv.smart_project(angle_limit=_ANGLE, island_margin=_FIRST_MARGIN)
    bpy.ops.object.mode_set(mode="OBJECT")


def make(obj) -> tuple[np.ndarray, str]:
    """[corner][2], and a sentence on how it came to be"""
    layer = bpy.context.view_layer
    active, chosen = layer.objects.active, [other for other in layer.objects if other.select_get()]
    mesh = obj.data.copy()
    spare = bpy.data.objects.new(obj.name, mesh)
    seams = _has_seams(mesh)
    try:
        bpy.context.scene.collection.objects.link(spare)
        for other in chosen:
            other.select_set(False)
        layer.objects.active = spare
        spare.select_set(True)
        if mesh.uv_layers.active is None:
            mesh.uv_layers.new()
        _unwrap(seams)
        flat = np.empty(2 * len(mesh.loops), np.float32)
        mesh.uv_layers.active.data.foreach_get("uv", flat)
    except RuntimeError as error:
        raise Refusal(f"Blender's own unwrap failed ({' '.join(str(error).split())}).") from None
    finally:
        bpy.data.objects.remove(spare)
        bpy.data.meshes.remove(mesh)
        layer.objects.active = active
        for other in chosen:
            other.select_set(True)
    how = "along its seams" if seams else "by the directions of its faces, because it has no seams"
    return flat.reshape(-1, 2), f"{obj.name} had no UV map: Blender's own unwrap made a first one, {how}."
