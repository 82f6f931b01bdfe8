"""What a bone has beside place and keys: colour, collections, rotation mode, and what Ossify noted on it.

A bone that is deleted takes all of this along; as plain values it can be kept, and given to one that is made
in its stead.
"""

from __future__ import annotations

_NOTED = "ossify_"  # how the names of custom properties begin that are Ossify's
_COLOURS = ("normal", "select", "active")


def _plain(value):
    return value.to_list() if hasattr(value, "to_list") else value


def of(armature, name: str) -> dict:
    """As json has it."""
    bone = armature.data.bones[name]
    colours = [list(getattr(bone.color.custom, part)) for part in _COLOURS]
    return {
        "palette": bone.color.palette,
        "colours": colours if bone.color.palette == "CUSTOM" else [],
        "collections": [collection.name for collection in bone.collections],
        "rotation": armature.pose.bones[name].rotation_mode,
        "noted": {key: _plain(value) for key, value in bone.items() if key.startswith(_NOTED)},
    }


def give(armature, name: str, look: dict) -> None:
    """To a bone that has none; collections that are gone stay so."""
    bone, collections = armature.data.bones[name], armature.data.collections_all
    bone.color.palette = look["palette"]
    for part, colour in zip(_COLOURS, look["colours"], strict=False):
        setattr(bone.color.custom, part, colour)
    for collection in list(bone.collections):  # Blender may put a new bone into the active one
        if collection.name not in look["collections"]:
            collection.unassign(bone)
    for title in look["collections"]:
        if title in collections:
            collections[title].assign(bone)
    armature.pose.bones[name].rotation_mode = look["rotation"]
    for key, value in look["noted"].items():
        bone[key] = value
