"""The shapes of a family: what bodies differ by, in a few directions, and how joints go along.

    x_s = x_0 + sum_k (c_sk - c_0k) key_k          joint_s = joint_0 + sum_k (c_sk - c_0k) move_k

Keys are the principal components of the bodies x_s, scaled so that c_sk has a variance of 1: a slider counts
standard deviations from the first body, which stays what it is at 0. Joints are linear in the same numbers,
by least squares: since the c_k are orthogonal and of mean 0, move_k = 1/S sum_s c_sk joint_s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.surface import diagonal

_NO_SHAPE = 1e-6  # of the size, root mean square: shapes that vary less are rounding
_NAMED_BY = 0.8  # correlation of a slider with a measure of the bodies that it is named after
_ELSEWHERE = 0.5  # of the size: bodies whose middles are farther apart stand in other places


class Shapes(NamedTuple):
    names: list[str]
    keys: np.ndarray  # [k][v][3] what a slider at 1 does
    moves: np.ndarray  # [k][b][3] to the joints
    seen: np.ndarray  # [s][k] the sliders of the bodies; the first is all 0
    left: float  # what the sliders do not show of the bodies, root mean square, percent of the size


def in_one_place(rests: np.ndarray, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bodies that stand elsewhere are brought to the first; others stay where their feet are."""
    middles = rests.mean(axis=1)
    shift = middles[0] - middles
    far = np.linalg.norm(shift, axis=1) > _ELSEWHERE * diagonal(rests[0])
    shift[~far] = 0
    return rests + shift[:, None], joints + shift[:, None]


def _grow(key: np.ndarray, rest: np.ndarray) -> float:
    """Positive: the body becomes larger."""
    return float((key * (rest - rest.mean(axis=0))).sum())


def _measures(rests: np.ndarray) -> dict[str, np.ndarray]:
    """[s] of each body, by the name of a slider that follows it; the longest side is the height"""
    sides = np.ptp(rests, axis=1)
    order = np.argsort(-sides.mean(axis=0))
    girth = np.sqrt(sides[:, order[1]] * sides[:, order[2]]) / sides[:, order[0]]
    return {"Size": np.linalg.norm(sides, axis=1), "Length": sides[:, order[0]], "Girth": girth}


def _where(key: np.ndarray, dense: np.ndarray, bones: list[str]) -> str:
    """The bone whose vertices a key changes most, but for what it does to the whole."""
    apart = np.linalg.norm(key - key.mean(axis=0), axis=1)
    share = dense.sum(axis=0)
    means = np.where(share > 0, apart @ dense / np.where(share > 0, share, 1), 0)
    return bones[int(means.argmax())]


def _names(coefficients, rests, keys, dense, bones: list[str]) -> list[str]:
    """Numbered, and after what a slider does most."""
    found, free = [], _measures(rests)
    for k, key in enumerate(keys):
        fits = {
            name: abs(np.corrcoef(coefficients[:, k], values)[0, 1])
            for name, values in free.items()
            if np.ptp(values) > 0
        }
        best = max(fits, key=fits.get, default=None)
        if best is not None and fits[best] >= _NAMED_BY and len(rests) > 2:
            del free[best]
        else:
            best = _where(key, dense, bones)
        found.append(f"{k + 1} {best}")
    return found


def principal(rests, joints, count: int, dense, bones: list[str]) -> Shapes:
    """rests [s][v][3], the first one the body that has the rig, joints [s][b][3]; dense [v][n] of the bones
    that sliders may be named after"""
    rests, joints = in_one_place(np.asarray(rests, np.float64), np.asarray(joints, np.float64))
    bodies = len(rests)
    apart = (rests - rests.mean(axis=0)).reshape(bodies, -1)
    values, vectors = np.linalg.eigh(apart @ apart.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    least = _NO_SHAPE * diagonal(rests[0])
    rank = int((values > bodies * rests.shape[1] * least**2).sum())
    some = min(count, rank, bodies - 1)
    coefficients = vectors[:, :some] * np.sqrt(bodies)
    keys = (coefficients.T @ apart / bodies).reshape(some, *rests.shape[1:])
    signs = np.array([1.0 if _grow(key, rests[0]) >= 0 else -1.0 for key in keys])
    coefficients, keys = coefficients * signs, keys * signs[:, None, None]
    moves = np.einsum("sk,sbx->kbx", coefficients, joints - joints.mean(axis=0)) / bodies
    left = apart - coefficients @ keys.reshape(some, apart.shape[1])
    error = 100 * np.sqrt(3 * (left**2).mean()) / diagonal(rests[0])
    names = _names(coefficients, rests, keys, dense, bones)
    return Shapes(names, keys, moves, coefficients - coefficients[0], float(error))


class Found(NamedTuple):
    sliders: np.ndarray  # [k]
    percent: float  # how far the body is from what they show, root mean square, of the size


def find(rest: np.ndarray, base: np.ndarray, keys: np.ndarray) -> Found:
    """Where a body [v][3] lies among keys [k][v][3] of a base [v][3]."""
    (_, rest), _ = in_one_place(np.stack([base, rest]), np.zeros((2, 1, 3)))
    flat, wanted = keys.reshape(len(keys), -1), (rest - base).ravel()
    sliders = np.linalg.lstsq(flat.T, wanted, rcond=None)[0]
    left = wanted - sliders @ flat
    return Found(sliders, float(100 * np.sqrt(3 * (left**2).mean()) / diagonal(base)))
