"""What of a rig is held when another motion is tracked onto it: weights, rest shape, joints, and bones that
something else moves."""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import native
from ..base.handles import Handle
from ..base.words import listed
from ..options.options import Options
from ..rig import carriers, rewrite, standing
from ..rig.keying import ROOT


@dataclasses.dataclass
class Standing:
    """What of a rig is held."""

    armature: Handle
    meshes: list[Handle]
    names: list[str]  # deform bones
    skin: standing.Skin
    rig: native.Rig  # of the moved vertices: weights and rest
    triangles: np.ndarray
    above: np.ndarray  # [b] the bone that one hangs from; -1: from none that deforms
    parents: np.ndarray  # [b] the bone that one turns against; -1: it is free to move
    heads: np.ndarray  # [b][3]
    bound: np.ndarray  # [b] true: constraints or drivers move it
    limited: list[str]  # bones with limits, which hold back what keys say
    options: Options  # that it was made with

    @property
    def bones(self) -> list[str]:
        """All that may be keyed: the root, and what carries a bone that is flexible."""
        return [ROOT, *self.names, *carriers.of(self.armature.get(), self.names)]

    def check_sources(self) -> None:
        """Refuses when the rig, or a bone of it, was removed since; what moves it was read."""
        standing.with_bones(self.armature.get(), self.names)

    @property
    def turns(self) -> bool:
        return bool((self.parents >= 0).any())

    def settings(self, sweeps: int) -> native.Settings:
        """sweeps: the most over the bones; 0: as many as the library thinks fit"""
        settings = self.options.solver()
        settings.iterations = sweeps
        settings.bones, settings.budget_kind, settings.budget = len(self.names), "none", 0.0
        settings.influences, settings.rest_mode = self.rig.influence_bones.shape[1], "fixed"
        return settings

    def notes(self) -> list[str]:
        """On bones that are not simply keyed, for the artist."""
        names, notes = [name for name, bound in zip(self.names, self.bound, strict=True) if bound], []
        rest = "" if self.turns else ", and the other bones were solved around that"
        others = rewrite.not_plain_words(self.armature.get(), names)
        notes += [f"{words}: not keyed{rest}." for words in others]
        if self.limited:
            verb = "has limits" if len(self.limited) == 1 else "have limits"
            notes.append(f"{listed(self.limited)} {verb}, which hold back what is keyed beyond them.")
        return notes


def stand(armature) -> Standing:
    """Reads the rig."""
    standing.check(armature)
    options = armature.ossify.settings.options()
    names = standing.bone_names(armature)
    skin = standing.read_skin(armature, names)
    moved, dense = skin.moved, skin.weights()
    names = [name for name, used in zip(names, dense.any(axis=0), strict=True) if used]
    dense = dense[moved][:, dense.any(axis=0)]
    rig = native.Rig(None, *standing.sparse(dense), skin.rest[moved].astype(np.float32)).to_track()
    heads = np.array([armature.data.bones[name].head_local for name in names], np.float64)
    return Standing(
        Handle.of("objects", armature),
        [Handle.of("objects", obj) for obj in skin.meshes],
        names,
        skin,
        rig,
        skin.moved_triangles(),
        standing.parents_of(armature, names),
        standing.turning_parents(armature, names),
        heads,
        np.array([rewrite.is_bound(armature, None, name) for name in names], bool),
        [name for name in names if rewrite.is_limited(armature, None, name)],
        options,
    )
