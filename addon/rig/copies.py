"""Copies of a rig that stand in its place for a while, for programs that take it otherwise than it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import bpy

from ..base.handles import Handle
from . import actions, keys
from .build import Maker, discard

_LIVE = " (live)"  # after the names of what is copied, meanwhile


class Pair(NamedTuple):
    kind: str  # of bpy.data
    block: object
    copy: object
    name: str  # that the copy has meanwhile


def actions_of(armature) -> list:
    clips = [clip.action for clip in armature.ossify.clips if clip.action is not None]
    own = keys.action_of(armature)
    return list(dict.fromkeys(clips)) or ([own] if own is not None else [])


def copy_armature(maker: Maker, armature):
    copy = maker.note("objects", armature.copy())
    copy.data = maker.note("armatures", armature.data.copy())
    copy.ossify.memory = None
    return copy


def copy_actions(maker: Maker, armature, copy, found: list) -> list:
    """The same in the copy's record; the first is its own."""
    made = {action: maker.note("actions", action.copy()) for action in found}
    for clip in copy.ossify.clips:
        clip.action = made.get(clip.action)
    data = copy.animation_data_create()
    for track in list(data.nla_tracks):
        data.nla_tracks.remove(track)
    new = list(made.values()) or [maker.new("actions", armature.name)]
    actions.assign(copy, new[0])
    return new


def copy_meshes(maker: Maker, armature, copy, meshes: list) -> list:
    made = []
    for obj in meshes:
        mesh = maker.note("objects", obj.copy())
        mesh.data = maker.note("meshes", obj.data.copy())
        if obj.parent == armature:
            mesh.parent, mesh.matrix_parent_inverse = copy, obj.matrix_parent_inverse
        for modifier in mesh.modifiers:
            if modifier.type == "ARMATURE" and modifier.object == armature:
                modifier.object = copy
        made.append(mesh)
    return made


def pairs(armature, meshes: list, copy, copied: list, naming=lambda name: name) -> list[Pair]:
    """All that is copied; naming: what the copy of something of that name is called"""
    found = [("objects", armature, copy), ("armatures", armature.data, copy.data)]
    for obj, mesh in zip(meshes, copied, strict=True):
        found += [("objects", obj, mesh), ("meshes", obj.data, mesh.data)]
    own, new = actions_of(armature), actions_of(copy)
    found += [("actions", *pair) for pair in zip(own, new, strict=False)]
    return [Pair(kind, block, other, naming(block.name)) for kind, block, other in found]


@contextlib.contextmanager
def in_place(maker: Maker) -> Iterator:
    """Yields what puts copies into the scene under their names; the rig has others meanwhile. Afterwards all
    that the maker made is gone."""
    scene, layer, names = bpy.context.scene, bpy.context.view_layer, {}
    selected, active = list(layer.objects.selected), layer.objects.active

    def put(some: list[Pair]) -> None:
        for pair in some:
            if pair.kind == "objects":
                scene.collection.objects.link(pair.copy)
        for pair in some:
            if pair.block.library is None:  # of another file's nobody has to give way
                name = pair.block.name
                names[Handle.of(pair.kind, pair.block)] = name
                pair.block.name = name[: 63 - len(_LIVE)] + _LIVE
            pair.copy.name = pair.name
        layer.update()

    try:
        yield put
    finally:
        discard(maker.made)
        for handle, name in names.items():
            handle.get().name = name
        for obj in layer.objects:
            obj.select_set(obj in selected)
        layer.objects.active = active
        layer.update()
