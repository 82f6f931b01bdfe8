"""What an edit of a standing rig starts from: its bones, skin, transforms and motion as arrays, or a refusal.

An edit reads all it needs, computes, and only then writes: what goes wrong leaves the rig as it was.
"""

from __future__ import annotations

import dataclasses

import bpy
import numpy as np

from . import native, standing
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
    """A standing rig; vertices are those that the armature moves, rows [v] of the skin."""

    armature: object
    names: list[str]  # of deform bones
    skin: standing.Skin
    rows: np.ndarray  # [v] in the skin
    times: list[int]
    transforms: np.ndarray  # [f][b][4][4] rest to frame, as Blender evaluates them
    frames: np.ndarray | None  # [f][v][3] what the rig was made from; None: not asked for

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
        return self.skin.moved_triangles()

    def locked(self) -> np.ndarray:
        """[b] whether a mesh has the bone's vertex group locked"""
        groups = [obj.vertex_groups for obj in self.skin.meshes]
        return np.array([any(g[name].lock_weight for g in groups if name in g) for name in self.names], bool)

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


def _motion(context, armature, skin: standing.Skin) -> np.ndarray:
    """[f][v][3] of the skin's vertices in the armature's space, captured again from the sources"""
    record, layer = armature.ossify, context.view_layer
    found = [item.object for item in record.sources]
    if not found or any(obj is None or layer.objects.get(obj.name) != obj for obj in found):
        raise Refusal(f"The source of {armature.name} is not in this view layer, and its motion is needed.")
    options = record.settings.options()
    if options.frames != "POSES":
        options.frames, options.frame_start, options.frame_end = (
            "CUSTOM",
            record.first_frame,
            record.last_frame,
        )
    with _Shown(layer, found):
        motion = _value(capture(context.scene, layer, found, options))
    if motion.frames.shape[:2] != (len(record.frames), len(skin.rest)):
        raise Refusal(
            f"{armature.name} has {len(skin.rest)} vertices and {len(record.frames)} frames, and its source"
            f" {motion.frames.shape[1]} and {motion.frames.shape[0]}: they must be the same."
        )
    return motion.frames


def read(context, armature, motion: bool = True) -> Subject:
    """The rig as it stands, and with `motion` what it was made from; the scene stays as it is."""
    check(armature)
    record, names = armature.ossify, standing.bone_names(armature)
    times = [item.frame for item in record.frames]
    skin = standing.read_skin(armature, names)
    rows = np.flatnonzero(skin.moved)
    with standing.alone(armature) as (scene, layer):
        transforms = standing.read_transforms(armature, scene, layer, names, times)
    frames = _motion(context, armature, skin)[:, rows] if motion else None
    return Subject(armature, names, skin, rows, times, transforms, frames)
