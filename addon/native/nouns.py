"""What goes into a call and comes out of it: settings, rig, skeleton, and how it went."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import header
from .arguments import choice, flag, real, whole
from .loading import library

_WORDS = {
    "bone_kind": header.BONE_KINDS,
    "quality": header.QUALITIES,
    "rest_mode": header.REST_MODES,
    "start": header.STARTS,
    "budget_kind": header.BUDGET_KINDS,
    "relocate": header.RELOCATIONS,
    "connect": header.CONNECTS,
}
_REALS = ("budget", "smoothness", "fairness", "until", "start_tolerance")
_FLAGS = ("locality", "jointed")


_CORRECTION_WORDS = {"budget_kind": header.BUDGET_KINDS[:3], "support": header.SUPPORTS}
_DRIVING_WORDS = {"form": header.DRIVEN_FORMS}
_CORRECTION_REALS = ("budget", "smoothness")
_CORRECTION_FLAGS = ("solve_rest", "refine")

_COMPRESSION_WORDS = {"source": header.SOURCES, "method": header.METHODS}
_COMPRESSION_REALS = ("tolerance",)
_COMPRESSION_FLAGS = ("affine", "refine")
_UNWRAP_WORDS = {"method": header.UNWRAP_METHODS, "place": header.UNWRAP_PLACES}
_UNWRAP_REALS = ("margin",)
_UNWRAP_FLAGS = ("with_rest",)


def _with_defaults(noun, defaults: ctypes.Structure, words: dict, flags: tuple[str, ...]) -> None:
    """What was not given takes the library's default, as Python says it."""
    for field in dataclasses.fields(noun):
        if getattr(noun, field.name) is None:
            value = getattr(defaults, field.name)
            if field.name in words:
                value = words[field.name][value]
            elif field.name in flags:
                value = bool(value)
            setattr(noun, field.name, value)


def _fill(struct: ctypes.Structure, noun, words: dict, reals: tuple, flags: tuple, of: str):
    for field in dataclasses.fields(noun):
        name, value = field.name, getattr(noun, field.name)
        if name in words:
            value = choice(name, value, words[name], of)
        elif name in flags:
            value = flag(name, value, of)
        else:
            value = real(name, value, of) if name in reals else whole(name, value, of)
        setattr(struct, name, value)
    return struct


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
    budget_kind: str | None = None  # "none", "rms", "maximum", "parts", "normals", "bumps"
    budget: float | None = None
    smoothness: float | None = None
    fairness: float | None = None
    until: float | None = None
    iterations: int | None = None
    threads: int | None = None
    seed: int | None = None
    relocate: str | None = None  # "none", "some", "all"
    jointed: bool | None = None
    connect: str | None = None  # "both", "overlap", "stable"
    start_tolerance: float | None = None

    def __post_init__(self):
        defaults = header.Settings()
        library().ossify_default_settings(ctypes.byref(defaults))
        _with_defaults(self, defaults, _WORDS, _FLAGS)

    def struct(self) -> header.Settings:
        struct = header.Settings()
        library().ossify_default_settings(ctypes.byref(struct))
        return _fill(struct, self, _WORDS, _REALS, _FLAGS, "settings.")


@dataclasses.dataclass
class Correction:
    """The wishes of ossify_correction; those not given take the library's defaults."""

    count: int | None = None
    budget_kind: str | None = None  # "none", "rms", "maximum"
    budget: float | None = None
    support: str | None = None  # "whole", "joints"
    smoothness: float | None = None
    solve_rest: bool | None = None
    refine: bool | None = None

    def __post_init__(self):
        defaults = header.Correction()
        library().ossify_default_correction(ctypes.byref(defaults))
        _with_defaults(self, defaults, _CORRECTION_WORDS, _CORRECTION_FLAGS)

    def struct(self) -> header.Correction:
        struct = header.Correction()
        library().ossify_default_correction(ctypes.byref(struct))
        return _fill(struct, self, _CORRECTION_WORDS, _CORRECTION_REALS, _CORRECTION_FLAGS, "correction.")


@dataclasses.dataclass
class Driving:
    """The wishes of ossify_driving; those not given take the library's defaults."""

    count: int | None = None
    joint_count: int | None = None
    form: str | None = None  # "whole", "joints", "found"

    def __post_init__(self):
        defaults = header.Driving()
        library().ossify_default_driving(ctypes.byref(defaults))
        _with_defaults(self, defaults, _DRIVING_WORDS, ())

    def struct(self) -> header.Driving:
        struct = header.Driving()
        library().ossify_default_driving(ctypes.byref(struct))
        return _fill(struct, self, _DRIVING_WORDS, (), (), "driving.")


class Driven(NamedTuple):
    """How correctives follow the bones, and what that is worth on frames that were left out."""

    form: str  # "whole": all joints drive every field; "joints": one each
    joints: np.ndarray  # [n] the bone whose joint drives a field, -1: all
    map: np.ndarray  # [n][b][9] coefficient = sum of map times the entries of R(parent)^-1 R(bone) - I
    shifts: np.ndarray  # [n][b][3] and of shifts times M(parent)^-1 M(bone) p~ - p, p a bone's pivot
    bare_erms: float | None  # without fields; None: there are too few frames to leave any out
    keyed_erms: float | None  # with the best coefficients
    whole_erms: float | None
    joints_erms: float | None


class Corrected(NamedTuple):
    """What correctives there are, and what each is worth."""

    joints: np.ndarray  # [n] the bone at whose joint a field acts, -1: everywhere
    gains: np.ndarray  # [n] by how much rms_percent would rise without it
    bare_erms: float  # of the rig without correctives


_SPACE_WORDS = {"bones": header.SPACE_BONES, "form": header.SPACE_FORMS}
_SPACE_REALS = ("smoothness", "damping")
_SPACE_FLAGS = ("rest_exact",)


@dataclasses.dataclass
class SpaceFit:
    """The wishes of ossify_space_fit; those not given take the library's defaults."""

    bones: str | None = None  # "own", "padded"
    form: str | None = None  # "corrections", "positions"
    rest_exact: bool | None = None
    rounds: int | None = None
    smoothness: float | None = None
    damping: float | None = None

    def __post_init__(self):
        defaults = header.SpaceFit()
        library().ossify_default_space_fit(ctypes.byref(defaults))
        _with_defaults(self, defaults, _SPACE_WORDS, _SPACE_FLAGS)

    def struct(self) -> header.SpaceFit:
        struct = header.SpaceFit()
        library().ossify_default_space_fit(ctypes.byref(struct))
        return _fill(struct, self, _SPACE_WORDS, _SPACE_REALS, _SPACE_FLAGS, "space_fit.")


class Average(NamedTuple):
    """Of lengths in animation space over poses: the L2,2 inner product."""

    products: np.ndarray  # [4 b][4 b] P = E[G'G]
    edges: np.ndarray | None  # [t][3] mean squared length from each corner of a triangle to the next

    def inner(self, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        """s, t [...][b][4], differences of places -> [...] the mean of G s . G t"""
        flat = len(self.products)
        s, t = (np.asarray(vector, np.float64).reshape(*vector.shape[:-2], flat) for vector in (s, t))
        return np.einsum("...i,ij,...j->...", s, self.products, t)

    def norm(self, s: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(self.inner(s, s), 0))


class Space(NamedTuple):
    """What each bone adds to linear blend skinning: animation space."""

    bones: np.ndarray  # [v][k], -1 unused
    corrections: np.ndarray  # [v][k][4] in coordinates of the rest

    def weights(self, rig: Rig) -> np.ndarray:
        """[v][k] of linear blend skinning, for its bones"""
        rows = np.arange(len(self.bones))[:, None]
        return np.where(self.bones < 0, 0, rig.dense_weights()[rows, self.bones])

    def positions(self, rig: Rig) -> np.ndarray:
        """[v][k][4] p of v = sum_k transforms[bone] p"""
        rest = np.concatenate([rig.rest, np.ones_like(rig.rest[:, :1])], 1).astype(np.float64)
        return self.weights(rig)[:, :, None] * rest[:, None] + self.corrections


@dataclasses.dataclass
class Compression:
    """The wishes of ossify_compression; those not given take the library's defaults."""

    virtual_bones: int | None = None
    masters: int | None = None
    influences: int | None = None
    source: str | None = None  # "weights", "poses"
    method: str | None = None  # "exact", "printed"
    affine: bool | None = None
    refine: bool | None = None
    tolerance: float | None = None

    def __post_init__(self):
        defaults = header.Compression()
        library().ossify_default_compression(ctypes.byref(defaults))
        _with_defaults(self, defaults, _COMPRESSION_WORDS, _COMPRESSION_FLAGS)

    def struct(self) -> header.Compression:
        struct = header.Compression()
        library().ossify_default_compression(ctypes.byref(struct))
        return _fill(struct, self, _COMPRESSION_WORDS, _COMPRESSION_REALS, _COMPRESSION_FLAGS, "compression.")


class United(NamedTuple):
    """What belongs to each of several subjects that share a rig."""

    rest: np.ndarray  # [s][v][3] as corrected
    parents: np.ndarray | None  # [b], -1 at the root; None: not joined
    joints: np.ndarray | None  # [s][b][3] to the parent, in rest; the root's own origin
    root: int | None


class Merged(NamedTuple):
    """One tree of pose bones, as they came, and then shape bones; its rig is that of the mean body."""

    parents: np.ndarray  # [b], -1 at the root
    carriers: np.ndarray  # [b] the pose bone that a bone goes with, a pose bone itself
    joints: np.ndarray  # [b][3] in the rig's rest
    shapes: np.ndarray  # [s][b][3][4] from the rig's rest to each subject's own


class Placed(NamedTuple):
    """Joints in new bodies, and the few vertices whose sum each is."""

    joints: np.ndarray  # [n][b][3]
    vertices: np.ndarray  # [b][8], -1 unused; none where only one body was known
    shares: np.ndarray  # [b][8] sum 1, of any sign


class Layers(NamedTuple):
    """Virtual bones between the masters and the vertices."""

    virtual_bones: np.ndarray  # [m][c] masters of each, strongest first, -1 unused
    virtual_weights: np.ndarray  # [m][c], 0 unused, sum 1
    influence_bones: np.ndarray  # [v][k] virtual bones of a vertex, strongest first, -1 unused
    influence_weights: np.ndarray  # [v][k], 0 unused, sum 1
    delta: float  # 1000 Delta_W, or 1000 Delta_E from poses
    dense_erms: float | None  # of dense weights on the same bones; None from weights

    def transforms(self, masters: np.ndarray) -> np.ndarray:
        """[f][m][3][4] of the virtual bones, from those of the masters"""
        shares = np.zeros((len(self.virtual_bones), masters.shape[1]))
        rows = np.broadcast_to(np.arange(len(shares))[:, None], self.virtual_bones.shape)
        used = self.virtual_bones >= 0
        np.add.at(shares, (rows[used], self.virtual_bones[used]), self.virtual_weights[used])
        return np.einsum("jb,fbrc->fjrc", shares, masters)


@dataclasses.dataclass
class Unwrapping:
    """The wishes of ossify_unwrapping; those not given take the library's defaults."""

    method: str | None = None  # "stretch", "isometric", "conformal"
    place: str | None = None  # "kept", "packed"
    iterations: int | None = None
    with_rest: bool | None = None
    margin: float | None = None

    def __post_init__(self):
        defaults = header.Unwrapping()
        library().ossify_default_unwrapping(ctypes.byref(defaults))
        _with_defaults(self, defaults, _UNWRAP_WORDS, _UNWRAP_FLAGS)

    def struct(self) -> header.Unwrapping:
        struct = header.Unwrapping()
        library().ossify_default_unwrapping(ctypes.byref(struct))
        return _fill(struct, self, _UNWRAP_WORDS, _UNWRAP_REALS, _UNWRAP_FLAGS, "unwrapping.")


class Unwrapped(NamedTuple):
    """A map for a motion, and how it stretches: percent by which Sander's L2 stretch is above 1."""

    uv: np.ndarray  # [t][3][2]
    triangle_stretch: np.ndarray  # [t] root mean square over the frames, 1 at best
    triangle_islands: np.ndarray  # [t]
    islands: int
    restarted: int  # islands that had flips, and began as a disc
    left: int  # islands that had flips and no disc can become: as they were
    flipped_before: int  # triangles that lie the other way than their island, or have no area in the map
    flipped: int
    stretch_before: float | None  # mean over the frames
    stretch: float | None
    rest_stretch_before: float | None  # None: without a rest pose
    rest_stretch: float | None


HELD = ("held_transforms", "held_vertices", "held_groups", "held_rest")


def dense(bones: np.ndarray, weights: np.ndarray, count: int, dtype=np.float32) -> np.ndarray:
    """[v][b] of [v][k] bones, -1 unused, and their weights"""
    result = np.zeros((len(bones), count), dtype)
    rows, columns = np.nonzero(bones >= 0)
    result[rows, bones[rows, columns]] = weights[rows, columns]
    return result


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
    fields: np.ndarray | None = None  # [n][v][3] correctives, added to the rest before it is skinned
    coefficients: np.ndarray | None = None  # [f][n] how much of each

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

    def widened(self, influences: int) -> Rig:
        """The same with room for so many influences a vertex."""
        more = max(influences - np.shape(self.influence_bones)[1], 0)
        bones = np.pad(self.influence_bones, ((0, 0), (0, more)), constant_values=-1)
        weights = np.pad(self.influence_weights, ((0, 0), (0, more)))
        return dataclasses.replace(self, influence_bones=bones, influence_weights=weights)

    def bare(self) -> Rig:
        """The same without correctives."""
        return dataclasses.replace(self, fields=None, coefficients=None)

    def dense_weights(self) -> np.ndarray:
        """[v][b] float32"""
        return dense(self.influence_bones, self.influence_weights, self.bones)


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


class Conduct(NamedTuple):
    """Where the bones of a skeleton go when it plays; lengths in percent of the size."""

    flights: np.ndarray  # [b] largest distance from the bone's head to the vertices it is strongest on
    excesses: np.ndarray  # [b] the same less the distance in rest
    drifts: np.ndarray  # [b] how far the bone and its parent pull the joint apart, root mean square
    shares: np.ndarray  # [b] of the vertices, those that the bone is strongest on
    idle: np.ndarray  # [b] whether that is next to none
    limbs: np.ndarray  # [b] the limb that it is in, -1 none
    foreign: np.ndarray  # [b] the bone of another limb that it hangs from, on the way to the torso; -1 none
    limb_count: int
    torso: int


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
