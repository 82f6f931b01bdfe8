"""Bones made again, hung and placed as they were, by a table of bones as they were."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mathutils import Matrix

from ..record import memory
from ..record.memory import Bones
from ..rig import looks, roles, standing
from ..rig.bone_names import next_name

_TOUCHING = 1e-4  # of the parent's length


def above(then: Bones, number: int, present: Collection[int]) -> int:
    """The nearest bone above, as bones hung then, that is present; -1: there is none"""
    number = then.parents[then.index(number)]
    while number >= 0 and number not in present:
        number = then.parents[then.index(number)] if number in then.numbers else -1
    return number


def _make(edit_bones, then: Bones, number: int, name: str) -> str:
    """The name that it got."""
    bone = edit_bones.new(name)
    bone.tail = (0, 1, 0)  # one without a length has no axes
    bone.use_deform = then.deforms[then.index(number)]
    return bone.name


def _hang(edit_bones, then: Bones, names: dict[int, str], numbers: Iterable[int]) -> None:
    """All are taken down before any is hung: Blender hangs no bone below its own child."""
    wanted = {names[number]: above(then, number, names) for number in numbers}
    hung = {name: edit_bones[name].parent for name in wanted}
    for name in wanted:
        edit_bones[name].use_connect = False
        edit_bones[name].parent = None
    for name, number in wanted.items():
        bone, parent = edit_bones[name], edit_bones[names[number]] if number >= 0 else None
        bone.parent = parent
        if bone.parent != parent:  # which hangs below it now
            bone.parent = hung[name]


def _connect(edit_bones, then: Bones, names: dict[int, str], number: int) -> None:
    """To the end of its parent, which has the length that it had; a longer one did not count as moved."""
    bone, parent = edit_bones[names[number]], then.parents[then.index(number)]
    if then.connected[then.index(number)] and bone.parent and bone.parent.name == names.get(parent):
        bone.parent.length = then.lengths[then.index(parent)]
        touches = (bone.parent.tail - bone.head).length <= _TOUCHING * bone.parent.length
        bone.use_connect = touches


def names_for(armature, then: Bones, numbers: Iterable[int]) -> dict[int, str]:
    """What bones that are made again are to be called: as they were, or, where another bone is called that
    now, like it."""
    wanted = {number: then.names[then.index(number)] for number in numbers}
    taken = armature.data.bones
    return {n: next_name(armature, name) if name in taken else name for n, name in wanted.items()}


def restore(
    armature,
    then: Bones,
    made: Collection[int] = (),
    hung: Collection[int] = (),
    placed: Collection[int] = (),
) -> dict[int, str]:
    """Bones by number: those made again, also hung and placed; those hung from what they hung from then, or
    the nearest bone above that is there; those put to where they were then. Returns all names by number."""
    now = memory.read_bones(armature)
    names, wanted = dict(zip(now.numbers, now.names, strict=True)), names_for(armature, then, made)
    hung, placed = [*made, *hung], [*made, *placed]
    with standing.editing(armature) as bones:
        names |= {number: _make(bones, then, number, name) for number, name in wanted.items()}
        for number in placed:
            bones[names[number]].use_connect = False
        _hang(bones, then, names, hung)
        for number in placed:
            b = then.index(number)
            bones[names[number]].matrix = Matrix(then.rests[b])
            bones[names[number]].length = then.lengths[b]
        for number in dict.fromkeys((*hung, *placed)):  # once all are in their places: it draws them there
            _connect(bones, then, names, number)
    for number in made:
        armature.data.bones[names[number]][memory.NUMBER] = number
    return names


def dress(armature, names: dict[int, str], noted: dict[str, dict]) -> None:
    """Bones that were made again look as they were noted, as far as they were."""
    for number, name in names.items():
        if str(number) in noted:
            looks.give(armature, name, noted[str(number)])
    if roles.is_told(armature):
        roles.complete(armature, names.values())  # what was noted by version 0.1.0 has none
