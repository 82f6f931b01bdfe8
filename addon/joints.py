"""How well each joint of a skeleton is known: noted on the bones, and shown as their colours."""

from __future__ import annotations

import math

from .native import Skeleton

KIND, ANGLE, DRIFT = "ossify_joint", "ossify_angle", "ossify_drift"
_SHOWN = "ossify_shown"  # on pose bones that are coloured
COLOURS = {
    "root": (0.85, 0.85, 0.85),
    "ball": (0.2, 0.75, 0.25),  # well determined
    "hinge": (0.2, 0.5, 0.95),
    "stiff": (0.9, 0.75, 0.15),
    "loose": (0.85, 0.15, 0.1),  # a guess
}


def note(data, names: list[str], skeleton: Skeleton) -> None:
    """As custom properties of the armature's bones: kind, degrees, percent of the size."""
    for b, name in enumerate(names):
        bone = data.bones[name]
        bone[KIND] = skeleton.kinds[b]
        bone[ANGLE] = math.degrees(skeleton.angles[b])
        bone[DRIFT] = float(skeleton.drifts[b])


def counts(data) -> dict[str, int]:
    """How many joints of each kind an armature has, in the order of the colours."""
    kinds = [bone.get(KIND) for bone in data.bones]
    return {kind: kinds.count(kind) for kind in COLOURS if kind != "root"}


def show(armature, shown: bool) -> None:
    """Colours the pose bones by the kind of their joint, or gives them back the colours of their bones.

    A pose bone to which an artist gave a colour keeps it.
    """
    for bone in armature.pose.bones:
        kind = bone.bone.get(KIND)
        if shown and kind in COLOURS and (bone.color.palette == "DEFAULT" or _SHOWN in bone):
            _paint(bone, COLOURS[kind])
        elif not shown and _SHOWN in bone:
            bone.color.palette = "DEFAULT"
            del bone[_SHOWN]


def _paint(bone, colour) -> None:
    bone[_SHOWN] = True
    bone.color.palette = "CUSTOM"
    for name, light in (("normal", 0.0), ("select", 0.4), ("active", 0.7)):
        setattr(bone.color.custom, name, [value + light * (1 - value) for value in colour])
