"""Bones that an artist added, taken out again: a refit never does that, a button may.

Those that something else is built on stay, and what they hang from with them: bones that constraints,
drivers, shapes or parents name, that move meshes the rig was not made with, or whose vertex group a modifier
uses. So do control bones, which do not deform, with constraints, drivers or a shape of their own: that is
work that nobody but the artist can do again.
"""

from __future__ import annotations

from ..base.words import listed
from ..record import memory
from ..record.memory import Snapshot
from ..rig import keys, other_clips, references, roles, standing
from . import bone_return, weight_return


def _users(armature, names: list[str]) -> dict[str, str]:
    """bone -> who has a use for its vertex group, in words"""
    found, own = {}, memory.meshes_of(armature)
    for obj in standing.followers(armature, own):
        moved = standing.painted(obj, names).any(axis=0)
        found |= {name: obj.name for name, some in zip(names, moved, strict=True) if some}
    for obj in own:
        for modifier in obj.modifiers:
            if getattr(modifier, "vertex_group", "") in names:
                found[modifier.vertex_group] = f"{obj.name}'s modifier {modifier.name}"
    return found


def _of_its_own(armature, name: str) -> bool:
    """Whether a bone is a control that somebody has worked on."""
    shaped = armature.pose.bones[name].custom_shape is not None
    worked_on = shaped or bool(references.carried(armature, name))
    return worked_on and roles.of(armature)[name] == roles.CONTROL


def _builders(armature, names: list[str]) -> list[tuple[str, str | None, str]]:
    """(bone, the bone that names it or None, words) of all that names one of these"""
    every, found = [bone.name for bone in armature.data.bones], []
    for bone, words in ((reference.bone, reference.words) for reference in references.to(armature, names)):
        owners = (name for name in every if words.startswith(f"{name}'s ") or keys.path_of(name) in words)
        found.append((bone, next(owners, None), words))
    return found


def that_stay(armature, names: list[str]) -> dict[str, str]:
    """bone -> why it stays, in a sentence"""
    stay = {name: f"{name} stays: {user} needs it." for name, user in _users(armature, names).items()}
    stay |= {
        name: f"{name} stays: it is a control with constraints, drivers or a shape of its own."
        for name in names
        if _of_its_own(armature, name)
    }
    builders, bones, count = _builders(armature, names), armature.data.bones, -1
    while count != len(stay):  # what stays keeps others from going
        count = len(stay)
        for name, owner, words in builders:
            if name not in stay and (owner not in names or owner in stay):
                stay[name] = f"{name} stays: {words} names it."
        for name in list(stay):
            above = [bone.name for bone in bones[name].parent_recursive if bone.name in names]
            stay |= {n: f"{n} stays: {name} hangs from it." for n in above if n not in stay}
    return stay


def take_out(armature, then: Snapshot, names: list[str]) -> None:
    """With their vertex groups and keys; what hung elsewhere before hangs there again."""
    now, removed = memory.read_bones(armature), set(names)
    number = dict(zip(now.names, now.numbers, strict=True))
    older = [
        number[bone.name]
        for bone in armature.data.bones
        if number[bone.name] in then.bones.numbers and bone.parent and bone.parent.name in removed
    ]
    deforming = [name for name in names if armature.data.bones[name].use_deform]
    bone_return.restore(armature, then.bones, hung=older)
    with standing.editing(armature) as bones:
        for name in names:
            bones.remove(bones[name])
    weight_return.went(armature, then, deforming)
    other_clips.clear(armature, names)


def words(names: list[str]) -> str:
    return f"{listed(names)} taken out"
