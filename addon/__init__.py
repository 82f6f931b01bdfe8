"""Ossify: turns moving meshes into rigs."""

from . import command, operators, overlay, panel, properties

_ROOMS = (properties, operators, panel, overlay, command)


def register():
    for room in _ROOMS:
        room.register()


def unregister():
    for room in reversed(_ROOMS):
        room.unregister()
