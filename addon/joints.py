"""How well each joint of a skeleton is known: noted on the bones, and shown as their colours."""

from __future__ import annotations

import math

from .native import Skeleton

KIND, ANGLE, DRIFT = "ossify_joint", "ossify_angle", "ossify_drift"


def note(data, names: list[str], skeleton: Skeleton) -> None:
    """As custom properties of the armature's bones: kind, degrees, percent of the size."""
    for b, name in enumerate(names):
        bone = data.bones[name]
        bone[KIND] = skeleton.kinds[b]
        bone[ANGLE] = math.degrees(skeleton.angles[b])
        bone[DRIFT] = float(skeleton.drifts[b])
