"""Keys written again for bones that were made again.

Where the action still has keys of a bone, those are its own: Blender leaves them when a bone is deleted. Else
its channels of then are written, with keys in as few frames as say the same: those between which all channels
go straight, which are the ones it had, or are curves, as those of the rig are.
"""

from __future__ import annotations

import numpy as np

from ..record.memory import Snapshot
from ..rig import bezier, channels, keys, other_clips, played

_ON_LINE, _ON_CURVE = 5e-7, 2e-6  # of a channel's unit
_NO_PULL = 1e-12  # slopes are what the values say


def _turns(q: np.ndarray) -> np.ndarray:
    """Quaternions [f][4] without flips, of the sign that most have: what is noted as keyed by the artist has
    the other one."""
    signs = np.ones(len(q))
    for row in range(1, len(q)):
        signs[row] = signs[row - 1] * (-1 if q[row] @ q[row - 1] < 0 else 1)
    return q * (signs * (1 if signs.sum() >= 0 else -1))[:, None]


def _needed(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[n] the frames between which values [f][n] go straight"""
    kept, spans = {0, len(times) - 1}, [(0, len(times) - 1)]
    while spans:
        first, last = spans.pop()
        share = ((times[first : last + 1] - times[first]) / max(times[last] - times[first], 1))[:, None]
        gap = values[first : last + 1] - (values[first] + share * (values[last] - values[first]))
        off = np.abs(gap).max(axis=1)
        worst = first + int(off.argmax())
        if off.max() > _ON_LINE and first < worst < last:
            kept.add(worst)
            spans += [(first, worst), (worst, last)]
    return np.array(sorted(kept))


def _curves(values: np.ndarray, times: np.ndarray, unit: np.ndarray) -> channels.Track:
    """Keys with slopes by channels [f][10]."""

    def off(found):
        return np.abs((found[:, 0] - values) / unit).max(axis=1)[:, None]

    nothing = np.zeros((len(times), 1), bool)
    keyed, points, slopes, _ = bezier.reduce(
        values[:, None], times.astype(np.float64), nothing, off, _ON_CURVE, _NO_PULL
    )
    rows = np.flatnonzero(keyed[:, 0])
    point, slope = points[rows, 0], slopes[rows, 0]
    parts = (slice(0, 3), slice(3, 7), slice(7, 10))
    rising = channels.Channels(*(slope[:, part] for part in parts))
    return channels.Track(rows, *(point[:, part] for part in parts), None, rising)


def _track(values: np.ndarray, times: np.ndarray, size: float, every: bool, curved: bool) -> channels.Track:
    """The keys of a bone by its channels [f][10]."""
    values = np.concatenate([values[:, :3], _turns(values[:, 3:7]), values[:, 7:]], axis=1)
    unit = np.array([size] * 3 + [1] * 7)
    if curved and not every and len(times) > 2:
        return _curves(values, times, unit)
    rows = np.arange(len(times)) if every else _needed(times, values / unit)
    return channels.Track(rows, values[rows, :3], values[rows, 3:7], values[rows, 7:], None)


def write(armature, then: Snapshot, made: dict[int, str]) -> None:
    """For bones that were made again, by number and name; into the actions that the rig was made to play."""
    settings, size = armature.ossify.settings, armature.ossify.size or 1.0
    for clip in played.of(armature):
        if clip.action is None or clip.rows.stop > len(then.channels):
            continue
        paths = {curve.data_path for curve in keys.curves_of(armature, clip.action)}
        bare = {
            n: name for n, name in made.items() if not any(p.startswith(keys.path_of(name)) for p in paths)
        }
        with played.playing(armature, clip):
            writer = keys.Writer(armature, clip.action, clip.times, size) if bare else None
            for number, name in bare.items():
                values = then.channels[clip.rows, then.bones.index(number)].astype(np.float64)
                every, curved = settings.keys == "EVERY", settings.key_shape == "BEZIER"
                writer.track(name, _track(values, clip.times, size, every, curved))
    other_clips.complete(armature, list(made.values()))
