"""Curves through few keys: cubic Hermite splines by least squares, which are Blender's Bezier curves.

Keys of a bone stand at shared times t_p. In a span of length h, with s = (t - t_p) / h,

    y(t) = (1 + 2s)(1 - s)^2 y_p + s (1 - s)^2 h m_p + s^2 (3 - 2s) y_q + s^2 (s - 1) h m_q.

Values y and slopes m of all channels are those of the least squares over the frames; the normal equations
are block tridiagonal, and are solved for all bones at once. A slope that hardly any frame asks for is held
near the central difference. With handles at a third of the spans, Blender's curve is the same cubic.

Keys come where a span is off by more than the tolerance, one at its worst frame, until none is; then those
leave without which the two spans beside them, as one, would do, and what that spoils is keyed again. Slopes
leave no kinks: one a key, for both sides.
"""

from __future__ import annotations

import dataclasses

import numpy as np

_SLOPE_PULL = 1e-3  # of a slope to the central difference, against 1 for a frame's value
_REMOVALS = 3  # rounds in which keys leave
_HOPEFUL = 1.6  # of the tolerance: with the ends of both spans as they are; solved anew, they often do


@dataclasses.dataclass
class Spans:
    """Where every frame lies, [f][b]."""

    before: np.ndarray  # rows of keys
    after: np.ndarray
    length: np.ndarray  # in time
    basis: np.ndarray  # [f][b][4] factors of y_p, m_p, y_q, m_q


def basis_of(share: np.ndarray, length: np.ndarray) -> np.ndarray:
    """[...][4]"""
    s, rest = share, 1 - share
    return np.stack(
        [(1 + 2 * s) * rest**2, s * rest**2 * length, s**2 * (3 - 2 * s), s**2 * (s - 1) * length], -1
    )


def spans_of(keyed: np.ndarray, times: np.ndarray) -> Spans:
    """keyed [f][b], the first and the last row among them"""
    frames, rows = len(keyed), np.arange(len(keyed))[:, None]
    before = np.maximum.accumulate(np.where(keyed, rows, 0), axis=0)
    later = np.minimum.accumulate(np.where(keyed, rows, frames)[::-1], axis=0)[::-1]
    after = np.concatenate([later[1:], later[-1:]])
    before[-1], after[-1] = before[-2], frames - 1  # the last frame ends the last span
    length = times[after] - times[before]
    return Spans(before, after, length, basis_of((times[:, None] - times[before]) / length, length))


def _differences(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """[f][b][c] slopes from the frames beside each"""
    step = np.gradient(times)[:, None, None]
    inner = (values[2:] - values[:-2]) / 2
    ends = values[1:2] - values[:1], values[-1:] - values[-2:-1]
    return np.concatenate([ends[0], inner, ends[1]]) / step


def _solve(diagonal: np.ndarray, beside: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Block tridiagonal systems: [n][b][2][2], [n - 1][b][2][2] above the diagonal, [n][b][2][c]"""
    count = len(diagonal)
    factors = np.empty_like(beside)
    inverse = _inverse(diagonal[0])
    solved = right.copy()
    for k in range(1, count):
        factors[k - 1] = inverse @ beside[k - 1]
        below = beside[k - 1].swapaxes(-1, -2)
        solved[k - 1] = inverse @ solved[k - 1]
        solved[k] -= below @ solved[k - 1]
        inverse = _inverse(diagonal[k] - below @ factors[k - 1])
    solved[-1] = inverse @ solved[-1]
    for k in range(count - 2, -1, -1):
        solved[k] -= factors[k] @ solved[k + 1]
    return solved


def _inverse(matrices: np.ndarray) -> np.ndarray:
    """[b][2][2]"""
    a, b, c, d = (matrices[:, i, j] for i in (0, 1) for j in (0, 1))
    return np.stack([d, -b, -c, a], -1).reshape(-1, 2, 2) / (a * d - b * c)[:, None, None]


def fit(
    values: np.ndarray, times: np.ndarray, keyed: np.ndarray, pull: float = _SLOPE_PULL
) -> tuple[np.ndarray, np.ndarray, Spans]:
    """values [f][b][c] -> values and slopes, of which those of keyed rows count, and the spans"""
    spans, bones = spans_of(keyed, times), values.shape[1]
    number = np.cumsum(keyed, axis=0) - 1  # of a key
    count, owner = int(number.max()) + 1, np.broadcast_to(np.arange(bones), keyed.shape)
    first = np.take_along_axis(number, spans.before, axis=0)
    pulls = pull * np.gradient(times) ** 2
    outer = spans.basis[..., :, None] * spans.basis[..., None, :]
    moments = spans.basis[..., :, None] * values[..., None, :]
    diagonal, beside = np.zeros((count, bones, 2, 2)), np.zeros((count - 1, bones, 2, 2))
    right = np.zeros((count, bones, 2, values.shape[2]))
    np.add.at(diagonal, (first, owner), outer[..., :2, :2])
    np.add.at(diagonal, (first + 1, owner), outer[..., 2:, 2:])
    np.add.at(beside, (first, owner), outer[..., :2, 2:])
    np.add.at(right, (first, owner), moments[..., :2, :])
    np.add.at(right, (first + 1, owner), moments[..., 2:, :])
    rows, columns = np.nonzero(keyed)
    at = number[rows, columns], columns
    diagonal[(*at, 1, 1)] += pulls[rows]
    right[(*at, 1)] += pulls[rows, None] * _differences(values, times)[rows, columns]
    missing = np.arange(count)[:, None] > number[-1]  # keys that other bones have
    diagonal[missing] += np.eye(2)
    solved = _solve(diagonal, beside, right)
    points, slopes = np.zeros_like(values), np.zeros_like(values)
    points[rows, columns], slopes[rows, columns] = solved[(*at, 0)], solved[(*at, 1)]
    return points, slopes, spans


def between(points: np.ndarray, slopes: np.ndarray, spans: Spans) -> np.ndarray:
    """[f][b][c] the curve in every frame"""
    owner = np.arange(points.shape[1])
    parts = (
        points[spans.before, owner],
        slopes[spans.before, owner],
        points[spans.after, owner],
        slopes[spans.after, owner],
    )
    return sum(spans.basis[..., i, None] * part for i, part in enumerate(parts))


def _add_worst(keyed: np.ndarray, spans: Spans, error: np.ndarray, limit: float) -> bool:
    """Keys the worst frame of each span that is off by more than the limit; whether there was one."""
    frames, bones = keyed.shape
    free = np.where(keyed, -1.0, error)
    worst = np.full((frames, bones), -1.0)
    owner = np.broadcast_to(np.arange(bones), keyed.shape)
    np.maximum.at(worst, (spans.before, owner), free)
    bad = (free > limit) & (free == worst[spans.before, owner])
    # keyed frames can be off, too: curves pass near them alone
    off = np.full((frames, bones), -1.0)
    at_keys = np.where(keyed, error, -1.0)
    np.maximum.at(off, (spans.before, owner), at_keys)
    np.maximum.at(off, (spans.before[:-1], owner[1:]), at_keys[1:])  # of the span that ends there
    forced = (off[spans.before, owner] > limit) & (free == worst[spans.before, owner]) & ~keyed
    found = bad | forced
    keyed |= found
    return bool(found.any())


def _without(keyed: np.ndarray, points, slopes, times: np.ndarray, measure, limit: float) -> np.ndarray:
    """[f][b] keys that may leave, no two of them beside each other: what the two spans beside each would be
    off by as one, their ends as they are."""
    frames, bones = keyed.shape
    cost = np.full((frames, bones), np.inf)
    for odd in (0, 1):
        number = np.cumsum(keyed, axis=0) - 1
        trial = keyed & ~((number % 2 == odd) & (np.arange(frames)[:, None] > 0))
        trial[0] = trial[-1] = True
        tried = spans_of(trial, times)
        error = measure(between(points, slopes, tried))
        worst = np.zeros((frames, bones))
        owner = np.broadcast_to(np.arange(bones), keyed.shape)
        np.maximum.at(worst, (tried.before, owner), error)
        gone = keyed & ~trial
        cost[gone] = worst[tried.before, owner][gone]
    rows = np.arange(frames)
    left, right = np.full_like(cost, np.inf), np.full_like(cost, np.inf)
    for b in range(bones):
        at = rows[keyed[:, b]]
        left[at[1:], b], right[at[:-1], b] = cost[at[:-1], b], cost[at[1:], b]
    return (cost <= limit) & (cost < left) & (cost <= right)


def reduce(
    values, times: np.ndarray, keyed: np.ndarray, measure, tolerance: float, pull: float = _SLOPE_PULL
):
    """Which frames are keyed, [f][b], and the values and slopes there; `keyed` are among them, if any.

    values [f][b][c]; measure: a function of values like these -> [f][b] how far they are off
    """
    demanded = keyed.copy()
    demanded[0] = demanded[-1] = True
    keyed = demanded.copy()

    def settle():
        while True:
            points, slopes, spans = fit(values, times, keyed, pull)
            if not _add_worst(keyed, spans, measure(between(points, slopes, spans)), tolerance):
                return points, slopes, spans

    points, slopes, spans = settle()
    for _ in range(_REMOVALS):
        gone = _without(keyed, points, slopes, times, measure, _HOPEFUL * tolerance) & ~demanded
        if not gone.any():
            break
        before = int(keyed.sum())
        kept = keyed.copy()
        keyed &= ~gone
        tried = settle()
        worse = keyed.sum(axis=0) > kept.sum(axis=0)
        if worse.any():
            keyed[:, worse] = kept[:, worse]
            tried = fit(values, times, keyed, pull)
        points, slopes, spans = tried
        if keyed.sum() >= before:
            break
    return keyed, points, slopes, spans
