"""A rig solved again from what it is now: what is held stays, equal to the bit, and the rest fits around it.

    for step in refit(scene, view_layer, armature, RefitOptions()): ...  # the generator's value: Refitted

The motion is the one the rig was made from, as it was kept; without it, its source. Everything is tried on a
copy of the rig and measured there. The rig itself is written at the very end, and only if the error did not
rise; an error, or closing the generator, leaves it as it was.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator
from typing import NamedTuple

import bpy
import numpy as np

from . import actions, build, channels, heat, keys, memory, native, properties, report, rewrite, standing
from .capture import Motion, Part, capture, matrix_of
from .changes import HELD, Changes, Holds, find, holds
from .convert import Clock, Step, each, step, watch
from .handles import Handle, Place
from .keying import Keyed
from .options import Options, RefitOptions, Refusal
from .trial import Trial, keyed_of

_WHOLE = 1e-5  # weights whose sum is nearer to 1 are whole
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


def sources_are_here(armature) -> bool:
    found = [item.object for item in armature.ossify.sources]
    return len(found) == len(armature.ossify.meshes) and all(found)


def check(armature) -> Changes:
    """Refuses what cannot be refitted; what has changed."""
    native.library()
    sentence = trouble(armature)
    if sentence:
        raise Refusal(sentence)
    standing.check(armature)
    changes = find(armature)
    if changes.retopologised:
        raise Refusal(
            f"{changes.retopologised[0]} has other vertices or faces than when the rig was made: the motion"
            " does not fit it any more. Undo that, or convert the source again."
        )
    return changes


# ---- the motion


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


def read_motion(scene, layer, armature, skin: standing.Skin, wanted: str) -> Generator[float, None, Motion]:
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


# ---- the rig as arrays


@dataclasses.dataclass
class _Start:
    """What a refit starts from."""

    names: list[str]  # of the bones that take part, those that claim vertices last
    claims: list[str]  # added by the artist and without a vertex
    skin: standing.Skin
    transforms: np.ndarray  # [f][b][4][4]
    rebased: np.ndarray  # [b] true: their place or their parent is another, so their keys mean another motion
    held: Holds
    free: np.ndarray  # [f][b] in scope
    rig: native.Rig
    claimed: native.Rig | None = None  # the same with the bones that claim


def _names(armature, changes: Changes, skin: standing.Skin, names: list[str], solve: str):
    """The bones that move something, and those that are new and shall."""
    used = skin.painted.max(axis=0) > 0
    new = set(changes.added) if solve != "TRANSFORMS" else set()
    claims = [
        name
        for b, name in enumerate(names)
        if not used[b] and name in new and not armature.data.bones[name].get(HELD)
    ]
    return [name for b, name in enumerate(names) if used[b]], claims


def _forward(then: memory.Snapshot, now_channels: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """number -> [f][4][4] poses by the places and parents that the bones had, and the channels they have"""
    poses: dict[int, np.ndarray] = {}

    def pose(number: int) -> np.ndarray:
        if number not in poses:
            b = then.bones.index(number)
            values = now_channels.get(number, then.channels[:, b]).astype(np.float64)
            local = channels.Channels(values[:, None, :3], values[:, None, 3:7], values[:, None, 7:])
            above = then.bones.parents[b]
            base = then.bones.rests[b]
            if above >= 0:
                base = pose(above) @ np.linalg.inv(then.bones.rests[then.bones.index(above)]) @ base
            poses[number] = base @ local.matrices()[:, 0]
        return poses[number]

    for number in then.bones.numbers:
        pose(number)
    return poses


def _rebased(armature, changes: Changes, names: list[str]) -> np.ndarray:
    """[b] bones that were moved or hung elsewhere, and all below them, unless something else moves them"""
    start = {*changes.moved, *changes.reparented} - set(changes.added)
    action = keys.action_of(armature)
    found = set()
    for name in start:
        bone = armature.data.bones[name]
        found |= {name, *(child.name for child in bone.children_recursive)}
    plain = {name for name in found if rewrite.is_plain(armature, action, name)}
    return np.array([name in plain and name not in changes.added for name in names])


def _transforms(armature, changes: Changes, names: list[str], times) -> tuple[np.ndarray, np.ndarray]:
    """[f][b][4][4] as Blender evaluates them; where a bone's place or parent is another, as it moved"""
    with standing.alone(armature) as (scene, layer):
        found = standing.read_transforms(armature, scene, layer, names, times)
    rebased = _rebased(armature, changes, names)
    if rebased.any():
        then, now = memory.last(armature), memory.read(armature)
        by_number = {number: now.channels[:, b] for b, number in enumerate(now.bones.numbers)}
        poses = _forward(then, by_number)
        number = dict(zip(now.bones.names, now.bones.numbers, strict=True))
        for b in np.flatnonzero(rebased):
            mine = number[names[b]]
            found[:, b] = poses[mine] @ np.linalg.inv(then.bones.rests[then.bones.index(mine)])
    return found, rebased


def _scope(options: RefitOptions, bones, vertices, names, skin, times):
    """[f][b], [b], [v] what may change: transforms, groups of weights, and vertices"""
    chosen = np.ones(len(names), bool)
    if options.only == "BONES":
        chosen = np.array([name in bones for name in names])
    rows = np.ones(len(skin.rest), bool)
    if options.only == "VERTICES":
        for obj, some in zip(skin.meshes, skin.slices, strict=True):
            rows[some] = vertices.get(obj.name, np.zeros(some.stop - some.start, bool))
    frames = np.ones(len(times), bool)
    if options.frames == "CUSTOM":
        frames = (times >= options.frame_start) & (times <= options.frame_end)
    moving = frames[:, None] & chosen
    if options.solve == "WEIGHTS" or options.only == "VERTICES":
        moving[:] = False
    if options.solve == "TRANSFORMS":
        rows[:] = False
    return moving, chosen, rows


def _start(armature, options: RefitOptions, changes: Changes, bones, vertices) -> _Start:
    record = armature.ossify
    meshes, every = memory.meshes_of(armature), standing.bone_names(armature)
    skin = standing.read_skin(armature, every, meshes)
    times = np.array([item.frame for item in record.frames], np.int32)
    used, claims = _names(armature, changes, skin, every, options.solve)
    names = [*used, *claims]
    skin.painted = np.ascontiguousarray(skin.painted[:, [every.index(name) for name in names]])
    transforms, rebased = _transforms(armature, changes, names, times)
    held = holds(armature, skin, names, changes)
    flexible = record.settings.bone_kind == "FLEXIBLE"
    action = keys.action_of(armature)
    held.transforms = rewrite.held_with_ancestors(
        armature, action, names, held.transforms, len(times), flexible
    )
    free, chosen, rows = _scope(options, bones, vertices, names, skin, times)
    held.vertices |= ~rows
    held.groups |= ~chosen
    if not options.rest or options.only == "BONES":
        held.rest[:] = True
    held.rest |= ~rows
    solid = (
        transforms
        if flexible
        else np.where(held.transforms[..., None, None], transforms, standing.rigid(transforms))
    )
    rig = native.Rig(
        np.ascontiguousarray(solid[:, : len(used), :3]),
        *_influences(skin, held, len(used)),
        skin.rest.astype(np.float32),
    )
    return _Start(names, claims, skin, transforms, rebased, held, free & ~held.transforms, rig)


def _influences(skin: standing.Skin, held: Holds, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of each vertex; where groups are held, their weights are what is painted."""
    dense = skin.weights()[:, :count]
    groups = held.groups[:count]
    if groups.any():
        mixed = skin.painted[:, :count].astype(np.float64)
        taken = mixed[:, groups].sum(axis=1)
        others = mixed[:, ~groups].sum(axis=1)
        left = np.maximum(1 - taken, 0)
        mixed[:, ~groups] *= (left / np.where(others > 0, others, 1))[:, None]
        touched = (taken > 0) & ~held.vertices
        dense = np.where(touched[:, None], mixed, dense)
    return standing.sparse(dense)


# ---- solving


def _settings(record, options: RefitOptions, start: _Start) -> native.Settings:
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


def _claim(start: _Start, poses, settings: native.Settings, armature, rows: np.ndarray) -> None:
    """Gives each bone that the artist added the vertices around the place where it was put."""
    start.claimed, points = start.rig, start.rig.rest[rows].astype(np.float64)
    for name in start.claims:
        bone = armature.data.bones[name]
        middle = (np.array(bone.head_local) + np.array(bone.tail_local)) / 2
        vertex = int(np.argmin(np.linalg.norm(points - middle, axis=1)))
        given = _holding(start, rows)
        grown = native.add_bone(*poses, given, vertex=vertex, settings=settings)
        start.claimed = _whole(start.claimed, grown, rows)


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


def _holding(start: _Start, rows: np.ndarray) -> native.Rig:
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


def _skeleton(armature, start: _Start, motion: Motion, settings) -> native.Skeleton:
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


def _solve(armature, start: _Start, motion: Motion, options: RefitOptions) -> Generator[Step, None, tuple]:
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
        solved, info = yield from watch(native.Job.start(*poses, settings, given), motion, 0.0, 1.0)
    return _whole(start.claimed, solved, rows), info


# ---- writing


@dataclasses.dataclass
class _Written:
    """What is to be written: only what is another than before."""

    transforms: np.ndarray  # [f][b][4][4]
    held: np.ndarray  # [f][b]
    weighted: np.ndarray  # [v]
    shaped: np.ndarray  # [v]
    rig: native.Rig


def _below(armature, names: list[str], changed: np.ndarray) -> np.ndarray:
    """[f][b] changed, or below a bone that is"""
    result = changed.copy()
    number = {name: b for b, name in enumerate(names)}
    for b, name in enumerate(names):
        for above in armature.data.bones[name].parent_recursive:
            if above.name in number:
                result[:, b] |= changed[:, number[above.name]]
    return result


def _to_write(armature, start: _Start, rig: native.Rig) -> _Written:
    before, after, new = start.rig.dense_weights(), rig.dense_weights(), len(start.claims)
    changed = (rig.transforms != start.claimed.transforms).any(axis=(2, 3)) & start.free
    changed |= start.rebased & ~_told(armature, start.names)
    if new:
        changed[:, -new:] = True
    transforms = np.where(changed[..., None, None], channels.homogeneous(rig.transforms), start.transforms)
    total = start.skin.painted.sum(axis=1, dtype=np.float64)
    weighted = (np.pad(before, ((0, 0), (0, new))) != after).any(axis=1) | (np.abs(total - 1) > _WHOLE)
    weighted &= ~start.held.vertices
    shaped = (rig.rest != start.rig.rest).any(axis=1) & ~start.held.rest
    return _Written(transforms, ~_below(armature, start.names, changed), weighted, shaped, rig)


def _told(armature, names: list[str]) -> np.ndarray:
    """[b] bones that the artist told to be held"""
    return np.array([bool(armature.data.bones[name].get(HELD)) for name in names])


def _write(armature, meshes: list, start: _Start, wanted: _Written) -> Keyed:
    options = armature.ossify.settings.options()
    for obj, rows in zip(meshes, start.skin.slices, strict=True):
        some = np.flatnonzero(wanted.shaped[rows])
        if len(some):
            rewrite.write_rest(obj, armature, some, wanted.rig.rest[rows][some])
        some = np.flatnonzero(wanted.weighted[rows])
        if len(some):
            influences = (wanted.rig.influence_bones[rows][some], wanted.rig.influence_weights[rows][some])
            rewrite.write_weights(obj, some, *influences, start.names, start.held.groups)
    if wanted.held.all():
        return keyed_of(armature, start.names)
    action = keys.action_of(armature) or bpy.data.actions.new(armature.name)
    times = [item.frame for item in armature.ossify.frames]
    return rewrite.write_keys(
        armature, action, wanted.transforms, np.array(times), start.names, options, wanted.held
    )


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


def _by_bone(start: _Start, rig: native.Rig, before: report.Report, after: report.Report) -> list[Line]:
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


def _print_of(armature) -> bytes:
    """Another one after any change that a refit must not overlook."""
    now = memory.read(armature)
    arrays = (now.bones.rests, now.channels, now.influences, now.weights, now.rest)
    return b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)


def _finish(armature, start: _Start, wanted: _Written, result: Refitted) -> None:
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
    changes = check(armature)
    handle, mark = Handle.of("objects", armature), _print_of(armature)
    start = _start(armature, options, changes, set(bones), vertices or {})
    reading = read_motion(scene, view_layer, armature, start.skin, options.motion)
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
    if _print_of(armature) != mark:
        raise Refusal(f"{armature.name} was changed while Ossify was working: it is as you left it.")
    written = after.rms <= before.rms * (1 + _RISEN)
    after = after if written else before
    after.seconds = clock.seconds
    lines = _by_bone(start, solved if written else rig, before, after), _by_mesh(motion, before, after)
    result = Refitted(armature, written, before, after, *lines, changes)
    _finish(armature, start, wanted, result)
    view_layer.update()
    return result
