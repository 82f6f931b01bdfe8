"""Several bodies as one conversion: one solution for all of them, and what belongs to each.

Weights and tree are shared, motion, rest shape and joints are each body's own (docs/subjects.md). Bones lie
in the first body as in any rig; in the others they lie where the surface carries them, so that all have the
same names, chains and parents. Joints that shall hold do so in each body where its own motion has them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from .. import native
from ..base.meshes import positions
from ..base.refusal import Refusal
from ..base.steps import Step, watch
from ..base.surface import vertex_areas
from ..family import bodies, carry
from ..motion import clips
from ..motion.capture import Motion
from ..options.options import Options, contradiction
from ..rig.armature import Plan, agree, plan_bones, plan_like
from ..rig.stand import hanging
from ..skeleton import placement, rooting

_FREE_SHARE = 0.6  # of the solving, before joints are made to hold

_ALONE = "There is one body: select two or more meshes with the same vertices, or choose other clips."
_SAME = "All of them are one body, to within {:.2g} % of its size: choose Selected Takes."
_NEARLY = "{name} differs from {other} by {percent:.2g} % of its size"
_UNSURE = _NEARLY + ", and counts as another body: Selected Takes takes them for one."


class Member(NamedTuple):
    """What belongs to one body."""

    rig: native.Rig
    info: native.Info
    plan: Plan
    skeleton: str  # as in Options
    free: native.Info | None  # the solver's, before joints held; None: they do not


# ---- reading


def _rest_of(motion: Motion) -> np.ndarray:
    return motion.frames[0] if motion.rest is None else motion.rest


def _check(first: Motion, other: Motion) -> None:
    name, like = other.parts[0].name, first.parts[0].name
    shapes = [(motion.frames.shape[1], motion.triangles) for motion in (other, first)]
    sentence = bodies.arrays_trouble(name, shapes[0], like, shapes[1])
    sentence = sentence or bodies.shape_trouble(name, _rest_of(other), like, _rest_of(first))
    if sentence:
        raise Refusal(sentence)


def _grouped(motions: list[Motion]) -> list[list[Motion]]:
    """Takes of the same body, by rest shapes."""
    groups: list[list[Motion]] = []
    for motion in motions:
        found = [bodies.likeness(_rest_of(motion), _rest_of(group[0])) for group in groups]
        same = next((g for g, like in enumerate(found) if like.same), None)
        if same is not None:
            groups[same].append(motion)
            continue
        for like, group in zip(found, groups, strict=True):
            if not like.sure:
                names = {"name": motion.parts[0].name, "other": group[0].parts[0].name}
                motion.notes.append(_UNSURE.format(percent=like.percent, **names))
        groups.append([motion])
    return groups


def doubts(objects) -> list[str]:
    """Of meshes that look as much like one body as like two: a sentence each. They are looked at as they are
    without what moves them, so that it takes no time; what is read decides."""
    rests = [positions(obj.data) @ np.array(obj.matrix_world)[:3, :3].T for obj in objects]
    found = []
    for i, (obj, rest) in enumerate(zip(objects, rests, strict=True)):
        for other, like in zip(objects[:i], rests[:i], strict=True):
            seen = bodies.likeness(rest, like) if len(rest) and rest.shape == like.shape else None
            if seen is not None and not seen.same and not seen.sure:
                found.append(_NEARLY.format(name=obj.name, other=other.name, percent=seen.percent))
    return found


def read(scene, view_layer, objects, options: Options) -> Generator[float, None, list[Motion]]:
    """A motion for each body, with clips where it has several takes."""
    if len(objects) < 2:
        raise Refusal(_ALONE)
    sentence = contradiction(options, scene)
    if sentence:
        raise Refusal(sentence)
    motions = yield from clips.each_of(scene, view_layer, objects, options, _check)
    groups = _grouped(motions)
    if len(groups) == 1:
        apart = [bodies.likeness(_rest_of(motion), _rest_of(motions[0])).percent for motion in motions]
        raise Refusal(_SAME.format(max(apart)))
    found = [group[0] if len(group) == 1 else clips.joined(group) for group in groups]
    for motion in found if options.smooth_jitter else ():
        clips.steady(motion)
    return found


# ---- solving


class _Given(NamedTuple):
    """What `unite` is given of all bodies."""

    rest: np.ndarray  # [s][v][3]
    frames: np.ndarray  # [f][v][3] body by body
    subject: np.ndarray  # [f]
    triangles: np.ndarray


def _given(motions: list[Motion]) -> _Given:
    return _Given(
        np.stack([_rest_of(motion) for motion in motions]),
        np.concatenate([motion.frames for motion in motions]),
        np.repeat(np.arange(len(motions), dtype=np.int32), [len(motion.frames) for motion in motions]),
        motions[0].triangles,
    )


class _All(NamedTuple):
    """For `watch`."""

    motions: list[Motion]

    def check_sources(self) -> None:
        for motion in self.motions:
            motion.check_sources()


def rerooted(parents: np.ndarray, joints: np.ndarray, root: int, origins: np.ndarray):
    """The tree hung from another bone: edges on the way turn round, and keep their joints [s][b][3]."""
    parents, joints, b, above = parents.copy(), joints.copy(), root, -1
    own = joints.copy()
    while b >= 0:
        following = int(parents[b])
        parents[b] = above
        if above >= 0:
            joints[:, b] = own[:, above]
        b, above = following, b
    joints[:, root] = origins
    return parents, joints


def _centres(rest: np.ndarray, dense: np.ndarray, triangles) -> np.ndarray:
    """[b][3] the middle of what each bone moves"""
    share = dense * vertex_areas(rest, triangles)[:, None]
    return (share.T @ rest) / np.maximum(share.sum(axis=0), np.finfo(float).tiny)[:, None]


def _hung(first: Motion, rigs: list[native.Rig], united: native.United, options: Options, now: int):
    """[s] skeletons: one tree, from a root that the bodies hang from, and joints of each body's own."""
    rig, dense = rigs[0], rigs[0].dense_weights().astype(np.float64)
    like = native.connect(rig, first.triangles, options.wishes())
    found = hanging(united.parents, united.joints[0], like)
    root = rooting.chosen(options, first, rig, now)
    root = rooting.balanced(found, rig, first.triangles) if root < 0 else root
    origins = np.array([_centres(one.rest, dense, first.triangles)[root] for one in rigs])
    parents, joints = rerooted(np.asarray(united.parents), united.joints, root, origins)
    return [hanging(parents, own, like) for own in joints]


def _places(
    plan: Plan, rig: native.Rig, others: list[native.Rig], joints, triangles
) -> list[placement.Bones]:
    """Where the bones of the plan lie in other bodies; joints [n][b][3], None: there are none"""
    dense = rig.dense_weights().astype(np.float64)
    wants = np.where(dense.any(axis=0), dense, 1.0).T
    known = {} if joints is None else {b: joints[:, b] for b in np.flatnonzero(plan.parents >= 0).tolist()}
    ends = plan.places.heads, plan.places.tails, np.concatenate([wants, wants])
    rests = [one.rest for one in others]
    found = []
    for one, heads, tails in zip(
        others, *carry.skeleton_in(*ends, known, rig.rest, triangles, rests), strict=True
    ):
        places = placement.place(one.rest, dense, triangles)
        turns = _least_turns(plan.places.tails - plan.places.heads, tails - heads)
        facing = np.einsum("bij,bj->bi", turns, plan.places.facing)
        found.append(dataclasses.replace(places, heads=heads, tails=tails, facing=facing))
    return found


def _least_turns(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """[b][3][3] rotations that take directions to directions the shortest way"""
    a, b = (way / np.linalg.norm(way, axis=1, keepdims=True) for way in (before, after))
    cross, cosine = np.cross(a, b), (a * b).sum(axis=1)
    skew = np.zeros((len(a), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        skew[:, j, i], skew[:, i, j] = cross[:, k], -cross[:, k]
    return np.eye(3) + skew + skew @ skew / np.maximum(1 + cosine, 1e-6)[:, None, None]


def _taken(motions: list[Motion]) -> set[str]:
    parts = [part for motion in motions for part in motion.parts]
    return {group.name for part in parts for group in part.source.get().vertex_groups}


def _apart(rig: native.Rig, counts: list[int]) -> list[native.Rig]:
    """[s] of one for several bodies, whose frames follow each other"""
    ends = np.cumsum(counts)
    return [
        native.Rig(rig.transforms[end - count : end], rig.influence_bones, rig.influence_weights, rig.rest[s])
        for s, (count, end) in enumerate(zip(counts, ends, strict=True))
    ]


def _held(motions: list[Motion], given: _Given, rig: native.Rig, skeletons: list, settings):
    """The same bones, about joints that hold: the rig, the skeletons and how it went"""
    joints = np.stack([one.joints for one in skeletons])
    hung, motion = skeletons[0]._replace(joints=joints), (given.rest, given.frames, given.triangles)
    settings = dataclasses.replace(settings, bones=rig.bones, budget_kind="none", budget=0.0)
    wanted = {"subject": given.subject}
    job = native.Job.start(native.articulate, *motion, rig, hung, settings, **wanted)
    rig, hung, info = yield from watch(job, _All(motions), _FREE_SHARE, 1.0)
    return rig, [one._replace(joints=own) for one, own in zip(skeletons, hung.joints, strict=True)], info


def solve(motions: list[Motion], options: Options, now: int) -> Generator[Step, None, list[Member]]:
    """now: the frame in which the artist started it"""
    first, given, free = motions[0], _given(motions), None
    counts = [len(motion.frames) for motion in motions]
    counted = options if options.bones_by == "BUDGET" else dataclasses.replace(options, bones_by="COUNT")
    settings, last = counted.solver(), _FREE_SHARE if options.skeleton == "ARTICULATED" else 1.0
    job = native.Job.start(native.unite, *given, settings, options.skeleton != "NONE")
    rig, united, info = yield from watch(job, _All(motions), 0.0, last)
    rig = dataclasses.replace(rig, rest=united.rest)
    rigs = _apart(rig, counts)
    hangs = options.skeleton != "NONE" and not _moves_patches(first, rigs[0], options)
    skeletons = _hung(first, rigs, united, options, now) if hangs else [None] * len(rigs)
    if hangs and options.skeleton == "ARTICULATED":
        free = info
        rig, skeletons, info = yield from _held(motions, given, rig, skeletons, settings)
        rigs = _apart(rig, counts)
    taken = _taken(motions)
    plan = plan_bones(rigs[0], first.triangles, first.space, options, taken, skeletons[0], False)
    joints = np.array([one.joints for one in skeletons[1:]]) if hangs else None
    places = _places(plan, rigs[0], rigs[1:], joints, first.triangles)
    others = zip(rigs[1:], places, skeletons[1:], strict=True)
    plans = [plan, *(plan_like(plan, *other, options) for other in others)]
    agree(plans)
    kind = "NONE" if not hangs else "HIERARCHY" if free is None else "ARTICULATED"
    return [Member(one, info, own, kind, free) for one, own in zip(rigs, plans, strict=True)]


def _moves_patches(first: Motion, rig: native.Rig, options: Options) -> bool:
    """Whether the bones move a surface, not a body, when that is left to the motion."""
    return options.skeleton == "AUTO" and placement.moves_patches(
        rig.rest, rig.dense_weights(), first.triangles
    )
