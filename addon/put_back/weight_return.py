"""Weights given back to vertices when bones come back or go.

When a bone comes back, a vertex that followed it gets all its weights of then again if what has happened to
it since is no more than that others took what the bone left:

    w_b >= w'_b - eps for every other bone b,    sum_b (w_b - w'_b) <= sum_g w'_g,

w' the weights of then and g the bones that went. When an added bone goes, likewise if it only took: w_b <=
w'_b + eps. Where weights are other ones somebody painted them, and they stay; so do those of vertices that
are held and of groups that are locked. A vertex that would be left without any weight gets those of then.
"""

from __future__ import annotations

import numpy as np

from ..base import tolerances
from ..record import changes, memory
from ..rig import rewrite, standing, weights


def _held_groups(armature, obj, names: list[str]) -> np.ndarray:
    """[b] whose weights are held on a mesh"""
    bones, groups = armature.data.bones, obj.vertex_groups
    return np.array(
        [bool(bones[n].get(changes.HELD)) or (n in groups and groups[n].lock_weight) for n in names]
    )


def write(armature, obj, rows: np.ndarray, wanted: np.ndarray, names: list[str]) -> None:
    """wanted [n][b] to rows [n] of a mesh; where groups are held, the others share what those leave."""
    held, present = _held_groups(armature, obj, names), standing.painted(obj, names)[rows]
    other = (np.abs(wanted - present) > tolerances.WEIGHT).any(axis=1) & (wanted.sum(axis=1) > 0)
    rows, wanted, present = rows[other], wanted[other].astype(np.float32), present[other]
    if not len(rows):
        return
    if held.any():
        bones = weights.strongest(wanted)
        wanted = rewrite.wanted_weights(bones, weights.at(wanted, bones), held, present)
    rewrite.replace_weights(obj, rows, wanted, names, present, held)


def _parts(armature, then: memory.Snapshot):
    """Index, object and rows of then of the meshes that have the vertices they had."""
    starts, present = np.concatenate([[0], np.cumsum(then.counts)]), memory.meshes_of(armature)
    for index, item in enumerate(armature.ossify.meshes):
        obj = item.object
        same = obj in present and then.counts[index] == len(obj.data.vertices)
        if same and then.topology[index] in (None, memory.topology_of(obj.data)):
            yield obj, slice(*starts[index : index + 2])


def _then(then: memory.Snapshot, rows: slice, columns: dict[int, int], heirs: dict[int, int]) -> np.ndarray:
    """[v][b] weights of then for bones that are there now; those of a bone that is gone count for its heir,
    or else for the others of the vertex, which have its sum."""
    every = {number: b for b, number in enumerate(then.bones.numbers)}
    dense = changes.dense_weights(then.influences[rows], then.weights[rows], every)
    found = np.zeros((len(dense), len(columns)), np.float32)
    for number, b in every.items():
        number = number if number in columns else heirs.get(number)
        if number in columns:
            found[:, columns[number]] += dense[:, b]
    whole, left = dense.sum(axis=1), found.sum(axis=1)
    short = (left > 0) & (np.abs(whole - left) > tolerances.WEIGHT_SUM)
    found[short] *= (whole[short] / left[short])[:, None]
    return found


def _deforming(armature) -> tuple[list[str], dict[int, int]]:
    """Names, and columns by number."""
    bones = memory.read_bones(armature)
    some = [b for b, deforms in enumerate(bones.deforms) if deforms]
    return [bones.names[b] for b in some], {bones.numbers[b]: i for i, b in enumerate(some)}


def come_back(
    armature, then: memory.Snapshot, gone: set[int], made: dict[int, str], heirs: dict[int, int]
) -> None:
    """For bones that were made again; gone: all that were missing; heirs: of those that still are."""
    names, columns = _deforming(armature)
    mine = [columns[number] for number in made if number in columns]
    others = np.setdiff1d(np.arange(len(names)), mine)
    left = {number: b for b, number in enumerate(gone)}
    for obj, rows in _parts(armature, then):
        was, now = _then(then, rows, columns, heirs), standing.painted(obj, names)
        lost = changes.dense_weights(then.influences[rows], then.weights[rows], left).sum(axis=1)
        gained = now[:, others] - was[:, others]
        only = (gained >= -tolerances.WEIGHT_SUM).all(axis=1) & (
            gained.sum(axis=1) <= lost + tolerances.WEIGHT_SUM
        )
        still = now[:, mine]  # Blender leaves the groups of deleted bones: painted ones tell
        as_it_was = ((still == 0) | (np.abs(still - was[:, mine]) <= tolerances.WEIGHT_SUM)).all(axis=1)
        some = (was[:, mine] > 0).any(axis=1) & only & as_it_was & ~changes.held_vertices(obj.data)
        write(armature, obj, np.flatnonzero(some), was[some], names)


def went(armature, then: memory.Snapshot, removed: list[str]) -> None:
    """For bones that deformed and were removed; their groups go as well."""
    names, columns = _deforming(armature)
    parts = dict(_parts(armature, then))
    for obj in memory.meshes_of(armature):
        taken, now = standing.painted(obj, removed).sum(axis=1), standing.painted(obj, names)
        for name in removed:
            if name in obj.vertex_groups:
                obj.vertex_groups.remove(obj.vertex_groups[name])
        was = _then(then, parts[obj], columns, {}) if obj in parts else now
        total = now.sum(axis=1)
        bare = total <= standing.WEIGHTLESS
        painted = (now > was + tolerances.WEIGHT_SUM).any(axis=1) & ~bare
        wanted = np.where(painted[:, None], now / np.where(bare, 1, total)[:, None], was)
        some = (taken > 0) & (bare | ~changes.held_vertices(obj.data))
        write(armature, obj, np.flatnonzero(some), wanted[some], names)
