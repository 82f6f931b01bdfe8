"""An animator's skeleton: a core of bones that hold together, and helpers that bring the error back.

    pieces     more free bones than anybody would rig                          decompose
    fuse       those that move one part are a group; its largest leads         fuse
    core       a bone for each group, solved again, joined, and refitted to    decompose, connect, articulate
               joints that hold
    helpers    the other bones of a group come back; each hangs softly from    articulate
               the bone that leads it, and the core goes on holding
    idle       bones that ended up strongest next to nowhere leave, and the    articulate
               rest is solved again

A body whose pieces leave no error to speak of is a rig already: it gets as many bones as it has parts, and
no helpers.

steps() is a generator that asks for one verb after the other and is sent what came of it, so that a job can
be watched in Blender and a script can simply call: run(steps(...)).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np

from . import verbs
from .nouns import Info, Rig, Settings, Skeleton, Wishes

PIECES = 36  # free bones to begin with, and the most in all
MOST_PARTS = 100  # of a body that is exact: more than one with fingers and toes has
STIFFNESS = 0.005  # of a helper: near enough not to fly, loose enough to help
CORE, HELPER = 0, 1
_EXACT = 0.025  # percent of the size: pieces that leave less may be those of a rig, and are
_EXACT_JOINTS = 0.1  # if its parts leave no more with joints that hold
_IDLE = 1e-3  # of the vertices: a bone that is the strongest on fewer has no part of its own
_IDLE_ROUNDS = 6
_IDLE_COST = 1.05  # of the error: helpers that nobody sees stay if it would rise by more
_HEAVY_SIDE = 0.6  # of the surface: a bone with more of it to one side is no root


class Character(NamedTuple):
    rig: Rig
    skeleton: Skeleton
    roles: np.ndarray  # [b] CORE or HELPER
    info: Info
    pieces: Info  # of the free bones it began with
    core: Info  # of the core alone


class Ask(NamedTuple):
    """A verb to call, and where the whole is before and after it."""

    verb: verbs.Verb
    arguments: tuple
    named: dict
    begin: float
    end: float


Steps = Generator[Ask, object, Character]
Connect = Callable[[Rig, Settings], Skeleton]


def run(steps: Steps) -> Character:
    """Calls one verb after the other."""
    answer = None
    while True:
        try:
            ask = steps.send(answer)
        except StopIteration as end:
            return end.value
        answer = ask.verb(*ask.arguments, **ask.named)


def owners(rig: Rig) -> np.ndarray:
    """[v] the strongest bone"""
    best = rig.influence_weights.argmax(axis=1)
    return np.take_along_axis(rig.influence_bones, best[:, None], axis=1)[:, 0]


def idle(rig: Rig) -> np.ndarray:
    """[b] whether it is the strongest bone of next to no vertex; the one with the most is not"""
    owned = np.bincount(owners(rig), minlength=rig.bones)
    return owned < min(_IDLE * len(rig.influence_bones), owned.max())


def _renumbered(rig: Rig, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Influences by other numbers; what several have of one bone is added up."""
    bones = np.where(rig.influence_bones >= 0, number[rig.influence_bones], -1)
    weights = rig.influence_weights.astype(np.float64)
    for k in range(bones.shape[1]):
        for other in range(k):
            same = (bones[:, k] >= 0) & (bones[:, k] == bones[:, other])
            weights[:, other] += np.where(same, weights[:, k], 0)
            bones[:, k] = np.where(same, -1, bones[:, k])
    weights = np.where(bones >= 0, weights, 0)
    order = np.argsort(-weights, axis=1, kind="stable")
    bones, weights = (np.take_along_axis(values, order, axis=1) for values in (bones, weights))
    return bones.astype(np.int32), weights.astype(np.float32)


def _led(rig: Rig, leaders: np.ndarray) -> tuple[Rig, np.ndarray]:
    """A bone for each group, moved as the one that leads it; and which those are."""
    heads = np.unique(leaders)
    bones, weights = _renumbered(rig, np.searchsorted(heads, leaders))
    return Rig(np.ascontiguousarray(rig.transforms[:, heads]), bones, weights, rig.rest), heads


def _with_helpers(
    pieces: Rig, leaders: np.ndarray, heads: np.ndarray, core: Rig, skeleton: Skeleton
) -> tuple[Rig, Skeleton]:
    """All pieces, the core first; helpers hang from who leads them, in the middle of what they move."""
    others = np.setdiff1d(np.arange(pieces.bones), heads)
    number = np.empty(pieces.bones, np.intp)
    number[heads], number[others] = np.arange(len(heads)), len(heads) + np.arange(len(others))
    bones, weights = _renumbered(pieces, number)
    transforms = np.concatenate([core.transforms, pieces.transforms[:, others]], axis=1)
    rig = Rig(np.ascontiguousarray(transforms), bones, weights, pieces.rest)
    middles = _middles(rig)[len(heads) :]
    count = len(others)

    def longer(values, fill):
        return np.concatenate([values, np.full((count, *values.shape[1:]), fill, values.dtype)])

    parents = np.concatenate([skeleton.parents, number[leaders[others]].astype(np.int32)])
    return rig, skeleton._replace(
        parents=parents,
        joints=np.concatenate([skeleton.joints, middles]),
        kinds=[*skeleton.kinds, *["loose"] * count],
        axes=longer(skeleton.axes, 0.0),
        angles=longer(skeleton.angles, 0.0),
        drifts=longer(skeleton.drifts, 0.0),
        mirrors=longer(skeleton.mirrors, -1),
    )


def _middles(rig: Rig) -> np.ndarray:
    """[b][3] the middle of what each bone moves, by weight"""
    sums, points = np.zeros(rig.bones), np.zeros((rig.bones, 3))
    rest = rig.rest.astype(np.float64)
    for k in range(rig.influence_bones.shape[1]):
        bones, used = rig.influence_bones[:, k], rig.influence_bones[:, k] >= 0
        weights = rig.influence_weights[used, k].astype(np.float64)
        np.add.at(sums, bones[used], weights)
        np.add.at(points, bones[used], weights[:, None] * rest[used])
    return np.where(sums[:, None] > 0, points / np.maximum(sums, 1e-30)[:, None], rest.mean(axis=0))


def _heirs(skeleton: Skeleton, roles: np.ndarray, gone: np.ndarray, rig: Rig) -> np.ndarray:
    """[b] who takes what a bone that goes has: the next above it that stays, at the top its largest child"""
    heirs, shares = np.arange(len(gone)), np.bincount(owners(rig), minlength=len(gone))
    for b in np.flatnonzero(gone):
        above = skeleton.parents[b]
        while above >= 0 and gone[above]:
            above = skeleton.parents[above]
        if above < 0:
            stay = np.flatnonzero(~gone & (roles == CORE))
            above = stay[shares[stay].argmax()]
        heirs[b] = above
    return heirs


def _without(
    rig: Rig, skeleton: Skeleton, roles: np.ndarray, gone: np.ndarray
) -> tuple[Rig, Skeleton, np.ndarray]:
    """All of it without some bones; what hung from them hangs from who is above."""
    heirs, stay = _heirs(skeleton, roles, gone, rig), np.flatnonzero(~gone)
    number = np.cumsum(~gone) - 1
    parents = skeleton.parents[stay]
    root = heirs[skeleton.root]
    above = np.where(parents >= 0, number[heirs[parents]], -1)
    above[(parents < 0) & (stay != root)] = number[root]
    above[number[root]] = -1
    mirrors = skeleton.mirrors[stay]
    mirrors = np.where((mirrors >= 0) & ~gone[mirrors], number[mirrors], -1).astype(np.int32)
    bones, weights = _renumbered(rig, number[heirs])
    fewer = Rig(np.ascontiguousarray(rig.transforms[:, stay]), bones, weights, rig.rest)
    skeleton = skeleton._replace(
        root=int(number[root]),
        parents=above.astype(np.int32),
        mirrors=mirrors,
        kinds=["root" if above[i] < 0 else skeleton.kinds[b] for i, b in enumerate(stay)],
        **{name: getattr(skeleton, name)[stay] for name in ("joints", "axes", "angles", "drifts")},
    )
    return fewer, skeleton, roles[stay]


def _largest_sides(parents: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """[b] of all, the largest share that hangs together without the bone"""
    below, order = mass.astype(np.float64), []
    at = [b for b in range(len(parents)) if parents[b] < 0]
    while at:
        order += at
        at = [b for b in range(len(parents)) if parents[b] in at]
    for b in reversed(order):
        if parents[b] >= 0:
            below[parents[b]] += below[b]
    whole = mass.sum()
    sides = 1 - below / whole
    for b in np.flatnonzero(parents >= 0):
        sides[parents[b]] = max(sides[parents[b]], below[b] / whole)
    return sides


def balanced_root(skeleton: Skeleton, rig: Rig) -> int:
    """The bone that turns least of those with no side of the body too large; if it can be, none of a pair."""
    sides = _largest_sides(skeleton.parents, np.bincount(owners(rig), minlength=rig.bones) + 1e-9)
    inner = np.flatnonzero(sides <= max(_HEAVY_SIDE, sides.min()))
    alone = inner[(skeleton.mirrors[inner] < 0) | (skeleton.mirrors[inner] == inner)]
    inner = alone if len(alone) else inner
    turns = ((rig.transforms[:, inner, :, :3] - np.eye(3)) ** 2).sum(axis=(0, 2, 3))
    return int(inner[turns.argmin()])


def connect_balanced(triangles, wishes: Wishes | None = None) -> Connect:
    def connect(rig: Rig, settings: Settings) -> Skeleton:
        wished = Wishes() if wishes is None else wishes
        skeleton = verbs.connect(rig, triangles, wished, settings)
        root = skeleton.root if wished.root >= 0 else balanced_root(skeleton, rig)
        if root == skeleton.root:
            return skeleton
        return verbs.connect(rig, triangles, dataclasses.replace(wished, root=root), settings)

    return connect


def _leaving(rig: Rig, skeleton: Skeleton, roles: np.ndarray) -> np.ndarray:
    """[b] whether it goes: the idle; but of the core, if its helpers took its part, the largest of those."""
    gone, owned = idle(rig), np.bincount(owners(rig), minlength=rig.bones)
    for b in np.flatnonzero(gone & (roles == CORE)):
        helpers = np.flatnonzero((skeleton.parents == b) & (roles == HELPER) & ~gone)
        if len(helpers):
            gone[b], gone[helpers[owned[helpers].argmax()]] = False, True
    return gone


class _State(NamedTuple):
    rig: Rig
    skeleton: Skeleton
    roles: np.ndarray
    info: Info


def _leave_idle(
    poses: tuple, state: _State, settings: Settings, begin: float
) -> Generator[Ask, object, _State | None]:
    """Of all that come while idle bones leave, the best whose core has none; None: there is none."""
    best = None
    for round_ in range(_IDLE_ROUNDS):
        sound = not (idle(state.rig) & (state.roles == CORE)).any()
        if sound and best is not None and state.info.erms > _IDLE_COST * best.info.erms:
            break
        if sound:
            best = state
        gone = _leaving(state.rig, state.skeleton, state.roles)
        if not gone.any():
            break
        fewer = _without(state.rig, state.skeleton, state.roles, gone)
        share = begin + (0.98 - begin) * round_ / _IDLE_ROUNDS
        tried = yield _hold(poses, *fewer, settings, share, share)
        state = _State(tried[0], tried[1], fewer[2], tried[2])
    return best


def _hold(poses, rig, skeleton, roles, settings, begin, end) -> Ask:
    """The core holds, and helpers are soft."""
    settings = dataclasses.replace(settings, bones=rig.bones)
    soft = {"stiffness": np.where(roles == HELPER, STIFFNESS, 0.0)} if (roles == HELPER).any() else {}
    return Ask(verbs.articulate, (*poses, rig, skeleton, settings), soft, begin, end)


def _as_rig(
    poses: tuple, settings: Settings, count: int, join: Connect
) -> Generator[Ask, object, _State | None]:
    """A bone for every part, with joints that hold; None: that is not what the body is."""
    wish = dataclasses.replace(settings, bones=count, jointed=True)
    if count == 0:
        wish = dataclasses.replace(settings, bones=MOST_PARTS, budget_kind="parts")
    rig, _ = yield Ask(verbs.decompose, (*poses, wish), {}, 0.35, 0.45)
    skeleton = join(rig, dataclasses.replace(settings, bones=rig.bones))
    roles = np.full(rig.bones, CORE, np.int32)
    rig, skeleton, info = yield _hold(poses, rig, skeleton, roles, settings, 0.45, 0.5)
    if info.rms_percent > _EXACT_JOINTS:
        return None
    return (yield from _leave_idle(poses, _State(rig, skeleton, roles, info), settings, 0.5))


def _core_of(
    poses: tuple, settings: Settings, pieces: Rig, leaders: np.ndarray, join: Connect
) -> Generator[Ask, object, tuple[_State, np.ndarray]]:
    """A bone for each group, with joints that hold; and which pieces they were."""
    core, heads = _led(pieces, leaders)
    wish = dataclasses.replace(settings, bones=core.bones)
    core, _ = yield Ask(verbs.decompose, (*poses, wish, core), {}, 0.55, 0.6)
    skeleton, roles = join(core, wish), np.full(core.bones, CORE, np.int32)
    core, skeleton, info = yield _hold(poses, core, skeleton, roles, settings, 0.6, 0.7)
    return _State(core, skeleton, roles, info), heads


def steps(
    rest,
    frames,
    triangles,
    settings: Settings | None = None,
    count: int = 0,
    helpers: bool = True,
    connect: Connect | None = None,
) -> Steps:
    """count: of the core's bones, 0: found. Fairness is left out: in its norm more bones fall idle, and the
    visible ones fly further from the body."""
    poses, settings = (rest, frames, triangles), Settings() if settings is None else settings
    settings = dataclasses.replace(settings, budget_kind="none", budget=0.0, bone_kind="rigid", fairness=0.0)
    join = connect_balanced(triangles) if connect is None else connect
    wish = dataclasses.replace(settings, bones=max(PIECES, count), jointed=False)
    pieces, first = yield Ask(verbs.decompose, (*poses, wish), {}, 0.0, 0.35)
    if first.rms_percent < _EXACT:
        exact = yield from _as_rig(poses, settings, count, join)
        if exact is not None:
            return Character(*exact, first, exact.info)
    leaders = yield Ask(verbs.fuse, (*poses, pieces, count), {}, 0.5, 0.55)
    bare, heads = yield from _core_of(poses, settings, pieces, leaders, join)
    best = None
    if helpers and len(heads) < pieces.bones:
        rig, skeleton = _with_helpers(pieces, leaders, heads, bare.rig, bare.skeleton)
        roles = np.append(bare.roles, np.full(rig.bones - len(heads), HELPER, np.int32))
        rig, skeleton, info = yield _hold(poses, rig, skeleton, roles, settings, 0.7, 0.85)
        best = yield from _leave_idle(poses, _State(rig, skeleton, roles, info), settings, 0.85)
    if best is None or best.info.erms > bare.info.erms:
        without = yield from _leave_idle(poses, bare, settings, 0.9)
        known = [state for state in (best, without) if state is not None]
        best = min(known, key=lambda state: state.info.erms, default=bare)
    helping = best.roles == HELPER
    best.skeleton.joints[helping] = _middles(best.rig)[helping]
    return Character(*best, first, bare.info)
