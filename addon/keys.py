"""Keys to actions, in bulk, on Blender with action slots and without."""

from __future__ import annotations

import bpy
import numpy as np

from .channels import Track

_LINEAR = 1  # of Keyframe.interpolation, as foreach_set wants it
_AUTO_CLAMPED = 4  # of Keyframe.handle_left_type
_STILL = 2e-7  # values nearer than this, in units of the channel, are equal


def _bag(action, owner):
    """What holds the owner's f-curves and their groups; the owner has the action."""
    if not hasattr(action, "slots"):
        return action
    if owner.animation_data.action_slot is None:
        owner.animation_data.action_slot = action.slots.new(id_type=owner.id_type, name=owner.name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(owner.animation_data.action_slot, ensure=True)


def curves(action, owner):
    """A function (data_path, index, group) -> new f-curve of the owner, which has the action."""
    bag = _bag(action, owner)

    def new(path: str, index: int, group: str):
        curve = bag.fcurves.new(path, index=index)
        curve.group = bag.groups.get(group) or bag.groups.new(group)
        return curve

    return new


def path_of(bone: str) -> str:
    return f'pose.bones["{bpy.utils.escape_identifier(bone)}"].'


def clear(armature, bones: list[str]) -> None:
    """Removes all keys of these bones; others stay."""
    if armature.animation_data is None or armature.animation_data.action is None:
        return
    bag, paths = _bag(armature.animation_data.action, armature), tuple(map(path_of, bones))
    for curve in list(bag.fcurves):
        if curve.data_path.startswith(paths):
            bag.fcurves.remove(curve)
    for group in list(bag.groups):
        if not len(group.channels):
            bag.groups.remove(group)


def fill(curve, times: np.ndarray, values: np.ndarray) -> None:
    points = curve.keyframe_points
    points.add(len(times))
    points.foreach_set("co", np.stack([times, values], -1).astype(np.float32).ravel())
    points.foreach_set("interpolation", np.full(len(times), _LINEAR, np.int32))
    for side in ("left", "right"):
        points.foreach_set(f"handle_{side}_type", np.full(len(times), _AUTO_CLAMPED, np.int32))
    curve.update()


def times_of(block) -> set[float]:
    """The frames in which a data-block's own action has keys."""
    data = block.animation_data
    if data is None or data.action is None:
        return set()
    action, found = data.action, set()
    for curve in curves_of(action, data):
        flat = np.empty(2 * len(curve.keyframe_points), np.float32)
        curve.keyframe_points.foreach_get("co", flat)
        found.update(flat[::2].tolist())
    return found


def curves_of(action, data) -> list:
    """The f-curves that the animation data, which has the action, takes from it."""
    if not hasattr(action, "slots"):
        return list(action.fcurves)
    if data.action_slot is None:
        return []
    strips = [strip for layer in action.layers for strip in layer.strips]
    bags = [strip.channelbag(data.action_slot) for strip in strips]
    return [curve for bag in bags if bag is not None for curve in bag.fcurves]


def _still(values: np.ndarray, unit: float) -> bool:
    return float(np.ptp(values)) <= _STILL * unit


class Writer:
    """Writes the tracks of bones into a new action, and gives it to the armature object."""

    def __init__(self, armature, action, times: np.ndarray, size: float):
        self.action, self.times, self.size = action, times, size
        armature.animation_data_create().action = action
        self._new = curves(action, armature)
        self.keys = 0  # written
        self.keys_if_every = 0  # as many as there were without reduction

    def _write(self, bone: str, channel: str, rows, values: np.ndarray, default, unit: float) -> None:
        """Curves that rest at their default are not written, and others that do not move have one key."""
        still = [_still(column, unit) for column in values.T]
        idle = np.abs(values[0] - default) <= _STILL * unit
        idle = np.logical_and(idle, still)
        if channel == "rotation_quaternion":  # its four curves belong together
            still, idle = [all(still)] * 4, [idle.all()] * 4
        for index, column in enumerate(values.T):
            if idle[index]:
                continue
            curve = self._new(f"{path_of(bone)}{channel}", index, bone)
            some = slice(0, 1) if still[index] else slice(None)
            fill(curve, self.times[rows][some], column[some])
            self.keys += len(column[some])
            self.keys_if_every += 1 if still[index] else len(self.times)

    def track(self, bone: str, track: Track, inner_bone: str | None = None) -> None:
        """`inner_bone` hangs under the carrier `bone` when the track has an inner rotation."""
        self._write(bone, "location", track.rows, track.location, (0, 0, 0), self.size)
        self._write(bone, "rotation_quaternion", track.rows, track.rotation, (1, 0, 0, 0), 1.0)
        if track.scale is not None:
            self._write(bone, "scale", track.rows, track.scale, (1, 1, 1), 1.0)
        if track.inner is not None:
            self._write(inner_bone, "rotation_quaternion", track.rows, track.inner, (1, 0, 0, 0), 1.0)

    def name_poses(self, names: list[str]) -> None:
        for time, name in zip(self.times, names, strict=True):
            marker = self.action.pose_markers.get(name) or self.action.pose_markers.new(name)
            marker.frame = int(time)
