"""Rig to cache: what moves, as it is seen, baked into shape keys, .pc2, .mdd, Alembic or USD.

    baked = run(bake(scene, view_layer, [armature], BakeOptions(to="PC2", filepath="walk.pc2")))

A mesh is read as Blender evaluates it, up to the last modifier that moves vertices; those after it stay live
on the copy. The copy stands still where the object stood in the first frame, without parent, and with the
object's rotation and scale: positions are in its space, so that the motion of the object and of its parents
is in them: x = L^-1 M(t) p for a vertex at p of an object at M(t), with the copy at L.

The rig is not changed. After an error or a cancel the scene and the files are as before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Matrix

from ..base import tolerances, whole
from ..base.handles import Handle, Place
from ..base.meshes import matrix_of, positions
from ..base.pointcache import Writer
from ..base.refusal import Refusal
from ..base.steps import Step
from ..motion import sources
from ..motion.capture import STILL, Part, Reader, SceneState, frame_range, visits
from ..options.options import CACHE_ENDINGS, BakeOptions, range_contradiction
from ..rig import heat, keys, skin, volumes
from ..rig.build import Maker, discard, present
from . import outputs, overlaps

MODIFIER = "Mesh Cache"
_EXPORTED = {"ALEMBIC", "USD"}


class Baked(NamedTuple):
    meshes: list  # the copies; none when they went into an Alembic or USD file
    files: list[Path]
    samples: int  # of each mesh


# ---- what is baked


def _moved_by(armature, view_layer) -> list:
    """The visible meshes that an armature deforms."""
    return [
        obj
        for obj in view_layer.objects
        if obj.type == "MESH"
        and obj.visible_get(view_layer=view_layer)
        and any(mod.type == "ARMATURE" and mod.object == armature for mod in obj.modifiers)
    ]


def meshes_of(objects, view_layer) -> list:
    """The meshes among the objects, and those that the armatures among them move."""
    found = []
    for obj in objects:
        found += _moved_by(obj, view_layer) if obj.type == "ARMATURE" else [obj]
    return list(dict.fromkeys(found))


def trouble(objects, view_layer) -> str | None:
    """Why the objects cannot be baked, in one sentence; None when they can."""
    if not objects:
        return "Nothing is selected: select a rig, or a mesh that moves."
    for obj in objects:
        if obj.type == "ARMATURE" and obj.mode == "EDIT":
            return f"{obj.name} is in Edit Mode: go back to Object Mode or Pose Mode."
    meshes = meshes_of(objects, view_layer)
    if not meshes:
        return f"{objects[0].name} moves no mesh that is visible here: there is nothing to bake."
    return sources.first_trouble(meshes, view_layer)


def _check_path(filepath: str, kind: str) -> None:
    """Refuses what would become a file that nobody looks for: one in the folder that Blender was started in,
    or one named after a folder."""
    if filepath.startswith("//") and not bpy.data.filepath:
        raise Refusal(
            "The cache shall be written beside the .blend, and that is not saved yet: save it, or name a"
            " folder."
        )
    if with_ending(filepath, kind) != filepath and Path(bpy.path.abspath(filepath)).is_dir():
        raise Refusal(f"{filepath} is a folder: name a file in it.")


def check(scene, view_layer, objects, options: BakeOptions) -> None:
    """Refuses, before anything is read, what cannot be baked."""
    sentence = trouble(objects, view_layer) or range_contradiction(options, scene)
    if sentence:
        raise Refusal(sentence)
    frame_range(scene, options)
    if options.to != "SHAPE_KEYS" and not options.filepath:
        raise Refusal("There is no file to write to: name one.")
    if options.to != "SHAPE_KEYS":
        _check_path(options.filepath, options.to)
        meshes = meshes_of(objects, view_layer)
        _refuse_what_is_read(objects, meshes, _files(meshes, options))
    if options.to in _EXPORTED:
        outputs.need_exporter(Path(with_ending(options.filepath, options.to)))


def _files(meshes, options: BakeOptions) -> list[Path]:
    """Where a bake is written."""
    path = Path(os.path.abspath(bpy.path.abspath(with_ending(options.filepath, options.to))))
    return [path] if options.to in _EXPORTED else cache_paths(path, [obj.name for obj in meshes])


def _refuse_what_is_read(objects, meshes, paths: list[Path]) -> None:
    """The caches that move what is baked, and those that a rig was made from."""
    read = list(meshes)
    for obj in objects:
        if obj.type == "ARMATURE":
            read += [item.object for item in obj.ossify.sources if item.object]
    guard = overlaps.Guard([("The cache", path) for path in paths])
    guard.reads(path for obj in read for path in sources.files_of(obj))
    for path in paths:
        whole.check(path)


def _key_times(meshes, frames: range) -> list[float]:
    """The keys of what moves the meshes, within the range; its ends are among them."""
    blocks = {}
    for obj in meshes:
        movers = [modifier.object for modifier in obj.modifiers if modifier.type == "ARMATURE"]
        for block in (obj, obj.parent, obj.data.shape_keys, *movers):
            if block is not None:
                blocks[block.session_uid] = block
    times = set().union(*(keys.times_of(block) for block in blocks.values()))
    inside = {time for time in times if frames[0] <= time <= frames[-1]}
    if not inside:
        raise Refusal(
            f"{meshes[0].name} has no keys between frames {frames[0]} and {frames[-1]}:"
            " bake a shape key for each frame instead."
        )
    return sorted({*inside, float(frames[0]), float(frames[-1])})


def _times(scene, meshes, options: BakeOptions) -> list:
    frames = frame_range(scene, options)
    if options.to == "SHAPE_KEYS" and options.shapes == "KEYS":
        return _key_times(meshes, frames)
    return list(frames)


def _go_to(scene, time: float) -> None:
    frame = math.floor(time)
    scene.frame_set(frame, subframe=time - frame)


# ---- the copies


@dataclasses.dataclass
class _Copy:
    """A mesh and its copy to be."""

    reader: Reader
    part: Part
    handle: Handle
    low: np.ndarray | None = None  # [v][3] the box of every vertex so far
    high: np.ndarray | None = None

    def read(self, when: str) -> np.ndarray:
        """[v][3] in the space of the copy"""
        points = np.empty((self.reader.vertices, 3), np.float32)
        self.reader.read(points, when)
        self.low = points if self.low is None else np.minimum(self.low, points)
        self.high = points if self.high is None else np.maximum(self.high, points)
        return points

    def moves(self) -> bool:
        size = float(np.linalg.norm(self.high.max(axis=0).astype(np.float64) - self.low.min(axis=0)))
        return float((self.high - self.low).max()) > STILL * size


def _stand(obj, matrix: np.ndarray) -> np.ndarray:
    """Puts the object at `matrix`, by itself; what is left of it without a shear, which it cannot have."""
    linear = matrix[:3, :3]
    flat = abs(np.linalg.det(linear)) <= tolerances.SINGULAR * np.abs(linear).max() ** 3
    obj.parent = None
    obj.delta_location, obj.delta_rotation_euler, obj.delta_scale = (0, 0, 0), (0, 0, 0), (1, 1, 1)
    obj.delta_rotation_quaternion = (1, 0, 0, 0)
    obj.matrix_basis = Matrix() if flat else Matrix.LocRotScale(*Matrix(matrix).decompose())
    return np.array(obj.matrix_basis, np.float64)


def _copy(maker: Maker, place: Place, handle: Handle) -> _Copy:
    """At the frame at hand, which is the first."""
    reader = Reader(place, [handle], np.eye(4), goal="be baked")
    matrix = matrix_of(handle.get().evaluated_get(place.get()[1].depsgraph))
    (part,) = reader.parts([matrix])
    obj = skin.copy_source(part, place, f"{part.name} Baked", maker.note)
    reader.from_world = np.linalg.inv(_stand(obj, matrix))
    heat.forget(obj.data)
    volumes.forget(obj.data)
    rest = positions(obj.data)
    reader.read_undeformed(rest, reader.parts([matrix]))
    skin.set_positions(obj.data, rest)
    return _Copy(reader, part, Handle.of("objects", obj))


def _show_again(copies: list[_Copy]) -> None:
    """Modifiers that stay live were hidden while the copies were made."""
    for copy in copies:
        source, obj = copy.part.source.get(), copy.handle.get()
        for name in copy.part.kept:
            if name in source.modifiers and name in obj.modifiers:
                obj.modifiers[name].show_viewport = source.modifiers[name].show_viewport


def _check_motion(copies: list[_Copy], times: list) -> None:
    if not any(copy.moves() for copy in copies):
        names = " and ".join(copy.part.name for copy in copies)
        verb = "do not move" if len(copies) > 1 else "does not move"
        raise Refusal(f"{names} {verb} between frames {times[0]:g} and {times[-1]:g}: nothing to bake.")


# ---- where positions go


class _ShapeKeys:
    """A key for each sample, whole in its frame and gone, linearly, in the one before and the one after."""

    def __init__(self, copy: _Copy, times: list, maker: Maker):
        self.copy, self.times, self.maker = copy, times, maker
        self.names: list[str] = []
        copy.handle.get().shape_key_add(name="Basis", from_mix=False)

    def add(self, points: np.ndarray) -> None:
        time = self.times[len(self.names)]
        key = self.copy.handle.get().shape_key_add(name=f"Frame {time:g}", from_mix=False)
        key.points.foreach_set("co", points.ravel())
        self.names.append(key.name)

    def finish(self) -> None:
        obj = self.copy.handle.get()
        block = obj.data.shape_keys
        action = self.maker.new("actions", obj.name)
        block.animation_data_create().action = action
        new = keys.curves(action, block)
        for index, name in enumerate(self.names):
            some = slice(max(index - 1, 0), index + 2)
            values = np.array([name == other for other in self.names[some]], float)
            path = f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'
            keys.fill(new(path, 0, "Shape Keys"), np.array(self.times[some]), values)
        obj.active_shape_key_index = 0


def _play(obj, file: Path, stored: str, times: list) -> None:
    """A Mesh Cache modifier that shows the first sample in the first frame."""
    modifier = obj.modifiers.new(MODIFIER, "MESH_CACHE")
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    modifier.cache_format = file.suffix[1:].upper()
    modifier.filepath = stored
    modifier.frame_scale = 1 / (times[1] - times[0])
    modifier.frame_start = times[0] * modifier.frame_scale  # sample = scale * frame - start


def cache_paths(path: Path, names: list[str]) -> list[Path]:
    """A file for each mesh: with several, their names are part of the file's."""
    if len(names) == 1:
        return [path]
    paths = []
    for name in names:
        stem = f"{path.stem}-{bpy.path.clean_name(name)}"
        number, wanted = 1, stem
        while path.with_name(wanted + path.suffix) in paths:
            wanted, number = f"{stem}-{number}", number + 1
        paths.append(path.with_name(wanted + path.suffix))
    return paths


def with_ending(filepath: str, kind: str) -> str:
    endings = CACHE_ENDINGS[kind]
    return filepath if filepath.lower().endswith(endings) else filepath + endings[0]


# ---- the steps


def _read(place: Place, copies, sinks, times: list, stops: list) -> Generator[float, None, None]:
    wanted = set(times)
    for count, time in enumerate(stops):
        _go_to(place.get()[0], time)
        if time in wanted:
            for copy, sink in zip(copies, sinks, strict=True):
                sink.add(copy.read(f"frame {time:g}"))
        yield (count + 1) / len(stops)
    _check_motion(copies, times)


def _sampled(maker, place, meshes, times, open_sinks) -> Generator[float, None, list[_Copy]]:
    """Copies, with their positions in what open_sinks(stack, copies) gives; the scene is as it was."""
    handles = [Handle.of("objects", obj) for obj in meshes]
    stops = visits(times, sources.simulation_start(*place.get()))
    state = SceneState(place, handles)
    try:
        with contextlib.ExitStack() as stack:
            _go_to(place.get()[0], times[0])
            copies = [_copy(maker, place, handle) for handle in handles]
            sinks = open_sinks(stack, copies)
            yield from _read(place, copies, sinks, times, stops)
            for sink in sinks:
                sink.finish()
    finally:
        state.restore()
    _show_again(copies)
    return copies


def _hand_over(maker: Maker, place: Place, name: str, copies: list[_Copy]) -> list:
    scene, layer = place.get()
    collection = maker.new("collections", f"{name} Bake")
    made = [copy.handle.get() for copy in copies]
    for obj in made:
        collection.objects.link(obj)
    scene.collection.children.link(collection)
    layer.update()
    present(layer, made)
    return made


def _bake_shapes(maker, place, name, meshes, times) -> Generator[float, None, Baked]:
    def keyed(_stack, copies):
        return [_ShapeKeys(copy, times, maker) for copy in copies]

    copies = yield from _sampled(maker, place, meshes, times, keyed)
    return Baked(_hand_over(maker, place, name, copies), [], len(times))


def _writers(paths: list[Path], times: list, fps: float):
    """Point caches for _sampled to fill."""

    def opened(stack, copies):
        return [
            stack.enter_context(Writer(path, copy.reader.vertices, times, fps))
            for path, copy in zip(paths, copies, strict=True)
        ]

    return opened


def _fps(scene) -> float:
    return scene.render.fps / scene.render.fps_base


def _bake_points(maker, place, name, meshes, times, filepath: str) -> Generator[float, None, Baked]:
    paths = cache_paths(Path(bpy.path.abspath(filepath)), [obj.name for obj in meshes])
    writers = _writers(paths, times, _fps(place.get()[0]))
    copies = yield from _sampled(maker, place, meshes, times, writers)
    for copy, file in zip(copies, paths, strict=True):
        stored = bpy.path.relpath(str(file)) if filepath.startswith("//") else os.path.abspath(file)
        _play(copy.handle.get(), file, stored, times)
    return Baked(_hand_over(maker, place, name, copies), paths, len(times))


def _workshop(maker: Maker, scene, copies: list[_Copy], times: list):
    """A scene with the copies and nothing else, for an exporter."""
    workshop = maker.new("scenes", "Ossify Workshop")
    workshop.render.fps, workshop.render.fps_base = scene.render.fps, scene.render.fps_base
    workshop.unit_settings.scale_length = scene.unit_settings.scale_length
    workshop.frame_start, workshop.frame_end = times[0], times[-1]
    for copy in copies:
        obj = copy.handle.get()
        for name in copy.part.kept:
            obj.modifiers.remove(obj.modifiers[name])
        obj.hide_viewport = obj.hide_render = False
        workshop.collection.objects.link(obj)
    workshop.view_layers[0].update()
    return workshop


def _bake_scene(maker, place, meshes, times, filepath: str) -> Generator[float, None, Baked]:
    """By way of point caches, so that all that is true of them is true of Alembic and USD."""
    path = Path(os.path.abspath(bpy.path.abspath(filepath)))
    with tempfile.TemporaryDirectory(prefix="ossify-") as folder:
        paths = cache_paths(Path(folder) / "points.pc2", [obj.name for obj in meshes])
        copies = yield from _sampled(maker, place, meshes, times, _writers(paths, times, 24.0))
        for copy, file in zip(copies, paths, strict=True):
            _play(copy.handle.get(), file, str(file), times)
        outputs.write_cache(path, _workshop(maker, place.get()[0], copies, times))
    discard(maker.made)
    return Baked([], [path], len(times))


def _bake(scene, view_layer, objects, options: BakeOptions) -> Generator[float, None, Baked]:
    view_layer.update()
    check(scene, view_layer, objects, options)
    place, name = Place.of(scene, view_layer), objects[0].name
    meshes = meshes_of(objects, view_layer)
    times = _times(scene, meshes, options)
    maker = Maker()
    try:
        if options.to == "SHAPE_KEYS":
            return (yield from _bake_shapes(maker, place, name, meshes, times))
        filepath = with_ending(options.filepath, options.to)
        if options.to in _EXPORTED:
            return (yield from _bake_scene(maker, place, meshes, times, filepath))
        return (yield from _bake_points(maker, place, name, meshes, times, filepath))
    except BaseException:
        discard(maker.made)
        raise


def bake(scene, view_layer, objects, options: BakeOptions) -> Generator[Step, None, Baked]:
    """Armatures stand for the meshes they move. The generator's value is what was made."""
    work = _bake(scene, view_layer, objects, options)
    try:
        while True:
            yield Step("Baking", next(work))
    except StopIteration as end:
        return end.value
    finally:
        work.close()
