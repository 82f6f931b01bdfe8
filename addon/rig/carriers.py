"""The second bone above each flexible one, which has its scale: it comes and goes with it."""

from __future__ import annotations

import itertools

from . import roles
from .bone_names import parts_of


def of(armature, names: list[str]) -> list[str]:
    """Those of these bones; bones that are not flexible have none."""
    found = roles.carriers_of(armature)
    return [found[name] for name in names if name in found]


def name_for(armature, name: str) -> str:
    """A name that no bone has, with the number and the side of the bone."""
    _, number, side = parts_of(name)
    wanted = f"{roles.CARRIER_NAME}.{number}{side}" if number else roles.CARRIER_NAME + side
    names = itertools.chain([wanted], (f"{wanted}.{count:03}" for count in itertools.count(1)))
    return next(free for free in names if free not in armature.data.bones)


def put(edit_bones, carrier: str, name: str, like: str) -> None:
    """Makes the carrier of a new bone; it hangs from what the carrier `like` hangs from."""
    bone, made = edit_bones[name], edit_bones.new(carrier)
    made.head, made.tail, made.roll, made.use_deform = bone.head, bone.tail, bone.roll, False
    made.parent = edit_bones[like].parent
    bone.parent = made


def dress(armature, carrier: str, like: str) -> None:
    """Out of sight, as the other is."""
    bones, pose = armature.data.bones, armature.pose.bones
    roles.give(armature, roles.CARRIER, [carrier])
    for collection in bones[like].collections:
        collection.assign(bones[carrier])
    pose[carrier].rotation_mode = pose[like].rotation_mode
