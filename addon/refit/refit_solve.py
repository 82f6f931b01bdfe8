"""The solving of a refit: what is free of a standing rig, from what it is now.

Bones that the artist added and that have no vertex yet claim some around the place where they were put, and
are solved with the others. One that helps nothing, because the rig fits as well without it, is not left
empty: it doubles the bone there (claims.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.handles import Handle
from ..base.steps import Step, step, watch
from ..motion.capture import Motion
from ..options.options import Options, RefitOptions
from ..rig import standing
from . import claims, gaps, joint_refit, relocation
from .refit_start import Start

_WITH_CLAIMS = 0.6  # of the solving, when some bones may have claimed in vain
_ROUND = 0.5  # of the solving, when there are two rounds of it
_LOOKING = 0.7  # of the solving, when bones may leave their places
_HELD = ("held_transforms", "held_vertices", "held_groups", "held_rest")


def _settings(record, options: RefitOptions, start: Start) -> native.Settings:
    settings: Options = record.settings.options()
    if options.quality != "RIG":
        settings.quality = options.quality
    chosen = settings.solver()
    chosen.budget_kind, chosen.budget = "none", 0.0
    chosen.bones = min(start.rig.bones + len(start.claims), native.MAX_BONES)
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


def _awake(handle: Handle, start: Start):
    """The armature after a step, in which the artist may have undone or changed something."""
    return standing.with_bones(handle.get(), start.names)


def _claim(start: Start, poses, settings: native.Settings, bones, rows: np.ndarray) -> None:
    """Gives each bone that the artist added the vertices around the place where it was put."""
    start.claimed, points = start.rig, start.rig.rest[rows].astype(np.float64)
    for name in list(start.claims):
        bone = bones[name]
        middle = (np.array(bone.head_local) + np.array(bone.tail_local)) / 2
        vertex = int(np.argmin(np.linalg.norm(points - middle, axis=1)))
        given = _weighted(_holding(start, rows), poses, settings)
        try:
            grown = native.add_bone(*poses, given, vertex=vertex, settings=settings)
        except native.OssifyError as error:
            if error.status != native.Status.BAD_ARGUMENT:
                raise
            start.set_aside([name])  # what is there is held
            continue
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


def _skeleton(armature, start: Start, motion: Motion, settings, parents: np.ndarray) -> native.Skeleton:
    """The one that stands: joints are the heads of its bones; those that also move are roots."""
    bones, names = armature.data.bones, start.names[: start.claimed.bones]
    pairs = [(int(parent), b) for b, parent in enumerate(parents) if parent >= 0]
    wishes = armature.ossify.settings.options().wishes(demanded=pairs)
    skeleton = native.connect(standing.replayable(start.claimed), motion.triangles, wishes, settings)
    kinds = [
        "root" if parents[b] < 0 else kind if skeleton.parents[b] == parents[b] else "ball"
        for b, kind in enumerate(skeleton.kinds)
    ]
    heads = np.array([start.moves.heads.get(n, bones[n].head_local) for n in names], np.float64)
    roots = np.flatnonzero(parents < 0)
    return skeleton._replace(root=int(roots[0]), parents=parents, joints=heads, kinds=kinds)


def _may_tie(start: Start, parents: np.ndarray) -> bool:
    """Whether bones can only turn in the solver; parents [b]: of those that do so in the rig, else -1"""
    return bool((parents >= 0).any()) and bool(start.free.all()) and not start.held.groups.any()


def may_tie(armature, start: Start) -> bool:
    """The same of the rig as it stands."""
    return _may_tie(start, standing.turning_parents(armature, start.names, start.pinned))


def _let_move(poses, settings, given: native.Rig, motion: Motion, again: bool, first: float, last: float):
    """The rig with all of its bones free to move; again: a second round, with the room that the first made"""
    middle = first + _ROUND * (last - first) if again else last
    solved, info = yield from watch(
        native.Job.start(native.decompose, *poses, settings, given), motion, first, middle
    )
    if again:
        held = {name: getattr(given, name) for name in _HELD}
        given = dataclasses.replace(solved, **held)
        solved, info = yield from watch(
            native.Job.start(native.decompose, *poses, settings, given), motion, middle, last
        )
    return solved, info


def _relocated(
    handle: Handle, start: Start, given: native.Rig, rows, poses, settings, motion, first: float, last: float
):
    """The rig to start from when bones may leave their places; where they go to is noted. If none does, the
    looking has still found what those that stay should move."""
    mine, names = start.mine[: given.bones], start.names[: given.bones]
    if start.looked is None and start.fills:
        some = [gap._replace(weights=gap.weights[rows]) for gap in start.gaps]
        start.looked = gaps.fill(given, poses, settings, mine, some)
    elif start.looked is None:
        start.looked = yield from relocation.look(given, poses, settings, mine, motion, first, last)
    found, left = start.looked
    start.moves = relocation.Moves()
    if left.any():
        given_to = names, standing.replayable(found), poses[2], settings, left, start.loose, start.fills
        start.moves = relocation.plan(_awake(handle, start), *given_to)
    return dataclasses.replace(found, **{name: getattr(given, name) for name in _HELD})


def _fit(handle: Handle, start: Start, motion: Motion, options, first: float, last: float):
    """The rig of all vertices as solved without what is set aside, the solver's info, and what the loss of
    each bone would cost, [b], if some have claimed vertices."""
    settings = _settings(handle.get().ossify, options, start)
    lost = start.held.vertices & (start.rig.influence_bones < 0).all(axis=1)  # they do not move
    rows = np.flatnonzero(~lost)
    number = np.cumsum(~lost) - 1
    triangles = number[motion.triangles[(~lost)[motion.triangles].all(axis=1)]].astype(np.int32)
    rest = None if motion.rest is None else np.ascontiguousarray(motion.rest[rows])
    poses = rest, np.ascontiguousarray(motion.frames[:, rows]), triangles
    yield step("Solving", first)
    _claim(start, poses, settings, _awake(handle, start).data.bones, rows)
    given = _holding(start, rows)
    names = start.names[: given.bones]
    if start.mine is not None and start.mine.any():
        middle = first + _LOOKING * (last - first)
        given = yield from _relocated(handle, start, given, rows, poses, settings, motion, first, middle)
        first = middle
    armature = _awake(handle, start)
    parents = standing.turning_parents(armature, names, start.pinned)
    articulated = armature.ossify.settings.skeleton == "ARTICULATED"
    parents = relocation.turning(start.moves, names, parents, articulated)
    if start.tied and _may_tie(start, parents):
        skeleton = _skeleton(armature, start, motion, settings, parents)
        beside = joint_refit.beside_leaving(armature, start.moves.left) & start.may_be_loose
        loose, rehung = start.loose | beside, set(start.moves.parents)
        joints = np.array([name not in loose | rehung for name in names], np.uint8)
        given = dataclasses.replace(given, held_transforms=None)
        job = native.Job.start(native.articulate, *poses, given, skeleton, settings, held_joints=joints)
        solved, skeleton, info = yield from watch(job, motion, first, last)
        armature = _awake(handle, start)
        start.heads = joint_refit.moved(armature, names, skeleton, loose - rehung)
        start.moves.heads |= joint_refit.moved(armature, names, skeleton, rehung)
    else:
        again = bool(start.claims) or bool(start.moves.left and start.fills)
        solved, info = yield from _let_move(poses, settings, given, motion, again, first, last)
    costs = native.bone_costs(*poses, solved, settings) if start.claims else None
    return _whole(start.claimed, solved, rows), info, costs


def solve(
    handle: Handle, start: Start, motion: Motion, options: RefitOptions
) -> Generator[Step, None, tuple]:
    """The rig of all vertices as solved, and the solver's info."""
    share = _WITH_CLAIMS if start.claims else 1.0
    solved, info, costs = yield from _fit(handle, start, motion, options, 0.0, share)
    idle = claims.idle(_awake(handle, start), start, solved, costs) if start.claims else []
    if idle:
        start.set_aside(idle)
        solved, info, _ = yield from _fit(handle, start, motion, options, share, 1.0)
    if not start.aside:
        return solved, info
    armature = _awake(handle, start)
    most = _settings(armature.ossify, options, start).influences
    return claims.double(armature, start, solved, most), info
