"""Bones under the names that other programs retarget to, while a file is written.

Blender renames vertex groups and the paths of actions along with a bone. Bones that no program knows keep
their names, after all parts that it wants.
"""

from __future__ import annotations

import contextlib

from ..base.refusal import Refusal
from ..rig.roles import PART
from ..skeleton import part_names

# identifier, name, description
NAMES = (
    ("AS_IS", "As They Are", "The names that the bones have in Blender"),
    ("UNITY", "Unity", "Unity's humanoid: LeftUpperArm"),
    ("UNREAL", "Unreal", "Unreal's mannequin: upperarm_l"),
    ("VRM", "VRM", "VRM's, which are glTF's humanoid names: leftUpperArm"),
)


def _wanted(armature, program: str) -> dict[str, str]:
    """bone -> its name in the file, for those that the program knows"""
    found = {}
    for bone in armature.data.bones:
        word = part_names.program_name(bone[PART], program) if bone.get(PART) else None
        if word is not None and word not in found.values():
            found[bone.name] = word
    if not found:
        raise Refusal(
            f"No bone of {armature.name} is known as a part of a human: convert it with Names > Human first."
        )
    return found


def _rename(armature, names: dict[str, str]) -> None:
    """All at once, by way of names that no bone has."""
    bones = armature.data.bones
    for number, name in enumerate(names):
        bones[name].name = f"Ossify Retarget {number}"
    for number, word in enumerate(names.values()):
        bones[f"Ossify Retarget {number}"].name = word


@contextlib.contextmanager
def renamed(armature, program: str):
    """The armature's bones have the program's names for a while."""
    if program == "AS_IS":
        yield
        return
    wanted = _wanted(armature, program)
    others = {bone.name for bone in armature.data.bones} - set(wanted)
    for name in others & set(wanted.values()):  # another bone has that name: it makes room
        wanted[name] = f"{name} Other"
    _rename(armature, wanted)
    try:
        yield
    finally:
        _rename(armature, {word: name for name, word in wanted.items()})
