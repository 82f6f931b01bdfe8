"""The error of each vertex: stored as an attribute, shown as colours, selected.

The colours are there only while they are shown, so that no exporter takes them for the artist's own.
"""

from __future__ import annotations

import bpy
import numpy as np

ATTRIBUTE = "ossify_error"  # percent of the size, root mean square over the frames
NORMALS = "ossify_normals"  # degrees by which the normals around are off, likewise
CHANGE = "ossify_change"  # of the error, by a refit
COLOURS = "Ossify Error"
_RAMP = np.array([[0.0, 0.05, 0.5], [0.0, 0.55, 0.8], [0.2, 0.75, 0.2], [0.95, 0.8, 0.1], [0.8, 0.05, 0.02]])
_BOTH_WAYS = np.array([[0.05, 0.2, 0.8], [0.6, 0.6, 0.6], [0.8, 0.05, 0.02]])
_SHADING = "ossify_shading"  # on the screen's areas: what was there before


def store(mesh, error: np.ndarray, name: str = ATTRIBUTE) -> None:
    """error [v] percent, or degrees"""
    old = mesh.attributes.get(name)
    if old is not None:
        mesh.attributes.remove(old)
    mesh.attributes.new(name, "FLOAT", "POINT")
    mesh.attributes[name].data.foreach_set("value", np.ascontiguousarray(error, np.float32))


def error_of(mesh, name: str = ATTRIBUTE) -> np.ndarray | None:
    """[v] percent; None when the mesh has none"""
    attribute = mesh.attributes.get(name)
    if attribute is None or attribute.domain != "POINT" or attribute.data_type != "FLOAT":
        return None
    values = np.empty(len(attribute.data), np.float32)
    attribute.data.foreach_get("value", values)
    return values


def forget(mesh) -> None:
    """Takes the errors and their colours off a copy that is no rig."""
    _uncolour(mesh)
    for name in (ATTRIBUTE, NORMALS, CHANGE):
        attribute = mesh.attributes.get(name)
        if attribute is not None:
            mesh.attributes.remove(attribute)


def meshes_of(armature) -> list:
    """The meshes that a rig moves and that have an error."""
    return [
        obj
        for obj in armature.children
        if obj.type == "MESH" and obj.data is not None and ATTRIBUTE in obj.data.attributes
    ]


def ramp(share: np.ndarray) -> np.ndarray:
    """[n] 0..1 -> [n][4] blue, cyan, green, yellow, red"""
    at = np.linspace(0, 1, len(_RAMP))
    channels = [np.interp(share, at, _RAMP[:, c]) for c in range(3)]
    return np.stack([*channels, np.ones_like(channels[0])], -1)


def both_ways(share: np.ndarray) -> np.ndarray:
    """[n] -1..1 -> [n][4] blue fell, grey stayed, red rose"""
    channels = [np.interp(share, (-1, 0, 1), column) for column in _BOTH_WAYS.T]
    return np.stack([*channels, np.ones_like(channels[0])], -1)


def _colour(mesh, top: float, name: str) -> None:
    if COLOURS not in mesh.color_attributes:
        mesh.color_attributes.new(COLOURS, "FLOAT_COLOR", "POINT")
    attribute = mesh.color_attributes[COLOURS]
    share = error_of(mesh, name) / top
    colours = both_ways(np.clip(share, -1, 1)) if name == CHANGE else ramp(np.clip(share, 0, 1))
    attribute.data.foreach_set("color", colours.astype(np.float32).ravel())
    mesh.color_attributes.active_color = attribute
    mesh.update()


def _uncolour(mesh) -> None:
    attribute = mesh.color_attributes.get(COLOURS)
    if attribute is not None:
        mesh.color_attributes.remove(attribute)
        mesh.update()


def _viewports(context):
    for window in context.window_manager.windows if context.window_manager else ():
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                yield window.screen, area.spaces.active.shading


def shade(context, shown: bool) -> None:
    """Solid shading by colour attribute in every viewport, and back to what it was."""
    for index, (screen, shading) in enumerate(_viewports(context)):
        slot = f"{_SHADING}_{index}"
        if shown:
            if slot not in screen:
                screen[slot] = f"{shading.type} {shading.color_type}"
            shading.type, shading.color_type = "SOLID", "VERTEX"
        elif slot in screen:
            shading.type, shading.color_type = screen[slot].split()
            del screen[slot]


def top_error(meshes, name: str = ATTRIBUTE) -> float:
    """Where the scale ends: the 99th percentile, so that one bad vertex does not turn the others blue."""
    errors = np.abs(np.concatenate([error_of(obj.data, name) for obj in meshes]))
    return max(float(np.percentile(errors, 99)), 1e-9)


def _is_shown(armature) -> bool:
    return armature.ossify.show_error or armature.ossify.show_change


def shown_by(armature) -> str:
    """What the heat map of a rig shows, or would."""
    record = armature.ossify
    if record.show_change:
        return CHANGE
    return NORMALS if record.show_error_of == "NORMALS" else ATTRIBUTE


def show(armature, context, shown: bool) -> None:
    """Switches the heat map of one rig."""
    name = shown_by(armature)
    meshes = [obj for obj in meshes_of(armature) if error_of(obj.data, name) is not None]
    if shown and meshes:
        top = top_error(meshes, name)
        for obj in meshes:
            _colour(obj.data, top, name)
    elif not _is_shown(armature):
        for obj in meshes_of(armature):
            _uncolour(obj.data)
    if not any(o.type == "ARMATURE" and _is_shown(o) for o in bpy.data.objects if o != armature):
        shade(context, _is_shown(armature))


def recolour(armature) -> None:
    """After new errors came, for a rig whose heat map is shown."""
    if _is_shown(armature):
        name = shown_by(armature)
        meshes = [obj for obj in meshes_of(armature) if error_of(obj.data, name) is not None]
        for obj in meshes:
            _colour(obj.data, top_error(meshes, name), name)


def select_worst(meshes, percent: float) -> int:
    """Selects the given share of vertices, those with the largest errors; how many."""
    errors = [error_of(obj.data) for obj in meshes]
    every = np.concatenate(errors)
    count = min(max(round(len(every) * percent / 100), 1), len(every))
    limit = np.partition(every, len(every) - count)[len(every) - count]
    for obj, error in zip(meshes, errors, strict=True):
        mesh, chosen = obj.data, error >= limit
        ends = np.empty(2 * len(mesh.edges), np.int32)
        mesh.edges.foreach_get("vertices", ends)
        _select(mesh, ".select_vert", "POINT", chosen)
        _select(mesh, ".select_edge", "EDGE", chosen[ends].reshape(-1, 2).all(axis=1))
        _select(mesh, ".select_poly", "FACE", np.zeros(len(mesh.polygons), bool))
        mesh.update()
    return int(sum((error >= limit).sum() for error in errors))


def _select(mesh, name: str, domain: str, chosen: np.ndarray) -> None:
    """By Blender's own attribute, made anew if need be.

    from_pydata of 5.0 leaves a .select_edge of another type, on which foreach_set("select") crashes.
    """
    old = mesh.attributes.get(name)
    if old is not None and old.data_type != "BOOLEAN":
        mesh.attributes.remove(old)
    if name not in mesh.attributes:
        mesh.attributes.new(name, "BOOLEAN", domain)
    mesh.attributes[name].data.foreach_set("value", chosen)
