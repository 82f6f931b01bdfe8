"""How well a rig replays its source, measured on what Blender evaluates, not on what the solver believes.

    E_RMS = 1000 / r sqrt(sum |x - y|^2 / (3 V F)),  r the radius of the tight sphere around the rest.

Distances are given in scene units and in percent of the size, the diagonal of the rest's bounding box. Refits
are weighed in the norm that they were solved in, which sees cracks (native/descent/fair.c).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator

import numpy as np

from .. import native
from ..base import surface
from ..base.meshes import matrix_of, positions
from ..base.words import counted, size_words
from ..motion.capture import Motion
from ..native import Conduct, Info, Rig, Skeleton
from ..skeleton import joints
from . import actions
from .build import Built

_FAIR_PATCH = 200  # vertices a bone; with fewer, fairness is weaker (docs/decomposition.md)
_REPLAYED = 4_000_000  # positions replayed by the library at a time, in whole frames: some 50 MB
_KIND_WORDS = {"ball": "ball", "hinge": "hinge", "stiff": "stiff", "loose": "guessed"}


@dataclasses.dataclass
class Report:
    erms: float
    size: float  # scene units
    rms: float  # distances in scene units
    mean: float
    percentile_95: float
    maximum: float
    worst_object: str
    worst_vertex: int
    worst_frame: int
    worst_row: int  # the same, counted from 0
    worst_pose: str
    keys_moved: float  # the most that keys left out move a vertex
    frame_error: np.ndarray  # [f] root mean square over the vertices
    vertex_error: np.ndarray  # [v] root mean square over the frames
    times: np.ndarray  # [f]
    poses: list[str] | None
    clips: list[tuple[str, slice]]  # names and rows
    solver: Info
    free: Info | None  # the solver's, before joints held
    cost: float  # in the norm of the rig's fairness, scene units: rms where that is 0
    normal_degrees: float  # by which the faces' normals are off, root mean square; below 0: there are none
    vertex_degrees: np.ndarray  # [v] of those around, likewise
    skeleton: Skeleton | None
    located: int  # bones below the skeleton's root that keep keys of their location
    location: float  # the largest of those
    bones: int
    vertices: int
    influences: float  # mean a vertex
    keys: int
    keys_if_every: int
    numbers: int  # of keys: values, and slopes of curves
    keys_within: float | None  # share of vertices that keys left out move within a tolerance; None: none are
    tolerance: float
    rig_bytes: int
    shape_key_bytes: int
    cache_bytes: int
    notes: list[str]
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    helpers: int = 0  # of the bones, those that are hidden
    conduct: Conduct | None = None  # where the bones that an animator sees go
    volume: object = (
        None  # what Keep Volume is worth, when it is on: `before` and `after` in percent of the size
    )

    def percent(self, distance: float) -> float:
        return 100 * distance / self.size

    @property
    def worst_clip(self) -> str:
        """The name of the clip with the largest error."""
        return next(name for name, rows in self.clips if rows.start <= self.worst_row < rows.stop)

    def clip_error(self, rows: slice) -> float:
        """Root mean square over the vertices and the frames of a clip."""
        return math.sqrt(float((self.frame_error[rows] ** 2).mean()))

    def clip_lines(self) -> list[str]:
        if len(self.clips) < 2:
            return []
        return [
            f"clip {name}: {counted(rows.stop - rows.start, 'frame')},"
            f" error {self.percent(self.clip_error(rows)):.3g} %"
            for name, rows in self.clips
        ]

    def lines(self) -> list[str]:
        """For people."""
        where = f"pose {self.worst_pose}" if self.worst_pose else f"frame {self.worst_frame}"
        if len(self.clips) > 1:
            where += f" of {self.worst_clip}"
        return [
            f"{self.bone_words()} on {counted(self.vertices, 'vertex')}, {counted(len(self.times), 'frame')}",
            f"error {self.percent(self.rms):.3g} % of the size (root mean square; E_RMS {self.erms:.3g})",
            f"mean {self.percent(self.mean):.3g} %, 95 in 100 below {self.percent(self.percentile_95):.3g} %",
            f"largest {self.percent(self.maximum):.3g} % ({self.maximum:.3g}) at vertex {self.worst_vertex}"
            f" of {self.worst_object} in {where}",
            self._key_line(),
            *self.surface_lines(),
            *([f"Keep Volume: {self.volume.words()}"] if self.volume else []),
            *self.clip_lines(),
            *self.skeleton_lines(),
            "{} as a rig, {} as shape keys, {} as a point cache".format(*self.sizes()),
        ]

    def bone_words(self) -> str:
        if not self.helpers:
            return counted(self.bones, "bone")
        return f"{counted(self.bones - self.helpers, 'bone')} and {counted(self.helpers, 'hidden helper')}"

    def surface_lines(self) -> list[str]:
        """How well the skin keeps its shape, and how far the solver moved the rest pose."""
        solver = self.solver
        if self.normal_degrees < 0:
            return []
        moved = ""
        if solver.rest_percent and solver.rest_normal_degrees is not None:
            moved = (
                f"; the rest pose moved by {solver.rest_percent:.2g} %, its normals by"
                f" {solver.rest_normal_degrees:.1f} degrees"
            )
        return [f"Surface: normals {self.normal_degrees:.1f} degrees off{moved}"]

    @property
    def key_bytes(self) -> int:
        """A time for each, and its numbers."""
        return 4 * (self.keys + self.numbers)

    def _key_line(self) -> str:
        held = f"{counted(self.numbers, 'number')}, {size_words(self.key_bytes)}"
        line = f"{counted(self.keys, 'key')} of {self.keys_if_every} ({held}); leaving the others out moves"
        if self.keys_within is not None and self.keys_within < 1:
            share, within = 100 * self.keys_within, self.percent(self.tolerance)
            line += f" {share:.4g} in 100 vertices by no more than {within:.2g} % and"
        return f"{line} no vertex by more than {self.percent(self.keys_moved):.2g} %"

    def joints(self) -> dict[str, int]:
        """How many there are of each kind."""
        kinds = self.skeleton.kinds if self.skeleton is not None else []
        return {kind: kinds.count(kind) for kind in native.JOINT_KINDS[1:]}

    def skeleton_lines(self) -> list[str]:
        """What the skeleton is like, and what it costs."""
        if self.skeleton is None:
            return []
        counts = self.joints()
        found = ", ".join(f"{count} {_KIND_WORDS[kind]}" for kind, count in counts.items() if count)
        lines = [f"{counted(sum(counts.values()), 'joint')}{': ' if found else ''}{found}"]
        if self.conduct is not None:
            lines.append(self._conduct_line())
        if self.helpers:
            lines.append("joints hold, but for those of the helpers, which follow muscle and cloth")
        elif self.free is not None:
            lines.append(
                f"joints hold: E_RMS {self.solver.erms:.3g}, {self.free.erms:.3g} if bones were free to move"
            )
        elif self.located:
            lines.append(
                f"{joints.moving(self.located)} against the parent,"
                f" by {self.percent(self.location):.2g} % at most"
            )
        else:
            lines.append("no bone moves against its parent: all only turn")
        return lines

    def _conduct_line(self) -> str:
        seen = self.conduct
        away = max(float(seen.excesses.max(initial=0)), 0.0)
        line = f"bones leave the body by {away:.2g} % of the size at most"
        idle = int(seen.idle.sum())
        return line + (f"; {counted(idle, 'bone')} the strongest nowhere" if idle else "")

    def sizes(self) -> tuple[str, str, str]:
        """As a rig, as shape keys, as a point cache; in words."""
        return tuple(map(size_words, (self.rig_bytes, self.shape_key_bytes, self.cache_bytes)))

    def _frame_errors(self, rows: slice) -> dict[int, float]:
        errors = zip(self.times[rows].tolist(), self.frame_error[rows].tolist(), strict=True)
        return dict(errors)

    def to_json(self) -> dict:
        """For pipelines: plain values, distances in scene units and in percent of the size."""
        names = "erms size bones vertices influences keys keys_if_every numbers key_bytes keys_within"
        names += " rig_bytes shape_key_bytes cache_bytes"
        values = {name: getattr(self, name) for name in names.split()}
        for name in ("rms", "mean", "percentile_95", "maximum", "keys_moved"):
            values[name] = getattr(self, name)
            values[f"{name}_percent"] = self.percent(getattr(self, name))
        values["frames"] = len(self.times)
        values["normal_degrees"] = None if self.normal_degrees < 0 else self.normal_degrees
        if self.skeleton is not None:
            values["skeleton"] = {
                "joints": self.joints(),
                "located": self.located,
                "location": self.location,
                "location_percent": self.percent(self.location),
                "free_erms": None if self.free is None else self.free.erms,
                "helpers": self.helpers,
            }
        if self.conduct is not None:
            values["skeleton"] |= {
                "flight_percent": float(self.conduct.flights.max(initial=0)),
                "excess_flight_percent": float(self.conduct.excesses.max(initial=0)),
                "idle": int(self.conduct.idle.sum()),
                "drift_percent": float(self.conduct.drifts.max(initial=0)),
                "foreign": int((self.conduct.foreign >= 0).sum()),
            }
        values["worst"] = {
            "object": self.worst_object,
            "vertex": self.worst_vertex,
            "frame": self.worst_frame,
            "pose": self.worst_pose or None,
            "clip": self.worst_clip,
        }
        if len(self.clips) == 1:
            values["frame_error"] = self._frame_errors(slice(None))
        values["clips"] = [
            {
                "name": name,
                "rms": self.clip_error(rows),
                "rms_percent": self.percent(self.clip_error(rows)),
                "frame_error": self._frame_errors(rows),
            }
            for name, rows in self.clips
        ]
        values["solver"] = {
            "erms": self.solver.erms,
            "rms_percent": self.solver.rms_percent,
            "maximum_percent": self.solver.maximum_percent,
            "normal_degrees": self.solver.normal_degrees,
            "bumps": self.solver.bumps,
            "rest_normal_degrees": self.solver.rest_normal_degrees,
            "rest_percent": self.solver.rest_percent,
            "iterations": self.solver.iterations,
            "status": int(self.solver.status),
            "seconds": self.solver.seconds,
            "version": native.version(),
        }
        values["seconds"] = dict(self.seconds)
        if self.volume is not None:
            values["keep_volume"] = {"plain_percent": self.volume.before, "rms_percent": self.volume.after}
        values["notes"] = list(self.notes)
        return values


class _Stage:
    """The finished rig in its workshop, without the modifiers that stay live."""

    def __init__(self, built: Built, motion: Motion):
        self.built, self.motion = built, motion
        self._space, self._back = np.eye(4), np.eye(4)

    def _from_world(self, depsgraph) -> np.ndarray:
        """[4][4] to the armature, which hardly ever moves."""
        space = matrix_of(self.built.armature.get().evaluated_get(depsgraph))
        if not np.array_equal(space, self._space):
            self._space, self._back = space, np.linalg.inv(space)
        return self._back

    def play(self, row: int) -> None:
        """Gives the armature the action of the clip that begins in this row, if one does."""
        for handle, clip in self.built.actions:
            if clip.rows.start == row:
                actions.assign(self.built.armature.get(), handle.get())

    def play_on(self, row: int) -> None:
        """Gives it that of the clip which this row is in the middle of."""
        for _, clip in self.built.actions:
            if clip.rows.start < row < clip.rows.stop:
                self.play(clip.rows.start)

    def replay(self, row: int, out: np.ndarray) -> None:
        """out [v][3]: where Blender puts the vertices, in the armature's space"""
        self.play(row)
        scene = self.built.workshop.get()
        scene.frame_set(int(self.motion.times[row]))
        depsgraph = scene.view_layers[0].depsgraph
        back = self._from_world(depsgraph)
        for handle, part in zip(self.built.meshes, self.motion.parts, strict=True):
            evaluated = handle.get().evaluated_get(depsgraph)
            matrix = back @ np.array(evaluated.matrix_world, np.float64)
            points = positions(evaluated.data).astype(np.float64)
            out[part.vertices] = points @ matrix[:3, :3].T + matrix[:3, 3]

    def show_live_modifiers(self, shown: dict[tuple[int, str], bool] | None) -> dict[tuple[int, str], bool]:
        """Hides them, or puts them back as they were."""
        before = {}
        for index, handle in enumerate(self.built.meshes):
            for modifier in list(handle.get().modifiers)[1:]:
                before[index, modifier.name] = modifier.show_viewport
                modifier.show_viewport = shown[index, modifier.name] if shown else False
        return before


class Measuring:
    """A rig measured row by row, on one copy or on several, each of which plays a part of the motion."""

    def __init__(self, motion: Motion, rig: Rig, fairness: float = 0.0):
        frames, vertices = motion.frames.shape[:2]
        self._edges, self._steps = surface.edges(motion.triangles), 0.0
        strength = fairness * min(1.0, vertices / (_FAIR_PATCH * rig.bones))  # as the library weighs it
        self._tie = strength * vertices / max(2 * len(self._edges), 1)  # strength / mean number of neighbours
        self.motion, self.rig, self.row = motion, rig, 0
        self._distances = np.empty((frames, vertices), np.float32)
        self._replayed, self._moved = np.empty((vertices, 3)), 0.0
        self._within, self._tolerance = 0, 0.0
        self._block = max(_REPLAYED // max(vertices, 1), 1)
        self._expected: native.Evaluation | None = None  # of the block of frames at hand, by the library
        self._degrees, self._vertex_degrees = 0.0, np.zeros(vertices)  # squares, summed over the frames

    @property
    def ended(self) -> bool:
        return self.row == len(self._distances)

    @property
    def fraction(self) -> float:
        return self.row / len(self._distances)

    def play(self, built: Built) -> Generator[float, None, None]:
        """Plays the rows that are left, as far as it is asked to; yields how far it is, 0 to 1."""
        stage = _Stage(built, self.motion)
        self._tolerance = built.keyed.tolerance
        shown = stage.show_live_modifiers(None)
        stage.play_on(self.row)
        while not self.ended:
            self._measure(stage)
            self.row += 1
            yield self.fraction
        stage.play(0)
        stage.show_live_modifiers(shown)

    def _expect(self) -> None:
        """What the library makes of the block of frames that begins here."""
        rows = slice(self.row, self.row + self._block)
        rig = dataclasses.replace(self.rig.released(), transforms=self.rig.transforms[rows])
        if rig.coefficients is not None:
            rig.coefficients = rig.coefficients[rows]
        triangles = self.motion.triangles if len(self.motion.triangles) else None
        found = native.evaluate(self.motion.rest, self.motion.frames[rows], rig, triangles=triangles)
        self._expected, count = found, len(found.frames)
        if found.normal_degrees is None:
            self._degrees = -math.inf
        else:
            self._degrees += count * found.normal_degrees**2
            self._vertex_degrees += count * np.nan_to_num(found.vertex_degrees.astype(np.float64)) ** 2

    def _measure(self, stage: _Stage) -> None:
        row, replayed = self.row, self._replayed
        if row % self._block == 0:
            self._expect()
        stage.replay(row, replayed)
        gaps = replayed - self.motion.frames[row]
        self._distances[row] = np.sqrt((gaps**2).sum(axis=1))
        if self._tie > 0:
            self._steps += float(((gaps[self._edges[:, 0]] - gaps[self._edges[:, 1]]) ** 2).sum())
        expected = self._expected.frames[row % self._block]
        moved = ((replayed - expected) ** 2).sum(axis=1)
        self._moved = max(self._moved, float(moved.max()))
        self._within += int((moved <= self._tolerance**2).sum())

    def report(self, built: Built, info: Info, free: Info | None) -> Report:
        """Once it has ended."""
        scale = self._expected.diagonal or 1.0, self._expected.radius or 1.0
        moved = math.sqrt(self._moved)
        found = _report(built, self.motion, self.rig, info, free, self._distances, scale, moved)
        frames = len(self._distances)
        found.cost = math.sqrt(found.rms**2 + self._tie * self._steps / self._distances.size)
        if self._degrees >= 0:
            found.normal_degrees = math.sqrt(self._degrees / frames)
            found.vertex_degrees = np.sqrt(self._vertex_degrees / frames)
        if self._tolerance > 0:
            found.keys_within = self._within / self._distances.size
        return found

    def info(self) -> Info:
        """As a solver would have it, of a rig that nobody solved."""
        found = self._expected
        if len(found.frames) < len(self._distances):  # several blocks
            found = native.evaluate(self.motion.rest, self.motion.frames, self.rig, replay=False)
        percent, status = 100 / (found.diagonal or 1.0), native.Status.CONVERGED
        errors = found.erms, percent * found.rms, percent * found.maximum
        return Info(status, self.rig.bones, 0, *errors, 0.0, {}, "")


def measure(
    built: Built, motion: Motion, rig: Rig, info: Info, free: Info | None
) -> Generator[float, None, Report]:
    """Plays the rig in the workshop; yields how far it is, 0 to 1. `free`: of the rig before joints held."""
    measuring = Measuring(motion, rig)
    yield from measuring.play(built)
    return measuring.report(built, info, free)


def _has_helpers(built: Built) -> bool:
    """They serve where no joint is."""
    return built.skeleton is not None and len(built.skeleton.parents) < len(built.bones)


def _joint_notes(skeleton: Skeleton | None) -> list[str]:
    """What an artist should know of a skeleton before it is posed."""
    if skeleton is None or not joints.mostly_guessed(skeleton.kinds):
        return []
    guessed, count = skeleton.kinds.count("loose"), len(skeleton.kinds) - skeleton.kinds.count("root")
    return [
        f"{guessed} of {count} joints are guesses, since the body bends where no joint is:"
        " Skeleton > None leaves its bones side by side."
    ]


def _report(
    built: Built, motion: Motion, rig: Rig, info: Info, free, distances: np.ndarray, scale, moved: float
) -> Report:
    """scale: the diagonal and the radius of the rest"""
    (frames, vertices), (size, radius) = distances.shape, scale
    squares = distances.astype(np.float64) ** 2
    frame, vertex = np.unravel_index(int(distances.argmax()), distances.shape)
    part = next(part for part in motion.parts if part.vertices.start <= vertex < part.vertices.stop)
    used = int((rig.influence_bones >= 0).sum())
    positions_bytes = 12 * frames * vertices
    correctives = 0 if rig.fields is None else len(rig.fields)
    return Report(
        erms=1000 / radius * math.sqrt(squares.sum() / (3 * vertices * frames)),
        size=size,
        rms=math.sqrt(squares.mean()),
        mean=float(distances.mean(dtype=np.float64)),
        percentile_95=float(np.percentile(distances, 95)),
        maximum=float(distances[frame, vertex]),
        worst_object=part.name,
        worst_vertex=int(vertex - part.vertices.start),
        worst_frame=int(motion.times[frame]),
        worst_row=int(frame),
        worst_pose=motion.poses[frame] if motion.poses else "",
        keys_moved=moved,
        frame_error=np.sqrt(squares.mean(axis=1)),
        vertex_error=np.sqrt(squares.mean(axis=0)),
        times=motion.times,
        poses=motion.poses,
        clips=[(clip.name, clip.rows) for _, clip in built.actions]
        or [(motion.parts[0].name, slice(0, frames))],
        solver=info,
        free=free,
        cost=0.0,
        normal_degrees=-1.0,
        vertex_degrees=np.zeros(vertices),
        skeleton=built.skeleton,
        located=built.keyed.located,
        location=built.keyed.location,
        bones=rig.bones,
        vertices=vertices,
        influences=used / vertices,
        keys=built.keyed.keys,
        keys_if_every=built.keyed.keys_if_every,
        numbers=built.keyed.numbers,
        keys_within=None,
        tolerance=built.keyed.tolerance,
        # a weight: a group and a value; a corrective: positions and values
        rig_bytes=4 * (built.keyed.keys + built.keyed.numbers)
        + 8 * used
        + correctives * (12 * vertices + 4 * frames),
        shape_key_bytes=positions_bytes + 12 * vertices,
        cache_bytes=positions_bytes,
        notes=[*motion.notes, *([] if _has_helpers(built) else _joint_notes(built.skeleton))],
    )
