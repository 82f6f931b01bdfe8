"""The solving of a refit: what is free of a standing rig, from what it is now.

Bones that the artist added and that have no vertex yet claim some around the place where they were put, and
are solved with the others. One that helps nothing, because the rig fits as well without it, is not left
empty: it doubles the bone there (claims.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from .. import native
from ..base.steps import Step, step, watch
from ..motion.capture import Motion
from ..native.nouns import HELD
from ..options.options import RefitOptions, holds
from ..record import reading
from ..rig import standing
from ..rig.stand import hanging
from . import claims, gaps, joint_refit, relocation
from .facts import Facts
from .relocation import Moves

_WITH_CLAIMS = 0.6  # of the solving, when some bones may have claimed in vain
_FIRST_ROUND = 0.5  # of the solving, when there are two rounds of it
_LOOKING = 0.7  # of the solving, when bones may leave their places

Looked = tuple[native.Rig, np.ndarray]  # the rig with bones in other places, and [b] which have left


class Way(NamedTuple):
    """How an attempt goes about it."""

    tied: bool  # bones that only turn do so in the solver, too
    fills: bool = False  # bones that may leave go where deleted ones were, and look for no other place
    looked: Looked | None = None  # where they go, if that is known


class Solved(NamedTuple):
    facts: Facts  # some bones may have been set aside
    looked: Looked | None
    given: native.Rig  # that it began with: bones that claim have vertices
    rig: native.Rig  # of all vertices
    info: native.Info
    moves: Moves  # of bones that left
    heads: dict[str, np.ndarray]  # of bones whose joints are elsewhere
    notes: list[str]  # on bones that were set aside


class _Problem(NamedTuple):
    """What the library is given: all vertices but those that are held and follow no bone."""

    motion: Motion
    settings: native.Settings
    rows: np.ndarray  # [r] of the skin
    poses: tuple  # rest [r][3], frames [f][r][3], triangles

    @classmethod
    def of(cls, facts: Facts, motion: Motion, options: RefitOptions) -> _Problem:
        lost = facts.held.vertices & (facts.rig.influence_bones < 0).all(axis=1)
        rows, number = np.flatnonzero(~lost), np.cumsum(~lost) - 1
        triangles = number[motion.triangles[(~lost)[motion.triangles].all(axis=1)]].astype(np.int32)
        rest = None if motion.rest is None else np.ascontiguousarray(motion.rest[rows])
        poses = rest, np.ascontiguousarray(motion.frames[:, rows]), triangles
        return cls(motion, _settings(facts, options), rows, poses)

    def begin(self, given: native.Rig, **more) -> native.Job:
        """more: other fields of the settings"""
        return native.Job.start(
            native.decompose, *self.poses, dataclasses.replace(self.settings, **more), given
        )


def _influences(facts: Facts) -> int:
    """As many as a held vertex has; with held groups, one more than any vertex has of those."""
    bones, held, groups = facts.rig.influence_bones, facts.held.vertices, np.flatnonzero(facts.held.groups)
    most = int((bones >= 0).sum(axis=1)[held].max(initial=1))
    if len(groups):
        most = max(most, int(np.isin(bones, groups).sum(axis=1).max()) + 1)
    return most


def _settings(facts: Facts, options: RefitOptions) -> native.Settings:
    made = facts.stands.options
    more = {} if options.quality == "RIG" else {"quality": options.quality.lower()}
    if not facts.held.rest.all():
        more["rest_mode"] = made.solver().rest_mode
    bones = facts.rig.bones + len(facts.claims)
    most = native.MAX_INFLUENCES if facts.over.dense else max(made.influences, _influences(facts))
    return facts.stands.settings(bones, min(most, bones) if facts.over.dense else most, **more)


# ---- rigs of some vertices


def _part(facts: Facts, rig: native.Rig, rows: np.ndarray) -> native.Rig:
    """The rig of some vertices, with what is held of it."""
    held = {
        "held_transforms": ~facts.free[:, : rig.bones],
        "held_vertices": facts.held.vertices[rows],
        "held_groups": facts.held.groups[: rig.bones],
        "held_rest": facts.held.rest[rows],
    }
    held = {name: np.ascontiguousarray(a, np.uint8) if a.any() else None for name, a in held.items()}
    arrays = (rig.influence_bones[rows], rig.influence_weights[rows], rig.rest[rows])
    return native.Rig(rig.transforms, *map(np.ascontiguousarray, arrays), **held)


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


# ---- bones that claim vertices


def _weighted(rig: native.Rig, problem: _Problem) -> native.Rig:
    """The same with weights for the vertices that have lost theirs, as the bones move."""
    bare = (rig.influence_bones < 0).all(axis=1)
    if not bare.any():
        return rig
    held = {"held_transforms": np.ones(rig.transforms.shape[:2], bool), "held_vertices": ~bare}
    settings = dataclasses.replace(problem.settings, rest_mode="fixed")
    solved, _ = native.decompose(*problem.poses, settings, dataclasses.replace(rig, **held))
    found = {name: getattr(solved, name) for name in ("influence_bones", "influence_weights")}
    return dataclasses.replace(rig, **found)


def _claim(facts: Facts, problem: _Problem, armature) -> tuple[Facts, native.Rig]:
    """Each bone that the artist added gets the vertices around the place where it was put; the rig with
    them."""
    rig, points = facts.rig, facts.rig.rest[problem.rows].astype(np.float64)
    for name in facts.claims:
        bone = armature.data.bones[name]
        middle = (np.array(bone.head_local) + np.array(bone.tail_local)) / 2
        vertex = int(np.argmin(np.linalg.norm(points - middle, axis=1)))
        given = _weighted(_part(facts, rig, problem.rows), problem)
        try:
            grown = native.add_bone(*problem.poses, given, vertex=vertex, settings=problem.settings)
        except native.OssifyError as error:
            if error.status != native.Status.BAD_ARGUMENT:
                raise
            facts = facts.without_claims([name])  # what is there is held
            continue
        rig = _whole(rig, grown, problem.rows)
    return facts, rig


# ---- bones that leave their places


def _look(
    facts: Facts, way: Way, given: native.Rig, problem: _Problem, first: float, last: float
) -> Generator[Step, None, Looked]:
    mine = facts.mine[: given.bones]
    if way.fills:
        some = [gap._replace(weights=gap.weights[problem.rows]) for gap in facts.gaps]
        return gaps.fill(given, problem.poses, problem.settings, mine, some)
    asked = problem.poses, problem.settings, mine, problem.motion, first, last
    return (yield from relocation.look(given, *asked))


def _moves(facts: Facts, way: Way, looked: Looked, problem: _Problem) -> Moves:
    """Where those that have left go to, and hang."""
    found, left = looked
    if not left.any():
        return Moves()
    names, rig = facts.names[: found.bones], standing.replayable(found)
    given = problem.poses[2], problem.settings, left, facts.loose, way.fills
    return relocation.plan(reading.glance(facts.stands), names, rig, *given)


# ---- the motion


def may_tie(facts: Facts, parents: np.ndarray) -> bool:
    """Whether bones can only turn in the solver; parents [b]: of those that do so in the rig, else -1"""
    return bool((parents >= 0).any()) and bool(facts.free.all()) and not facts.held.groups.any()


def _let_turn(
    facts: Facts, claimed, given: native.Rig, problem: _Problem, moves: Moves, parents, first, last
) -> Generator[Step, None, tuple]:
    """The rig with bones that only turn about the joints that stand; and heads, of joints that may not."""
    armature, names = reading.glance(facts.stands), facts.names[: given.bones]
    parents, stiffness = standing.ties(armature, names, parents)
    pairs = [(int(parent), b) for b, parent in enumerate(parents) if parent >= 0]
    wishes = facts.stands.options.wishes(demanded=pairs)
    # all vertices say what joints are like, also those that are not solved
    like = native.connect(standing.replayable(claimed), problem.motion.triangles, wishes, problem.settings)
    heads = np.array([moves.heads.get(n, h) for n, h in zip(names, facts.stands.heads, strict=False)])
    beside = joint_refit.beside_leaving(armature, moves.left) & facts.may_be_loose
    loose, rehung = facts.loose | beside, set(moves.parents)
    joints = np.array([name not in loose | rehung for name in names], np.uint8)
    given = dataclasses.replace(given, held_transforms=None)
    skeleton = hanging(parents, heads, like)
    asked = given, skeleton, problem.settings, False, joints, stiffness
    job = native.Job.start(native.articulate, *problem.poses, *asked)
    solved, skeleton, info = yield from watch(job, problem.motion, first, last)
    armature = reading.glance(facts.stands)
    moves.heads |= joint_refit.moved(armature, names, skeleton, rehung)
    return solved, info, joint_refit.moved(armature, names, skeleton, loose - rehung)


def _let_move(
    given: native.Rig, problem: _Problem, again: bool, first: float, last: float
) -> Generator[Step, None, tuple]:
    """The rig with all of its bones free to move; again: a second round, with the room that the first made"""
    middle = first + _FIRST_ROUND * (last - first) if again else last
    solved, info = yield from watch(problem.begin(given), problem.motion, first, middle)
    if again:
        given = _holding_as(given, solved)
        solved, info = yield from watch(problem.begin(given), problem.motion, middle, last)
    return solved, info


def _holding_as(given: native.Rig, rig: native.Rig) -> native.Rig:
    """The rig with what is held of the given one."""
    return dataclasses.replace(rig, **{name: getattr(given, name) for name in HELD})


# ---- all of it


def _fit(
    facts: Facts, way: Way, motion: Motion, options: RefitOptions, first: float, last: float
) -> Generator[Step, None, tuple[Solved, np.ndarray | None]]:
    """Without what is set aside; and what the loss of each bone would cost, [b], if some claim vertices."""
    problem = _Problem.of(facts, motion, options)
    yield step("Solving", first)
    facts, claimed = _claim(facts, problem, reading.glance(facts.stands))
    given = _part(facts, claimed, problem.rows)
    looked, moves = way.looked, Moves()
    if facts.may_leave:
        middle = first + _LOOKING * (last - first)
        if looked is None:
            looked = yield from _look(facts, way, given, problem, first, middle)
        moves = _moves(facts, way, looked, problem)
        given, first = _holding_as(given, looked[0]), middle
    names, heads = facts.names[: given.bones], {}
    articulated = holds(facts.stands.options)
    parents = relocation.turning(moves, names, facts.turning(names), articulated)
    if way.tied and may_tie(facts, parents):
        tied = facts, claimed, given, problem, moves, parents, first, last
        solved, info, heads = yield from _let_turn(*tied)
    else:
        again = bool(facts.claims) or bool(moves.left and way.fills)
        solved, info = yield from _let_move(given, problem, again, first, last)
    costs = native.bone_costs(*problem.poses, solved, problem.settings) if facts.claims else None
    whole = _whole(claimed, solved, problem.rows)
    return Solved(facts, looked, claimed, whole, info, moves, heads, []), costs


def solve(facts: Facts, way: Way, motion: Motion, options: RefitOptions) -> Generator[Step, None, Solved]:
    """The rig of all vertices, as the way says."""
    share = _WITH_CLAIMS if facts.claims else 1.0
    solved, costs = yield from _fit(facts, way, motion, options, 0.0, share)
    facts = solved.facts
    if facts.claims:
        idle = claims.idle(reading.glance(facts.stands), facts, solved.rig, costs)
        if idle:
            again = facts.without_claims(idle), way._replace(looked=None), motion, options
            solved, _ = yield from _fit(*again, share, 1.0)
            facts = solved.facts
    if not facts.aside:
        return solved
    most = _settings(facts, options).influences
    rig, notes = claims.double(reading.glance(facts.stands), facts, solved.rig, most)
    return solved._replace(rig=rig, notes=notes)
