"""What each bone of a rig is for: a word on the bone itself, kept as a custom property.

    root       carries the body: all others hang from it, and it moves no vertex
    deform     moves vertices
    carrier    above a flexible bone, with its location, rotation and scale; comes and goes with it
    control    an artist's handle for others
    virtual    blends others, its masters, and moves vertices for them; the masters are marked as such
    helper     moves vertices, too, for the bone that it hangs from: muscle, cloth and what else no joint
               explains; hidden, since nobody poses it
    shape      carries a shape: none is made yet

A bone that an artist made has none; it counts as deform if it deforms, and else as control. So does what an
artist does to a bone: a carrier carries no longer when its bone was moved away from it. No rig of version
0.1.0 has any such word: _of_before() tells what its bones are for, and they get theirs when it is written to.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

ROLE = "ossify_role"
ROOT, DEFORM, CARRIER, CONTROL = "root", "deform", "carrier", "control"
VIRTUAL, SHAPE, HELPER = "virtual", "shape", "helper"
PART = "ossify_part"  # of a body, with its side: UpperArm.L
MASTER = "ossify_master"  # on a bone that moves vertices by way of virtual bones
_ROLES = (ROOT, DEFORM, CARRIER, CONTROL, VIRTUAL, SHAPE, HELPER)
ROOT_NAME, CARRIER_NAME = "Root", "Stretch"  # that they are given
_TOGETHER = 1e-6  # of rest matrices: a carrier and its bone lie in one place, and Edit Mode rounds


def is_virtual(bone) -> bool:
    return bone.get(ROLE) == VIRTUAL


def is_helper(bone) -> bool:
    return bone.get(ROLE) == HELPER


def moves_vertices(bone) -> bool:
    """Of a bone of an artist's: by itself, or by way of virtual bones."""
    return (bone.use_deform and not is_virtual(bone)) or bool(bone.get(MASTER))


def _lie_together(bone, other) -> bool:
    return np.abs(np.array(bone.matrix_local) - np.array(other.matrix_local)).max() <= _TOGETHER


def _of_before(armature) -> dict[str, str]:
    """Of a rig of version 0.1.0: names and places told there what a bone is for."""
    bones = armature.data.bones
    found = {bone.name: DEFORM for bone in bones if bone.use_deform}
    if ROOT_NAME in bones:
        found[ROOT_NAME] = ROOT
    if armature.ossify.settings.bone_kind == "FLEXIBLE":
        for bone in bones:
            alone = bone.name not in found and len(bone.children) == 1
            if alone and bone.children[0].use_deform and _lie_together(bone, bone.children[0]):
                found[bone.name] = CARRIER
    return found


def _known(armature) -> dict[str, str]:
    """As far as bones say it."""
    return {bone.name: bone[ROLE] for bone in armature.data.bones if bone.get(ROLE) in _ROLES}


def of(armature) -> dict[str, str]:
    """bone -> its role"""
    known = _known(armature) or _of_before(armature)
    return {
        bone.name: known.get(bone.name) or (DEFORM if moves_vertices(bone) else CONTROL)
        for bone in armature.data.bones
    }


def root_of(armature) -> str | None:
    """The name of the bone that carries the body; of copies of it the first. None: it is gone."""
    return next((name for name, role in of(armature).items() if role == ROOT), None)


def carriers_of(armature) -> dict[str, str]:
    """bone -> the carrier above it, of flexible bones that still lie where theirs is"""
    roles, found = of(armature), {}
    for bone in armature.data.bones:
        above = bone.parent
        carried = above is not None and roles[above.name] == CARRIER and roles[bone.name] == DEFORM
        if carried and above.name not in found.values() and _lie_together(bone, above):
            found[bone.name] = above.name
    return found


def is_told(armature) -> bool:
    """Whether its bones have roles."""
    return bool(_known(armature))


def upgrade(armature) -> None:
    """Gives the bones of a rig of version 0.1.0 their roles; those of others have them."""
    if not is_told(armature):
        complete(armature, _of_before(armature))


def complete(armature, names: Iterable[str]) -> None:
    """Gives roles to bones that were noted without one, and made again."""
    before = _of_before(armature)
    for bone in map(armature.data.bones.__getitem__, names):
        if ROLE not in bone and bone.name in before:
            bone[ROLE] = before[bone.name]


def give(armature, role: str, names: Iterable[str]) -> None:
    """To bones that Ossify has made."""
    if armature.ossify.version or role != VIRTUAL:  # which any rig may have
        upgrade(armature)
    for name in names:
        armature.data.bones[name][ROLE] = role


def give_parts(data, names: list[str], parts: list[str]) -> None:
    """What parts of a body bones are, for programs that ask for it; "" where none was recognised."""
    for name, part in zip(names, parts, strict=False):
        bone = data.bones[name]
        bone.pop(PART, None)
        if part:
            bone[PART] = part
