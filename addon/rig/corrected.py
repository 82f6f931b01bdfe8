"""A rig that plays and its correctives: read as what correctives are solved for, and given those that were.

Both of a rig that stands and of a copy that is tried. Correctives that the artist holds (correctives.py) stay
where they are, shape and driver; only their keyed values follow.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import native
from ..base.refusal import Refusal
from ..options.options import Options
from . import correcting, correctives, drivers, keys, played, roles, standing
from .keying import tolerance_of
from .stand import Standing


def wish_of(armature) -> correcting.Wish:
    """What its correctives were asked to be."""
    record = armature.ossify
    count = record.correctives_count or len(correctives.names_of(armature))
    kind = "DRIVEN" if correctives.are_driven(armature) else "KEYED"
    return correcting.Wish(kind, max(count, 1), record.correctives_budget)


def note_wish(armature, wish: correcting.Wish) -> None:
    armature.ossify.correctives_count, armature.ossify.correctives_budget = wish.count, wish.budget


def held_of(armature, meshes: list) -> correctives.Held | None:
    """Of all vertices; None: nothing is held"""
    every, names = correctives.names_of(armature), correctives.held_names(armature, meshes)
    if not names:
        return None
    values = correctives.read_values(armature, meshes)
    columns = [every.index(name) for name in names]
    fields = correctives.read_fields(armature, meshes, names)
    return correctives.Held(names, fields, np.ascontiguousarray(values[:, columns]))


def _hang_directly(armature, names: list[str], above) -> bool:
    """Whether a bone's own rotation is that against the bone it is said to hang from."""
    bones, root = armature.data.bones, roles.root_of(armature)
    parents = [root if b < 0 else names[b] for b in above]
    pairs = ((bones[name].parent, parent) for name, parent in zip(names, parents, strict=True))
    return all(bone is not None and bone.name == parent for bone, parent in pairs)


def body_of(
    armature, names: list[str], skin: standing.Skin, frames: np.ndarray, subject: Standing, held=None
) -> correcting.Body:
    """names and skin as they are now; frames [f][r][3] of the moved vertices; held: of all vertices"""
    moved = played.read_transforms(armature, [*names, roles.root_of(armature)])
    above, rows = standing.parents_of(armature, names), np.flatnonzero(skin.moved)
    rest = np.ascontiguousarray(skin.rest[rows], np.float32)
    rig = native.Rig(
        np.ascontiguousarray(moved[:, :-1, :3]), *standing.sparse(skin.weights[skin.moved]), rest
    )
    if held is not None:
        held = dataclasses.replace(held, fields=np.ascontiguousarray(held.fields[:, rows]))
    flexible = subject.options.bone_kind == "FLEXIBLE" or not _hang_directly(armature, names, above)
    return correcting.Body(
        (rest, frames, skin.moved_triangles),
        rig,
        names,
        above,
        standing.heads_of(armature, names),
        moved[:, -1],
        subject.settings(len(names), rig.influence_bones.shape[1]),
        subject,
        flexible,
        held,
    )


# ---- written


def _spread(skin: standing.Skin, shapes: correctives.Shapes) -> correctives.Shapes:
    """To all vertices, also those that nothing moves."""
    fields = np.zeros((len(shapes.names), len(skin.rest), 3), np.float32)
    fields[:, skin.moved] = shapes.fields
    return dataclasses.replace(shapes, fields=fields)


def _key(armature, fields: np.ndarray, values: np.ndarray, size: float) -> None:
    """values [f][n] of all correctives"""
    options = Options.of(armature.ossify.settings)
    exact = correctives.tolerances_of(fields, tolerance_of(options, size, options.frames == "POSES"))
    for clip in played.of(armature):
        if clip.action is None:
            raise Refusal(f"{armature.name} has no action to key correctives in: choose Driven.")
        with played.playing(armature, clip):
            correctives.key_clip(armature, clip.action, clip.times, values[clip.rows], exact)


def take_off(armature, meshes: list, held: correctives.Held | None) -> None:
    correctives.remove(armature, meshes, held.names if held else [])


def put_on(
    armature, meshes: list, skin: standing.Skin, found: correcting.Found, bones: list[str], size: float
) -> list[str]:
    """After take_off; the names of all that there are then. skin: of the same vertices"""
    if found.shapes is None:
        return correctives.names_of(armature)
    shapes, held = _spread(skin, found.shapes), correctives.names_of(armature)
    correctives.put(armature, meshes, skin.slices, shapes, bones)
    names = correctives.names_of(armature)
    if shapes.map is None:
        kept = correctives.read_fields(armature, meshes, held)
        mine = found.held_values if held else shapes.values[:, :0]
        fields, values = np.concatenate([kept, shapes.fields]), np.concatenate([mine, shapes.values], axis=1)
        _key(armature, fields, values, size)
    armature.ossify.correctives_note = found.note
    return names


def with_them(rig: native.Rig, armature, meshes: list, rows: np.ndarray) -> native.Rig:
    """The rig for the library, of the rows, with correctives as Blender evaluates them."""
    if not correctives.names_of(armature):
        return rig
    fields = correctives.read_fields(armature, meshes)[:, rows]
    values = correctives.read_values(armature, meshes)
    return dataclasses.replace(rig, fields=np.ascontiguousarray(fields), coefficients=values)


# ---- clips that have no motion to be solved for


@dataclasses.dataclass(frozen=True)
class Tracked:
    """Keyed values of clips that were tracked onto a rig, to be carried over to other fields."""

    names: list[str]
    fields: np.ndarray  # [n][v][3]
    clips: list[tuple[object, np.ndarray, np.ndarray]]  # action, times [f], values [f][n]


def tracked_of(armature, meshes: list) -> Tracked | None:
    """None: there are none, or they are driven"""
    names = correctives.names_of(armature)
    if not names or correctives.are_driven(armature) or not played.tracked(armature):
        return None
    clips = []
    for clip in played.tracked(armature):
        curves = {
            curve.data_path: curve for bag in keys.bags_of(armature, clip.action) for curve in bag.fcurves
        }
        times = np.arange(clip.first_frame, clip.last_frame + 1, clip.frame_step, dtype=np.float64)
        values = np.zeros((len(times), len(names)))
        for n, name in enumerate(names):
            curve = curves.get(drivers.path_of(name))
            if curve is not None:
                values[:, n] = [curve.evaluate(time) for time in times]
        clips.append((clip.action, times, values))
    return Tracked(names, correctives.read_fields(armature, meshes), clips)


def carry(armature, meshes: list, before: Tracked | None, size: float) -> None:
    """Gives tracked clips the values with which the fields of now are nearest to those of before."""
    if before is None or not correctives.names_of(armature) or correctives.are_driven(armature):
        return
    fields = correctives.read_fields(armature, meshes)
    flat = fields.reshape(len(fields), -1).astype(np.float64)
    old = before.fields.reshape(len(before.fields), -1).astype(np.float64)
    matrix = np.linalg.lstsq(flat @ flat.T, flat @ old.T, rcond=1e-9)[0]  # [n now][n before]
    options = Options.of(armature.ossify.settings)
    exact = correctives.tolerances_of(fields, tolerance_of(options, size, False))
    for action, times, values in before.clips:
        correctives.key_clip(armature, action, times, values @ matrix.T, exact)
