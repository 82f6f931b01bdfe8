"""Correctives of a rig: shape keys, which act before the armature does, and what moves them.

A corrective is a property of the armature, keyed in the actions of its clips or driven by the bones
(drivers.py), and on each mesh that it moves a shape key of the same name, which follows the property. So one
slider moves several meshes, and clips, the NLA and copies of the armature take it along. The sliders end
where the motion ended: what is driven goes no further in poses that nobody has seen.
"""

from __future__ import annotations

import dataclasses

import bpy
import numpy as np

from ..base.handles import Handle
from ..base.meshes import matrices_of, matrix_of
from ..base.refusal import Refusal
from . import drivers, keys, played, standing

NAME = "Corrective"
GROUP = "Correctives"  # of the curves in an action
_LONGEST_NAME = 63  # of a shape key, in bytes
_SLIDER_MARGIN = 1e-3  # by which a slider goes on behind its last value
_UNMOVED = 1e-9  # of the largest displacement: a mesh that moves less does without the key


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Correctives as arrays; v are the vertices of all meshes, one after the other."""

    names: list[str]
    fields: np.ndarray  # [n][v][3] in the armature's space
    values: np.ndarray  # [f][n]
    map: np.ndarray | None = None  # [n][b][9] of turns of the bones; None: keyed


# ---- what there is


def names_of(armature) -> list[str]:
    return [name for name in armature.ossify.correctives.split("\n") if name]


def are_driven(armature) -> bool:
    return bool(names_of(armature)) and armature.ossify.correctives_driven


def check_none(armature) -> None:
    """Refuses what does not know correctives."""
    if names_of(armature):
        raise Refusal(
            f"{armature.name} has correctives, which were made for its bones and weights as they are: do that"
            " after Remove Correctives, and add them again."
        )


def named(joints, bones: list[str]) -> list[str]:
    """A name for each: that of the bone at whose joint it acts, or a number."""
    found = []
    digits = max(3, len(str(len(joints))))
    for number, joint in enumerate(joints):
        base = f"{NAME}.{number + 1:0{digits}}"
        if joint >= 0:
            base = bones[joint]
            count = sum(1 for other in joints[:number] if other == joint)
            base = f"{base} {count + 1}" if count else base
        while len(base.encode()) > _LONGEST_NAME:
            base = base[:-1]
        found.append(base)
    return found


def _unused(names: list[str], armature, meshes: list) -> list[str]:
    """The names, numbered on where the artist has used one."""
    taken = set(armature.keys())
    for obj in meshes:
        if obj.data.shape_keys is not None:
            taken |= set(obj.data.shape_keys.key_blocks.keys())
    found = []
    for name in names:
        free, count = name, 1
        while free in taken:
            count += 1
            free = f"{name[: _LONGEST_NAME - 8]} ({count})"
        taken.add(free)
        found.append(free)
    return found


# ---- shape keys


def _limits(values: np.ndarray, driven: bool) -> tuple[float, float]:
    """Of a slider: keyed ones have room for another clip."""
    low, high = min(float(values.min(initial=0)), 0.0), max(float(values.max(initial=0)), 0.0)
    return (low - _SLIDER_MARGIN, high + _SLIDER_MARGIN) if driven else (low - 1.0, high + 1.0)


def _new_key(obj, name: str, points: np.ndarray, limits, armature) -> None:
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    block = obj.shape_key_add(name=name, from_mix=False)
    block.points.foreach_set("co", np.ascontiguousarray(points, np.float32).ravel())
    block.slider_min, block.slider_max = limits
    path = block.path_from_id("value")
    drivers.follow(obj.data.shape_keys, path, armature, [name])


def _basis(obj) -> np.ndarray:
    flat = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3).astype(np.float64)


def _put_on(obj, rows: slice, shapes: Shapes, armature) -> None:
    """The keys of one mesh; those that do nothing to it are left out."""
    back = np.linalg.inv((np.linalg.inv(matrix_of(armature)) @ matrix_of(obj))[:3, :3])
    basis = _basis(obj)
    for n, name in enumerate(shapes.names):
        moved = shapes.fields[n, rows].astype(np.float64)
        if np.abs(moved).max(initial=0) > _UNMOVED * np.abs(shapes.fields[n]).max():
            limits = _limits(shapes.values[:, n], shapes.map is not None)
            _new_key(obj, name, basis + moved @ back.T, limits, armature)
    obj.active_shape_key_index = 0


def _new_property(armature, name: str, limits: tuple[float, float]) -> None:
    low, high = limits
    armature[name] = 0.0
    armature.id_properties_ui(name).update(
        min=low, max=high, soft_min=low, soft_max=high, default=0.0, description="A corrective of this rig"
    )


# ---- keys


def _needed(times: np.ndarray, values: np.ndarray, tolerance: float) -> np.ndarray:
    """[n] rows: the fewest found between which a line strays by no more than the tolerance, by splitting at
    the worst (Douglas & Peucker 1973)"""
    kept, left = {0, len(times) - 1}, [(0, len(times) - 1)]
    while left:
        a, b = left.pop()
        line = np.interp(times[a : b + 1], times[[a, b]], values[[a, b]])
        apart = np.abs(line - values[a : b + 1])
        worst = a + int(apart.argmax())
        if apart.max() > tolerance and a < worst < b:
            kept.add(worst)
            left += [(a, worst), (worst, b)]
    return np.array(sorted(kept))


def key_clip(armature, action, times, values: np.ndarray, tolerances_by_key: np.ndarray) -> None:
    """values [f][n] into an action that the armature has; tolerances [n] of the values"""
    times = np.asarray(times, np.float64)
    names = names_of(armature)
    paths = {drivers.path_of(name) for name in names}
    for bag in keys.bags_of(armature, action):
        for curve in [curve for curve in bag.fcurves if curve.data_path in paths]:
            bag.fcurves.remove(curve)
    new = keys.curves(action, armature)
    for n, name in enumerate(names):
        rows = _needed(times, values[:, n], tolerances_by_key[n])
        keys.fill(new(drivers.path_of(name), 0, GROUP), times[rows], values[rows, n])


def tolerances_of(fields: np.ndarray, tolerance: float | None) -> np.ndarray:
    """[n] how far a value may be off, if all of them together may move a vertex by `tolerance`; None: not at
    all"""
    largest = np.linalg.norm(fields, axis=2).max(axis=1, initial=0)
    return (
        np.zeros(len(fields)) if tolerance is None else tolerance / len(fields) / np.maximum(largest, 1e-300)
    )


# ---- all of it


def put(armature, meshes: list, slices: list[slice], shapes: Shapes, bones: list[str]) -> list[str]:
    """Properties, shape keys and drivers; what is keyed is the caller's to key. Returns the names."""
    shapes = dataclasses.replace(shapes, names=_unused(shapes.names, armature, meshes))
    record = armature.ossify
    record.correctives, record.correctives_driven = "\n".join(shapes.names), shapes.map is not None
    for n, name in enumerate(shapes.names):
        _new_property(armature, name, _limits(shapes.values[:, n], shapes.map is not None))
    for obj, rows in zip(meshes, slices, strict=True):
        _put_on(obj, rows, shapes, armature)
    if shapes.map is not None:
        at = [armature.data.bones.keys().index(name) for name in bones]
        rests = matrices_of(armature.data.bones, "matrix_local")[at][:, :3, :3]
        for name, form in zip(shapes.names, drivers.forms(shapes.map, rests), strict=True):
            drivers.turn(armature, name, form, bones)
    armature.update_tag()
    return shapes.names


def remove(armature, meshes: list) -> int:
    """Takes them away; how many there were. A Basis that is alone then goes as well."""
    names = names_of(armature)
    helpers = [part for name in names for part in drivers.helpers_of(armature, name)]
    paths = {drivers.path_of(name) for name in (*names, *helpers)}
    for action in played.all_actions(armature):
        for bag in keys.bags_of(armature, action):
            for curve in [curve for curve in bag.fcurves if curve.data_path in paths]:
                bag.fcurves.remove(curve)
    for name in (*names, *helpers):
        if name in armature:
            armature.driver_remove(drivers.path_of(name))
            del armature[name]
    for obj in meshes:
        _remove_keys(obj, names)
    armature.ossify.correctives = armature.ossify.correctives_note = ""
    armature.ossify.correctives_driven = False
    armature.update_tag()
    return len(names)


def _remove_keys(obj, names: list[str]) -> None:
    shapes = obj.data.shape_keys
    if shapes is None:
        return
    for name in names:
        block = shapes.key_blocks.get(name)
        if block is not None:
            shapes.driver_remove(block.path_from_id("value"))
            obj.shape_key_remove(block)
    if len(shapes.key_blocks) == 1:
        handle = Handle.of("shape_keys", shapes)
        obj.shape_key_clear()
        orphan = handle.find()
        if orphan is not None:
            bpy.data.batch_remove([orphan])


# ---- as arrays


def read_fields(armature, meshes: list) -> np.ndarray:
    """[n][v][3] in the armature's space, as they stand now"""
    found = []
    for obj in meshes:
        matrix = (np.linalg.inv(matrix_of(armature)) @ matrix_of(obj))[:3, :3]
        blocks = obj.data.shape_keys.key_blocks if obj.data.shape_keys is not None else {}
        found.append(
            [_displacement(blocks, name, len(obj.data.vertices)) @ matrix.T for name in names_of(armature)]
        )
    return np.concatenate(found, axis=1).astype(np.float32)


def _displacement(blocks, name: str, vertices: int) -> np.ndarray:
    if name not in blocks:
        return np.zeros((vertices, 3))
    points = []
    for block in (blocks[name], blocks[name].relative_key):
        flat = np.empty(3 * vertices, np.float32)
        block.points.foreach_get("co", flat)
        points.append(flat.reshape(-1, 3).astype(np.float64))
    return points[0] - points[1]


def _value(meshes: list, name: str, depsgraph) -> float:
    """As Blender evaluates the slider."""
    for obj in meshes:
        shapes = obj.data.shape_keys
        if shapes is not None and name in shapes.key_blocks:
            return shapes.evaluated_get(depsgraph).key_blocks[name].value
    return 0.0


def read_values(armature, meshes: list) -> np.ndarray:
    """[f][n] as Blender evaluates them, in the frames of all clips of the rig"""
    names, rows = names_of(armature), []
    with standing.alone(armature, meshes) as (scene, layer):
        for clip in played.of(armature):
            with played.playing(armature, clip):
                for time in clip.times.tolist():
                    scene.frame_set(time)
                    rows.append([_value(meshes, name, layer.depsgraph) for name in names])
    return np.array(rows, np.float64).reshape(-1, len(names))
