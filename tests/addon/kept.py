"""Rigs that many tests start from: made once a run by the whole chain, kept as files, and opened.

A test gets the scene as it was when the rig had just been made, in a file without a name; nothing of what
other tests did to it is there. Opening takes hundredths of a second, a conversion up to one.
"""

import copy
import functools
from typing import NamedTuple

import bpy

folder = None  # of the run; while it is None, every rig is made anew
_made = {}  # recipe and choices -> file, and what the recipe returned


class _Name(NamedTuple):
    """Stands for an object of a file that is not open."""

    of: str


def _translated(value, kind, other):
    """A copy of tuples and lists, with other(part) for their parts of a kind."""
    if isinstance(value, kind):
        return other(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_translated(part, kind, other) for part in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_translated(part, kind, other) for part in value)
    return copy.deepcopy(value)


def _is_fresh():
    """Whether the scene is as every test finds it."""
    scene = bpy.context.scene
    frames = scene.frame_start, scene.frame_end, scene.frame_current
    return frames == (1, 8, 1) and not (bpy.data.objects or bpy.data.filepath or scene.timeline_markers)


def fresh():
    """An empty scene of eight frames."""
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 8
    scene.frame_set(1)


def kept(make):
    """A recipe whose result is kept: make(...) makes a scene and returns objects of it, and more.

    Where a test made something before, it is made anew beside that.
    """

    @functools.wraps(make)
    def opened(*given, **chosen):
        if folder is None or not _is_fresh():
            return make(*given, **chosen)
        key = make.__module__, make.__qualname__, repr((given, sorted(chosen.items())))
        if key not in _made:
            value = make(*given, **chosen)
            path = str(folder / f"{len(_made)}.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
            _made[key] = path, _translated(value, bpy.types.Object, lambda obj: _Name(obj.name))
        path, value = _made[key]
        bpy.ops.wm.read_homefile(filepath=path)
        return _translated(value, _Name, lambda name: bpy.data.objects[name.of])

    return opened
