"""Keys of bones as plain numbers, handles and all, and back into an action to the bit."""

from __future__ import annotations

import re
import zlib

import bpy
import numpy as np

from . import actions, keys

_PATH = re.compile(r'(pose\.bones\["((?:[^"\\]|\\.)*)"\]\.)(.+)')
Copy = dict[tuple[str, int], np.ndarray]  # channel and index -> [n][.] the numbers of its keys


def of(armature, action) -> dict[str, Copy]:
    """bone -> its keys in an action, also of bones that are gone"""
    found: dict[str, Copy] = {}
    for curve in keys.curves_of(armature, action):
        match = _PATH.fullmatch(curve.data_path)
        if match:
            bone = bpy.utils.unescape_identifier(match[2])
            points = keys.points_of(curve)
            flat = np.concatenate([points[name] for name in keys.POINT], axis=1, dtype=np.float64)
            found.setdefault(bone, {})[match[3], curve.array_index] = flat
    return found


def mark(copy: Copy) -> int:
    """Another one for other keys."""
    total = 0
    for (channel, index), flat in sorted(copy.items()):
        total = zlib.crc32(f"{channel} {index}".encode() + flat.tobytes(), total)
    return total


def put(armature, action, bone: str, copy: Copy) -> None:
    """Instead of the keys that the bone has there; a channel that is keyed no more rests."""
    for channel, index in of(armature, action).get(bone, {}).keys() - copy.keys():
        if channel in keys.DEFAULTS:
            getattr(armature.pose.bones[bone], channel)[index] = keys.DEFAULTS[channel][index]
    keys.clear(armature, action, [bone])
    ends = np.cumsum([width for width, _ in keys.POINT.values()])[:-1]
    with actions.given(armature, action):
        new = keys.curves(action, armature)
        for (channel, index), flat in copy.items():
            parts = np.split(flat, ends, axis=1)
            points = {
                name: part.astype(dtype)
                for (name, (_, dtype)), part in zip(keys.POINT.items(), parts, strict=True)
            }
            keys.set_points(new(keys.path_of(bone) + channel, index, bone), points)
