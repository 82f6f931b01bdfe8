"""Unwrap for Motion: a UV map of a mesh that moves, relaxed for all frames at once.

It begins from the active map, or from one that Blender makes along the seams, and is written as a new map:
the one that is there stays. No rig is needed. How much each face is stretched is stored on the mesh
(stretched.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator, Iterator

import bpy
import numpy as np

from .. import native
from ..base.handles import Handle, was_changed
from ..base.refusal import Refusal
from ..base.steps import Step, each, step, watch
from ..base.words import counted
from ..motion import sources
from ..motion.capture import Motion, capture, check
from ..options.options import Options, UnwrapOptions
from . import first_map, stretched

MOST_MAPS = 8  # UV maps of a mesh, by Blender
_NO_AREA = 1e-12  # of the unit square: a map that covers less is none


@dataclasses.dataclass
class Unwrapped:
    """What was done. Stretch is in percent, and 0 where a texture is nowhere stretched."""

    object: str
    map: str
    frames: int
    islands: int
    restarted: int
    left: int
    flipped_before: int
    flipped: int
    stretch_before: float
    stretch: float
    rest_stretch_before: float
    rest_stretch: float
    notes: list[str]

    def sentence(self) -> str:
        return (
            f"{self.map}: stretch over {counted(self.frames, 'frame')} {self.stretch_before:.3g} % before,"
            f" {self.stretch:.3g} % after;"
            f" at rest {self.rest_stretch_before:.3g} % before, {self.rest_stretch:.3g} % after"
        )

    def to_json(self) -> dict:
        return dataclasses.asdict(self)


# ---- the mesh as arrays


def _triangles(mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[t][3] vertices, [t][3] corners of faces, [t] faces"""
    mesh.calc_loop_triangles()
    count = len(mesh.loop_triangles)
    found = []
    for name, width in (("vertices", 3), ("loops", 3), ("polygon_index", 1)):
        flat = np.empty(width * count, np.int32)
        mesh.loop_triangles.foreach_get(name, flat)
        found.append(flat.reshape(-1, 3) if width == 3 else flat)
    return tuple(found)


def _uv_of(layer) -> np.ndarray:
    """[corner][2]"""
    flat = np.empty(2 * len(layer.data), np.float32)
    layer.data.foreach_get("uv", flat)
    return flat.reshape(-1, 2)


def _covers_nothing(uv: np.ndarray) -> bool:
    """Of uv [t][3][2]: a map that was never made."""
    a, b = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    return not float(np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum()) > _NO_AREA


# ---- what cannot be


def trouble(obj, view_layer) -> str | None:
    """Why the object cannot be unwrapped, in one sentence; None when it can. In Edit Mode it can."""
    if obj is None or obj.type != "MESH":
        return "Select a mesh that moves."
    if obj.mode == "EDIT":
        return sources.library_trouble(obj, obj.name) or sources.library_trouble(obj.data, obj.name)
    return sources.trouble(obj, view_layer) or sources.library_trouble(obj.data, obj.name)


def _check_mesh(obj) -> None:
    sentence = sources.library_trouble(obj.data, obj.name)
    if sentence:
        raise Refusal(sentence)
    if not len(obj.data.polygons):
        raise Refusal(f"{obj.name} has no faces: only a surface can be unwrapped.")
    if len(obj.data.uv_layers) >= MOST_MAPS:
        raise Refusal(f"{obj.name} has {MOST_MAPS} UV maps, and no room for another: remove one.")


def _capture_options(options: UnwrapOptions) -> Options:
    fields = ("frames", "frame_start", "frame_end", "frame_step")
    return Options(**{name: getattr(options, name) for name in fields})


def check_first(scene, view_layer, obj, options: UnwrapOptions) -> None:
    """Refuses, before anything is read, what can be seen at once."""
    native.library()
    sentence = trouble(obj, view_layer)
    if sentence:
        raise Refusal(sentence)
    if obj.mode != "EDIT":
        _check_mesh(obj)
        check(scene, view_layer, [obj], _capture_options(options))


# ---- the work


@contextlib.contextmanager
def _out_of_edit_mode(handle: Handle) -> Iterator[None]:
    """A mesh in Edit Mode is not up to date; it goes back there."""
    editing = handle.get().mode == "EDIT"
    if editing:
        bpy.ops.object.mode_set(mode="OBJECT")
    try:
        yield
    finally:
        obj = handle.find()
        if editing and obj is not None and bpy.context.view_layer.objects.active == obj:
            bpy.ops.object.mode_set(mode="EDIT")


def _own_mesh(motion: Motion, name: str) -> None:
    if not motion.parts[0].own_mesh:
        raise Refusal(
            f"The modifiers of {name} change its vertices or faces, and a UV map is of the mesh itself:"
            " turn them off, or apply them."
        )


def _begin(obj, corners: np.ndarray, notes: list[str]) -> np.ndarray:
    """[t][3][2] the map to begin with"""
    layer = obj.data.uv_layers.active
    if layer is not None:
        uv = _uv_of(layer)[corners]
        if not _covers_nothing(uv):
            return uv
    uv, words = first_map.make(obj)
    notes.append(words)
    return uv[corners]


def _write(obj, name: str, corners: np.ndarray, uv: np.ndarray) -> str:
    """The name of the new map, which is the active one then."""
    mesh = obj.data
    before = None if mesh.uv_layers.active is None else _uv_of(mesh.uv_layers.active)
    layer = mesh.uv_layers.new(name=name, do_init=True)
    if layer is None:
        raise Refusal(f"{obj.name} has no room for another UV map: remove one.")
    flat = _uv_of(layer) if before is None else before
    flat[corners.ravel()] = uv.reshape(-1, 2)
    layer.data.foreach_set("uv", flat.ravel())
    layer.active = layer.active_render = True
    mesh.update()
    return layer.name


def _notes_of(found: native.Unwrapped, info: native.Info) -> list[str]:
    notes = [info.message] if info.message else []
    if found.restarted:
        notes.append(f"{counted(found.restarted, 'island')} had flipped faces and began anew.")
    return notes


def unwrap(scene, view_layer, obj, options: UnwrapOptions) -> Generator[Step, None, Unwrapped]:
    """The steps; its value is what was done."""
    handle = Handle.of("objects", obj)
    with _out_of_edit_mode(handle):
        _check_mesh(handle.get())
        reading = capture(scene, view_layer, [handle.get()], _capture_options(options))
        motion = yield from each("Reading", reading)
        _own_mesh(motion, handle.name)
        vertices, corners, faces = _triangles(handle.get().data)
        notes = list(motion.notes)
        given = _begin(handle.get(), corners, notes)
        yield step("Solving", 0)
        wish = native.Unwrapping(place=options.place.lower(), with_rest=options.with_rest)
        job = native.Job.start(native.unwrap, motion.rest, motion.frames, vertices, given, wish)
        found, info = yield from watch(job, motion, 0, 1)
        obj = handle.get()
        if obj.mode != "OBJECT" or not np.array_equal(_triangles(obj.data)[1], corners):
            raise was_changed(obj)
        name = _write(obj, options.name, corners, found.uv)
        stretched.store(obj.data, faces, found.triangle_stretch)
        stretched.recolour(obj)
        figures = [getattr(found, field.name) for field in dataclasses.fields(Unwrapped)[3:12]]
        return Unwrapped(obj.name, name, len(motion.frames), *figures, notes + _notes_of(found, info))
