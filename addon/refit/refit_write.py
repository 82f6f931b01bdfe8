"""What a refit writes into a rig: of joints, weights, rest and keys only what is another than before.

The same is written to copies of the rig, which are measured, and at the end to the rig itself.
"""

from __future__ import annotations

import dataclasses

import bpy
import numpy as np

from ..base import tolerances
from ..options.options import Options
from ..record.changes import HELD
from ..rig import actions, channels, other_clips, played, rewrite, standing
from ..rig.keying import Keyed
from ..rig.trial import Trial, keyed_of
from . import joint_refit, relocation
from .facts import Facts
from .refit_solve import Solved


@dataclasses.dataclass
class Written:
    """What is to be written: only what is another than before."""

    transforms: np.ndarray  # [f][b][4][4]
    held: np.ndarray  # [f][b]
    dense: np.ndarray  # [v][b] weights as solved
    weights: np.ndarray  # [v][b] the same as the groups shall have them
    weighted: np.ndarray  # [v] where they are others
    shaped: np.ndarray  # [v]
    rest: np.ndarray  # [v][3]
    heads: dict[str, np.ndarray]  # of bones whose joints are elsewhere
    moves: relocation.Moves  # of bones that left
    donors: np.ndarray  # [b] the bone itself, or, of one that claimed vertices, whom it took the most from
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


def _moved(armature, solved: Solved) -> np.ndarray:
    """[f][b] transforms that are others"""
    facts, given, rig = solved.facts, solved.given, solved.rig
    changed = np.zeros(facts.free.shape, bool)
    changed[:, : given.bones] = (rig.transforms[:, : given.bones] != given.transforms).any(axis=(2, 3))
    changed &= facts.free
    changed |= facts.rebased & ~_told(armature, facts.names)
    if facts.new:
        changed[:, -facts.new :] = True
    turned = joint_refit.turned(armature, solved.heads) | set(solved.moves.parents)
    return changed | np.array([name in turned for name in facts.names])


def _weights(solved: Solved, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[v][b] as the groups shall have them, and [v] where they are others; after [v][b]: as solved"""
    facts, rig = solved.facts, solved.rig
    before = np.pad(facts.dense, ((0, 0), (0, facts.new)))
    weighted = (before != after).any(axis=1) | (np.abs(facts.skin.total - 1) > tolerances.WEIGHT_SUM)
    weighted = (weighted | facts.returned) & ~facts.held.vertices
    painted = facts.stands.skin.painted.copy()
    given = rig.influence_bones[weighted], rig.influence_weights[weighted]
    painted[weighted] = rewrite.wanted_weights(*given, facts.held.groups, painted[weighted])
    return painted, weighted


def _donors(facts: Facts, after: np.ndarray) -> np.ndarray:
    donors, old = np.arange(len(facts.names)), facts.rig.bones
    donors[old:] = (facts.dense.T @ after[:, old:]).argmax(axis=0)
    return donors


def plan(armature, solved: Solved) -> Written:
    """Of what was solved."""
    facts, rig, after = solved.facts, solved.rig, solved.rig.dense_weights()
    changed = _moved(armature, solved)
    moved = channels.homogeneous(rig.transforms)
    shaped = ((rig.rest != facts.rig.rest).any(axis=1) & ~facts.held.rest) | facts.reshaped
    return Written(
        np.where(changed[..., None, None], moved, facts.stands.transforms),
        ~_below(armature, facts.names, changed),
        after,
        *_weights(solved, after),
        shaped,
        rig.rest,
        solved.heads,
        solved.moves,
        _donors(facts, after),
    )


def _told(armature, names: list[str]) -> np.ndarray:
    """[b] bones that the artist told to be held"""
    return np.array([bool(armature.data.bones[name].get(HELD)) for name in names])


def _skin_after(facts: Facts, wanted: Written) -> standing.Skin:
    """For the boxes around what each bone moves."""
    painted = np.where(wanted.weighted[:, None], wanted.dense, facts.stands.skin.painted)
    rest = np.where(wanted.shaped[:, None], wanted.rest, facts.skin.rest)
    return dataclasses.replace(facts.skin, painted=painted, rest=rest)


def write(armature, meshes: list, facts: Facts, wanted: Written) -> Keyed:
    """Joints, weights, rest and keys; the first time, on a copy, keys are also planned."""
    relocation.hang(armature, wanted.moves)
    joint_refit.move(armature, wanted.heads)
    present, held = facts.stands.skin.painted, facts.held.groups
    for obj, rows in zip(meshes, facts.skin.slices, strict=True):
        some = np.flatnonzero(wanted.shaped[rows])
        if len(some):
            rewrite.write_rest(obj, armature, some, wanted.rest[rows][some])
        some = np.flatnonzero(wanted.weighted[rows])
        if len(some):
            both = wanted.weights[rows][some], facts.names, present[rows][some]
            rewrite.replace_weights(obj, some, *both, held)
    return _write_keys(armature, facts, wanted)


def _write_keys(armature, facts: Facts, wanted: Written) -> Keyed:
    """Into the action of each clip, but for those in which everything is held."""
    if not played.made(armature) and not wanted.held.all():
        actions.assign(armature, bpy.data.actions.new(armature.name))
    located, location = 0, 0.0
    options, skin = Options.of(armature.ossify.settings), None
    for number, clip in enumerate(played.of(armature)):
        rows = clip.rows
        if wanted.held[rows].all():
            continue
        with played.playing(armature, clip):
            if number in wanted.keys:
                keyed = rewrite.put_keys(armature, clip.action, clip.times, wanted.keys[number])
            else:
                skin = skin or _skin_after(facts, wanted)
                given = wanted.transforms[rows], clip.times, facts.names, options, wanted.held[rows], skin
                keyed, wanted.keys[number] = rewrite.settle_keys(armature, clip.action, *given)
        located, location = max(located, keyed.located), max(location, keyed.location)
    if wanted.held.all():
        return keyed_of(armature, facts.names)
    other_clips.complete(armature, facts.bones(armature))
    return dataclasses.replace(keyed_of(armature, facts.names), located=located, location=location)


def see_bound(armature, facts: Facts) -> Facts:
    """With bones that something else moves where they go once those above them, which were moved or hung
    elsewhere, are keyed to move as they did: tried on a copy."""
    changed = np.repeat((facts.rebased & ~_told(armature, facts.names))[None], len(facts.free), axis=0)
    below = _below(armature, facts.names, changed)
    some = [(b, name) for b, name in enumerate(facts.names) if below[0, b]]
    bound = [b for b, name in some if not rewrite.is_plain(armature, None, name)]
    if not bound:
        return facts
    none, skin = np.zeros(len(facts.skin.rest), bool), facts.stands.skin
    bare = skin.painted, skin.painted, none, none, skin.rest, {}, relocation.Moves()
    as_it_is = Written(facts.stands.transforms, ~below, *bare, np.arange(len(facts.names)))
    with Trial(armature, facts.skin.meshes, facts.names) as trial:
        _write_keys(trial.armature.get(), facts, as_it_is)
        found = played.read_transforms(trial.armature.get(), [facts.names[b] for b in bound])
    return facts.moving_as(bound, found)


def write_tracked(armature, facts: Facts, wanted: Written, others: list[other_clips.Other]) -> None:
    """In actions without a motion bones go on to move as they did, and new ones as those they took from."""
    changed = facts.rebased | (wanted.donors != np.arange(len(wanted.donors)))
    changed = _below(armature, facts.names, changed[None])[0]
    if changed.any():
        for other in others:
            other.transforms = other.transforms[:, wanted.donors]
        other_clips.write(armature, others, facts.names, ~changed)
        other_clips.complete(armature, facts.bones(armature))
