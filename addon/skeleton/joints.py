"""How well each joint of a skeleton is known: noted on the bones, counted, and where it is in the pose."""

from __future__ import annotations

import math
from typing import NamedTuple

from mathutils import Vector

from ..native import Skeleton

KIND, ANGLE, DRIFT, AXIS = "ossify_joint", "ossify_angle", "ossify_drift", "ossify_axis"
WORDS = {
    "ball": "has a joint that is well determined",
    "hinge": "turns about an axis",
    "stiff": "hardly turns",
    "loose": "has a joint that is a guess",
}
_AXIS_LENGTH = 0.25  # of the bone, to either side of a hinge


class Mark(NamedTuple):
    """A joint in world space."""

    kind: str
    place: Vector
    axis: Vector  # half of what is drawn of a hinge's axis


def note_one(bone, skeleton: Skeleton, b: int) -> None:
    """As custom properties of an armature's bone: kind, degrees, percent of the size, a hinge's axis."""
    bone[KIND] = skeleton.kinds[b]
    bone[ANGLE] = math.degrees(skeleton.angles[b])
    bone[DRIFT] = float(skeleton.drifts[b])
    if skeleton.kinds[b] == "hinge":
        bone[AXIS] = (bone.matrix_local.to_3x3().inverted() @ Vector(skeleton.axes[b]))[:]
    elif AXIS in bone:
        del bone[AXIS]


def note(data, names: list[str], skeleton: Skeleton) -> None:
    """The same of the first bones of a skeleton, in its order."""
    for b, name in enumerate(names):
        note_one(data.bones[name], skeleton, b)


def mostly_guessed(kinds: list[str]) -> bool:
    """Whether more than half of the joints are guesses: the body bends where no joint is."""
    return kinds.count("loose") > (len(kinds) - kinds.count("root")) / 2


def counts(data) -> dict[str, int]:
    """How many joints of each kind an armature has."""
    kinds = [bone.get(KIND) for bone in data.bones]
    return {kind: kinds.count(kind) for kind in WORDS}


def moving(count: int) -> str:
    """Words for bones that do more than turn."""
    return "1 bone also moves" if count == 1 else f"{count} bones also move"


def _is_hidden(bone) -> bool:
    """Of a pose bone, in Blender 5 and before; by itself or with its collections."""
    collections = bone.bone.collections
    return (
        bone.bone.hide
        or getattr(bone, "hide", False)
        or (len(collections) > 0 and not any(collection.is_visible_effectively for collection in collections))
    )


def marks(armature) -> list[Mark]:
    """The joints that can be seen, as the armature is posed now."""
    place, found = armature.matrix_world, []
    for bone in armature.pose.bones:
        kind = bone.bone.get(KIND)
        if kind in WORDS and not _is_hidden(bone):
            axis = Vector(bone.bone.get(AXIS, (0, 0, 0))) * (_AXIS_LENGTH * bone.bone.length)
            turned = (place @ bone.matrix).to_3x3() @ axis
            found.append(Mark(kind, place @ bone.head, turned))
    return found
