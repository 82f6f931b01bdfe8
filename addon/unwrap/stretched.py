"""How much a motion stretches the texture on each face: stored as an attribute, shown as colours.

The colours are there only while they are shown, so that no exporter takes them for the artist's own.
"""

from __future__ import annotations

import numpy as np

from ..rig import heat

ATTRIBUTE = "ossify_stretch"  # percent by which the root mean square stretch over the frames is off 1
COLOURS = "Ossify Stretch"
_LEAST_TOP = 1.0  # percent: a scale that ends lower would make much of nothing


def store(mesh, faces: np.ndarray, stretch: np.ndarray) -> None:
    """faces [t] of the triangles; stretch [t] of each, 1 at best"""
    count = np.bincount(faces, minlength=len(mesh.polygons))
    whole = np.bincount(faces, 100 * np.abs(stretch - 1), minlength=len(mesh.polygons))
    old = mesh.attributes.get(ATTRIBUTE)
    if old is not None:
        mesh.attributes.remove(old)
    attribute = mesh.attributes.new(ATTRIBUTE, "FLOAT", "FACE")
    attribute.data.foreach_set("value", (whole / np.maximum(count, 1)).astype(np.float32))


def stretch_of(mesh) -> np.ndarray | None:
    """[face] percent; None when the mesh has none"""
    attribute = mesh.attributes.get(ATTRIBUTE)
    if attribute is None or attribute.domain != "FACE" or attribute.data_type != "FLOAT":
        return None
    values = np.empty(len(attribute.data), np.float32)
    attribute.data.foreach_get("value", values)
    return values


def is_shown(mesh) -> bool:
    return COLOURS in mesh.color_attributes


def top_stretch(mesh) -> float:
    """Where the scale ends: the 99th percentile, so that one bad face does not turn the others blue."""
    values = stretch_of(mesh)
    return max(float(np.percentile(values, 99)) if len(values) else 0.0, _LEAST_TOP)


def _colour(mesh) -> None:
    if not is_shown(mesh):
        mesh.color_attributes.new(COLOURS, "FLOAT_COLOR", "CORNER")
    faces = np.empty(len(mesh.polygons), np.int32)
    mesh.polygons.foreach_get("loop_total", faces)
    share = np.clip(stretch_of(mesh) / top_stretch(mesh), 0, 1)
    colours = heat.ramp(np.repeat(share, faces)).astype(np.float32)
    attribute = mesh.color_attributes[COLOURS]
    attribute.data.foreach_set("color", colours.ravel())
    mesh.color_attributes.active_color = attribute
    mesh.update()


def recolour(obj) -> None:
    """After new figures came, for a mesh whose colours are shown."""
    if is_shown(obj.data):
        _colour(obj.data)


def show(obj, context, shown: bool) -> None:
    mesh = obj.data
    if shown:
        _colour(mesh)
    elif is_shown(mesh):
        mesh.color_attributes.remove(mesh.color_attributes[COLOURS])
        mesh.update()
    heat.shade(context, shown)
