"""Body Sliders: one rig for a whole family, whose body is set by sliders and whose joints go along.

    for step in make(scene, view_layer, active, others, SlidersOptions()): ...       # its value is Made

The active rigged mesh is copied; bodies are the others that are selected, rigged or not. The copy's shape
keys are the principal shapes (shapes.py), a property of the armature drives each, and drivers move the joints
(slider_rig.py): it plays without the extension.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from ..base.handles import Handle, Place
from ..base.meshes import matrix_of
from ..base.refusal import Refusal
from ..base.steps import Step, step, watch
from ..base.words import counted
from ..options.options import SlidersOptions
from ..rig import aiming, virtual_bones, volumes
from ..rig.build import Maker, discard, hide, present
from . import bodies, copies, fit, rigged, shapes, slider_rig
from .rigged import Rigged


class Made(NamedTuple):
    armature: object
    mesh: object
    sliders: int
    bodies: int
    left: float  # percent of the size

    def sentence(self) -> str:
        return (
            f"{counted(self.sliders, 'slider')} for {self.bodies} bodies: they miss the bodies by"
            f" {self.left:.2g} % of the size."
        )


# ---- what is there


def trouble(active, others) -> str | None:
    """For polls: quick; why there can be no sliders, in one sentence; None when there can."""
    sentence = rigged.trouble(active)
    if sentence:
        return sentence
    armature = rigged.armature_of(active)
    if slider_rig.is_one(armature):
        return f"{armature.name} has sliders: make them from the rig that it came from."
    if not any(obj.type == "MESH" and obj != active for obj in others):
        return "Select other bodies with the same vertices, and make the rigged mesh the active one."
    if virtual_bones.has_any(armature):
        return virtual_bones.trouble(armature)
    if volumes.modifier_of(active) is not None:
        return f"{active.name} has Keep Volume, which is fitted to its shape: remove that first."
    held = next((bone.name for bone in armature.pose.bones if len(bone.constraints)), None)
    if held is not None:
        return (
            f"{held} has constraints, and joints can follow sliders only where bones are posed directly: use"
            " a rig without."
        )
    return None


class _Family(NamedTuple):
    known: list[Rigged]
    new: list[fit.NewBody]

    def check_sources(self) -> None:
        fit.check_sources(self.known, self.new)


def _read(active, others) -> _Family:
    sentence = trouble(active, others)
    if sentence:
        raise Refusal(sentence)
    return _Family(*fit.family_of(active, others))


# ---- steps


def _joints(family: _Family) -> Generator[Step, None, np.ndarray]:
    """[s][b][3] of all bones in all bodies, those that are known first"""
    first, moved = family.known[0], family.known[0].skin.moved
    own = np.stack([fit.joints_in(first, one) for one in family.known])
    rests = [one.skin.rest[moved] for one in family.known] + [body.rest[moved] for body in family.new]
    if family.new:
        new = np.stack(rests[len(family.known) :])
        job = fit.placed_joints(first, family.known, new)
        placed = yield from watch(job, family, 0.0, 1.0)
        own = np.concatenate([own, placed.joints])
    heads, _ = rigged.skeleton_in(first, own, rests)
    heads[0] = first.heads
    return heads


def make(scene, view_layer, active, others, options: SlidersOptions) -> Generator[Step, None, Made]:
    """One step to undo; the rig that is copied is hidden."""
    view_layer.update()
    place, family = Place.of(scene, view_layer), _read(active, others)
    first = family.known[0]
    yield step("Reading", 1.0)
    joints = yield from _joints(family)
    rests = np.stack([one.skin.rest for one in family.known] + [body.rest for body in family.new])
    found = shapes.principal(rests, joints, options.count, first.skin.weights, first.deforming)
    if not found.names:
        raise Refusal(f"All bodies have the shape of {active.name}: there is nothing to slide.")
    yield step("Building", 0.5)
    family.check_sources()
    armature, mesh = _write(place, first, found)
    return Made(armature, mesh, len(found.names), len(rests), found.left)


def _copy_mesh(maker: Maker, source, armature, copy):
    mesh = maker.note("objects", source.copy())
    mesh.data = maker.note("meshes", source.data.copy())
    aiming.shapes(mesh.data, copy, armature)
    for modifier in mesh.modifiers:
        if modifier.type == "ARMATURE" and modifier.object == armature:
            modifier.object = copy
    mesh.parent, mesh.parent_type = copy, "OBJECT"
    world = copy.matrix_world.inverted_safe() @ source.matrix_world
    mesh.matrix_parent_inverse = world @ mesh.matrix_basis.inverted_safe()
    return mesh


def _write(place: Place, first: Rigged, found: shapes.Shapes):
    """All of it, or nothing."""
    source, armature, maker = first.mesh.get(), first.armature.get(), Maker()
    scene, layer = place.get()
    try:
        name = f"{source.name} Bodies"
        copy = copies.copy_armature(maker, armature, f"{name} Rig", armature.matrix_world.copy())
        mesh = _copy_mesh(maker, source, armature, copy)
        mesh.name = mesh.data.name = name
        collection = maker.new("collections", f"{name} Rig")
        for obj in (copy, mesh):
            collection.objects.link(obj)
        to_mesh = (np.linalg.inv(matrix_of(source)) @ first.space)[:3, :3]
        slider_rig.build(copy, [mesh], first.names, found, first.rest)
        slider_rig.add_keys(mesh, copy, found, to_mesh)
        scene.collection.children.link(collection)
    except BaseException:
        discard(maker.made)
        raise
    for obj in (source, armature):
        hide(obj, layer, True)
    layer.update()
    present(layer, [copy, mesh])
    return copy, mesh


# ---- sliders that are there


def mesh_of(armature):
    """The one that the sliders change; None: it is gone."""
    names = set(slider_rig.record_of(armature)["names"])
    for obj in armature.children:
        keys = obj.data.shape_keys if obj.type == "MESH" else None
        if keys is not None and names <= set(keys.key_blocks.keys()):
            return obj
    return None


def _set(armature, values) -> None:
    for name, value in zip(slider_rig.record_of(armature)["names"], values, strict=True):
        armature[name] = float(value)
    armature.update_tag()


def reset(armature) -> None:
    """The body that the sliders were made from."""
    _set(armature, np.zeros(len(slider_rig.record_of(armature)["names"])))


def randomise(armature, seed: int) -> None:
    """A body that nobody has seen, no slider farther out than any of those that were."""
    seen = slider_rig.record_of(armature)["seen"]
    rng = np.random.default_rng(seed)
    values = rng.normal(seen.mean(axis=0), seen.std(axis=0))
    _set(armature, np.clip(values, seen.min(axis=0), seen.max(axis=0)))


def _keys_of(obj, names: list[str], to_armature: np.ndarray) -> np.ndarray:
    """[k][v][3] in the armature"""
    blocks, count = obj.data.shape_keys, len(obj.data.vertices)
    flat, found = np.empty(3 * count, np.float32), []
    for block in (blocks.reference_key, *(blocks.key_blocks[name] for name in names)):
        block.points.foreach_get("co", flat)
        found.append(flat.reshape(-1, 3).astype(np.float64) @ to_armature.T)
    return np.array(found[1:]) - found[0]


def find(armature, other) -> shapes.Found:
    """Sets the sliders to where another body lies among those that were seen."""
    obj = mesh_of(armature)
    if obj is None:
        raise Refusal(f"The mesh with the sliders of {armature.name} is gone.")
    names = slider_rig.record_of(armature)["names"]
    handle, first = Handle.of("objects", other), rigged.read(obj)
    if rigged.armature_of(other) is None:
        rest = fit.new_body(first, handle.get()).rest
    else:
        bodies.check(other, obj, rigged.in_space(other, np.eye(4)), rigged.in_space(obj, np.eye(4)))
        rest = rigged.in_space(other, matrix_of(rigged.armature_of(other)))
    to_armature = (np.linalg.inv(first.space) @ matrix_of(obj))[:3, :3]
    found = shapes.find(rest, first.skin.rest, _keys_of(obj, names, to_armature))
    _set(armature, np.clip(found.sliders, -slider_rig.FARTHEST_SLIDER, slider_rig.FARTHEST_SLIDER))
    return found
