"""libossify for Python: NumPy arrays in, NumPy arrays out.

The only file that knows ctypes, and one that imports without Blender. The structs mirror
native/ossify.h field by field, and so do the names; docs and letters (v vertex, f frame,
b bone, k influence) are there.

    rig, info = decompose(rest, frames, triangles, Settings(bones=20))
    job = Job.start(rest, frames, triangles, Settings(bones=20))   # on the library's own thread
    while not job.poll().finished: ...
    rig, info = job.finish()
    skeleton = connect(rig, triangles)
    rig, skeleton, info = articulate(rest, frames, triangles, rig, skeleton)   # joints hold
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import enum
import functools
import importlib.util
import operator
import os
import platform
import re
import sys
import sysconfig
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

MESSAGE_LENGTH = 256
MAX_INFLUENCES = 16
MAX_BONES = 1024
STAGES = ("prepare", "start", "explore", "refine", "finish", "skeleton")

BONE_KINDS = ("rigid", "flexible")
QUALITIES = ("draft", "normal", "best")
REST_MODES = ("fixed", "kept", "free")
STARTS = ("grown", "faces", "spectral", "tried")
BUDGET_KINDS = ("none", "rms", "maximum", "parts")
JOINT_KINDS = ("root", "ball", "hinge", "stiff", "loose")
SYMMETRIES = ("none", "found", "given")

PLATFORMS = ("linux-x64", "windows-x64", "windows-arm64", "macos-arm64", "macos-x64")

_GIVEN_TRANSFORMS = 1
_GIVEN_WEIGHTS = 2


class Status(enum.IntEnum):
    CONVERGED = 0
    OUT_OF_ITERATIONS = 1
    REACHED = 2
    BAD_ARGUMENT = -1
    OUT_OF_MEMORY = -2
    CANCELLED = -3
    THREAD_FAILED = -4


class OssifyError(Exception):
    """A refusal: `status` (< 0) and one sentence."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


class LibraryError(OssifyError):
    """The library is not there, does not load or belongs to another version."""

    def __init__(self, sentence: str):
        super().__init__(Status.BAD_ARGUMENT, sentence)


# ---- the structs of ossify.h


class _Poses(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("vertex_count", ctypes.c_int64),
        ("frame_count", ctypes.c_int64),
        ("triangle_count", ctypes.c_int64),
        ("rest", ctypes.c_void_p),
        ("frames", ctypes.c_void_p),
        ("triangles", ctypes.c_void_p),
    ]


class _Progress(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("finished", ctypes.c_int64),
        ("stage", ctypes.c_int64),
        ("iterations", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("fraction", ctypes.c_double),
        ("erms", ctypes.c_double),
    ]


_Watch = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(_Progress))


class _Settings(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("influences", ctypes.c_int64),
        ("bone_kind", ctypes.c_int64),
        ("quality", ctypes.c_int64),
        ("rest_mode", ctypes.c_int64),
        ("locality", ctypes.c_int64),
        ("start", ctypes.c_int64),
        ("budget_kind", ctypes.c_int64),
        ("budget", ctypes.c_double),
        ("smoothness", ctypes.c_double),
        ("until", ctypes.c_double),
        ("iterations", ctypes.c_int64),
        ("threads", ctypes.c_int64),
        ("seed", ctypes.c_int64),
        ("relocate", ctypes.c_int64),
        ("allocate", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("memory_user", ctypes.c_void_p),
        ("watch", _Watch),
        ("watch_user", ctypes.c_void_p),
    ]


class _Rig(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("bone_capacity", ctypes.c_int64),
        ("influences", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("given", ctypes.c_int64),
        ("transforms", ctypes.c_void_p),
        ("influence_bones", ctypes.c_void_p),
        ("influence_weights", ctypes.c_void_p),
        ("rest", ctypes.c_void_p),
        ("held_transforms", ctypes.c_void_p),
        ("held_vertices", ctypes.c_void_p),
        ("held_groups", ctypes.c_void_p),
        ("held_rest", ctypes.c_void_p),
    ]


class _Skeleton(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("bone_capacity", ctypes.c_int64),
        ("root", ctypes.c_int64),
        ("forest", ctypes.c_int64),
        ("symmetry", ctypes.c_int64),
        ("stretch", ctypes.c_int64),
        ("demanded_count", ctypes.c_int64),
        ("forbidden_count", ctypes.c_int64),
        ("demanded", ctypes.c_void_p),
        ("forbidden", ctypes.c_void_p),
        ("held_joints", ctypes.c_void_p),
        ("plane", ctypes.c_double * 4),
        ("parents", ctypes.c_void_p),
        ("joint_kinds", ctypes.c_void_p),
        ("mirrors", ctypes.c_void_p),
        ("joints", ctypes.c_void_p),
        ("axes", ctypes.c_void_p),
        ("angles", ctypes.c_void_p),
        ("drifts", ctypes.c_void_p),
    ]


class _Info(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("status", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("iterations", ctypes.c_int64),
        ("erms", ctypes.c_double),
        ("rms_percent", ctypes.c_double),
        ("maximum_percent", ctypes.c_double),
        ("stage_seconds", ctypes.c_double * len(STAGES)),
        ("message", ctypes.c_char * MESSAGE_LENGTH),
    ]


class _Evaluation(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("frames", ctypes.c_void_p),
        ("vertex_error", ctypes.c_void_p),
        ("frame_error", ctypes.c_void_p),
        ("erms", ctypes.c_double),
        ("rms", ctypes.c_double),
        ("maximum", ctypes.c_double),
        ("diagonal", ctypes.c_double),
        ("radius", ctypes.c_double),
        ("worst_vertex", ctypes.c_int64),
        ("worst_frame", ctypes.c_int64),
    ]


STRUCTS = {
    "ossify_poses": _Poses,
    "ossify_progress": _Progress,
    "ossify_settings": _Settings,
    "ossify_rig": _Rig,
    "ossify_skeleton": _Skeleton,
    "ossify_info": _Info,
    "ossify_evaluation": _Evaluation,
}


def _sized(struct, **fields):
    return struct(struct_size=ctypes.sizeof(struct), **fields)


# ---- the library


def library_name() -> str:
    return {"win32": "libossify.dll", "darwin": "libossify.dylib"}.get(sys.platform, "libossify.so")


def _platform() -> str:
    """By Blender's names. On Windows it is the program's that counts, which may be foreign to the machine."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    windows = sysconfig.get_platform().rpartition("-")[2]
    machine = windows if system == "windows" else platform.machine().lower()
    return f"{system}-{ {'x86_64': 'x64', 'amd64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


def _remedy() -> str:
    """Where to get the library for this platform."""
    here = _platform()
    if here not in PLATFORMS:
        return f"Ossify is made for {', '.join(PLATFORMS)}; for {here}, run `make lib` in its source tree."
    name = f"ossify-{_manifest_version() or 'VERSION'}-{here.replace('-', '_')}.zip"
    return (
        f"It comes with {name} from Ossify's releases, not with the source code: install that file from disk"
        " in Blender's preferences (Get Extensions); in a source tree, run `make lib`."
    )


def _places() -> list[Path]:
    """Where the library may be, the first that exists wins."""
    here = Path(__file__).resolve().parent
    places = [here, here.parent / "build"]
    wheel = importlib.util.find_spec("ossify_native")
    if wheel is not None and wheel.submodule_search_locations:
        places[:0] = map(Path, wheel.submodule_search_locations)
    return [place / library_name() for place in places]


def library_path() -> Path:
    named = os.environ.get("OSSIFY_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise LibraryError(f"OSSIFY_LIBRARY names {named}, and there is no such file.")
        return Path(named).resolve()
    places = _places()
    for path in places:
        if path.is_file():
            return path
    raise LibraryError(
        f"{library_name()} for {_platform()} was not found (looked at {', '.join(map(str, places))})."
        f" {_remedy()}"
    )


def _manifest_version() -> str | None:
    """The extension's own version; the manifest lies beside this file, or above it in a source tree."""
    here = Path(__file__).resolve().parent
    for folder in (here, here.parent):
        with contextlib.suppress(OSError):
            text = (folder / "blender_manifest.toml").read_text(encoding="utf-8")
            found = re.search(r'^version\s*=\s*"([^"]*)"', text, re.MULTILINE)
            return found and found.group(1)
    return None


def _load(path: Path) -> ctypes.CDLL:
    try:
        if sys.platform == "win32":
            os.add_dll_directory(str(path.parent))  # OpenBLAS lies beside it
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"{path} does not load on {_platform()} ({error}). {_remedy()}") from None


def _declare(lib: ctypes.CDLL) -> None:
    poses, settings, rig, info = map(ctypes.POINTER, (_Poses, _Settings, _Rig, _Info))
    skeleton = ctypes.POINTER(_Skeleton)
    job = ctypes.c_void_p
    functions = {
        "ossify_version": (ctypes.c_char_p,),
        "ossify_default_settings": (None, ctypes.c_void_p),
        "ossify_decompose": (ctypes.c_int64, poses, settings, rig, info),
        "ossify_connect": (ctypes.c_int64, poses, settings, rig, skeleton, info),
        "ossify_articulate": (ctypes.c_int64, poses, settings, rig, skeleton, info),
        "ossify_evaluate": (ctypes.c_int64, poses, rig, settings, ctypes.POINTER(_Evaluation), info),
        "ossify_bone_costs": (ctypes.c_int64, poses, settings, rig, ctypes.c_void_p, info),
        "ossify_add_bone": (ctypes.c_int64, poses, settings, rig, ctypes.c_int64, ctypes.c_int64, info),
        "ossify_decompose_start": (job, poses, settings, rig, info),
        "ossify_articulate_start": (job, poses, settings, rig, skeleton, info),
        "ossify_job_poll": (None, job, ctypes.POINTER(_Progress)),
        "ossify_job_cancel": (None, job),
        "ossify_job_finish": (ctypes.c_int64, job),
    }
    for name, (result, *arguments) in functions.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library, its version and struct sizes checked."""
    path = library_path()
    lib = _load(path)
    try:
        _declare(lib)
    except AttributeError as error:
        raise LibraryError(f"{path} is not this version's libossify ({error}).") from None
    version, expected = lib.ossify_version().decode(), _manifest_version()
    if expected is not None and version != expected:
        raise LibraryError(
            f"{path} is version {version}, but the extension is {expected}: install them together."
        )
    room = (ctypes.c_int64 * 512)()  # more than any version's settings, should the sizes differ
    lib.ossify_default_settings(ctypes.byref(room))
    if room[0] != ctypes.sizeof(_Settings):
        raise LibraryError(
            f"{path} has settings of {room[0]} bytes, but {ctypes.sizeof(_Settings)} are expected:"
            " install library and extension together."
        )
    return lib


def version() -> str:
    return library().ossify_version().decode()


# ---- settings


def _refuse(sentence: str):
    raise OssifyError(Status.BAD_ARGUMENT, sentence)


def _whole(name: str, value, of: str = "settings.") -> int:
    try:
        number = operator.index(value)
    except TypeError:
        _refuse(f"{of}{name} is {value!r}; a whole number is needed.")
    if not -(2**63) <= number < 2**63:
        _refuse(f"{of}{name} is {number}, which no 64-bit number holds.")
    return number


def _real(name: str, value) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        _refuse(f"settings.{name} is {value!r}; a number is needed.")


def _choice(name: str, value, words: tuple[str, ...]) -> int:
    if value not in words:
        _refuse(f"settings.{name} is {value!r}; one of {', '.join(words)} is needed.")
    return words.index(value)


_WORDS = {
    "bone_kind": BONE_KINDS,
    "quality": QUALITIES,
    "rest_mode": REST_MODES,
    "start": STARTS,
    "budget_kind": BUDGET_KINDS,
}
_REALS = ("budget", "smoothness", "until")
_FLAGS = ("locality", "relocate")


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
    smoothness: float | None = None
    until: float | None = None
    iterations: int | None = None
    threads: int | None = None
    seed: int | None = None
    relocate: bool | None = None

    def __post_init__(self):
        defaults = _Settings()
        library().ossify_default_settings(ctypes.byref(defaults))
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is None:
                value = getattr(defaults, field.name)
                if field.name in _WORDS:
                    value = _WORDS[field.name][value]
                elif field.name in _FLAGS:
                    value = bool(value)
                setattr(self, field.name, value)

    def _struct(self) -> _Settings:
        struct = _Settings()
        library().ossify_default_settings(ctypes.byref(struct))
        for field in dataclasses.fields(self):
            name, value = field.name, getattr(self, field.name)
            if name in _WORDS:
                value = _choice(name, value, _WORDS[name])
            else:
                value = _real(name, value) if name in _REALS else _whole(name, value)
            setattr(struct, name, value)
        return struct


# ---- arrays


def _array(name: str, value, dtype, letters: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """`value` as a C-ordered array, copied only if it is not one already; None in shape: any length."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        _refuse(f"{name} is not an array ({error}).")
    kinds = "iu" if np.dtype(dtype).kind in "iu" else "iuf"
    if array.size and array.dtype.kind not in kinds + "b" * (dtype == np.uint8):
        _refuse(f"{name} holds {array.dtype}; {'whole ' if kinds == 'iu' else ''}numbers are needed.")
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits:
        want = ", ".join(letter if n is None else str(n) for letter, n in zip(letters, shape, strict=True))
        _refuse(f"{name} has shape {array.shape}; ({want}) is needed.")
    if dtype == np.int32 and array.dtype != dtype and array.size:
        wide = (array > 2**31 - 1) | (array < -(2**31))
        if wide.any():
            index = np.unravel_index(int(np.argmax(wide)), array.shape)
            _refuse(f"{name}{''.join(f'[{i}]' for i in index)} is {array[index]}, which no index can be.")
    with np.errstate(over="ignore", invalid="ignore"):  # too large for float32: the library names the place
        return np.ascontiguousarray(array, dtype=dtype)


def _address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


_HELD = ("held_transforms", "held_vertices", "held_groups", "held_rest")


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
        return dataclasses.replace(self, **dict.fromkeys(_HELD))

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
    status: Status
    bones: int
    iterations: int
    erms: float
    rms_percent: float
    maximum_percent: float
    seconds: float  # of the whole call
    stage_seconds: dict[str, float]
    message: str


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


def _progress(struct: _Progress) -> Progress:
    return Progress(
        bool(struct.finished),
        STAGES[struct.stage],
        struct.iterations,
        struct.bones,
        struct.fraction,
        struct.erms if struct.erms >= 0 else None,
    )


class _Call:
    """The structs of one call, and the arrays they point into."""

    def __init__(self, rest, frames, triangles, settings: Settings | None):
        # a skeleton needs none: then frames is their number, and the rest says how many vertices there are
        self.frames = (
            None if isinstance(frames, int) else _array("frames", frames, np.float32, "fvx", (None, None, 3))
        )
        frame_count, vertex_count = self.shape = (
            (frames, len(rest)) if self.frames is None else self.frames.shape[:2]
        )
        self.rest = None if rest is None else _array("rest", rest, np.float32, "vx", (vertex_count, 3))
        self.triangles = None
        if triangles is not None and np.size(triangles):
            self.triangles = _array("triangles", triangles, np.int32, "tc", (None, 3))
        self.settings = (settings or Settings())._struct()
        self.poses = _sized(
            _Poses,
            vertex_count=vertex_count,
            frame_count=frame_count,
            triangle_count=0 if self.triangles is None else len(self.triangles),
            rest=_address(self.rest),
            frames=_address(self.frames),
            triangles=_address(self.triangles),
        )
        self.info = _sized(_Info)
        self.room: _Room | None = None  # of the skeleton, for verbs that have one
        self.began = time.perf_counter()

    def make_room(self, given: Rig | None, more: int = 0) -> None:
        """Arrays for the answer, holding what is given; `more` bones than those have room, too."""
        frame_count, vertex_count = self.shape
        given = self._checked(given or Rig())
        bones = given.bones
        capacity = max(bones + more, min(max(self.settings.bones, 1), MAX_BONES))
        influences = min(max(self.settings.influences, 1), MAX_INFLUENCES)
        if given.influence_bones is not None:
            influences = max(influences, given.influence_bones.shape[1])
        self.transforms = np.zeros((frame_count, capacity, 3, 4))
        self.influence_bones = np.full((vertex_count, influences), -1, np.int32)
        self.influence_weights = np.zeros((vertex_count, influences), np.float32)
        self.corrected = np.zeros((vertex_count, 3), np.float32)
        self.held = {name: getattr(given, name) for name in _HELD}
        flags = 0
        if given.transforms is not None:
            flags |= _GIVEN_TRANSFORMS
            self.transforms[:, :bones] = given.transforms
        if given.influence_bones is not None:
            flags |= _GIVEN_WEIGHTS
            self.influence_bones[:, : given.influence_bones.shape[1]] = given.influence_bones
            self.influence_weights[:, : given.influence_bones.shape[1]] = given.influence_weights
        if given.rest is not None:
            self.corrected[:] = given.rest
        self.rig = _sized(
            _Rig,
            bone_capacity=capacity,
            influences=influences,
            bones=bones,
            given=flags,
            transforms=_address(self.transforms),
            influence_bones=_address(self.influence_bones),
            influence_weights=_address(self.influence_weights),
            rest=_address(self.corrected),
            **{name: _address(array) for name, array in self.held.items()},
        )

    def _checked(self, given: Rig) -> Rig:
        """A given rig as arrays of the right types and shapes; what they hold is the library's to judge."""
        frames, vertices = self.shape

        def part(name, dtype, letters, *shape):
            value = getattr(given, name)
            return None if value is None else _array(f"rig.{name}", value, dtype, letters, shape)

        rig = Rig()
        rig.transforms = part("transforms", np.float64, "fbrc", frames, None, 3, 4)
        rig.influence_bones = part("influence_bones", np.int32, "vk", vertices, None)
        influences = None if rig.influence_bones is None else rig.influence_bones.shape[1]
        rig.influence_weights = part("influence_weights", np.float32, "vk", vertices, influences)
        if (rig.influence_bones is None) != (rig.influence_weights is None):
            _refuse("rig.influence_bones and rig.influence_weights come together or not at all.")
        if rig.bones > MAX_BONES:
            _refuse(f"The given rig has {rig.bones} bones; {MAX_BONES} is the most.")
        if influences is not None and influences > MAX_INFLUENCES:
            _refuse(f"The given rig has {influences} influences a vertex; {MAX_INFLUENCES} is the most.")
        rig.rest = part("rest", np.float32, "vx", vertices, 3)
        if rig.rest is None and (rig.transforms is not None or rig.influence_bones is not None):
            rig.rest = self.rest
            if rig.rest is None:
                _refuse("rig.rest is missing: a given rig needs the rest pose it belongs to.")
        rig.held_transforms = part("held_transforms", np.uint8, "fb", frames, rig.bones)
        rig.held_vertices = part("held_vertices", np.uint8, "v", vertices)
        rig.held_groups = part("held_groups", np.uint8, "b", rig.bones)
        rig.held_rest = part("held_rest", np.uint8, "v", vertices)
        return rig

    def refs(self):
        skeleton = () if self.room is None else (self.room.struct,)
        return tuple(map(ctypes.byref, (self.poses, self.settings, self.rig, *skeleton, self.info)))

    def raise_refusal(self) -> None:
        if self.info.status < 0:
            sentence = self.message() or f"The library ended with {self.info.status}."
            raise OssifyError(_status(self.info.status), sentence)

    def answer(self, seconds: float) -> tuple[Rig, Info] | tuple[Rig, Skeleton, Info]:
        self.raise_refusal()
        transforms = np.ascontiguousarray(self.transforms[:, : self.rig.bones])
        rig = Rig(transforms, self.influence_bones, self.influence_weights, self.corrected)
        skeleton = () if self.room is None else (self.room.answer(self.message()),)
        info = self.info
        info = Info(
            _status(info.status),
            info.bones,
            info.iterations,
            info.erms,
            info.rms_percent,
            info.maximum_percent,
            seconds,
            dict(zip(STAGES, info.stage_seconds, strict=True)),
            self.message(),
        )
        return rig, *skeleton, info

    def message(self) -> str:
        return self.info.message.decode(errors="replace")


def _status(number: int) -> int:
    try:
        return Status(number)
    except ValueError:
        return number


# ---- verbs


Watch = Callable[[Progress], object]


def _run(verb: str, call: _Call, watch: Watch | None):
    """Runs a verb; an exception in `watch`, and Ctrl-C, end the call and are raised from here."""
    raised: list[BaseException] = []

    def watched(_user, progress) -> int:
        try:
            return int(bool(watch is not None and watch(_progress(progress.contents))))
        except BaseException as error:  # raised again below: none may pass through C
            raised.append(error)
            return 1

    call.settings.watch = _Watch(watched)
    began = time.perf_counter()
    getattr(library(), verb)(*call.refs())
    seconds = time.perf_counter() - began
    if raised:
        raise raised[0]
    return call.answer(seconds)


def _decomposition(rest, frames, triangles, settings: Settings | None, rig: Rig | None) -> _Call:
    call = _Call(rest, frames, triangles, settings)
    call.make_room(rig)
    return call


def _articulation(
    rest, frames, triangles, rig: Rig, skeleton: Skeleton, settings, stretch: bool, held_joints
) -> _Call:
    call = _decomposition(rest, frames, triangles, settings, rig)
    call.room = _Room.holding(skeleton, rig.bones, stretch, held_joints)
    return call


def decompose(
    rest,
    frames,
    triangles=None,
    settings: Settings | None = None,
    rig: Rig | None = None,
    watch: Watch | None = None,
) -> tuple[Rig, Info]:
    """Decomposes the motion into bones; `watch` sees the progress and cancels by a true value.

    rest [v][3] or None (a bind shape is made), frames [f][v][3], triangles [t][3] or None.
    """
    return _run("ossify_decompose", _decomposition(rest, frames, triangles, settings, rig), watch)


def articulate(
    rest,
    frames,
    triangles,
    rig: Rig,
    skeleton: Skeleton,
    settings: Settings | None = None,
    watch: Watch | None = None,
    stretch: bool = False,
    held_joints=None,
) -> tuple[Rig, Skeleton, Info]:
    """Refits a whole rig so that its bones only turn about the skeleton's joints; roots also move.

    With `stretch`, joints may slide along the line from their parent's joint. held_joints [b]: true where
    the joint to the parent stays where it is.
    """
    call = _articulation(rest, frames, triangles, rig, skeleton, settings, stretch, held_joints)
    return _run("ossify_articulate", call, watch)


def _end(handle: ctypes.c_void_p, _call: _Call) -> None:
    """Ends a job that nobody finished; the arrays of the call live until then."""
    library().ossify_job_cancel(handle)
    library().ossify_job_finish(handle)


class Job:
    """A verb on the library's own thread. Abandoned, it is cancelled and cleaned up."""

    def __init__(self, handle: ctypes.c_void_p, call: _Call):
        self._handle = handle
        self._call = call
        self._abandon = weakref.finalize(self, _end, handle, call)
        self._last: Progress | None = None
        self._result: tuple | OssifyError | None = None

    @classmethod
    def start(cls, rest, frames, triangles=None, settings: Settings | None = None, rig: Rig | None = None):
        """As decompose(), but returns at once; refused arguments raise here."""
        return cls._begin("ossify_decompose_start", _decomposition(rest, frames, triangles, settings, rig))

    @classmethod
    def start_articulate(
        cls,
        rest,
        frames,
        triangles,
        rig: Rig,
        skeleton: Skeleton,
        settings: Settings | None = None,
        stretch: bool = False,
        held_joints=None,
    ):
        """As articulate(), likewise; finish() gives what it gives."""
        call = _articulation(rest, frames, triangles, rig, skeleton, settings, stretch, held_joints)
        return cls._begin("ossify_articulate_start", call)

    @classmethod
    def _begin(cls, verb: str, call: _Call):
        call.began = time.perf_counter()
        handle = getattr(library(), verb)(*call.refs())
        if not handle:
            call.raise_refusal()
            raise OssifyError(Status.THREAD_FAILED, "The job could not be started.")
        return cls(ctypes.c_void_p(handle), call)

    def poll(self) -> Progress:
        """Where the job is; after finish(), where it ended."""
        if self._result is None:
            struct = _sized(_Progress)
            library().ossify_job_poll(self._handle, ctypes.byref(struct))
            self._last = _progress(struct)
        return self._last

    def cancel(self) -> None:
        """Asks the job to end soon; finish() then raises OssifyError with Status.CANCELLED."""
        if self._result is None:
            library().ossify_job_cancel(self._handle)

    def finish(self) -> tuple:
        """Waits for the end; the answer, also when asked again."""
        if self._result is None:
            self._abandon.detach()
            library().ossify_job_finish(self._handle)
            seconds = time.perf_counter() - self._call.began
            self._last = (self._last or Progress(True, STAGES[-1], 0, 0, 1.0, None))._replace(finished=True)
            try:
                self._result = self._call.answer(seconds)
            except OssifyError as error:
                self._result = error
            self._call = None
        if isinstance(self._result, OssifyError):
            raise self._result
        return self._result

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_exception) -> None:
        if self._result is None:
            self.cancel()
            with contextlib.suppress(OssifyError):
                self.finish()


def _pairs(name: str, pairs) -> np.ndarray:
    return _array(name, np.reshape(np.asarray(pairs, np.int64), (-1, 2)), np.int32, "pb", (None, 2))


class _Room:
    """A skeleton's struct, and the arrays it points into."""

    def __init__(self, bones: int, wishes: Wishes):
        self.demanded = _pairs("demanded", wishes.demanded)
        self.forbidden = _pairs("forbidden", wishes.forbidden)
        self.parents, self.kinds, self.mirrors = (np.full(bones, -1, np.int32) for _ in range(3))
        self.joints, self.axes = (np.zeros((bones, 3)) for _ in range(2))
        self.angles, self.drifts = (np.zeros(bones) for _ in range(2))
        self.struct = _sized(
            _Skeleton,
            bone_capacity=bones,
            root=_whole("root", wishes.root),
            forest=int(wishes.forest),
            symmetry=_choice("symmetry", wishes.symmetry, SYMMETRIES),
            demanded_count=len(self.demanded),
            forbidden_count=len(self.forbidden),
            demanded=_address(self.demanded),
            forbidden=_address(self.forbidden),
            parents=_address(self.parents),
            joint_kinds=_address(self.kinds),
            mirrors=_address(self.mirrors),
            joints=_address(self.joints),
            axes=_address(self.axes),
            angles=_address(self.angles),
            drifts=_address(self.drifts),
        )
        if wishes.plane is not None:
            self.struct.plane[:] = [_real("plane", number) for number in wishes.plane]

    @classmethod
    def holding(cls, skeleton: Skeleton, bones: int, stretch: bool, held_joints=None) -> _Room:
        """The struct of a skeleton that is known."""
        symmetric = skeleton.plane is not None
        wishes = Wishes(skeleton.root, symmetry="given" if symmetric else "none", plane=skeleton.plane)
        room = cls(bones, wishes)
        for name, dtype, letters, shape in (
            ("parents", np.int32, "b", (bones,)),
            ("mirrors", np.int32, "b", (bones,)),
            ("joints", np.float64, "bx", (bones, 3)),
            ("axes", np.float64, "bx", (bones, 3)),
            ("angles", np.float64, "b", (bones,)),
            ("drifts", np.float64, "b", (bones,)),
        ):
            getattr(room, name)[:] = _array(
                f"skeleton.{name}", getattr(skeleton, name), dtype, letters, shape
            )
        if len(skeleton.kinds) != bones:
            _refuse(f"skeleton.kinds has {len(skeleton.kinds)} items; {bones} are needed.")
        room.kinds[:] = [_choice("kinds", kind, JOINT_KINDS) for kind in skeleton.kinds]
        room.struct.stretch = int(stretch)
        if held_joints is not None:
            room.held_joints = _array("held_joints", held_joints, np.uint8, "b", (bones,))
            room.struct.held_joints = _address(room.held_joints)
        return room

    def answer(self, message: str) -> Skeleton:
        return Skeleton(
            self.struct.root,
            self.parents,
            self.joints,
            [JOINT_KINDS[kind] for kind in self.kinds],
            self.axes,
            self.angles,
            self.drifts,
            self.mirrors,
            np.array(self.struct.plane) if self.struct.symmetry else None,
            message,
        )


def connect(
    rig: Rig, triangles=None, wishes: Wishes | None = None, settings: Settings | None = None
) -> Skeleton:
    """Joins the bones of a whole rig to a skeleton."""
    if (
        rig.transforms is None
        or rig.influence_bones is None
        or rig.influence_weights is None
        or rig.rest is None
    ):
        _refuse("The rig lacks transforms, weights or its rest pose: only a whole rig has a skeleton.")
    call = _Call(rig.rest, len(rig.transforms), triangles, settings)
    call.settings.bones = call.settings.influences = 1
    call.make_room(rig.released())
    call.room = _Room(rig.bones, wishes or Wishes())
    library().ossify_connect(*call.refs())
    call.raise_refusal()
    return call.room.answer(call.message())


def _is_whole(rig: Rig) -> bool:
    return rig.transforms is not None and rig.influence_bones is not None


def bone_costs(rest, frames, triangles, rig: Rig, settings: Settings | None = None) -> np.ndarray:
    """[b] by how much rms_percent would rise were the bone lost and its vertices solved again without it."""
    if not _is_whole(rig):
        _refuse("The rig lacks transforms or weights: only a whole rig's bones have a cost.")
    call = _Call(rest, frames, triangles, settings)
    call.make_room(rig.released())
    costs = np.zeros(rig.bones)
    *structs, info = call.refs()
    library().ossify_bone_costs(*structs, _address(costs), info)
    call.raise_refusal()
    return costs


def add_bone(
    rest,
    frames,
    triangles,
    rig: Rig,
    vertex: int | None = None,
    split: int | None = None,
    settings: Settings | None = None,
) -> Rig:
    """The rig with one bone more, the last; decompose() with it then makes all fit.

    It takes weights around `vertex`, or where the error is most; with `split`, from those vertices of that
    bone which move least like it. What is held stays, and no other bone's transform changes.
    """
    if not _is_whole(rig):
        _refuse("The rig lacks transforms or weights: only a whole rig can be given a bone.")
    call = _Call(rest, frames, triangles, settings)
    call.make_room(rig, more=1)
    place = [
        -1 if number is None else _whole(name, number, "")
        for name, number in (("vertex", vertex), ("split", split))
    ]
    *structs, info = call.refs()
    library().ossify_add_bone(*structs, *place, info)
    grown, _ = call.answer(0.0)
    return grown


def evaluate(rest, frames, rig: Rig, replay: bool = True) -> Evaluation:
    """Replays the rig and measures it against the frames; replay=False leaves the replayed frames out."""
    call = _Call(rest, frames, None, None)
    if rig.transforms is None or rig.influence_bones is None or rig.influence_weights is None:
        _refuse("The rig lacks transforms or weights: only a whole rig can be evaluated.")
    whole = rig.released()
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(whole)
    replayed = np.empty_like(call.frames) if replay else None
    vertex_error = np.zeros(call.frames.shape[1])
    frame_error = np.zeros(call.frames.shape[0])
    evaluation = _sized(
        _Evaluation,
        frames=_address(replayed),
        vertex_error=_address(vertex_error),
        frame_error=_address(frame_error),
    )
    poses, _, rig_ref, info = call.refs()
    library().ossify_evaluate(poses, rig_ref, None, ctypes.byref(evaluation), info)
    call.raise_refusal()
    scalars = ("erms", "rms", "maximum", "diagonal", "radius", "worst_vertex", "worst_frame")
    return Evaluation(replayed, vertex_error, frame_error, *(getattr(evaluation, name) for name in scalars))
