"""What an edit of a standing rig starts from: its bones, skin, transforms and motion as arrays, or a refusal.

An edit is a generator of steps. It reads all it needs, computes, and only then writes: what goes wrong, or is
cancelled, leaves the rig as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.handles import Handle, Place, was_changed
from ..base.refusal import Refusal
from ..base.steps import Step, each, step
from ..base.surface import diagonal
from ..base.words import listed
from ..motion import sources
from ..record import changes, memory, recapture
from ..refit import refit_check, refit_start
from ..rig import heat, played, standing
from ..rig.keying import ROOT
from ..rig.trial import keyed_of
from .quadrics import Quadrics, at, widest

_ROUNDING = 1e-6  # of a sum of weights
_MODES = {"EDIT": "Edit Mode", "SCULPT": "Sculpt Mode"}


def trouble(obj) -> str | None:
    """Why the object cannot be changed, in one sentence; None when it can."""
    for block in (obj, obj.data):
        sentence = sources.library_trouble(block, obj.name)
        if sentence:
            return sentence
    if obj.mode in _MODES:
        back = "Pose Mode or Object Mode" if obj.type == "ARMATURE" else "Object Mode or Weight Paint"
        return f"{obj.name} is in {_MODES[obj.mode]}: go back to {back}."
    return None


def check(armature) -> None:
    """Refuses what is no rig of Ossify's, or one that cannot be changed."""
    for obj in (armature, *standing.meshes_of(armature)):
        sentence = trouble(obj)
        if sentence:
            raise Refusal(sentence)
    standing.check(armature)


@dataclasses.dataclass
class Subject:
    """A standing rig; vertices are rows of the skin: those that it moves and was made with."""

    place: Place
    handle: Handle
    mark: bytes  # of the rig as it was read
    names: list[str]  # of deform bones
    skin: standing.Skin
    rows: np.ndarray  # [v] in the skin
    times: list[int]
    transforms: np.ndarray  # [f][b][4][4] rest to frame, as Blender evaluates them
    frames: np.ndarray | None  # [f][v][3] what the rig was made from; None: not asked for
    holds: changes.Holds  # of the skin's vertices

    @property
    def armature(self):
        return self.handle.get()

    def check_sources(self) -> None:
        """Refuses when the rig, or a bone of it, was removed since."""
        standing.with_bones(self.handle.get(), self.names)

    def wake(self) -> None:
        """Before it is written to: refuses a rig that was changed since, and finds its meshes again."""
        armature = self.armature
        sentence = next(filter(None, map(trouble, (armature, *standing.meshes_of(armature)))), None)
        if sentence:
            raise Refusal(sentence)
        if memory.print_of(memory.read(armature)) != self.mark:
            raise was_changed(armature)
        self.skin.meshes = memory.meshes_of(armature)

    @property
    def rest(self) -> np.ndarray:
        return self.skin.rest[self.rows]

    @property
    def size(self) -> float:
        """As in the rig's report; where a refit was free to, it has changed the rest shape, and its box."""
        return self.armature.ossify.size or diagonal(self.rest)

    def weights(self) -> np.ndarray:
        """[v][b] float64 of sum 1: locked groups as painted, the others with what those leave"""
        dense = self.skin.weights()[self.rows]
        fixed = np.where(self.locked(), self.skin.painted[self.rows], 0.0)
        loose = np.where(self.locked(), 0.0, dense)
        left, total = 1 - fixed.sum(axis=1, keepdims=True), loose.sum(axis=1, keepdims=True)
        fits = (left >= 0) & (total > 0) & (fixed.any(axis=1, keepdims=True))
        return np.where(fits, fixed + loose * (left / np.where(total > 0, total, 1)), dense)

    def error(self, forms: Quadrics, weights: np.ndarray | None = None) -> float:
        """Root mean square in percent of the size, with these weights or those that Blender uses."""
        weights = self.skin.weights()[self.rows] if weights is None else weights
        bones = widest(weights)
        return 100 * forms.rms(bones, at(weights, bones)) / self.size

    def triangles(self) -> np.ndarray:
        """[t][3] of the vertices alone, which count from 0"""
        return self.skin.moved_triangles()

    def full(self) -> np.ndarray:
        """[v] whether held groups have more than all of the weight: then no other can be solved"""
        return self.skin.painted[self.rows][:, self.locked()].sum(axis=1, dtype=np.float64) > 1 + _ROUNDING

    def locked(self) -> np.ndarray:
        """[b] whether the bone's weights are held"""
        return self.holds.groups

    def quadrics(self) -> Quadrics:
        return Quadrics(self.transforms, self.rest, self.frames)

    def rig(self, weights: np.ndarray | None = None) -> native.Rig:
        """For the library; all its influences, however many they are up to its limit."""
        dense = self.weights() if weights is None else weights
        rest = np.ascontiguousarray(self.rest, np.float32)
        return native.Rig(np.ascontiguousarray(self.transforms[:, :, :3]), *standing.sparse(dense), rest)


def _subject(place: Place, armature, now: memory.Snapshot, changed: changes.Changes) -> Subject:
    """Without its motion."""
    names, times = standing.bone_names(armature), played.times_of(armature).tolist()
    skin = standing.read_skin(armature, names, memory.meshes_of(armature))
    transforms = played.read_transforms(armature, names)
    holds = changes.holds(armature, skin, names, changed)
    handle, mark, rows = Handle.of("objects", armature), memory.print_of(now), np.flatnonzero(skin.moved)
    subject = Subject(place, handle, mark, names, skin, rows, times, transforms, None, holds)
    holds.vertices[rows] |= subject.full()
    return subject


def check_keys(armature, changed: changes.Changes | None = None) -> None:
    """Refuses a rig that shows another motion than it did, until it is refitted; changed: as it was found."""
    changed = changed or changes.find(armature)
    if refit_start.rebased_bones(armature, changed, standing.bone_names(armature)).any():
        names = listed(list(dict.fromkeys([*changed.moved, *changed.reparented])))
        raise Refusal(
            f"{names}: moved or hung elsewhere since the last refit, and keyed for the old place. Refit"
            f" {armature.name} first, or put them back."
        )


def _check_moved(subject: Subject) -> None:
    """Refuses a rig with vertices that have lost their weights, unless that is how they are kept: they would
    not count, however far they are off."""
    lost = ~subject.skin.moved & ~subject.holds.vertices
    for obj, rows in zip(subject.skin.meshes, subject.skin.slices, strict=True):
        count = int(lost[rows].sum())
        if count:
            words = "1 vertex follows" if count == 1 else f"{count} vertices follow"
            raise Refusal(
                f"{words} no bone in {obj.name}: refit {subject.handle.name} first, for weights of theirs."
            )


def read(context, armature, motion: bool = True) -> Generator[Step, None, Subject]:
    """The rig as it stands, and with `motion` what it was made from; by that no rig is judged whose keys mean
    another motion."""
    if motion:
        now, changed = refit_check.check(armature)
        check_keys(armature, changed)
    else:
        check(armature)
        now = memory.read(armature)
        changed = changes.find(armature, now)
    subject = _subject(Place.of(context.scene, context.view_layer), armature, now, changed)
    if motion:
        _check_moved(subject)
    yield step("Reading", 0.0)
    if motion:
        reading = recapture.motion_of(subject.place, subject.handle, subject.skin, "KEPT")
        found = yield from each("Reading", reading)
        subject.frames = np.ascontiguousarray(found.frames[:, subject.rows])
    subject.check_sources()
    return subject


def read_again(subject: Subject) -> Subject:
    """The rig as it stands after an edit; its motion is the same."""
    now, changed = refit_check.check(subject.armature)
    after = _subject(subject.place, subject.armature, now, changed)
    return dataclasses.replace(after, frames=subject.frames)


# ---- how well it fits now


def _spread(subject: Subject, values: np.ndarray) -> list[np.ndarray]:
    """[v] values of the subject's vertices, for each mesh; 0 where nothing moves"""
    whole = np.zeros(len(subject.skin.rest), np.float32)
    whole[subject.rows] = values
    return [whole[rows] for rows in subject.skin.slices]


def note_fit(subject: Subject) -> float:
    """Writes the error of a rig onto its record and its meshes, for the panel and the heat map; percent of
    the size."""
    armature, record, percent = subject.armature, subject.armature.ossify, 100 / subject.size
    rig = subject.rig(subject.skin.weights()[subject.rows])
    found = native.evaluate(rig.rest, subject.frames, rig)
    distances = percent * np.linalg.norm(found.frames - subject.frames, axis=2)
    record.bones, record.erms = len(subject.names), found.erms
    record.rms, record.mean = percent * found.rms, float(distances.mean())
    record.percentile_95 = float(np.percentile(distances, 95))
    record.maximum = percent * found.maximum
    row = int(subject.rows[found.worst_vertex])
    for obj, rows in zip(subject.skin.meshes, subject.skin.slices, strict=True):
        if rows.start <= row < rows.stop:
            record.worst_object, record.worst_vertex = obj.name, row - rows.start
    record.worst_frame = int(subject.times[found.worst_frame])
    record.worst_frame_error = percent * float(found.frame_error.max())
    for item, error in zip(record.frames, found.frame_error, strict=True):
        item.error = percent * float(error)
    for clip, rows in played.recorded(armature):
        clip.rms = percent * float(np.sqrt(np.square(found.frame_error[rows]).mean()))
    keyed = keyed_of(armature, [ROOT, *subject.names])
    record.keys, record.keys_if_every = keyed.keys, keyed.keys_if_every
    for obj, errors in zip(subject.skin.meshes, _spread(subject, percent * found.vertex_error), strict=True):
        heat.store(obj.data, errors)
    heat.recolour(armature)
    return record.rms
