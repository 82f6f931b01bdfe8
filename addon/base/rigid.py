"""The whole body's rigid motion: for each frame the rotation R and translation t that bring the rest
nearest to it, min sum_v |R p_v + t - x_v|.

Plain distances, not their squares: arms that swing or a jaw that opens then do not turn the body. Solved by
reweighted least squares (Weiszfeld 1937), each step in closed form (Kabsch 1976). A body that is nearly a
line or a point leaves R open; it then stays near the frame before.
"""

from __future__ import annotations

import numpy as np

_PULL = 1e-6  # of the body's own moment: how strongly the frame before decides what is open
_OPEN = 1e-3  # second singular value over the first: the body is as good as a line
_SAMPLE = 400  # vertices; the body's motion does not need them all
_STEPS = 5
_CLOSE = 2e-3  # of the size: distances below it count as squares


def nearest_rotation(matrix: np.ndarray) -> np.ndarray:
    """[...][3][3] the rotation R that maximises tr(R' matrix)"""
    u, _, v = np.linalg.svd(matrix)
    u[..., 2] *= np.sign(np.linalg.det(u) * np.linalg.det(v))[..., None]
    return u @ v


def _open(moments: np.ndarray) -> bool:
    """Whether in any frame the moments leave a turn to choose."""
    values = np.linalg.svd(moments, compute_uv=False)
    return bool((values[:, 1] <= _OPEN * values[:, 0]).any())


def _least_squares(points, targets, weights, before) -> tuple[np.ndarray, np.ndarray]:
    """points [s][3], targets [f][s][3], weights [f][s] -> rotations [f][3][3], translations [f][3]

    `before` [f][3][3] decides what is open; None: the frame before.
    """
    share = weights / weights.sum(axis=1, keepdims=True)
    centres, middles = share @ points, np.einsum("fs,fsi->fi", share, targets)
    moments = (targets * share[..., None]).swapaxes(1, 2) @ points - middles[:, :, None] * centres[:, None, :]
    pull = _PULL * max(float(points.var(axis=0).sum()), np.finfo(float).tiny)
    if before is not None:
        rotations = nearest_rotation(moments + pull * before)
    elif not _open(moments):
        rotations = nearest_rotation(moments)
    else:
        rotations, rotation = np.empty((len(targets), 3, 3)), np.eye(3)
        for f, moment in enumerate(moments):
            rotations[f] = rotation = nearest_rotation(moment + pull * rotation)
    return rotations, middles - np.einsum("fij,fj->fi", rotations, centres)


def body_motion(rest: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """rest [v][3], frames [f][v][3] -> [f][4][4]"""
    pick = np.linspace(0, len(rest) - 1, min(len(rest), _SAMPLE)).astype(int)
    points, targets = rest[pick].astype(np.float64), frames[:, pick].astype(np.float64)
    near = _CLOSE * float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    rotations, shifts = _least_squares(points, targets, np.ones(targets.shape[:2]), None)
    for _ in range(_STEPS):
        distances = np.linalg.norm(points @ rotations.swapaxes(1, 2) + shifts[:, None] - targets, axis=2)
        rotations, shifts = _least_squares(points, targets, 1 / np.maximum(distances, near), rotations)
    result = np.tile(np.eye(4), (len(frames), 1, 1))
    result[:, :3, :3], result[:, :3, 3] = rotations, shifts
    return result
