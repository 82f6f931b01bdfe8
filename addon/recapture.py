"""The motion that a standing rig is fitted to: as it was kept, or its source read again."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from . import build, memory, standing
from .capture import Motion, Part, capture, matrix_of
from .handles import Handle, Place
from .options import Refusal


def sources_are_here(armature) -> bool:
    found = [item.object for item in armature.ossify.sources]
    return len(found) == len(armature.ossify.meshes) and all(found)


def _edges(mesh) -> np.ndarray:
    flat = np.empty(2 * len(mesh.edges), np.int32)
    mesh.edges.foreach_get("vertices", flat)
    pairs = np.sort(flat.reshape(-1, 2), axis=1)
    return pairs[np.lexsort(pairs.T)]


def _check_source(armature, motion: Motion, layer) -> None:
    """Refuses a source whose mesh is another one than the rig's."""
    for part, rows, item in zip(motion.parts, memory.columns(armature), armature.ossify.meshes, strict=True):
        found, wanted = (s.stop - s.start for s in (part.vertices, rows))
        if found != wanted:
            raise Refusal(f"{part.name} has {found} vertices, and the rig was made for {wanted}.")
        mesh = part.source.get().evaluated_get(layer.depsgraph).data
        if item.object and not np.array_equal(_edges(mesh), _edges(item.object.data)):
            raise Refusal(
                f"The edges of {part.name} are not those of {item.object.name}: it is another mesh."
            )


def _captured(scene, layer, armature) -> Generator[float, None, memory.Kept]:
    """The source as it moves now; hidden ones are shown while they are read."""
    objects = [item.object for item in armature.ossify.sources]
    settings = armature.ossify.settings.options()
    if settings.frames != "POSES":
        settings.frames = "CUSTOM"
        settings.frame_start, settings.frame_end = armature.ossify.first_frame, armature.ossify.last_frame
    hidden = [obj for obj in objects if obj.hide_viewport or obj.hide_get(view_layer=layer)]
    states = [
        (Handle.of("objects", obj), obj.hide_get(view_layer=layer), obj.hide_viewport, obj.hide_render)
        for obj in hidden
    ]
    try:
        for obj in hidden:
            build.hide(obj, layer, False)
        layer.update()
        motion = yield from capture(scene, layer, objects, settings)
        _check_source(armature, motion, layer)
    finally:
        for handle, eye, viewport, render in states:
            obj = handle.find()
            if obj is not None:
                build.hide(obj, layer, eye)
                obj.hide_viewport, obj.hide_render = viewport, render
    if len(motion.times) != len(armature.ossify.frames):
        raise Refusal(f"The source has {len(motion.times)} poses, the rig {len(armature.ossify.frames)}.")
    return memory.Kept(motion.frames, motion.rest)


def motion_of(scene, layer, armature, skin: standing.Skin, wanted: str) -> Generator[float, None, Motion]:
    """Of the skin's vertices."""
    record = armature.ossify
    kept = memory.recall(armature) if wanted == "KEPT" else None
    if kept is None:
        if not sources_are_here(armature):
            raise Refusal(f"The source of {armature.name} is gone: choose another one with the same mesh.")
        kept = yield from _captured(scene, layer, armature)
    columns = memory.columns(armature)
    slices = {item.object: columns[i] for i, item in enumerate(record.meshes) if item.object}
    rows = np.concatenate([np.arange(s.start, s.stop) for s in (slices[obj] for obj in skin.meshes)])
    back = np.linalg.inv(matrix_of(armature))
    parts = [
        Part(Handle.of("objects", obj), obj.name, some, back @ matrix_of(obj), [], True)
        for obj, some in zip(skin.meshes, skin.slices, strict=True)
    ]
    every = len(rows) == kept.frames.shape[1] and (np.diff(rows) == 1).all()
    return Motion(
        Place.of(scene, layer),
        parts,
        matrix_of(armature),
        None if kept.rest is None else np.ascontiguousarray(kept.rest[rows]),
        kept.frames if every else np.ascontiguousarray(kept.frames[:, rows]),
        np.ascontiguousarray(skin.triangles, np.int32),
        np.array([item.frame for item in record.frames], np.int32),
        [item.name for item in record.frames] if record.settings.frames == "POSES" else None,
        [],
    )
