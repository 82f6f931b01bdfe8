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
from . import drivers, keys, played, standing

NAME = "Corrective"
GROUP = "Correctives"  # of the curves in an action
_LONGEST_NAME = 63  # of a shape key, in bytes
_SLIDER_MARGIN = 1e-3  # by which a slider goes on behind its last value
_MARKS = 8  # numbers that a field is known by
_SCULPTED = 1e-4  # of a field's length: what differs by more is another one
_UNMOVED = 1e-9  # of the largest displacement: a mesh that moves less does without the key


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Correctives as arrays; v are the vertices of all meshes, one after the other."""

    names: list[str]
    fields: np.ndarray  # [n][v][3] in the armature's space
    values: np.ndarray  # [f][n]
    map: np.ndarray | None = None  # [n][b][9] of turns of the bones; None: keyed
    shifts: np.ndarray | None = None  # [n][b][3] and of their shifts; None: of turns alone


@dataclasses.dataclass(frozen=True)
class Held:
    """Correctives that stay as the artist has them: their keys are locked, or were sculpted."""

    names: list[str]
    fields: np.ndarray  # [n][v][3] in the armature's space
    values: np.ndarray  # [f][n] as they play


# ---- what there is


def names_of(armature) -> list[str]:
    return [name for name in armature.ossify.correctives.split("\n") if name]


def are_driven(armature) -> bool:
    return bool(names_of(armature)) and armature.ossify.correctives_driven


# ---- what an artist did to them


def _mark(field: np.ndarray) -> np.ndarray:
    """[n] numbers that tell a field [v][3] from one that was sculpted"""
    rng = np.random.default_rng(len(field))
    return np.array([float((field * rng.standard_normal(field.shape)).sum()) for _ in range(_MARKS)])


def _marks(armature, meshes: list, names: list[str]) -> str:
    fields = read_fields(armature, meshes, names).astype(np.float64)
    return "\n".join(" ".join(f"{number:.9g}" for number in _mark(field)) for field in fields)


def sculpted(armature, meshes: list) -> list[str]:
    """Those that are others than when they were made"""
    names, lines = names_of(armature), armature.ossify.correctives_marks.splitlines()
    if len(lines) != len(names):
        return []
    found = []
    for name, line, field in zip(names, lines, read_fields(armature, meshes), strict=True):
        field = field.astype(np.float64)
        apart = np.abs(_mark(field) - np.array(line.split(), np.float64)).max()
        if apart > _SCULPTED * max(float(np.linalg.norm(field)), 1e-300):
            found.append(name)
    return found


def _locked(meshes: list, name: str) -> bool:
    keys_of = (obj.data.shape_keys.key_blocks for obj in meshes if obj.data.shape_keys is not None)
    return any(blocks[name].lock_shape for blocks in keys_of if name in blocks)


def held_names(armature, meshes: list) -> list[str]:
    """Those whose shape keys are locked, and, if such are to be kept, those that were sculpted"""
    kept = set(sculpted(armature, meshes)) if armature.ossify.keep_reshaped else set()
    return [name for name in names_of(armature) if name in kept or _locked(meshes, name)]


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
    """values [f][n] of all correctives into an action that the armature has; tolerances [n] of the values"""
    times = np.asarray(times, np.float64)
    names = names_of(armature)
    _remove_curves(armature, action, {drivers.path_of(name) for name in names})
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
    """Properties, shape keys and drivers, beside those that are there; what is keyed is the caller's to key.
    Returns the names."""
    shapes = dataclasses.replace(shapes, names=_unused(shapes.names, armature, meshes))
    record = armature.ossify
    held = names_of(armature)
    record.correctives, record.correctives_driven = (
        "\n".join([*held, *shapes.names]),
        shapes.map is not None,
    )
    for n, name in enumerate(shapes.names):
        _new_property(armature, name, _limits(shapes.values[:, n], shapes.map is not None))
    for obj, rows in zip(meshes, slices, strict=True):
        _put_on(obj, rows, shapes, armature)
    if shapes.map is not None:
        at = [armature.data.bones.keys().index(name) for name in bones]
        rests = matrices_of(armature.data.bones, "matrix_local")[at][:, :3, :3]
        forms = drivers.forms(shapes.map, rests, shapes.shifts)
        for name, form in zip(shapes.names, forms, strict=True):
            drivers.turn(armature, name, form, bones)
    known = record.correctives_marks.splitlines()
    known = known if len(known) == len(held) else _marks(armature, meshes, held).splitlines()
    record.correctives_marks = "\n".join([*known, *_marks(armature, meshes, shapes.names).splitlines()])
    armature.update_tag()
    return shapes.names


def remove(armature, meshes: list, stay: list[str] = ()) -> int:
    """Takes them away but for those that stay; how many went. A Basis that is alone then goes as well."""
    every, record = names_of(armature), armature.ossify
    names = [name for name in every if name not in stay]
    helpers = [part for name in names for part in drivers.helpers_of(armature, name)]
    paths = {drivers.path_of(name) for name in (*names, *helpers)}
    for action in played.all_actions(armature):
        _remove_curves(armature, action, paths)
    for name in (*names, *helpers):
        if name in armature:
            armature.driver_remove(drivers.path_of(name))
            del armature[name]
    for obj in meshes:
        _remove_keys(obj, names)
    marks = dict(zip(every, record.correctives_marks.splitlines(), strict=False))
    left = [name for name in every if name in stay]
    record.correctives = "\n".join(left)
    record.correctives_marks = "\n".join(marks[name] for name in left if name in marks)
    record.correctives_note = ""
    record.correctives_driven = record.correctives_driven and bool(left)
    armature.update_tag()
    return len(names)


def _remove_curves(armature, action, paths: set[str]) -> None:
    for bag in keys.bags_of(armature, action):
        for curve in [curve for curve in bag.fcurves if curve.data_path in paths]:
            bag.fcurves.remove(curve)


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


def read_fields(armature, meshes: list, names: list[str] | None = None) -> np.ndarray:
    """[n][v][3] in the armature's space, as they stand now; of all, or of some"""
    names = names_of(armature) if names is None else names
    found = [np.empty((len(names), 0, 3))]  # of no mesh, there is nothing to read
    for obj in meshes:
        matrix = (np.linalg.inv(matrix_of(armature)) @ matrix_of(obj))[:3, :3]
        blocks = obj.data.shape_keys.key_blocks if obj.data.shape_keys is not None else {}
        each = [_displacement(blocks, name, len(obj.data.vertices)) @ matrix.T for name in names]
        found.append(np.array(each).reshape(len(names), len(obj.data.vertices), 3))
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
