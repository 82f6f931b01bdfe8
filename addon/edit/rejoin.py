"""A rig's skeleton made anew from the rig itself, with what the artist wants of it: no solving.

Weights are those of the vertex groups, and transforms what Blender evaluates in the rig's own frames, so what
was painted or posed since counts. The bones stay the same data: they get other parents, places, names and
keys, and what an artist has added to them is kept. Nothing is written before the bones were let into Edit
Mode: until then a refusal, or an error, leaves the rig as it was.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import bpy
import numpy as np

from .. import native
from ..base.refusal import Refusal
from ..motion import sources
from ..options.options import Options
from ..record import amend, changes
from ..rig import actions, correctives, keys, other_clips, played, roles, standing
from ..rig.armature import plan_bones, rearrange, rename
from ..rig.keying import Keyed, key
from ..rig.standing import bone_names, meshes_of
from ..rig.trial import keyed_of
from ..skeleton import helpers, rooting
from . import edits

_RING = (
    "{first} and {second} cannot be joined: {path} are joined already by your wishes, and a skeleton has no"
    " rings. Take one of them back: select the two bones, Pose > Ossify Skeleton > Leave It to the Motion."
)

# ---- the artist's word


def _wishes(rig, options: Options, names: list[str]) -> native.Wishes:
    """Wishes for bones that are gone are left alone."""
    number = {name: b for b, name in enumerate(names)}
    pairs = {True: [], False: []}
    for wish in rig.wishes:
        if wish.first in number and wish.second in number:
            pairs[wish.joined].append((number[wish.first], number[wish.second]))
    for i, (first, second) in enumerate(pairs[True]):
        path = _path(pairs[True][:i], first, second)
        if path:
            words = ", ".join(names[b] for b in path)
            raise Refusal(_RING.format(first=names[first], second=names[second], path=words))
    return options.wishes(root=number.get(rig.root_bone, -1), demanded=pairs[True], forbidden=pairs[False])


def _path(pairs: list[tuple[int, int]], first: int, last: int) -> list[int]:
    """The bones from one to the other along pairs that make no ring; empty: they do not hang together."""
    before, reached = {first: first}, [first]
    for b in reached:
        found = [other for pair in pairs if b in pair for other in pair if other not in before]
        before |= dict.fromkeys(found, b)
        reached += found
    path = [last] if last in before else []
    while path and path[-1] != first:
        path.append(before[path[-1]])
    return path[::-1]


def _for_both_sides(wishes: native.Wishes, mirrors: np.ndarray) -> native.Wishes:
    """A wish counts for the mirror images of its bones, too, unless the artist said something of them, or it
    would close a ring."""
    said = {frozenset(pair) for pair in (*wishes.demanded, *wishes.forbidden)}

    def images(pairs):
        found = (tuple(int(mirrors[b]) for b in pair) for pair in pairs)
        return [image for image in found if min(image) >= 0 and frozenset(image) not in said]

    demanded = list(wishes.demanded)
    for image in images(wishes.demanded):
        if not _path(demanded, *image):
            demanded.append(image)
    forbidden = [*wishes.forbidden, *images(wishes.forbidden)]
    return dataclasses.replace(wishes, demanded=demanded, forbidden=forbidden)


def _rename_wishes(rig, renamed: dict[str, str]) -> None:
    for wish in rig.wishes:
        wish.first, wish.second = renamed.get(wish.first, wish.first), renamed.get(wish.second, wish.second)
    rig.root_bone = renamed.get(rig.root_bone, rig.root_bone)


# ---- whether it can be done


def _check(armature, options: Options) -> None:
    """Refuses a rig that cannot be changed, or whose clips cannot be played."""
    edits.check(armature)
    if correctives.are_driven(armature):
        raise Refusal(
            f"Correctives of {armature.name} follow how its bones are turned against those that they hang"
            " from: do that after Remove Correctives, and add them again."
        )
    if options.bone_kind == "FLEXIBLE":
        raise Refusal("Flexible bones stretch and shear, and joints do not: this rig cannot have a skeleton.")
    troubles = [sources.library_trouble(action, action.name) for action in played.made(armature)]
    sentence = next(filter(None, [played.trouble(armature), *troubles]), None)
    if sentence:
        raise Refusal(sentence)


# ---- the motion


class _Clip(NamedTuple):
    action: object | None  # None: the rig has none, and is given one
    times: np.ndarray  # [f]
    poses: list[str] | None  # names of the frames, when they are poses


def _clips(armature, poses: list[str] | None) -> list[_Clip]:
    """Those it was made for and those tracked onto it: new joints need new keys in each."""
    made = [_Clip(clip.action, clip.times, poses) for clip in played.of(armature)]
    later = [_Clip(clip.action, other_clips.times_of(clip), None) for clip in played.tracked(armature)]
    return [*made, *later]


def _read(armature, names: list[str]) -> np.ndarray:
    """[f][b][4][4] of all clips, one after the other"""
    others = other_clips.read(armature, names)
    return np.concatenate([played.read_transforms(armature, names), *(other.transforms for other in others)])


def _with_action(armature, clip: _Clip) -> _Clip:
    if clip.action is not None:
        return clip
    actions.assign(armature, bpy.data.actions.new(armature.name))
    return clip._replace(action=keys.action_of(armature))


def _key(armature, clips: list[_Clip], rig, body: np.ndarray, plan, options: Options) -> Keyed:
    """Keys every clip with its part of the transforms."""
    keyed, start = [], 0
    for clip in clips:
        rows = slice(start, start + len(clip.times))
        start = rows.stop
        part = dataclasses.replace(rig, transforms=rig.transforms[rows])
        some = dataclasses.replace(plan, transforms=plan.transforms[rows])
        with actions.given(armature, clip.action):
            keyed.append(key(armature, clip.action, part, body[rows], clip.times, some, options, clip.poses))
    return Keyed.of(keyed, other_clips.complete(armature, [roles.root_of(armature), *plan.names]))


# ---- helpers


def _leaders(armature, names: list[str], helps: np.ndarray) -> np.ndarray:
    """[n] which of the others each helper hangs from; one that hangs from none, from the first"""
    count = int((~helps).sum())
    above = standing.parents_of(armature, names)
    while (above[count:] >= count).any():
        above[count:] = np.where(above[count:] >= count, above[above[count:]], above[count:])
    return np.maximum(above[count:], 0)


def _led(rig: native.Rig, leaders: np.ndarray, helps: np.ndarray) -> native.Rig:
    """The rig of the core alone, with what helpers move given to who leads them."""
    count = int((~helps).sum())
    parents = np.append(np.full(count, -1), leaders)
    dense = helpers.led(rig.dense_weights(), parents, helps)
    return native.Rig(np.ascontiguousarray(rig.transforms[:, :count]), *standing.sparse(dense), rig.rest)


# ---- all of it


def _plan(armature, rig: native.Rig, triangles, options: Options, names: list[str], poses: bool):
    """The skeleton, and the bones that it is made of; helpers, the last of the names, stay with who leads
    them."""
    helps = standing.helping(armature, names)
    core, leaders = names[: int((~helps).sum())], _leaders(armature, names, helps)
    wishes = _wishes(armature.ossify, options, core)
    seen = rig if len(core) == len(names) else _led(rig, leaders, helps)
    skeleton = rooting.connect(seen, triangles, wishes)
    both = _for_both_sides(wishes, skeleton.mirrors)
    if both != wishes:
        skeleton = rooting.connect(seen, triangles, both)
    skeleton = helpers.joined(skeleton, leaders, standing.heads_of(armature, names[len(core) :]))
    groups = {group.name for obj in meshes_of(armature) for group in obj.vertex_groups}
    taken = (groups | set(armature.data.bones.keys())) - set(names)
    chosen = dataclasses.replace(options, skeleton="HIERARCHY")
    return plan_bones(
        rig, triangles, np.array(armature.matrix_world), chosen, taken, skeleton, poses, None, helps
    )


def _remember(armature, keyed: Keyed, plan, changed: changes.Changes, renamed: dict[str, str]) -> None:
    """Onto its record and into its memory; bones that the artist added are still for a refit to take up."""
    record, root = armature.ossify, roles.root_of(armature)
    if keyed.located or record.settings.skeleton == "NONE":
        record.settings.skeleton = "HIERARCHY"
    counted = keyed_of(armature, [root, *plan.names])
    record.keys, record.keys_if_every = counted.keys, counted.keys_if_every
    record.located, record.location = keyed.located, 100 * keyed.location / plan.size
    record.free_erms = 0.0
    record.changes.clear()
    record.looked = False
    for name in plan.names:
        armature.data.bones[name].pop(changes.PLACED, None)  # it was moved from where the artist put it
    ours = {new for old, new in renamed.items() if old not in changed.added}
    written = {root: root, **renamed}
    rekeyed = {written[name]: rows for name, rows in changed.rekeyed.items() if name in written}
    amend.amend(armature, {root, *ours}, ours, set(), {}, ours, rekeyed)


class Rejoined(NamedTuple):
    skeleton: native.Skeleton
    keyed: Keyed
    notes: list[str]  # for the artist, a sentence each


def rejoin(context, armature) -> Rejoined:
    """Hangs the bones of a rig anew, in place."""
    record, options = armature.ossify, Options.of(armature.ossify.settings)
    _check(armature, options)
    root = roles.root_of(armature)
    changed, names = changes.find(armature), bone_names(armature)
    names.sort(key=lambda name: roles.is_helper(armature.data.bones[name]))
    poses = [item.name for item in record.frames] if options.frames == "POSES" else None
    clips = _clips(armature, poses)
    skin = standing.read_skin(armature, names)
    rest, dense, triangles = skin.rest[skin.moved], skin.weights[skin.moved], skin.moved_triangles
    body, moved = np.split(standing.rigid(_read(armature, [root, *names])), [1], axis=1)
    rig = native.Rig(np.ascontiguousarray(moved[:, :, :3]), *standing.sparse(dense), rest.astype(np.float32))
    plan = _plan(armature, rig, triangles, options, names, bool(poses))
    with standing.alone(armature) as (scene, layer):  # a rig that is hidden has no Edit Mode in its own
        rearrange(armature, scene, layer, names, plan)
    clips = [_with_action(armature, clip) for clip in clips]
    for clip in clips:
        keys.clear(armature, clip.action, [root, *names])
    rename(armature, names, plan)
    keyed = _key(armature, clips, rig, body[:, 0], plan, options)
    renamed = dict(zip(names, plan.names, strict=True))
    _rename_wishes(record, renamed)
    _remember(armature, keyed, plan, changed, renamed)
    context.view_layer.update()
    return Rejoined(plan.skeleton, keyed, played.left_alone(armature))
