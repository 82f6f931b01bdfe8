"""Another motion of a rig's meshes, as targets for the vertices of the rig.

What is read is what is seen: positions in world space, taken into the space of the armature, which may move
itself. With the place RIG the take is first carried to the rig, as an object that started where the rig's own
mesh stands: for takes that lie beside the rig, or came in another size.

A source with the vertices and edges of a rig's mesh gives its vertices as they are. Any other has the rig's
vertices found on its surface at rest, and carries them along (matching.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from ..base.handles import Handle
from ..base.meshes import edges_of, matrix_of
from ..base.refusal import Refusal
from ..base.surface import diagonal
from ..motion import matching, sources
from ..motion.capture import Reader, SceneState, frame_range, unmirrored, visits
from ..motion.clips import OTHER_SIZE
from ..options.options import TrackOptions, range_contradiction
from ..rig.stand import Standing
from ..rig.standing import Skin

_GOAL = "be tracked"


@dataclasses.dataclass
class Take:
    """The motion of one clip."""

    name: str
    sources: list[Handle]
    times: np.ndarray  # [f] int32 frames of the scene
    frames: np.ndarray  # [f][v][3] float32 for the vertices of the rig, in the armature's space
    notes: list[str]


# ---- which source gives which vertices


def _alike(mesh, other) -> bool:
    """Whether the same vertices are joined; faces may be turned over."""
    return len(mesh.vertices) == len(other.vertices) and np.array_equal(edges_of(mesh), edges_of(other))


def _pairs(meshes: list, evaluated: list) -> list[int] | None:
    """For each mesh of the rig the number of the source with its vertices; None: some mesh has none."""
    left, pairs = list(range(len(evaluated))), []
    for obj in meshes:
        found = [number for number in left if _alike(obj.data, evaluated[number].data)]
        if not found:
            return None
        named = [number for number in found if obj.name.startswith(evaluated[number].name)]
        pairs.append((named or found)[0])
        left.remove(pairs[-1])
    return pairs


class _Targets:
    """Turns the positions of all sources into those of the rig's vertices."""

    def __init__(self, skin: Skin, reader: Reader, pairs: list[int] | None):
        self.skin, self.reader, self.pairs = skin, reader, pairs
        self.match: matching.Match | None = None

    def find(self, rest: np.ndarray, limit: float) -> None:
        """Finds the rig's vertices on the sources at rest."""
        words = " and ".join(handle.name for handle in self.reader.handles)
        names = " and ".join(handle.name for handle in self.skin.handles)
        self.match = matching.match(self.skin.rest, self.skin.triangles, rest, self.reader.triangles, limit)
        matching.check(self.match, names, words, limit)

    @property
    def farthest(self) -> float | None:
        if self.match is None:
            return None
        return 100 * float(self.match.distances.max()) / diagonal(self.match.rest)

    def __call__(self, points: np.ndarray, out: np.ndarray) -> None:
        if self.match is not None:
            out[:] = self.match.follow(points)
            return
        for rows, number in zip(self.skin.slices, self.pairs, strict=True):
            out[rows] = points[self.reader.slices[number]]


# ---- where the take is seen


def _inverse(matrix: np.ndarray, name: str) -> np.ndarray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise Refusal(f"{name} is scaled to nothing: give it a size.") from None


class _View:
    """The way from the world to the armature's space, in the frame at hand."""

    def __init__(self, armature: Handle, source: np.ndarray, name: str, mesh, place: str):
        self.armature, self.carry = armature, np.eye(4)
        if place == "RIG":
            self.carry = matrix_of(mesh) @ _inverse(source @ unmirrored(source), name)

    def from_world(self, layer) -> np.ndarray:
        evaluated = self.armature.get().evaluated_get(layer.depsgraph)
        return _inverse(matrix_of(evaluated), self.armature.name) @ self.carry


def check(scene, view_layer, armature, objects, options: TrackOptions) -> None:
    """Refuses, before anything is read, what cannot be tracked."""
    if not objects:
        raise Refusal(f"There is nothing to track: select a mesh that moves together with {armature.name}.")
    sentence = range_contradiction(options, scene)
    if sentence:
        raise Refusal(sentence)
    for obj in objects:
        sentence = sources.trouble(obj, view_layer)
        if sentence:
            raise Refusal(sentence)
        if obj.type == "MESH" and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers):
            raise Refusal(f"{obj.name} is moved by {armature.name} itself: choose another source.")
    frame_range(scene, options, 1)


def _spread(points: np.ndarray) -> float:
    """Root mean square distance from the middle, the same however the points are turned."""
    return float(np.sqrt(points.astype(np.float64).var(axis=0).sum()))


def _size_note(take: np.ndarray, rest: np.ndarray, names: str) -> list[str]:
    ratio = _spread(take) / (_spread(rest) or 1.0)
    if abs(ratio - 1) <= OTHER_SIZE:
        return []
    return [f"{names} is {ratio:.3g} times as large as the rig at rest: bones do not change in size."]


class Source:
    """Meshes that move, ready to be read at any frame; made in the frame in which the take begins."""

    def __init__(self, stands: Standing, objects: list, options: TrackOptions):
        place, skin = stands.place, stands.skin
        scene, layer = place.get()
        self.place = place
        self.handles = [Handle.of("objects", obj) for obj in objects]
        evaluated = [obj.evaluated_get(layer.depsgraph) for obj in objects]
        matrices = [matrix_of(obj) for obj in evaluated]
        for obj, matrix in zip(objects, matrices, strict=True):
            _inverse(matrix, obj.name)  # wherever it is placed, there is nothing to see of one without a size
        pairs = _pairs(skin.meshes, evaluated)
        self.reader = Reader(place, self.handles, np.eye(4), _GOAL)
        self.targets = _Targets(skin, self.reader, pairs)
        first = 0 if pairs is None else pairs[0]
        self.view = _View(stands.handle, matrices[first], objects[first].name, skin.meshes[0], options.place)
        self.points = np.empty((self.reader.vertices, 3), np.float32)
        self.notes: list[str] = []

        self._read_points(f"frame {scene.frame_current}")
        rest = self.points.copy()
        self.reader.read_undeformed(rest, self.reader.parts(matrices))
        if pairs is None:
            self.targets.find(rest, options.match_limit)
            self.notes.append(
                f"{self.names} has other vertices than the rig: found by position, the farthest at"
                f" {self.targets.farthest:.2g} % of the size."
            )
        if pairs is not None:  # found by position at rest, it has the rig's size
            self.notes += _size_note(rest, skin.rest, self.names)

    @property
    def names(self) -> str:
        return " and ".join(handle.name for handle in self.handles)

    def _read_points(self, when: str) -> None:
        self.reader.from_world = self.view.from_world(self.place.get()[1])
        self.reader.read(self.points, when)

    def read(self, out: np.ndarray, when: str) -> None:
        """out [v][3]: targets for the vertices of the rig, in the frame at hand"""
        self._read_points(when)
        self.targets(self.points, out)


def read(stands: Standing, objects: list, options: TrackOptions) -> Generator[float, None, Take]:
    """Yields how far it is, 0 to 1. The scene's frame and the modifiers are as before after every way out."""
    place = stands.place
    scene, layer = place.get()
    times = list(frame_range(scene, options, 1))
    stops = visits(times, sources.simulation_start(scene, layer))
    frames = np.empty((len(times), len(stands.skin.rest), 3), np.float32)
    rows = {time: row for row, time in enumerate(times)}
    state = SceneState(place, [Handle.of("objects", obj) for obj in objects])
    try:
        scene.frame_set(times[0])
        source = Source(stands, objects, options)
        for count, time in enumerate(stops):
            place.get()[0].frame_set(time)
            if time in rows:
                source.read(frames[rows[time]], f"frame {time}")
            yield (count + 1) / len(stops)
    finally:
        state.restore()
    name = options.name or source.handles[0].name
    return Take(name, source.handles, np.array(times, np.int32), frames, source.notes)
