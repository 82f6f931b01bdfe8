"""The squared error of each vertex over all frames, as a function of its weights.

With M[b,f] the 3x4 transforms, p~ = (p, 1) a vertex at rest and x[f] where it was seen, weights w of sum 1
leave

    e(w) = sum_f |sum_b w_b M[b,f] p~ - x[f]|^2 = w' Q w,
    Q[b,c] = p~'G[b,c]p~ - h[b] - h[c] + sum_f |x[f]|^2

with G[b,c] = sum_f M[b,f]'M[c,f] shared by all vertices and h[b] = p~' sum_f M[b,f]' x[f]: after two matrix
products no frame is looked at again. All is taken from the middle of each frame, so that little cancels.

NumPy in, NumPy out; no Blender. Bones of a vertex are a row of their numbers, -1 unused.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

_BLOCK = 4096  # vertices at a time
_NEAR = 1e-3  # of a form's mean: how strongly weights that the motion leaves open stay where they are
_FLAT = 1e-12  # of a form's mean, added to its diagonal
_FEW = 20  # choices of bones that can all be tried
_STEP = 1e-9  # of the error: what is gained less is nothing


class Quadrics:
    """transforms [f][b][3 or 4][4], rest [v][3], frames [f][v][3]"""

    def __init__(self, transforms: np.ndarray, rest: np.ndarray, frames: np.ndarray):
        middle = rest.mean(axis=0, dtype=np.float64)
        middles = frames.mean(axis=1, dtype=np.float64)
        moved = transforms[:, :, :3].astype(np.float64)
        moved[..., 3] += moved[..., :3] @ middle - middles[:, None]
        count, bones = moved.shape[:2]
        flat = moved.transpose(1, 3, 0, 2).reshape(4 * bones, 3 * count)  # a row for each column of a bone
        self.count = count
        self.points = np.concatenate([rest - middle, np.ones((len(rest), 1))], axis=1)
        self._pairs = (flat @ flat.T).reshape(bones, 4, bones, 4).transpose(0, 2, 1, 3)
        self._sides, self._squares = np.empty((len(rest), bones)), np.empty(len(rest))
        for first in range(0, len(rest), _BLOCK):
            rows = slice(first, first + _BLOCK)
            seen = (frames[:, rows].astype(np.float64) - middles[:, None]).transpose(1, 0, 2)
            seen = seen.reshape(len(seen), -1)
            sides = (seen @ flat.T).reshape(-1, bones, 4)
            self._sides[rows] = np.einsum("vbi,vi->vb", sides, self.points[rows])
            self._squares[rows] = (seen**2).sum(axis=1)

    def forms(self, rows: np.ndarray, bones: np.ndarray) -> np.ndarray:
        """Q [r][k][k] of vertices `rows` for their bones [r][k]; 0 where there is none"""
        used, safe = bones >= 0, np.maximum(bones, 0)
        points = self.points[rows]
        result = np.empty((*bones.shape, bones.shape[1]))
        sides = np.take_along_axis(self._sides[rows], safe, axis=1)
        for k in range(bones.shape[1]):
            pairs = self._pairs[safe[:, k, None], safe]
            result[:, k] = np.einsum("rkij,ri,rj->rk", pairs, points, points, optimize=True)
        result += self._squares[rows][:, None, None] - sides[:, :, None] - sides[:, None, :]
        return result * (used[:, :, None] & used[:, None, :])

    def squared(self, bones: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """[v] the summed squared distance of every vertex, for weights [v][k]"""
        result = np.empty(len(bones))
        for first in range(0, len(bones), _BLOCK):
            rows = np.arange(first, min(first + _BLOCK, len(bones)))
            result[rows] = energy(self.forms(rows, bones[rows]), weights[rows])
        return np.maximum(result, 0)

    def rms(self, bones: np.ndarray, weights: np.ndarray) -> float:
        """Root mean square distance over vertices and frames."""
        return float(np.sqrt(self.squared(bones, weights).mean() / self.count))


def energy(forms: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[r] w'Qw"""
    return np.einsum("ri,rij,rj->r", weights, forms, weights, optimize=True)


def widest(dense: np.ndarray, most: int | None = None) -> np.ndarray:
    """[v][k] the bones of each vertex, the strongest first, at most so many"""
    count = max(int((dense > 0).sum(axis=1).max(initial=0)), 1)
    count = count if most is None else min(count, most)
    bones = np.argsort(-dense, axis=1, kind="stable")[:, :count]
    return np.where(np.take_along_axis(dense, bones, axis=1) > 0, bones, -1)


def at(dense: np.ndarray, bones: np.ndarray) -> np.ndarray:
    """[v][k] the weights of these bones"""
    return np.where(bones >= 0, np.take_along_axis(dense, np.maximum(bones, 0), axis=1), 0.0)


def spread(bones: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """[v][b] the reverse of at()"""
    dense = np.zeros((len(bones), count))
    rows = np.repeat(np.arange(len(bones)), bones.shape[1]).reshape(bones.shape)
    used = bones >= 0
    dense[rows[used], bones[used]] = weights[used]
    return dense


# ---- the lowest error on a simplex


def _lean(forms: np.ndarray, free: np.ndarray, toward: np.ndarray) -> np.ndarray:
    """The forms with a small |w - toward|^2 in them: what the motion leaves open stays where it is.

    For weights of sum 1, |w - t|^2 = w'(I - t1' - 1t' + |t|^2 11')w.
    """
    size = np.einsum("rii->r", forms) / np.maximum(free.sum(axis=1), 1)
    near = np.eye(forms.shape[1]) - toward[:, :, None] - toward[:, None, :]
    near = near + (toward**2).sum(axis=1)[:, None, None]
    return forms + (_NEAR * size)[:, None, None] * near


def _solved(forms: np.ndarray, free: np.ndarray) -> np.ndarray:
    """[r][k] the lowest point of w'Qw with sum 1 on the free weights, whatever their signs"""
    size = np.einsum("rii->r", forms) / forms.shape[1] + np.finfo(float).tiny
    both = free[:, :, None] & free[:, None, :]
    system = np.where(both, forms, 0) + _FLAT * size[:, None, None] * np.eye(forms.shape[1])
    system = system + np.where(free, 0, size[:, None])[:, :, None] * np.eye(forms.shape[1])
    found = np.linalg.solve(system, free.astype(float)[:, :, None])[..., 0] * free
    total = found.sum(axis=1, keepdims=True)
    return found / np.where(np.abs(total) > 0, total, 1)


def lowest(forms: np.ndarray, support: np.ndarray, start: np.ndarray) -> np.ndarray:
    """[r][k] argmin w'Qw, w >= 0, sum 1, w = 0 outside the support [r][k]; from weights `start` within it.

    An active set: to the lowest point of the free weights, or as far as the first of them allows, which is
    then no longer free; where that point is reached, the weight is freed that lowers the error most.
    """
    forms = _lean(forms, support, start)
    weights, free = start.copy(), support & (start > 0)
    open_rows = np.arange(len(forms))
    for _ in range(4 * forms.shape[1] + 4):
        if not len(open_rows):
            break
        w, f, q = weights[open_rows], free[open_rows], forms[open_rows]
        goal = _solved(q, f)
        falling = f & (goal < 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(falling, w / (w - goal), np.inf)
        stopped = falling.any(axis=1)
        share = np.where(stopped, reach.min(axis=1), 1.0)
        w = np.where(f, np.maximum(w + share[:, None] * (goal - w), 0), 0)
        w /= w.sum(axis=1, keepdims=True)
        f = f & ~(falling & (reach <= share[:, None]))
        w = np.where(f, w, 0)
        w /= w.sum(axis=1, keepdims=True)
        gradient = np.einsum("rij,rj->ri", q, w)
        level = np.einsum("ri,ri->r", gradient, w)
        gain = np.where(support[open_rows] & ~f, level[:, None] - gradient, -np.inf)
        best = gain.argmax(axis=1)
        more = ~stopped & (gain.max(axis=1) > _STEP * np.abs(level))
        f[np.flatnonzero(more), best[more]] = True
        weights[open_rows], free[open_rows] = w, f
        open_rows = open_rows[stopped | more]
    return weights


def beside(forms: np.ndarray, locked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forms for what is left beside locked weights [r][k], as shares of sum 1, and how much that is [r]

    With s left, w = locked + s u: e = (locked + s u)'Q(locked + s u), and 1'u = 1 makes it a form of u alone.
    """
    left = np.maximum(1 - locked.sum(axis=1), 0)
    pull = np.einsum("rij,rj->ri", forms, locked)
    fixed = np.einsum("ri,ri->r", pull, locked)
    scaled = left[:, None] * pull
    result = (left**2)[:, None, None] * forms + scaled[:, :, None] + scaled[:, None, :]
    return result + fixed[:, None, None], left


# ---- fewer influences


def _shares(weights: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Weights on the support alone, of sum 1; even where there were none."""
    kept = np.where(support, weights, 0)
    kept = np.where(kept.sum(axis=1, keepdims=True) > 0, kept, support)
    return kept / np.maximum(kept.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _tried(forms, rows, support, weights) -> tuple[np.ndarray, np.ndarray]:
    """Weights solved anew on a support [r][k], and what they leave."""
    found = lowest(forms[rows], support, _shares(weights[rows], support))
    return found, energy(forms[rows], found)


def _eliminate(forms, support, weights, most) -> None:
    """In place: of each row the bone goes whose loss costs least, until there are no more than `most` [r]."""
    many = np.flatnonzero(support.sum(axis=1) > most)
    while len(many):
        costs = np.full((len(many), forms.shape[1]), np.inf)
        for k in range(forms.shape[1]):
            rows = np.flatnonzero(support[many, k])
            without = support[many[rows]]
            without[:, k] = False
            costs[rows, k] = _tried(forms, many[rows], without, weights)[1]
        support[many, costs.argmin(axis=1)] = False
        weights[many] = _tried(forms, many, support[many], weights)[0]
        many = many[support[many].sum(axis=1) > most[many]]


def _take_better(forms, rows, tried, error, support, weights) -> None:
    """In place: the supports [r][k] tried in these rows, wherever they lower the error."""
    found, left = _tried(forms, rows, tried, weights)
    better = left < error[rows] * (1 - _STEP)
    support[rows[better]], weights[rows[better]] = tried[better], found[better]
    error[rows[better]] = left[better]


def _exchange(forms, allowed, support, weights) -> None:
    """In place: a bone that went comes back for one that stayed, wherever that lowers the error."""
    error = energy(forms, weights)
    for out in range(forms.shape[1]):
        for back in range(forms.shape[1]):
            rows = np.flatnonzero(support[:, out] & ~support[:, back] & allowed[:, back])
            swapped = support[rows]
            swapped[:, out], swapped[:, back] = False, True
            _take_better(forms, rows, swapped, error, support, weights)


def _try_all(forms, allowed, support, weights, most) -> None:
    """In place: of all choices of `most` [r] bones the one that leaves the least."""
    error = energy(forms, weights)
    for count in np.unique(most):
        for chosen in itertools.combinations(range(forms.shape[1]), count):
            rows = np.flatnonzero((most == count) & allowed[:, chosen].all(axis=1))
            tried = np.zeros((len(rows), forms.shape[1]), bool)
            tried[:, chosen] = True
            _take_better(forms, rows, tried, error, support, weights)


def drop(forms: np.ndarray, support: np.ndarray, weights: np.ndarray, most: np.ndarray) -> np.ndarray:
    """[r][k] weights with at most `most` [r] influences of the support: those that leave the least error.

    One after the other goes whose loss costs least, and what is left is solved again; then, where there are
    few choices, all of them are tried, and else those that went in the place of those that stayed.
    """
    kept = support.copy()
    weights = lowest(forms, kept, _shares(weights, kept))
    _eliminate(forms, kept, weights, most)
    if max((math.comb(forms.shape[1], count) for count in np.unique(most)), default=0) <= _FEW:
        _try_all(forms, support, kept, weights, most)
    else:
        _exchange(forms, support, kept, weights)
    return weights
