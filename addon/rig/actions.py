"""The actions of a rig, one for each clip: given to it, completed, and laid into the NLA.

Blender leaves a channel that an action does not key where the action before has put it. So every action of a
rig keys every channel that any of them keys: those that rest get one key.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable

import numpy as np

from . import keys

_POSE = "pose.bones["


def assign(owner, action) -> None:
    """Gives the action to the owner, with the slot that is meant for it."""
    data = owner.animation_data_create()
    slot = keys.slot_for(owner, action) if action is not None else None
    data.action = action
    if slot is not None:
        data.action_slot = slot


@contextlib.contextmanager
def given(owner, action):
    """The owner has the action for a while."""
    data = owner.animation_data_create()
    before, slot = data.action, getattr(data, "action_slot", None)
    assign(owner, action)
    try:
        yield data
    finally:
        data.action = before
        if slot is not None:
            data.action_slot = slot


@contextlib.contextmanager
def alone(owner, action):
    """The owner plays the action for a while, and nothing of the NLA."""
    with given(owner, action) as data:
        before, data.use_nla = data.use_nla, False
        try:
            yield
        finally:
            data.use_nla = before


def _channels(owner, action) -> dict[tuple[str, int], object]:
    """The f-curves of the owner's bones by path and index."""
    return {
        (curve.data_path, curve.array_index): curve
        for curve in keys.curves_of(owner, action)
        if curve.data_path.startswith(_POSE) and curve.data_path.rpartition(".")[2] in keys.DEFAULTS
    }


def complete(owner, actions: Iterable, bones: list[str]) -> int:
    """Writes the missing channels of these bones as they are at rest; how many keys that took."""
    actions = list(actions)
    found = [_channels(owner, action) for action in actions]
    paths = {keys.path_of(bone): bone for bone in bones}
    wanted = dict.fromkeys(
        channel for some in found for channel in some if f"{channel[0].rpartition('.')[0]}." in paths
    )
    written = 0
    for action, present in zip(actions, found, strict=True):
        start = np.array([action.frame_range[0]])
        missing = [channel for channel in wanted if channel not in present]
        if missing:
            with given(owner, action):
                new = keys.curves(action, owner)
                for path, index in missing:
                    bone, _, name = path.rpartition(".")
                    keys.fill(
                        new(path, index, paths[f"{bone}."]), start, np.array([keys.DEFAULTS[name][index]])
                    )
        written += len(missing)
    return written


def rest_pose(owner, action, bones: list[str]) -> None:
    """Puts bones to rest in the channels that the action does not key: what another has left there."""
    keyed = _channels(owner, action)
    for bone in map(owner.pose.bones.__getitem__, bones):
        path = keys.path_of(bone.name)
        for name in keys.DEFAULTS:
            values = getattr(bone, name)
            for index, value in enumerate(keys.DEFAULTS[name]):
                if (path + name, index) not in keyed:
                    values[index] = value


def push(owner, action, name: str, first: float, muted: bool):
    """Lays the action into a track of its own, on top, from its first frame on; the track."""
    data = owner.animation_data_create()
    track = data.nla_tracks.new()
    track.name, track.mute = name, muted
    strip = track.strips.new(name, int(first), action)
    strip.name, strip.extrapolation = name, "HOLD_FORWARD"
    if hasattr(strip, "action_slot") and strip.action_slot is None and action.slots:
        strip.action_slot = action.slots[0]
    return track


def overlap(ranges: list[tuple[int, int]]) -> bool:
    """Whether any two of these (first, last) have a frame in common."""
    ranges = sorted(ranges)
    return any(after[0] <= before[1] for before, after in itertools.pairwise(ranges))


def push_all(owner, clips: list[tuple[object, str, int, int]]) -> None:
    """Lays clips (action, name, first, last) into the NLA. Clips that share frames would hide each other:
    then the first alone is heard, and the others are muted."""
    alone = overlap([(first, last) for _, _, first, last in clips])
    for number, (action, name, first, _) in enumerate(clips):
        push(owner, action, name, first, muted=alone and number > 0)
    owner.animation_data.action = None
