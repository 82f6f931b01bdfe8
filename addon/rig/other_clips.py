"""The actions that were tracked onto a rig: there is no motion to solve them for.

When bones lie or hang elsewhere than before, their keys mean another motion; so they are read before, or from
what was noted of the rig, and written again: bones go on to move as they did. Actions of the artist's own are
left alone (played.py says so).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..options.options import Options
from . import actions, keys, played, rewrite, standing


@dataclasses.dataclass
class Other:
    action: object
    times: np.ndarray  # [f]
    transforms: np.ndarray  # [f][b][4][4] of the bones it was read for


def times_of(clip) -> np.ndarray:
    """[f] the frames of a clip of the record"""
    return np.arange(clip.first_frame, clip.last_frame + 1, clip.frame_step)


def read(armature, names: list[str]) -> list[Other]:
    """As Blender evaluates them."""
    found, records = [], played.tracked(armature)
    if not records:
        return found
    with standing.alone(armature) as (scene, layer):
        for clip in records:
            with actions.alone(armature, clip.action):
                times = times_of(clip)
                moved = standing.read_transforms(armature, scene, layer, names, times.tolist())
            found.append(Other(clip.action, times, moved))
    return found


def write(armature, others: list[Other], names: list[str], held=None) -> None:
    """Keys these bones, whose transforms the others have; held [b]: those that keep their keys."""
    options = Options.of(armature.ossify.settings)
    for other in others:
        fixed = None if held is None else np.repeat(held[None], len(other.times), axis=0)
        with actions.alone(armature, other.action):
            rewrite.write_keys(armature, other.action, other.transforms, other.times, names, options, fixed)


def complete(armature, bones: list[str]) -> int:
    """Every action of the rig gets the channels that any of them has; how many keys that took."""
    found = played.all_actions(armature)
    return actions.complete(armature, found, bones) if len(found) > 1 else 0


def clear(armature, bones: list[str]) -> None:
    """Removes the keys of bones that are gone from all actions of the rig."""
    for action in played.all_actions(armature):
        keys.clear(armature, action, bones)
