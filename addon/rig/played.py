"""What a rig was made to play: its clips, each an action and its rows of the motion, one after the other.

Arrays of a rig over its frames, [f], have the frames of all its clips. A rig that was made for one motion has
one clip.
"""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np

from . import actions, keys, standing


@dataclasses.dataclass
class Played:
    """A clip; its action may be gone with an undo, so none is kept for longer than a step."""

    name: str
    action: object | None  # None: it is gone, or the rig never had one
    rows: slice
    times: np.ndarray  # [f] int32 frames of the scene
    alone: bool  # the rig has no other


def times_of(armature) -> np.ndarray:
    """[f] int32 frames of the scene; clips may share them"""
    frames = armature.ossify.frames
    times = np.empty(len(frames), np.int32)
    frames.foreach_get("frame", times)
    return times


def _numbers(armature) -> np.ndarray:
    """[f] the clip of each frame, as numbered in the record"""
    numbers = np.empty(len(armature.ossify.frames), np.int32)
    armature.ossify.frames.foreach_get("clip", numbers)
    return numbers


def of(armature) -> list[Played]:
    """The clips in the order of their rows."""
    record, times, numbers = armature.ossify, times_of(armature), _numbers(armature)
    found = []
    for number in np.unique(numbers).tolist():
        rows = np.flatnonzero(numbers == number)
        known = record.clips[number] if 0 <= number < len(record.clips) else None
        some = slice(int(rows[0]), int(rows[-1]) + 1)
        name, action = (known.name, known.action) if known else (armature.name, None)
        found.append(Played(name, action, some, times[some], False))
    if len(found) == 1:
        found[0].alone = True
        found[0].action = found[0].action or keys.action_of(armature)
    return found


def recorded(armature) -> list[tuple[object, np.ndarray]]:
    """The clips of its record that it was made to play, and the rows [n] of each."""
    record, numbers = armature.ossify, _numbers(armature)
    known = [number for number in np.unique(numbers).tolist() if 0 <= number < len(record.clips)]
    return [(record.clips[number], np.flatnonzero(numbers == number)) for number in known]


def labels(armature) -> list[str]:
    """[f] the frames in words; of several clips with the clip's name"""
    return [
        str(time) if clip.alone else f"{time} of {clip.name}" for clip in of(armature) for time in clip.times
    ]


def made(armature) -> list:
    """The actions of its clips."""
    return [clip.action for clip in of(armature) if clip.action is not None]


def tracked(armature) -> list:
    """The clips of its record that were tracked onto it later; those of other files, and those gone, not."""
    return [
        clip
        for clip in armature.ossify.clips
        if clip.tracked and clip.action is not None and not clip.action.library
    ]


def all_actions(armature) -> list:
    """Of its own clips and of those that were tracked onto it."""
    return list(dict.fromkeys([*made(armature), *(clip.action for clip in tracked(armature))]))


def _own(armature) -> list:
    """Actions that the artist made for the rig, as far as it knows of them: played, kept, or in the NLA."""
    data = armature.animation_data
    strips = [strip for track in data.nla_tracks for strip in track.strips] if data else []
    known = [*(clip.action for clip in armature.ossify.clips), *(strip.action for strip in strips)]
    ours = all_actions(armature)
    return [action for action in dict.fromkeys(known) if action is not None and action not in ours]


def left_alone(armature) -> list[str]:
    """Sentences on actions of the artist's own, which are never re-keyed."""
    return [
        f"{action.name} is an action of your own and was not re-keyed: look whether it still plays as it did."
        for action in _own(armature)
    ]


def tweaked(armature) -> str | None:
    """Why it cannot be given another action, in one sentence; None when it can."""
    data = armature.animation_data
    if data is not None and data.use_tweak_mode:
        return f"{armature.name} is in Tweak Mode of the NLA: leave it first."
    return None


def trouble(armature) -> str | None:
    """Why the clips cannot be played one after the other, in one sentence; None when they can."""
    clips = of(armature)
    gone = [clip.name for clip in clips if clip.action is None and not clip.alone]
    if gone:
        return f"The action of {armature.name}'s clip {gone[0]} is gone: undo that, or convert again."
    sentence = tweaked(armature)
    if sentence:
        return sentence
    now = keys.action_of(armature)
    ours = all_actions(armature)
    if now is not None and ours and now not in ours:
        return (
            f"{armature.name} plays {now.name}, an action of your own: play one of its clips, {ours[0].name}."
        )
    return None


@contextlib.contextmanager
def playing(armature, clip: Played):
    """The armature plays the clip for a while; of several by itself, whatever is in the NLA."""
    now = keys.action_of(armature)
    if clip.action is None or (clip.alone and now == clip.action):
        yield
        return
    with actions.alone(armature, clip.action):
        yield


def read_transforms(armature, names: list[str]) -> np.ndarray:
    """[f][b][4][4] rest to frame, as Blender evaluates them"""
    found = []
    with standing.alone(armature) as (scene, layer):
        for clip in of(armature):
            with playing(armature, clip):
                found.append(standing.read_transforms(armature, scene, layer, names, clip.times.tolist()))
    return np.concatenate(found)


def within(armature, first: int, last: int) -> np.ndarray:
    """[f] the frames from first to last; where clips share frames, those of the one that plays"""
    times, clips = times_of(armature), of(armature)
    chosen = (times >= first) & (times <= last)
    now = [clip for clip in clips if clip.action is not None and clip.action == keys.action_of(armature)]
    if now and actions.overlap([(int(clip.times[0]), int(clip.times[-1])) for clip in clips]):
        mine = np.zeros(len(times), bool)
        mine[now[0].rows] = True
        chosen &= mine
    return chosen
