"""One bone more on a standing rig: where the error is most, or out of another bone; what that touches is
solved again."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np
from mathutils import Vector

from .. import native
from ..base.refusal import Refusal
from ..base.steps import Step, step
from ..rig import standing
from ..rig.bone_names import next_name
from ..rig.stand import Standing
from ..skeleton import joints, placement
from . import bone_change, edits, local_fit
from .local_fit import Fit

_SIDEWAYS = 0.5  # cosine to the bone, below which its two parts lie side by side
_GAIN = 1e-4  # percent of the size: what lowers the error by less does nothing
_NO_ROOM = 0.5  # of a vertex's weight: with more in held groups there is no room for a new bone on it
_CUT = 0.15  # of a bone, that is left on either side of a cut at least


def _grown(subject: Standing, split: int | None) -> tuple[native.Rig, np.ndarray]:
    """The rig with a bone more, the last, and which bones that touches [b]: those that share its vertices."""
    rig, count = subject.rig(), len(subject.names)
    locked = subject.holds.groups
    rig.held_groups = locked.astype(np.uint8)
    full = subject.weights()[:, locked].sum(axis=1) > _NO_ROOM
    rig.held_vertices = (subject.holds.vertices[subject.rows] | full).astype(np.uint8)
    settings = local_fit.solver(subject, count + 1)
    grown = native.add_bone(rig.rest, subject.frames, subject.triangles, rig, split=split, settings=settings)
    dense = grown.dense_weights()
    touched = (dense[dense[:, count] > 0] > 0).any(axis=0)
    touched[count] = True
    if split is not None:
        touched[:] = False
        touched[[split, count]] = True
    return grown, touched


def _place(subject: Standing, fit: Fit, b: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Head, tail and facing of a bone by the region it moves."""
    world = np.array(subject.armature.matrix_world, np.float64)[:3, :3]
    world = world / np.linalg.norm(world, axis=0)
    places = placement.place(subject.rest, fit.weights, subject.triangles, world)
    return places.heads[b], places.tails[b], places.facing[b]


def _joint(subject: Standing, fit: Fit, b: int, parent: int) -> tuple[np.ndarray, native.Skeleton]:
    """Where two bones turn about each other, with what is known of it."""
    pair = [parent, b]
    shares = fit.weights[:, pair]
    rows = np.flatnonzero(shares.sum(axis=1) > 0)
    shares = shares[rows] / shares[rows].sum(axis=1, keepdims=True)
    rest = np.ascontiguousarray(subject.rest[rows], np.float32)
    rig = native.Rig(np.ascontiguousarray(fit.transforms[:, pair, :3]), *standing.sparse(shares), rest)
    wishes = native.Wishes(root=0, symmetry="none", demanded=[(0, 1)])
    skeleton = native.connect(rig, None, wishes)
    return skeleton.joints[1], skeleton


def _note_joint(armature, name: str, skeleton: native.Skeleton | None) -> None:
    """skeleton: of the bone above and of this one"""
    if skeleton is not None:
        joints.note_one(armature.data.bones[name], skeleton, 1)


def _reach(head: np.ndarray, tail: np.ndarray, otherwise: np.ndarray, size: float) -> np.ndarray:
    """The tail, moved on when it is so near to the head that the bone would hardly be seen."""
    if np.linalg.norm(tail - head) >= placement.SHORTEST * size:
        return tail
    return head + placement.SHORTEST * size * placement.unit(tail - head, otherwise)


def add_at_worst(context, armature) -> Generator[Step, None, bone_change.Edited]:
    """One bone more, where the error is most: it hangs from the bone that it takes the most from."""
    subject = yield from edits.read(context, armature)
    before = edits.error(subject)
    grown, touched = _grown(subject, None)
    count, old = len(subject.names), subject.weights()
    donor = int((old * grown.dense_weights()[:, count:]).sum(axis=0).argmax())
    like = subject.names[donor]
    name = next_name(subject.armature, like)
    free = (grown.dense_weights()[:, touched] > 0).any(axis=1)
    fit = yield from local_fit.fit(subject, [*subject.names, name], grown, touched, free)
    armature = subject.armature
    head, tail, facing = _place(subject, fit, count)
    skeleton = None
    if bone_change.joined(armature):
        joint, skeleton = _joint(subject, fit, count, donor)
        if skeleton.kinds[1] != "loose" and np.linalg.norm(tail - joint) > placement.SHORTEST * subject.size:
            head = joint
    fit, head, whole = yield from bone_change.turning(subject, fit, free, {name: like}, {name: head}, name)
    if fit.error > before - _GAIN:
        raise Refusal(
            f"One bone more does not lower the error of {subject.handle.name}: nothing was changed."
        )
    tail = _reach(head, tail, facing, subject.size)
    yield step("Building", 0.0)
    bone_change.wake(subject)
    armature = subject.armature

    def hang(bones):
        bone = bones.new(name)
        bone.head, bone.tail = Vector(head), Vector(tail)
        bone.align_roll(Vector(facing))
        bone.parent = bones[like] if bone_change.joined(armature) else bones[like].parent

    rekeyed = fit.names if whole else [fit.names[b] for b in np.flatnonzero(touched)]
    bone_change.write(subject, bone_change.Change(fit, free, rekeyed, [], (name,), like), hang)
    bone_change.dress(armature, name, like)
    _note_joint(armature, name, skeleton)
    return bone_change.finish(subject, before, [name], [])


# ---- split


def _middles(subject: Standing, fit: Fit, pair: list[int]) -> np.ndarray:
    shares = fit.weights[:, pair] ** 2
    return shares.T @ subject.rest / shares.sum(axis=0)[:, None]


def _swap(fit: Fit, a: int, b: int) -> None:
    """Two bones change places, and their vertices go with them."""
    fit.weights[:, [a, b]] = fit.weights[:, [b, a]]
    fit.transforms[:, [a, b]] = fit.transforms[:, [b, a]]


@dataclasses.dataclass
class _Cut:
    """How a bone is cut: at a share of its length, and which bones then hang from the far half."""

    share: float
    children: list[str]


def _cut(subject: Standing, fit: Fit, b: int, skeleton_point: np.ndarray) -> _Cut:
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


def _parted(subject: Standing, fit: Fit, b: int) -> tuple[_Cut | None, native.Skeleton | None]:
    """How the bone is cut, and what is known of the joint; None: its two parts lie side by side.

    The last bone of the fit becomes the far part.
    """
    bone, far = subject.armature.data.bones[fit.names[b]], len(fit.names) - 1
    way = np.array(bone.tail_local - bone.head_local, np.float64)
    middles = _middles(subject, fit, [b, far])
    apart = middles[1] - middles[0]
    along = _SIDEWAYS * np.linalg.norm(apart) * np.linalg.norm(way)
    if not bone_change.joined(subject.armature) or abs(apart @ way) <= along:
        return None, None
    if apart @ way < 0:
        held = subject.holds.vertices[subject.rows]
        # what is held of its motion is not the other's, nor are the vertices that keep their weights on it
        if subject.holds.transforms[:, b].any() or (fit.weights[held][:, [b, far]] > 0).any():
            return None, None
        _swap(fit, b, far)
    joint, skeleton = _joint(subject, fit, far, b)
    return _cut(subject, fit, b, joint), skeleton


def split(context, armature, name: str) -> Generator[Step, None, bone_change.Edited]:
    """One bone into two by how its vertices move: lengthwise the far part becomes a child, otherwise the new
    bone stands beside the old one."""
    subject = yield from edits.read(context, armature)
    b, count = bone_change.number_of(subject, name), len(subject.names)
    if subject.holds.groups[b]:
        raise Refusal(
            f"The weights of {name} are held, so that it cannot be split: unlock its vertex group, or let go"
            " of the bone."
        )
    before = edits.error(subject)
    grown, touched = _grown(subject, b)
    new = next_name(subject.armature, name)
    free = (grown.dense_weights()[:, touched] > 0).any(axis=1)
    fit = yield from local_fit.fit(subject, [*subject.names, new], grown, touched, free)
    if not (fit.weights[:, [b, count]] > 0).any(axis=0).all():
        raise Refusal(f"All that {name} moves moves alike: there is nothing to split.")
    cut, skeleton = _parted(subject, fit, b)
    bone = subject.armature.data.bones[name]
    head, tail, facing = _place(subject, fit, count)
    parents = {new: bone.parent.name if bone.parent else None}
    if cut is not None:
        parents = {new: name, **dict.fromkeys(cut.children, new)}
        head = np.array(bone.head_local.lerp(bone.tail_local, cut.share), np.float64)
    fit, _, whole = yield from bone_change.turning(subject, fit, free, parents, {new: head})
    if fit.error > before - _GAIN:
        raise Refusal(f"All that {name} moves moves alike: there is nothing to split.")
    yield step("Building", 0.0)
    bone_change.wake(subject)
    armature = subject.armature

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
    bone_change.write(subject, bone_change.Change(fit, free, rekeyed, [], (name, new), name), hang)
    bone_change.dress(armature, new, name)
    _note_joint(armature, new, skeleton)
    return bone_change.finish(subject, before, [new], [])
