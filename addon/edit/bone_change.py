"""A change of the bones of a standing rig, written into it: what merging, splitting, adding, removing share.

Bones in edit mode come first, then weights, then the keys of bones that move otherwise or hang otherwise than
before. Other meshes and other clips of the rig go on as they were. Names, colours, constraints and shapes of
the bones that stay are theirs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import bpy
import numpy as np

from .. import native
from ..base.refusal import Refusal
from ..base.steps import Step
from ..options.options import Options, holds
from ..record import amend, changes
from ..rig import actions, carriers, channels, other_clips, played, rewrite, roles, standing, weights
from ..rig.armature import GOLDEN, paint
from ..rig.keying import tolerance_of
from ..rig.stand import Standing
from . import edits, local_fit
from .local_fit import Fit
from .painting import error_words


@dataclasses.dataclass
class Edited:
    """What was done."""

    bones: list[str]  # made or removed
    before: float  # root mean square error, percent of the size
    after: float
    notes: list[str]  # for the artist, a sentence each

    def words(self, verb: str) -> str:
        """For the artist."""
        return f"{verb} {', '.join(self.bones)}: {error_words(self.before, self.after)}"


# ---- reading


def joined(armature) -> bool:
    """Whether its bones hang from each other."""
    return armature.ossify.settings.skeleton != "NONE"


def standing_above(bone, gone: set[str]):
    """The nearest bone above that stays; None: there is none."""
    above = bone.parent
    while above is not None and above.name in gone:
        above = above.parent
    return above


def number_of(subject: Standing, name: str) -> int:
    if name == subject.root or name not in subject.names:
        raise Refusal(f"{name} does not deform the mesh: choose bones that do.")
    return subject.names.index(name)


def columns(subject: Standing, kept: np.ndarray, weights: np.ndarray) -> native.Rig:
    """The subject's rig with these bones [n] alone; weights [v][n]."""
    rig = subject.rig(weights)
    rig.transforms = np.ascontiguousarray(subject.transforms[:, kept, :3])
    return rig


# ---- writing


@dataclasses.dataclass
class Change:
    fit: Fit
    rewritten: np.ndarray  # [v] vertices whose weights may have changed
    rekeyed: list[str]  # bones whose transforms or parents change
    removed: list[str]
    moved: tuple[str, ...] = ()  # bones that are new, or lie elsewhere
    like: str = ""  # what a new bone was made from


def _loose(subject: Standing, armature, change: Change) -> list[str]:
    """Connected bones whose head strays from the parent's tail: a connected bone cannot."""
    number = {name: b for b, name in enumerate(change.fit.names)}
    options = Options.of(armature.ossify.settings)
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


def _heirs(subject: Standing, change: Change) -> np.ndarray:
    """[removed][b] who gets the weights of a bone that goes, and what share: as on the rig's own mesh"""
    fit, old = change.fit, subject.weights()
    kept = old[:, [subject.names.index(n) if n in subject.names else 0 for n in fit.names]]
    gained = np.maximum(fit.weights - kept * [name in subject.names for name in fit.names], 0)
    shares = old[:, [subject.names.index(name) for name in change.removed]].T @ gained
    shares[shares.sum(axis=1) <= 0, 0] = 1.0
    return shares / shares.sum(axis=1, keepdims=True)


def _write_followers(subject: Standing, change: Change) -> None:
    heirs, names, most = (
        _heirs(subject, change),
        change.fit.names,
        subject.armature.ossify.settings.influences,
    )
    for obj in standing.followers(subject.armature, subject.skin.meshes):
        lost = standing.painted(obj, change.removed).astype(np.float64)
        rows = np.flatnonzero(lost.any(axis=1))
        present = standing.painted(obj, names)[rows].astype(np.float64) + lost[rows] @ heirs
        bones = weights.strongest(present, most)
        rewrite.write_weights(obj, rows, bones, weights.at(present, bones), names)
        for name in change.removed:
            if name in obj.vertex_groups:
                obj.vertex_groups.remove(obj.vertex_groups[name])


def _rewritten(subject: Standing, change: Change) -> np.ndarray:
    """[v] vertices whose weights are written: those that are held stay as they are, unless a bone goes that
    moves them"""
    gone = [subject.names.index(name) for name in change.removed]
    lost = (subject.skin.painted[subject.rows][:, gone] > 0).any(axis=1)
    return change.rewritten & (lost | ~subject.holds.vertices[subject.rows])


def _write_weights(subject: Standing, change: Change, rewritten: np.ndarray) -> None:
    fit = change.fit
    locked = dict(zip(subject.names, subject.holds.groups, strict=True))
    held = np.array([locked.get(name, False) for name in fit.names], bool)
    rows = np.flatnonzero(rewritten)
    bones = weights.strongest(fit.weights[rows])
    values, at = weights.at(fit.weights[rows], bones), subject.rows[rows]
    for obj, part in zip(subject.skin.meshes, subject.skin.slices, strict=True):
        for name in change.removed:
            if name in obj.vertex_groups:
                obj.vertex_groups.remove(obj.vertex_groups[name])
        mine = (at >= part.start) & (at < part.stop)
        rewrite.write_weights(obj, at[mine] - part.start, bones[mine], values[mine], fit.names, held)


def _write_keys(subject: Standing, change: Change, named: list[str], others: list) -> None:
    """Into all actions of the rig; in those without a motion a new bone moves as the one it was made from."""
    armature, options = subject.armature, Options.of(subject.armature.ossify.settings)
    if not played.made(armature):
        actions.assign(armature, bpy.data.actions.new(armature.name))
    transforms = change.fit.transforms[:, [change.fit.names.index(name) for name in named]]
    for clip in played.of(armature):
        with played.playing(armature, clip):
            moved = transforms[clip.rows]
            rewrite.write_keys(armature, clip.action, moved, clip.times, named, options)
    columns = [subject.names.index(name if name in subject.names else change.like) for name in named]
    for other in others:
        other.transforms = other.transforms[:, columns]
    other_clips.write(armature, others, named)
    other_clips.complete(armature, [*named, *carriers.of(armature, named)])


def _new_carriers(armature, change: Change) -> list[tuple[str, str, str]]:
    """(name, of which bone, made like which) of the carriers that new bones need"""
    likes = carriers.of(armature, [change.like])
    new = [name for name in change.fit.names if name not in armature.data.bones] if likes else []
    return [(carriers.name_for(armature, name), name, likes[0]) for name in new]


def _amend(subject: Standing, change: Change, rewritten, written: set[str], carried, found) -> None:
    """Notes what was written; what the artist had changed, as found before, and keeps stays a change."""
    armature, record = subject.armature, subject.armature.ossify
    rows = np.zeros(len(subject.skin.rest), bool)
    rows[subject.rows] = rewritten
    painted = {obj: rows[part] for obj, part in zip(subject.skin.meshes, subject.skin.slices, strict=True)}
    if record.keep_repainted:
        painted = {obj: some & ~found.repainted.get(obj.name, False) for obj, some in painted.items()}
    keyed = {name: frames for name, frames in found.rekeyed.items() if name in written}
    gone, new = carried
    moved = {*change.moved, *new}
    removed = {*change.removed, *gone}
    amend.amend(armature, written, moved, removed, painted, rekeyed=keyed if record.keep_rekeyed else {})


def wake(subject: Standing) -> None:
    """Before anything is written: the rig, and the mode, may have been changed in the meantime."""
    active = subject.place.get()[1].objects.active
    if active is not None and active.mode not in {"OBJECT", "POSE"}:
        raise Refusal(f"{active.name} is in another mode now: go back to Pose Mode or Object Mode.")
    edits.wake(subject)


def write(subject: Standing, change: Change, hang) -> None:
    """hang(edit bones) makes, removes and hangs bones; all that goes before has gone well."""
    layer, armature = subject.place.get()[1], subject.armature
    others, found = other_clips.read(armature, subject.names), changes.find(armature)
    gone, new = carriers.of(armature, change.removed), _new_carriers(armature, change)
    with standing.editing(armature) as bones:
        hang(bones)
        for name in gone:
            bones.remove(bones[name])
        for carrier, name, like in new:
            carriers.put(bones, carrier, name, like)
    other_clips.clear(armature, [*change.removed, *gone])
    for carrier, _, like in new:
        carriers.dress(armature, carrier, like)
    loose = _loose(subject, armature, change)
    if loose:
        with standing.editing(armature) as bones:
            for name in loose:
                bones[name].use_connect = False
    if change.removed:
        _write_followers(subject, change)
    rewritten = _rewritten(subject, change)
    _write_weights(subject, change, rewritten)
    named = _below(armature, [*change.rekeyed, *loose])
    _write_keys(subject, change, named, others)
    written = {*named, *carriers.of(armature, named)}
    layer.update()
    _amend(subject, change, rewritten, written, (gone, [carrier for carrier, _, _ in new]), found)


def finish(subject: Standing, before: float, bones: list[str], notes: list[str]) -> Edited:
    """With the error of what now stands in the scene."""
    now = edits.read_again(subject)
    notes = [*notes, *played.left_alone(subject.armature)]
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


def turning(
    subject: Standing, fit: Fit, free, parents: dict, heads: dict, found: str | None = None
) -> Generator[Step, None, tuple]:
    """The fit, of a rig whose joints hold: in any other it is as good as it is.

    parents: bone -> its parent to be; heads: bone -> its joint to be; found: the bone whose joint is looked
    for. Returns the fit, that joint (or the one given), and whether all bones are other ones.
    """
    armature, names = subject.armature, fit.names
    joint = heads.get(found)
    if not holds(armature.ossify.settings):
        return fit, joint, False
    above = [_parent_in(name, names, parents, armature) for name in names]
    numbers = np.array([-1 if name is None else names.index(name) for name in above])
    bones = armature.data.bones
    places = np.array([heads[n] if n in heads else bones[n].head_local for n in names], np.float64)
    held = np.array([name != found for name in names])
    turned, joints_found = yield from local_fit.turning(subject, fit, free, numbers, places, held)
    return turned, joint if found is None else joints_found[names.index(found)], True


def dress(armature, name: str, like: str) -> None:
    """Its role; colour and collections as the others have them."""
    data = armature.data
    roles.give(armature, roles.DEFORM, [name])
    paint(data.bones[name], GOLDEN * (sum(bone.use_deform for bone in data.bones) - 1))
    shown = data.bones[like]
    while roles.is_helper(shown):  # which is hidden
        shown = shown.parent
    for collection in shown.collections:
        collection.assign(data.bones[name])
    armature.pose.bones[name].rotation_mode = armature.pose.bones[like].rotation_mode
