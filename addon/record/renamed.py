"""Bones that were renamed, in actions that the rig does not play at the time.

Blender renames a bone in the action that its armature has and in those of its NLA, and in no other: the rig's
other clips go on to key a bone that is not there.
"""

from __future__ import annotations

from ..base.refusal import Refusal
from ..rig import keys, played
from . import memory


def _names(armature) -> dict[str, str]:
    """What bones were called when the rig was noted, and what they are called now, of those renamed."""
    then = memory.last(armature)
    if then is None:
        return {}
    now = memory.read_bones(armature)
    known = dict(zip(now.numbers, now.names, strict=True))
    noted = zip(then.bones.names, then.bones.numbers, strict=True)
    return {name: known[number] for name, number in noted if known.get(number, name) != name}


def _left_behind(names: dict[str, str], keyed: dict[str, list]) -> list[str]:
    """Old names that an action still has: it keys nothing of the new one, or what another bone left there."""
    found: list[str] = []
    while True:
        more = [o for o, n in names.items() if o not in found and keyed[o] and (not keyed[n] or n in found)]
        if not more:
            return found
        found += more


def _stale(armature, names: dict[str, str]) -> list[tuple]:
    """(action, f-curve, path it should have, old name, new name)"""
    if not names:
        return []
    found = []
    for action in played.all_actions(armature):
        if action.library:
            continue
        curves = keys.curves_of(armature, action)
        paths = {name: keys.path_of(name) for name in {*names, *names.values()}}
        keyed = {n: [c for c in curves if c.data_path.startswith(path)] for n, path in paths.items()}
        for old in _left_behind(names, keyed):
            new = names[old]
            found += [(action, c, paths[new] + c.data_path[len(paths[old]) :], old, new) for c in keyed[old]]
    return found


def follow(armature, names: dict[str, str] | None = None) -> list[str]:
    """Renames bones in the rig's own actions as they are called now; the names of those actions.

    names: what they were called and are called now; None: as the rig remembers them
    """
    found = _stale(armature, _names(armature) if names is None else names)
    for _, curve, path, old, new in found:
        curve.data_path = path
        if curve.group is not None and curve.group.name == old:
            curve.group.name = new
    return list(dict.fromkeys(action.name for action, *_ in found))


def check(armature) -> None:
    """Refuses a rig in an action of which a bone still has its old name: it would count as keyed anew."""
    for action, _, _, old, new in _stale(armature, _names(armature)):
        raise Refusal(
            f"{new} is still called {old} in {action.name}, which {armature.name} did not play when it was"
            " renamed: look for changes, and it is renamed there, too."
        )
