"""What a refit writes into a rig: of joints, weights, rest and keys only what is another than before.

The same is written to copies of the rig, which are measured, and at the end to the rig itself.
"""

from __future__ import annotations

import dataclasses

import bpy
import numpy as np

from .. import native
from ..record.changes import HELD
from ..rig import actions, channels, other_clips, played, rewrite, standing
from ..rig.keying import Keyed
from ..rig.trial import keyed_of
from . import joint_refit, relocation
from .refit_start import Start

_WHOLE = 1e-5  # weights whose sum is nearer to 1 are whole


@dataclasses.dataclass
class Written:
    """What is to be written: only what is another than before."""

    transforms: np.ndarray  # [f][b][4][4]
    held: np.ndarray  # [f][b]
    weighted: np.ndarray  # [v]
    shaped: np.ndarray  # [v]
    rig: native.Rig
    heads: dict[str, np.ndarray]  # of bones whose joints are elsewhere
    moves: relocation.Moves = dataclasses.field(default_factory=relocation.Moves)  # bones that left
    keys: dict[int, rewrite.Keys] = dataclasses.field(default_factory=dict)  # by clip, once they were planned


def _below(armature, names: list[str], changed: np.ndarray) -> np.ndarray:
    """[f][b] changed, or below a bone that is"""
    result = changed.copy()
    number = {name: b for b, name in enumerate(names)}
    for b, name in enumerate(names):
        for above in armature.data.bones[name].parent_recursive:
            if above.name in number:
                result[:, b] |= changed[:, number[above.name]]
    return result


def plan(armature, start: Start, rig: native.Rig) -> Written:
    """Of what was solved."""
    before, after, new = start.rig.dense_weights(), rig.dense_weights(), start.new
    changed = np.zeros(start.free.shape, bool)
    solved = start.claimed.bones
    changed[:, :solved] = (rig.transforms[:, :solved] != start.claimed.transforms).any(axis=(2, 3))
    changed &= start.free
    changed |= start.rebased & ~_told(armature, start.names)
    if new:
        changed[:, -new:] = True
    turned = joint_refit.turned(armature, start.heads) | set(start.moves.parents)
    changed |= np.array([name in turned for name in start.names])
    transforms = np.where(changed[..., None, None], channels.homogeneous(rig.transforms), start.transforms)
    total = start.skin.painted.sum(axis=1, dtype=np.float64)
    weighted = (np.pad(before, ((0, 0), (0, new))) != after).any(axis=1) | (np.abs(total - 1) > _WHOLE)
    weighted = (weighted | start.returned) & ~start.held.vertices
    shaped = ((rig.rest != start.rig.rest).any(axis=1) & ~start.held.rest) | start.reshaped
    held = ~_below(armature, start.names, changed)
    return Written(transforms, held, weighted, shaped, rig, start.heads, start.moves)


def _told(armature, names: list[str]) -> np.ndarray:
    """[b] bones that the artist told to be held"""
    return np.array([bool(armature.data.bones[name].get(HELD)) for name in names])


def _skin_after(start: Start, wanted: Written) -> standing.Skin:
    """For the boxes around what each bone moves."""
    painted = np.where(wanted.weighted[:, None], wanted.rig.dense_weights(), start.painted)
    rest = np.where(wanted.shaped[:, None], wanted.rig.rest, start.skin.rest)
    return dataclasses.replace(start.skin, painted=painted, rest=rest)


def write(armature, meshes: list, start: Start, wanted: Written) -> Keyed:
    """Joints, weights, rest and keys; the first time, on the trial, keys are also planned."""
    relocation.hang(armature, wanted.moves)
    joint_refit.move(armature, wanted.heads)
    for obj, rows in zip(meshes, start.skin.slices, strict=True):
        some = np.flatnonzero(wanted.shaped[rows])
        if len(some):
            rewrite.write_rest(obj, armature, some, wanted.rig.rest[rows][some])
        some = np.flatnonzero(wanted.weighted[rows])
        if len(some):
            influences = wanted.rig.influence_bones[rows][some], wanted.rig.influence_weights[rows][some]
            present = start.painted[rows][some]
            rewrite.write_weights(obj, some, *influences, start.names, start.held.groups, present)
    return _write_keys(armature, start, wanted)


def _write_keys(armature, start: Start, wanted: Written) -> Keyed:
    """Into the action of each clip, but for those in which everything is held."""
    if not played.made(armature) and not wanted.held.all():
        actions.assign(armature, bpy.data.actions.new(armature.name))
    located, location = 0, 0.0
    options, skin = armature.ossify.settings.options(), None
    for number, clip in enumerate(played.of(armature)):
        rows = clip.rows
        if wanted.held[rows].all():
            continue
        with played.playing(armature, clip):
            if number in wanted.keys:
                keyed = rewrite.put_keys(armature, clip.action, clip.times, wanted.keys[number])
            else:
                skin = skin or _skin_after(start, wanted)
                given = wanted.transforms[rows], clip.times, start.names, options, wanted.held[rows], skin
                keyed, wanted.keys[number] = rewrite.settle_keys(armature, clip.action, *given)
        located, location = max(located, keyed.located), max(location, keyed.location)
    if wanted.held.all():
        return keyed_of(armature, start.names)
    other_clips.complete(armature, start.bones(armature))
    return dataclasses.replace(keyed_of(armature, start.names), located=located, location=location)


def see_bound(trial, start: Start) -> None:
    """Where bones go that something else moves, once those above them, which were moved or hung elsewhere,
    are keyed to move as they did: tried on a copy."""
    changed = np.repeat((start.rebased & ~_told(trial, start.names))[None], len(start.free), axis=0)
    below = _below(trial, start.names, changed)
    bound = [
        b for b, name in enumerate(start.names) if below[0, b] and not rewrite.is_plain(trial, None, name)
    ]
    if not bound:
        return
    none = np.zeros(len(start.skin.rest), bool)
    _write_keys(trial, start, Written(start.transforms, ~below, none, none, start.rig, {}))
    found = played.read_transforms(trial, [start.names[b] for b in bound])
    start.transforms[:, bound] = found
    some = [b for b in bound if b < start.rig.bones]
    start.rig.transforms[:, some] = found[:, [bound.index(b) for b in some], :3]


def _donors(start: Start, rig: native.Rig) -> np.ndarray:
    """[b] the bone itself, or, of one that claimed vertices, the one that it took the most from"""
    before, after = start.rig.dense_weights(), rig.dense_weights()
    donors, old = np.arange(len(start.names)), before.shape[1]
    donors[old:] = (before.T @ after[:, old:]).argmax(axis=0)
    return donors


def write_tracked(armature, start: Start, wanted: Written, others: list[other_clips.Other]) -> None:
    """In actions without a motion bones go on to move as they did, and new ones as those they took from."""
    donors = _donors(start, wanted.rig)
    changed = start.rebased | (donors != np.arange(len(donors)))
    changed = _below(armature, start.names, changed[None])[0]
    if changed.any():
        for other in others:
            other.transforms = other.transforms[:, donors]
        other_clips.write(armature, others, start.names, ~changed)
        other_clips.complete(armature, start.bones(armature))
