"""What an edit of a standing rig starts from: its bones, skin, transforms and motion as arrays, or a refusal.

An edit reads all it needs, computes, and only then writes: what goes wrong leaves the rig as it was.
"""

from __future__ import annotations

import dataclasses

import bpy
import numpy as np

from . import changes, heat, memory, native, recapture, refit, standing
from .keying import ROOT
from .options import Refusal
from .placement import diagonal
from .quadrics import Quadrics, at, widest
from .trial import keyed_of

_MODES = {"EDIT": "Edit Mode", "SCULPT": "Sculpt Mode"}


def _block_trouble(block, obj) -> str | None:
    if block.library:
        file = bpy.path.basename(block.library.filepath)
        return f"{obj.name} is linked from {file}: make it local, or work in its own file."
    override = block.override_library
    if not block.is_editable or (override and override.is_system_override):
        return f"{obj.name} is a read-only library override: make it editable or local."
    return None


def trouble(obj) -> str | None:
    """Why the object cannot be changed, in one sentence; None when it can."""
    for block in (obj, obj.data):
        sentence = _block_trouble(block, obj)
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

    armature: object
    names: list[str]  # of deform bones
    skin: standing.Skin
    rows: np.ndarray  # [v] in the skin
    times: list[int]
    transforms: np.ndarray  # [f][b][4][4] rest to frame, as Blender evaluates them
    frames: np.ndarray | None  # [f][v][3] what the rig was made from; None: not asked for
    holds: changes.Holds  # of the skin's vertices

    @property
    def rest(self) -> np.ndarray:
        return self.skin.rest[self.rows]

    @property
    def size(self) -> float:
        return diagonal(self.rest)

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


def _value(work):
    """Of a generator, run to its end."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        return end.value


def read(context, armature, motion: bool = True, frames: np.ndarray | None = None) -> Subject:
    """The rig as it stands, and with `motion` what it was made from, `frames` if that is at hand."""
    if motion:
        _, changed = refit.check(armature)
    else:
        check(armature)
        changed = changes.find(armature)
    names, times = standing.bone_names(armature), [item.frame for item in armature.ossify.frames]
    skin = standing.read_skin(armature, names, memory.meshes_of(armature))
    rows = np.flatnonzero(skin.moved)
    with standing.alone(armature) as (scene, layer):
        transforms = standing.read_transforms(armature, scene, layer, names, times)
    if motion and frames is None:
        reading = recapture.motion_of(context.scene, context.view_layer, armature, skin, "KEPT")
        frames = np.ascontiguousarray(_value(reading).frames[:, rows])
    holds = changes.holds(armature, skin, names, changed)
    return Subject(armature, names, skin, rows, times, transforms, frames, holds)


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
    keyed = keyed_of(armature, [ROOT, *subject.names])
    record.keys, record.keys_if_every = keyed.keys, keyed.keys_if_every
    for obj, errors in zip(subject.skin.meshes, _spread(subject, percent * found.vertex_error), strict=True):
        heat.store(obj.data, errors)
    heat.recolour(armature)
    return record.rms
