"""Whether a rig's space is another one than that of its motion: its location, rotation or scale was applied.

Blender then moves bones and vertices alike, so that nothing is seen of it; the motion that was kept lies
where they were.
"""

from __future__ import annotations

import numpy as np

from ..base.meshes import matrix_of, positions
from ..base.refusal import Refusal
from ..base.surface import diagonal
from . import memory
from .changes import Seen

_ALIKE = 1e-3  # of the size, and of a rotation: bones that differ by less have moved alike
_NEARER = 1e-3  # of the size


def _moved_alike(then: memory.Bones, now: memory.Bones, size: float) -> np.ndarray | None:
    """[4][4] what all bones that stand have been moved by; None: not all by the same."""
    pairs = [(a, now.index(number)) for a, number in enumerate(then.numbers) if number in now.numbers]
    if len(pairs) < 2:
        return None
    old, new = then.rests[[a for a, _ in pairs]], now.rests[[b for _, b in pairs]]
    turn = new[0, :3, :3] @ old[0, :3, :3].T
    if np.abs(turn @ old[:, :3, :3] - new[:, :3, :3]).max() > _ALIKE:
        return None
    before, after = old[:, :3, 3] - old[:, :3, 3].mean(axis=0), new[:, :3, 3] - new[:, :3, 3].mean(axis=0)
    scale = float(np.sqrt((after**2).sum() / max((before**2).sum(), 1e-30)))
    found = np.eye(4)
    found[:3, :3] = scale * turn
    found[:3, 3] = new[:, :3, 3].mean(axis=0) - found[:3, :3] @ old[:, :3, 3].mean(axis=0)
    apart = old[:, :3, 3] @ found[:3, :3].T + found[:3, 3] - new[:, :3, 3]
    return found if np.abs(apart).max() <= _ALIKE * size * max(scale, 1.0) else None


def _brought(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """[v][3]"""
    return points.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def _distance(points: np.ndarray, shapes: np.ndarray) -> float:
    """Root mean square, from the nearest of the shapes [n][v][3]"""
    return float(np.sqrt(((shapes - points) ** 2).sum(axis=2).mean(axis=1).min()))


def check(armature, seen: Seen) -> None:
    """Refuses a rig that lies elsewhere than its motion."""
    then, now = seen.then, seen.now
    if len(seen.changes.moved) < 2 or then is None or not len(then.rest):
        return
    size = diagonal(then.rest)
    found = _moved_alike(then.bones, now.bones, size)
    if found is None:
        return
    back, kept = np.linalg.inv(found), memory.recall(armature)
    starts = np.concatenate([[0], np.cumsum(then.counts)])
    for index, (item, rows) in enumerate(zip(armature.ossify.meshes, memory.columns(armature), strict=True)):
        count = now.counts[index]
        if not count or not count == then.counts[index] == rows.stop - rows.start:
            continue
        matrix = np.linalg.inv(matrix_of(armature)) @ matrix_of(item.object)
        points = _brought(positions(item.object.data), matrix)
        if kept is None:
            shapes = _brought(then.rest[starts[index] :][:count], matrix)[None]
        else:
            shapes = (kept.frames if kept.rest is None else kept.rest[None])[:, rows]
        if _distance(_brought(points, back), shapes) < _distance(points, shapes) - _NEARER * size:
            raise Refusal(
                f"The location, rotation or scale of {armature.name} was applied since the rig was made, and"
                " its motion lies where it was before: undo that, or convert the source again."
            )
