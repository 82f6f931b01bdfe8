"""Ossify: turns moving meshes into rigs."""

from . import command
from .ui import (
    manual,
    operators,
    operators_adopt,
    operators_bake,
    operators_bones,
    operators_correctives,
    operators_export,
    operators_family,
    operators_paint,
    operators_refit,
    operators_skeleton,
    operators_track,
    operators_unwrap,
    operators_virtual,
    operators_volume,
    overlay,
    panel,
    panel_adopt,
    panel_family,
    panel_paint,
    panel_refit,
    panel_skeleton,
    panel_track,
    panel_virtual,
    panel_volume,
    preview,
    properties,
    properties_adopt,
    properties_bake,
    properties_refit,
    properties_rig,
    properties_track,
    properties_virtual,
)

_ROOMS = (
    properties,
    properties_adopt,
    properties_bake,
    properties_refit,
    properties_rig,
    properties_track,
    properties_virtual,
    operators,
    operators_export,
    operators_skeleton,
    operators_bake,
    operators_bones,
    operators_paint,
    operators_refit,
    operators_track,
    operators_adopt,
    operators_unwrap,
    operators_virtual,
    operators_volume,
    operators_family,
    manual,
    panel,
    panel_adopt,
    panel_skeleton,
    panel_paint,
    operators_correctives,
    panel_refit,
    panel_track,
    panel_virtual,
    panel_volume,
    panel_family,
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
