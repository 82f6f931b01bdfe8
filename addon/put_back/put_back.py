"""What an artist did to the bones of a rig since it was made or last refitted, put back by kind.

Bones that were moved or hung elsewhere go back to their places; deleted ones, and those merged by hand, are
made again from what the rig remembers of itself, merges by the button are taken apart by what was noted of
them, old names are given again, and added bones are taken out. What stands in the way is told in words. All
of it is checked before anything is changed.
"""

from __future__ import annotations

import contextlib
import dataclasses

from .. import native
from ..base.refusal import Refusal
from ..base.steps import run
from ..base.words import listed
from ..edit import edits
from ..motion import sources
from ..record import changes, memory, merge_notes, renamed
from ..record.changes import Changes
from ..record.memory import Snapshot
from ..rig import played, standing
from . import added_bones, bone_return, key_return, unmerge, weight_return

KINDS = ("ADDED", "DELETED", "MOVED", "MERGED", "REPARENTED", "RENAMED")


@dataclasses.dataclass
class Done:
    words: str
    notes: list[str] = dataclasses.field(default_factory=list)  # for the artist, a sentence each


# ---- whether it can be done


def _check(armature, kind: str) -> Snapshot:
    """Refuses a rig that cannot be written; what it remembers."""
    for obj in (armature, *standing.meshes_of(armature)):
        if sentence := edits.trouble(obj):
            raise Refusal(sentence)
    for action in played.all_actions(armature):
        if sentence := sources.library_trouble(action, action.name):
            raise Refusal(sentence)
    if sentence := played.tweaked(armature):
        raise Refusal(sentence)
    if kind != "DELETED":  # which may bring back what is asked for
        standing.check(armature)
    then = memory.last(armature)
    if then is None:
        raise Refusal(f"{armature.name} remembers nothing of how it was made: convert its source again.")
    return then


# ---- bones that are made again


def _hung_by_it(then, now, made: list[int], heirs: dict[int, int]) -> list[int]:
    """Bones that hang elsewhere only because one that is made again was gone: from what that hung from, or
    from the one that it became."""
    before, after, found = set(now.numbers), {*now.numbers, *made}, []
    for number in then.numbers:
        parent = then.parents[then.index(number)]
        if number not in before or parent in before or bone_return.above(then, number, after) not in made:
            continue
        hangs = now.parents[now.index(number)]
        left = hangs == bone_return.above(then, number, before)
        if left or (parent in made and hangs == heirs.get(parent)):
            found.append(number)
    return found


def _make_again(armature, then: Snapshot, numbers: list[int], found: Changes) -> dict[str, str]:
    """The names that the bones had, and those that they have."""
    now = memory.read_bones(armature)
    gone = set(then.bones.numbers) - set(now.numbers)
    named = dict(zip(now.names, now.numbers, strict=True))
    was = {number: then.bones.names[then.bones.index(number)] for number in gone}
    heirs = {number: named[found.merged[name]] for number, name in was.items() if name in found.merged}
    hung = _hung_by_it(then.bones, now, numbers, heirs)
    names = bone_return.restore(armature, then.bones, numbers, hung)
    made = {number: names[number] for number in numbers}
    bone_return.dress(armature, made, memory.looks_of(armature))
    still = {number: heir for number, heir in heirs.items() if number not in made}
    weight_return.come_back(armature, then, gone, made, still)
    key_return.write(armature, then, made)
    return {was[number]: name for number, name in made.items()}


def _done(names: dict[str, str]) -> Done:
    """names: that bones had, and have"""
    taken = "{} is the name of another bone now: the one that was put back is {}."
    notes = [taken.format(old, new) for old, new in names.items() if old != new]
    return Done(f"{listed(list(names.values()))} put back", notes)


# ---- by kind


def _hung_from(armature, then: Snapshot, names: list[str]) -> dict[str, tuple[int, int]]:
    """name -> the bone's number, and that of what it hung from"""
    now = memory.read_bones(armature)
    numbers = [now.numbers[now.names.index(name)] for name in names]
    above = [then.bones.parents[then.bones.index(number)] for number in numbers]
    return dict(zip(names, zip(numbers, above, strict=True), strict=True))


def _moved(armature, then: Snapshot, found: Changes) -> Done:
    """Also under the parents that they had, as far as those are there."""
    there = {-1, *memory.read_bones(armature).numbers}
    pairs = _hung_from(armature, then, found.moved).values()
    hung = [number for number, above in pairs if above in there]
    bone_return.restore(armature, then.bones, hung=hung, placed=[number for number, _ in pairs])
    return Done(f"{listed(found.moved)} put back")


def _reparented(armature, then: Snapshot, found: Changes) -> Done:
    there = {-1, *memory.read_bones(armature).numbers}
    hung, notes = {}, []
    for name, (number, above) in _hung_from(armature, then, found.reparented).items():
        if above in there:
            hung[name] = number
            continue
        gone = then.bones.names[then.bones.index(above)] if above in then.bones.numbers else "a bone"
        notes.append(f"{name} hung from {gone}, which is gone: put that back first.")
    if not hung:
        raise Refusal(" ".join(notes))
    bone_return.restore(armature, then.bones, hung=hung.values(), placed=hung.values())
    return Done(f"{listed(list(hung))} put back", notes)


def _deleted(armature, then: Snapshot, found: Changes) -> Done:
    now = memory.read_bones(armature)
    numbers = [n for n in then.bones.numbers if n not in now.numbers]
    numbers = [n for n in numbers if then.bones.names[then.bones.index(n)] in found.deleted]
    if not numbers:
        raise Refusal(f"{listed(found.deleted)} became a bone that is gone for good, and cannot be put back.")
    return _done(_make_again(armature, then, numbers, found))


def _take_merges_apart(armature) -> dict[str, str]:
    """Of the button, the last one first; of bones that are there. Names that bones had, and have."""
    done = {}
    for title, merge in reversed(merge_notes.merges(armature)):
        if merge.kept in memory.read_bones(armature).numbers:
            done |= unmerge.take_apart(armature, title, merge)
    return done


def _merged(armature, _then: Snapshot, _found: Changes) -> Done:
    """Those merged by hand may lie over those merged by the button, and the other way round."""
    names = _take_merges_apart(armature)
    then, found = memory.last(armature), changes.find(armature)
    gone = set(then.bones.numbers) - set(memory.read_bones(armature).numbers)
    numbers = [n for n in then.bones.numbers if n in gone]
    numbers = [n for n in numbers if then.bones.names[then.bones.index(n)] in found.merged]
    if numbers:
        names |= _make_again(armature, then, numbers, found)
        names |= _take_merges_apart(armature)
    return _done(names)


def _measure_again(context, armature) -> None:
    """A merge has told its error: what stands now has another one. Not where the motion is not at hand."""
    if memory.is_kept(armature):
        with contextlib.suppress(Refusal, native.LibraryError):
            edits.note_fit(run(edits.read(context, armature)))


def _renamed(armature, _then: Snapshot, found: Changes) -> Done:
    bones, back = armature.data.bones, {new: old for old, new in found.renamed.items()}
    groups = {group.name for obj in standing.meshes_of(armature) for group in obj.vertex_groups}
    taken = {bone.name for bone in bones} | groups
    notes, count = [], -1
    while count != len(back):  # one that keeps its name may be in the way of another
        count = len(back)
        for new, old in list(back.items()):
            if old in taken - set(back):
                what = "bone" if old in bones else "vertex group"
                notes.append(f"{old} is the name of another {what} now: {new} keeps its name.")
                del back[new]
    if not back:
        raise Refusal(" ".join(notes))
    for index, new in enumerate(back):  # by way of names that no bone has; Blender renames groups and paths
        bones[new].name = f"Ossify {index} of {len(back)}"
    for index, old in enumerate(back.values()):
        bones[f"Ossify {index} of {len(back)}"].name = old
    renamed.follow(armature, back)
    return Done(f"{listed(list(back.values()))} named as before", notes)


def _added(armature, then: Snapshot, found: Changes) -> Done:
    stay = added_bones.that_stay(armature, found.added)
    names = [name for name in found.added if name not in stay]
    if not names:
        raise Refusal(" ".join(stay.values()))
    added_bones.take_out(armature, then, names)
    return Done(added_bones.words(names), list(stay.values()))


_WAYS = {
    "ADDED": _added,
    "DELETED": _deleted,
    "MERGED": _merged,
    "RENAMED": _renamed,
    "MOVED": _moved,
    "REPARENTED": _reparented,
}


def put_back(context, armature, kind: str) -> Done:
    """All changes of a kind; a refusal leaves the rig as it was."""
    then = _check(armature, kind)
    found = changes.find(armature)
    if not getattr(found, kind.lower()):
        raise Refusal(f"No bone of {armature.name} was {kind.lower()}.")
    done = _WAYS[kind](armature, then, found)
    if kind == "MERGED":
        _measure_again(context, armature)
    changes.note(armature)
    return done
