"""Scene to arrays: the positions of moving meshes over frames, or over shape keys.

Positions are taken from what Blender evaluates, up to the last modifier that moves vertices, in world space
seen from the armature to come: a frame with the first object's location and rotation, and no scale.
After every way out, error and cancel included, the scene's frame and the modifiers are as before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Generator

import bpy
import numpy as np
from mathutils import Matrix

from ..base.handles import Handle, Place
from ..base.meshes import matrix_of, positions, same_topology, triangles_of
from ..base.pointcache import MOST_FRAME
from ..base.refusal import Refusal
from ..base.rigid import nearest_rotation
from ..options.options import Options, contradiction
from . import sources

_SAME_MATRIX = 1e-12  # matrices nearer than this are equal
STILL = 1e-7  # of the size: nothing that moves less than this moves


@dataclasses.dataclass
class Part:
    """One mesh among the captured ones."""

    source: Handle
    name: str
    vertices: slice  # its rows in the arrays
    matrix: np.ndarray  # [4][4] object to armature, at rest
    kept: list[str]  # modifiers that stay live on the result
    own_mesh: bool  # the source's mesh has these vertices; if not, its modifiers made them


@dataclasses.dataclass
class Clip:
    """A part of the motion that becomes an action of its own."""

    name: str
    rows: slice  # of the frames
    source: Handle  # the first object it was read from


@dataclasses.dataclass
class Motion:
    place: Place
    parts: list[Part]
    space: np.ndarray  # [4][4] armature to world: a rotation and a translation
    rest: np.ndarray | None  # [v][3] float32; None: to be synthesised
    frames: np.ndarray  # [f][v][3] float32
    triangles: np.ndarray  # [t][3] int32; a loose edge is a triangle with a corner twice
    times: np.ndarray  # [f] int32 frames of the scene
    poses: list[str] | None  # [f] names, when shape keys were taken as poses
    notes: list[str]  # for the artist, a sentence each
    clips: list[Clip] = dataclasses.field(default_factory=list)  # empty: all of it is one

    def check_sources(self) -> None:
        """Refuses when a source was removed since: there is nothing left to build from."""
        for handle in (*(part.source for part in self.parts), *(clip.source for clip in self.clips)):
            handle.get()


# ---- frames


def frame_range(scene, options: Options, least: int = 2) -> range:
    """The frames to capture, `least` of them or more."""
    if options.frames == "CUSTOM":
        first, last = options.frame_start, options.frame_end
    elif options.frames == "PREVIEW" and scene.use_preview_range:
        first, last = scene.frame_preview_start, scene.frame_preview_end
    else:
        first, last = scene.frame_start, scene.frame_end
    if max(abs(first), abs(last)) > MOST_FRAME:
        raise Refusal(f"The range goes from {first} to {last}; Blender counts frames to {MOST_FRAME}.")
    times = range(first, last + 1, options.frame_step)
    if not times:
        raise Refusal(f"The range ends ({last}) before it starts ({first}): there are no frames in it.")
    if len(times) < least:
        raise Refusal(f"The range has one frame ({first}): a motion needs at least two.")
    return times


def pose_names(objects) -> list[str]:
    """The shape keys of all objects by name, in the order in which they are first met; a Basis first."""
    keyed = [sources.keys_of(obj) for obj in objects if len(sources.keys_of(obj)) > 1]
    return list(dict.fromkeys([keyed[0][0].name, *(key.name for keys in keyed for key in keys[1:])]))


# ---- the scene as it was


class SceneState:
    """What reading changes for a while, and puts back."""

    def __init__(self, place: Place, handles: list[Handle]):
        scene, layer = place.get()
        self.place = place
        self.frame = scene.frame_current, scene.frame_subframe
        self.changed: list[tuple[Handle, str | None, str, object]] = []
        for handle in handles:
            for modifier in sources.kept(handle.get()):
                if modifier.show_viewport:
                    self._set(handle, modifier.name, "show_viewport", False)
        layer.update()

    def _set(self, handle: Handle, modifier: str | None, name: str, value) -> None:
        block = handle.get().modifiers[modifier] if modifier else handle.get()
        self.changed.append((handle, modifier, name, getattr(block, name)))
        setattr(block, name, value)

    def pin(self, handle: Handle, key: int) -> None:
        """Shows one shape key, whole and alone."""
        self._set(handle, None, "show_only_shape_key", True)
        self._set(handle, None, "active_shape_key_index", key)

    def restore(self) -> None:
        for handle, modifier, name, value in reversed(self.changed):
            block = handle.find()
            if block is not None and modifier is not None:
                block = block.modifiers.get(modifier)
            if block is not None:
                setattr(block, name, value)
        self.changed.clear()
        with contextlib.suppress(Refusal):
            scene, layer = self.place.get()
            if (scene.frame_current, scene.frame_subframe) != self.frame:
                scene.frame_set(self.frame[0], subframe=self.frame[1])
            layer.update()


# ---- one mesh at the frame at hand


def _transformed(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    if np.abs(matrix - np.eye(4)).max() < _SAME_MATRIX:  # then not a bit changes
        return points
    return points.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def _basis(obj) -> np.ndarray:
    """[v][3] the mesh's own positions."""
    keys = obj.data.shape_keys
    if keys is None:
        return positions(obj.data)
    flat = np.empty(3 * len(obj.data.vertices), np.float32)
    keys.reference_key.points.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def _undeformed(obj, scene, layer) -> np.ndarray:
    """[v][3] what the object's modifiers make of its mesh when none of them moves it."""
    spare = obj.copy()
    try:
        spare.animation_data_clear()
        moving = {modifier.name for modifier in sources.movers(spare)}
        live = {modifier.name for modifier in sources.kept(spare)}
        for modifier in list(spare.modifiers):
            if modifier.name in moving | live:
                spare.modifiers.remove(modifier)
        spare.show_only_shape_key, spare.active_shape_key_index = True, 0
        scene.collection.objects.link(spare)
        layer.update()
        return positions(spare.evaluated_get(layer.depsgraph).data)
    finally:
        bpy.data.objects.remove(spare)


# ---- all meshes


class Reader:
    """Reads all objects at the frame at hand into one row of positions."""

    def __init__(self, place: Place, handles: list[Handle], space: np.ndarray, goal: str = "become a rig"):
        self.place, self.handles, self.goal = place, handles, goal
        self.from_world = np.linalg.inv(space)
        scene, layer = place.get()
        self.counts, self.own_mesh, triangles, start = [], [], [], 0
        for handle in handles:
            obj = handle.get()
            mesh = obj.evaluated_get(layer.depsgraph).data
            if not len(mesh.vertices):
                raise Refusal(f"{obj.name} has no vertices.")
            triangles.append(triangles_of(mesh) + start)
            self.counts.append(len(mesh.vertices))
            self.own_mesh.append(same_topology(obj.data, mesh))
            start += len(mesh.vertices)
        self.first_frame = scene.frame_current
        self.triangles = np.ascontiguousarray(np.concatenate(triangles), np.int32)
        ends = np.cumsum(self.counts)
        self.slices = [slice(end - count, end) for end, count in zip(ends, self.counts, strict=True)]
        self.vertices = int(ends[-1])

    def read(self, out: np.ndarray, when: str) -> None:
        """out [v][3]"""
        layer = self.place.get()[1]
        for handle, rows, count in zip(self.handles, self.slices, self.counts, strict=True):
            evaluated = handle.get().evaluated_get(layer.depsgraph)
            points = positions(evaluated.data)
            if len(points) != count:
                raise Refusal(
                    f"{handle.name} has {count} vertices in frame {self.first_frame} and {len(points)} in"
                    f" {when}: only a mesh that keeps its vertices can {self.goal}."
                )
            out[rows] = _transformed(self.from_world @ matrix_of(evaluated), points)
            if not np.isfinite(out[rows]).all():
                vertex = int(np.argmax(~np.isfinite(out[rows]).all(axis=1)))
                raise Refusal(f"{handle.name} has no finite position for vertex {vertex} in {when}.")

    def parts(self, matrices: list[np.ndarray]) -> list[Part]:
        return [
            Part(
                source=handle,
                name=handle.name,
                vertices=rows,
                matrix=self.from_world @ matrix,
                kept=[modifier.name for modifier in sources.kept(handle.get())],
                own_mesh=own,
            )
            for handle, rows, matrix, own in zip(
                self.handles, self.slices, matrices, self.own_mesh, strict=True
            )
        ]

    def read_undeformed(self, out: np.ndarray, parts: list[Part]) -> list[str]:
        """Where there is nothing undeformed, `out` keeps what it holds; the names of such objects."""
        scene, layer = self.place.get()
        missing = []
        for part in parts:
            obj = part.source.get()
            points = _basis(obj) if part.own_mesh else _undeformed(obj, scene, layer)
            if len(points) == len(out[part.vertices]):
                out[part.vertices] = _transformed(part.matrix, points)
            else:
                missing.append(obj.name)
        return missing


def unmirrored(matrix: np.ndarray) -> np.ndarray:
    """[4][4] the reflection of the object's own axes that makes a mirrored matrix a proper one.

    Of the four that do, the one that leaves the object turned the least; the identity for a proper matrix.
    """
    linear = matrix[:3, :3]
    if np.linalg.det(linear) >= 0:
        return np.eye(4)
    signs = [(-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, -1, 1), (-1, -1, -1, 1)]
    turns = [float(np.trace(nearest_rotation(linear @ np.diag(sign[:3])))) for sign in signs]
    return np.diag(signs[int(np.argmax(np.round(turns, 6)))]).astype(np.float64)


def _armature_space(matrix: np.ndarray) -> np.ndarray:
    """Location and rotation of an object's matrix."""
    location, rotation, _ = Matrix(matrix @ unmirrored(matrix)).decompose()
    return np.array(Matrix.LocRotScale(location, rotation, None), np.float64)


def _check_motion(motion: Motion) -> None:
    low, high = motion.frames.min(axis=0), motion.frames.max(axis=0)
    size = float(np.linalg.norm(high.max(axis=0).astype(np.float64) - low.min(axis=0)))
    if float((high - low).max()) <= STILL * size:
        names = " and ".join(part.name for part in motion.parts)
        verb = "do not move" if len(motion.parts) > 1 else "does not move"
        when = (
            "between its shape keys"
            if motion.poses
            else f"between frames {motion.times[0]} and {motion.times[-1]}"
        )
        raise Refusal(f"{names} {verb} {when}: there is no motion to convert.")


def _notes(objects) -> list[str]:
    return [
        f"{obj.name}'s mesh is shared by {obj.data.users} objects; the rig has a copy of its own."
        for obj in objects
        if obj.data.users > 1
    ]


def visits(times: list, start: int | None) -> list:
    """The frames to go through to see `times`, which rise: all from the start of a simulation on."""
    if start is None:
        return list(times)
    return sorted({*times, *range(min(start, math.floor(times[0])), math.floor(times[-1]) + 1)})


def _read_frames(reader: Reader, motion: Motion, start: int | None, rest_frame: int | None):
    """Fills motion.frames, and motion.rest where it is one of them."""
    rows = {int(time): row for row, time in enumerate(motion.times)}
    wanted = sorted(rows.keys() | ({rest_frame} if rest_frame is not None else set()))
    stops = visits(wanted, start)
    for count, time in enumerate(stops):
        reader.place.get()[0].frame_set(time)
        if time in rows:
            reader.read(motion.frames[rows[time]], f"frame {time}")
        if time == rest_frame:
            motion.rest = np.empty_like(motion.frames[0])
            reader.read(motion.rest, f"frame {time}")
        yield (count + 1) / len(stops)


def _read_poses(reader: Reader, motion: Motion, state: SceneState):
    """Fills motion.frames."""
    for row, name in enumerate(motion.poses):
        for handle in reader.handles:
            keys = sources.keys_of(handle.get())
            if keys:
                state.pin(handle, max(keys.find(name), 0))
        reader.place.get()[1].update()
        reader.read(motion.frames[row], f"shape key {name}")
        yield (row + 1) / len(motion.poses)


def _read_undeformed(reader: Reader, motion: Motion) -> None:
    """Fills motion.rest."""
    motion.rest = motion.frames[0].copy()
    if motion.poses is None:
        for name in reader.read_undeformed(motion.rest, motion.parts):
            motion.notes.append(
                f"{name} is made by its modifiers and has no undeformed shape: its rest is the first frame."
            )


def check(scene, view_layer, objects, options: Options) -> None:
    """Refuses, before anything is read, what cannot be captured."""
    if not objects:
        raise Refusal("Nothing is selected: select the meshes to convert.")
    sentence = contradiction(options, scene)
    if sentence:
        raise Refusal(sentence)
    poses = options.frames == "POSES" and sources.lack_poses(objects)
    for obj in objects:
        sentence = sources.trouble(obj, view_layer, poses)
        if sentence:
            raise Refusal(sentence)
    if options.frames != "POSES":
        frame_range(scene, options)


def capture(scene, view_layer, objects, options: Options) -> Generator[float, None, Motion]:
    """Yields how far it is, 0 to 1, and returns the motion. The first object gives the armature its place."""
    view_layer.update()  # scripts may just have linked the objects
    check(scene, view_layer, objects, options)
    place = Place.of(scene, view_layer)
    handles = [Handle.of("objects", obj) for obj in objects]
    poses = pose_names(objects) if options.frames == "POSES" else None
    times = range(1, len(poses) + 1) if poses else frame_range(scene, options)
    rest_frame = options.rest_frame if options.rest == "FRAME" else None
    start = None if poses else sources.simulation_start(scene, view_layer)
    notes = _notes(objects)

    state = SceneState(place, handles)
    try:
        if not poses:
            scene.frame_set(times[0] if rest_frame is None else rest_frame)
        matrices = [matrix_of(obj.evaluated_get(view_layer.depsgraph)) for obj in objects]
        space = _armature_space(matrices[0])
        if not poses:
            scene.frame_set(times[0])
        reader = Reader(place, handles, space)
        motion = Motion(
            place,
            parts=reader.parts(matrices),
            space=space,
            rest=None,
            frames=np.empty((len(times), reader.vertices, 3), np.float32),
            triangles=reader.triangles,
            times=np.array(times, np.int32),
            poses=poses,
            notes=notes,
        )
        if poses:
            yield from _read_poses(reader, motion, state)
        else:
            yield from _read_frames(reader, motion, start, rest_frame)
        if options.rest == "UNDEFORMED":
            _read_undeformed(reader, motion)
        _check_motion(motion)
        return motion
    finally:
        state.restore()
