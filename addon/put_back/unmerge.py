"""A merge taken apart: bones, keys, weights and names as they were before it, by what was noted of it.

What somebody has changed since stays: vertices painted, bones moved, hung or keyed. The merged bone, and
those that lie or hang elsewhere again, have the keys from before the merge all the same, since others would
mean another motion. In a clip that was tracked since, bones that come back move as the merged one does.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..base import tolerances
from ..record import amend, changes, memory, merge_notes
from ..record.merge_notes import Merge
from ..rig import key_copies, other_clips, played, standing
from . import bone_return, weight_return


@dataclasses.dataclass
class _Apart:
    """What was done."""

    made: list[int]
    hung: list[int]
    placed: list[int]
    names: dict[int, str]  # all bones by number
    keyed: set[str] = dataclasses.field(default_factory=set)
    painted: dict = dataclasses.field(default_factory=dict)  # mesh -> [v]


def _bones(armature, merge: Merge) -> _Apart:
    """Bones come back, and those that the merge hung or placed elsewhere go back unless they left there."""
    now, before, after = memory.read_bones(armature), merge.before, merge.after
    made = [number for number in merge.gone if number not in now.numbers]
    hung, placed = [], []
    for number in before.numbers:
        if number in made or number not in now.numbers or number not in after.numbers:
            continue
        old, new, b = before.index(number), after.index(number), now.index(number)
        rehung = before.parents[old] != after.parents[new] or before.connected[old] != after.connected[new]
        if rehung and now.parents[b] == after.parents[new]:
            hung.append(number)
        moved = np.abs(before.rests[old] - after.rests[new]).max() > tolerances.REST
        if moved and np.abs(now.rests[b] - after.rests[new]).max() <= tolerances.REST:
            placed.append(number)
    return _Apart(made, hung, placed, bone_return.restore(armature, before, made, hung, placed))


def _actions(armature, merge: Merge) -> dict[str, object]:
    """name at the time of the merge -> action; one that was renamed since is the one that is left"""
    present = {action.name: action for action in played.all_actions(armature)}
    lost = [name for name in merge.keys if name not in present]
    other = [action for name, action in present.items() if name not in merge.keys]
    found = {name: present[name] for name in merge.keys if name in present}
    return found | (dict(zip(lost, other, strict=True)) if len(lost) == len(other) else {})


def _keys(armature, merge: Merge, found: dict[str, object], apart: _Apart) -> None:
    always = {
        apart.names[n] for n in (merge.kept, *apart.made, *apart.hung, *apart.placed) if n in apart.names
    }
    number = dict(zip(merge.before.names, merge.before.numbers, strict=True))
    for title, action in found.items():
        now = key_copies.of(armature, action)
        for bone, copy in merge.keys[title].items():
            name = apart.names.get(number.get(bone))
            mark = merge.key_marks[title][bone]
            if name and (name in always or key_copies.mark(now.get(name, {})) == mark):
                key_copies.put(armature, action, name, copy)
                apart.keyed.add(name)


def _as_the_merged_one(armature, merge: Merge, apart: _Apart, others: list, names: list[str]) -> None:
    """In clips that were tracked since."""
    again = [apart.names[number] for number in (*apart.made, *apart.hung, *apart.placed)]
    bones, kept = armature.data.bones, apart.names.get(merge.kept)
    below = {child.name for name in again for child in bones[name].children_recursive}
    written = [name for name in dict.fromkeys((*again, *below)) if bones[name].use_deform]
    columns = [names.index(name if name in names else kept) for name in written]
    for other in others:
        other.transforms = other.transforms[:, columns]
    other_clips.write(armature, others, written)


def _weights(armature, merge: Merge, apart: _Apart) -> None:
    bones = memory.read_bones(armature)
    names = [name for name, deforms in zip(bones.names, bones.deforms, strict=True) if deforms]
    columns = {number: names.index(name) for number, name in apart.names.items() if name in names}
    for key, obj in merge_notes.meshes_of(armature).items():
        rows, numbers, weights, marks = merge.weights.get(key, (np.zeros(0, int),) * 4)
        if not len(rows) or rows.max() >= len(obj.data.vertices):
            continue
        left = (
            merge_notes.weight_marks(*memory.influences_of(memory.groups_of(obj, bones), bones))[rows]
            == marks
        )
        left &= ~changes.held_vertices(obj.data)[rows]
        wanted = changes.dense_weights(numbers[left], weights[left], columns)
        weight_return.write(armature, obj, rows[left], wanted, names)
        apart.painted[obj] = np.isin(np.arange(len(obj.data.vertices)), rows[left])


def _references(armature, merge: Merge, apart: _Apart) -> None:
    """What was told to name the merged bone names the one that is back."""
    number, now = (
        dict(zip(merge.before.names, merge.before.numbers, strict=True)),
        merge_notes.named(armature),
    )
    for words, count, bone in merge.named:
        reference = now.get((words, count))
        if reference is not None and reference.bone == apart.names.get(merge.kept):
            reference.rename(apart.names[number[bone]])


def _amend(armature, merge: Merge, apart: _Apart, found: changes.Changes) -> None:
    """Notes what was written; what the artist had changed, as found before, and keeps stays a change."""
    record, known = armature.ossify, set(merge.known)
    made = {apart.names[number] for number in apart.made if number in known}
    own = {apart.names[number] for number in apart.made if number not in known}  # never noted
    written = (apart.keyed | {apart.names[number] for number in apart.hung}) - own
    moved = made | {apart.names[number] for number in apart.placed}
    keyed = {name: rows for name, rows in found.rekeyed.items() if name in written}
    painted = apart.painted
    if record.keep_repainted:
        painted = {obj: some & ~found.repainted.get(obj.name, False) for obj, some in painted.items()}
    amend.amend(armature, written, moved, set(), painted, rekeyed=keyed if record.keep_rekeyed else {})


def take_apart(armature, title: str, merge: Merge) -> dict[str, str]:
    """The names that bones had which are back, and those that they have; title: of the note, which goes."""
    found, names = changes.find(armature), standing.bone_names(armature)
    actions = _actions(armature, merge)
    later = [other for other in other_clips.read(armature, names) if other.action not in actions.values()]
    apart = _bones(armature, merge)
    bone_return.dress(armature, {number: apart.names[number] for number in apart.made}, merge.looks)
    _keys(armature, merge, actions, apart)
    _weights(armature, merge, apart)
    _as_the_merged_one(armature, merge, apart, later, names)
    other_clips.complete(armature, [apart.names[number] for number in apart.made])
    _references(armature, merge, apart)
    _amend(armature, merge, apart, found)
    merge_notes.forget(armature, title, merge)
    was = {number: merge.before.index(number) for number in apart.made}
    return {merge.before.names[b]: apart.names[n] for n, b in was.items() if merge.before.deforms[b]}
