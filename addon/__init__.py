"""Ossify: turns moving meshes into rigs."""

from . import (
    command,
    operators,
    operators_bones,
    operators_paint,
    operators_refit,
    operators_track,
    overlay,
    panel,
    panel_paint,
    panel_refit,
    panel_track,
    preview,
    properties,
    properties_track,
)

_ROOMS = (
    properties,
    properties_track,
    operators,
    operators_bones,
    operators_paint,
    operators_refit,
    operators_track,
    panel,
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
