"""Weights smoothed over the surface as far as the motion allows.

In a round each vertex goes from its weights w toward the mean m of its neighbours', by the share s that
lowers

    |w + s (m - w) - m|^2 + price * e(w + s (m - w)),    0 <= s <= 1,

e the vertex's squared error (quadrics.py): a parabola in s. Where weights hardly matter to the motion, which
is where noise gathers, they are smoothed wholly, and where they do matter hardly at all. The price is the
lowest that keeps the whole error within the budget. NumPy in, NumPy out; no Blender.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from .quadrics import Quadrics, at, energy, spread, widest

_NEW_LEAST = 1e-3  # a weight below it that was not there before is not worth an influence
_HALVINGS = 10
_PRICES = 1e5  # the highest over one at which both terms weigh the same
_BUDGET_MARGIN = 1e-3  # of the budget, left to rounding


class Ring:
    """The neighbours of each vertex along the edges of triangles [t][3]."""

    def __init__(self, triangles: np.ndarray, count: int):
        ends = np.concatenate([triangles[:, pair] for pair in ([0, 1], [1, 2], [2, 0])])
        ends = ends[ends[:, 0] != ends[:, 1]]
        ends = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
        self._to = ends[:, 1]
        self._members, self._starts = np.unique(ends[:, 0], return_index=True)
        self._counts = np.diff(np.append(self._starts, len(ends)))
        self._count = count

    def mean(self, values: np.ndarray) -> np.ndarray:
        """[v][b] of the neighbours' values; a vertex without any keeps its own"""
        result = values.copy()
        if len(self._members):
            sums = np.add.reduceat(values[self._to], self._starts, axis=0)
            result[self._members] = sums / self._counts[:, None]
        return result


class _Smoother:
    """Works on the bones that each free vertex, a row [r], or vertices near it follow."""

    def __init__(self, quadrics: Quadrics, ring: Ring, dense, locked, free, most: int, rounds: int):
        self.ring, self.dense, self.rounds = ring, dense, rounds
        loose = dense[:, ~locked].sum(axis=1)
        self.rows = np.flatnonzero(free & (loose > 0))
        wide = dense.copy()
        for _ in range(rounds):
            wide[self.rows] = ring.mean(wide)[self.rows]
        kept = 2.0 * (dense > 0)  # what is there comes before what its neighbours bring
        count = (dense > 0).sum(axis=1)[self.rows]
        self.bones = widest((wide + kept)[self.rows], max(2 * most, int(count.max(initial=0))))
        self.start = at(dense[self.rows], self.bones)
        self.locked = locked[self.bones] | (self.bones < 0)
        self.fixed = np.where(self.locked, self.start, 0)
        self.left = loose[self.rows, None]
        self.room = np.maximum(most, count) - (self.fixed > 0).sum(axis=1)
        self.forms = quadrics.forms(self.rows, self.bones)

    def _bounded(self, values: np.ndarray) -> np.ndarray:
        """[r][k] at most so many influences, of the sum that was; locked ones as they are"""
        loose = np.where(self.locked | ((values < _NEW_LEAST) & (self.start <= 0)), 0, values)
        rank = np.argsort(np.argsort(-loose, axis=1, kind="stable"), axis=1)
        loose = np.where(rank < self.room[:, None], loose, 0)
        total = loose.sum(axis=1, keepdims=True)
        loose = np.where(total > 0, loose, np.where(self.locked, 0, self.start))
        return self.fixed + loose * (self.left / loose.sum(axis=1, keepdims=True))

    def run(self, price: float) -> np.ndarray:
        """[v][b]"""
        dense = self.dense.copy()
        for _ in range(self.rounds):
            now = at(dense[self.rows], self.bones)
            way = self._bounded(at(self.ring.mean(dense)[self.rows], self.bones)) - now
            length, bend = (way**2).sum(axis=1), energy(self.forms, way)
            slope = np.einsum("ri,rij,rj->r", way, self.forms, now, optimize=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.nan_to_num((length - price * slope) / (length + price * bend))
            mixed = self._bounded(now + np.clip(share, 0, 1)[:, None] * way)
            dense[self.rows] = spread(self.bones, mixed, dense.shape[1])
        return dense


def smooth(
    quadrics: Quadrics,
    ring: Ring,
    dense: np.ndarray,
    budget: float,
    most: int,
    rounds: int = 5,
    free: np.ndarray | None = None,
    locked: np.ndarray | None = None,
) -> Generator[float, None, np.ndarray]:
    """[v][b] weights of sum 1, smoothed; the root mean square error rises by no more than the budget. Yields
    how far it is, 0 to 1.

    dense [v][b] of sum 1, free [v] the vertices that may change, locked [b] the bones whose weights stay.
    A vertex keeps within `most` influences, or those it has when they are more.
    """
    free = np.ones(len(dense), bool) if free is None else free
    locked = np.zeros(dense.shape[1], bool) if locked is None else locked
    smoother = _Smoother(quadrics, ring, dense, locked, free, most, rounds)

    def error(weights):
        bones = widest(weights)
        return quadrics.rms(bones, at(weights, bones))

    before = error(dense)
    allowed = before + budget * (1 - _BUDGET_MARGIN)
    yield 0.0
    best = smoother.run(0.0)
    if not len(smoother.rows) or error(best) <= allowed:
        return best
    best, even = dense, 1 / max(before**2 * quadrics.count, np.finfo(float).tiny)
    low, high = np.log10(even) - np.log10(_PRICES), np.log10(even) + np.log10(_PRICES)
    for halving in range(_HALVINGS):
        yield (halving + 1) / (_HALVINGS + 1)
        price = 0.5 * (low + high)
        tried = smoother.run(10**price)
        if error(tried) <= allowed:
            best, high = tried, price
        else:
            low = price
    return best
