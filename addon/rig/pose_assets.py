"""Poses of a rig as assets: an action with one key a channel for each, for Blender's pose library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import actions, keys

POSE = "ossify_pose"  # a custom property of such an action: the rig it is of
_AT = 1  # the frame of the one key


def _add(armature, name: str, channels, about: str, new: Callable):
    """channels: (data path, index, group, value)"""
    pose = new(name)
    with actions.given(armature, pose):
        add = keys.curves(pose, armature)
        for path, index, group, value in channels:
            keys.fill(add(path, index, group), np.array([_AT]), np.array([value]))
    pose[POSE] = armature.name
    pose.asset_mark()
    pose.asset_data.description = about
    return pose


def make(armature, action, times, names: list[str], new: Callable) -> None:
    """One for each of the poses, as an action has them in these frames; new(name) makes an action."""
    curves = [(c.data_path, c.array_index, c.group, c) for c in keys.curves_of(armature, action)]
    groups = [group.name if group is not None else "" for _, _, group, _ in curves]
    for time, name in zip(times, names, strict=True):
        channels = [
            (path, index, group, curve.evaluate(float(time)))
            for (path, index, _, curve), group in zip(curves, groups, strict=True)
        ]
        about = f"{name}, a shape key of what {armature.name} was made from"
        _add(armature, name, channels, about, new)


def of_bones(armature, name: str, turns: dict, about: str, new: Callable):
    """A pose of some bones, which have these matrices; they are turned by quaternions."""
    channels = []
    for bone, matrix in turns.items():
        location, rotation, _ = matrix.decompose()
        for field, values in (("location", location), ("rotation_quaternion", rotation)):
            channels += [(keys.path_of(bone) + field, i, bone, value) for i, value in enumerate(values)]
    return _add(armature, name, channels, about, new)


def take(armature, pose) -> None:
    """Puts the armature into a pose."""
    for curve in keys.curves_of(armature, pose):
        path, _, field = curve.data_path.rpartition(".")
        getattr(armature.path_resolve(path), field)[curve.array_index] = curve.evaluate(_AT)
    armature.update_tag()
