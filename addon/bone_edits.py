"""Bones of a standing rig merged, split, added and removed, and what they touch solved again.

Each function reads the rig and its motion, computes the rig to be, and only then changes the armature: bones
in edit mode, then weights, then the keys of bones that move otherwise or hang otherwise than before. Names,
colours, constraints and shapes of the bones that stay are theirs; nothing an artist added is removed.
"""

from __future__ import annotations

import dataclasses
import re

import bpy
import numpy as np
from mathutils import Vector

from . import (
    actions,
    amend,
    changes,
    channels,
    edits,
    joints,
    keys,
    local_fit,
    native,
    placement,
    quadrics,
    references,
    rewrite,
    standing,
)
from .armature import edit_mode, paint
from .keying import ROOT, tolerance_of
from .local_fit import Fit
from .options import Refusal
from .painting import error_words

_GOLDEN = 0.618034  # of a colour wheel, from one bone's hue to the next
_SIDEWAYS = 0.5  # cosine to the bone, below which its two parts lie side by side
_WORTH = 1e-4  # percent of the size: what lowers the error by less does nothing
_SHORTEST = 0.01  # of the size
_CUT = 0.15  # of a bone, that is left on either side of a cut at least
_NAME = re.compile(r"^(.*?)(?:\.(\d+))?(\.[LR])?$")


@dataclasses.dataclass
class Edited:
    """What was done."""

    bones: list[str]  # made or removed
    before: float  # root mean square error, percent of the size
    after: float
    notes: list[str]  # for the artist, a sentence each


# ---- reading


def _read(context, armature) -> edits.Subject:
    if armature.ossify.settings.bone_kind == "FLEXIBLE":
        raise Refusal("Flexible bones have a second bone above each: they cannot be edited one by one.")
    return edits.read(context, armature)


def _number(subject: edits.Subject, name: str) -> int:
    if name == ROOT or name not in subject.names:
        raise Refusal(f"{name} does not deform the mesh: choose bones that do.")
    return subject.names.index(name)


def _columns(subject: edits.Subject, kept: np.ndarray, weights: np.ndarray) -> native.Rig:
    """The subject's rig with these bones [n] alone; weights [v][n]."""
    rig = subject.rig(weights)
    rig.transforms = np.ascontiguousarray(subject.transforms[:, kept, :3])
    return rig


# ---- writing


@dataclasses.dataclass
class _Change:
    fit: Fit
    rewritten: np.ndarray  # [v] vertices whose weights may have changed
    rekeyed: list[str]  # bones whose transforms or parents change
    removed: list[str]
    moved: tuple[str, ...] = ()  # bones that are new, or lie elsewhere
    like: str = ""  # what a new bone was made from


def _loose(subject: edits.Subject, armature, change: _Change) -> list[str]:
    """Connected bones whose head strays from the parent's tail: a connected bone cannot."""
    number = {name: b for b, name in enumerate(change.fit.names)}
    options = armature.ossify.settings.options()
    limit = channels.PIN_SHARE * (tolerance_of(options, subject.size, options.frames == "POSES") or 0.0)
    found = []
    for bone in armature.data.bones:
        if bone.use_connect and bone.name in number and bone.parent.name in number:
            head = np.append(np.array(bone.head_local), 1.0)
            moved, above = (change.fit.transforms[:, number[name]] for name in (bone.name, bone.parent.name))
            if np.linalg.norm((moved - above) @ head, axis=1).max() > limit:
                found.append(bone.name)
    return found


def _below(armature, names: list[str]) -> list[str]:
    """These bones and all that deform below them."""
    found = dict.fromkeys(names)
    for name in names:
        bones = armature.data.bones[name].children_recursive
        found |= dict.fromkeys(bone.name for bone in bones if bone.use_deform)
    return list(found)


def _followers(subject: edits.Subject) -> list:
    """Meshes that the armature moves as well, although the rig was not made with them: copies, clothes."""
    own, armature = subject.skin.meshes, subject.armature
    return [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH"
        and obj not in own
        and obj.data.library is None
        and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers)
    ]


def _heirs(subject: edits.Subject, change: _Change) -> np.ndarray:
    """[removed][b] who gets the weights of a bone that goes, and what share: as on the rig's own mesh"""
    fit, old = change.fit, subject.weights()
    kept = old[:, [subject.names.index(n) if n in subject.names else 0 for n in fit.names]]
    gained = np.maximum(fit.weights - kept * [name in subject.names for name in fit.names], 0)
    shares = old[:, [subject.names.index(name) for name in change.removed]].T @ gained
    shares[shares.sum(axis=1) <= 0, 0] = 1.0
    return shares / shares.sum(axis=1, keepdims=True)


def _write_followers(subject: edits.Subject, change: _Change) -> None:
    heirs, names, most = (
        _heirs(subject, change),
        change.fit.names,
        subject.armature.ossify.settings.influences,
    )
    for obj in _followers(subject):
        lost = standing.painted(obj, change.removed).astype(np.float64)
        rows = np.flatnonzero(lost.any(axis=1))
        present = standing.painted(obj, names)[rows].astype(np.float64) + lost[rows] @ heirs
        bones = quadrics.widest(present, most)
        rewrite.write_weights(obj, rows, bones, quadrics.at(present, bones), names)
        for name in change.removed:
            if name in obj.vertex_groups:
                obj.vertex_groups.remove(obj.vertex_groups[name])


def _write_weights(subject: edits.Subject, change: _Change) -> None:
    fit = change.fit
    locked = dict(zip(subject.names, subject.locked(), strict=True))
    held = np.array([locked.get(name, False) for name in fit.names], bool)
    rows = np.flatnonzero(change.rewritten)
    bones = quadrics.widest(fit.weights[rows])
    values, at = quadrics.at(fit.weights[rows], bones), subject.rows[rows]
    for obj, part in zip(subject.skin.meshes, subject.skin.slices, strict=True):
        for name in change.removed:
            if name in obj.vertex_groups:
                obj.vertex_groups.remove(obj.vertex_groups[name])
        mine = (at >= part.start) & (at < part.stop)
        rewrite.write_weights(obj, at[mine] - part.start, bones[mine], values[mine], fit.names, held)


@dataclasses.dataclass
class _Clip:
    """Another action of the rig, for which there is no motion: bones go on to move as they did."""

    action: object
    times: np.ndarray  # [f]
    transforms: np.ndarray  # [f][b][4][4] of the subject's bones


def _other_clips(subject: edits.Subject) -> list[_Clip]:
    armature, found = subject.armature, []
    now = keys.action_of(armature)
    records = [clip for clip in armature.ossify.clips if clip.action not in (None, now)]
    if not records:
        return found
    with standing.alone(armature) as (scene, layer), actions.given(armature, now):
        for clip in records:
            actions.assign(armature, clip.action)
            actions.rest_pose(armature, clip.action, subject.names)
            times = np.arange(clip.first_frame, clip.last_frame + 1, clip.frame_step)
            moved = standing.read_transforms(armature, scene, layer, subject.names, times.tolist())
            found.append(_Clip(clip.action, times, moved))
    return found


def _rewrite_clips(subject: edits.Subject, change: _Change, clips: list[_Clip], named: list[str]) -> None:
    """A bone that is new moves as the one it was made from."""
    armature, options = subject.armature, subject.armature.ossify.settings.options()
    now = keys.action_of(armature)
    columns = [subject.names.index(name if name in subject.names else change.like) for name in named]
    with actions.given(armature, now):
        for clip in clips:
            actions.assign(armature, clip.action)
            keys.clear(armature, change.removed)
            rewrite.write_keys(armature, clip.action, clip.transforms[:, columns], clip.times, named, options)
    if clips:
        actions.complete(armature, [now, *(clip.action for clip in clips)], named)


def _write(context, subject: edits.Subject, change: _Change, hang) -> None:
    """hang(edit bones) makes, removes and hangs bones; all that goes before has gone well."""
    armature, fit, clips = subject.armature, change.fit, _other_clips(subject)
    keys.clear(armature, change.removed)
    active = context.view_layer.objects.active
    with edit_mode(armature, context.scene, context.view_layer) as bones:
        hang(bones)
    loose = _loose(subject, armature, change)
    if loose:
        with edit_mode(armature, context.scene, context.view_layer) as bones:
            for name in loose:
                bones[name].use_connect = False
    context.view_layer.objects.active = active
    if change.removed:
        _write_followers(subject, change)
    _write_weights(subject, change)
    data = armature.animation_data_create()
    action = data.action or bpy.data.actions.new(armature.name)
    named = _below(armature, [*change.rekeyed, *loose])
    transforms = fit.transforms[:, [fit.names.index(name) for name in named]]
    options = armature.ossify.settings.options()
    rewrite.write_keys(armature, action, transforms, np.array(subject.times), named, options)
    _rewrite_clips(subject, change, clips, named)
    context.view_layer.update()
    rows = np.zeros(len(subject.skin.rest), bool)
    rows[subject.rows] = change.rewritten
    painted = {obj: rows[part] for obj, part in zip(subject.skin.meshes, subject.skin.slices, strict=True)}
    amend.amend(armature, set(named), set(change.moved), set(change.removed), painted)


def _finish(context, subject: edits.Subject, before: float, bones: list[str], notes: list[str]) -> Edited:
    """With the error of what now stands in the scene."""
    now = edits.read(context, subject.armature, frames=subject.frames)
    return Edited(bones, before, edits.note_fit(now), notes)


# ---- joints that hold


def _parent_in(bone, names: list[str], parents: dict[str, str | None], armature) -> str | None:
    """The nearest bone above that deforms, when bones hang as `parents` says where it says something."""
    name = bone
    while name is not None:
        if name in parents:
            name = parents[name]
        else:
            above = armature.data.bones[name].parent
            name = above.name if above else None
        if name in names:
            return name
    return None


def _turning(subject: edits.Subject, fit: Fit, free, parents: dict, heads: dict, found: str | None = None):
    """The fit, of a rig whose joints hold: in any other it is as good as it is.

    parents: bone -> its parent to be; heads: bone -> its joint to be; found: the bone whose joint is looked
    for. Returns the fit, that joint (or the one given), and whether all bones are other ones.
    """
    armature, names = subject.armature, fit.names
    joint = heads.get(found)
    if armature.ossify.settings.skeleton != "ARTICULATED":
        return fit, joint, False
    above = [_parent_in(name, names, parents, armature) for name in names]
    numbers = np.array([-1 if name is None else names.index(name) for name in above])
    bones = armature.data.bones
    places = np.array([heads[n] if n in heads else bones[n].head_local for n in names], np.float64)
    held = np.array([name != found for name in names])
    turned, joints_found = local_fit.turning(subject, fit, free, numbers, places, held)
    return turned, joint if found is None else joints_found[names.index(found)], True


# ---- names


def next_name(armature, like: str) -> str:
    """A name of the same chain and side that no bone and no vertex group has: the next number."""
    base, number, side = _NAME.match(like).groups()
    side, digits = side or "", len(number or "000")
    meshes = [obj for obj in armature.children if obj.type == "MESH"]
    taken = {bone.name for bone in armature.data.bones}
    taken |= {group.name for obj in meshes for group in obj.vertex_groups}
    count = int(number or 0) + 1
    while f"{base}.{count:0{digits}}{side}" in taken:
        count += 1
    return f"{base}.{count:0{digits}}{side}"


def _dress(armature, name: str, like: str) -> None:
    """Colour and collections as the others have them."""
    data = armature.data
    paint(data.bones[name], _GOLDEN * (sum(bone.use_deform for bone in data.bones) - 1))
    for collection in data.bones[like].collections:
        collection.assign(data.bones[name])
    armature.pose.bones[name].rotation_mode = armature.pose.bones[like].rotation_mode


# ---- merge


def _standing_above(bone, gone: set[str]):
    """The nearest bone above that stays; None: there is none."""
    above = bone.parent
    while above is not None and above.name in gone:
        above = above.parent
    return above


def _hang_merged(armature, kept: str, gone: set[str]) -> dict[str, str | None]:
    """bone -> its new parent, for all whose parent goes; what lies above the kept bone stays above it."""
    bones, result = armature.data.bones, {}
    above_kept = {bone.name for bone in bones[kept].parent_recursive}
    for bone in bones:
        if bone.name not in gone and bone.parent is not None and bone.parent.name in gone:
            above = _standing_above(bone, gone)
            upward = bone.name == kept or bone.name in above_kept
            result[bone.name] = (above.name if above else None) if upward else kept
    return result


def _head_of_merged(armature, kept: str, gone: set[str]) -> np.ndarray:
    """Where the merged bone begins: at the highest bone right above it that goes, or where it does."""
    bone = armature.data.bones[kept]
    while bone.parent is not None and bone.parent.name in gone:
        bone = bone.parent
    return np.array(bone.head_local, np.float64)


def _redirect(armature, kept: str, gone: list[str]) -> list[str]:
    """What named a bone that goes names the kept one; notes of that, and of what cannot."""
    notes, owner = [], f"{kept}'s "
    for reference in references.to(armature, gone):
        if reference.words.startswith(owner):
            notes.append(f"{reference.words} named {reference.bone}, which is now {kept} itself.")
        else:
            reference.rename(kept)
            notes.append(f"{reference.words} named {reference.bone} and now names {kept}.")
    return notes


def merge(context, armature, kept: str, others: list[str], solve: bool = True) -> Edited:
    """Other bones become the kept one: weights summed, its motion solved anew, and with `solve` also the
    weights of the vertices that follow it."""
    subject = _read(context, armature)
    gone = [name for name in others if name != kept]
    if not gone:
        raise Refusal("Select the bones to merge as well as the active one.")
    target, sources = _number(subject, kept), [_number(subject, name) for name in gone]
    before = subject.error(subject.quadrics())
    dense = subject.weights()
    dense[:, target] += dense[:, sources].sum(axis=1)
    left = np.setdiff1d(np.arange(len(subject.names)), sources)
    names = [subject.names[b] for b in left]
    weights = dense[:, left]
    touched = left == target
    mine = weights[:, names.index(kept)] > 0
    free = mine if solve else np.zeros(len(mine), bool)
    fit = local_fit.fit(subject, names, _columns(subject, left, weights), touched, free)
    parents = _hang_merged(armature, kept, set(gone))
    head = _head_of_merged(armature, kept, set(gone))
    fit, _, whole = _turning(subject, fit, free, parents, {kept: head})
    notes = [f"{words} went with it." for name in gone for words in references.carried(armature, name)]

    def hang(bones):
        for name, parent in parents.items():
            bones[name].use_connect = False
            bones[name].parent = bones[parent] if parent else None
        if whole:  # its joint is that of the highest bone it has become
            bones[kept].head = Vector(head)
        for name in gone:
            bones.remove(bones[name])

    notes += _redirect(armature, kept, gone)
    rekeyed = names if whole else [kept, *(name for name in parents if armature.data.bones[name].use_deform)]
    _write(context, subject, _Change(fit, mine, rekeyed, gone, (kept,) if whole else ()), hang)
    return _finish(context, subject, before, gone, notes)


# ---- one bone more


def _grown(subject: edits.Subject, split: int | None) -> tuple[native.Rig, np.ndarray]:
    """The rig with a bone more, the last, and which bones that touches [b]: those that share its vertices."""
    rig, count = subject.rig(), len(subject.names)
    rig.held_groups = subject.locked().astype(np.uint8)
    settings = local_fit.solver(subject, count + 1)
    grown = native.add_bone(
        rig.rest, subject.frames, subject.triangles(), rig, split=split, settings=settings
    )
    dense = grown.dense_weights()
    touched = (dense[dense[:, count] > 0] > 0).any(axis=0)
    touched[count] = True
    if split is not None:
        touched[:] = False
        touched[[split, count]] = True
    return grown, touched


def _place(subject: edits.Subject, fit: Fit, b: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Head, tail and facing of a bone by the region it moves."""
    world = np.array(subject.armature.matrix_world, np.float64)[:3, :3]
    world = world / np.linalg.norm(world, axis=0)
    places = placement.place(subject.rest, fit.weights, subject.triangles(), world)
    return places.heads[b], places.tails[b], places.facing[b]


def _joint(subject: edits.Subject, fit: Fit, b: int, parent: int) -> tuple[np.ndarray, native.Skeleton]:
    """Where two bones turn about each other, with what is known of it."""
    pair = [parent, b]
    shares = fit.weights[:, pair]
    rows = np.flatnonzero(shares.sum(axis=1) > 0)
    shares = shares[rows] / shares[rows].sum(axis=1, keepdims=True)
    rest = np.ascontiguousarray(subject.rest[rows], np.float32)
    rig = native.Rig(np.ascontiguousarray(fit.transforms[:, pair, :3]), *_two(shares), rest)
    wishes = native.Wishes(root=0, symmetry="none", demanded=[(0, 1)])
    skeleton = native.connect(rig, None, wishes)
    return skeleton.joints[1], skeleton


def _two(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bones = np.where(shares > 0, np.arange(2), -1).astype(np.int32)
    order = np.argsort(-shares, axis=1, kind="stable")
    return np.take_along_axis(bones, order, 1), np.take_along_axis(shares, order, 1).astype(np.float32)


def _note_joint(armature, name: str, skeleton: native.Skeleton | None) -> None:
    if skeleton is not None:
        bone = armature.data.bones[name]
        bone[joints.KIND] = skeleton.kinds[1]
        bone[joints.ANGLE] = float(np.degrees(skeleton.angles[1]))
        bone[joints.DRIFT] = float(skeleton.drifts[1])


def _joined(armature) -> bool:
    return armature.ossify.settings.skeleton != "NONE"


def _reach(head: np.ndarray, tail: np.ndarray, otherwise: np.ndarray, size: float) -> np.ndarray:
    """The tail, moved on when it is so near to the head that the bone would hardly be seen."""
    length = float(np.linalg.norm(tail - head))
    return (
        tail
        if length >= _SHORTEST * size
        else head + _SHORTEST * size * placement.unit(tail - head, otherwise)
    )


def add_at_worst(context, armature) -> Edited:
    """One bone more, where the error is most: it hangs from the bone that it takes the most from."""
    subject = _read(context, armature)
    before = subject.error(subject.quadrics())
    grown, touched = _grown(subject, None)
    count, old = len(subject.names), subject.weights()
    donor = int((old * grown.dense_weights()[:, count:]).sum(axis=0).argmax())
    like = subject.names[donor]
    name = next_name(armature, like)
    free = (grown.dense_weights()[:, touched] > 0).any(axis=1)
    fit = local_fit.fit(subject, [*subject.names, name], grown, touched, free)
    head, tail, facing = _place(subject, fit, count)
    skeleton = None
    if _joined(armature):
        joint, skeleton = _joint(subject, fit, count, donor)
        if skeleton.kinds[1] != "loose" and np.linalg.norm(tail - joint) > 0.01 * subject.size:
            head = joint
    fit, head, whole = _turning(subject, fit, free, {name: like}, {name: head}, name)
    if fit.error > before - _WORTH:
        raise Refusal(f"One bone more does not lower the error of {armature.name}: nothing was changed.")
    tail = _reach(head, tail, facing, subject.size)

    def hang(bones):
        bone = bones.new(name)
        bone.head, bone.tail = Vector(head), Vector(tail)
        bone.align_roll(Vector(facing))
        bone.parent = bones[like] if _joined(armature) else bones[like].parent

    rekeyed = fit.names if whole else [fit.names[b] for b in np.flatnonzero(touched)]
    _write(context, subject, _Change(fit, free, rekeyed, [], (name,), like), hang)
    _dress(armature, name, like)
    _note_joint(armature, name, skeleton)
    return _finish(context, subject, before, [name], [])


# ---- split


def _middles(subject: edits.Subject, fit: Fit, pair: list[int]) -> np.ndarray:
    shares = fit.weights[:, pair] ** 2
    return shares.T @ subject.rest / shares.sum(axis=0)[:, None]


def _swap(fit: Fit, a: int, b: int) -> None:
    """Two bones change places."""
    fit.weights[:, [a, b]] = fit.weights[:, [b, a]]
    fit.transforms[:, [a, b]] = fit.transforms[:, [b, a]]


@dataclasses.dataclass
class _Cut:
    """How a bone is cut: at a share of its length, and which bones then hang from the far half."""

    share: float
    children: list[str]


def _cut(subject: edits.Subject, fit: Fit, b: int, skeleton_point: np.ndarray) -> _Cut:
    bone = subject.armature.data.bones[fit.names[b]]
    head, tail = np.array(bone.head_local, np.float64), np.array(bone.tail_local, np.float64)
    way = tail - head
    share = float(np.clip((skeleton_point - head) @ way / (way @ way), _CUT, 1 - _CUT))
    far = len(fit.names) - 1
    number = {name: i for i, name in enumerate(fit.names)}
    children = []
    for child in bone.children:
        ties = [0.0, 0.0]
        if child.name in number:
            ties = [float(fit.weights[:, number[child.name]] @ fit.weights[:, i]) for i in (b, far)]
        along = (np.array(child.head_local) - head) @ way / (way @ way)
        nearer = ties[1] > ties[0] if max(ties) > 0 else along > share
        if child.use_connect or nearer:
            children.append(child.name)
    return _Cut(share, children)


def split(context, armature, name: str) -> Edited:
    """One bone into two by how its vertices move: lengthwise the far part becomes a child, otherwise the new
    bone stands beside the old one."""
    subject = _read(context, armature)
    b, count = _number(subject, name), len(subject.names)
    before = subject.error(subject.quadrics())
    grown, touched = _grown(subject, b)
    new = next_name(armature, name)
    free = (grown.dense_weights()[:, touched] > 0).any(axis=1)
    fit = local_fit.fit(subject, [*subject.names, new], grown, touched, free)
    if not (fit.weights[:, [b, count]] > 0).any(axis=0).all():
        raise Refusal(f"All that {name} moves moves alike: there is nothing to split.")
    bone = armature.data.bones[name]
    way = np.array(bone.tail_local - bone.head_local, np.float64)
    near, far = _middles(subject, fit, [b, count])
    lengthwise = _joined(armature) and abs((far - near) @ way) > _SIDEWAYS * np.linalg.norm(
        far - near
    ) * np.linalg.norm(way)
    if lengthwise and (far - near) @ way < 0:
        _swap(fit, b, count)
    skeleton, cut = None, None
    if lengthwise:
        joint, skeleton = _joint(subject, fit, count, b)
        cut = _cut(subject, fit, b, joint)
    head, tail, facing = _place(subject, fit, count)
    parents = {new: bone.parent.name if bone.parent else None}
    if cut is not None:
        parents = {new: name, **dict.fromkeys(cut.children, new)}
        head = np.array(bone.head_local.lerp(bone.tail_local, cut.share), np.float64)
    fit, _, whole = _turning(subject, fit, free, parents, {new: head})
    if fit.error > before - _WORTH:
        raise Refusal(f"All that {name} moves moves alike: there is nothing to split.")

    def hang(bones):
        old, made = bones[name], bones.new(new)
        if cut is None:
            made.head, made.tail = Vector(head), Vector(tail)
            made.align_roll(Vector(facing))
            made.parent = old.parent
            return
        connected = {child: bones[child].use_connect for child in cut.children}
        for child in cut.children:
            bones[child].use_connect = False
        middle = old.head.lerp(old.tail, cut.share)
        made.head, made.tail, made.roll = middle, old.tail.copy(), old.roll
        old.tail, made.parent = middle, old
        for child in cut.children:
            bones[child].parent = made
            bones[child].use_connect = connected[child]

    rekeyed = [name, new, *(child for child in parents if child in subject.names)]
    rekeyed = fit.names if whole else list(dict.fromkeys(rekeyed))
    _write(context, subject, _Change(fit, free, rekeyed, [], (name, new), name), hang)
    _dress(armature, new, name)
    _note_joint(armature, new, skeleton)
    return _finish(context, subject, before, [new], [])


# ---- remove


def _deforms(bone) -> bool:
    return bone is not None and bone.use_deform


def protected(armature, names: list[str]) -> set[str]:
    """Bones that hold something of an artist's, and are not removed."""
    bones, pose, found = armature.data.bones, armature.pose.bones, set(changes.find(armature).added)
    data = armature.animation_data
    action = data.action if data else None
    for name in names:
        controls = [child for child in bones[name].children if not child.use_deform]
        if _joined(armature) and bones[name].children and not _deforms(bones[name].parent):
            found.add(name)  # the whole skeleton hangs from it
        shaped = pose[name].custom_shape is not None or bool(pose[name].constraints)
        if shaped or controls or keys.is_driven(armature, action, name):
            found.add(name)
    found |= {reference.bone for reference in references.to(armature, names)}
    for obj in armature.children:
        if obj.type == "MESH":
            found |= {group.name for group in obj.vertex_groups if group.lock_weight} & set(names)
    return found & set(names)


@dataclasses.dataclass
class Useless:
    """Bones to remove, the most useless first, and the rig without them, solved as far as weights go."""

    subject: edits.Subject
    names: list[str]
    left: list[int]  # the others, in the subject's numbers
    rig: native.Rig
    before: float
    after: float  # before anything but weights is solved


def _without(subject: edits.Subject, rig: native.Rig, names: list[str], b: int) -> native.Rig:
    """The rig without a bone; its vertices' weights are solved again, and nothing else."""
    dense = rig.dense_weights().astype(np.float64)
    free = dense[:, b] > 0
    left = np.delete(np.arange(len(names)), b)
    dense = dense[:, left]
    bare = dense.sum(axis=1) <= 0
    dense[bare] = 1.0 / len(left)  # the solver chooses among all
    rig = dataclasses.replace(subject.rig(dense), transforms=np.ascontiguousarray(rig.transforms[:, left]))
    kept = [names[i] for i in left]
    fit = local_fit.fit(subject, kept, rig, np.zeros(len(left), bool), free)
    return dataclasses.replace(subject.rig(fit.weights), transforms=rig.transforms)


@dataclasses.dataclass
class _Without:
    """A rig without the bones that were found."""

    fit: Fit
    free: np.ndarray  # [v]
    touched: np.ndarray  # [b]
    parents: dict[str, str | None]  # of bones whose parent goes


def _solve_without(found: Useless) -> _Without:
    """Bones that take over are solved again where they do; where joints hold, all of them."""
    subject, armature = found.subject, found.subject.armature
    gone = [subject.names.index(name) for name in found.names]
    free = (subject.weights()[:, gone] > 0).any(axis=1)
    touched = (found.rig.dense_weights()[free] > 0).any(axis=0)
    fit = local_fit.fit(subject, [subject.names[b] for b in found.left], found.rig, touched, free)
    removed, parents = set(found.names), {}
    for bone in armature.data.bones:
        if bone.name not in removed and bone.parent is not None and bone.parent.name in removed:
            above = _standing_above(bone, removed)
            parents[bone.name] = above.name if above else None
    fit, _, whole = _turning(subject, fit, free, parents, {})
    return _Without(fit, free, touched | whole, parents)


def _with_next(found: Useless, safe: set[str], tolerance: float) -> Useless | None:
    """One bone more that is useless, or None."""
    subject = found.subject
    names = [subject.names[b] for b in found.left]
    settings = local_fit.solver(subject, len(names))
    poses = found.rig.rest, subject.frames, subject.triangles()
    costs = native.bone_costs(*poses, found.rig, settings)
    costs[[name in safe for name in names]] = np.inf
    b = int(costs.argmin())
    if costs[b] > tolerance:
        return None
    rig = _without(subject, found.rig, names, b)
    left = [number for i, number in enumerate(found.left) if i != b]
    after = local_fit.error(subject, rig)
    more = Useless(subject, [*found.names, names[b]], left, rig, found.before, after)
    if subject.armature.ossify.settings.skeleton == "ARTICULATED":
        more.after = _solve_without(more).fit.error
    return more if more.after <= found.before + tolerance else None


def find_useless(context, armature, tolerance: float) -> Useless:
    """Bones without which the error, percent of the size, grows by no more than the tolerance in all."""
    subject = _read(context, armature)
    before = subject.error(subject.quadrics())
    safe = protected(armature, subject.names)
    found = Useless(subject, [], list(range(len(subject.names))), subject.rig(), before, before)
    while len(found.left) > 1:
        more = _with_next(found, safe, tolerance)
        if more is None:
            break
        found = more
    return found


def remove(context, found: Useless) -> Edited:
    """Removes what was found."""
    subject = found.subject
    if not found.names:
        raise Refusal("No bone is useless by this tolerance; nothing was changed.")
    without = _solve_without(found)
    names = without.fit.names

    def hang(bones):
        for name, parent in without.parents.items():
            bones[name].use_connect = False
            bones[name].parent = bones[parent] if parent else None
        for name in found.names:
            bones.remove(bones[name])

    rekeyed = [names[b] for b in np.flatnonzero(without.touched)] + list(without.parents)
    rekeyed = [name for name in dict.fromkeys(rekeyed) if name in names]
    _write(context, subject, _Change(without.fit, without.free, rekeyed, found.names), hang)
    return _finish(context, subject, found.before, found.names, [])


def words(done: Edited, verb: str) -> str:
    """For the artist."""
    return f"{verb} {', '.join(done.bones)}: {error_words(done.before, done.after)}"
