"""The motion that a standing rig is fitted to: as it was kept, or its source read again."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from ..base.handles import Handle, Place, was_changed
from ..base.meshes import edges_of, matrix_of
from ..base.refusal import Refusal
from ..motion import clips
from ..motion.capture import Motion, Part
from ..options.options import Options
from ..rig import build, played, standing
from ..rig.stand import Standing
from . import memory


def takes_of(armature) -> list | None:
    """The clips of the record that are takes, each with a source of its own; None: it has none such."""
    record = armature.ossify
    return record.clips[: len(played.of(armature))] if record.settings.clips == "TAKES" else None


def objects_of(armature) -> list:
    """What the rig was made from; None for what is gone."""
    takes = takes_of(armature)
    if takes is not None:
        return [clip.source for clip in takes]
    return [item.object for item in armature.ossify.sources]


def sources_are_here(armature) -> bool:
    found = objects_of(armature)
    complete = takes_of(armature) is not None or len(found) == len(armature.ossify.meshes)
    return complete and all(found)


def _check_source(armature, motion: Motion, layer) -> None:
    """Refuses a source whose mesh is another one than the rig's."""
    for part, rows, item in zip(motion.parts, memory.columns(armature), armature.ossify.meshes, strict=True):
        found, wanted = (s.stop - s.start for s in (part.vertices, rows))
        if found != wanted:
            raise Refusal(f"{part.name} has {found} vertices, and the rig was made for {wanted}.")
        mesh = part.source.get().evaluated_get(layer.depsgraph).data
        if item.object and not np.array_equal(edges_of(mesh), edges_of(item.object.data)):
            raise Refusal(
                f"The edges of {part.name} are not those of {item.object.name}: it is another mesh."
            )


def _captured(place: Place, handle: Handle) -> Generator[float, None, memory.Kept]:
    """The source as it moves now; hidden ones are shown while they are read."""
    (scene, layer), armature = place.get(), handle.get()
    objects = objects_of(armature)
    for obj in objects:
        if obj in standing.meshes_of(armature):
            raise Refusal(f"{obj.name} is moved by {armature.name} itself: choose another source.")
    settings = Options.of(armature.ossify.settings)
    if settings.frames != "POSES":
        settings.frames = "CUSTOM"
        settings.frame_start, settings.frame_end = armature.ossify.first_frame, armature.ossify.last_frame
    with build.shown(place, objects):
        motion = yield from clips.read(scene, layer, objects, settings)
        armature, layer = handle.get(), place.get()[1]
        _check_source(armature, motion, layer)
    if len(motion.times) != len(armature.ossify.frames):
        raise Refusal(f"The source has {len(motion.times)} poses, the rig {len(armature.ossify.frames)}.")
    return memory.Kept(motion.frames, motion.rest)


def motion_of(stands: Standing, wanted: str) -> Generator[float, None, Motion]:
    """Of the vertices of the rig's skin; wanted: KEPT, or SOURCE to read it again."""
    armature, place, skin = stands.armature, stands.place, stands.skin
    kept = memory.recall(armature) if wanted == "KEPT" else None
    if kept is None:
        if not sources_are_here(armature):
            raise Refusal(f"The source of {armature.name} is gone: choose another one with the same mesh.")
        kept = yield from _captured(place, stands.handle)
        armature = stands.armature
    record, meshes = armature.ossify, memory.meshes_of(armature)
    if [len(obj.data.vertices) for obj in meshes] != [some.stop - some.start for some in skin.slices]:
        raise was_changed(armature)
    columns = memory.columns(armature)
    slices = {item.object: columns[i] for i, item in enumerate(record.meshes) if item.object}
    rows = np.concatenate([np.arange(s.start, s.stop) for s in (slices[obj] for obj in meshes)])
    back = np.linalg.inv(matrix_of(armature))
    parts = [
        Part(Handle.of("objects", obj), obj.name, some, back @ matrix_of(obj), [], True)
        for obj, some in zip(meshes, skin.slices, strict=True)
    ]
    every = len(rows) == kept.frames.shape[1] and (np.diff(rows) == 1).all()
    return Motion(
        place,
        parts,
        matrix_of(armature),
        None if kept.rest is None else np.ascontiguousarray(kept.rest[rows]),
        kept.frames if every else np.ascontiguousarray(kept.frames[:, rows]),
        np.ascontiguousarray(skin.triangles, np.int32),
        np.array([item.frame for item in record.frames], np.int32),
        [item.name for item in record.frames] if record.settings.frames == "POSES" else None,
        [],
    )
