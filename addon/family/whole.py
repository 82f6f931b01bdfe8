"""A family as one rig: what is read of it, and the copy of a rig and its mesh that shows all bodies."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np

from ..base.handles import Place
from ..base.refusal import Refusal
from ..base.steps import Step, watch
from ..rig import aiming, virtual_bones, volumes
from ..rig.build import Maker, discard, hide, present
from . import copies, fit, rigged
from .rigged import Rigged


def trouble(active, others) -> str | None:
    """For polls: quick; why bodies cannot share a copy of the rig, in one sentence; None when they can."""
    sentence = rigged.trouble(active)
    if sentence:
        return sentence
    armature = rigged.armature_of(active)
    if not any(obj.type == "MESH" and obj != active for obj in others):
        return "Select other bodies with the same vertices, and make the rigged mesh the active one."
    if virtual_bones.has_any(armature):
        return virtual_bones.trouble(armature)
    if volumes.modifier_of(active) is not None:
        return f"{active.name} has Keep Volume, which is fitted to its shape: remove that first."
    held = next((bone.name for bone in armature.pose.bones if len(bone.constraints)), None)
    if held is not None:
        return (
            f"{held} has constraints, and joints can follow a body only where bones are posed directly: use"
            " a rig without."
        )
    return None


class Family(NamedTuple):
    known: list[Rigged]
    new: list[fit.NewBody]

    @property
    def first(self) -> Rigged:
        return self.known[0]

    @property
    def names(self) -> list[str]:
        """Of the bodies, those that are known first."""
        return [body.mesh.get().name for body in (*self.known, *self.new)]

    def rests(self) -> np.ndarray:
        """[s][v][3]"""
        return np.stack([one.skin.rest for one in self.known] + [body.rest for body in self.new])

    def check_sources(self) -> None:
        fit.check_sources(self.known, self.new)


def read(active, others, trouble_of: Callable) -> Family:
    sentence = trouble_of(active, others)
    if sentence:
        raise Refusal(sentence)
    return Family(*fit.family_of(active, others))


def skeletons(family: Family) -> Generator[Step, None, tuple[np.ndarray, np.ndarray]]:
    """[s][b][3] heads and tails of all bones in all bodies, those that are known first"""
    first, moved = family.first, family.first.skin.moved
    own = np.stack([fit.joints_in(first, one) for one in family.known])
    rests = family.rests()[:, moved]
    if family.new:
        job = fit.placed_joints(first, family.known, rests[len(family.known) :])
        placed = yield from watch(job, family, 0.0, 1.0)
        own = np.concatenate([own, placed.joints])
    heads, tails = rigged.skeleton_in(first, own, rests)
    heads[0], tails[0] = first.heads, first.tails
    return heads, tails


def _copy_mesh(maker: Maker, source, armature, copy):
    mesh = maker.note("objects", source.copy())
    mesh.data = maker.note("meshes", source.data.copy())
    mesh.hide_viewport = mesh.hide_render = False  # as the source of an earlier one is
    aiming.shapes(mesh.data, copy, armature)
    for modifier in mesh.modifiers:
        if modifier.type == "ARMATURE" and modifier.object == armature:
            modifier.object = copy
    mesh.parent, mesh.parent_type = copy, "OBJECT"
    world = copy.matrix_world.inverted_safe() @ source.matrix_world
    mesh.matrix_parent_inverse = world @ mesh.matrix_basis.inverted_safe()
    return mesh


def write(place: Place, first: Rigged, title: str, build: Callable) -> tuple[object, object]:
    """An armature and a mesh, copies of the first body's, which are hidden then; build(maker, armature, mesh)
    makes of them what shows all bodies. All of it, or nothing."""
    source, armature, maker = first.mesh.get(), first.armature.get(), Maker()
    scene, layer = place.get()
    try:
        name = f"{source.name} {title}"
        copy = copies.copy_armature(maker, armature, f"{name} Rig", armature.matrix_world.copy())
        mesh = _copy_mesh(maker, source, armature, copy)
        mesh.name = mesh.data.name = name
        collection = maker.new("collections", f"{name} Rig")
        for obj in (copy, mesh):
            collection.objects.link(obj)
        build(maker, copy, mesh)
        scene.collection.children.link(collection)
    except BaseException:
        discard(maker.made)
        raise
    for obj in (source, armature):
        hide(obj, layer, True)
    layer.update()
    present(layer, [copy, mesh])
    return copy, mesh
