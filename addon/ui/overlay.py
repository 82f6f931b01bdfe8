"""Joints drawn over the 3D viewport, for rigs that show them: a dot for one that is well determined, a bar
along the axis of a hinge, a hollow ring for a guess.

Nothing of it is stored: it is drawn from what joints.py notes on the bones, wherever the pose has them now.
Every shape is a capsule around a line (a dot's has no length) in loops from the inside out, each loop with a
colour; what is between two loops blends from one to the other, which also smooths the edge.
"""

from __future__ import annotations

import bpy
import gpu
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from gpu_extras.batch import batch_for_shader

from ..skeleton import joints

COLOURS = {
    "ball": (0.30, 0.85, 0.35),
    "hinge": (0.35, 0.62, 1.0),
    "stiff": (0.95, 0.80, 0.25),
    "loose": (1.0, 0.30, 0.22),
}
_EDGE = (0.02, 0.02, 0.03)
_RADII = {"ball": 5.5, "hinge": 3.0, "stiff": 4.0, "loose": 6.5}  # pixels
_HOLLOW, _RIM, _SOFT = 3.0, 1.5, 1.0  # of a ring's width, of the dark edge, of its fading out
_CORNERS = 12  # of each half circle

_handle = None
_none = False  # no rig shows its joints, and none can have begun to since


def _stops(kind: str, scale: float) -> list[tuple[float, tuple]]:
    """Radius and colour of each loop, from the inside out."""
    radius, colour = _RADII[kind], (*COLOURS[kind], 1.0)
    edge, clear = (*_EDGE, 0.8), (*_EDGE, 0.0)
    outer = [(radius, colour), (radius, edge), (radius + _RIM, edge), (radius + _RIM + _SOFT, clear)]
    if kind == "loose":
        hole = radius - _HOLLOW
        inner = [(hole - _RIM - _SOFT, clear), (hole - _RIM, edge), (hole, edge), (hole, colour)]
    else:
        inner = [(0.0, colour)]
    return [(scale * r, c) for r, c in inner + outer]


def _directions(way: np.ndarray) -> np.ndarray:
    """[2 half circles][2] unit vectors, the first half around the end of a line and the second its start"""
    first = np.arctan2(way[1], way[0]) - np.pi / 2
    turns = first + np.pi * np.linspace(0, 1, _CORNERS)
    turns = np.concatenate([turns, turns + np.pi])
    return np.stack([np.cos(turns), np.sin(turns)], axis=1)


def shape(kind: str, start, end, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles in pixels [3 n][2] and the colours of their corners [3 n][4]"""
    start, end = np.asarray(start, float), np.asarray(end, float)
    around = _directions(end - start)
    spine = np.repeat([end, start], _CORNERS, axis=0)
    stops = _stops(kind, scale)
    loops = np.array([spine + radius * around for radius, _ in stops])
    colours = np.array([[colour] * len(around) for _, colour in stops])
    corners = []
    for values in (loops, colours):
        inner, outer = values[:-1], values[1:]
        inner_next, outer_next = np.roll(inner, -1, axis=1), np.roll(outer, -1, axis=1)
        faces = np.stack([inner, outer, outer_next, inner, outer_next, inner_next], axis=2)
        corners.append(faces.reshape(-1, values.shape[-1]))
    return corners[0], corners[1]


def shapes(marks: list[joints.Mark], project, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Those of all joints; `project` takes a point of the world to pixels, or to None behind the eye."""
    points, colours = [np.empty((0, 2))], [np.empty((0, 4))]
    for mark in marks:
        ends = project(mark.place - mark.axis), project(mark.place + mark.axis)
        if None not in ends:
            some = shape(mark.kind, *ends, scale)
            points.append(some[0])
            colours.append(some[1])
    return np.concatenate(points), np.concatenate(colours)


def _rigs() -> list:
    """All armatures that show their joints; quick when there is none, in a scene of many objects."""
    global _none
    if _none:
        return []
    found = [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.ossify.show_joints]
    _none = not found
    return found


@bpy.app.handlers.persistent
def look_again(*_arguments) -> None:
    """A rig may have begun to show its joints."""
    global _none
    _none = False


def shown(layer, space) -> list:
    """The armatures whose joints are to be drawn in a viewport."""
    if not (space.overlay.show_overlays and space.overlay.show_bones):
        return []
    return [
        rig
        for rig in _rigs()
        if rig.mode != "EDIT"
        and layer.objects.get(rig.name) == rig
        and rig.visible_get(view_layer=layer, viewport=space)
    ]


def _draw() -> None:
    context = bpy.context
    region, view = context.region, context.region_data
    marks = [
        mark for armature in shown(context.view_layer, context.space_data) for mark in joints.marks(armature)
    ]
    if not marks or view is None:
        return

    def project(place):
        return location_3d_to_region_2d(region, view, place)

    points, colours = shapes(marks, project, context.preferences.system.ui_scale)
    if not len(points):
        return
    flat = np.concatenate([points, np.zeros((len(points), 1))], axis=1).astype(np.float32)
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    batch = batch_for_shader(shader, "TRIS", {"pos": flat, "color": colours.astype(np.float32)})
    gpu.state.blend_set("ALPHA")
    batch.draw(shader)
    gpu.state.blend_set("NONE")


def redraw() -> None:
    """All 3D viewports."""
    look_again()
    for manager in bpy.data.window_managers:
        for window in manager.windows:
            for area in window.screen.areas:
                if area.type == "VIEW_3D":
                    area.tag_redraw()


def _occasions() -> list:
    """When properties change without a word."""
    handlers = bpy.app.handlers
    return [handlers.load_post, handlers.undo_post, handlers.redo_post]


def register() -> None:
    global _handle
    look_again()
    _handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_PIXEL")
    for occasion in _occasions():
        occasion.append(look_again)


def unregister() -> None:
    global _handle
    for occasion in _occasions():
        occasion.remove(look_again)
    bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
    _handle = None
    redraw()
