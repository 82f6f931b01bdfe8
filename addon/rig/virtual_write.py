"""Virtual bones of a rig, made and taken out again: bones, constraints, vertex groups.

A virtual bone hangs from nothing and is never keyed, so that its constraint alone moves it: Blender's
Armature constraint multiplies what the bone's own channels and parents do by sum(w M) / sum(w). It has the
full matrix, shear included, as long as Preserve Volume is off, and so has the mesh.
"""

from __future__ import annotations

import numpy as np
from mathutils import Vector

from ..native import Layers
from . import roles, standing, virtual_bones, weights

COLLECTION, NAME, CONSTRAINT = "Virtual Bones", "Virtual", "Masters"
_BONE_LENGTH = 0.02  # of the size


def _free_names(count: int, taken: set[str]) -> list[str]:
    digits, found, number = max(3, len(str(count))), [], 0
    while len(found) < count:
        number += 1
        name = f"{NAME}.{number:0{digits}}"
        if name not in taken:
            found.append(name)
    return found


def centres(rest: np.ndarray, bones: np.ndarray, amounts: np.ndarray, count: int) -> np.ndarray:
    """[m][3] the mean of the vertices that follow each, by weight"""
    sums, totals = np.zeros((count, 3)), np.zeros(count)
    used = bones >= 0
    rows = np.nonzero(used)[0]
    np.add.at(sums, bones[used], rest[rows] * amounts[used][:, None])
    np.add.at(totals, bones[used], amounts[used])
    return np.where(totals[:, None] > 0, sums / np.where(totals > 0, totals, 1)[:, None], rest.mean(axis=0))


def _add_bones(armature, names: list[str], heads: np.ndarray, size: float) -> None:
    with standing.editing(armature) as bones:
        for name, head in zip(names, heads, strict=True):
            bone = bones.new(name)
            bone.head, bone.tail = Vector(head), Vector(head) + Vector((0, 0, _BONE_LENGTH * size))
            bone.use_deform = True


def _constrain(armature, names: list[str], masters: list[str], layers: Layers) -> None:
    pose = armature.pose.bones
    for name, bones, amounts in zip(names, layers.virtual_bones, layers.virtual_weights, strict=True):
        constraint = pose[name].constraints.new("ARMATURE")
        constraint.name = CONSTRAINT
        constraint.use_deform_preserve_volume = constraint.use_bone_envelopes = False
        for b, amount in zip(bones.tolist(), amounts.tolist(), strict=True):
            if b >= 0 and amount > 0:
                target = constraint.targets.new()
                target.target, target.subtarget, target.weight = armature, masters[b], amount


def _dress(armature, names: list[str]) -> None:
    data = armature.data
    roles.give(armature, roles.VIRTUAL, names)
    hidden = data.collections.get(COLLECTION) or data.collections.new(COLLECTION)
    hidden.is_visible = False
    for name in names:
        bone = data.bones[name]
        for collection in list(bone.collections):
            collection.unassign(bone)
        hidden.assign(bone)
        armature.pose.bones[name].lock_location = armature.pose.bones[name].lock_scale = (True, True, True)
        armature.pose.bones[name].lock_rotation = (True, True, True)


def _drop_groups(obj, names) -> None:
    for name in names:
        if name in obj.vertex_groups:
            obj.vertex_groups.remove(obj.vertex_groups[name])


def _weigh(obj, rows: np.ndarray, influences, names: list[str]) -> None:
    """Groups of these vertices alone; rows [n] in the mesh, influences [n][k]"""
    for name, (some, amounts) in zip(names, weights.by_bone(*influences, len(names)), strict=True):
        if len(some):
            add = obj.vertex_groups.new(name=name).add
            for vertex, amount in zip(rows[some].tolist(), amounts.tolist(), strict=True):
                add((vertex,), amount, "REPLACE")
    obj.data.update()


def _deform(armature, masters: list[str], by_themselves: bool) -> None:
    for name in masters:
        bone = armature.data.bones[name]
        bone.use_deform = by_themselves
        if by_themselves:
            del bone[roles.MASTER]
        else:
            bone[roles.MASTER] = True


def _parts(skin: standing.Skin):
    """Of each mesh: itself, the vertices that the armature moves, and their rows among all that it moves."""
    number = np.cumsum(skin.moved) - 1
    for obj, rows in zip(skin.meshes, skin.slices, strict=True):
        moved = np.flatnonzero(skin.moved[rows])
        yield obj, moved, number[rows][moved]


def add(armature, skin: standing.Skin, masters: list[str], layers: Layers, size: float) -> list[str]:
    """Makes virtual bones of layers over the masters, for all vertices that are moved; their names."""
    taken = {*armature.data.bones.keys(), *(group.name for obj in skin.meshes for group in obj.vertex_groups)}
    names = _free_names(len(layers.virtual_bones), taken)
    bones, amounts = weights.exact(layers.influence_bones, layers.influence_weights)
    heads = centres(skin.rest[skin.moved], bones, amounts.astype(np.float64), len(names))
    _add_bones(armature, names, heads, size)
    _dress(armature, names)
    _constrain(armature, names, masters, layers)
    for obj, rows, mine in _parts(skin):
        _drop_groups(obj, masters)
        _weigh(obj, rows, (bones[mine], amounts[mine]), names)
    _deform(armature, masters, False)
    return names


def remove(armature, meshes: list) -> int:
    """Gives the masters the weights that vertices have of them, D A, and takes the virtual bones out."""
    blends = virtual_bones.of(armature)
    for obj in meshes:
        dense = standing.painted(obj, blends.masters)
        bones = weights.strongest(dense)
        _drop_groups(obj, [*blends.names, *blends.masters])
        _weigh(obj, np.arange(len(dense)), (bones, weights.at(dense, bones)), blends.masters)
    with standing.editing(armature) as bones:
        for name in blends.names:
            bones.remove(bones[name])
    _deform(armature, blends.masters, True)
    collection = armature.data.collections.get(COLLECTION)
    if collection is not None and not collection.bones:
        armature.data.collections.remove(collection)
    return len(blends.names)
