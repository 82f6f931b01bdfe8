"""What an edit of a standing rig starts from: its bones, skin, transforms and motion as arrays, or a refusal.

An edit reads all it needs, computes, and only then writes: what goes wrong leaves the rig as it was.
"""

from __future__ import annotations

import dataclasses

import bpy
import numpy as np

from . import changes, memory, native, standing
from .capture import capture
from .options import Refusal
from .placement import diagonal
from .quadrics import Quadrics, at, widest

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
        number = np.full(len(self.skin.rest), -1)
        number[self.rows] = np.arange(len(self.rows))
        corners = number[self.skin.triangles]
        return corners[(corners >= 0).all(axis=1)].astype(np.int32)

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


# ---- the motion


def _value(work):
    """Of a generator, run to its end."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        return end.value


class _Shown:
    """Objects shown for a while: Blender moves only what is visible."""

    def __init__(self, layer, objects: list):
        self.layer, self.before = (
            layer,
            [(obj, obj.hide_get(view_layer=layer), obj.hide_viewport) for obj in objects],
        )

    def __enter__(self):
        for obj, _, _ in self.before:
            obj.hide_viewport = False
            obj.hide_set(False, view_layer=self.layer)

    def __exit__(self, *_exception):
        for obj, hidden, disabled in self.before:
            obj.hide_set(hidden, view_layer=self.layer)
            obj.hide_viewport = disabled


def _captured(context, armature) -> np.ndarray:
    """[f][v][3] of the sources' vertices, as they move now"""
    record, layer = armature.ossify, context.view_layer
    found = [item.object for item in record.sources]
    if not found or any(obj is None or layer.objects.get(obj.name) != obj for obj in found):
        raise Refusal(
            f"{armature.name} has not kept its motion, and its source is not in this view layer:"
            " bring it back."
        )
    options = record.settings.options()
    if options.frames != "POSES":
        options.frames = "CUSTOM"
        options.frame_start, options.frame_end = record.first_frame, record.last_frame
    with _Shown(layer, found):
        return _value(capture(context.scene, layer, found, options)).frames


def _motion(context, armature, skin: standing.Skin, rows: np.ndarray) -> np.ndarray:
    """[f][v][3] of these vertices of the skin, in the armature's space: as it was kept, or captured again"""
    kept, record = memory.recall(armature), armature.ossify
    frames = kept.frames if kept is not None else _captured(context, armature)
    meshes = [item.object for item in record.meshes]
    present = [obj for obj in meshes if obj in skin.meshes]
    counts = [len(obj.data.vertices) for obj in present]
    if len(present) != len(meshes) or frames.shape[:2] != (len(record.frames), sum(counts)):
        raise Refusal(
            f"{armature.name} moves {sum(counts)} vertices that it was made with, and its motion has"
            f" {frames.shape[1]}: vertices that were added or removed have no motion."
        )
    whole = np.zeros((len(frames), len(skin.rest), 3), np.float32)
    for obj, column in zip(present, np.cumsum(counts) - counts, strict=True):
        part = skin.slices[skin.meshes.index(obj)]
        whole[:, part] = frames[:, column : column + len(obj.data.vertices)]
    return whole[:, rows]


def _own_rows(armature, skin: standing.Skin) -> np.ndarray:
    """The vertices that are moved, of meshes that the rig was made with."""
    own = np.zeros(len(skin.rest), bool)
    for obj in memory.meshes_of(armature):
        own[skin.slices[skin.meshes.index(obj)]] = True
    if not (own & skin.moved).any():
        raise Refusal(f"{armature.name} no longer moves the meshes that it was made with.")
    return np.flatnonzero(own & skin.moved)


def read(context, armature, motion: bool = True, frames: np.ndarray | None = None) -> Subject:
    """The rig as it stands, and with `motion` what it was made from, `frames` if that is at hand."""
    check(armature)
    names, times = standing.bone_names(armature), [item.frame for item in armature.ossify.frames]
    skin = standing.read_skin(armature, names)
    rows = _own_rows(armature, skin)
    with standing.alone(armature) as (scene, layer):
        transforms = standing.read_transforms(armature, scene, layer, names, times)
    if motion and frames is None:
        frames = _motion(context, armature, skin, rows)
    holds = changes.holds(armature, skin, names, changes.find(armature))
    return Subject(armature, names, skin, rows, times, transforms, frames, holds)
