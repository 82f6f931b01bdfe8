"""An animator's skeleton: a core of bones that hold together, and helpers that bring the error back.

    pieces     more free bones than anybody would rig                          decompose
    fuse       those that move one part are a group; its largest leads         fuse
    core       a bone for each group, solved again, joined, and refitted to    decompose, connect, articulate
               joints that hold
    helpers    the other bones of a group come back; each hangs softly from    articulate
               the bone that leads it, and the core goes on holding
    idle       bones that ended up strongest next to nowhere leave, or help    articulate
    fair       weights in the norm that sees cracks, the bones held            decompose
    near       bones whose heads leave what they are strongest on help         inspect, articulate, decompose

A body whose pieces leave no error to speak of is a rig already: its core has as many bones as it has parts,
and no helpers if they leave no error either. Where its joints hold less well than a rig's, these parts are
tried beside the fused core, and what leaves less is taken.

steps() is a generator that asks for one verb after the other and is sent what came of it, so that a job can
be watched in Blender and a script can simply call: run(steps(...)).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from typing import NamedTuple, TypeVar

import numpy as np

from . import verbs
from .nouns import Conduct, Info, Rig, Settings, Skeleton, Wishes

PIECES = 44  # free bones to begin with
MOST_IN_ALL = 36  # bones in all
MOST_PARTS = 100  # of a body that is exact: more than one with fingers and toes has
EXCERPT = 32  # frames: bones are found on no more, evenly spread, and go on from there on all
STIFFNESS = 0.005  # of a helper: near enough not to fly, loose enough to help
CORE, HELPER = 0, 1
_QUICKER = {"draft": "draft", "normal": "draft", "best": "normal"}  # where a later step goes on anyway
_EXACT = 0.03  # percent of the size: pieces that leave less may be those of a rig, and are
_EXACT_JOINTS = 0.1  # if its parts leave no more with joints that hold
_TOO_MUCH = 0.1  # percent of the size: pieces that leave more are not too few for a rig
_EVERYWHERE = 0.4  # of what the pieces miss: half of the vertices of a rig are missed by less
_COLLAPSE_ITERATIONS = 10  # iterations that tell whether they do
_COLLAPSE = 0.25  # of what the pieces leave: twice as many leave less only where that is all of a rig
_UNSEEN = 0.01  # percent of the size: a core that leaves less needs no helpers
_IDLE = 1e-3  # of the vertices: a bone that is the strongest on fewer has no part of its own
_COUNT_TRIES = 4
_IDLE_ROUNDS = 6
_IDLE_COST = 1.05  # of the error: helpers that nobody sees stay if it would rise by more
_GIVE_BACK_COST = 1.2  # likewise: rather than that, a bone of the core becomes a helper
_HALF_OPEN = 0.5  # |sum n| / sum |n| of normals n: 0 of what is closed, 1/2 of half a ball, 1 of what is flat
FLIES = 3.0  # percent of the size: a head that gets so much further from its bone's part than in rest
_MOST_FLY = 0.5  # of the core: no more become helpers for that
_NEAR = 1.0  # likewise, of a root's head, which can be anywhere
_HEAVY_SIDE = 0.6  # of the surface: a bone with more of it to one side is no root


class Character(NamedTuple):
    rig: Rig
    skeleton: Skeleton
    roles: np.ndarray  # [b] CORE or HELPER
    info: Info
    pieces: Info  # of the free bones it began with
    core: Info  # of the core alone


class _State(NamedTuple):
    rig: Rig
    skeleton: Skeleton
    roles: np.ndarray
    info: Info


class Ask(NamedTuple):
    """A verb to call, and where the whole is before and after it."""

    verb: verbs.Verb
    arguments: tuple
    named: dict
    begin: float
    end: float


Answer = TypeVar("Answer")
Steps = Generator[Ask, object, Character]
Solving = Generator[Ask, object, _State]
Connect = Callable[[Rig, Settings], Skeleton]


def run(steps: Generator[Ask, object, Answer]) -> Answer:
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


def _moved(rig: Rig) -> np.ndarray:
    """[b] all its weights together"""
    bones, weights = rig.influence_bones, rig.influence_weights
    return np.bincount(bones[bones >= 0], weights[bones >= 0], minlength=rig.bones)


def _slight(rig: Rig) -> np.ndarray:
    """[b] whether it moves next to nothing"""
    moved = _moved(rig)
    return moved < min(_IDLE * len(rig.influence_bones), moved.max())


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


def _led(rig: Rig, leaders: np.ndarray) -> Rig:
    """A bone for each group, moved as the one that leads it."""
    heads = np.unique(leaders)
    bones, weights = _renumbered(rig, np.searchsorted(heads, leaders))
    return Rig(np.ascontiguousarray(rig.transforms[:, heads]), bones, weights, rig.rest)


def _overlaps(pieces: Rig, core: Rig) -> np.ndarray:
    """[pieces][core] the weight that two bones have in common, over all vertices"""
    ours, theirs = (rig.dense_weights().astype(np.float64) for rig in (core, pieces))
    return np.stack([np.minimum(column[:, None], ours).sum(axis=0) for column in theirs.T])


def _nearest_groups(pieces: Rig, core: _State) -> np.ndarray:
    """[pieces] the bone of the core that each has most in common with"""
    seen = np.where(core.roles == CORE, _overlaps(pieces, core.rig), -1)
    return seen.argmax(axis=1)


def _numbers(pieces: Rig, groups: np.ndarray, core: Rig) -> tuple[np.ndarray, np.ndarray]:
    """[pieces] who takes the place of each: of a group the one that is most like its bone becomes that bone,
    as do those that own nothing, and the smallest if there are too many; others help. And which do."""
    overlaps, owned = _overlaps(pieces, core), np.bincount(owners(pieces), minlength=pieces.bones)
    number, free = groups.astype(np.intp), owned >= _IDLE * len(pieces.influence_bones)
    for b in range(core.bones):
        own = np.flatnonzero(groups == b)
        if len(own):
            free[own[overlaps[own, b].argmax()]] = False
    helpers = np.flatnonzero(free)
    room = max(MOST_IN_ALL - core.bones, 0)
    helpers = np.sort(helpers[np.argsort(-owned[helpers], kind="stable")][:room])
    number[helpers] = core.bones + np.arange(len(helpers))
    return number, helpers


def _with_helpers(pieces: Rig, groups: np.ndarray, core: _State) -> _State:
    """The core and the other pieces: helpers hang from who leads them, in the middle of what they move."""
    number, helpers = _numbers(pieces, groups, core.rig)
    count = len(helpers)
    bones, weights = _renumbered(pieces, number)
    lost = ~np.isin(np.arange(core.rig.bones), number)  # of the core: no piece is like it
    back = lost[owners(core.rig)]
    bones[back], weights[back] = core.rig.influence_bones[back], core.rig.influence_weights[back]
    transforms = np.concatenate([core.rig.transforms, pieces.transforms[:, helpers]], axis=1)
    rig = Rig(np.ascontiguousarray(transforms), bones, weights, core.rig.rest)
    skeleton = core.skeleton

    def longer(values, fill):
        return np.concatenate([values, np.full((count, *values.shape[1:]), fill, values.dtype)])

    skeleton = skeleton._replace(
        parents=np.concatenate([skeleton.parents, groups[helpers].astype(np.int32)]),
        joints=np.concatenate([skeleton.joints, _middles(rig)[core.rig.bones :]]),
        kinds=[*skeleton.kinds, *["loose"] * count],
        axes=longer(skeleton.axes, 0.0),
        angles=longer(skeleton.angles, 0.0),
        drifts=longer(skeleton.drifts, 0.0),
        mirrors=longer(skeleton.mirrors, -1),
    )
    return _State(rig, skeleton, longer(core.roles, HELPER), core.info)


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


def _without(state: _State, gone: np.ndarray) -> _State:
    """All of it without some bones; what hung from them hangs from who is above."""
    rig, skeleton, roles, info = state
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
    return _State(fewer, skeleton, roles[stay], info)


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


def looks(
    rest, frames, triangles, rig: Rig, skeleton: Skeleton, roles: np.ndarray
) -> Generator[Ask, object, Conduct]:
    """Where bones go. Which limb a bone of the core is in, and whether it hangs from another, is told by all
    that it and its helpers move."""
    seen = yield Ask(verbs.inspect, (rest, frames, triangles, rig, skeleton), {}, 1.0, 1.0)
    if not (roles == HELPER).any():
        return seen
    whole = _without(_State(rig, skeleton, roles, None), roles == HELPER)
    folded = yield Ask(verbs.inspect, (rest, frames, triangles, whole.rig, whole.skeleton), {}, 1.0, 1.0)
    core, above = np.flatnonzero(roles == CORE), skeleton.parents
    limbs, foreign = seen.limbs.copy(), np.full(rig.bones, -1, np.int32)
    limbs[core], foreign[core] = folded.limbs, np.where(folded.foreign < 0, -1, core[folded.foreign])
    limbs[roles == HELPER] = limbs[above[roles == HELPER]]
    return seen._replace(limbs=limbs, foreign=foreign, torso=int(core[folded.torso]))


def inspect(*given) -> Conduct:
    """looks(), called"""
    return run(looks(*given))


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


def _demoted(state: _State, which: np.ndarray) -> _State:
    """Some of the core, none of them a root, as helpers: what hung from them hangs from who is above."""
    parents, skeleton = state.skeleton.parents.copy(), state.skeleton
    for b in range(len(parents)):
        while parents[b] >= 0 and which[parents[b]]:
            parents[b] = skeleton.parents[parents[b]]
    joints = np.where(which[:, None], _middles(state.rig), skeleton.joints)
    mirrors = np.where(which | which[skeleton.mirrors], -1, skeleton.mirrors).astype(np.int32)
    kinds = ["loose" if gone else kind for gone, kind in zip(which, skeleton.kinds, strict=True)]
    skeleton = skeleton._replace(parents=parents, joints=joints, mirrors=mirrors, kinds=kinds)
    return state._replace(skeleton=skeleton, roles=np.where(which, HELPER, state.roles).astype(np.int32))


class _Plan(NamedTuple):
    poses: tuple  # rest, frames, triangles
    settings: Settings
    join: Connect
    helpers: bool
    fairness: float  # of the last step
    count: int  # of the core's bones, 0: found

    @property
    def quick(self) -> str:
        """The quality of what a later step goes on from."""
        return _QUICKER[self.settings.quality]

    def wish(self, **changed) -> Settings:
        return dataclasses.replace(self.settings, **changed)

    def at_every(self, step: int) -> _Plan:
        """On some of the frames."""
        rest, frames, triangles = self.poses
        return self._replace(poses=(rest, np.ascontiguousarray(frames[::step]), triangles))


def _at_every(step: int, rig: Rig) -> Rig:
    return dataclasses.replace(rig, transforms=np.ascontiguousarray(rig.transforms[::step]))


def _without_idle_core(plan: _Plan, state: _State, back: bool = True) -> _State:
    """A bone of the core that is idle gets its part back from the largest of its helpers; one that has none,
    or all if they get nothing back, becomes a helper of the bone above, and leaves if there are to be none,
    or it has nobody above."""
    gone, less = np.zeros(state.rig.bones, bool), np.zeros(state.rig.bones, bool)
    unused, owned = idle(state.rig), np.bincount(owners(state.rig), minlength=state.rig.bones)
    for b in np.flatnonzero(unused & (state.roles == CORE)):
        helpers = (state.skeleton.parents == b) & (state.roles == HELPER) & ~unused
        if helpers.any() and (back or state.skeleton.parents[b] < 0):
            gone[np.where(helpers, owned, -1).argmax()] = True
        elif plan.helpers and state.skeleton.parents[b] >= 0:
            less[b] = True
        else:
            gone[b] = True
    return _without(_demoted(state, less), gone)


def _hold(plan: _Plan, state: _State, quality: str, begin: float, end: float, exact: bool = False) -> Solving:
    """The core holds, and helpers are soft. exact: joints and rest stay where they are"""
    helping, wish = state.roles == HELPER, plan.wish(bones=state.rig.bones, quality=quality)
    soft = {"stiffness": np.where(helping, STIFFNESS, 0.0)} if helping.any() else {}
    if exact:
        wish = dataclasses.replace(wish, rest_mode="fixed")
        soft["held_joints"] = np.ones(state.rig.bones, np.uint8)
    solved = yield Ask(verbs.articulate, (*plan.poses, state.rig, state.skeleton, wish), soft, begin, end)
    return _State(solved[0].released(), solved[1], state.roles, solved[2])


def _leave_idle(plan: _Plan, state: _State, at: float, last: int = HELPER) -> Solving:
    """No bone of the core stays idle; idle helpers leave unless that costs much, all of them together."""
    least = state.info.erms
    for _ in range(_IDLE_ROUNDS):
        unused = idle(state.rig) & (state.roles <= last)
        seen = (unused & (state.roles == CORE)).any()
        if not unused.any():
            break
        fewer = _without_idle_core(plan, state) if seen else _without(state, unused)
        fewer = yield from _hold(plan, fewer, plan.quick, at, at)
        if not seen and fewer.info.erms > _IDLE_COST * least:
            break
        may_shrink = seen and plan.helpers and not plan.count
        if may_shrink and fewer.info.erms > _GIVE_BACK_COST * state.info.erms:
            less = yield from _hold(plan, _without_idle_core(plan, state, back=False), plan.quick, at, at)
            fewer = min(fewer, less, key=lambda tried: tried.info.erms)
        state, least = fewer, fewer.info.erms if seen else min(least, fewer.info.erms)
    return state


def _parts(plan: _Plan) -> Solving:
    """A bone for every part, with joints that hold."""
    wish = plan.wish(bones=plan.count, jointed=True)
    if plan.count == 0:
        wish = plan.wish(bones=MOST_PARTS, budget_kind="parts", quality=plan.quick)
    rig, info = yield Ask(verbs.decompose, (*plan.poses, wish), {}, 0.3, 0.45)
    skeleton = plan.join(rig, plan.wish(bones=rig.bones))
    state = _State(rig, skeleton, np.full(rig.bones, CORE, np.int32), info)
    return (yield from _hold(plan, state, plan.settings.quality, 0.45, 0.5))


def _misses(frames, rig: Rig) -> np.ndarray:
    """[v] root mean square distance from where the mesh is"""
    used = np.maximum(rig.influence_bones, 0)
    rest = np.concatenate([rig.rest, np.ones((len(rig.rest), 1))], axis=1)
    squares = np.zeros(len(rest))
    for frame, moves in zip(frames, rig.transforms, strict=True):
        blends = np.einsum("vk,vkij->vij", rig.influence_weights, moves[used])
        squares += ((np.einsum("vij,vj->vi", blends, rest) - frame) ** 2).sum(axis=1)
    return np.sqrt(squares / len(frames))


def _may_be_a_rig(plan: _Plan, pieces: Rig, first: Info) -> Generator[Ask, object, bool]:
    """Of a rig, enough pieces leave next to nothing, and too few leave much, but not all over it. Soft bodies
    have no such step."""
    if first.rms_percent < _EXACT or first.rms_percent > _TOO_MUCH:
        return first.rms_percent < _EXACT
    misses = _misses(plan.poses[1], pieces)
    if np.median(misses) > _EVERYWHERE * np.sqrt(np.mean(misses**2)):
        return False
    wish = plan.wish(bones=2 * PIECES, quality="draft", iterations=_COLLAPSE_ITERATIONS)
    _, more = yield Ask(verbs.decompose, (*plan.poses, wish), {}, 0.3, 0.3)
    return more.rms_percent < _COLLAPSE * first.rms_percent


def _fused_core(plan: _Plan, pieces: Rig, count: int) -> Solving:
    """A bone for each group, with joints that hold."""
    leaders = yield Ask(verbs.fuse, (*plan.poses, pieces, count), {}, 0.3, 0.35)
    core = _led(pieces, leaders)
    wish = plan.wish(bones=core.bones)
    core, info = yield Ask(verbs.decompose, (*plan.poses, wish, core), {}, 0.35, 0.45)
    state = _State(core, plan.join(core, wish), np.full(core.bones, CORE, np.int32), info)
    quality = plan.quick if plan.helpers else plan.settings.quality
    state = yield from _hold(plan, state, quality, 0.45, 0.5)
    return (yield from _leave_idle(plan, state, 0.5))


def _openness(rest, triangles, labels: np.ndarray, count: int) -> np.ndarray:
    """[b] |sum n| / sum |n| over the triangles of a label, n their normals by area"""
    corners = np.asarray(rest, np.float64)[np.asarray(triangles)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums, areas = np.zeros((count, 3)), np.zeros(count)
    of = labels[np.asarray(triangles)[:, 0]]
    np.add.at(sums, of, normals)
    np.add.at(areas, of, np.linalg.norm(normals, axis=1))
    return np.linalg.norm(sums, axis=1) / np.maximum(areas, np.finfo(np.float64).tiny)


def patches(triangles, state: _State) -> np.ndarray:
    """[b] which ends of the core are patches of skin: open, with no partner and with a joint that is a guess.
    What an end moves is what it and its helpers move."""
    found = np.zeros(len(state.roles), bool)
    if triangles is None:
        return found
    core = np.flatnonzero(state.roles == CORE)
    whole = _without(state, state.roles == HELPER)
    skeleton, numbers = whole.skeleton, np.arange(len(core))
    ends = ~np.isin(numbers, skeleton.parents) & (skeleton.parents >= 0)
    guessed = np.array([kind == "loose" for kind in skeleton.kinds])
    is_open = _openness(state.rig.rest, triangles, owners(whole.rig), len(core)) > _HALF_OPEN
    alone = (skeleton.mirrors < 0) | (skeleton.mirrors == numbers)
    found[core] = ends & guessed & is_open & alone
    return found


def _helped(plan: _Plan, pieces: Rig, core: _State) -> Solving:
    """The core with the other pieces as helpers, all solved together."""
    state = _with_helpers(pieces, _nearest_groups(pieces, core), core)
    state = yield from _hold(plan, state, plan.quick, 0.55, 0.65)
    first = state.rig.bones, _core_size(state)
    if not plan.count:
        state = _demoted(state, patches(plan.poses[2], state))
    state = _without_idle_core(plan, _without(state, _slight(state.rig) & (state.roles == HELPER)))
    if (state.rig.bones, _core_size(state)) != first:
        state = yield from _hold(plan, state, plan.quick, 0.65, 0.7)
    state = yield from _leave_idle(plan, state, 0.7)
    state = yield from _hold(plan, state, plan.settings.quality, 0.7, 0.85)
    return (yield from _leave_idle(plan, state, 0.85, CORE))


def _fair(plan: _Plan, state: _State) -> Solving:
    """Weights in the norm that sees cracks, the bones as they are. A bone of the core that these leave
    idle is none that an animator wants."""
    for _ in range(_IDLE_ROUNDS):
        held = np.ones(state.rig.transforms.shape[:2], np.uint8)
        given = dataclasses.replace(state.rig, held_transforms=held)
        wish = plan.wish(bones=state.rig.bones, fairness=plan.fairness)
        rig, info = yield Ask(verbs.decompose, (*plan.poses, wish, given), {}, 0.9, 1.0)
        fair = state._replace(rig=rig.released(), info=info)
        if not (idle(fair.rig) & (fair.roles == CORE)).any():
            break
        state = yield from _hold(plan, _without_idle_core(plan, fair), plan.quick, 0.9, 0.9)
    return fair


def _core_size(state: _State) -> int:
    return int((state.roles == CORE).sum())


def _settled(plan: _Plan, state: _State, quality: str) -> Solving:
    """The core holds again, and weights are fair."""
    state = yield from _hold(plan, state, quality, 0.9, 0.9)
    return (yield from _fair(plan, state)) if plan.fairness > 0 else state


def _flights(frames, rig: Rig, b: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[points] how much further than in rest points that bone b moves get from the vertices that it is
    strongest on, and [vertices] how far it misses those, at most"""
    owned = np.flatnonzero(owners(rig) == b)
    rest = rig.rest[owned].astype(np.float64)
    flown, missed = np.zeros(len(points)), np.zeros(len(owned))
    for frame, turn in zip(frames, rig.transforms[:, b], strict=True):
        pose = np.asarray(frame)[owned]
        moved = (places @ turn[:, :3].T + turn[:, 3] for places in (points, rest))
        flown = np.maximum(flown, [np.linalg.norm(pose - x, axis=1).min() for x in next(moved)])
        missed = np.maximum(missed, np.linalg.norm(pose - next(moved), axis=1))
    return flown - [np.linalg.norm(rest - x, axis=1).min() for x in points], missed


def _root_near(frames, state: _State) -> _State:
    """The root's head, which no joint holds: in the middle of what the root is strongest on if it leaves
    that, or where the root misses its vertices least."""
    rig, b, joints = state.rig, state.skeleton.root, state.skeleton.joints.copy()
    rest = rig.rest[owners(rig) == b].astype(np.float64)
    if not len(rest):
        return state
    places = np.stack([joints[b], rest.mean(axis=0)])
    flown, missed = _flights(frames, rig, b, places)
    is_near = flown <= 0.01 * _NEAR * np.linalg.norm(np.ptp(rig.rest, axis=0))
    joints[b] = places[is_near.argmax()] if is_near.any() else rest[missed.argmin()]
    return state._replace(skeleton=state.skeleton._replace(joints=joints))


def _hung_from(state: _State, new: int) -> _State:
    """The root hangs from one of its children."""
    skeleton, old = state.skeleton, state.skeleton.root
    parents, joints, kinds = skeleton.parents.copy(), skeleton.joints.copy(), list(skeleton.kinds)
    parents[old], parents[new] = new, -1
    joints[old], joints[new] = joints[new], _middles(state.rig)[new]
    kinds[old], kinds[new] = kinds[new], "root"
    skeleton = skeleton._replace(root=int(new), parents=parents, joints=joints, kinds=kinds)
    return state._replace(skeleton=skeleton)


def _kept_near(plan: _Plan, state: _State) -> Solving:
    """No head of the core leaves what its bone is strongest on: the bone that flies furthest becomes a
    helper, until none does, or too few are left: then what flew least is taken. Where there are no helpers,
    or a number of bones is asked for, all stay."""
    best, flies, fewest = state, np.inf, (1 - _MOST_FLY) * _core_size(state)
    while plan.helpers and not plan.count:
        state = _root_near(plan.poses[1], state)
        seen = yield Ask(verbs.inspect, (*plan.poses, state.rig, state.skeleton), {}, 0.95, 0.95)
        flown = np.where(state.roles == CORE, seen.excesses, 0)
        if flown.max() < flies:
            best, flies = state, flown.max()
        if flies <= FLIES or _core_size(state) - 1 < max(fewest, 1):
            break
        worst = flown.argmax()
        below = (state.skeleton.parents == worst) & (state.roles == CORE)
        if worst == state.skeleton.root:
            state = _hung_from(state, int(np.where(below, seen.shares, -1).argmax()))
        less = np.arange(len(flown)) == worst
        state = yield from _settled(plan, _demoted(state, less), plan.quick)
    return best


def _finished(plan: _Plan, pieces: Rig, core: _State) -> Solving:
    """The core with helpers, if they help, and fair weights."""
    best = core
    if plan.helpers and core.info.rms_percent > _UNSEEN:
        best = yield from _helped(plan, pieces, core)
        if best.info.erms > core.info.erms:  # caught somewhere
            best = yield from _hold(plan, core, plan.settings.quality, 0.85, 0.9)
    if plan.fairness > 0:
        best = yield from _fair(plan, best)
    return best


def _without_surplus(plan: _Plan, state: _State) -> Solving:
    """The smallest ends of the core as helpers, until there are as many as asked for."""
    while _core_size(state) > plan.count:
        owned, core = np.bincount(owners(state.rig), minlength=state.rig.bones), state.roles == CORE
        ends = core & ~np.isin(np.arange(len(core)), state.skeleton.parents[core])
        less = np.arange(len(core)) == np.where(ends, owned, owned.max() + 1).argmin()
        state = _demoted(state, less) if plan.helpers else _without(state, less)
    return (yield from _settled(plan, state, plan.settings.quality))


def _from_groups(plan: _Plan, pieces: Rig, groups: int) -> Solving:
    core = yield from _fused_core(plan, pieces, groups)
    state = yield from _finished(plan, pieces, core)
    return (yield from _without_surplus(plan, state)) if _core_size(state) > plan.count else state


def _counted(plan: _Plan, pieces: Rig, best: _State) -> Solving:
    """As many as asked for, by what is there in the end: where some came to nothing, more groups are made,
    and where helpers go on taking their parts, there are none; at last without groups."""
    if _core_size(best) > plan.count:
        return (yield from _without_surplus(plan, best))
    tried = set()  # the same again comes to the same
    for way in (plan, plan._replace(helpers=False)):
        groups = plan.count
        for _ in range(_COUNT_TRIES):
            missing = plan.count - _core_size(best)
            if missing <= 0:
                return best
            groups = min(groups + missing, pieces.bones)
            if (way.helpers, groups) in tried:
                continue
            tried.add((way.helpers, groups))
            best = max(best, (yield from _from_groups(way, pieces, groups)), key=_core_size)
    if _core_size(best) >= plan.count:
        return best
    alone = plan._replace(helpers=False)
    parts = yield from _leave_idle(alone, (yield from _parts(alone)), 0.85)
    return max(best, (yield from _finished(alone, pieces, parts)), key=_core_size)


def _with_few_helpers(plan: _Plan, most: int, state: _State) -> Solving:
    """Those that move least leave. The core was found with all of them: it would be another with few."""
    for _ in range(_IDLE_ROUNDS):
        helpers = np.flatnonzero(state.roles == HELPER)
        if len(helpers) <= most:
            return state
        less = helpers[np.argsort(_moved(state.rig)[helpers], kind="stable")[: len(helpers) - most]]
        state = _without(state, np.isin(np.arange(len(state.roles)), less))
        state = yield from _settled(plan, state, plan.settings.quality)  # it may make a helper of a bone
    return _without(state, state.roles == HELPER)


def _in_order(state: _State) -> _State:
    """The core first; helpers in the middle of what they move."""
    order = np.argsort(state.roles, kind="stable")
    number = np.argsort(order)
    rig, skeleton, roles, info = state
    bones, weights = _renumbered(rig, number)
    rig = Rig(np.ascontiguousarray(rig.transforms[:, order]), bones, weights, rig.rest)
    joints = np.where((roles == HELPER)[:, None], _middles(state.rig), skeleton.joints)[order]

    def renumbered(values):
        return np.where(values[order] < 0, -1, number[values[order]]).astype(np.int32)

    skeleton = skeleton._replace(
        root=int(number[skeleton.root]),
        parents=renumbered(skeleton.parents),
        mirrors=renumbered(skeleton.mirrors),
        joints=joints,
        kinds=[skeleton.kinds[b] for b in order],
        **{name: getattr(skeleton, name)[order] for name in ("axes", "angles", "drifts")},
    )
    return _State(rig, skeleton, roles[order], info)


def _if_nearer(plan: _Plan, parts: _State, core: _State, best: _State) -> Generator:
    """The parts of a body that is nearly a rig where they leave less than a core and its helpers do; of
    these parts those that are idle help."""
    alone = yield from _leave_idle(plan, parts, 0.85)
    if plan.fairness > 0:
        alone = yield from _fair(plan, alone)
    return (parts, alone) if alone.info.erms < best.info.erms else (core, best)


def _found(plan: _Plan, pieces: Rig, first: Info) -> Generator[Ask, object, tuple[_State, _State]]:
    """The core alone, and with all that it needs."""
    may_be = yield from _may_be_a_rig(plan, pieces, first)
    parts = (yield from _parts(plan)) if may_be else None
    is_rig = parts is not None and parts.info.rms_percent <= _EXACT_JOINTS
    if is_rig:
        core = yield from _leave_idle(plan, parts, 0.5)
    else:
        core = yield from _fused_core(plan, pieces, plan.count)
    best = yield from _finished(plan, pieces, core)
    if may_be and not is_rig and not plan.count:
        core, best = yield from _if_nearer(plan, parts, core, best)
    best = (yield from _counted(plan, pieces, best)) if plan.count else best
    return core, (yield from _kept_near(plan, best))


def _on_all_frames(plan: _Plan, state: _State) -> Solving:
    """What was found on some frames, solved on all of them, from where its weights say bones are."""
    wish, given = plan.wish(bones=state.rig.bones, rest_mode="fixed"), state.rig.to_track()
    rig, info = yield Ask(verbs.decompose, (*plan.poses, wish, given), {}, 0.85, 0.87)
    state = state._replace(rig=rig.released(), info=info)
    if plan.fairness <= 0:
        state = yield from _hold(plan, state, plan.quick, 0.87, 0.9)
        return (yield from _leave_idle(plan, state, 0.9, CORE))
    still = dataclasses.replace(state.rig, held_vertices=given.held_vertices)
    state = yield from _hold(plan, state._replace(rig=still), plan.quick, 0.87, 0.9, exact=True)
    return (yield from _fair(plan, state))


def steps(
    rest,
    frames,
    triangles,
    settings: Settings | None = None,
    count: int = 0,
    helpers: bool = True,
    connect: Connect | None = None,
    most_helpers: int = MOST_IN_ALL,
) -> Steps:
    """count: of the core's bones, 0: found. Bones are found without fairness: in its norm more of them fall
    idle, and the visible ones fly further from the body. It comes last, for the weights alone."""
    settings = Settings() if settings is None else settings
    bare = {"budget_kind": "none", "budget": 0.0, "bone_kind": "rigid", "fairness": 0.0, "jointed": False}
    join = connect_balanced(triangles) if connect is None else connect
    poses, bare_settings = (rest, frames, triangles), dataclasses.replace(settings, **bare)
    plan = _Plan(poses, bare_settings, join, helpers, settings.fairness, count)
    wish = plan.wish(bones=max(PIECES, count), quality=plan.quick)
    pieces, first = yield Ask(verbs.decompose, (*plan.poses, wish), {}, 0.0, 0.3)
    step = -(-len(frames) // EXCERPT)
    core, best = yield from _found(plan.at_every(step), _at_every(step, pieces), first)
    if step > 1:
        best = yield from _on_all_frames(plan, best)
        if count and _core_size(best) != count:
            core, best = yield from _found(plan, pieces, first)
        best = yield from _kept_near(plan, best)
    best = yield from _with_few_helpers(plan, most_helpers, best)
    return Character(*_in_order(_root_near(frames, best)), first, core.info)
