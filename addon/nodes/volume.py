"""Keep Volume on the meshes of a rig: put on, fitted again, bound anew, taken off.

Corrections are attributes of the meshes, and the modifier stands right after the Armature. They are fitted to
the weights, the rest and the motion of the rig; when those change, renew() fits them again.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import bpy
import numpy as np

from .. import native
from ..base.meshes import positions
from ..base.surface import diagonal
from ..rig import standing, volumes
from . import bone_points, keep_volume
from .bone_points import BONE_POINTS, Frame
from .tree import input_of, property_of, set_input

_NOTHING = 1e-7  # sizes: a correction of no more than this moves nobody
_DIGITS = 5  # of weights, and of places in sizes, that count when it is asked whether they are others


class Fit(NamedTuple):
    """What it is worth: root mean square errors in percent of the size."""

    before: float  # of the armature alone
    after: float

    def words(self) -> str:
        return f"error {self.after:.3g} % of the size, {self.before:.3g} % with the armature alone"


# ---- what there is


def meshes_of(armature) -> list:
    """Those of the rig's meshes that have it."""
    return [obj for obj in standing.meshes_of(armature) if volumes.modifier_of(obj)]


def is_on(armature) -> bool:
    return bool(meshes_of(armature))


def _source(obj):
    """The armature or the probe that its modifier reads."""
    modifier = volumes.modifier_of(obj)
    return input_of(modifier, keep_volume.SOURCE[keep_volume.bones_group(modifier.node_group) is not None])


def follows(obj, armature) -> bool:
    """Whether what its modifier reads is this armature, and not that of the rig it is a copy of."""
    source = _source(obj)
    return source is not None and armature in (source, source.parent)


def strength_property(modifier) -> tuple:
    """Owner and name, for a panel."""
    return property_of(modifier, keep_volume.STRENGTH)


def _names(obj) -> list[str]:
    """The bones that its corrections are for, in their order."""
    bones = keep_volume.bones_group(volumes.modifier_of(obj).node_group)
    if bones is not None:
        return bone_points.names_in(bones)
    probe = _source(obj)
    return [group.name for group in probe.vertex_groups] if probe is not None else []


def _lacks_bones(obj, armature) -> bool:
    return not set(_names(obj)) <= set(armature.data.bones.keys())


def is_astray(obj, armature) -> bool:
    """Whether it must be bound again: it follows another rig, or bones by names that they do not have."""
    return not follows(obj, armature) or _lacks_bones(obj, armature)


def _mark(armature, obj) -> str:
    """Another one when weights or the rest are others."""
    names = standing.bone_names(armature)
    size = diagonal(positions(obj.data)) or 1.0
    total = hashlib.blake2b(str(len(names)).encode(), digest_size=8)
    total.update(np.round(standing.painted(obj, names), _DIGITS) + np.float32(0))
    total.update(np.round(positions(obj.data) / np.float32(size), _DIGITS) + np.float32(0))
    return total.hexdigest()


def trouble(armature) -> str | None:
    """What is wrong with it, in words for a list; None when nothing is, or it is not there."""
    for obj in meshes_of(armature):
        if not follows(obj, armature):
            return f"Keep Volume of {obj.name} follows another rig: rebind it"
        if _lacks_bones(obj, armature):
            return (
                f"Keep Volume of {obj.name} is for bones that are gone or renamed: rebind it, or fit it again"
            )
        if obj.data.get(volumes.FITTED) != _mark(armature, obj):
            return (
                f"Keep Volume of {obj.name} was fitted to other weights or another rest shape: fit it again"
            )
    return None


# ---- attributes


def _store(mesh, name: str, kind: str, field: str, values: np.ndarray) -> None:
    old = mesh.attributes.get(name)
    if old is not None:
        mesh.attributes.remove(old)
    mesh.attributes.new(name, kind, "POINT")
    mesh.attributes[name].data.foreach_set(field, np.ascontiguousarray(values).ravel())


def _write_corrections(mesh, space: native.Space, frame: Frame) -> None:
    """space: of all vertices of the mesh"""
    volumes.forget(mesh)
    moved = np.abs(space.corrections).max(axis=2) > _NOTHING * np.array(frame.size)
    _store(mesh, volumes.PREFIX, "BOOLEAN", "value", moved.any(axis=1))
    for slot in range(space.bones.shape[1]):
        along, first = frame.shares(space.corrections[:, slot])
        bone = BONE_POINTS * np.maximum(space.bones[:, slot], 0)
        _store(mesh, keep_volume.attribute("bone", slot), "INT", "value", bone.astype(np.int32))
        _store(mesh, keep_volume.attribute("along", slot), "FLOAT_VECTOR", "vector", along.astype(np.float32))
        _store(mesh, keep_volume.attribute("first", slot), "FLOAT", "value", first.astype(np.float32))


def _spread(space: native.Space, moved: np.ndarray) -> native.Space:
    """Over all vertices of a skin, of which those that are moved [v] have corrections."""
    slots = space.bones.shape[1]
    bones = np.full((len(moved), slots), -1, np.int32)
    corrections = np.zeros((len(moved), slots, 4), np.float32)
    bones[moved] = space.bones
    corrections[moved] = np.where((space.bones >= 0)[..., None], space.corrections, 0)
    return native.Space(bones, corrections)


# ---- the modifier


def _put_after_armature(obj, armature, modifier) -> None:
    stack = list(obj.modifiers)
    first = next(i for i, m in enumerate(stack) if m.type == "ARMATURE" and m.object == armature)
    obj.modifiers.move(stack.index(modifier), first + 1)


def _give_group(obj, armature, group, source) -> None:
    """The modifier, made or as it stands, with this group; its strength stays."""
    modifier = volumes.modifier_of(obj)
    strength = input_of(modifier, keep_volume.STRENGTH) if modifier else 1.0
    if modifier is None:
        modifier = obj.modifiers.new(volumes.MODIFIER, "NODES")
        _put_after_armature(obj, armature, modifier)
    modifier.node_group = group
    set_input(modifier, keep_volume.STRENGTH, strength)
    set_input(modifier, keep_volume.SOURCE[source == armature], source)
    obj.update_tag()


def _discard(blocks: list) -> None:
    """What nobody else uses: probes with their meshes, groups of a rig's own with those in them."""
    for block in blocks:
        if block.users > int(block.use_fake_user):
            continue
        if isinstance(block, bpy.types.Object):
            mesh = block.data
            bpy.data.objects.remove(block)
            if mesh.users == 0:
                bpy.data.meshes.remove(mesh)
        else:
            inner = list(dict.fromkeys(node.node_tree for node in block.nodes if node.type == "GROUP"))
            bpy.data.node_groups.remove(block)
            _discard([group for group in inner if group is not None])


def _parts(obj) -> list:
    """What its modifier is made of."""
    modifier = volumes.modifier_of(obj)
    if modifier is None:
        return []
    source = _source(obj)
    return [modifier.node_group, *([source] if source is not None and volumes.is_probe(source) else [])]


def _bind(armature, meshes: list, names: list[str], frame: Frame, slots: int) -> list:
    """Gives the meshes what follows the bones of this armature; the data-blocks that were made."""
    before = list(dict.fromkeys(part for obj in meshes for part in _parts(obj)))
    if bone_points.by_bone_info():
        group, source = keep_volume.rig_group(slots, armature, names, frame), armature
    else:
        group, source = keep_volume.probe_group(slots), bone_points.make_probe(armature, names, frame)
    for obj in meshes:
        _give_group(obj, armature, group, source)
    _discard([part for part in before if part not in (group, source)])
    made = [group, *(node.node_tree for node in group.nodes if node.type == "GROUP")]
    return list(dict.fromkeys(made)) + ([] if source == armature else [source, source.data])


def put(armature, names: list[str], skin: standing.Skin, space: native.Space) -> list:
    """Writes corrections for the moved vertices of a skin, and the modifiers that show them; `names` are the
    bones that they count by. The data-blocks that were made."""
    frame, meshes = Frame.around(skin.rest), skin.meshes
    used = max(int((space.bones >= 0).sum(axis=1).max()), 1)
    whole = _spread(native.Space(space.bones[:, :used], space.corrections[:, :used]), skin.moved)
    for obj, rows in zip(meshes, skin.slices, strict=True):
        _write_corrections(obj.data, native.Space(whole.bones[rows], whole.corrections[rows]), frame)
    made = _bind(armature, meshes, names, frame, used)
    for obj in meshes:
        obj.data[volumes.FITTED] = _mark(armature, obj)
    return made


def remove(armature) -> int:
    """Takes it off; from how many meshes."""
    meshes = meshes_of(armature)
    parts = list(dict.fromkeys(part for obj in meshes for part in _parts(obj)))
    for obj in meshes:
        modifier = volumes.modifier_of(obj)
        for name in keep_volume.sources_in(modifier.node_group):
            set_input(modifier, name, None)  # 5.2 goes on to count it as a user
        obj.modifiers.remove(modifier)
        volumes.forget(obj.data)
    _discard(parts)
    return len(meshes)


def rebind(armature) -> int:
    """Lets copies of a rig follow their own bones, and all of them renamed ones; how many meshes did not."""
    astray = [obj for obj in meshes_of(armature) if is_astray(obj, armature)]
    probes = {}
    for obj in astray:
        if keep_volume.bones_group(volumes.modifier_of(obj).node_group) is not None:
            _give_group(obj, armature, _own_group(obj, armature, astray), armature)
        elif not follows(obj, armature) and _source(obj) is not None:
            old = _source(obj)
            if old not in probes:
                probes[old] = old.copy()
                bone_points.bind_probe(probes[old], armature)
            _give_group(obj, armature, volumes.modifier_of(obj).node_group, probes[old])
    return len(astray)


def _own_group(obj, armature, astray: list):
    """With the names of this armature's bones: a copy, where others have the group, too."""
    group = volumes.modifier_of(obj).node_group
    if group.users > sum(volumes.modifier_of(other).node_group == group for other in astray):
        group = keep_volume.copied(group)
        for other in astray:
            volumes.modifier_of(other).node_group = group
    bone_points.follow_names(keep_volume.bones_group(group), armature)
    return group


# ---- fitted


def fitting(rest, frames, triangles, rig: native.Rig, threads: int = 0) -> tuple:
    """Arguments of native.animation_space: the bones of the rig stay as they are."""
    settings = native.Settings(bones=rig.bones, influences=rig.influence_bones.shape[1], threads=threads)
    return rest, frames, triangles, rig, native.SpaceFit(bones="own", rounds=0), settings


def worth(rest, frames, rig: native.Rig, space: native.Space, size: float) -> Fit:
    plain, kept = (native.evaluate(rest, frames, rig, replay=False, space=some).rms for some in (None, space))
    return Fit(100 * plain / size, 100 * kept / size)


def renew(armature, names: list[str], skin: standing.Skin, rig: native.Rig, frames: np.ndarray) -> None:
    """Fits it again to a rig that was changed, if it is on; frames [f][r][3] of the moved vertices."""
    if not is_on(armature):
        return
    _, space, _ = native.animation_space(*fitting(rig.rest, frames, skin.moved_triangles, rig))
    put(armature, names, skin, space)
    note(armature, worth(rig.rest, frames, rig, space, armature.ossify.size or diagonal(rig.rest)))


def note(armature, fit: Fit | None) -> None:
    """On the rig's record, for the panel."""
    armature.ossify.volume_rms = 0.0 if fit is None else fit.after
