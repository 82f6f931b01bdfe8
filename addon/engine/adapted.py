"""A copy of a rig as an engine takes it, in its place while a file is written: names, and few influences."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..rig import copies, keys
from ..rig.build import Maker
from . import contract
from .contract import Engine
from .fewer import Pruned


def _rename_bones(armature, others: list) -> None:
    """With them go vertex groups and the keys that the armature has at hand; others: its other actions"""
    taken, paths = set(), {}
    for bone in armature.data.bones:
        wanted = name = contract.plain(bone.name)
        number = 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name)
        if bone.name != name:
            paths[keys.path_of(bone.name)] = keys.path_of(name)
            bone.name = name
    for action in others:
        for curve in keys.curves_of(armature, action):
            head, _, channel = curve.data_path.rpartition(".")
            if f"{head}." in paths:
                curve.data_path = paths[f"{head}."] + channel


def _limit(obj, bones: set[str], most: int) -> None:
    """The strongest influences of each vertex, with a sum of 1."""
    groups = {group.index: group for group in obj.vertex_groups if group.name in bones}
    for vertex in obj.data.vertices:
        own = sorted(
            ((item.weight, -item.group) for item in vertex.groups if item.group in groups), reverse=True
        )
        if len(own) <= most:
            continue
        total = sum(weight for weight, _ in own[:most])
        for weight, group in own[:most]:
            groups[-group].add([vertex.index], weight / total, "REPLACE")
        for _, group in own[most:]:
            groups[-group].remove([vertex.index])


@contextlib.contextmanager
def beside(
    armature, meshes: list, engine: Engine, influences: int, pruned: Pruned | None = None
) -> Iterator[tuple]:
    """The armature's copy and those of its meshes."""
    maker = Maker()
    with copies.in_place(maker) as put:
        copy = copies.copy_armature(maker, armature)
        moves = copies.copy_actions(maker, armature, copy, copies.actions_of(armature))
        made = copies.copy_meshes(maker, armature, copy, meshes)
        if pruned is not None:
            pruned.write(meshes, made)
        put(copies.pairs(armature, meshes, copy, made, contract.plain))
        if engine.top:
            copy.name = engine.top
        _rename_bones(copy, moves[1:])  # the first is at hand
        for obj in made:
            _limit(obj, set(copy.data.bones.keys()), influences)
        yield copy, made
