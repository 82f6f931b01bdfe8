"""Keys to actions, in bulk, on Blender with action slots and without.

In an action that has keys, those outside of the frames that are written stay, and so do those of held frames,
with their handles; a held frame between keys gets a key of its own where its neighbours would change it.
"""

from __future__ import annotations

from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Euler, Quaternion

from .channels import Channels, Track

_LINEAR = 1  # of Keyframe.interpolation, as foreach_set wants it
_BEZIER = 2
_AUTO_CLAMPED, _FREE = 4, 0  # of Keyframe.handle_left_type; aligned ones are rounded anew with every update
_STEADY = (0, _LINEAR)  # interpolations that look no further than the two keys around
_UNCHANGED = 2e-7  # values nearer than this, in units of the channel, are equal
_ON = 1e-3  # frames: a key nearer than this to a frame is on it
_ROTATIONS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
DEFAULTS = {
    "location": (0, 0, 0),
    "rotation_quaternion": (1, 0, 0, 0),
    "rotation_euler": (0, 0, 0),
    "rotation_axis_angle": (0, 0, 1, 0),
    "scale": (1, 1, 1),
}
POINT = {  # of a keyframe: its numbers by name, how many there are of each
    **dict.fromkeys(("co", "handle_left", "handle_right"), (2, np.float32)),
    **dict.fromkeys(("back", "amplitude", "period"), (1, np.float32)),
    **dict.fromkeys(("interpolation", "easing", "type"), (1, np.int32)),
    **dict.fromkeys(("handle_left_type", "handle_right_type"), (1, np.int32)),
}


def _bag(action, owner):
    """What holds the owner's f-curves and their groups; the owner has the action."""
    if not hasattr(action, "slots"):
        return action
    if owner.animation_data.action_slot is None:
        owner.animation_data.action_slot = action.slots.new(id_type=owner.id_type, name=owner.name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(owner.animation_data.action_slot, ensure=True)


def action_of(owner):
    """Its own action, or None."""
    return owner.animation_data.action if owner.animation_data else None


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


def bags_of(owner, action) -> list:
    """All that holds f-curves of the owner in an action, which it need not have."""
    if not hasattr(action, "slots"):
        return [action]
    slot = slot_for(owner, action)
    strips = [strip for layer in action.layers for strip in layer.strips] if slot is not None else []
    return [bag for bag in (strip.channelbag(slot) for strip in strips) if bag is not None]


def clear(armature, action, bones: list[str]) -> None:
    """Removes all keys of these bones from an action; others stay."""
    paths = tuple(map(path_of, bones))
    for bag in bags_of(armature, action):
        for curve in list(bag.fcurves):
            if curve.data_path.startswith(paths):
                bag.fcurves.remove(curve)
        for group in list(bag.groups):
            if not len(group.channels):
                bag.groups.remove(group)


def _times(curve) -> np.ndarray:
    """[n] the frames of its keys"""
    flat = np.empty(2 * len(curve.keyframe_points), np.float32)
    curve.keyframe_points.foreach_get("co", flat)
    return flat[::2]


def points_of(curve) -> dict[str, np.ndarray]:
    """The keys of a curve, by what they are made of."""
    found, count = {}, len(curve.keyframe_points)
    for name, (width, dtype) in POINT.items():
        flat = np.empty(width * count, dtype)
        curve.keyframe_points.foreach_get(name, flat)
        found[name] = flat.reshape(count, width)
    return found


def _new_points(times: np.ndarray, values: np.ndarray, slopes=None) -> dict[str, np.ndarray]:
    """Joined by straight lines, or by curves if slopes are given."""
    count = len(times)
    made = {name: np.zeros((count, width), dtype) for name, (width, dtype) in POINT.items()}
    made["co"] = np.stack([times, values], -1).astype(np.float32)
    made["interpolation"][:] = _LINEAR if slopes is None else _BEZIER
    for side in ("left", "right"):
        made[f"handle_{side}"] = made["co"].copy()
        made[f"handle_{side}_type"][:] = _AUTO_CLAMPED if slopes is None else _FREE
    if slopes is not None:
        for side, reach in zip(("left", "right"), _reaches(np.asarray(times, np.float64)), strict=True):
            handle = np.stack([times + reach, values + slopes * reach], -1)
            made[f"handle_{side}"] = handle.astype(np.float32)
    return made


def _reaches(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far handles go to either side: a third of the way to the next key, so that time runs evenly."""
    gaps = np.diff(times) / 3
    if not len(gaps):
        return np.array([-1 / 3]), np.array([1 / 3])
    return -np.concatenate([gaps[:1], gaps]), np.concatenate([gaps, gaps[-1:]])


def set_points(curve, points: dict[str, np.ndarray]) -> None:
    curve.keyframe_points.clear()
    curve.keyframe_points.add(len(points["co"]))
    for name, values in points.items():
        curve.keyframe_points.foreach_set(name, values.ravel())
    curve.update()


def fill(curve, times: np.ndarray, values: np.ndarray, slopes=None) -> None:
    """A new curve's keys."""
    if slopes is not None:
        set_points(curve, _new_points(times, values, slopes))
        return
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
    found = set()
    for curve in curves_of(block, data.action):
        found.update(_times(curve).tolist())
    return found


def slot_for(owner, action):
    """The slot of an action that is the owner's, or is meant for it; None: there is none, or no slots."""
    data = owner.animation_data
    if not hasattr(action, "slots"):
        return None
    if data is not None and data.action == action:
        return data.action_slot
    fitting = [slot for slot in action.slots if slot.target_id_type in {owner.id_type, "UNSPECIFIED"}]
    wanted = data.last_slot_identifier if data is not None else ""
    named = [slot for slot in fitting if slot.identifier == wanted or slot.name_display == owner.name]
    return next(iter(named or fitting), None)


def curves_of(owner, action) -> list:
    """The f-curves that move the owner when it has the action."""
    return [curve for bag in bags_of(owner, action) for curve in bag.fcurves]


def is_driven(armature, action, bone: str) -> bool:
    """Whether drivers move the bone, or its curves are not what their keys say, or are locked."""
    data, path = armature.animation_data, path_of(bone)
    channels = tuple(path + name for name in DEFAULTS)
    if data is not None and any(driver.data_path.startswith(channels) for driver in data.drivers):
        return True
    if action is None:
        return False
    curves = [curve for curve in curves_of(armature, action) if curve.data_path.startswith(channels)]
    return any(curve.lock or curve.mute or len(curve.modifiers) for curve in curves)


def _still(values: np.ndarray, unit: float) -> bool:
    return float(np.ptp(values)) <= _UNCHANGED * unit


def _kept(at: np.ndarray, times: np.ndarray, held: np.ndarray) -> np.ndarray:
    """[n] whether keys at these frames stay: outside of `times`, on a held frame, or between two of them."""
    after = np.clip(np.searchsorted(times, at - _ON), 0, len(times) - 1)
    before = np.maximum(after - 1, 0)
    on = np.abs(times[after] - at) <= _ON
    outside = (at < times[0] - _ON) | (at > times[-1] + _ON)
    return outside | np.where(on, held[after], held[after] & held[before])


def _exposed(points: dict, kept: np.ndarray, times: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The held frames, by row, whose value would change with the keys around them."""
    at, steady = points["co"][:, 0], np.isin(points["interpolation"][:, 0], _STEADY)
    rows = []
    for row in np.flatnonzero(held):
        after = int(np.searchsorted(at, times[row] - _ON))
        if after < len(at) and abs(at[after] - times[row]) <= _ON:
            continue  # a key is on it
        inside = 0 < after < len(at) and kept[after - 1] and kept[after] and steady[after - 1]
        if inside:
            between = (times > at[after - 1]) & (times < at[after])
            inside = held[between].all()
        if not inside:
            rows.append(row)
    return np.array(rows, int)


def _turned(mode: str, q: np.ndarray) -> np.ndarray:
    """Quaternions [n][4] as a bone of that rotation mode has them."""
    if mode == "QUATERNION":
        return q
    if mode == "AXIS_ANGLE":
        pairs = [Quaternion(row).to_axis_angle() for row in q]
        return np.array([(angle, *axis) for axis, angle in pairs])
    result, before = [], Euler((0, 0, 0), mode)
    for row in q:
        before = Quaternion(row).to_euler(mode, before)
        result.append(tuple(before))
    return np.array(result)


def _quaternion(mode: str, values: np.ndarray) -> np.ndarray:
    """The same backwards."""
    if mode == "QUATERNION":
        return values
    if mode == "AXIS_ANGLE":
        return np.array([tuple(Quaternion(row[1:], row[0])) for row in values])
    return np.array([tuple(Euler(row, mode).to_quaternion()) for row in values])


class Reader:
    """The channels of pose bones as they stand in an action; without one, those of the bones themselves.

    A bone that is gone is read from what the action still has of it.
    """

    def __init__(self, armature, times, action):
        self.times = np.asarray(times, np.float32)
        self._bones = armature.pose.bones
        found = curves_of(armature, action) if action is not None else []
        self._old = {(curve.data_path, curve.array_index): curve for curve in found}
        self.keys = 0  # written, or left as they are
        self.keys_if_every = 0  # as many as there were without reduction
        self.numbers = 0  # values of keys, and slopes of those with curves

    def leave(self, bone: str) -> None:
        """Counts the keys of a bone that stays as it is."""
        for (path, _), curve in self._old.items():
            if path.startswith(path_of(bone)):
                self.count(curve)
                self.keys_if_every += 1 if len(curve.keyframe_points) == 1 else len(self.times)

    def count(self, curve) -> None:
        """Adds the keys of a curve to what there is."""
        kinds = np.empty(len(curve.keyframe_points), np.int32)
        curve.keyframe_points.foreach_get("interpolation", kinds)
        self.keys += len(kinds)
        self.numbers += len(kinds) + int((kinds == _BEZIER).sum())

    def _present(self, bone: str, channel: str) -> np.ndarray:
        """[f][n] the values of a channel"""
        fixed = getattr(self._bones[bone], channel) if bone in self._bones else DEFAULTS[channel]
        columns = []
        for index in range(len(fixed)):
            curve = self._old.get((path_of(bone) + channel, index))
            if curve is None:
                columns.append(np.full(len(self.times), fixed[index], np.float32))
            else:
                columns.append([curve.evaluate(time) for time in self.times.tolist()])
        return np.array(columns, np.float32).T

    def present(self, bone: str, inner_bone: str | None = None) -> Channels:
        """[f]... the channels of a bone, and of the one under it if it is a carrier"""
        mode = self._bones[bone].rotation_mode if bone in self._bones else "QUATERNION"
        turned = self._present(bone, _ROTATIONS.get(mode, "rotation_euler")).astype(np.float64)
        inner = None
        if inner_bone is not None:
            inner = self._present(inner_bone, "rotation_quaternion").astype(np.float64)
        location, scale = (self._present(bone, name).astype(np.float64) for name in ("location", "scale"))
        return Channels(location, _quaternion(mode, turned), scale, inner)

    def goes_on(self, bone: str) -> bool:
        """Whether keys of the bone come after the frames."""
        curves = (curve for (path, _), curve in self._old.items() if path.startswith(path_of(bone)))
        return any(curve.range()[1] > self.times[-1] + _ON for curve in curves)


class Untouched(NamedTuple):
    """All curves of bones, as they are."""

    bones: list[str]
    points: dict[tuple[str, int], dict[str, np.ndarray]]  # by path and index


class Writer(Reader):
    """Writes the tracks of bones into an action, and gives it to the armature object."""

    def __init__(self, armature, action, times: np.ndarray, size: float):
        data = armature.animation_data_create()
        if data.action != action:
            data.action = action
        self._bag = _bag(action, armature)
        super().__init__(armature, times, action)
        self.action, self.size = action, size
        self._new = curves(action, armature)

    # ---- what is written

    def _write(self, bone, channel, rows, values: np.ndarray, unit: float, held, slopes=None) -> None:
        """Curves that rest at their default are not written, and others that do not move have one key."""
        default, path = DEFAULTS[channel], path_of(bone) + channel
        curves = [self._old.get((path, index)) for index in range(values.shape[1])]
        kept = [None if curve is None else _kept(_times(curve), self.times, held) for curve in curves]
        fresh = not held.any() and not any(k is not None and k.any() for k in kept)
        still = [fresh and _still(column, unit) for column in values.T]
        idle = np.abs(values[0] - default) <= _UNCHANGED * unit
        idle = np.logical_and(idle, still)
        if channel.startswith("rotation_"):  # its curves belong together
            still, idle = [all(still)] * len(still), [idle.all()] * len(still)
        present = self._present(bone, channel) if held.any() else None
        for index, column in enumerate(values.T):
            if idle[index]:
                self._rest(bone, channel, index, curves[index])
                continue
            curve = curves[index] or self._new(path, index, bone)
            self._old[path, index] = curve
            some = slice(0, 1) if still[index] else slice(None)
            if fresh:
                curve.keyframe_points.clear()
                rising = None if slopes is None or still[index] else slopes[:, index]
                fill(curve, self.times[rows][some], column[some], rising)
            else:
                here = present[:, index] if present is not None else None
                rising = None if slopes is None else slopes[:, index]
                self._merge(curve, rows, column, held, kept[index], here, rising)
            self.count(curve)
            self.keys_if_every += 1 if still[index] else len(self.times)

    def _rest(self, bone: str, channel: str, index: int, curve) -> None:
        """Nothing is keyed: the bone itself holds the default."""
        if curve is not None:
            self._bag.fcurves.remove(curve)
            del self._old[path_of(bone) + channel, index]
        values = getattr(self._bones[bone], channel)
        if values[index] != DEFAULTS[channel][index]:
            values[index] = DEFAULTS[channel][index]

    def _merge(self, curve, rows, column, held, kept, present, slopes=None) -> None:
        """New keys among those that stay; with slopes, none of the frames is held."""
        old, kept = points_of(curve), np.zeros(0, bool) if kept is None else kept
        exposed = _exposed(old, kept, self.times, held)
        free = ~held[rows]
        times = [self.times[rows[free]]]
        values = [column[free]]
        if len(exposed):
            times.append(self.times[exposed])
            values.append(present[exposed])
        made = _new_points(np.concatenate(times), np.concatenate(values), slopes)
        points = {name: np.concatenate([old[name][kept], made[name]]) for name in POINT}
        order = np.argsort(points["co"][:, 0], kind="stable")
        set_points(curve, {name: part[order] for name, part in points.items()})

    def track(self, bone: str, track: Track, inner_bone: str | None = None, held=None) -> None:
        """`inner_bone` hangs under the carrier `bone` when the track has an inner rotation; held [f]."""
        held = np.zeros(len(self.times), bool) if held is None else held
        mode, rows = self._bones[bone].rotation_mode, track.rows
        rising = track.slopes or Channels(None, None)
        self._write(bone, "location", rows, track.location, self.size, held, rising.location)
        turned = _ROTATIONS.get(mode, "rotation_euler")
        self._write(bone, turned, rows, _turned(mode, track.rotation), 1.0, held, rising.rotation)
        scale = track.scale
        if scale is None and self._scales(bone):
            scale = np.ones((len(rows), 3))
        if scale is not None:
            level = np.zeros_like(scale) if track.scale is None and track.slopes else rising.scale
            self._write(bone, "scale", rows, scale, 1.0, held, level)
        if track.inner is not None:
            self._write(inner_bone, "rotation_quaternion", rows, track.inner, 1.0, held, rising.inner)

    def as_they_are(self, bones: list[str]) -> Untouched:
        paths = tuple(map(path_of, bones))
        found = {key: curve for key, curve in self._old.items() if key[0].startswith(paths)}
        return Untouched(bones, {key: points_of(curve) for key, curve in found.items()})

    def restore(self, untouched: Untouched) -> None:
        """The same curves, be they there or not."""
        paths = tuple(map(path_of, untouched.bones))
        for key in [key for key in self._old if key[0].startswith(paths) and key not in untouched.points]:
            self._bag.fcurves.remove(self._old.pop(key))
        for (path, index), points in untouched.points.items():
            bone = next(name for name in untouched.bones if path.startswith(path_of(name)))
            curve = self._old.get((path, index)) or self._new(path, index, bone)
            self._old[path, index] = curve
            set_points(curve, points)
            self.count(curve)
            self.keys_if_every += 1 if len(curve.keyframe_points) == 1 else len(self.times)

    def _scales(self, bone: str) -> bool:
        """Whether a bone that shall not scale was given a scale."""
        keyed = any((path_of(bone) + "scale", index) in self._old for index in range(3))
        return keyed or tuple(self._bones[bone].scale) != (1, 1, 1)

    def name_poses(self, names: list[str]) -> None:
        for time, name in zip(self.times, names, strict=True):
            marker = self.action.pose_markers.get(name) or self.action.pose_markers.new(name)
            marker.frame = int(time)
