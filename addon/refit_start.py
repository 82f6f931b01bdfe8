"""What a refit starts from: the rig as arrays, what of it is held, and what may change."""

from __future__ import annotations

import dataclasses

import numpy as np

from . import channels, keys, memory, native, rewrite, standing
from .capture import matrix_of
from .changes import HELD, Changes, Holds, dense_weights, holds
from .options import RefitOptions


@dataclasses.dataclass
class Start:
    """What a refit starts from."""

    names: list[str]  # of the bones that take part, those that claim vertices last
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


def _limits(armature, options: RefitOptions, changes: Changes, chosen, skin, names, times):
    """What is held, by the artist or because it is not asked for; [f][b] the transforms that may change"""
    record, held = armature.ossify, holds(armature, skin, names, changes)
    flexible = record.settings.bone_kind == "FLEXIBLE"
    held.transforms = rewrite.held_with_ancestors(
        armature, keys.action_of(armature), names, held.transforms, len(times), flexible
    )
    free, bones, rows = _scope(options, *chosen, names, skin, times)
    held.vertices |= ~rows
    held.groups |= ~bones
    if not options.rest or options.only == "BONES":
        held.rest[:] = True
    held.rest |= ~rows
    return held, free & ~held.transforms


def start_of(armature, options: RefitOptions, changes: Changes, bones, vertices) -> Start:
    record = armature.ossify
    meshes, every = memory.meshes_of(armature), standing.bone_names(armature)
    skin = standing.read_skin(armature, every, meshes)
    times = np.array([item.frame for item in record.frames], np.int32)
    used, claims = _names(armature, changes, skin, every, options.solve)
    names = [*used, *claims]
    skin.painted = np.ascontiguousarray(skin.painted[:, [every.index(name) for name in names]])
    painted = skin.painted.copy()
    transforms, rebased = _transforms(armature, changes, names, times)
    returned, reshaped = _give_back(armature, changes, skin, names)
    held, free = _limits(armature, options, changes, (bones, vertices), skin, names, times)
    solid = transforms
    if record.settings.bone_kind == "RIGID":  # what is held may be anything
        solid = np.where(held.transforms[..., None, None], transforms, standing.rigid(transforms))
    rig = native.Rig(
        np.ascontiguousarray(solid[:, : len(used), :3]),
        *_influences(skin, held, len(used)),
        skin.rest.astype(np.float32),
    )
    return Start(names, claims, skin, painted, transforms, rebased, held, free, returned, reshaped, rig)


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
