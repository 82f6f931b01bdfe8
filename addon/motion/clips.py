"""Several clips for one rig: what they are, read one after the other into one motion.

MARKERS: the markers of the timeline divide the range; a clip begins at its marker and ends before the next.
TAKES: every selected mesh is a take of the first, with the same vertices. Each is seen from where its own
object starts, so that takes may stand side by side.

The solver gets all frames as one motion, and so finds one rig for all; every clip becomes an action.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Generator

import numpy as np

from ..base.handles import Handle, Place
from ..base.refusal import Refusal
from ..base.surface import diagonal
from ..options.options import Options
from . import jitter
from .capture import STILL, Clip, Motion, capture

OTHER_SIZE = 0.05  # of the size: a take that differs from the first, or from its rig, by more is worth a word


# ---- markers


def divide(markers: list[tuple[int, str]], times: list[int], otherwise: str) -> list[tuple[str, slice]]:
    """Markers (frame, name) and rising times -> names and rows; what comes before any marker is `otherwise`.

    Of several markers at one frame the last counts.
    """
    starts: dict[int, str] = {0: otherwise}
    for frame, name in sorted(markers, key=lambda marker: marker[0]):
        row = int(np.searchsorted(times, frame))
        if row < len(times):
            starts[row] = name
    rows = [*sorted(starts), len(times)]
    return [(starts[first], slice(first, last)) for first, last in itertools.pairwise(rows)]


def _at_markers(motion: Motion) -> None:
    scene, _ = motion.place.get()
    markers = [(marker.frame, marker.name) for marker in scene.timeline_markers]
    inside = [marker for marker in markers if marker[0] <= motion.times[-1]]
    if not inside:
        raise Refusal(
            f"The timeline has no markers up to frame {motion.times[-1]}: set one where each clip begins."
        )
    found = divide(markers, motion.times.tolist(), motion.parts[0].name)
    motion.clips = [Clip(name, rows, motion.parts[0].source) for name, rows in found]


# ---- takes


def _without_still_end(motion: Motion) -> Motion:
    """Shorter takes stand still at the end of a range that is for all."""
    frames, size = motion.frames, diagonal(motion.frames[0])
    count = len(frames)
    while count > 2 and np.abs(frames[count - 1] - frames[count - 2]).max() <= STILL * size:
        count -= 1
    return dataclasses.replace(motion, frames=frames[:count], times=motion.times[:count])


def _check_alike(first: Motion, take: Motion) -> None:
    name, other = take.parts[0].name, first.parts[0].name
    if take.frames.shape[1] != first.frames.shape[1]:
        raise Refusal(
            f"{name} has {take.frames.shape[1]} vertices and {other} {first.frames.shape[1]}:"
            " takes are the same mesh in other motions."
        )
    if not np.array_equal(take.triangles, first.triangles):
        raise Refusal(f"{name} joins its vertices otherwise than {other}: takes are the same mesh.")


def _size_notes(first: Motion, take: Motion) -> list[str]:
    ratio = diagonal(take.frames[0]) / diagonal(first.frames[0])
    if take is first or abs(ratio - 1) <= OTHER_SIZE:
        return []
    return [f"{take.parts[0].name} begins {ratio:.3g} times as large as {first.parts[0].name}."]


def joined(takes: list[Motion]) -> Motion:
    """One motion with the rest and the place of the first."""
    first, takes = takes[0], [_without_still_end(take) for take in takes]
    ends = np.cumsum([len(take.times) for take in takes]).tolist()
    clips = [
        Clip(take.parts[0].name, slice(end - len(take.times), end), take.parts[0].source)
        for take, end in zip(takes, ends, strict=True)
    ]
    return dataclasses.replace(
        first,
        frames=np.concatenate([take.frames for take in takes]),
        times=np.concatenate([take.times for take in takes]),
        notes=[note for take in takes for note in [*take.notes, *_size_notes(takes[0], take)]],
        clips=clips,
    )


def _read_takes(scene, view_layer, objects, options: Options) -> Generator[float, None, Motion]:
    if len(objects) < 2:
        raise Refusal(
            "There is one take: select two or more meshes with the same vertices, or choose one clip."
        )
    takes = yield from each_of(scene, view_layer, objects, options, _check_alike)
    return joined(takes)


def each_of(scene, view_layer, objects, options: Options, check) -> Generator[float, None, list[Motion]]:
    """The motion of each object by itself; check(first, other) refuses what does not belong to it."""
    takes, place, handles = [], Place.of(scene, view_layer), [Handle.of("objects", obj) for obj in objects]
    for number, handle in enumerate(handles):
        steps = capture(*place.get(), [handle.get()], options)
        try:
            while True:
                yield (number + next(steps)) / len(handles)
        except StopIteration as end:
            takes.append(end.value)
        finally:
            steps.close()
        check(takes[0], takes[-1])
    return takes


# ---- jitter


def steady(motion: Motion) -> None:
    """Every clip by itself: nothing is smoothed from one into the next."""
    size = diagonal(motion.frames[0])
    for clip in motion.clips or [Clip("", slice(0, len(motion.times)), motion.parts[0].source)]:
        found = jitter.steadied(motion.frames[clip.rows], size)
        motion.frames[clip.rows] = found.frames
        motion.notes.append(f"{clip.name}: {found.words}" if clip.name else found.words)


def read(scene, view_layer, objects, options: Options) -> Generator[float, None, Motion]:
    """Captures what the options ask for; yields how far it is, 0 to 1."""
    if options.clips == "TAKES":
        motion = yield from _read_takes(scene, view_layer, objects, options)
    else:
        motion = yield from capture(scene, view_layer, objects, options)
    if options.clips == "MARKERS":
        _at_markers(motion)
    if options.smooth_jitter:
        steady(motion)
    return motion
