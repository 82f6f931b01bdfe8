"""Correctives of a conversion: solved for the rig as Blender plays it, and put onto it in its workshop."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.steps import Step
from ..base.surface import diagonal
from ..motion.capture import Motion
from ..options.options import Options
from ..rig import actions, corrected, correcting, correctives, roles, standing
from ..rig.build import Built
from ..rig.keying import tolerance_of


def _played(built: Built, motion: Motion, names: list[str]) -> np.ndarray:
    """[f][b][4][4] as the keys have it"""
    armature, scene, found = built.armature.get(), built.workshop.get(), []
    for handle, clip in built.actions:
        actions.assign(armature, handle.get())
        times = motion.times[clip.rows].tolist()
        found.append(standing.read_transforms(armature, scene, scene.view_layers[0], names, times))
    actions.assign(armature, built.actions[0][0].get())
    return np.concatenate(found)


def _body(built: Built, motion: Motion, rig: native.Rig, options: Options) -> correcting.Body:
    armature = built.armature.get()
    moved = _played(built, motion, [*built.bones, roles.root_of(armature)])
    return correcting.Body(
        (rig.rest, motion.frames, motion.triangles),
        dataclasses.replace(rig.released(), transforms=np.ascontiguousarray(moved[:, :-1, :3])),
        built.bones,
        standing.parents_of(armature, built.bones),
        standing.heads_of(armature, built.bones),
        moved[:, -1],
        native.Settings(bones=rig.bones, influences=options.most_influences, threads=options.threads),
        motion,
        options.bone_kind == "FLEXIBLE",
    )


def _put(built: Built, motion: Motion, options: Options, shapes: correctives.Shapes) -> None:
    armature, meshes = built.armature.get(), [handle.get() for handle in built.meshes]
    built.workshop.get().view_layers[0].update()
    correctives.put(armature, meshes, [part.vertices for part in motion.parts], shapes, built.bones)
    if shapes.map is None:
        size = diagonal(motion.rest.astype(np.float64))
        exact = correctives.tolerances_of(shapes.fields, tolerance_of(options, size, bool(motion.poses)))
        for handle, clip in built.actions:
            actions.assign(armature, handle.get())
            rows = clip.rows
            correctives.key_clip(armature, handle.get(), motion.times[rows], shapes.values[rows], exact)
        actions.assign(armature, built.actions[0][0].get())


def correct(
    built: Built, motion: Motion, rig: native.Rig, info: native.Info, options: Options
) -> Generator[Step, None, tuple[native.Rig, native.Info]]:
    """The rig with them, as far as they pay, and how well it fits; the report says what they are worth."""
    body = _body(built, motion, rig, options)
    wish = correcting.Wish(options.correctives, options.corrective_count, options.corrective_budget)
    found = yield from correcting.solve(body, wish)
    motion.notes.append(found.note)
    corrected.note_wish(built.armature.get(), wish)
    built.armature.get().ossify.correctives_note = found.note
    if found.shapes is None:
        return rig, info
    _put(built, motion, options, found.shapes)
    whole = dataclasses.replace(rig, fields=found.shapes.fields, coefficients=found.shapes.values)
    fit = native.evaluate(motion.rest, motion.frames, whole, replay=False)
    percent = 100 / (fit.diagonal or 1.0)
    errors = {"rms_percent": percent * fit.rms, "maximum_percent": percent * fit.maximum}
    return whole, info._replace(erms=fit.erms, **errors)
