"""Merges noted on a rig: which bones became another one, and what that changed, to take it apart by.

A merge changes a rig in many places: bones go, others hang elsewhere, keys and weights are solved again. What
it changed is noted as it was before, and of what it made of it a mark: by that it is known again, or known to
have been changed since. The notes are forgotten when the whole rig is noted anew, as after a refit.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections import Counter

import numpy as np

from ..rig import key_copies, keys, played, references, standing
from . import memory, stored_merges
from .stored import Bones
from .stored_merges import MERGED, Merge

# ---- the list


def merged(armature) -> list[tuple[str, int]]:
    """Names of bones that became another one since the rig was noted, and that one's number."""
    with memory.opened(armature) as mesh:
        noted = stored_merges.merged(mesh)
    heirs = {gone: kept for gone, _, kept in noted}
    found = []
    for gone, name, kept in noted:
        seen = {gone}
        while kept in heirs and kept not in seen:  # it was merged in its turn
            seen.add(kept)
            kept = heirs[kept]
        found.append((name, kept))
    return found


# ---- what a merge changed


def meshes_of(armature) -> dict[str, object]:
    """Those of the rig by their place in its record, and others that it moves by name."""
    own = {str(index): item.object for index, item in enumerate(armature.ossify.meshes) if item.object}
    others = {f"also {obj.name}": obj for obj in standing.followers(armature, list(own.values()))}
    return own | others


def _ordered(numbers: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Influences by number: their order tells nothing."""
    order = np.argsort(numbers, axis=1, kind="stable")
    return np.take_along_axis(numbers, order, axis=1), np.take_along_axis(weights, order, axis=1)


def weight_marks(numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[v] another one for other weights"""
    rows = zip(*_ordered(numbers, weights), strict=True)
    return np.array([zlib.crc32(a.tobytes() + b.tobytes()) for a, b in rows], np.uint32)


def named(armature) -> dict[tuple[str, int], references.Reference]:
    """All that names a bone of the rig, by its words and how often these came before."""
    seen, found = Counter(), {}
    for reference in references.to(armature, list(armature.data.bones.keys())):
        found[reference.words, seen[reference.words]] = reference
        seen[reference.words] += 1
    return found


@dataclasses.dataclass
class State:
    """All of a rig that a merge may change."""

    bones: Bones
    looks: dict[str, dict]  # by number, as text
    keys: dict[str, dict[str, key_copies.Copy]]  # action -> bone -> its keys
    weights: dict[str, tuple[np.ndarray, np.ndarray]]  # mesh -> [v][k] numbers, weights
    named: dict[tuple[str, int], str]  # bones that something names
    known: list[int]  # bones that the rig's notes have

    @classmethod
    def of(cls, armature) -> State:
        bones, then = memory.read_bones(armature), memory.last(armature)
        return cls(
            bones,
            memory.looks_now(armature),
            {action.name: key_copies.of(armature, action) for action in played.all_actions(armature)},
            {
                key: memory.influences_of(memory.groups_of(obj, bones), bones)
                for key, obj in meshes_of(armature).items()
            },
            {key: reference.bone for key, reference in named(armature).items()},
            [] if then is None else then.bones.numbers,
        )


def _changed_keys(before: State, after: State) -> tuple[dict, dict]:
    old, marks = {}, {}
    for action, bones in after.keys.items():
        if action not in before.keys:
            continue
        was = before.keys[action]
        now = {bone: key_copies.mark(bones.get(bone, {})) for bone in {**was, **bones}}
        other = [bone for bone, mark in now.items() if key_copies.mark(was.get(bone, {})) != mark]
        old[action] = {bone: was.get(bone, {}) for bone in other}
        marks[action] = {bone: now[bone] for bone in other}
    return old, marks


def _changed_weights(before: State, after: State) -> dict[str, tuple[np.ndarray, ...]]:
    found = {}
    for key, (numbers, weights) in before.weights.items():
        if key in after.weights and len(after.weights[key][0]) == len(numbers):
            marks = weight_marks(*after.weights[key])
            rows = np.flatnonzero(weight_marks(numbers, weights) != marks)
            used = max(int((numbers[rows] >= 0).sum(axis=1).max(initial=1)), 1)
            found[key] = rows.astype(np.int32), numbers[rows, :used], weights[rows, :used], marks[rows]
    return found


def _between(before: State, after: State, kept: int) -> Merge:
    stay = {str(number) for number in after.bones.numbers}
    gone = set(before.bones.names) - set(after.bones.names)
    keys, marks = _changed_keys(before, after)
    return Merge(
        kept,
        [number for number in before.known if str(number) not in stay],
        before.bones,
        after.bones,
        {number: look for number, look in before.looks.items() if number not in stay},
        keys,
        marks,
        _changed_weights(before, after),
        [[*key, bone] for key, bone in before.named.items() if bone in gone],
    )


def note(armature, before: State, gone: list[str], kept: str) -> None:
    """Notes that bones became another one; a rig without notes stays without."""
    number = dict(zip(before.bones.names, before.bones.numbers, strict=True))
    noted = [[number[name], name, number[kept]] for name in gone if number[name] in before.known]
    if noted:
        mesh, merge = memory.mesh_of(armature), _between(before, State.of(armature), number[kept])
        with memory.opened(armature) as known:
            earlier, last = stored_merges.merged(known), stored_merges.merge_names(known)[-1:]
        mesh[MERGED] = json.dumps([*earlier, *noted])
        number = int(last[0].split()[1]) + 1 if last else 0  # one in the middle may have been taken apart
        mesh[f"{MERGED} {number:03}"] = stored_merges.packed(merge)


def merges(armature) -> list[tuple[str, Merge]]:
    """What was noted of each, and the property that it is in; the first one first."""
    width = sum(width for width, _ in keys.POINT.values())
    with memory.opened(armature) as mesh:
        return [(name, stored_merges.merge(mesh, name, width)) for name in stored_merges.merge_names(mesh)]


def forget(armature, name: str, merge: Merge) -> None:
    """One that was taken apart."""
    with memory.opened(armature) as known:
        noted = [item for item in stored_merges.merged(known) if item[0] not in merge.known]
    mesh = memory.mesh_of(armature)
    del mesh[name], mesh[MERGED]
    if noted:
        mesh[MERGED] = json.dumps(noted)
