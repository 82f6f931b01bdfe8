"""Weights for an engine that takes fewer influences than a rig has.

Where the motion is known that the rig was made from, those go whose loss costs least in it, in the norm that
the rig was solved in (native.prune_weights); else the strongest stay.
"""

from __future__ import annotations

from typing import NamedTuple

import bpy
import numpy as np

from .. import native
from ..base.refusal import Refusal
from ..base.steps import run
from ..base.words import counted
from ..edit import edits
from ..rig.rewrite import write_weights
from ..rig.stand import Standing


class Cost(NamedTuple):
    rms_percent: float
    normal_degrees: float  # below 0: there are no faces

    def words(self) -> str:
        degrees = f", normals {self.normal_degrees:.2g} degrees off" if self.normal_degrees >= 0 else ""
        return f"error {self.rms_percent:.2g} %{degrees}"


class Pruned(NamedTuple):
    subject: Standing
    bones: np.ndarray  # [r][k]
    weights: np.ndarray
    before: Cost
    after: Cost

    def write(self, meshes: list, copies: list) -> None:
        """Onto copies of meshes, which have their groups still under the rig's names."""
        skin = self.subject.skin
        for obj, rows in zip(skin.meshes, skin.slices, strict=True):
            mine = (self.subject.rows >= rows.start) & (self.subject.rows < rows.stop)
            here = self.subject.rows[mine] - rows.start
            copy = copies[meshes.index(obj)]
            write_weights(copy, here, self.bones[mine], self.weights[mine], self.subject.names)

    def sentence(self, most: int) -> str:
        wide = int((np.count_nonzero(self.subject.weights(), axis=1) > most).sum())
        return (
            f"{counted(wide, 'vertex')} had more than {most} bones; in the file those went whose loss costs"
            f" least: {self.after.words()}; before, {self.before.words()}. Convert again with {most}"
            " influences for a skin that is solved for so many."
        )


def _costs(subject: Standing, rig: native.Rig, most: int) -> tuple[native.Rig, Cost, Cost]:
    poses = rig.rest, subject.frames, subject.triangles
    settings = native.Settings(fairness=subject.options.fairness, threads=subject.options.threads)
    given = native.evaluate(*poses[:2], rig, replay=False, triangles=subject.triangles)
    pruned, info = native.prune_weights(*poses, rig, most, settings)
    before = Cost(100 * given.rms / given.diagonal, given.normal_degrees)
    return pruned, before, Cost(info.rms_percent, info.normal_degrees)


def prune(armature, meshes: list, most: int) -> Pruned | None:
    """None where the motion is not known, or is not that of these meshes as they stand."""
    try:
        subject = run(edits.read(bpy.context, armature))
    except Refusal:
        return None
    if not set(subject.skin.meshes) <= set(meshes):
        return None
    found, before, after = _costs(subject, subject.rig(), most)
    bones, weights = found.influence_bones[:, :most], found.influence_weights[:, :most]
    return Pruned(subject, bones, weights, before, after)
