"""The second bone above each flexible one, which has its scale: it comes and goes with it."""

from __future__ import annotations

from .rewrite import carrier_of


def of(armature, names: list[str]) -> list[str]:
    """Those of these bones, of flexible rigs; bones of others have none."""
    if armature.ossify.settings.bone_kind != "FLEXIBLE":
        return []
    bones = armature.data.bones
    found = [carrier_of(bones[name]) for name in names if name in bones]
    return [bone.name for bone in found if bone is not None]


def name_for(armature, name: str) -> str:
    """A name that no bone has, with the number of the bone."""
    wanted = number = f"Stretch.{name.rpartition('.')[2]}"
    count = 1
    while wanted in armature.data.bones:
        wanted, count = f"{number}.{count:03}", count + 1
    return wanted


def put(edit_bones, carrier: str, name: str, like: str) -> None:
    """Makes the carrier of a new bone; it hangs from what the carrier `like` hangs from."""
    bone, made = edit_bones[name], edit_bones.new(carrier)
    made.head, made.tail, made.roll, made.use_deform = bone.head, bone.tail, bone.roll, False
    made.parent = edit_bones[like].parent
    bone.parent = made


def dress(armature, carrier: str, like: str) -> None:
    """Out of sight, as the other is."""
    bones, pose = armature.data.bones, armature.pose.bones
    for collection in bones[like].collections:
        collection.assign(bones[carrier])
    pose[carrier].rotation_mode = pose[like].rotation_mode
