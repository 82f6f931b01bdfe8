"""A rig solved again from what it is now: what is held stays, equal to the bit, and the rest fits around it.

    for step in refit(scene, view_layer, armature, RefitOptions()): ...  # the generator's value: Refitted

The motion is the one the rig was made from, as it was kept; without it, its source. Everything is tried on a
copy of the rig and measured there. The rig itself is written at the very end, and only if the error did not
rise; an error, or closing the generator, leaves it as it was.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Generator
from typing import NamedTuple

import bpy
import numpy as np

from .. import native
from ..convert import Clock, Step, each, step
from ..motion import sources
from ..motion.capture import Motion
from ..motion.recapture import motion_of, sources_are_here
from ..options import RefitOptions, Refusal
from ..rig import actions, channels, heat, played, report, rewrite, rig_record, standing
from ..rig.handles import Handle, Place, was_changed
from ..rig.keying import Keyed
from ..rig.trial import Trial, keyed_of
from . import amend, applied, joint_refit, memory, other_clips, refit_start, relocation, renamed
from .changes import HELD, Changes, find, note
from .refit_solve import may_tie, solve
from .refit_start import Start, start_of

_WHOLE = 1e-5  # weights whose sum is nearer to 1 are whole
_RISEN = 1e-5  # relative: an error that is larger by more has risen
_ROUNDING = 1e-6  # of the size: what it may rise by when new bones are given vertices
_PART = 0.1  # seconds that a rig is played for in one step, at least
_SHORT = 1.02  # times what the solver promised: what Blender shows is another motion


class Line(NamedTuple):
    """A bone or a mesh, before and after; root mean square in percent of the size."""

    name: str
    before: float
    after: float


class Refitted(NamedTuple):
    armature: object
    written: bool  # False: nothing better was found, and nothing was changed
    before: report.Report
    after: report.Report
    bones: list[Line]
    meshes: list[Line]
    changes: Changes
    notes: list[str]  # for the artist, a sentence each


# ---- whether it can be done


def trouble(armature) -> str | None:
    """Why the rig cannot be refitted, in one sentence; None when it can. Quick, for panels."""
    record = armature.ossify
    objects = [armature, *(item.object for item in record.meshes if item.object)]
    for block in (*objects, *(obj.data for obj in objects), *played.made(armature)):
        linked = sources.library_trouble(block, block.name)
        if linked:
            return linked
    if armature.mode == "EDIT":
        return f"{armature.name} is in Edit Mode: go back to Object Mode or Pose Mode."
    for item in record.meshes:
        if item.object and item.object.mode in {"EDIT", "SCULPT", "VERTEX_PAINT", "TEXTURE_PAINT"}:
            return (
                f"{item.object.name} is in {item.object.mode.replace('_', ' ').title()} Mode: leave it first."
            )
    if record.memory is None or "bones" not in record.memory:
        return f"{armature.name} remembers nothing of how it was made: convert its source again."
    if not memory.meshes_of(armature):
        return _no_mesh(armature)
    if not memory.is_kept(armature) and not sources_are_here(armature):
        return _no_motion(armature)
    return played.trouble(armature)


def _no_mesh(armature) -> str:
    for item in armature.ossify.meshes:
        if item.object and any(m.type == "ARMATURE" and m.object == armature for m in item.object.modifiers):
            return (
                f"{item.object.name} is not a child of {armature.name} any more: parent it to the armature"
                " again, as an object."
            )
    return f"{armature.name} moves none of the meshes that it was made with."


def _no_motion(armature) -> str:
    file, choose = bpy.path.basename(armature.ossify.motion_file), "choose another one with the same mesh."
    if not file:
        return f"The motion of {armature.name} was not kept, and its source is gone: {choose}"
    return (
        f"The motion of {armature.name} is kept in {file}, which is not beside this .blend, and its source is"
        f" gone: put the file there, or {choose}"
    )


def check(armature) -> tuple[memory.Snapshot, Changes]:
    """Refuses what cannot be refitted; the rig as it is, and what has changed."""
    native.library()
    sentence = trouble(armature)
    if sentence:
        raise Refusal(sentence)
    standing.check(armature)
    renamed.check(armature)
    now = memory.read(armature)
    changes = find(armature, now)
    if changes.retopologised:
        raise Refusal(
            f"{changes.retopologised[0]} has other vertices or faces than when the rig was made: the motion"
            " does not fit it any more. Undo that, or convert the source again."
        )
    applied.check(armature, now, changes.moved)
    return now, changes


# ---- writing


@dataclasses.dataclass
class Written:
    """What is to be written: only what is another than before."""

    transforms: np.ndarray  # [f][b][4][4]
    held: np.ndarray  # [f][b]
    weighted: np.ndarray  # [v]
    shaped: np.ndarray  # [v]
    rig: native.Rig
    heads: dict[str, np.ndarray]  # of bones whose joints are elsewhere
    moves: relocation.Moves = dataclasses.field(default_factory=relocation.Moves)  # bones that left
    keys: dict[int, rewrite.Keys] = dataclasses.field(default_factory=dict)  # by clip, once they were planned


def _below(armature, names: list[str], changed: np.ndarray) -> np.ndarray:
    """[f][b] changed, or below a bone that is"""
    result = changed.copy()
    number = {name: b for b, name in enumerate(names)}
    for b, name in enumerate(names):
        for above in armature.data.bones[name].parent_recursive:
            if above.name in number:
                result[:, b] |= changed[:, number[above.name]]
    return result


def _to_write(armature, start: Start, rig: native.Rig) -> Written:
    before, after, new = start.rig.dense_weights(), rig.dense_weights(), start.new
    changed = np.zeros(start.free.shape, bool)
    solved = start.claimed.bones
    changed[:, :solved] = (rig.transforms[:, :solved] != start.claimed.transforms).any(axis=(2, 3))
    changed &= start.free
    changed |= start.rebased & ~_told(armature, start.names)
    if new:
        changed[:, -new:] = True
    turned = joint_refit.turned(armature, start.heads) | set(start.moves.parents)
    changed |= np.array([name in turned for name in start.names])
    transforms = np.where(changed[..., None, None], channels.homogeneous(rig.transforms), start.transforms)
    total = start.skin.painted.sum(axis=1, dtype=np.float64)
    weighted = (np.pad(before, ((0, 0), (0, new))) != after).any(axis=1) | (np.abs(total - 1) > _WHOLE)
    weighted = (weighted | start.returned) & ~start.held.vertices
    shaped = ((rig.rest != start.rig.rest).any(axis=1) & ~start.held.rest) | start.reshaped
    held = ~_below(armature, start.names, changed)
    return Written(transforms, held, weighted, shaped, rig, start.heads, start.moves)


def _told(armature, names: list[str]) -> np.ndarray:
    """[b] bones that the artist told to be held"""
    return np.array([bool(armature.data.bones[name].get(HELD)) for name in names])


def _skin_after(start: Start, wanted: Written) -> standing.Skin:
    """For the boxes around what each bone moves."""
    painted = np.where(wanted.weighted[:, None], wanted.rig.dense_weights(), start.painted)
    rest = np.where(wanted.shaped[:, None], wanted.rig.rest, start.skin.rest)
    return dataclasses.replace(start.skin, painted=painted, rest=rest)


def _write(armature, meshes: list, start: Start, wanted: Written) -> Keyed:
    """Joints, weights, rest and keys; the first time, on the trial, keys are also planned."""
    relocation.hang(armature, wanted.moves)
    joint_refit.move(armature, wanted.heads)
    for obj, rows in zip(meshes, start.skin.slices, strict=True):
        some = np.flatnonzero(wanted.shaped[rows])
        if len(some):
            rewrite.write_rest(obj, armature, some, wanted.rig.rest[rows][some])
        some = np.flatnonzero(wanted.weighted[rows])
        if len(some):
            influences = wanted.rig.influence_bones[rows][some], wanted.rig.influence_weights[rows][some]
            present = start.painted[rows][some]
            rewrite.write_weights(obj, some, *influences, start.names, start.held.groups, present)
    return _write_keys(armature, start, wanted)


def _write_keys(armature, start: Start, wanted: Written) -> Keyed:
    """Into the action of each clip, but for those in which everything is held."""
    if not played.made(armature) and not wanted.held.all():
        actions.assign(armature, bpy.data.actions.new(armature.name))
    located, location = 0, 0.0
    options, skin = armature.ossify.settings.options(), None
    for number, clip in enumerate(played.of(armature)):
        rows = clip.rows
        if wanted.held[rows].all():
            continue
        with played.playing(armature, clip):
            if number in wanted.keys:
                keyed = rewrite.put_keys(armature, clip.action, clip.times, wanted.keys[number])
            else:
                skin = skin or _skin_after(start, wanted)
                given = wanted.transforms[rows], clip.times, start.names, options, wanted.held[rows], skin
                keyed, wanted.keys[number] = rewrite.settle_keys(armature, clip.action, *given)
        located, location = max(located, keyed.located), max(location, keyed.location)
    if wanted.held.all():
        return keyed_of(armature, start.names)
    other_clips.complete(armature, start.bones(armature))
    return dataclasses.replace(keyed_of(armature, start.names), located=located, location=location)


def _see_bound(trial, start: Start) -> None:
    """Where bones go that something else moves, once those above them, which were moved or hung elsewhere,
    are keyed to move as they did: tried on a copy."""
    changed = np.repeat((start.rebased & ~_told(trial, start.names))[None], len(start.free), axis=0)
    below = _below(trial, start.names, changed)
    bound = [
        b for b, name in enumerate(start.names) if below[0, b] and not rewrite.is_plain(trial, None, name)
    ]
    if not bound:
        return
    none = np.zeros(len(start.skin.rest), bool)
    _write_keys(trial, start, Written(start.transforms, ~below, none, none, start.rig, {}))
    found = played.read_transforms(trial, [start.names[b] for b in bound])
    start.transforms[:, bound] = found
    some = [b for b in bound if b < start.rig.bones]
    start.rig.transforms[:, some] = found[:, [bound.index(b) for b in some], :3]


# ---- how well it fits


def _info(motion: Motion, rig: native.Rig) -> native.Info:
    """Of a rig that nobody solved."""
    found = native.evaluate(motion.rest, motion.frames, rig, replay=False)
    percent = 100 / (found.diagonal or 1.0)
    status = native.Status.CONVERGED
    return native.Info(
        status, rig.bones, 0, found.erms, percent * found.rms, percent * found.maximum, 0.0, {}, ""
    )


def _by_bone(start: Start, rig: native.Rig, before: report.Report, after: report.Report) -> list[Line]:
    """Weighed by what each bone moves."""
    dense = rig.dense_weights().astype(np.float64)
    mass = np.maximum(dense.sum(axis=0), 1e-12)

    def rms(found: report.Report) -> np.ndarray:
        return 100 / found.size * np.sqrt(found.vertex_error**2 @ dense / mass)

    names = start.names[: rig.bones]  # without those that found no vertex
    return [Line(*line) for line in zip(names, rms(before).tolist(), rms(after).tolist(), strict=True)]


def _by_mesh(motion: Motion, before: report.Report, after: report.Report) -> list[Line]:
    def rms(found: report.Report, rows: slice) -> float:
        return 100 / found.size * math.sqrt(float((found.vertex_error[rows] ** 2).mean()))

    return [Line(p.name, rms(before, p.vertices), rms(after, p.vertices)) for p in motion.parts]


# ---- all of it


def _donors(start: Start, rig: native.Rig) -> np.ndarray:
    """[b] the bone itself, or, of one that claimed vertices, the one that it took the most from"""
    before, after = start.rig.dense_weights(), rig.dense_weights()
    donors, old = np.arange(len(start.names)), before.shape[1]
    donors[old:] = (before.T @ after[:, old:]).argmax(axis=0)
    return donors


def _write_tracked(armature, start: Start, wanted: Written, others: list[other_clips.Other]) -> None:
    """In actions without a motion bones go on to move as they did, and new ones as those they took from."""
    donors = _donors(start, wanted.rig)
    changed = start.rebased | (donors != np.arange(len(donors)))
    changed = _below(armature, start.names, changed[None])[0]
    if changed.any():
        for other in others:
            other.transforms = other.transforms[:, donors]
        other_clips.write(armature, others, start.names, ~changed)
        other_clips.complete(armature, start.bones(armature))


def _finish(armature, start: Start, wanted: Written, result: Refitted) -> None:
    """Into the rig itself."""
    meshes = memory.meshes_of(armature)
    if result.written:
        others = refit_start.tracked(armature, start.names, start.rebased)
        _write(armature, meshes, start, wanted)
        relocation.dress(armature, wanted.moves)
        _write_tracked(armature, start, wanted, others)
        joint_refit.note_own(armature, result.changes)
        amend.renew(armature, result.changes)
        if armature.ossify.looked:  # what is kept stays listed
            armature.ossify.looked = bool(note(armature))
    rig_record.note_refit(armature.ossify, result)
    for obj, rows in zip(meshes, start.skin.slices, strict=True):
        percent = 100 / result.after.size
        after, before = result.after.vertex_error[rows] * percent, result.before.vertex_error[rows] * percent
        heat.store(obj.data, after)
        heat.store(obj.data, after - before, heat.CHANGE)
    heat.recolour(armature)


class _Read(NamedTuple):
    """The rig in the file."""

    handle: Handle
    mark: bytes  # of what was read
    shape: tuple  # the part of it that is quickly told

    def glance(self, start: Start):
        """The armature, after a step; refuses one that cannot be written any more or to a copy of which what
        was solved cannot be written, and finds its meshes again."""
        armature = self.handle.get()
        sentence = trouble(armature)
        if sentence:
            raise Refusal(sentence)
        if _shape(armature) != self.shape:
            raise was_changed(armature)
        start.skin.meshes = memory.meshes_of(armature)
        return armature

    def wake(self, start: Start):
        """The same; refuses one that is another than was read, by as little as a key or a weight."""
        armature = self.glance(start)
        if memory.print_of(memory.read(armature)) != self.mark:
            raise was_changed(armature)
        return armature


def _shape(armature) -> tuple:
    """Its bones, and how many vertices and which groups its meshes have: these take no time to read."""
    bones = memory.read_bones(armature)
    meshes = [(len(obj.data.vertices), obj.vertex_groups.keys()) for obj in memory.meshes_of(armature)]
    return bones.names, bones.parents, bones.connected, bones.deforms, bones.rests.tobytes(), meshes


class _Attempt(NamedTuple):
    start: Start  # in whose order bones are
    solved: native.Rig
    wanted: Written
    after: report.Report
    promised: float  # percent of the size, by the solver

    @property
    def falls_short(self) -> bool:
        """Whether Blender cannot do what was solved: bones that only turn were asked to move."""
        return self.after.percent(self.after.rms) > _SHORT * self.promised


def _played(
    rig: _Read, start: Start, measuring: report.Measuring, wanted: Written | None = None
) -> Generator[float, None, None]:
    """Plays the rig, with what is wanted, if that is planned; yields how far it is, 0 to 1.

    Between two steps nothing of the work is in the file: each plays a part of the motion on a copy of its
    own. A copy is soon made, and as keys are planned soon written; no part is shorter than that takes.
    """
    while not measuring.ended:
        armature, began = rig.glance(start), time.perf_counter()
        with Trial(armature, start.skin.meshes, start.names) as trial:
            keyed = None
            if wanted is not None:
                keyed = _write(trial.armature.get(), [mesh.get() for mesh in trial.meshes], start, wanted)
            ready = time.perf_counter()
            for _ in measuring.play(trial.built(keyed)):
                if time.perf_counter() - ready >= max(_PART, ready - began):
                    break
        yield measuring.fraction


def _attempt(
    rig: _Read, start: Start, motion: Motion, options: RefitOptions, clock: Clock
) -> Generator[Step, None, _Attempt]:
    """Solves, writes to a trial and measures there."""
    solved, info = yield from solve(rig.handle, start, motion, options)
    clock.lap("solve")
    yield step("Building", 0.0)
    wanted = _to_write(rig.wake(start), start, solved)
    yield step("Building", 0.3)
    with Trial(rig.glance(start), start.skin.meshes, start.names) as trial:
        keyed = _write(trial.armature.get(), [mesh.get() for mesh in trial.meshes], start, wanted)
        built = trial.built(keyed)
    clock.lap("write")
    yield step("Measuring", 0.0)
    measuring = report.Measuring(motion, standing.replayable(solved))
    yield from each("Measuring", _played(rig, start, measuring, wanted))
    after = measuring.report(built, info, None)
    clock.lap("measure")
    yield step("Measuring", 1.0)
    return _Attempt(start, solved, wanted, after, info.rms_percent)


def _best(
    most: float, rig: _Read, start: Start, motion: Motion, options: RefitOptions, clock: Clock
) -> Generator[Step, None, _Attempt]:
    """An attempt with an error of no more than `most`, if there is one."""
    given = motion, options, clock
    tried = yield from _attempt(rig, start, *given)
    if tried.after.rms > most and start.returned.any():
        start.leave_painted()
        tried = yield from _attempt(rig, start, *given)
    if tried.after.rms > most and start.claims:  # bones that only turn cannot do all that a solver wants
        start.set_aside(list(start.claims))
        tried = yield from _attempt(rig, start, *given)
    elif tried.falls_short and not start.tied and not start.new and may_tie(rig.handle.get(), start):
        start.tied = True
        other = yield from _attempt(rig, start, *given)
        tried = min(tried, other, key=lambda attempt: attempt.after.rms)
    if start.mine is not None and start.mine.any():
        tried = yield from _weighed(tried, rig, start, *given)
    return tried


def _weighed(tried: _Attempt, rig: _Read, start: Start, *given) -> Generator[Step, None, _Attempt]:
    """The best of attempts: `tried`, in which bones looked for other places, one in which they fill what
    deleted bones have left, and one in which nothing of the kind is done. None leaves for little."""
    made = [tried]
    for fills in [True, False] if start.gaps and not start.new else [False]:
        other = start.copy()
        other.fills, other.looked, other.moves = fills, None, relocation.Moves()
        other.mine = start.mine if fills else None
        made.append((yield from _attempt(rig, other, *given)))
        if not made[-1].wanted.moves.left:  # if nobody fills a gap, all stay
            break
    made.sort(key=lambda attempt: attempt.after.rms)
    staying = next(attempt for attempt in made if not attempt.wanted.moves.left)
    worth = relocation.WORTH * staying.after.rms
    return next((a for a in made if a.wanted.moves.left and a.after.rms < worth), staying)


def _measured(rig: _Read, start: Start, motion: Motion) -> Generator[float, None, report.Report]:
    """The rig as it is; what is seen of bound bones goes into the start. Yields how far it is, 0 to 1."""
    given = standing.replayable(start.rig)
    measuring = report.Measuring(motion, given)
    yield from _played(rig, start, measuring)
    armature = rig.wake(start)
    with Trial(armature, start.skin.meshes, start.names) as trial:
        built = trial.built(keyed_of(armature, start.names))
        _see_bound(trial.armature.get(), start)
    yield 1.0
    return measuring.report(built, _info(motion, given), None)


def refit(
    scene, view_layer, armature, options: RefitOptions, bones=(), vertices=None
) -> Generator[Step, None, Refitted]:
    """bones: names of those that are selected; vertices: object name -> [v] likewise. They count if the
    options say so."""
    clock = Clock()
    now, changes = check(armature)
    if options.motion == "SOURCE":
        memory.check(armature.ossify.settings.options())
    rig = _Read(Handle.of("objects", armature), memory.print_of(now), _shape(armature))
    place = Place.of(scene, view_layer)
    start = start_of(armature, options, changes, set(bones), vertices or {})
    mine = start.mine
    yield step("Reading", 0.0)
    reading = motion_of(place, rig.handle, start.skin, options.motion)
    motion = yield from each("Reading", reading, 0.0, 0.5)
    yield step("Reading", 0.5)
    before = yield from each("Reading", _measured(rig, start, motion), 0.5, 1.0)
    clock.lap("read")
    most = before.rms * (1 + _RISEN) + (_ROUNDING * before.size if start.new else 0.0)
    tried = yield from _best(most, rig, start, motion, options, clock)
    start, solved, wanted, after, _ = tried
    armature = rig.wake(start)
    written = after.rms <= most
    after = after if written else before
    after.seconds = clock.seconds
    shown = solved if written else standing.replayable(start.rig)
    lines = _by_bone(start, shown, before, after), _by_mesh(motion, before, after)
    asked = options.move_idle == "ALWAYS"
    left = relocation.notes(mine, wanted.moves, asked, relocation.limit(armature, options))
    notes = [*start.notes, *start.doubled, *left] if written else []
    elsewhere = start.rebased.any() or bool(wanted.heads)
    notes += played.left_alone(armature) if written and elsewhere else []
    after.notes = [*after.notes, *notes]
    result = Refitted(armature, written, before, after, *lines, changes, notes)
    replaced = written and options.motion == "SOURCE" and len(motion.parts) == len(armature.ossify.meshes)
    keeping = motion, armature.ossify.settings.options()
    file = memory.store(armature, *keeping) if replaced else ""  # it may fail, while the rig is as it was
    _finish(armature, start, wanted, result)
    if replaced:  # it is the rig's motion from now on
        memory.keep(armature, *keeping, file)
    place.get()[1].update()  # what was given may have gone with an undo
    return result
