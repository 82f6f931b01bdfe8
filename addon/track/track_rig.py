"""What of a rig is held when another motion is tracked onto it: weights, rest shape, joints, and bones that
something else moves."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from .. import native
from ..base.handles import Handle, Place
from ..base.words import listed
from ..options.options import Options
from ..rig import rewrite, standing
from ..rig.stand import Holds, Standing
from ..rig.standing import sparse


class Held(NamedTuple):
    stands: Standing
    rig: native.Rig  # of the moved vertices: weights and rest
    bound: np.ndarray  # [b] true: constraints or drivers move it

    @property
    def only_turn(self) -> bool:
        """Whether some bones do."""
        return bool((self.stands.turns >= 0).any())

    def notes(self) -> list[str]:
        """On bones that are not simply keyed, for the artist."""
        armature, names = self.stands.armature, self.stands.names
        bound = [name for name, is_bound in zip(names, self.bound, strict=True) if is_bound]
        rest = "" if self.only_turn else ", and the other bones were solved around that"
        notes = [f"{words}: not keyed{rest}." for words in rewrite.not_plain_words(armature, bound)]
        limited = [name for name in names if rewrite.is_limited(armature, None, name)]
        if limited:
            verb = "has limits" if len(limited) == 1 else "have limits"
            notes.append(f"{listed(limited)} {verb}, which hold back what is keyed beyond them.")
        return notes


def stand(place: Place, armature) -> Held:
    """Reads the rig, but for how it moves now and for bones that move nothing."""
    standing.check(armature)
    every = standing.bone_names(armature)
    skin = standing.read_skin(armature, every)
    used = skin.weights.any(axis=0)
    names = [name for name, is_used in zip(every, used, strict=True) if is_used]
    dense = skin.weights[skin.moved][:, used]
    rig = native.Rig(None, *sparse(dense), skin.rest[skin.moved].astype(np.float32)).to_track()
    bones = np.array([rewrite.is_bound(armature, None, name) for name in names], bool)
    stands = Standing(
        place,
        Handle.of("objects", armature),
        (),
        b"",
        names,
        dataclasses.replace(skin, painted=skin.painted[:, used]),
        Holds.nothing(len(skin.rest), 0, len(names)),
        None,
        Options.of(armature.ossify.settings),
        standing.heads_of(armature, names),
        standing.parents_of(armature, names),
        standing.turning_parents(armature, names),
    )
    return Held(stands, rig, bones)
