"""What an edit of a standing rig starts from: its bones, skin, transforms and motion as arrays, or a refusal.

An edit is a generator of steps. It reads all it needs, computes, and only then writes: what goes wrong, or is
cancelled, leaves the rig as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.handles import Place
from ..base.refusal import Refusal
from ..base.steps import Step, each, run, step
from ..base.words import listed
from ..motion import sources
from ..nodes import volume
from ..record import changes, reading, recapture
from ..refit import facts, refit_check
from ..rig import corrected, correcting, correctives, heat, played, standing, virtual_bones
from ..rig.stand import Standing
from ..rig.trial import keyed_of

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
    return virtual_bones.trouble(obj) if obj.type == "ARMATURE" else None


def check(armature) -> None:
    """Refuses what is no rig of Ossify's, or one that cannot be changed."""
    for obj in (armature, *standing.meshes_of(armature)):
        sentence = trouble(obj)
        if sentence:
            raise Refusal(sentence)
    standing.check(armature)


def wake(subject: Standing) -> None:
    """Before it is written to: refuses a rig that was changed since."""
    armature = subject.armature
    sentence = next(filter(None, map(trouble, (armature, *standing.meshes_of(armature)))), None)
    if sentence:
        raise Refusal(sentence)
    reading.wake(subject)


def error(subject: Standing) -> float:
    """Root mean square in percent of the size, with the weights that Blender uses."""
    rig = subject.rig(subject.skin.weights[subject.skin.moved])
    return 100 * native.evaluate(rig.rest, subject.frames, rig, replay=False).rms / subject.size


def _subject(place: Place, armature, seen: changes.Seen) -> Standing:
    """Without its motion. Vertices with more than all of their weight in held groups are held."""
    subject = reading.stand(place, armature, seen)
    vertices = subject.holds.vertices.copy()
    vertices[subject.rows] |= subject.full()
    return dataclasses.replace(subject, holds=dataclasses.replace(subject.holds, vertices=vertices))


def check_keys(armature, changed: changes.Changes | None = None) -> None:
    """Refuses a rig that shows another motion than it did, until it is refitted; changed: as it was found."""
    changed = changed or changes.find(armature)
    if facts.rebased_bones(armature, changed, standing.bone_names(armature)).any():
        names = listed(list(dict.fromkeys([*changed.moved, *changed.reparented])))
        raise Refusal(
            f"{names}: moved or hung elsewhere since the last refit, and keyed for the old place. Refit"
            f" {armature.name} first, or put them back."
        )


def _check_moved(subject: Standing) -> None:
    """Refuses a rig with vertices that have lost their weights, unless that is how they are kept: they would
    not count, however far they are off."""
    lost = ~subject.skin.moved & ~subject.holds.vertices
    for handle, rows in zip(subject.skin.handles, subject.skin.slices, strict=True):
        count = int(lost[rows].sum())
        if count:
            words = "1 vertex follows" if count == 1 else f"{count} vertices follow"
            raise Refusal(
                f"{words} no bone in {handle.name}: refit {subject.handle.name} first, for weights of theirs."
            )


def read(context, armature, motion: bool = True) -> Generator[Step, None, Standing]:
    """The rig as it stands, and with `motion` what it was made from; by that no rig is judged whose keys mean
    another motion."""
    if motion:
        virtual_bones.refuse(armature)
        seen = refit_check.check(armature)
        check_keys(armature, seen.changes)
    else:
        check(armature)
        seen = changes.look(armature)
    subject = _subject(Place.of(context.scene, context.view_layer), armature, seen)
    if motion:
        _check_moved(subject)
    yield step("Reading", 0.0)
    if motion:
        found = yield from each("Reading", recapture.motion_of(subject, "KEPT"))
        subject = dataclasses.replace(subject, frames=np.ascontiguousarray(found.frames[:, subject.rows]))
    subject.check_sources()
    return subject


def read_again(subject: Standing) -> Standing:
    """The rig as it stands after an edit; its motion is the same."""
    after = _subject(subject.place, subject.armature, refit_check.check(subject.armature))
    return dataclasses.replace(after, frames=subject.frames)


# ---- how well it fits now


def _spread(subject: Standing, values: np.ndarray) -> list[np.ndarray]:
    """[v] values of the subject's vertices, for each mesh; 0 where nothing moves"""
    whole = np.zeros(len(subject.skin.rest), np.float32)
    whole[subject.rows] = values
    return [whole[rows] for rows in subject.skin.slices]


def _corrected_again(subject: Standing) -> native.Rig:
    """The rig for the library; its correctives are for the bones and weights that it has now."""
    armature, skin = subject.armature, subject.skin
    rig = subject.rig(skin.weights[skin.moved])
    if not correctives.names_of(armature):
        return rig
    held = corrected.held_of(armature, skin.meshes)
    body = corrected.body_of(armature, subject.names, skin, subject.frames, subject, held)
    found = run(correcting.solve(body, corrected.wish_of(armature)))
    tracked = corrected.tracked_of(armature, skin.meshes)
    corrected.take_off(armature, skin.meshes, held)
    corrected.put_on(armature, skin.meshes, skin, found, subject.names, subject.size)
    corrected.carry(armature, skin.meshes, tracked, subject.size)
    subject.place.get()[1].update()
    return corrected.with_them(rig, armature, skin.meshes, subject.rows)


def note_fit(subject: Standing, played_rig: native.Rig | None = None) -> float:
    """Writes the error of a rig onto its record and its meshes, for the panel and the heat map; percent of
    the size. Correctives are solved again first, unless played_rig, the rig with them, is given."""
    armature, record, percent = subject.armature, subject.armature.ossify, 100 / subject.size
    rig = played_rig or _corrected_again(subject)
    triangles = subject.triangles if len(subject.triangles) else None
    found = native.evaluate(rig.rest, subject.frames, rig, triangles=triangles)
    distances = percent * np.linalg.norm(found.frames - subject.frames, axis=2)
    record.bones, record.erms = len(subject.names), found.erms
    record.rms, record.mean = percent * found.rms, float(distances.mean())
    record.percentile_95 = float(np.percentile(distances, 95))
    record.maximum = percent * found.maximum
    row = int(subject.rows[found.worst_vertex])
    for handle, rows in zip(subject.skin.handles, subject.skin.slices, strict=True):
        if rows.start <= row < rows.stop:
            record.worst_object, record.worst_vertex = handle.get().name, row - rows.start
    record.worst_frame = int(record.frames[found.worst_frame].frame)
    record.worst_frame_error = percent * float(found.frame_error.max())
    for item, error in zip(record.frames, found.frame_error, strict=True):
        item.error = percent * float(error)
    for clip, rows in played.recorded(armature):
        clip.rms = percent * float(np.sqrt(np.square(found.frame_error[rows]).mean()))
    keyed = keyed_of(armature, [subject.root, *subject.names])
    record.keys, record.keys_if_every = keyed.keys, keyed.keys_if_every
    for obj, errors in zip(subject.skin.meshes, _spread(subject, percent * found.vertex_error), strict=True):
        heat.store(obj.data, errors)
    if found.vertex_degrees is not None:
        record.normal_degrees = found.normal_degrees
        degrees = np.nan_to_num(found.vertex_degrees)
        for obj, some in zip(subject.skin.meshes, _spread(subject, degrees), strict=True):
            heat.store(obj.data, some, heat.NORMALS)
    heat.recolour(armature)
    volume.renew(armature, subject.names, subject.skin, rig, subject.frames)
    return record.rms
