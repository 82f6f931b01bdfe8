"""Bones of a standing rig merged, split, added and removed, and what they touch solved again.

Each function reads the rig and its motion, computes the rig to be, and only then has bone_change.py change
the armature. Nothing an artist added is removed.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from mathutils import Vector

from . import bone_change, changes, edits, joints, keys, local_fit, native, placement, references
from .local_fit import Fit
from .options import Refusal
from .painting import error_words

_SIDEWAYS = 0.5  # cosine to the bone, below which its two parts lie side by side
_WORTH = 1e-4  # percent of the size: what lowers the error by less does nothing
_SHORTEST = 0.01  # of the size
_FULL = 0.5  # of a vertex's weight: with more in held groups there is no room for a new bone on it
_CUT = 0.15  # of a bone, that is left on either side of a cut at least


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


def merge(context, armature, kept: str, others: list[str], solve: bool = True) -> bone_change.Edited:
    """Other bones become the kept one: weights summed, its motion solved anew, and with `solve` also the
    weights of the vertices that follow it."""
    subject = bone_change.read(context, armature)
    gone = [name for name in others if name != kept]
    if not gone:
        raise Refusal("Select the bones to merge as well as the active one.")
    target, sources = (
        bone_change.number_of(subject, kept),
        [bone_change.number_of(subject, name) for name in gone],
    )
    before = subject.error(subject.quadrics())
    dense = subject.weights()
    dense[:, target] += dense[:, sources].sum(axis=1)
    left = np.setdiff1d(np.arange(len(subject.names)), sources)
    names = [subject.names[b] for b in left]
    weights = dense[:, left]
    touched = left == target
    mine = weights[:, names.index(kept)] > 0
    free = mine if solve else np.zeros(len(mine), bool)
    fit = local_fit.fit(subject, names, bone_change.columns(subject, left, weights), touched, free)
    parents = _hang_merged(armature, kept, set(gone))
    head = _head_of_merged(armature, kept, set(gone))
    fit, _, whole = bone_change.turning(subject, fit, free, parents, {kept: head})
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
    bone_change.write(
        context, subject, bone_change.Change(fit, mine, rekeyed, gone, (kept,) if whole else ()), hang
    )
    return bone_change.finish(context, subject, before, gone, notes)


# ---- one bone more


def _grown(subject: edits.Subject, split: int | None) -> tuple[native.Rig, np.ndarray]:
    """The rig with a bone more, the last, and which bones that touches [b]: those that share its vertices."""
    rig, count = subject.rig(), len(subject.names)
    locked = subject.locked()
    rig.held_groups = locked.astype(np.uint8)
    full = subject.weights()[:, locked].sum(axis=1) > _FULL
    rig.held_vertices = (subject.holds.vertices[subject.rows] | full).astype(np.uint8)
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


def add_at_worst(context, armature) -> bone_change.Edited:
    """One bone more, where the error is most: it hangs from the bone that it takes the most from."""
    subject = bone_change.read(context, armature)
    before = subject.error(subject.quadrics())
    grown, touched = _grown(subject, None)
    count, old = len(subject.names), subject.weights()
    donor = int((old * grown.dense_weights()[:, count:]).sum(axis=0).argmax())
    like = subject.names[donor]
    name = bone_change.next_name(armature, like)
    free = (grown.dense_weights()[:, touched] > 0).any(axis=1)
    fit = local_fit.fit(subject, [*subject.names, name], grown, touched, free)
    head, tail, facing = _place(subject, fit, count)
    skeleton = None
    if _joined(armature):
        joint, skeleton = _joint(subject, fit, count, donor)
        if skeleton.kinds[1] != "loose" and np.linalg.norm(tail - joint) > 0.01 * subject.size:
            head = joint
    fit, head, whole = bone_change.turning(subject, fit, free, {name: like}, {name: head}, name)
    if fit.error > before - _WORTH:
        raise Refusal(f"One bone more does not lower the error of {armature.name}: nothing was changed.")
    tail = _reach(head, tail, facing, subject.size)

    def hang(bones):
        bone = bones.new(name)
        bone.head, bone.tail = Vector(head), Vector(tail)
        bone.align_roll(Vector(facing))
        bone.parent = bones[like] if _joined(armature) else bones[like].parent

    rekeyed = fit.names if whole else [fit.names[b] for b in np.flatnonzero(touched)]
    bone_change.write(context, subject, bone_change.Change(fit, free, rekeyed, [], (name,), like), hang)
    bone_change.dress(armature, name, like)
    _note_joint(armature, name, skeleton)
    return bone_change.finish(context, subject, before, [name], [])


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


def split(context, armature, name: str) -> bone_change.Edited:
    """One bone into two by how its vertices move: lengthwise the far part becomes a child, otherwise the new
    bone stands beside the old one."""
    subject = bone_change.read(context, armature)
    b, count = bone_change.number_of(subject, name), len(subject.names)
    before = subject.error(subject.quadrics())
    grown, touched = _grown(subject, b)
    new = bone_change.next_name(armature, name)
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
    fit, _, whole = bone_change.turning(subject, fit, free, parents, {new: head})
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
    bone_change.write(context, subject, bone_change.Change(fit, free, rekeyed, [], (name, new), name), hang)
    bone_change.dress(armature, new, name)
    _note_joint(armature, new, skeleton)
    return bone_change.finish(context, subject, before, [new], [])


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
    fit, _, whole = bone_change.turning(subject, fit, free, parents, {})
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
    subject = bone_change.read(context, armature)
    before = subject.error(subject.quadrics())
    safe = protected(armature, subject.names)
    found = Useless(subject, [], list(range(len(subject.names))), subject.rig(), before, before)
    while len(found.left) > 1:
        more = _with_next(found, safe, tolerance)
        if more is None:
            break
        found = more
    return found


def remove(context, found: Useless) -> bone_change.Edited:
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
    bone_change.write(
        context, subject, bone_change.Change(without.fit, without.free, rekeyed, found.names), hang
    )
    return bone_change.finish(context, subject, found.before, found.names, [])


def words(done: bone_change.Edited, verb: str) -> str:
    """For the artist."""
    return f"{verb} {', '.join(done.bones)}: {error_words(done.before, done.after)}"
