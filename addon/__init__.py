"""Ossify: turns moving meshes into rigs."""

from . import command, operators, panel, properties

_ROOMS = (properties, operators, panel, command)


def register():
    for room in _ROOMS:
        room.register()


def unregister():
    for room in reversed(_ROOMS):
        room.unregister()
