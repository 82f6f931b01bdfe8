"""Correctives of a rig that stands: added for the motion it was made from, and removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

from ..base.refusal import Refusal
from ..base.steps import Step, step
from ..nodes import volume
from ..rig import corrected, correcting, correctives
from ..rig.stand import Standing
from . import edits


@dataclasses.dataclass
class Corrected:
    """What was done."""

    names: list[str]
    before: float  # percent of the size
    after: float
    note: str

    def words(self) -> str:
        return f"{self.note} Error {self.before:.4g} % of the size before, {self.after:.4g} % after"


def standing_rig(subject: Standing):
    """The rig for the library, with its correctives as Blender evaluates them."""
    rig = subject.rig(subject.skin.weights[subject.skin.moved])
    return corrected.with_them(rig, subject.armature, subject.skin.meshes, subject.rows)


def add(context, armature, kind: str, count: int, budget: float = 0.0) -> Generator[Step, None, Corrected]:
    """In place of those that are there, but for what the artist holds of them."""
    if volume.is_on(armature):
        raise Refusal(
            f"{armature.name} keeps its volume, which is fitted to what bones miss: remove that first."
        )
    subject = yield from edits.read(context, armature)
    before, wish, skin = armature.ossify.rms, correcting.Wish(kind, count, budget), subject.skin
    held = corrected.held_of(armature, skin.meshes)
    body = corrected.body_of(armature, subject.names, skin, subject.frames, subject, held)
    found = yield from correcting.solve(body, wish)
    yield step("Building", 0.0)
    edits.wake(subject)
    armature, tracked = subject.armature, corrected.tracked_of(subject.armature, skin.meshes)
    corrected.take_off(armature, skin.meshes, held)
    names = corrected.put_on(armature, skin.meshes, skin, found, subject.names, subject.size)
    corrected.carry(armature, skin.meshes, tracked, subject.size)
    corrected.note_wish(armature, wish)
    armature.ossify.correctives_note = found.note
    subject.place.get()[1].update()
    after = edits.note_fit(subject, standing_rig(subject))
    return Corrected(names, before, after, found.note)


def remove(context, armature) -> Generator[Step, None, Corrected]:
    """All of them; the rig is what it was."""
    subject = yield from edits.read(context, armature)
    if not correctives.names_of(armature):
        raise Refusal(f"{armature.name} has no correctives.")
    before = armature.ossify.rms
    edits.wake(subject)
    count = correctives.remove(subject.armature, subject.skin.meshes)
    subject.place.get()[1].update()
    return Corrected([], before, edits.note_fit(subject), f"{count} removed.")
