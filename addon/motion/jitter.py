"""Motion without the jitter of frames that were made one by one: smoothed in time, as strongly as its noise
asks for.

Positions y(t) of a vertex become those x(t) that minimise |x - y|^2 + s |D x|^2, D the second differences in
time (Whittaker 1923): a straight, even motion is kept as it is. In the eigenvectors of D'D, with eigenvalues
m_k from slow to quick, that is a factor 1 / (1 + s m_k) for each.

What is noise? What vertices have each for themselves the rig leaves out, since a bone moves many of them;
what whole parts have in common it would follow. So the motion is looked at in the means of patches about as
large as what a bone moves. Jitter is everywhere and has all frequencies; the surface's own motion is slow, or
quick in a few places: the variance of the noise is what the calmest quarter of the patches has in the
quickest quarter of frequencies. Given it, s minimises Stein's unbiased estimate (1981) of the error to the
motion without noise, summed over all patches: sum_k (1 - g_k)^2 E_k + 2 noise sum_k g_k, E_k the power of the
motion at k. A motion without jitter has next to no such variance, and s is next to nothing.

Frames that do not follow each other, poses, would look like noise as large as the body: those are left alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FEWEST = 8  # frames in which noise can be told from motion
_PATCHES = 64  # that the surface is looked at in
_CALM = 0.25  # share of the patches that are looked at for noise
_QUICK = 4  # the last of so many parts of the frequencies
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
    """E [k], what patches have of each frequency in the mean, and [p] what each has of the quick ones."""
    count, quick = len(frames), max(4, len(frames) // _QUICK)
    patch = _patches(frames[count // 2].astype(np.float64))
    sizes = np.bincount(patch)
    means = np.empty((count, len(sizes), 3))
    for frame, out in zip(frames, means, strict=True):
        out[:] = np.stack([np.bincount(patch, frame[:, axis]) for axis in range(3)], 1) / sizes[:, None]
    own = ((vectors.T @ means.reshape(count, -1)) ** 2).reshape(count, -1, 3).mean(axis=2)
    return own @ sizes / sizes.sum(), own[-quick:].mean(axis=0)


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
    power, quick = _powers(frames, vectors)
    noise = float(np.quantile(quick, _CALM))
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
