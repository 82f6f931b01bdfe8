"""Ossify: turns moving meshes into rigs."""

from . import command, operators, operators_bones, operators_paint, panel, panel_paint, properties

_ROOMS = (properties, operators, operators_bones, operators_paint, panel, panel_paint, command)


def register():
    for room in _ROOMS:
        room.register()


def unregister():
    for room in reversed(_ROOMS):
        room.unregister()
