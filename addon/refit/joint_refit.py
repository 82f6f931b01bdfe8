"""Joints that a refit may solve again, and moving bones to where they are then.

A joint stays where it is, unless all are asked for, or a bone came near it, or one went from there and bones
may leave their places (relocation.py): the children of one that was deleted hang from its parent now, and
these share what it moved. What the artist moved, hung elsewhere or holds stays.
"""

from __future__ import annotations

import numpy as np
from mathutils import Vector

from ..base import tolerances
from ..native import Skeleton
from ..record.changes import HELD, PLACED, Changes
from ..rig import keys, rewrite, standing

_TOO_SHORT = 0.1  # of a bone's length: one that would be shorter goes along as a whole


def _beside(armature, changes: Changes, gone: bool) -> set[str]:
    """What is above bones that are new; where one is `gone`, bones that hung from it and what it hung from;
    and the bones that these hang from or that hang from them."""
    bones = armature.data.bones
    near = [bones[name] for name in changes.bereft] if gone else []
    return _around(near + [bones[name].parent for name in changes.added if bones[name].parent])


def _around(near: list) -> set[str]:
    around = [other for bone in near for other in (bone.parent, *bone.children) if other]
    return {bone.name for bone in (*near, *around)}


def beside_leaving(armature, left: list[str]) -> set[str]:
    """The same of bones that leave, where they were and where they hang after all: as if they were gone."""
    bones = [armature.data.bones[name] for name in left]
    return _around([other for bone in bones for other in (bone.parent, *bone.children) if other])


def own(armature, changes: Changes) -> set[str]:
    """Bones that the artist added, moved or hung elsewhere, since the last refit or before."""
    placed = {bone.name for bone in armature.data.bones if bone.get(PLACED)}
    return {*changes.moved, *changes.added, *changes.rehung, *placed}


def note_own(armature, changes: Changes) -> None:
    """They stay the artist's after a refit, in which they are no changes any more."""
    for name in own(armature, changes):
        armature.data.bones[name][PLACED] = True


def free(armature, changes: Changes, every: bool = False, gone: bool = False) -> set[str]:
    """Bones whose joints to their parents may be solved again, `every` one, or those beside bones that came
    and beside those that are `gone`. With several clips none: the keys of the others would mean another
    motion."""
    if len(armature.ossify.clips) > 1:
        return set()
    found = set(standing.bone_names(armature)) if every else _beside(armature, changes, gone)
    found -= own(armature, changes)
    action, bones = keys.action_of(armature), armature.data.bones
    return {n for n in found if not bones[n].get(HELD) and rewrite.is_plain(armature, action, n)}


def moved(armature, names: list[str], skeleton: Skeleton, some: set[str]) -> dict[str, np.ndarray]:
    """name -> where the head of a bone shall be, of those that are not there"""
    size = armature.ossify.size or 1.0
    found = {}
    for name, parent, joint in zip(names, skeleton.parents, skeleton.joints, strict=True):
        away = np.abs(joint - np.array(armature.data.bones[name].head_local)).max()
        if name in some and parent >= 0 and away > tolerances.LENGTH * size:
            found[name] = joint
    return found


def _leads_to_one(bone) -> bool:
    return sum(child.use_connect for child in bone.children) == 1


def turned(armature, heads: dict[str, np.ndarray]) -> set[str]:
    """All bones that are not as they were once the heads are there."""
    bones = armature.data.bones
    above = {bones[n].parent.name for n in heads if bones[n].use_connect and _leads_to_one(bones[n].parent)}
    return {*heads, *above}


def move(armature, heads: dict[str, np.ndarray]) -> None:
    """Heads go there, tails stay, and so does what a bone faces; a tail that leads to a head goes with it."""
    if not heads:
        return
    with standing.editing(armature) as bones:
        led_to = {n for n in heads if bones[n].use_connect and _leads_to_one(bones[n].parent)}
        for name, place in heads.items():
            bone, head = bones[name], Vector(place)
            if name in led_to and bone.use_connect:
                _span(bone.parent, bone.parent.head.copy(), head)
            else:
                bone.use_connect = False
            put_head(bone, head)


def put_head(bone, head: Vector) -> None:
    """Of a bone in Edit Mode; its tail stays, unless it would be too short."""
    tail = bone.tail.copy()
    if (tail - head).length < _TOO_SHORT * bone.length:
        for child in bone.children:
            child.use_connect = False
        tail += head - bone.head
    _span(bone, head, tail)


def _span(bone, head, tail) -> None:
    facing = bone.z_axis.copy()
    bone.head, bone.tail = head, tail
    bone.align_roll(facing)
