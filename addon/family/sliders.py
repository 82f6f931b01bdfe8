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
from ..base.steps import Step, step
from ..base.words import counted
from ..options.options import SlidersOptions
from . import bodies, fit, mirrored, rigged, shapes, slider_rig, whole


class Made(NamedTuple):
    armature: object
    mesh: object
    sliders: int
    bodies: int
    mirrored: bool
    left: float  # percent of the size

    def sentence(self) -> str:
        images = " and their mirror images" if self.mirrored else ""
        return (
            f"{counted(self.sliders, 'slider')} for {self.bodies} bodies{images}: they miss the bodies by"
            f" {self.left:.2g} % of the size."
        )


# ---- what is there


def trouble(active, others) -> str | None:
    """For polls: quick; why there can be no sliders, in one sentence; None when there can."""
    armature = rigged.armature_of(active)
    if slider_rig.is_one(armature):
        return f"{armature.name} has sliders: make them from the rig that it came from."
    return whole.trouble(active, others)


# ---- steps


def make(scene, view_layer, active, others, options: SlidersOptions) -> Generator[Step, None, Made]:
    """One step to undo; the rig that is copied is hidden."""
    view_layer.update()
    place, family = Place.of(scene, view_layer), whole.read(active, others, trouble)
    first, rests = family.first, family.rests()
    yield step("Reading", 1.0)
    joints, tails = yield from whole.skeletons(family)
    bodies_seen = len(rests)
    if options.mirrored:
        rests, ends = shapes.in_one_place(rests, np.concatenate([joints, tails], axis=1))
        joints, tails = np.split(ends, 2, axis=1)
        rests, joints = mirrored.with_images(rests, joints, tails, first.skin.triangles, first.names)
    found = shapes.principal(rests, joints, options.count, first.skin.weights, first.deforming)
    if not found.names:
        raise Refusal(f"All bodies have the shape of {active.name}: there is nothing to slide.")
    yield step("Building", 0.5)
    family.check_sources()
    to_mesh = (np.linalg.inv(matrix_of(first.mesh.get())) @ first.space)[:3, :3]

    def build(_maker, armature, mesh) -> None:
        slider_rig.build(armature, [mesh], first.names, found, first.rest)
        slider_rig.add_keys(mesh, armature, found, to_mesh)

    armature, mesh = whole.write(place, first, "Bodies", build)
    return Made(armature, mesh, len(found.names), bodies_seen, options.mirrored, found.left)


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
