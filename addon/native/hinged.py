"""Correctives on joints that hold: bones and fields solved in turns, each for what the other leaves.

    x[f][v] - sum_b w_b M_b sum_n c[f][n] B[n][v]        what is left to the bones, articulate()
    x[f][v] - sum_b w_b M_b rest~[v]                     what is left to the fields, correct()

A field is least squares for the poses that joints took without it, and these lean towards what it shows by
now: in turns both leave less. Fields are found anew each time, from the modes of what is missed then, and
weights with the bones. What comes out is the best that correct() gave, so it is never worse than once.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from . import verbs
from .nouns import Corrected, Correction, Info, Rig, Settings, Skeleton

_TURNS_AT_MOST = 6
_WORTH_A_TURN = 5e-3  # of the error: a round that gains less is the last


class Hinged(NamedTuple):
    rig: Rig
    skeleton: Skeleton
    worth: Corrected
    info: Info
    rounds: int  # in which the bones were solved again


def _left_to_bones(rest, frames, rig: Rig) -> np.ndarray:
    """[f][v][3]"""
    shown = verbs.evaluate(rest, frames, rig).frames
    return np.asarray(frames - (shown - verbs.evaluate(rest, frames, rig.bare()).frames), np.float32)


def correct(
    rest, frames, triangles, rig: Rig, skeleton: Skeleton, correction: Correction, settings: Settings
) -> Hinged:
    """For a rig and its skeleton as articulate() left them; settings: of both verbs."""
    best = None
    for rounds in range(_TURNS_AT_MOST + 1):
        held = dataclasses.replace(rig, held_transforms=np.ones(rig.transforms.shape[:2], np.uint8))
        solved = verbs.correct(rest, frames, triangles, held, correction, settings)
        before = best
        if before is None or solved[2].erms < before.info.erms:
            best = Hinged(dataclasses.replace(solved[0], held_transforms=None), skeleton, *solved[1:], rounds)
        if rounds == _TURNS_AT_MOST or (before and best.info.erms > (1 - _WORTH_A_TURN) * before.info.erms):
            break
        left = _left_to_bones(rest, frames, best.rig)
        bare = best.rig.bare()
        rig, skeleton, _ = verbs.articulate(rest, left, triangles, bare, best.skeleton, settings)
    return best
