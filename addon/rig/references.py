"""Who names a bone of an armature: constraints, drivers, modifiers, children, custom shapes, of all objects.

What an artist built on a bone must not break in silence when the bone goes: it is named another bone instead,
or it is listed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import bpy


@dataclasses.dataclass
class Reference:
    bone: str  # that is named
    words: str  # by whom, for the artist
    rename: Callable[[str], None]  # makes it name another


def _setter(owner, name: str) -> Callable[[str], None]:
    return lambda value: setattr(owner, name, value)


def _of_constraints(armature, constraints, owner: str) -> Iterator[Reference]:
    for constraint in constraints:
        words = f"{owner}'s constraint {constraint.name}"
        if constraint.type == "ARMATURE":
            for target in constraint.targets:
                if target.target == armature and target.subtarget:
                    yield Reference(target.subtarget, words, _setter(target, "subtarget"))
            continue
        for place, bone in (("target", "subtarget"), ("pole_target", "pole_subtarget")):
            if getattr(constraint, place, None) == armature and getattr(constraint, bone, ""):
                yield Reference(getattr(constraint, bone), words, _setter(constraint, bone))


def _of_object(armature, obj) -> Iterator[Reference]:
    yield from _of_constraints(armature, obj.constraints, obj.name)
    if obj.parent == armature and obj.parent_type == "BONE":
        yield Reference(obj.parent_bone, f"{obj.name}'s parent", _setter(obj, "parent_bone"))
    for modifier in obj.modifiers:
        for prop in modifier.bl_rna.properties:
            if prop.type != "STRING" or not prop.identifier.startswith(("subtarget", "bone_")):
                continue
            end = prop.identifier.removeprefix("subtarget").removeprefix("bone")
            target = getattr(modifier, "object" + end, None)
            if target == armature and getattr(modifier, prop.identifier):
                words = f"{obj.name}'s modifier {modifier.name}"
                yield Reference(getattr(modifier, prop.identifier), words, _setter(modifier, prop.identifier))
    if obj.type == "ARMATURE":
        for bone in obj.pose.bones:
            yield from _of_constraints(armature, bone.constraints, bone.name)
            if obj == armature and bone.custom_shape_transform is not None:
                shape = bone.custom_shape_transform.name
                yield Reference(
                    shape,
                    f"{bone.name}'s custom shape",
                    lambda name, bone=bone: setattr(
                        bone, "custom_shape_transform", armature.pose.bones.get(name)
                    ),
                )


def _path_of(name: str) -> str:
    return f'pose.bones["{bpy.utils.escape_identifier(name)}"]'


def _of_driver(armature, names: list[str], block, curve) -> Iterator[Reference]:
    words = f"{block.name}'s driver of {curve.data_path}"
    for variable in curve.driver.variables:
        for target in variable.targets:
            if target.id != armature:
                continue
            if target.bone_target:
                yield Reference(target.bone_target, words, _setter(target, "bone_target"))
            for name in names:
                if _path_of(name) in target.data_path:

                    def rename(other, target=target, name=name):
                        target.data_path = target.data_path.replace(_path_of(name), _path_of(other))

                    yield Reference(name, words, rename)


def _animated_blocks() -> Iterator:
    """All data-blocks that may have drivers, shape keys and node trees among them."""
    for kind in bpy.data.bl_rna.properties:
        if kind.type == "COLLECTION" and kind.identifier != "all_ids":
            yield from getattr(bpy.data, kind.identifier)


def _drivers() -> Iterator[tuple]:
    for block in _animated_blocks():
        for owner in (block, getattr(block, "node_tree", None)):
            data = getattr(owner, "animation_data", None)
            for curve in data.drivers if data else ():
                yield owner, curve


def to(armature, names: list[str]) -> list[Reference]:
    """All that name one of these bones."""
    found = [reference for obj in bpy.data.objects for reference in _of_object(armature, obj)]
    for block, curve in _drivers():
        found += _of_driver(armature, names, block, curve)
    return [reference for reference in found if reference.bone in names]


def carried(armature, name: str) -> list[str]:
    """What the bone itself has, and would take along: constraints and drivers, for the artist."""
    bone, data = armature.pose.bones[name], armature.animation_data
    words = [f"{name}'s own constraint {constraint.name}" for constraint in bone.constraints]
    drivers = data.drivers if data else ()
    return words + [
        f"{name}'s own driver of {curve.data_path.rpartition('.')[2]}"
        for curve in drivers
        if curve.data_path.startswith(_path_of(name))
    ]
