"""What an artist has changed on a rig since it was made or last refitted, and what of it is held.

Held are, in Blender's own words, vertex groups that are locked (the weights of that bone) and bones whose
location or rotation is locked (their transforms); in ours, bones, vertices and frames that were told to be;
and of the changes those that are to be kept.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from ..base import tolerances
from ..base.surface import diagonal
from ..base.words import counted, listed
from ..native.nouns import dense
from ..nodes import volume
from ..rig import correctives, played, standing
from ..rig.stand import Holds
from . import memory, merge_notes

HELD = "ossify_held"  # on bones, and as an attribute of vertices
PLACED = "ossify_placed"  # on bones that the artist put where they are, before a refit
_INHERITED = 0.9  # of a bone's weights: another that has as much of them has become it


@dataclasses.dataclass
class Changes:
    added: list[str] = dataclasses.field(default_factory=list)
    deleted: list[str] = dataclasses.field(default_factory=list)  # names they had
    merged: dict[str, str] = dataclasses.field(default_factory=dict)  # bones gone -> who has become them
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)  # old to new
    moved: list[str] = dataclasses.field(default_factory=list)
    reparented: list[str] = dataclasses.field(default_factory=list)
    rekeyed: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # bone -> [f]
    repainted: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # mesh -> [v]
    sculpted: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # mesh -> [v]
    reshaped: list[str] = dataclasses.field(default_factory=list)  # correctives
    retopologised: list[str] = dataclasses.field(default_factory=list)  # meshes
    removed: int = 0  # meshes
    # what follows from these: of reparented bones those whose parent is still there, so that the artist hung
    # them elsewhere, and bones that hung from one that is gone or that it hung from
    rehung: list[str] = dataclasses.field(default_factory=list, compare=False)
    bereft: list[str] = dataclasses.field(default_factory=list, compare=False)

    def lines(self, times: list[str]) -> list[tuple[str, str]]:
        """(kind, words) of what there is; times: the frames in words"""
        found = []
        for kind, words in (("ADDED", "added"), ("DELETED", "deleted"), ("MOVED", "moved")):
            found.append((kind, _bones(getattr(self, kind.lower()), words)))
        found.append(("MERGED", _merged_words(self.merged)))
        found.append(("REPARENTED", _bones(self.reparented, "reparented")))
        found.append(("RENAMED", _bones(list(self.renamed.values()), "renamed")))
        count = sum(int(rows.sum()) for rows in self.repainted.values())
        found.append(("REPAINTED", f"{counted(count, 'vertex')} repainted" if count else ""))
        count = sum(int(rows.sum()) for rows in self.sculpted.values())
        found.append(("SCULPTED", f"{counted(count, 'vertex')} sculpted" if count else ""))
        found.append(("RESHAPED", _bones(self.reshaped, "sculpted")))
        if self.rekeyed:
            frames = np.flatnonzero(np.any(list(self.rekeyed.values()), axis=0))
            where = f"frame {times[frames[0]]}" if len(frames) == 1 else f"{len(frames)} frames"
            found.append(("REKEYED", _bones(list(self.rekeyed), f"re-keyed in {where}")))
        other = ((name, "has other vertices or edges") for name in self.retopologised)
        found += [("RETOPOLOGISED", " ".join(words)) for words in other]
        if self.removed:
            found.append(("REMOVED", f"{counted(self.removed, 'mesh')} gone"))
        return [(kind, words) for kind, words in found if words]


def _bones(names: list[str], words: str) -> str:
    return f"{listed(names)} {words}" if names else ""


def _merged_words(merged: dict[str, str]) -> str:
    into = set(merged.values())
    if len(into) == 1:
        return _bones(list(merged), f"merged into {into.pop()}")
    return _bones(list(merged), "merged")


def _compare_bones(found: Changes, then: memory.Bones, now: memory.Bones, size: float) -> None:
    old = {number: b for b, number in enumerate(then.numbers)}
    for b, number in enumerate(now.numbers):
        if number not in old:
            found.added.append(now.names[b])
            continue
        a = old[number]
        if then.names[a] != now.names[b]:
            found.renamed[then.names[a]] = now.names[b]
        if then.parents[a] != now.parents[b]:
            found.reparented.append(now.names[b])
        apart = np.abs(then.rests[a] - now.rests[b])
        if apart[:3, 3].max() > tolerances.REST * size or apart[:3, :3].max() > tolerances.TURN:
            found.moved.append(now.names[b])
    gone = {number: a for number, a in old.items() if number not in now.numbers}
    found.deleted = [then.names[a] for a in gone.values()]
    hung = {number: then.parents[a] for number, a in old.items()}
    near = {hung[number] for number in gone} | {number for number, above in hung.items() if above in gone}
    pairs = list(zip(now.numbers, now.names, strict=True))
    found.bereft = [name for number, name in pairs if number in near]
    kept = set(now.numbers)
    found.rehung = [name for number, name in pairs if name in found.reparented and hung[number] in kept]


def _compare_channels(found: Changes, then: memory.Snapshot, now: memory.Snapshot, size: float) -> None:
    if len(then.channels) != len(now.channels):
        return
    unit = np.array([size] * 3 + [1] * 7)
    for b, number in enumerate(now.bones.numbers):
        if number in then.bones.numbers:
            before, after = then.channels[:, then.bones.index(number)], now.channels[:, b]
            frames = (np.abs(after - before) > tolerances.LENGTH * unit).any(axis=1)
            if frames.any():
                found.rekeyed[now.bones.names[b]] = frames


def dense_weights(influences, weights, numbers: dict[int, int]) -> np.ndarray:
    """[v][b] of the bones that are numbered"""
    lookup = np.full(max(numbers, default=-1) + 2, -1)
    lookup[list(numbers)] = list(numbers.values())
    known = np.where(influences < len(lookup) - 1, influences, -1)
    return dense(lookup[known], weights, len(numbers))


def _compare_meshes(
    found: Changes, armature, then: memory.Snapshot, now: memory.Snapshot, size: float
) -> None:
    both = {n for n, d in zip(then.bones.numbers, then.bones.deforms, strict=True) if d}
    both &= {n for n, d in zip(now.bones.numbers, now.bones.deforms, strict=True) if d}
    added = {n for n, d in zip(now.bones.numbers, now.bones.deforms, strict=True) if d} - both
    numbers = {number: b for b, number in enumerate(sorted(both | added))}
    starts = [np.concatenate([[0], np.cumsum(counts)]) for counts in (then.counts, now.counts)]
    for index, item in enumerate(armature.ossify.meshes):
        old = slice(*starts[0][index : index + 2])
        new = slice(*starts[1][index : index + 2])
        if not now.counts[index]:
            found.removed += bool(then.counts[index])
            continue
        name = item.object.name
        same = then.topology[index] in (None, now.topology[index])
        if not same or then.counts[index] != now.counts[index]:
            found.retopologised.append(name)
            continue
        before = dense_weights(then.influences[old], then.weights[old], numbers)
        after = dense_weights(now.influences[new], now.weights[new], numbers)
        rows = (np.abs(before - after) > tolerances.WEIGHT).any(axis=1)
        if rows.any():
            found.repainted[name] = rows
        rows = (np.abs(then.rest[old] - now.rest[new]) > tolerances.LENGTH * size).any(axis=1)
        if rows.any():
            found.sculpted[name] = rows


def _all_weights(snapshot: memory.Snapshot, index: int, numbers: dict[int, int]) -> np.ndarray:
    """[v][b] of one mesh"""
    start = sum(snapshot.counts[:index])
    rows = slice(start, start + snapshot.counts[index])
    return dense_weights(snapshot.influences[rows], snapshot.weights[rows], numbers)


def _compare_heirs(found: Changes, then: memory.Snapshot, now: memory.Snapshot) -> None:
    """Bones that are gone, and of whose weights another has nearly all: they were merged by hand."""
    gone = [number for number in then.bones.numbers if number not in now.bones.numbers]
    if not gone:
        return
    every = dict.fromkeys([*then.bones.numbers, *now.bones.numbers])
    numbers = {number: b for b, number in enumerate(every)}
    had, taken = np.zeros(len(gone)), np.zeros((len(gone), len(numbers)))
    columns = [numbers[number] for number in gone]
    for index, count in enumerate(now.counts):
        if count and count == then.counts[index]:
            before, after = (_all_weights(some, index, numbers) for some in (then, now))
            gained = np.maximum(after - before, 0)
            for row, column in enumerate(columns):
                lost = before[:, column]
                had[row] += lost.sum()
                taken[row] += np.minimum(lost[:, None], gained).sum(axis=0)
    name_of = dict(zip(now.bones.numbers, now.bones.names, strict=True))
    heirs = [list(every)[b] for b in taken.argmax(axis=1)]
    for row, number in enumerate(gone):
        if taken[row].max() > _INHERITED * had[row] > 0 and heirs[row] in name_of:
            name = then.bones.names[then.bones.index(number)]
            found.deleted.remove(name)
            found.merged[name] = name_of[heirs[row]]


def _note_merged(found: Changes, armature, now: memory.Bones) -> None:
    """Those that were merged by the button."""
    name_of = dict(zip(now.numbers, now.names, strict=True))
    for name, kept in merge_notes.merged(armature):
        if kept in name_of:
            found.merged[name] = name_of[kept]
        else:
            found.deleted.append(name)


class Seen(NamedTuple):
    """A rig as it is, and as it was noted."""

    now: memory.Snapshot
    changes: Changes
    then: memory.Snapshot | None  # None: it never was


def look(armature) -> Seen:
    """Compares the rig with what was noted of it; one without notes has no changes."""
    then, now, found = memory.last(armature), memory.read(armature), Changes()
    if then is not None:
        size = diagonal(then.rest) if len(then.rest) else 1.0
        _compare_bones(found, then.bones, now.bones, size)
        _compare_channels(found, then, now, size)
        _compare_meshes(found, armature, then, now, size)
        _compare_heirs(found, then, now)
        _note_merged(found, armature, now.bones)
        if not found.retopologised:
            found.reshaped = correctives.sculpted(armature, standing.meshes_of(armature))
    return Seen(now, found, then)


def find(armature) -> Changes:
    """What has changed."""
    return look(armature).changes if memory.is_noted(armature) else Changes()


def note(armature) -> list[tuple[str, str]]:
    """Finds what was changed, and lists it on the rig; (kind, words)."""
    record = armature.ossify
    found = find(armature).lines(played.labels(armature))
    stale = volume.trouble(armature)
    found += [("VOLUME", stale)] if stale else []
    record.changes.clear()
    for kind, words in found:
        item = record.changes.add()
        item.name, item.words = kind, words
    record.looked = True
    return found


# ---- what is held


def locked(pose_bone) -> bool:
    """Whether Blender's own locks hold where the bone is, or how it is turned."""
    return all(pose_bone.lock_location) or all(pose_bone.lock_rotation)


def hold_bone(bone, held: bool) -> None:
    """One that is let go is also the solver's to move, whoever put it there."""
    if held:
        bone[HELD] = True
        return
    for name in (HELD, PLACED):
        if name in bone:
            del bone[name]


def held_vertices(mesh) -> np.ndarray:
    """[v] those that were told to be held"""
    attribute = mesh.attributes.get(HELD)
    rows = np.zeros(len(mesh.vertices), bool)
    if attribute is not None and attribute.domain == "POINT" and attribute.data_type == "BOOLEAN":
        attribute.data.foreach_get("value", rows)
    return rows


def hold_vertices(mesh, rows: np.ndarray, held: bool) -> None:
    """Holds these vertices [v], or lets go of them."""
    now = held_vertices(mesh)
    now[rows] = held
    old = mesh.attributes.get(HELD)
    if old is not None:
        mesh.attributes.remove(old)
    if now.any():
        mesh.attributes.new(HELD, "BOOLEAN", "POINT").data.foreach_set("value", now)


def holds(armature, skin: standing.Skin, names: list[str], changes: Changes) -> Holds:
    """All that is held of a rig, in the order of `names` and of the skin's vertices."""
    record = armature.ossify
    meshes = skin.meshes
    groups = np.array([_group_is_locked(meshes, name) for name in names])
    vertices, rest = np.zeros(len(skin.rest), bool), np.zeros(len(skin.rest), bool)
    for obj, rows in zip(meshes, skin.slices, strict=True):
        told = held_vertices(obj.data)
        vertices[rows] = told
        rest[rows] = told
        if record.keep_repainted and obj.name in changes.repainted:
            vertices[rows] |= changes.repainted[obj.name]
        if record.keep_sculpted and obj.name in changes.sculpted:
            rest[rows] |= changes.sculpted[obj.name]
    frames = np.array([item.held for item in record.frames], bool)
    transforms = np.repeat(frames[:, None], len(names), axis=1)
    for b, name in enumerate(names):
        bone = armature.data.bones[name]
        if bone.get(HELD) or locked(armature.pose.bones[name]):
            transforms[:, b] = True
        if bone.get(HELD):
            groups[b] = True
        if record.keep_rekeyed and name in changes.rekeyed:
            transforms[:, b] |= changes.rekeyed[name]
    return Holds(groups, vertices, rest, transforms)


def _group_is_locked(meshes, name: str) -> bool:
    groups = [obj.vertex_groups[name] for obj in meshes if name in obj.vertex_groups]
    return any(group.lock_weight for group in groups)
