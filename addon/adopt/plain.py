"""Bones of a control rig that play keys: constraints that move them are muted, and bendy ones are stiff.

What was changed is written on the armature, so that controls can move the bones again, and keys after that.
"""

from __future__ import annotations

import json

import bpy
from mathutils import Matrix

from ..rig import actions, keys

# A custom property of the armature: {"bones": {name: [[constraints], segments]}, "keyed": [names],
# "action": that of the keys, "before": the one that the controls had, or null}
CHANGED = "ossify_muted"


def _needed(armature, names: list[str]) -> dict[str, list]:
    """What moves or bends these bones beside keys: bone -> the names of constraints, segments"""
    found = {}
    for name in names:
        pose, bone = armature.pose.bones[name], armature.data.bones[name]
        constraints = [constraint.name for constraint in pose.constraints if not constraint.mute]
        if constraints or bone.bbone_segments > 1:
            found[name] = [constraints, bone.bbone_segments]
    return found


def _set(armature, changes: dict[str, list], muted: bool) -> None:
    for name, (constraints, segments) in changes.items():
        pose = armature.pose.bones.get(name)
        if pose is None:
            continue
        for constraint in map(pose.constraints.get, constraints):
            if constraint is not None:
                constraint.mute = muted
        pose.bone.bbone_segments = 1 if muted else segments


def make_plain(armature, names: list[str]) -> dict[str, list]:
    """Lets keys move these bones; what that changed."""
    changes = _needed(armature, names)
    _set(armature, changes, True)
    return changes


def undo(armature, changes: dict[str, list]) -> None:
    """As it was before make_plain."""
    _set(armature, changes, False)


# ---- there and back


def note(armature, changes: dict[str, list], keyed: list[str], action, before) -> None:
    """So that switch() knows; a rig that is rigged again keeps what was changed first."""
    changes = {**changes, **noted(armature).get("bones", {})}
    if changes:
        name = before.name if before is not None else None
        armature[CHANGED] = json.dumps(
            {"bones": changes, "keyed": keyed, "action": action.name, "before": name}
        )


def noted(armature) -> dict:
    """Empty: nothing is, or what is there is not from here."""
    try:
        found = json.loads(armature.get(CHANGED, "{}"))
        return found if found.keys() >= {"bones", "keyed", "action", "before"} else {}
    except (TypeError, ValueError, AttributeError):
        return {}


def plays_keys(armature) -> bool:
    """Whether what was muted is muted still."""
    for name, (constraints, _) in noted(armature)["bones"].items():
        pose = armature.pose.bones.get(name)
        found = [] if pose is None else filter(None, map(pose.constraints.get, constraints))
        if any(not constraint.mute for constraint in found):
            return False
    return True


def switch(armature) -> bool:
    """From keys to controls, or back; whether keys move the bones now."""
    said, now = noted(armature), keys.action_of(armature)
    to_keys = not plays_keys(armature)
    _set(armature, said["bones"], to_keys)
    wanted = bpy.data.actions.get(said["action"] if to_keys else said["before"] or "")
    if to_keys:
        said["before"] = now.name if now is not None else None
    elif now is not None:
        said["action"] = now.name
        now.use_fake_user = True
    armature[CHANGED] = json.dumps(said)
    actions.assign(armature, wanted)
    for name in said["keyed"] if not to_keys else ():
        if name in armature.pose.bones:
            armature.pose.bones[name].matrix_basis = Matrix.Identity(4)
    armature.update_tag(refresh={"TIME"})
    return to_keys
