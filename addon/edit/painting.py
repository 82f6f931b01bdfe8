"""Weights of a standing rig, painted by the solver: smoothed within a budget, pruned, mirrored, transferred.

Every function is a generator of steps: it reads the rig, computes all new weights, and writes those that
changed; locked vertex groups stay as they are. Errors are root mean squares in percent of the size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import bpy
import numpy as np

from .. import native
from ..base import tolerances
from ..base.handles import Handle, was_changed
from ..base.meshes import matrix_of, positions, triangles_of
from ..base.refusal import Refusal
from ..base.steps import Step, step, watch
from ..base.words import counted
from ..motion import matching
from ..native import nouns
from ..record import changes
from ..rig import skin, standing, weights
from ..rig.rewrite import write_weights
from ..rig.stand import Standing
from ..skeleton.mirror import oriented
from . import edits

_UNTOUCHED = 1e-7  # weights nearer than this are equal
_TWIN = 0.9  # share of a corner, from which on a mirrored vertex is that corner's twin
_ON_PLANE = 1e-4  # of the size: vertices nearer to the plane lie on it


@dataclasses.dataclass
class Painted:
    """What was done."""

    changed: int  # vertices
    before: float | None = None  # percent of the size; None: no motion was needed
    after: float | None = None

    def words(self) -> str:
        text = counted(self.changed, "vertex")
        return text if self.before is None else f"{text}, {error_words(self.before, self.after)}"


def error_words(before: float, after: float) -> str:
    return f"error {before:.4g} % of the size before, {after:.4g} % after"


# ---- which vertices


_UNSELECTED = "No vertex that may change is selected: select some, or turn the paint mask off."
_HELD = "All vertices that would change are held: let go of some first, by the padlocks in Refit > Hold."
_LOCKED = (
    "The weights of all bones are held, so that none can change: let go of the bones in Refit > Hold, or"
    " unlock their vertex groups."
)


def _selected(subject: Standing, only: str | None) -> tuple[np.ndarray, np.ndarray]:
    """[v] with a paint mask the selected ones, of one mesh or of all; [v] those that are held"""
    selected, held = np.zeros((2, len(subject.skin.rest)), bool)
    for obj, rows in zip(subject.skin.meshes, subject.skin.slices, strict=True):
        held[rows] = changes.held_vertices(obj.data)
        if only in (None, obj.name):
            some = np.ones(len(obj.data.vertices), bool)
            if obj.data.use_paint_mask or obj.data.use_paint_mask_vertex:
                obj.data.vertices.foreach_get("select", some)
            selected[rows] = some
    return selected[subject.rows], held[subject.rows]


def chosen(subject: Standing, only: str | None = None) -> np.ndarray:
    """[v] the vertices to paint: those that are selected, and that nothing holds. Refuses if there are none,
    in words for what stands in the way."""
    selected, held = _selected(subject, only)
    if not selected.any():
        raise Refusal(_UNSELECTED)
    if held[selected].all():
        raise Refusal(_HELD)
    free = selected & ~held & ~subject.full()
    if not free.any() or subject.holds.groups.all():
        raise Refusal(_LOCKED)
    return free


# ---- writing


def write(subject: Standing, dense: np.ndarray) -> int:
    """New weights [v][b] of sum 1; only vertices that change are written. How many those are."""
    edits.wake(subject)
    changed = np.flatnonzero((np.abs(dense - subject.weights()) > _UNTOUCHED).any(axis=1))
    bones = weights.strongest(dense[changed])
    values, at = weights.at(dense[changed], bones), subject.rows[changed]
    for obj, rows in zip(subject.skin.meshes, subject.skin.slices, strict=True):
        mine = (at >= rows.start) & (at < rows.stop)
        here = at[mine] - rows.start
        write_weights(obj, here, bones[mine], values[mine], subject.names, subject.holds.groups)
    return len(changed)


def _measured(subject: Standing, before: float, changed: int) -> Painted:
    """With the error of what is now in the vertex groups."""
    subject.place.get()[1].update()
    skin_now = standing.read_skin(subject.armature, subject.names, subject.skin.meshes)
    now = dataclasses.replace(subject, skin=skin_now)
    return Painted(changed, before, edits.note_fit(now))


def _most(subject: Standing) -> int:
    return subject.armature.ossify.settings.influences


# ---- smooth and prune


def _painted_by(verb, subject: Standing, free, *how, **named) -> Generator[Step, None, np.ndarray]:
    """[v][b] weights as a verb of the library paints them, on free vertices [v] and beside locked groups"""
    rig, dense = subject.rig(), subject.weights()
    given = dataclasses.replace(
        rig, held_vertices=(~free).astype(np.uint8), held_groups=subject.holds.groups.astype(np.uint8)
    )
    job = native.Job.start(verb, rig.rest, subject.frames, subject.triangles, given, *how, **named)
    found, _info = yield from watch(job, subject, 0.0, 1.0)
    wide = rig.influence_bones.shape[1]
    changed = (found.influence_bones[:, wide:] >= 0).any(axis=1)
    changed |= (found.influence_bones[:, :wide] != rig.influence_bones).any(axis=1)
    changed |= (found.influence_weights[:, :wide] != rig.influence_weights).any(axis=1)
    dense[changed] = nouns.dense(found.influence_bones, found.influence_weights, len(subject.names))[changed]
    return dense


def smooth(
    context, armature, budget: float, rounds: int, only: str | None = None
) -> Generator[Step, None, Painted]:
    """Smooths over the surface as far as the error grows by no more than the budget, percent of the size."""
    subject = yield from edits.read(context, armature)
    free, before = chosen(subject, only), edits.error(subject)
    distance, most = budget / 100 * subject.size, _most(subject)
    smoothed = yield from _painted_by(
        native.smooth_weights, subject, free, distance, influences=most, rounds=rounds
    )
    yield step("Building", 0.0)
    return _measured(subject, before, write(subject, smoothed))


def _check_room(subject: Standing, free: np.ndarray, most: int) -> None:
    """Refuses when locked groups leave no influence for the weight that is left beside them."""
    fixed = np.where(subject.holds.groups, subject.weights(), 0)[free]
    over = int((((fixed > 0).sum(axis=1) >= most) & (fixed.sum(axis=1) < 1 - tolerances.WEIGHT)).sum())
    if over:
        who = "1 vertex has" if over == 1 else f"{over} vertices have"
        raise Refusal(
            f"{who} more than {most - 1} weights in locked groups: unlock some, or allow more influences."
        )


def prune(context, armature, most: int, only: str | None = None) -> Generator[Step, None, Painted]:
    """At most so many influences on each vertex; those go that cost least, in the norm of the rig."""
    subject = yield from edits.read(context, armature)
    free, before = chosen(subject, only), edits.error(subject)
    _check_room(subject, free, most)
    settings = native.Settings(fairness=subject.options.fairness)
    fewer = yield from _painted_by(native.prune_weights, subject, free, most, settings=settings)
    yield step("Building", 0.0)
    return _measured(subject, before, write(subject, fewer))


# ---- mirror


def _bounded(dense: np.ndarray, most: int) -> np.ndarray:
    """The strongest influences, of sum 1."""
    bones = weights.strongest(dense, most)
    values = weights.at(dense, bones)
    shares = values / values.sum(axis=1, keepdims=True)
    return nouns.dense(bones, shares, dense.shape[1], np.float64)


def _skeleton(subject: Standing, plane: str) -> native.Skeleton:
    wishes = native.Wishes(symmetry="found")
    if plane == "X":
        wishes = native.Wishes(symmetry="given", plane=(1.0, 0.0, 0.0, 0.0))
    skeleton = native.connect(subject.rig(), subject.triangles, wishes)
    if skeleton.plane is None:
        raise Refusal(f"No plane mirrors {subject.armature.name} at rest: take its X axis.")
    return skeleton


def _partners(names: list[str], mirrors: np.ndarray) -> np.ndarray:
    """[b] the bone on the other side: by its name, or, where that names no side, as the weights lie."""
    number = {name: b for b, name in enumerate(names)}
    flipped = [bpy.utils.flip_name(name) for name in names]
    return np.array(
        [number.get(other, -1) if other != names[b] else mirrors[b] for b, other in enumerate(flipped)]
    )


def _beside(dense: np.ndarray, new: np.ndarray, locked: np.ndarray) -> np.ndarray:
    """New weights for all groups but the locked ones, which keep theirs; the sum stays 1."""
    fixed = np.where(locked, dense, 0)
    loose = np.where(locked, 0, new)
    total = loose.sum(axis=1, keepdims=True)
    left = 1 - fixed.sum(axis=1, keepdims=True)
    return np.where(total > 0, fixed + loose / np.where(total > 0, total, 1) * left, dense)


def _mirrored(dense: np.ndarray, found: matching.Match, partners: np.ndarray, names: list[str]) -> np.ndarray:
    """[p][b] weights found on the other side, each for the bone on this one"""
    mixed = found.snapped(_TWIN).mix(dense)
    lonely = (partners < 0) & (mixed > 0).any(axis=0)
    if lonely.any():
        name = names[int(lonely.argmax())]
        raise Refusal(f"{name} has no bone on the other side: name the two alike, with .L and .R.")
    result = np.zeros_like(mixed)
    np.add.at(result.T, partners[partners >= 0], mixed[:, partners >= 0].T)
    return result


def mirror(
    context, armature, direction: str, plane: str, limit: float, only: str | None = None
) -> Generator[Step, None, Painted]:
    """Weights of one side to the other: direction LEFT_TO_RIGHT or RIGHT_TO_LEFT, +X is left; plane FOUND, X.

    Vertices in the middle get the mean of both sides.
    """
    subject = yield from edits.read(context, armature, motion=False)
    free, dense, rest = chosen(subject, only), subject.weights(), subject.rest
    name = subject.armature.name
    yield step("Solving", 0.0)
    skeleton = _skeleton(subject, plane)
    partners = _partners(subject.names, skeleton.mirrors)
    normal, level = np.split(oriented(skeleton.plane), [3])
    height = rest @ normal - level
    middle = np.abs(height) <= _ON_PLANE * subject.size
    side = height < 0 if direction == "LEFT_TO_RIGHT" else height > 0
    rows = np.flatnonzero(free & (side | middle))
    if not len(rows):
        raise Refusal(
            f"No vertex of {name} that may change is on that side: take the other direction, or select some."
        )
    triangles = subject.triangles
    across = rest - 2 * height[:, None] * normal
    found = matching.match(across, triangles[:, ::-1], rest, triangles, limit).some(rows)
    matching.check(found, f"the mirror image of {name}", name, limit)
    yield step("Building", 0.0)
    new = _mirrored(dense, found, partners, subject.names)
    new[middle[rows]] = 0.5 * (new + dense[rows])[middle[rows]]
    result = dense.copy()
    most = max(_most(subject), int((dense > 0).sum(axis=1).max()))
    result[rows] = _beside(dense[rows], _bounded(new, most), subject.holds.groups)
    return Painted(write(subject, result))


# ---- transfer


def _check_copy(obj, armature) -> None:
    if obj.type != "MESH":
        raise Refusal(f"{obj.name} is not a mesh ({obj.type.replace('_', ' ').lower()}).")
    sentence = edits.trouble(obj)
    if sentence:
        raise Refusal(sentence)
    if not len(obj.data.vertices):
        raise Refusal(f"{obj.name} has no vertices.")
    if any(mesh.data == obj.data for mesh in standing.meshes_of(armature)):
        raise Refusal(f"{obj.name} shares its mesh with {armature.name}: make it a mesh of its own.")
    others = [m.object for m in obj.modifiers if m.type == "ARMATURE" and m.object not in (None, armature)]
    if others:
        raise Refusal(f"{obj.name} is moved by {others[0].name}: remove that Armature modifier.")


def _found_on_rig(armature, source: standing.Skin, copy, limit: float) -> matching.Match:
    place = np.linalg.inv(matrix_of(armature)) @ matrix_of(copy)
    points = positions(copy.data).astype(np.float64) @ place[:3, :3].T + place[:3, 3]
    lost = ~np.isfinite(points).all(axis=1)
    if lost.any():
        raise Refusal(f"{copy.name} has no finite position for vertex {int(lost.argmax())}.")
    rest = source.rest[source.moved]
    found = matching.match(points, triangles_of(copy.data), rest, source.moved_triangles, limit)
    matching.check(found, copy.name, armature.name, limit)
    return found


def _put(copy, armature, names: list[str], new: np.ndarray) -> None:
    """Weights [v][b], in groups of their own, and the modifier."""
    bones = weights.strongest(new)
    for name in names:
        if name in copy.vertex_groups:
            copy.vertex_groups.remove(copy.vertex_groups[name])
    write_weights(copy, np.arange(len(new)), bones, weights.at(new, bones), names)
    if not any(m.type == "ARMATURE" and m.object == armature for m in copy.modifiers):
        skin.bind(copy, armature)


def transfer(context, armature, copies: list, limit: float) -> Generator[Step, None, Painted]:
    """Weights to other meshes of the same shape, by position at rest; they get the Armature modifier.

    Places count as they are in the world when nothing is posed. A copy is not made a child of the armature:
    it follows by its modifier, and the rig's own meshes stay those that it was made from.
    """
    edits.check(armature)
    for copy in copies:
        _check_copy(copy, armature)
    names = standing.bone_names(armature)
    source = standing.read_skin(armature, names)
    dense = source.weights[source.moved]
    most = max(armature.ossify.settings.influences, int((dense > 0).sum(axis=1).max()))
    handle, handles = Handle.of("objects", armature), [Handle.of("objects", copy) for copy in copies]
    found = []
    for number, copy in enumerate(handles):
        yield step("Reading", number / len(handles))
        match = _found_on_rig(handle.get(), source, copy.get(), limit)
        found.append(_bounded(match.mix(dense), most))
    for copy, new in zip(handles, found, strict=True):
        _check_copy(copy.get(), handle.get())
        if len(copy.get().data.vertices) != len(new):
            raise was_changed(copy)
    for copy, new in zip(handles, found, strict=True):
        _put(copy.get(), handle.get(), names, new)
    context.view_layer.update()
    return Painted(sum(map(len, found)))
