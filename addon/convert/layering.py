"""Virtual bones of a conversion: solved for the motion, and laid over a rig that was just built.

What they shall meet is the motion, and in poses in which one bone turns by itself the rig as it was solved:
otherwise the bones of one part would mend what those of another miss, and move it when they are posed.
In the motion, the bones are solved along, in turns with the layers, unless joints hold them together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.steps import Step, watch
from ..base.surface import diagonal
from ..motion.capture import Motion
from ..options.options import Options
from ..rig import standing, virtual_write
from ..rig.channels import homogeneous
from ..two_layer import examples, solving

_WIDE = math.radians(60)  # of a turn: bones that are solved along take more help from afar
_LOOSE = ("NONE", "HIERARCHY")  # skeletons whose bones may go anywhere
_WORDS = "{count} virtual bones blend the {bones} bones; without them the error would be {percent:.3g} %."


def _turns(rig: native.Rig, dense: np.ndarray, skeleton) -> np.ndarray:
    """Each bone about its joint, or the middle of what it moves."""
    axes = np.tile(np.eye(3)[[0, 2]], (rig.bones, 1, 1))
    if skeleton is not None:
        return examples.turned(np.asarray(skeleton.joints), axes, np.asarray(skeleton.parents), _WIDE)
    total = np.maximum(dense.sum(axis=0), 1e-12)
    return examples.turned(dense.T @ rig.rest / total[:, None], axes, np.full(rig.bones, -1), _WIDE)


def solve(
    motion: Motion, rig: native.Rig, skeleton, options: Options
) -> Generator[Step, None, tuple[native.Rig, native.Layers]]:
    """The rig, its bones as they suit the layers, and those; options: with the skeleton that was made"""
    dense = rig.dense_weights().astype(np.float64)
    turns = _turns(rig, dense, skeleton)
    frames = np.concatenate([motion.frames, examples.replay(rig.rest.astype(np.float64), dense, turns)])
    transforms = np.concatenate([homogeneous(rig.transforms), turns])
    wish = native.Compression(
        virtual_bones=options.virtual_bones,
        masters=solving.masters_for(rig.bones),
        influences=min(max(options.most_influences, 2), native.MAX_BLENDED),
        source="poses",
        refine=options.skeleton in _LOOSE,
    )
    given = rig.rest, dense, transforms, frames, motion.triangles
    turned = np.arange(len(frames)) >= len(motion.frames)
    job = solving.begin(*given, wish, options.threads, options.bone_kind.lower(), turned)
    found, layers, _ = yield from watch(job, motion, 1.0, 1.0)
    return dataclasses.replace(rig, transforms=found.transforms[~turned]), layers


def build(built, motion: Motion, rig: native.Rig, layers: native.Layers, plain: native.Info):
    """Into the workshop; the rig that is played then, and how well it fits."""
    armature = built.armature.get()
    skin = standing.read_skin(armature, built.bones, [handle.get() for handle in built.meshes])
    moved = layers._replace(
        influence_bones=layers.influence_bones[skin.moved],
        influence_weights=layers.influence_weights[skin.moved],
    )
    names = virtual_write.add(armature, skin, built.bones, moved, diagonal(rig.rest))
    whole = solving.flat(layers, rig.transforms, rig.rest)
    found = native.evaluate(motion.rest, motion.frames, whole, replay=False)
    percent = 100 / (found.diagonal or 1.0)
    motion.notes.append(_WORDS.format(count=len(names), bones=rig.bones, percent=plain.rms_percent))
    fit = plain._replace(
        erms=found.erms, rms_percent=percent * found.rms, maximum_percent=percent * found.maximum
    )
    return whole, fit
