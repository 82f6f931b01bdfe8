"""A rig solved again from what it is now: what is held stays, equal to the bit, and the rest fits around it.

    for step in refit(scene, view_layer, armature, RefitOptions()): ...  # the generator's value: Refitted

The motion is the one the rig was made from, as it was kept; without it, its source. Everything is tried on a
copy of the rig and measured there. The rig itself is written at the very end, and only if the error did not
rise; an error, or closing the generator, leaves it as it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Generator
from typing import NamedTuple

import bpy
import numpy as np

from . import actions, channels, heat, keys, memory, native, properties, report, rewrite, standing
from .capture import Motion
from .changes import HELD, Changes, find
from .convert import Clock, Step, each, step, watch
from .handles import Handle
from .keying import Keyed
from .options import Options, RefitOptions, Refusal
from .recapture import motion_of, sources_are_here
from .refit_start import Start, start_of
from .trial import Trial, keyed_of

_WHOLE = 1e-5  # weights whose sum is nearer to 1 are whole
_ROUND = 0.5  # of the solving, when there are two rounds of it
_HELD = ("held_transforms", "held_vertices", "held_groups", "held_rest")
_RISEN = 1e-5  # relative: an error that is larger by more has risen


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


# ---- whether it can be done


def trouble(armature) -> str | None:
    """Why the rig cannot be refitted, in one sentence; None when it can. Quick, for panels."""
    record = armature.ossify
    blocks = [armature, armature.data, *(item.object for item in record.meshes if item.object)]
    action = keys.action_of(armature)
    for block in (*blocks, action) if action else blocks:
        if block.library or not block.is_editable:
            return f"{block.name} is linked from another file, or an override: work on it in its own file."
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
        return f"{armature.name} moves none of the meshes that it was made with."
    if not memory.is_kept(armature) and not sources_are_here(armature):
        return (
            f"The motion of {armature.name} was not kept, and its source is gone: choose another one with the"
            " same mesh."
        )
    return actions.trouble(armature)


def check(armature) -> tuple[memory.Snapshot, Changes]:
    """Refuses what cannot be refitted; the rig as it is, and what has changed."""
    native.library()
    sentence = trouble(armature)
    if sentence:
        raise Refusal(sentence)
    standing.check(armature)
    now = memory.read(armature)
    changes = find(armature, now)
    if changes.retopologised:
        raise Refusal(
            f"{changes.retopologised[0]} has other vertices or faces than when the rig was made: the motion"
            " does not fit it any more. Undo that, or convert the source again."
        )
    return now, changes


# ---- solving


def _settings(record, options: RefitOptions, start: Start) -> native.Settings:
    settings: Options = record.settings.options()
    if options.quality != "RIG":
        settings.quality = options.quality
    chosen = settings.solver()
    chosen.budget_kind, chosen.budget = "none", 0.0
    chosen.bones = min(len(start.names), native.MAX_BONES)
    if start.held.rest.all():
        chosen.rest_mode = "fixed"
    fixed = start.held.vertices
    used = (start.rig.influence_bones >= 0).sum(axis=1)
    most = int(used[fixed].max()) if fixed.any() else 1
    groups = np.flatnonzero(start.held.groups)
    if len(groups):
        most = max(most, int(np.isin(start.rig.influence_bones, groups).sum(axis=1).max()) + 1)
    chosen.influences = min(max(chosen.influences, most), native.MAX_INFLUENCES)
    return chosen


def _claim(start: Start, poses, settings: native.Settings, armature, rows: np.ndarray) -> None:
    """Gives each bone that the artist added the vertices around the place where it was put."""
    start.claimed, points = start.rig, start.rig.rest[rows].astype(np.float64)
    for name in start.claims:
        bone = armature.data.bones[name]
        middle = (np.array(bone.head_local) + np.array(bone.tail_local)) / 2
        vertex = int(np.argmin(np.linalg.norm(points - middle, axis=1)))
        given = _weighted(_holding(start, rows), poses, settings)
        grown = native.add_bone(*poses, given, vertex=vertex, settings=settings)
        start.claimed = _whole(start.claimed, grown, rows)


def _weighted(rig: native.Rig, poses, settings: native.Settings) -> native.Rig:
    """The same with weights for the vertices that have lost theirs, as the bones move."""
    bare = (rig.influence_bones < 0).all(axis=1)
    if not bare.any():
        return rig
    held = {"held_transforms": np.ones(rig.transforms.shape[:2], bool), "held_vertices": ~bare}
    settings = dataclasses.replace(settings, rest_mode="fixed")
    solved, _ = native.decompose(*poses, settings, dataclasses.replace(rig, **held))
    found = {name: getattr(solved, name) for name in ("influence_bones", "influence_weights")}
    return dataclasses.replace(rig, **found)


def _part(rig: native.Rig, rows: np.ndarray) -> native.Rig:
    """The rig of some vertices."""
    arrays = (rig.influence_bones[rows], rig.influence_weights[rows], rig.rest[rows])
    return native.Rig(rig.transforms, *map(np.ascontiguousarray, arrays))


def _whole(rig: native.Rig, part: native.Rig, rows: np.ndarray) -> native.Rig:
    """The rig of all vertices, with those of a part."""
    width = max(rig.influence_bones.shape[1], part.influence_bones.shape[1])
    bones = np.full((len(rig.rest), width), -1, np.int32)
    weights = np.zeros((len(rig.rest), width), np.float32)
    bones[:, : rig.influence_bones.shape[1]] = rig.influence_bones
    weights[:, : rig.influence_bones.shape[1]] = rig.influence_weights
    bones[rows], weights[rows] = -1, 0
    bones[rows, : part.influence_bones.shape[1]] = part.influence_bones
    weights[rows, : part.influence_bones.shape[1]] = part.influence_weights
    rest = rig.rest.copy()
    rest[rows] = part.rest
    return native.Rig(part.transforms, bones, weights, rest)


def _holding(start: Start, rows: np.ndarray) -> native.Rig:
    """The rig of some vertices, with what is held of it."""
    count = start.claimed.bones
    held = {
        "held_transforms": ~start.free[:, :count],
        "held_vertices": start.held.vertices[rows],
        "held_groups": start.held.groups[:count],
        "held_rest": start.held.rest[rows],
    }
    held = {name: np.ascontiguousarray(a, np.uint8) if a.any() else None for name, a in held.items()}
    return dataclasses.replace(_part(start.claimed, rows), **held)


def _skeleton(armature, start: Start, motion: Motion, settings) -> native.Skeleton:
    """The one that stands: joints are the heads of its bones."""
    bones = armature.data.bones
    number = {name: b for b, name in enumerate(start.names)}
    parents = np.array([number.get(bones[n].parent.name, -1) if bones[n].parent else -1 for n in start.names])
    pairs = [(int(parent), b) for b, parent in enumerate(parents) if parent >= 0]
    wishes = armature.ossify.settings.options().wishes(demanded=pairs)
    skeleton = native.connect(_replayable(start.claimed), motion.triangles, wishes, settings)
    kinds = [
        "root" if parents[b] < 0 else kind if skeleton.parents[b] == parents[b] else "ball"
        for b, kind in enumerate(skeleton.kinds)
    ]
    heads = np.array([bones[name].head_local for name in start.names], np.float64)
    roots = np.flatnonzero(parents < 0)
    return skeleton._replace(root=int(roots[0]), parents=parents.astype(np.int32), joints=heads, kinds=kinds)


def _solve(armature, start: Start, motion: Motion, options: RefitOptions) -> Generator[Step, None, tuple]:
    """The rig of all vertices as solved, and the solver's info."""
    record = armature.ossify
    settings = _settings(record, options, start)
    lost = start.held.vertices & (start.rig.influence_bones < 0).all(axis=1)  # they do not move
    rows = np.flatnonzero(~lost)
    number = np.cumsum(~lost) - 1
    triangles = number[motion.triangles[(~lost)[motion.triangles].all(axis=1)]].astype(np.int32)
    rest = None if motion.rest is None else np.ascontiguousarray(motion.rest[rows])
    poses = rest, np.ascontiguousarray(motion.frames[:, rows]), triangles
    yield step("Solving", 0.0)
    _claim(start, poses, settings, armature, rows)
    given = _holding(start, rows)
    turning = record.settings.skeleton == "ARTICULATED" and start.free.all() and not start.held.groups.any()
    if turning:
        skeleton = _skeleton(armature, start, motion, settings)
        joints = np.ones(given.bones, np.uint8)
        job = native.Job.start_articulate(
            *poses, dataclasses.replace(given, held_transforms=None), skeleton, settings, held_joints=joints
        )
        solved, _, info = yield from watch(job, motion, 0.0, 1.0)
    else:
        solved, info = yield from watch(native.Job.start(*poses, settings, given), motion, 0.0, _ROUND)
        if start.claims:  # the others have made room for the new ones: once more with that
            held = {name: getattr(given, name) for name in _HELD}
            given = dataclasses.replace(solved, **held)
            solved, info = yield from watch(native.Job.start(*poses, settings, given), motion, _ROUND, 1.0)
    return _whole(start.claimed, solved, rows), info


# ---- writing


@dataclasses.dataclass
class Written:
    """What is to be written: only what is another than before."""

    transforms: np.ndarray  # [f][b][4][4]
    held: np.ndarray  # [f][b]
    weighted: np.ndarray  # [v]
    shaped: np.ndarray  # [v]
    rig: native.Rig
    keys: rewrite.Keys | None = None  # once they were planned


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
    before, after, new = start.rig.dense_weights(), rig.dense_weights(), len(start.claims)
    changed = (rig.transforms != start.claimed.transforms).any(axis=(2, 3)) & start.free
    changed |= start.rebased & ~_told(armature, start.names)
    if new:
        changed[:, -new:] = True
    transforms = np.where(changed[..., None, None], channels.homogeneous(rig.transforms), start.transforms)
    total = start.skin.painted.sum(axis=1, dtype=np.float64)
    weighted = (np.pad(before, ((0, 0), (0, new))) != after).any(axis=1) | (np.abs(total - 1) > _WHOLE)
    weighted = (weighted | start.returned) & ~start.held.vertices
    shaped = ((rig.rest != start.rig.rest).any(axis=1) | start.reshaped) & ~start.held.rest
    return Written(transforms, ~_below(armature, start.names, changed), weighted, shaped, rig)


def _told(armature, names: list[str]) -> np.ndarray:
    """[b] bones that the artist told to be held"""
    return np.array([bool(armature.data.bones[name].get(HELD)) for name in names])


def _skin_after(start: Start, wanted: Written) -> standing.Skin:
    """For the boxes around what each bone moves."""
    painted = np.where(wanted.weighted[:, None], wanted.rig.dense_weights(), start.painted)
    rest = np.where(wanted.shaped[:, None], wanted.rig.rest, start.skin.rest)
    return dataclasses.replace(start.skin, painted=painted, rest=rest)


def _write(armature, meshes: list, start: Start, wanted: Written) -> Keyed:
    """Weights, rest and keys; the first time, on the trial, keys are also planned."""
    for obj, rows in zip(meshes, start.skin.slices, strict=True):
        some = np.flatnonzero(wanted.shaped[rows])
        if len(some):
            rewrite.write_rest(obj, armature, some, wanted.rig.rest[rows][some])
        some = np.flatnonzero(wanted.weighted[rows])
        if len(some):
            influences = wanted.rig.influence_bones[rows][some], wanted.rig.influence_weights[rows][some]
            present = start.painted[rows][some]
            rewrite.write_weights(obj, some, *influences, start.names, start.held.groups, present)
    if wanted.held.all():
        return keyed_of(armature, start.names)
    action = keys.action_of(armature) or bpy.data.actions.new(armature.name)
    times = np.array([item.frame for item in armature.ossify.frames])
    if wanted.keys is not None:
        return rewrite.put_keys(armature, action, times, wanted.keys)
    options, skin = armature.ossify.settings.options(), _skin_after(start, wanted)
    keyed, wanted.keys = rewrite.settle_keys(
        armature, action, wanted.transforms, times, start.names, options, wanted.held, skin
    )
    return keyed


# ---- how well it fits


def _info(motion: Motion, rig: native.Rig) -> native.Info:
    """Of a rig that nobody solved."""
    found = native.evaluate(motion.rest, motion.frames, rig, replay=False)
    percent = 100 / (found.diagonal or 1.0)
    status = native.Status.CONVERGED
    return native.Info(
        status, rig.bones, 0, found.erms, percent * found.rms, percent * found.maximum, 0.0, {}, ""
    )


def _replayable(rig: native.Rig) -> native.Rig:
    """A vertex without weights counts as one of the first bone: the library wants all of them to move."""
    lost = (rig.influence_bones < 0).all(axis=1)
    if not lost.any():
        return rig
    bones, weights = rig.influence_bones.copy(), rig.influence_weights.copy()
    bones[lost, 0], weights[lost, 0] = 0, 1
    return native.Rig(rig.transforms, bones, weights, rig.rest)


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


def _print_of(now: memory.Snapshot) -> bytes:
    """Another one after any change that a refit must not overlook."""
    total = hashlib.blake2b()
    for array in (now.bones.rests, now.channels, now.influences, now.weights, now.rest):
        total.update(np.ascontiguousarray(array))
    return total.digest()


def _finish(armature, start: Start, wanted: Written, result: Refitted) -> None:
    """Into the rig itself."""
    meshes = memory.meshes_of(armature)
    if result.written:
        _write(armature, meshes, start, wanted)
    properties.note_refit(armature.ossify, result)
    for obj, rows in zip(meshes, start.skin.slices, strict=True):
        percent = 100 / result.after.size
        after, before = result.after.vertex_error[rows] * percent, result.before.vertex_error[rows] * percent
        heat.store(obj.data, after)
        heat.store(obj.data, after - before, heat.CHANGE)
    heat.recolour(armature)
    memory.snapshot(armature)


def refit(
    scene, view_layer, armature, options: RefitOptions, bones=(), vertices=None
) -> Generator[Step, None, Refitted]:
    """bones: names of those that are selected; vertices: object name -> [v] likewise. They count if the
    options say so."""
    clock = Clock()
    now, changes = check(armature)
    if options.motion == "SOURCE":
        memory.check(armature.ossify.settings.options())
    handle, mark = Handle.of("objects", armature), _print_of(now)
    start = start_of(armature, options, changes, set(bones), vertices or {})
    reading = motion_of(scene, view_layer, armature, start.skin, options.motion)
    motion = yield from each("Reading", reading, 0.0, 0.5)
    trial = Trial(armature, start.skin.meshes, start.names)
    try:
        rig = _replayable(start.rig)
        keyed = keyed_of(armature, start.names)
        measuring = report.measure(trial.built(keyed), motion, rig, _info(motion, rig), None)
        before = yield from each("Reading", measuring, 0.5, 1.0)
        clock.lap("read")
        solved, info = yield from _solve(handle.get(), start, motion, options)
        clock.lap("solve")
        wanted = _to_write(handle.get(), start, solved)
        yield step("Building", 0.0)
        copies = [mesh.get() for mesh in trial.meshes]
        keyed = _write(trial.armature.get(), copies, start, wanted)
        clock.lap("write")
        measuring = report.measure(trial.built(keyed), motion, _replayable(solved), info, None)
        after = yield from each("Measuring", measuring)
        clock.lap("measure")
    finally:
        trial.remove()
    armature = handle.get()
    sentence = trouble(armature)  # a mode may have been entered
    if sentence:
        raise Refusal(sentence)
    if _print_of(memory.read(armature)) != mark:
        raise Refusal(f"{armature.name} was changed while Ossify was working: it is as you left it.")
    written = after.rms <= before.rms * (1 + _RISEN)
    after = after if written else before
    after.seconds = clock.seconds
    lines = _by_bone(start, solved if written else rig, before, after), _by_mesh(motion, before, after)
    result = Refitted(armature, written, before, after, *lines, changes)
    _finish(armature, start, wanted, result)
    if written and options.motion == "SOURCE" and len(motion.parts) == len(armature.ossify.meshes):
        memory.keep(
            armature, motion, armature.ossify.settings.options()
        )  # it is the rig's motion from now on
    view_layer.update()
    return result
