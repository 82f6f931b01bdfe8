"""Poses of a rig as assets: an action with one key a channel for each, for Blender's pose library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import actions, keys

POSE = "ossify_pose"  # a custom property of such an action: the rig it is of
_AT = 1  # the frame of the one key


def make(armature, action, times, names: list[str], new: Callable) -> None:
    """One for each of the poses, as an action has them in these frames; new(name) makes an action."""
    curves = [(c.data_path, c.array_index, c.group, c) for c in keys.curves_of(armature, action)]
    groups = [group.name if group is not None else "" for _, _, group, _ in curves]
    for time, name in zip(times, names, strict=True):
        pose = new(name)
        with actions.given(armature, pose):
            add = keys.curves(pose, armature)
            for (path, index, _, curve), group in zip(curves, groups, strict=True):
                keys.fill(add(path, index, group), np.array([_AT]), np.array([curve.evaluate(float(time))]))
        pose[POSE] = armature.name
        pose.asset_mark()
        pose.asset_data.description = f"{name}, a shape key of what {armature.name} was made from"
