"""What a refit starts from and never changes: the rig as it stands, what of it is held, what may change, and
what the solver has back of what the artist does not keep.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from .. import native
from ..base.handles import Place
from ..base.meshes import matrix_of
from ..base.refusal import Refusal
from ..options.options import RefitOptions, holds
from ..record import memory, reading
from ..record.changes import HELD, Changes, Seen, dense_weights
from ..rig import carriers, channels, other_clips, played, rewrite, standing
from ..rig.stand import Holds, Standing
from ..rig.standing import Skin
from . import gaps, joint_refit, over, relocation


@dataclasses.dataclass(frozen=True)
class Facts:
    """b counts the bones that take part, then those that claim vertices, then those that were set aside."""

    stands: Standing  # as it is; how rebased bones moved, and limits on what may change, are in it
    claims: list[str]  # bones that the artist added, without a vertex
    aside: list[str]  # of these the ones that claimed in vain
    skin: Skin  # with what is given back
    rebased: np.ndarray  # [b] true: their place or their parent is another, so their keys mean another motion
    free: np.ndarray  # [f][b] in scope
    returned: np.ndarray  # [v] weights that the solver has back: it starts from those of the last time
    reshaped: np.ndarray  # [v] places at rest, likewise
    rig: native.Rig  # of the bones that take part, with all vertices
    seen: Seen
    notes: list[str] = dataclasses.field(default_factory=list)  # for the artist, a sentence each
    tied: bool = False  # bones that only turn do so in the solver, too
    pinned: frozenset[str] = frozenset()  # those that do so although nothing makes them
    loose: frozenset[str] = frozenset()  # bones whose joints may be solved again
    may_be_loose: frozenset[str] = frozenset()  # the same if bones near them left
    mine: np.ndarray | None = None  # [b] bones that may leave their places; None: none may
    gaps: list[gaps.Gap] = dataclasses.field(default_factory=list)  # that deleted bones have left
    over: over.Over = over.NOTHING  # what lies over the bones

    @property
    def names(self) -> list[str]:
        return self.stands.names

    @property
    def held(self) -> Holds:
        return self.stands.holds

    @property
    def new(self) -> int:
        """How many bones get their first vertices."""
        return len(self.claims) + len(self.aside)

    @property
    def may_leave(self) -> bool:
        """Whether some bone may leave its place."""
        return self.mine is not None and bool(self.mine.any())

    @functools.cached_property
    def dense(self) -> np.ndarray:
        """[v][b] of the rig"""
        return self.rig.dense_weights()

    def without_claims(self, names: list[str]) -> Facts:
        """These do not take part in the solving."""
        aside = [*self.aside, *names]
        claims = [name for name in self.claims if name not in names]
        used = [name for name in self.names if name not in {*claims, *aside}]
        order = [self.names.index(name) for name in (*used, *claims, *aside)]
        return dataclasses.replace(
            self,
            stands=self.stands.in_order(order),
            claims=claims,
            aside=aside,
            skin=self.skin.of_bones(order),
            rebased=self.rebased[order],
            free=self.free[:, order],
            mine=None if self.mine is None else self.mine[order],
        )

    def as_painted(self) -> Facts:
        """Weights that are given back start as they are painted: those of the last time have led nowhere."""
        skin = dataclasses.replace(self.skin, painted=self.stands.skin.painted)
        bones, weights = _influences(skin, self.held, self.rig.bones)
        rig = dataclasses.replace(self.rig, influence_bones=bones, influence_weights=weights)
        return dataclasses.replace(self, skin=skin, rig=rig, returned=np.zeros(len(self.returned), bool))

    def staying(self) -> Facts:
        """No bone leaves its place."""
        return dataclasses.replace(self, mine=None)

    def moving_as(self, bones: list[int], transforms: np.ndarray) -> Facts:
        """Some bones [n] move otherwise, [f][n][4][4]."""
        whole, moved = self.stands.transforms.copy(), self.rig.transforms.copy()
        whole[:, bones] = transforms
        some = [b for b in bones if b < self.rig.bones]
        moved[:, some] = transforms[:, [bones.index(b) for b in some], :3]
        return dataclasses.replace(
            self,
            stands=dataclasses.replace(self.stands, transforms=whole),
            rig=dataclasses.replace(self.rig, transforms=moved),
        )

    def turning(self, names: list[str]) -> np.ndarray:
        """[b] of the names the one that each turns against; -1: it also moves"""
        return standing.turning_parents(self.stands.armature, names, self.pinned)

    def bones(self, armature) -> list[str]:
        """All that may be keyed for them: what carries a flexible bone is keyed as well."""
        return [*self.names, *carriers.of(armature, self.names)]


def _names(armature, seen: Seen, solve: str) -> tuple[list[str], list[str]]:
    """The bones that move something, and those that are new and shall."""
    names = standing.bone_names(armature)
    used = np.any([groups.any(axis=0) for groups in seen.now.groups], axis=0)
    new = set(seen.changes.added) if solve != "TRANSFORMS" else set()
    claims = [
        name
        for b, name in enumerate(names)
        if not used[b] and name in new and not armature.data.bones[name].get(HELD)
    ]
    return [name for b, name in enumerate(names) if used[b]], claims


def _give_back(armature, seen: Seen, skin: Skin, names: list[str]) -> tuple[Skin, np.ndarray, np.ndarray]:
    """The skin with weights and points of the last time where the artist's are not kept, and [v] where."""
    record, then, changes = armature.ossify, seen.then, seen.changes
    weighed, shaped = np.zeros(len(skin.rest), bool), np.zeros(len(skin.rest), bool)
    repainted = {} if record.keep_repainted else changes.repainted
    sculpted = {} if record.keep_sculpted else changes.sculpted
    painted, rest = skin.painted.copy(), skin.rest.copy()
    numbers = dict(zip(seen.now.bones.names, seen.now.bones.numbers, strict=True))
    columns = {numbers[name]: b for b, name in enumerate(names)}
    back = np.linalg.inv(matrix_of(armature))
    for obj, here, there in memory.parts_of(armature, then, skin):
        if obj.name in repainted:
            rows = repainted[obj.name]
            old = dense_weights(then.influences[there], then.weights[there], columns)
            rows = rows & (old.sum(axis=1) > standing.WEIGHTLESS)
            painted[here][rows], weighed[here] = old[rows], rows
        if obj.name in sculpted:
            rows, matrix = sculpted[obj.name], back @ matrix_of(obj)
            points = then.rest[there][rows].astype(np.float64)
            rest[here][rows] = points @ matrix[:3, :3].T + matrix[:3, 3]
            shaped[here] = rows
    return dataclasses.replace(skin, painted=painted, rest=rest), weighed, shaped


def _forward(then: memory.Snapshot, now: memory.Bones, channels_now) -> dict[int, np.ndarray]:
    """number -> [f][4][4] poses by the places and parents that the bones had, and the channels they have

    A bone may have been hung from one that the artist had added, and that was never noted: that one counts as
    it is now, or as the root if it is gone.
    """
    poses: dict[int, np.ndarray] = {}
    columns = {number: b for b, number in enumerate(now.numbers)}
    root = then.bones.numbers[then.bones.parents.index(-1)]

    def known(number: int) -> tuple[memory.Bones, int]:
        bones = then.bones if number in then.bones.numbers else now
        return bones, bones.index(number)

    def pose(number: int) -> np.ndarray:
        if number not in poses:
            bones, b = known(number)
            values = channels_now[:, columns[number]] if number in columns else then.channels[:, b]
            values = values.astype(np.float64)
            local = channels.Channels(values[:, None, :3], values[:, None, 3:7], values[:, None, 7:])
            above, base = bones.parents[b], bones.rests[b]
            if above >= 0:
                above = above if above in columns or above in then.bones.numbers else root
                bones, a = known(above)
                base = pose(above) @ np.linalg.inv(bones.rests[a]) @ base
            poses[number] = base @ local.matrices()[:, 0]
        return poses[number]

    for number in then.bones.numbers:
        pose(number)
    return poses


def rebased_bones(armature, changes: Changes, names: list[str]) -> np.ndarray:
    """[b] bones that were moved or hung elsewhere, and all below them, unless something else moves them"""
    start, made = {*changes.moved, *changes.reparented} - set(changes.added), played.of(armature)
    found = set()
    for name in start:
        bone = armature.data.bones[name]
        found |= {name, *(child.name for child in bone.children_recursive)}
    plain = {name for name in found if all(rewrite.is_plain(armature, c.action, name) for c in made)}
    return np.array([name in plain and name not in changes.added for name in names])


def _as_before(then: memory.Snapshot, now: memory.Bones, channels_now, names, rebased, found) -> None:
    """Into found [f][b][4][4]: how rebased bones moved where they were, by their channels now."""
    poses = _forward(then, now, channels_now)
    number = dict(zip(now.names, now.numbers, strict=True))
    for b in np.flatnonzero(rebased):
        mine = number[names[b]]
        found[:, b] = poses[mine] @ np.linalg.inv(then.bones.rests[then.bones.index(mine)])


def _moving(stands: Standing, armature, seen: Seen) -> tuple[Standing, np.ndarray]:
    """With bones as they moved where their place or parent is another, and [b] which those are"""
    rebased, moved = rebased_bones(armature, seen.changes, stands.names), stands.transforms.copy()
    if rebased.any():
        _as_before(seen.then, seen.now.bones, seen.now.channels, stands.names, rebased, moved)
    return dataclasses.replace(stands, transforms=moved), rebased


def _gaps(armature, seen: Seen, skin: Skin, held: Holds) -> list[gaps.Gap]:
    """Where deleted bones were. None with locked groups: their weights stay, whatever else is given back."""
    then, now = seen.then, seen.now
    numbers = gaps.numbers_of(seen.changes, then.bones, now.bones)
    if not numbers or held.groups.any():
        return []
    poses = _forward(then, now.bones, now.channels)
    rests = [then.bones.rests[then.bones.index(number)] for number in numbers]
    moved = [standing.rigid(poses[n] @ np.linalg.inv(r))[:, :3] for n, r in zip(numbers, rests, strict=True)]
    weights = gaps.weights_of(armature, then, skin, numbers)
    return [gaps.Gap(*gap) for gap in zip(weights.T, moved, strict=True)]


def tracked(armature, facts: Facts) -> list[other_clips.Other]:
    """The actions that were tracked onto the rig, with bones as they moved, likewise."""
    found = other_clips.read(armature, facts.names)
    if not facts.rebased.any():
        return found
    then, bones = facts.seen.then, facts.seen.now.bones
    gone = [b for b, number in enumerate(then.bones.numbers) if number not in bones.numbers]
    for other in found:
        values = memory.read_channels(armature, bones.names, other.times, other.action)
        lost = memory.read_channels(armature, [then.bones.names[b] for b in gone], other.times, other.action)
        known = dataclasses.replace(
            bones,
            names=[*bones.names, *(then.bones.names[b] for b in gone)],
            numbers=[*bones.numbers, *(then.bones.numbers[b] for b in gone)],
        )
        both = np.concatenate([values, lost], axis=1)
        _as_before(then, known, both, facts.names, facts.rebased, other.transforms)
    return found


def _scope(armature, options: RefitOptions, bones, vertices, names, skin):
    """[f][b], [b], [v] what may change: transforms, groups of weights, and vertices"""
    chosen = np.ones(len(names), bool)
    if options.only == "BONES":
        chosen = np.array([name in bones for name in names])
    rows = np.ones(len(skin.rest), bool)
    if options.only == "VERTICES":
        for obj, some in zip(skin.meshes, skin.slices, strict=True):
            rows[some] = vertices.get(obj.name, np.zeros(some.stop - some.start, bool))
    frames = np.ones(len(played.times_of(armature)), bool)
    if options.frames == "CUSTOM":
        frames = played.within(armature, options.frame_start, options.frame_end)
        if not frames.any():
            raise Refusal(
                f"{armature.name} was not made from any frame between {options.frame_start} and"
                f" {options.frame_end}: choose another range."
            )
    moving = frames[:, None] & chosen
    if options.solve == "WEIGHTS" or options.only == "VERTICES":
        moving[:] = False
    if options.solve == "TRANSFORMS":
        rows[:] = False
    return moving, chosen, rows


def _has_its_shape(armature, held: Holds, names: list[str]) -> bool:
    """Whether the mesh keeps its shape at rest: where anything is held, vertices would go far, out of the
    shape of the mesh, to make up for what may not be changed."""
    told = (held.groups, held.vertices, held.rest, held.transforms)
    return any(map(np.any, told)) or not all(rewrite.is_plain(armature, None, name) for name in names)


def _limits(
    stands: Standing, armature, options: RefitOptions, chosen
) -> tuple[Holds, np.ndarray, np.ndarray]:
    """What is held, by the artist or because it is not asked for; [f][b] the transforms that may change; [v]
    the vertices that may go back to where they were at rest."""
    told = stands.holds
    free, bones, rows = _scope(armature, options, *chosen, stands.names, stands.skin)
    transforms = stands.held_in_motion()
    rest = told.rest | ~rows
    if not options.rest or options.only == "BONES":
        rest[:] = True
    shaped = rest | _has_its_shape(armature, told, stands.names)
    held = Holds(told.groups | ~bones, told.vertices | ~rows, shaped, transforms)
    return held, free & ~transforms, ~rest


def _pinned(armature, seen: Seen, names: list[str]) -> set[str]:
    """Bones that painted weights, which are kept, shall not pull off their joints: those of a hierarchy that
    are keyed without a location. Where bones came or went the motion may ask for one."""
    record, changes, now = armature.ossify, seen.changes, seen.now
    painted, others = changes.repainted and record.keep_repainted, changes.added or changes.deleted
    if not painted or others or changes.merged or record.settings.skeleton != "HIERARCHY":
        return set()
    located = now.channels[:, [now.bones.names.index(name) for name in names], :3]
    still = (located == 0).all(axis=(0, 2))
    touched = {*changes.moved, *changes.reparented}
    return {name for name, turns in zip(names, still, strict=True) if turns and name not in touched}


def _held_notes(armature, names: list[str]) -> list[str]:
    """On bones that the solver may not move, though nobody holds them."""
    found = [name for name in names if not rewrite.is_plain(armature, None, name)]
    told = rewrite.not_plain_words(armature, found)
    return [f"{words}: kept as that is, and with it the bones above." for words in told]


def _solid(stands: Standing, count: int) -> np.ndarray:
    """[f][b][3][4] transforms of the first bones as the solver wants them; what is held may be anything"""
    moved = stands.transforms
    if stands.options.bone_kind == "RIGID":
        moved = np.where(stands.holds.transforms[..., None, None], moved, standing.rigid(moved))
    return np.ascontiguousarray(moved[:, :count, :3])


def facts_of(
    place: Place, armature, seen: Seen, options: RefitOptions, bones=frozenset(), vertices=None
) -> Facts:
    """bones: names of those that are selected; vertices: object name -> [v] likewise"""
    used, claims = _names(armature, seen, options.solve)
    stands = reading.stand(place, armature, seen, [*used, *claims])
    stands, rebased = _moving(stands, armature, seen)
    skin, returned, reshaped = _give_back(armature, seen, stands.skin, stands.names)
    held, free, may_be_reshaped = _limits(stands, armature, options, (bones, vertices or {}))
    pinned = _pinned(armature, seen, stands.names)
    stands = dataclasses.replace(stands, holds=held)
    weights = _influences(skin, held, len(used))
    rig = native.Rig(_solid(stands, len(used)), *weights, skin.rest.astype(np.float32))
    shaped = reshaped & may_be_reshaped
    start = Facts(stands, claims, [], skin, rebased, free, returned, shaped, rig, seen)
    may_leave = relocation.is_meant(options, seen.changes)
    found = {
        "over": over.of(armature, stands.skin.meshes),
        "pinned": frozenset(pinned),
        "tied": holds(stands.options) or bool(pinned),
        "loose": frozenset(joint_refit.free(armature, seen.changes, options.joints, may_leave)),
        "notes": _held_notes(armature, stands.names) if options.solve != "WEIGHTS" else [],
    }
    if may_leave:
        mine = relocation.owned(armature, seen.changes, stands, skin, free)
        found["mine"] = mine
        found["may_be_loose"] = frozenset(joint_refit.free(armature, seen.changes, every=True))
        found["gaps"] = _gaps(armature, seen, skin, held) if mine.any() else []
    return dataclasses.replace(start, **found)


def _influences(skin: Skin, held: Holds, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of each vertex; where groups are held, their weights are what is painted."""
    dense = skin.weights[:, :count]
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
