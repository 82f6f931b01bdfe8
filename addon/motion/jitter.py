"""Motion without the jitter of frames that were made one by one: smoothed in time, as strongly as its noise
asks for.

Positions y(t) of a vertex become those x(t) that minimise |x - y|^2 + s |D x|^2, D the second differences in
time (Whittaker 1923): a straight, even motion is kept as it is. In the eigenvectors of D'D, with eigenvalues
m_k from slow to quick, that is a factor 1 / (1 + s m_k) for each.

What is noise? What vertices have each for themselves the rig leaves out, since a bone moves many of them;
what whole parts have in common it would follow. So the motion is looked at in the means of patches about as
large as what a bone moves. Jitter is everywhere and has all frequencies; the surface's own motion is slow, or
quick in a few places: the variance of the noise is what the calmest quarter of the patches has in the
quickest quarter of frequencies. But a quick body has its own motion there, too, which falls with frequency
where noise does not: S_k = c (r + (1 - r) (k / K)^-p). Where Whittle's likelihood (1953) of what these have,
3/2 sum_k log S_k + E_k / S_k, is far better with r < 1, noise is no more than r of it, and no more than what
the lowest third of those frequencies has. Given it, s minimises Stein's unbiased estimate (1981) of the error
to the motion without noise, summed over all patches: sum_k (1 - g_k)^2 E_k + 2 noise sum_k g_k, E_k the power
of the motion at k. A motion without jitter has next to no such variance, and s is next to nothing.

Frames that do not follow each other, poses, would look like noise as large as the body: those are left alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FEWEST = 12  # frames in which noise can be told from motion
_PATCHES = 64  # that the surface is looked at in
_CALM = 0.25  # share of the patches that are looked at for noise
_QUICK = 4  # the last of so many parts of the frequencies
_BEGINNING = 1 / 3  # of the frequencies whose fall is looked at
_FALLS = 1, 2, 4, 8, 16, 32  # p
_FLOORS = np.linspace(0, 1, 21)  # r
_FAR_LIKELIER = 6.0  # log-likelihoods: falling is so much likelier than level
_NO_TIME = 0.05  # of the size: noise that is larger is no noise
_NO_JITTER = 1e-6  # of the size: less is not worth a word
_AT_ONCE = 1 << 24  # numbers that are in work at a time
_STRENGTHS = np.concatenate([[0.0], np.logspace(-3, 9, 241)])


class Steadied(NamedTuple):
    frames: np.ndarray  # [f][v][3] float32
    words: str  # for the artist
    noise: float  # as a share of the size, RMS of a patch; 0: none was found


def _blocks(frames: np.ndarray):
    """Slices of vertices that fit into memory."""
    step = max(1, _AT_ONCE // (3 * len(frames)))
    for first in range(0, frames.shape[1], step):
        yield slice(first, first + step)


def _modes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """m [f] and the vectors [f][k] of D'D, the slowest first."""
    differences = np.diff(np.eye(count), 2, axis=0)
    values, vectors = np.linalg.eigh(differences.T @ differences)
    values[:2] = 0.0  # exactly: standing still, and moving evenly
    return values, vectors


def _patches(points: np.ndarray) -> np.ndarray:
    """[v] the patch of each vertex: the nearest of points that lie as far from each other as can be."""
    patch, nearest = np.zeros(len(points), np.int64), np.full(len(points), np.inf)
    seed = 0
    for number in range(min(_PATCHES, len(points))):
        distance = ((points - points[seed]) ** 2).sum(axis=1)
        patch[distance < nearest] = number
        nearest = np.minimum(nearest, distance)
        seed = int(nearest.argmax())
    return np.unique(patch, return_inverse=True)[1].ravel()


def _powers(frames: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E [k], what patches have of each frequency in the mean, and [k][p] what each has."""
    count = len(frames)
    patch = _patches(frames[count // 2].astype(np.float64))
    sizes = np.bincount(patch)
    means = np.empty((count, len(sizes), 3))
    for frame, out in zip(frames, means, strict=True):
        out[:] = np.stack([np.bincount(patch, frame[:, axis]) for axis in range(3)], 1) / sizes[:, None]
    own = ((vectors.T @ means.reshape(count, -1)) ** 2).reshape(count, -1, 3).mean(axis=2)
    return own @ sizes / sizes.sum(), own


def _unlikely(power: np.ndarray, shape: np.ndarray) -> float:
    """Whittle's, negative, with the best c."""
    return 1.5 * (np.log(shape).sum() + len(power) * np.log((power / shape).mean()))


def _floor(power: np.ndarray, quick: int) -> float:
    """r of the last [k] quick ones; 1 if they are level, or as likely as not"""
    first = int(_BEGINNING * len(power))
    pace, seen = np.arange(first, len(power)) / len(power), power[first:]
    falls = [pace**-fall for fall in map(float, _FALLS)]
    shapes = [(r, r + (1 - r) * fall / fall[-quick:].mean()) for fall in falls for r in _FLOORS]
    least, floor = min((_unlikely(seen, shape), r) for r, shape in shapes)
    return floor if _unlikely(seen, np.ones(len(seen))) - least > _FAR_LIKELIER else 1.0


def _noise(own: np.ndarray) -> float:
    """The variance of what is everywhere and has all frequencies."""
    quick = max(4, len(own) // _QUICK)
    loud = own[-quick:].mean(axis=0)
    level = float(np.quantile(loud, _CALM))
    calm = own[:, loud <= level].mean(axis=1)
    if not level > 0:
        return 0.0
    floor = _floor(calm, quick)
    if floor == 1:
        return level
    thirds = [float(np.quantile(part.mean(axis=0), _CALM)) for part in np.array_split(own[-quick:], 3)]
    return min(floor * level, *thirds)


def _strength(values: np.ndarray, power: np.ndarray, noise: float) -> np.ndarray:
    """g [k] of the s with the least estimated error."""
    kept = 1 / (1 + _STRENGTHS[:, None] * values)
    risk = (1 - kept) ** 2 @ power + 2 * noise * kept.sum(axis=1)
    return kept[risk.argmin()]


def steadied(frames: np.ndarray, size: float) -> Steadied:
    """frames [f][v][3]; size: what a share is of"""
    count = len(frames)
    if count < _FEWEST:
        return Steadied(
            frames, f"{count} frames are too few to tell jitter from motion: none was smoothed.", 0
        )
    values, vectors = _modes(count)
    power, own = _powers(frames, vectors)
    noise = _noise(own)
    share = np.sqrt(3 * noise) / size
    if share > _NO_TIME:
        return Steadied(frames, "The frames do not follow each other in time: no jitter was smoothed.", 0)
    kept = _strength(values, power, noise)
    taken = np.sqrt(3 * ((1 - kept) ** 2 @ power) / count) / size
    if taken <= _NO_JITTER:
        return Steadied(frames, "There is no jitter to smooth.", 0)
    smooth, out = (vectors * kept) @ vectors.T, np.empty_like(frames, np.float32)  # U g U'
    for block in _blocks(frames):
        columns = frames[:, block].reshape(count, -1).astype(np.float64)
        out[:, block] = (smooth @ columns).reshape(count, -1, 3)
    words = f"Jitter of about {100 * share:.2g} % of the size was found"
    words += f": the motion was smoothed in time by {100 * taken:.2g} %."
    return Steadied(out, words, float(share))
