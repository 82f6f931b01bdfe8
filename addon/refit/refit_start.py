"""What a refit starts from: the rig as arrays, what of it is held, and what may change."""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import native
from ..base.meshes import matrix_of
from ..base.refusal import Refusal
from ..options.options import RefitOptions
from ..record import memory
from ..record.changes import HELD, Changes, Holds, dense_weights, holds
from ..rig import carriers, channels, other_clips, played, rewrite, standing
from . import gaps, joint_refit, relocation


@dataclasses.dataclass
class Start:
    """What a refit starts from."""

    names: list[str]  # of the bones that take part; then those that claim vertices; then those set aside
    claims: list[str]  # added by the artist and without a vertex
    skin: standing.Skin
    painted: np.ndarray  # [v][b] as they are; the skin has what is given back
    transforms: np.ndarray  # [f][b][4][4]
    rebased: np.ndarray  # [b] true: their place or their parent is another, so their keys mean another motion
    held: Holds
    free: np.ndarray  # [f][b] in scope
    returned: np.ndarray  # [v] weights that the solver has back: it starts from those of the last time
    reshaped: np.ndarray  # [v] places at rest, likewise
    rig: native.Rig
    claimed: native.Rig | None = None  # the same with the bones that claim
    aside: list[str] = dataclasses.field(default_factory=list)  # bones that claimed in vain
    notes: list[str] = dataclasses.field(default_factory=list)  # for the artist, a sentence each
    doubled: list[str] = dataclasses.field(default_factory=list)  # likewise, on those set aside
    tied: bool = False  # bones that only turn do so in the solver, too
    pinned: set[str] = dataclasses.field(default_factory=set)  # those that do so although nothing makes them
    loose: set[str] = dataclasses.field(default_factory=set)  # bones whose joints may be solved again
    may_be_loose: set[str] = dataclasses.field(default_factory=set)  # the same if bones near them left
    heads: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # of bones whose joints were
    mine: np.ndarray | None = None  # [b] bones that may leave their places; None: none may
    gaps: list[gaps.Gap] = dataclasses.field(default_factory=list)  # that deleted bones have left
    fills: bool = False  # these go there, and none looks for another place
    looked: tuple | None = None  # where they go: relocation.look, or gaps.fill
    moves: relocation.Moves = dataclasses.field(default_factory=relocation.Moves)  # those that did

    @property
    def new(self) -> int:
        """How many bones get their first vertices."""
        return len(self.claims) + len(self.aside)

    def copy(self) -> Start:
        """For another attempt, which may order bones otherwise."""
        return dataclasses.replace(
            self, skin=dataclasses.replace(self.skin), held=dataclasses.replace(self.held)
        )

    def set_aside(self, names: list[str]) -> None:
        """These do not take part in the solving."""
        self.looked = None
        self.aside = [*self.aside, *names]
        self.claims = [name for name in self.claims if name not in names]
        used = [name for name in self.names if name not in {*self.claims, *self.aside}]
        order = [self.names.index(name) for name in (*used, *self.claims, *self.aside)]
        self.names = [self.names[b] for b in order]
        self.skin.painted = np.ascontiguousarray(self.skin.painted[:, order])
        self.painted, self.transforms = self.painted[:, order], self.transforms[:, order]
        self.rebased, self.free = self.rebased[order], self.free[:, order]
        self.held.groups, self.held.transforms = self.held.groups[order], self.held.transforms[:, order]
        self.mine = None if self.mine is None else self.mine[order]

    def leave_painted(self) -> None:
        """Weights that are given back start as they are painted: those of the last time have led nowhere."""
        self.looked = None
        self.skin.painted[self.returned] = self.painted[self.returned]
        self.returned = np.zeros(len(self.returned), bool)
        bones, weights = _influences(self.skin, self.held, self.rig.bones)
        self.rig = dataclasses.replace(self.rig, influence_bones=bones, influence_weights=weights)

    def bones(self, armature) -> list[str]:
        """All that may be keyed for them: what carries a flexible bone is keyed as well."""
        return [*self.names, *carriers.of(armature, self.names)]


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


def _give_back(armature, changes: Changes, skin: standing.Skin, names: list[str]) -> tuple:
    """Puts weights and points of the last time into the skin where the artist's are not kept; [v] where."""
    record, then = armature.ossify, memory.last(armature)
    weighed, shaped = np.zeros(len(skin.rest), bool), np.zeros(len(skin.rest), bool)
    if (record.keep_repainted or not changes.repainted) and (record.keep_sculpted or not changes.sculpted):
        return weighed, shaped
    now = memory.read_bones(armature)
    numbers = dict(zip(now.names, now.numbers, strict=True))
    columns = {numbers[name]: b for b, name in enumerate(names)}
    starts = np.concatenate([[0], np.cumsum(then.counts)])
    back = np.linalg.inv(matrix_of(armature))
    for index, item in enumerate(record.meshes):
        if item.object not in skin.meshes:
            continue
        here = skin.slices[skin.meshes.index(item.object)]
        there, name = slice(*starts[index : index + 2]), item.object.name
        if not record.keep_repainted and name in changes.repainted:
            rows = changes.repainted[name]
            old = dense_weights(then.influences[there], then.weights[there], columns)
            rows = rows & (old.sum(axis=1) > standing.WEIGHTLESS)
            skin.painted[here][rows], weighed[here] = old[rows], rows
        if not record.keep_sculpted and name in changes.sculpted:
            rows, matrix = changes.sculpted[name], back @ matrix_of(item.object)
            points = then.rest[there][rows].astype(np.float64)
            skin.rest[here][rows] = points @ matrix[:3, :3].T + matrix[:3, 3]
            shaped[here] = rows
    return weighed, shaped


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


def _transforms(armature, changes: Changes, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """[f][b][4][4] as Blender evaluates them; where a bone's place or parent is another, as it moved"""
    found = played.read_transforms(armature, names)
    rebased = rebased_bones(armature, changes, names)
    if rebased.any():
        now = memory.read(armature)
        _as_before(memory.last(armature), now.bones, now.channels, names, rebased, found)
    return found, rebased


def _gaps(armature, changes: Changes, skin: standing.Skin, held: Holds) -> list[gaps.Gap]:
    """Where deleted bones were. None with locked groups: their weights stay, whatever else is given back."""
    then, now = memory.last(armature), memory.read(armature)
    numbers = gaps.numbers_of(changes, then.bones, now.bones)
    if not numbers or held.groups.any():
        return []
    poses = _forward(then, now.bones, now.channels)
    rests = [then.bones.rests[then.bones.index(number)] for number in numbers]
    moved = [standing.rigid(poses[n] @ np.linalg.inv(r))[:, :3] for n, r in zip(numbers, rests, strict=True)]
    weights = gaps.weights_of(armature, then, skin, numbers)
    return [gaps.Gap(*gap) for gap in zip(weights.T, moved, strict=True)]


def tracked(armature, names: list[str], rebased: np.ndarray) -> list[other_clips.Other]:
    """The actions that were tracked onto the rig, likewise."""
    found = other_clips.read(armature, names)
    if not rebased.any():
        return found
    then, bones = memory.last(armature), memory.read_bones(armature)
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
        _as_before(then, known, both, names, rebased, other.transforms)
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


def _limits(armature, options: RefitOptions, changes: Changes, chosen, skin, names, reshaped: np.ndarray):
    """What is held, by the artist or because it is not asked for; [f][b] the transforms that may change. Of
    the vertices whose place at rest is given back, reshaped [v], those stay that may."""
    record, held = armature.ossify, holds(armature, skin, names, changes)
    shaped = _has_its_shape(armature, held, names)
    flexible = record.settings.bone_kind == "FLEXIBLE"
    held.transforms = rewrite.held_with_ancestors(armature, names, held.transforms, flexible)
    free, bones, rows = _scope(armature, options, *chosen, names, skin)
    held.vertices |= ~rows
    held.groups |= ~bones
    if not options.rest or options.only == "BONES":
        held.rest[:] = True
    held.rest |= ~rows
    reshaped &= ~held.rest
    held.rest |= shaped
    return held, free & ~held.transforms


def _pinned(armature, changes: Changes, names: list[str]) -> set[str]:
    """Bones that painted weights, which are kept, shall not pull off their joints: those of a hierarchy that
    are keyed without a location. Where bones came or went the motion may ask for one."""
    record = armature.ossify
    painted, others = changes.repainted and record.keep_repainted, changes.added or changes.deleted
    if not painted or others or changes.merged or record.settings.skeleton != "HIERARCHY":
        return set()
    found = [memory.read_channels(armature, names, c.times, c.action)[..., :3] for c in played.of(armature)]
    still = (np.concatenate(found) == 0).all(axis=(0, 2))
    touched = {*changes.moved, *changes.reparented}
    return {name for name, turns in zip(names, still, strict=True) if turns and name not in touched}


def _held_notes(armature, names: list[str]) -> list[str]:
    """On bones that the solver may not move, though nobody holds them."""
    found = [name for name in names if not rewrite.is_plain(armature, None, name)]
    told = rewrite.not_plain_words(armature, found)
    return [f"{words}: kept as that is, and with it the bones above." for words in told]


def start_of(armature, options: RefitOptions, changes: Changes, bones, vertices) -> Start:
    record = armature.ossify
    meshes, every = memory.meshes_of(armature), standing.bone_names(armature)
    skin = standing.read_skin(armature, every, meshes)
    used, claims = _names(armature, changes, skin, every, options.solve)
    names = [*used, *claims]
    skin.painted = np.ascontiguousarray(skin.painted[:, [every.index(name) for name in names]])
    painted = skin.painted.copy()
    transforms, rebased = _transforms(armature, changes, names)
    returned, reshaped = _give_back(armature, changes, skin, names)
    held, free = _limits(armature, options, changes, (bones, vertices), skin, names, reshaped)
    solid = transforms
    if record.settings.bone_kind == "RIGID":  # what is held may be anything
        solid = np.where(held.transforms[..., None, None], transforms, standing.rigid(transforms))
    rig = native.Rig(
        np.ascontiguousarray(solid[:, : len(used), :3]),
        *_influences(skin, held, len(used)),
        skin.rest.astype(np.float32),
    )
    start = Start(names, claims, skin, painted, transforms, rebased, held, free, returned, reshaped, rig)
    start.pinned = _pinned(armature, changes, names)
    start.tied = record.settings.skeleton == "ARTICULATED" or bool(start.pinned)
    start.loose = joint_refit.free(armature, changes, options.joints)
    start.notes = _held_notes(armature, names) if options.solve != "WEIGHTS" else []
    if relocation.is_meant(options, changes):
        start.mine = relocation.owned(armature, changes, start)
        start.may_be_loose = joint_refit.free(armature, changes, every=True)
        start.gaps = _gaps(armature, changes, skin, held) if start.mine.any() else []
    return start


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
