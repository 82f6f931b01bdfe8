"""Ossify: turns moving meshes into rigs."""

from . import command, operators, operators_refit, overlay, panel, panel_refit, properties

_ROOMS = (properties, operators, operators_refit, panel, panel_refit, overlay, command)


def register():
    for room in _ROOMS:
        room.register()


def unregister():
    for room in reversed(_ROOMS):
        room.unregister()
