"""Correctives of a rig that stands: added for the motion it was made from, and removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from ..base.refusal import Refusal
from ..base.steps import Step, step
from ..nodes import volume
from ..options.options import Options
from ..rig import correcting, correctives, played
from ..rig.keying import tolerance_of
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


def _hang_directly(subject: Standing) -> bool:
    """Whether a bone's own rotation is that against the bone it is said to hang from."""
    bones, names = subject.armature.data.bones, subject.names
    above = [subject.root if b < 0 else names[b] for b in subject.above]
    pairs = ((bones[name].parent, parent) for name, parent in zip(names, above, strict=True))
    return all(bone is not None and bone.name == parent for bone, parent in pairs)


def _body(subject: Standing) -> correcting.Body:
    rig = subject.rig(subject.skin.weights[subject.skin.moved])
    root = played.read_transforms(subject.armature, [subject.root])[:, 0]
    flexible = subject.options.bone_kind == "FLEXIBLE" or not _hang_directly(subject)
    return correcting.Body(
        (np.ascontiguousarray(subject.rest, np.float32), subject.frames, subject.triangles),
        rig,
        subject.names,
        subject.above,
        root,
        subject.settings(len(subject.names), rig.influence_bones.shape[1]),
        subject,
        flexible,
    )


def _spread(subject: Standing, shapes: correctives.Shapes) -> correctives.Shapes:
    """To all vertices, also those that nothing moves."""
    fields = np.zeros((len(shapes.names), len(subject.skin.rest), 3), np.float32)
    fields[:, subject.rows] = shapes.fields
    return dataclasses.replace(shapes, fields=fields)


def _key(subject: Standing, shapes: correctives.Shapes) -> None:
    armature = subject.armature
    options = Options.of(armature.ossify.settings)
    tolerance = tolerance_of(options, subject.size, options.frames == "POSES")
    exact = correctives.tolerances_of(shapes.fields, tolerance)
    for clip in played.of(armature):
        if clip.action is None:
            raise Refusal(f"{armature.name} has no action to key correctives in: choose Driven.")
        with played.playing(armature, clip):
            correctives.key_clip(armature, clip.action, clip.times, shapes.values[clip.rows], exact)


def standing_rig(subject: Standing):
    """The rig for the library, with its correctives as Blender evaluates them."""
    rig = subject.rig(subject.skin.weights[subject.skin.moved])
    if not correctives.names_of(subject.armature):
        return rig
    fields = correctives.read_fields(subject.armature, subject.skin.meshes)[:, subject.rows]
    values = correctives.read_values(subject.armature, subject.skin.meshes)
    return dataclasses.replace(rig, fields=np.ascontiguousarray(fields), coefficients=values)


def add(context, armature, kind: str, count: int) -> Generator[Step, None, Corrected]:
    """In place of those that are there."""
    if volume.is_on(armature):
        raise Refusal(
            f"{armature.name} keeps its volume, which is fitted to what bones miss: remove that first."
        )
    subject = yield from edits.read(context, armature, correctives_stay=True)
    before = armature.ossify.rms
    found = yield from correcting.solve(_body(subject), correcting.Wish(kind, count))
    yield step("Building", 0.0)
    edits.wake(subject)
    armature = subject.armature
    correctives.remove(armature, subject.skin.meshes)
    names = []
    if found.shapes is not None:
        shapes = _spread(subject, found.shapes)
        names = correctives.put(armature, subject.skin.meshes, subject.skin.slices, shapes, subject.names)
        if shapes.map is None:
            _key(subject, shapes)
    armature.ossify.correctives_note = found.note
    subject.place.get()[1].update()
    after = edits.note_fit(subject, standing_rig(subject))
    return Corrected(names, before, after, found.note)


def remove(context, armature) -> Generator[Step, None, Corrected]:
    """All of them; the rig is what it was."""
    subject = yield from edits.read(context, armature, correctives_stay=True)
    if not correctives.names_of(armature):
        raise Refusal(f"{armature.name} has no correctives.")
    before = armature.ossify.rms
    edits.wake(subject)
    count = correctives.remove(subject.armature, subject.skin.meshes)
    subject.place.get()[1].update()
    return Corrected([], before, edits.note_fit(subject), f"{count} removed.")
