"""Bones of a standing rig that leave a place where they do little for one where a bone is missed.

The library finds them (`relocate` in ossify.h), among the bones that are the solver's own: all others keep
their transforms while it looks, and are fitted with the rest afterwards. With w and w' the weights of a bone
before and after, it has left when

    sum_v min(w, w') < 1/2 min(sum_v w, sum_v w').

In a skeleton a bone that left hangs from the one that the library joins it to. So do those that hung from it,
and those whose joints a refit may solve (joint_refit.py); all others keep their parents and joints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np
from mathutils import Vector

from .. import native
from ..base.steps import Step, watch
from ..options.options import Options, RefitOptions
from ..record.changes import Changes
from ..rig import keys, played, references, roles, standing
from ..rig.stand import Standing
from ..rig.standing import Skin
from ..skeleton import joints, limbs, placement
from . import joint_refit

WORTH = 0.95  # of the error that is left when all bones stay: for more none of them leaves
_STAYS = 0.5  # of the lesser weight: a bone that has as much of it in common with before has not left
_NEVER = "If bones shall stay in their places: undo, choose Never at Move Idle Bones, and refit again."
_DEFORM = "Deform"  # the collection of which chains are parts


@dataclasses.dataclass
class Moves:
    """Where bones shall be and hang that left, or whose parent did."""

    left: list[str] = dataclasses.field(default_factory=list)
    parents: dict[str, str] = dataclasses.field(default_factory=dict)  # of those that left, and of others
    heads: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # of the same
    tails: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # of those that left
    facing: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # likewise
    names: list[str] = dataclasses.field(default_factory=list)  # of the skeleton's bones
    skeleton: native.Skeleton | None = None


def _words(name: str, above: str, root: str) -> str:
    hangs = "" if above == root else f", and hangs from {above}"
    return f"{name} did little where it was: it left for a place where a bone is missed{hangs}."


def is_meant(options: RefitOptions, changes: Changes) -> bool:
    """Whether bones may leave at all: asked for, or because one is gone and may be missed. Who merged two
    wants one bone there."""
    gone = options.move_idle == "AUTOMATIC" and len(changes.deleted) > 0
    return options.move_idle == "ALWAYS" or gone


def limit(armature, options: RefitOptions) -> str:
    """Why no bone may leave, when not all is solved that one would change; empty: all is."""
    if options.solve != "BOTH":
        return "weights alone are solved" if options.solve == "WEIGHTS" else "motion alone is solved"
    if options.only == "VERTICES":
        return "only selected vertices may change"
    first, last = options.frame_start, options.frame_end
    if options.frames == "CUSTOM" and not played.within(armature, first, last).all():
        return f"poses outside the frames from {first} to {last} stay"
    return ""


def notes(mine: np.ndarray | None, moves: Moves, asked: bool, limited: str, root: str) -> list[str]:
    """For the artist, a sentence each. mine [b]: bones that might have left; None: none of them"""
    if moves.left:
        return [*(_words(name, moves.parents[name], root) for name in moves.left), _NEVER]
    if mine is None or not asked:
        return []
    if not mine.any():
        others = "all are yours, or held, or other actions key them where they are"
        return [f"No bone may leave its place: {limited or others}."]
    return ["No bone left its place: none is worth more elsewhere."]


# ---- who may leave


def built_upon(armature, names: list[str]) -> set[str]:
    """Bones that an artist has built something upon: shapes, constraints, drivers, controls, names."""
    bones, pose, found = armature.data.bones, armature.pose.bones, set()
    made = [None, *played.made(armature)]
    for name in names:
        shaped = pose[name].custom_shape is not None or len(pose[name].constraints) > 0
        others = any(child.name not in names for child in bones[name].children)
        if shaped or others or any(keys.is_driven(armature, action, name) for action in made):
            found.add(name)
    return found | {reference.bone for reference in references.to(armature, names)}


def _carries_all(armature, name: str) -> bool:
    """Whether a skeleton hangs from the bone."""
    bone = armature.data.bones[name]
    joined = armature.ossify.settings.skeleton != "NONE"
    return joined and len(bone.children) > 0 and not (bone.parent and bone.parent.use_deform)


def owned(armature, changes: Changes, stands: Standing, skin: Skin, free: np.ndarray) -> np.ndarray:
    """[b] bones of the solver's own, of which nothing is held; skin: with what is given back, free [f][b]"""
    names, bones, holds = stands.names, armature.data.bones, stands.holds
    none = np.zeros(len(names), bool)
    if (
        armature.ossify.settings.bone_kind == "FLEXIBLE"
        or played.tracked(armature)
        or played.left_alone(armature)
    ):
        return none  # other actions say how the bones move where they are
    theirs = {*joint_refit.own(armature, changes), *changes.renamed.values()}
    theirs |= built_upon(armature, names) | {name for name in names if _carries_all(armature, name)}
    theirs |= {bones[name].parent.name for name in theirs if name in bones and bones[name].parent}
    carried = (skin.painted[holds.vertices] > 0).any(axis=0)
    return free.all(axis=0) & ~holds.groups & ~carried & np.array([name not in theirs for name in names])


# ---- who does


def _has_left(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """[b] of weights [v][b]"""
    common = np.minimum(before, after).sum(axis=0)
    return common < _STAYS * np.minimum(before.sum(axis=0), after.sum(axis=0))


def look(
    given: native.Rig, poses, settings: native.Settings, mine: np.ndarray, motion, first: float, last: float
) -> Generator[Step, None, tuple[native.Rig, np.ndarray]]:
    """The rig with bones in other places, and [b] which have left. mine [b]: those that may."""
    held = np.repeat(~mine[None], len(given.transforms), axis=0)
    if given.held_transforms is not None:
        held |= given.held_transforms.astype(bool)
    staying = dataclasses.replace(given, held_transforms=held.astype(np.uint8))
    job = native.Job.start(native.decompose, *poses, dataclasses.replace(settings, relocate="some"), staying)
    found, _ = yield from watch(job, motion, first, last)
    return found, _has_left(given.dense_weights(), found.dense_weights()) & mine


# ---- where they hang


def _parents_now(armature, names: list[str]) -> np.ndarray:
    """[b] the nearest of the names above; -1: there is none"""
    number, found = {name: b for b, name in enumerate(names)}, []
    for name in names:
        above = [bone.name for bone in armature.data.bones[name].parent_recursive if bone.name in number]
        found.append(number[above[0]] if above else -1)
    return np.array(found, np.int32)


def _root_of(parents: np.ndarray) -> int:
    """The bone that the most hang from."""
    return int(limbs.masses_below(parents, np.ones(len(parents))).argmax())


def _is_above(b: int, other: int, parents: np.ndarray) -> bool:
    """Whether b is the other, or above it."""
    while other not in (-1, b):
        other = parents[other]
    return other == b


def rehung(now: np.ndarray, wanted: np.ndarray, free: np.ndarray, left: np.ndarray) -> np.ndarray:
    """[b] parents: those wanted for bones that are free to hang elsewhere, and those now for the others.

    Where that went round in a circle a bone stays under its parent, or hangs from the root if that has left.
    """
    result = np.where(free, -1, now)
    for b in np.flatnonzero(free):
        stays = -1 if left[b] or now[b] < 0 or left[now[b]] else now[b]
        result[b] = next(above for above in (wanted[b], stays, -1) if not _is_above(b, above, result))
    return result


def _above_leaving(now: np.ndarray, left: np.ndarray) -> np.ndarray:
    """[b] the nearest bone above that stays: where a bone hangs when Blender deletes its parent"""
    result = now.copy()
    while (gone := (result >= 0) & left[result]).any():
        result[gone] = now[result[gone]]
    return result


def _joined(armature, names, rig, triangles, settings, left, loose: set[str], swapped: bool):
    """The skeleton with bones that left in other places, and [b] which hang elsewhere, or had to."""
    now = _parents_now(armature, names)
    orphaned = (now >= 0) & left[now]
    free = left | orphaned | np.array([name in loose for name in names])
    pairs = [(int(now[b]), b) for b in np.flatnonzero(~free & (now >= 0))]
    wishes = Options.of(armature.ossify.settings).wishes(root=_root_of(now), demanded=pairs)
    found = native.connect(rig, triangles, wishes, settings)
    wanted = np.where(swapped & orphaned & ~left, _above_leaving(now, left), found.parents)
    parents = rehung(now, wanted, free, left)
    heads = np.array([armature.data.bones[name].head_local for name in names], np.float64)
    known = free & (parents >= 0) & (left | (parents == found.parents))
    joints_now = np.where(known[:, None], found.joints, heads)
    kinds = [
        "root" if above < 0 else "ball" if kind == "root" else kind
        for above, kind in zip(parents, found.kinds, strict=True)
    ]
    bare = {"plane": None, "mirrors": np.full(len(names), -1, np.int32)}
    skeleton = found._replace(root=_root_of(now), parents=parents, joints=joints_now, kinds=kinds, **bare)
    return skeleton, left | orphaned | (parents != now)


def plan(
    armature, names: list[str], rig: native.Rig, triangles, settings, left, loose: set[str], swapped: bool
) -> Moves:
    """left [b]; loose: bones whose joints to their parents may be solved again; swapped: those that left are
    where deleted ones were, and what hung from them hangs as if they had been deleted"""
    world, dense = np.array(armature.matrix_world)[:3, :3], rig.dense_weights()
    world = world / np.linalg.norm(world, axis=0)
    places = placement.place(rig.rest, dense, triangles, world)
    moves = Moves([names[b] for b in np.flatnonzero(left)], names=names)
    hung, root = left, roles.root_of(armature)
    if armature.ossify.settings.skeleton != "NONE":
        moves.skeleton, hung = _joined(armature, names, rig, triangles, settings, left, loose, swapped)
        limbs.lay(places, rig.rest, dense, triangles, moves.skeleton, world)
    for b in np.flatnonzero(hung):
        above = -1 if moves.skeleton is None else int(moves.skeleton.parents[b])
        moves.parents[names[b]] = root if above < 0 else names[above]
        moves.heads[names[b]] = places.heads[b].copy()
        if above < 0 and not left[b]:
            moves.heads[names[b]] = np.array(armature.data.bones[names[b]].head_local, np.float64)
        if left[b]:
            moves.tails[names[b]], moves.facing[names[b]] = places.tails[b].copy(), places.facing[b].copy()
    return moves


def turning(moves: Moves, names: list[str], parents: np.ndarray, articulated: bool) -> np.ndarray:
    """[b] as standing.turning_parents has them, once bones hang elsewhere"""
    result = parents.copy()
    for name, above in moves.parents.items():
        result[names.index(name)] = names.index(above) if articulated and above in names else -1
    return result


# ---- writing


def hang(armature, moves: Moves) -> None:
    """In Edit Mode."""
    if not moves.parents:
        return
    with standing.editing(armature) as bones:
        for name in moves.parents:
            bones[name].use_connect, bones[name].parent = False, None
        for name, above in moves.parents.items():
            bones[name].parent = bones[above]
        for name, head in moves.heads.items():
            if name not in moves.tails:
                joint_refit.put_head(bones[name], Vector(head))
                continue
            for child in bones[name].children:
                child.use_connect = False
            bones[name].head, bones[name].tail = Vector(head), Vector(moves.tails[name])
            bones[name].align_roll(Vector(moves.facing[name]))


def dress(armature, moves: Moves) -> None:
    """The collections of those that left, and what is known of new joints."""
    data = armature.data
    deform = data.collections.get(_DEFORM)
    for name in moves.left:
        above = data.bones[moves.parents[name]]
        chains = [c for c in above.collections if c.parent == deform] if deform is not None else []
        if chains:
            for collection in [c for c in data.bones[name].collections if c.parent == deform]:
                collection.unassign(data.bones[name])
            chains[0].assign(data.bones[name])
    if moves.skeleton is not None:
        rows = [moves.names.index(name) for name in moves.parents]
        known = moves.skeleton
        some = known._replace(
            kinds=[known.kinds[b] for b in rows],
            **{field: getattr(known, field)[rows] for field in ("axes", "angles", "drifts")},
        )
        joints.note(data, list(moves.parents), some)
