"""Objects that move apart are solved apart, and make up one rig: no weight of one gets into another.

Objects belong together when one stays beside the other: clothes on a body, eyes in a head. Each vertex of the
smaller has a nearest one of the other at rest,

    together:   median of the distance at rest, and of its change over the frames,  <  3 % of the size

Whatever belongs together, also by way of others, is solved as one. What moves as one rigid thing, a cube,
gets one bone and is not solved at all. Counted bones are shared by how far each group is from rigid.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator

import numpy as np

from .. import native
from ..base.rigid import body_motion
from ..base.steps import Step
from ..base.surface import diagonal
from ..motion.capture import Motion
from ..native import animator
from ..native.armature import skeleton_of
from ..options.options import Options

_NEXT_DOOR = 0.03  # of the size of both
_OF_ONE, _OF_OTHER = 200, 2000  # vertices of the smaller object, of the other
_BENDS = 1e-4  # of the size: what is further from one rigid thing bends
_EACH = 6  # vertices of a small group, for every bone of it

Solve = Callable[[Motion, Options, int], Generator]


# ---- groups


def _some(rows: slice, most: int) -> np.ndarray:
    count = rows.stop - rows.start
    return rows.start + np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def _together(motion: Motion, rest: np.ndarray, one: slice, other: slice) -> bool:
    if one.stop - one.start > other.stop - other.start:
        one, other = other, one
    few, among = _some(one, _OF_ONE), _some(other, _OF_OTHER)
    apart = ((rest[few, None].astype(np.float64) - rest[None, among]) ** 2).sum(axis=2)
    near = among[apart.argmin(axis=1)]
    size = diagonal(np.concatenate([rest[one], rest[other]]))
    at_rest = np.sqrt(apart.min(axis=1))
    gaps = np.linalg.norm(motion.frames[:, few].astype(np.float64) - motion.frames[:, near], axis=2)
    change = np.abs(gaps - gaps[:1]).max(axis=0)
    return bool(np.median(at_rest) < _NEXT_DOOR * size and np.median(change) < _NEXT_DOOR * size)


def groups(motion: Motion) -> list[list[int]]:
    """The numbers of the parts that belong together, the first part's first."""
    rest = motion.frames[0] if motion.rest is None else motion.rest
    number = list(range(len(motion.parts)))
    for a, one in enumerate(motion.parts):
        for b, other in enumerate(motion.parts[:a]):
            if number[a] != number[b] and _together(motion, rest, one.vertices, other.vertices):
                gone = number[a]
                number = [number[b] if n == gone else n for n in number]
    return [[p for p, n in enumerate(number) if n == group] for group in dict.fromkeys(number)]


def _only(motion: Motion, members: list[int]) -> tuple[Motion, np.ndarray]:
    """The motion of some parts, and [v] which of the vertices they are"""
    slices = [motion.parts[p].vertices for p in members]
    rows = np.concatenate([np.arange(s.start, s.stop) for s in slices])
    number = np.full(motion.frames.shape[1], -1, np.int64)
    number[rows] = np.arange(len(rows))
    triangles = number[motion.triangles[(number[motion.triangles] >= 0).all(axis=1)]]
    ends = np.cumsum([s.stop - s.start for s in slices]).tolist()
    parts = [
        dataclasses.replace(motion.parts[p], vertices=slice(end - (s.stop - s.start), end))
        for p, s, end in zip(members, slices, ends, strict=True)
    ]
    some = dataclasses.replace(
        motion,
        parts=parts,
        rest=None if motion.rest is None else np.ascontiguousarray(motion.rest[rows]),
        frames=np.ascontiguousarray(motion.frames[:, rows]),
        triangles=np.ascontiguousarray(triangles, np.int32),
        notes=[],
    )
    return some, rows


# ---- one group


def _rigid(some: Motion) -> tuple[np.ndarray, np.ndarray]:
    """[f][3][4] its motion as one thing, and [f][v] how far that is off"""
    rest = some.frames[0] if some.rest is None else some.rest
    moved = body_motion(rest, some.frames)[:, :3]
    replayed = rest.astype(np.float64) @ moved[:, :, :3].swapaxes(1, 2) + moved[:, None, :, 3]
    return moved, np.linalg.norm(replayed - some.frames, axis=2)


def _one_bone(some: Motion, moved: np.ndarray, like) -> tuple:
    """A thing that does not bend."""
    rest, count = some.frames[0] if some.rest is None else some.rest, some.frames.shape[1]
    bones, weights = np.zeros((count, 1), np.int32), np.ones((count, 1), np.float32)
    rig = native.Rig(np.ascontiguousarray(moved[:, None]), bones, weights, rest.copy())
    return like(rig, skeleton_of([-1], [rest.mean(axis=0, dtype=np.float64)]), None, None)


def _shares(options: Options, offs: list[float]) -> list[int]:
    """Of counted bones: one each, and the others by how far from rigid a group is."""
    bendy = np.array(offs) > 0
    left = max(options.bones - len(offs), int(bendy.sum()))
    wanted = left * np.array(offs) / max(sum(offs), 1e-30)
    counts = np.floor(wanted).astype(int)
    for b in np.argsort(counts - wanted, kind="stable")[: left - counts.sum()]:
        counts[b] += 1
    return (1 + counts).tolist()


def _options_for(some: Motion, options: Options, bones: int, size: float) -> Options:
    """With its share of the bones, and an error in percent of its own size."""
    most = max(1, some.frames.shape[1] // _EACH)
    scale = 1 if options.budget_of == "NORMALS" else size / diagonal(some.frames[0])
    own = dataclasses.replace(options, budget=scale * options.budget)
    if options.bones_by == "COUNT":
        own.bones = min(bones, most)
    elif most < animator.PIECES:  # too small to be searched
        own.bones_by, own.bones = "COUNT", most
        own.skeleton = "HIERARCHY" if own.skeleton in ("AUTO", "ANIMATOR") else own.skeleton
    return own


# ---- all of them


def _one_skeleton(parts: list, holds: bool) -> native.Skeleton | None:
    """Trees side by side. Where others hold, bones that do not, or have no tree, hang from nothing."""
    if all(part.skeleton is None for part in parts):
        return None
    columns, first = [], 0
    for part in parts:
        found = part.skeleton
        if found is None or (holds and part.free is None and part.rig.bones > 1):
            middles = part.rig.dense_weights().T.astype(np.float64) @ part.rig.rest
            middles /= np.maximum(part.rig.dense_weights().sum(axis=0)[:, None], 1e-30)
            found = skeleton_of(np.full(part.rig.bones, -1), middles)
        parents = np.where(found.parents >= 0, found.parents + first, -1)
        mirrors = np.where(found.mirrors >= 0, found.mirrors + first, -1) if found.plane is not None else -1
        mirrors = np.broadcast_to(mirrors, parents.shape)
        columns.append(found._replace(parents=parents, mirrors=mirrors))
        first += part.rig.bones
    plane = columns[0].plane
    mirrors = [c.mirrors if c is columns[0] else np.full(len(c.parents), -1) for c in columns]
    joined = {
        name: np.concatenate([getattr(c, name) for c in columns])
        for name in "parents joints axes angles drifts".split()
    }
    joined["parents"] = joined["parents"].astype(np.int32)
    kinds = [kind for c in columns for kind in c.kinds]
    images = np.concatenate(mirrors).astype(np.int32)
    return native.Skeleton(columns[0].root, kinds=kinds, mirrors=images, plane=plane, message="", **joined)


def _one_rig(motion: Motion, parts: list, rows: list[np.ndarray]) -> native.Rig:
    most = max(part.rig.influence_bones.shape[1] for part in parts)
    count = motion.frames.shape[1]
    bones, weights = np.full((count, most), -1, np.int32), np.zeros((count, most), np.float32)
    rest, first = np.empty((count, 3), np.float32), 0
    for part, mine in zip(parts, rows, strict=True):
        found, width = part.rig.influence_bones, part.rig.influence_bones.shape[1]
        bones[mine, :width] = np.where(found >= 0, found + first, -1)
        weights[mine, :width], rest[mine] = part.rig.influence_weights, part.rig.rest
        first += part.rig.bones
    transforms = np.concatenate([part.rig.transforms for part in parts], axis=1)
    return native.Rig(np.ascontiguousarray(transforms), bones, weights, rest)


def _core_first(rig: native.Rig, skeleton, roles: np.ndarray):
    """Helpers of all groups after all others."""
    order = np.argsort(roles, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))

    def renumbered(values):
        return np.where(values >= 0, number[values], -1).astype(np.int32)

    moved = dataclasses.replace(
        rig,
        transforms=np.ascontiguousarray(rig.transforms[:, order]),
        influence_bones=renumbered(rig.influence_bones),
    )
    lists = {name: getattr(skeleton, name)[order] for name in "joints axes angles drifts".split()}
    return (
        moved,
        skeleton._replace(
            root=int(number[skeleton.root]),
            parents=renumbered(skeleton.parents[order]),
            mirrors=renumbered(skeleton.mirrors[order]),
            kinds=[skeleton.kinds[b] for b in order],
            **lists,
        ),
        roles[order],
    )


def _measured(motion: Motion, rig: native.Rig) -> native.Info:
    found = native.evaluate(motion.rest, motion.frames, rig, replay=False)
    percent = 100 / (found.diagonal or 1.0)
    errors = found.erms, percent * found.rms, percent * found.maximum
    return native.Info(native.Status.CONVERGED, rig.bones, 0, *errors, 0.0, {}, "")


def _one(motion: Motion, parts: list, rows: list[np.ndarray]):
    """What several groups came to, as one."""
    roles = None
    if any(part.roles is not None for part in parts):
        each = [np.zeros(part.rig.bones, int) if part.roles is None else part.roles for part in parts]
        roles = np.concatenate(each)
    held = [part.free for part in parts if part.free is not None]
    rig, skeleton = _one_rig(motion, parts, rows), _one_skeleton(parts, bool(held))
    if roles is not None:
        rig, skeleton, roles = _core_first(rig, skeleton, roles)
    info = _measured(motion, rig)
    free = held[0]._replace(erms=info.erms) if held else None
    return parts[0]._replace(rig=rig, skeleton=skeleton, info=info, free=free, mirror=None, roles=roles)


def _as_share(steps: Generator, number: int, count: int) -> Generator[Step, None, object]:
    """The steps of one of several solves as those of the whole solving."""
    begin, span = 0.15, 0.7
    try:
        while True:
            step = next(steps)
            within = min(max((step.fraction - begin) / span, 0.0), 1.0)
            yield step._replace(fraction=begin + span * (number + within) / count)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()


def solve(
    motion: Motion, options: Options, now: int, solve_one: Solve, like
) -> Generator[Step, None, object]:
    """solve_one(motion, options, now) solves what moves together; like: the class of its answers"""
    found = groups(motion) if len(motion.parts) > 1 and options.clips != "TAKES" else []
    if len(found) < 2:
        return (yield from solve_one(motion, options, now))
    size = diagonal(motion.frames[0])
    some = [_only(motion, members) for members in found]
    rigid = [_rigid(group) for group, _ in some]
    stiff = [
        off.max() <= _BENDS * diagonal(group.frames[0])
        for (group, _), (_, off) in zip(some, rigid, strict=True)
    ]
    offs = [0.0 if still else float(off.sum()) for still, (_, off) in zip(stiff, rigid, strict=True)]
    shares, parts = _shares(options, offs), []
    for number, ((group, _), (moved, _), still) in enumerate(zip(some, rigid, stiff, strict=True)):
        if still and options.bone_kind == "RIGID":
            parts.append(_one_bone(group, moved, like))
            continue
        own = _options_for(group, options, shares[number], size)
        parts.append((yield from _as_share(solve_one(group, own, now), number, len(some))))
        motion.notes += [f"{group.parts[0].name}: {note}" for note in group.notes]
    return _one(motion, parts, [rows for _, rows in some])
