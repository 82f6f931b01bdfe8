"""What goes into a call and comes out of it: settings, rig, skeleton, and how it went."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import header
from .arguments import choice, real, whole
from .loading import library

_WORDS = {
    "bone_kind": header.BONE_KINDS,
    "quality": header.QUALITIES,
    "rest_mode": header.REST_MODES,
    "start": header.STARTS,
    "budget_kind": header.BUDGET_KINDS,
    "connect": header.CONNECTS,
}
_REALS = ("budget", "fairness", "until", "start_tolerance")
_FLAGS = ("locality", "relocate", "jointed")


@dataclasses.dataclass
class Settings:
    """The fields of ossify_settings; those not given take the library's defaults."""

    bones: int | None = None
    influences: int | None = None
    bone_kind: str | None = None  # "rigid", "flexible"
    quality: str | None = None  # "draft", "normal", "best"
    rest_mode: str | None = None  # "fixed", "kept", "free"
    locality: bool | None = None
    start: str | None = None  # "grown", "faces", "spectral", "tried"
    budget_kind: str | None = None  # "none", "rms", "maximum", "parts"
    budget: float | None = None
    fairness: float | None = None
    until: float | None = None
    iterations: int | None = None
    threads: int | None = None
    seed: int | None = None
    relocate: bool | None = None
    jointed: bool | None = None
    connect: str | None = None  # "both", "overlap", "stable"
    start_tolerance: float | None = None

    def __post_init__(self):
        defaults = header.Settings()
        library().ossify_default_settings(ctypes.byref(defaults))
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is None:
                value = getattr(defaults, field.name)
                if field.name in _WORDS:
                    value = _WORDS[field.name][value]
                elif field.name in _FLAGS:
                    value = bool(value)
                setattr(self, field.name, value)

    def struct(self) -> header.Settings:
        struct = header.Settings()
        library().ossify_default_settings(ctypes.byref(struct))
        for field in dataclasses.fields(self):
            name, value = field.name, getattr(self, field.name)
            if name in _WORDS:
                value = choice(name, value, _WORDS[name])
            else:
                value = real(name, value) if name in _REALS else whole(name, value)
            setattr(struct, name, value)
        return struct


HELD = ("held_transforms", "held_vertices", "held_groups", "held_rest")


@dataclasses.dataclass
class Rig:
    """Bones, weights and rest pose. To start a solve from a rig, leave out what is not given."""

    transforms: np.ndarray | None = None  # [f][b][3][4] rest to frame
    influence_bones: np.ndarray | None = None  # [v][k], strongest first, -1 unused
    influence_weights: np.ndarray | None = None  # [v][k], 0 unused
    rest: np.ndarray | None = None  # [v][3] as corrected; None: the poses' own
    held_transforms: np.ndarray | None = None  # [f][b] true: the transform stays as given
    held_vertices: np.ndarray | None = None  # [v] true: weights stay as given
    held_groups: np.ndarray | None = None  # [b] true: the bone's weights stay as given, on every vertex
    held_rest: np.ndarray | None = None  # [v] true: the rest position stays as given

    @property
    def bones(self) -> int:
        if self.transforms is not None:
            return np.shape(self.transforms)[1]
        if self.influence_bones is not None and np.size(self.influence_bones):
            return int(np.max(self.influence_bones)) + 1
        return 0

    def to_track(self) -> Rig:
        """Weights and rest pose alone, held: decompose() with it and rest_mode "fixed" finds transforms
        for any frames of the same mesh."""
        held = np.ones(len(self.influence_bones), np.uint8)
        return Rig(None, self.influence_bones, self.influence_weights, self.rest, held_vertices=held)

    def released(self) -> Rig:
        """The same arrays, nothing of them held."""
        return dataclasses.replace(self, **dict.fromkeys(HELD))

    def dense_weights(self) -> np.ndarray:
        """[v][b] float32"""
        vertices, influences = self.influence_bones.shape
        dense = np.zeros((vertices, self.bones), np.float32)
        rows = np.repeat(np.arange(vertices), influences).reshape(vertices, influences)
        used = self.influence_bones >= 0
        np.add.at(dense, (rows[used], self.influence_bones[used]), self.influence_weights[used])
        return dense


class Progress(NamedTuple):
    finished: bool
    stage: str
    iterations: int
    bones: int
    fraction: float
    erms: float | None


class Info(NamedTuple):
    status: header.Status
    bones: int
    iterations: int
    erms: float
    rms_percent: float
    maximum_percent: float
    seconds: float  # of the whole call
    stage_seconds: dict[str, float]
    message: str
    # how well the surface is kept; None without triangles, or without a rest pose to compare with
    normal_degrees: float | None = None  # of the faces' normals in the frames, root mean square
    bumps: float | None = None  # of the error between neighbours, in mean edges
    rest_normal_degrees: float | None = None  # both of the rest pose against the given one
    rest_bumps: float | None = None
    rest_percent: float | None = None  # how far it moved


def known(figure: float) -> float | None:
    """A figure that the library may not have, which it then says by -1."""
    return None if figure < 0 else figure


class Evaluation(NamedTuple):
    frames: np.ndarray | None  # [f][v][3] as replayed
    vertex_error: np.ndarray  # [v] root mean square over the frames
    frame_error: np.ndarray  # [f] root mean square over the vertices
    erms: float
    rms: float
    maximum: float
    diagonal: float
    radius: float
    worst_vertex: int
    worst_frame: int
    # with triangles, else None:
    vertex_degrees: np.ndarray | None  # [v] of the normals around, root mean square
    normal_degrees: float | None
    bumps: float | None
    rest_normal_degrees: float | None
    rest_bumps: float | None
    rest_moved: float


@dataclasses.dataclass
class Wishes:
    """What an artist wants of a skeleton; the defaults leave all of it to the motion."""

    root: int = -1  # the bone; -1: found
    forest: bool = False  # bones that share no surface stay in trees of their own
    symmetry: str = "found"  # "none", "found", "given" (then with a plane)
    plane: tuple[float, float, float, float] | None = None  # n.x = d, n of length 1
    demanded: Sequence[tuple[int, int]] = ()  # bones that must be joined
    forbidden: Sequence[tuple[int, int]] = ()  # bones that must not be


class Skeleton(NamedTuple):
    """A hierarchy for the bones of a rig."""

    root: int  # of several the one of the largest tree
    parents: np.ndarray  # [b], -1 at a root
    joints: np.ndarray  # [b][3] the joint to the parent in rest; the root's own origin
    kinds: list[str]  # [b] "root", "ball", "hinge", "stiff" (could be one bone), "loose" (a guess)
    axes: np.ndarray  # [b][3] what a hinge turns about
    angles: np.ndarray  # [b] root mean square angle to the parent, radians
    drifts: np.ndarray  # [b] how far the two bones pull the joint apart, percent of the size
    mirrors: np.ndarray  # [b] the bone on the other side, itself in the middle, -1 none
    plane: np.ndarray | None  # [4] n.x = d; None: no symmetry
    message: str
