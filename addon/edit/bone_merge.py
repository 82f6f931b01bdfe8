"""Bones of a standing rig made one: weights summed, the motion of the kept bone solved anew.

Children hang from the kept bone, and what named a bone that goes names the kept one.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from mathutils import Vector

from ..base.refusal import Refusal
from ..base.steps import Step, step
from ..record import merge_notes
from ..rig import references
from . import bone_change, edits, local_fit


def _hang_merged(armature, kept: str, gone: set[str]) -> dict[str, str | None]:
    """bone -> its new parent, for all whose parent goes; what lies above the kept bone stays above it."""
    bones, result = armature.data.bones, {}
    above_kept = {bone.name for bone in bones[kept].parent_recursive}
    for bone in bones:
        if bone.name not in gone and bone.parent is not None and bone.parent.name in gone:
            above = bone_change.standing_above(bone, gone)
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


def merge(
    context, armature, kept: str, others: list[str], solve: bool = True
) -> Generator[Step, None, bone_change.Edited]:
    """Other bones become the kept one: weights summed, its motion solved anew, and with `solve` also the
    weights of the vertices that follow it."""
    gone = [name for name in others if name != kept]
    if not gone:
        raise Refusal("Select the bones to merge as well as the active one.")
    subject = yield from edits.read(context, armature)
    target, sources = (
        bone_change.number_of(subject, kept),
        [bone_change.number_of(subject, name) for name in gone],
    )
    if subject.holds.groups[target]:
        raise Refusal(
            f"The weights of {kept} are held, so that it cannot take those of other bones: unlock its vertex"
            " group, let go of the bone, or merge into another."
        )
    before = edits.error(subject)
    dense = subject.weights()
    dense[:, target] += dense[:, sources].sum(axis=1)
    left = np.setdiff1d(np.arange(len(subject.names)), sources)
    names = [subject.names[b] for b in left]
    weights = dense[:, left]
    touched = left == target
    mine = weights[:, names.index(kept)] > 0
    free = mine if solve else np.zeros(len(mine), bool)
    summed = bone_change.columns(subject, left, weights)
    fit = yield from local_fit.fit(subject, names, summed, touched, free)
    armature = subject.armature
    parents = _hang_merged(armature, kept, set(gone))
    head = _head_of_merged(armature, kept, set(gone))
    fit, _, whole = yield from bone_change.turning(subject, fit, free, parents, {kept: head})
    yield step("Building", 0.0)
    bone_change.wake(subject)
    armature = subject.armature
    notes = [f"{words} went with it." for name in gone for words in references.carried(armature, name)]

    def hang(bones):
        for name, parent in parents.items():
            bones[name].use_connect = False
            bones[name].parent = bones[parent] if parent else None
        if whole:  # its joint is that of the highest bone it has become
            bones[kept].head = Vector(head)
        for name in gone:
            bones.remove(bones[name])
        notes.extend(_redirect(armature, kept, gone))  # Edit Mode was entered, and they are still known

    rekeyed = names if whole else [kept, *(name for name in parents if armature.data.bones[name].use_deform)]
    moved = (kept,) if whole else ()
    before_it = merge_notes.State.of(armature)
    bone_change.write(subject, bone_change.Change(fit, mine, rekeyed, gone, moved), hang)
    merge_notes.note(armature, before_it, gone, kept)
    return bone_change.finish(subject, before, gone, notes)
