"""Ossify: turns moving meshes into rigs."""

from . import command
from .ui import (
    operators,
    operators_bake,
    operators_bones,
    operators_paint,
    operators_refit,
    operators_skeleton,
    operators_track,
    overlay,
    panel,
    panel_paint,
    panel_refit,
    panel_skeleton,
    panel_track,
    preview,
    properties,
    properties_bake,
    properties_refit,
    properties_rig,
    properties_track,
)

_ROOMS = (
    properties,
    properties_bake,
    properties_refit,
    properties_rig,
    properties_track,
    operators,
    operators_skeleton,
    operators_bake,
    operators_bones,
    operators_paint,
    operators_refit,
    operators_track,
    panel,
    panel_skeleton,
    panel_paint,
    panel_refit,
    panel_track,
    overlay,
    preview,
    command,
)


def register():
    for room in _ROOMS:
        room.register()


def unregister():
    for room in reversed(_ROOMS):
        room.unregister()
