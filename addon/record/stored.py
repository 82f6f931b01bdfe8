"""What a rig has stored about itself, read in this one place: whatever is damaged, forged or of another
version becomes one sentence, and no number that is read is an order to take memory or time.

Notes are custom properties of the memory's mesh: text as JSON, and flat arrays whose lengths follow from the
text; merges are read in stored_merges.py. `mesh` is any mapping of them. Notes of version 0.1.0 have no
`format`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping

import numpy as np

FORMAT = 1  # of the notes that are written; another number is not known here
MOST_NUMBER = 1 << 20  # of a bone, counted over all that a rig ever had
MOST_INFLUENCES = 16  # as many as a solver takes
LOOKS = "looks"
_MOST_TEXT = 1 << 28  # letters of a note
_PALETTE = re.compile(r"[A-Z0-9_]{1,40}")
_COLOURS, _CHANNELS = 3, 10  # of a bone: parts of its colour; location, rotation and scale


class Damaged(Exception):
    """What is wrong, as a part of a sentence."""


class Newer(Exception):
    """These notes are of a version to come."""


@dataclasses.dataclass
class Bones:
    """All bones of an armature, by the numbers they carry."""

    numbers: list[int]
    names: list[str]
    parents: list[int]  # numbers; -1: none
    connected: list[bool]  # to the parent
    deforms: list[bool]
    lengths: list[float]
    rests: np.ndarray  # [b][4][4] bone to armature

    def index(self, number: int) -> int:
        return self.numbers.index(number)


FIELDS = ("numbers", "names", "parents", "connected", "deforms", "lengths")  # of bones that are text


@dataclasses.dataclass
class Snapshot:
    """A rig as it is, or as it was noted."""

    bones: Bones
    times: np.ndarray  # [f]
    channels: np.ndarray  # [f][b][10] location, rotation, scale
    counts: list[int]  # vertices of each mesh
    topology: list[int | None]  # of each mesh; None: it was not noted
    influences: np.ndarray  # [v][k] numbers of bones; -1: none
    weights: np.ndarray  # [v][k]
    rest: np.ndarray  # [v][3] in the objects' own space
    groups: list[np.ndarray] | None = None  # of each mesh that is there, [v][b] as painted; None: long ago


# ---- values


def is_whole(value, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_number(value) -> bool:
    """Whether it can be a bone's number."""
    return is_whole(value, 0, MOST_NUMBER)


def is_real(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def listed(value, fits, what: str, count: int | None = None) -> list:
    """A list of so many values, each of which fits."""
    if not isinstance(value, list) or (count is not None and len(value) != count):
        raise Damaged(what)
    if not all(map(fits, value)):
        raise Damaged(what)
    return value


def mapped(value, what: str) -> dict:
    if not isinstance(value, dict):
        raise Damaged(what)
    return value


def is_text(value) -> bool:
    return isinstance(value, str)


def parsed(text, what: str):
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise Damaged(what)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged(what) from None


def _array(mesh: Mapping, name: str, dtype, *shape: int) -> np.ndarray:
    """A property as an array of this shape, -1: as many as there are; all of it finite."""
    try:
        flat = np.array(mesh[name])
        if flat.dtype.kind not in ("iu" if np.dtype(dtype).kind == "i" else "fiu"):
            raise Damaged(name)
        array = flat.astype(dtype).reshape(shape)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Damaged(name) from None
    if not np.isfinite(array).all():
        raise Damaged(name)
    return array


# ---- version


def check_version(made_by: str, ours: str, mesh: Mapping | None) -> None:
    """made_by: the version of Ossify that the rig names"""
    numbers = [re.match(r"(\d{1,6})\.(\d{1,6})(?:\.|$)", text) for text in (made_by, ours)]
    if numbers[0] is None:
        raise Damaged("its version")
    theirs, here = (tuple(map(int, found.groups())) for found in numbers)
    form = 1 if mesh is None else mesh.get("format", 1)
    if not is_whole(form, 1, 2**31):
        raise Damaged("format")
    if theirs > here or form > FORMAT:
        raise Newer(made_by)


# ---- bones


def bones_of(words, rests: np.ndarray | None, what: str) -> Bones:
    """rests: None: they are not needed"""
    words = mapped(words, what)
    if set(words) != set(FIELDS):
        raise Damaged(what)
    numbers = listed(words["numbers"], is_number, f"numbers of {what}")
    count = len(numbers)
    names = listed(words["names"], is_text, f"names of {what}", count)
    parents = listed(words["parents"], lambda n: n == -1 or is_number(n), f"parents of {what}", count)
    flags = [
        listed(words[name], lambda value: isinstance(value, bool), f"{name} of {what}", count)
        for name in ("connected", "deforms")
    ]
    lengths = listed(words["lengths"], lambda n: is_real(n) and n >= 0, f"lengths of {what}", count)
    if len(set(numbers)) < count or len(set(names)) < count:
        raise Damaged(f"numbers of {what}")
    _refuse_circles(dict(zip(numbers, parents, strict=True)), f"parents of {what}")
    return Bones(numbers, names, parents, *flags, lengths, rests)


def _refuse_circles(parents: dict[int, int], what: str) -> None:
    ended = {-1}
    for number in parents:
        way: dict[int, None] = {}
        while number not in ended and number in parents:
            if number in way:
                raise Damaged(what)
            way[number] = None
            number = parents[number]
        ended |= way.keys()


def names_by_number(mesh: Mapping) -> dict[int, str]:
    """Of all bones that were noted; quick."""
    if "bones" not in mesh:
        return {}
    bones = bones_of(parsed(mesh["bones"], "bones"), None, "bones")
    return dict(zip(bones.numbers, bones.names, strict=True))


# ---- the rig as it was


def notes(mesh: Mapping, meshes: int, times: np.ndarray) -> Snapshot:
    """meshes: how many the rig was made with; times [f]: its frames"""
    words = parsed(mesh.get("bones"), "bones")
    count = len(mapped(words, "bones").get("numbers") or ())
    bones = bones_of(words, _array(mesh, "rests", np.float64, count, 4, 4), "bones")
    known = mapped(parsed(mesh.get("meshes"), "meshes"), "meshes")
    counts = listed(known.get("counts"), lambda n: is_whole(n, 0, 2**31 - 1), "counts", meshes)
    # Files of before have a "topology" of faces in their order, which says nothing about edges.
    edges = known.get("edges", [None] * meshes)
    listed(edges, lambda n: n is None or is_whole(n, 0, 2**31 - 1), "edges", meshes)
    vertices = sum(counts)
    rest = _array(mesh, "rest", np.float32, vertices, 3)  # first: now there are so many
    width = len(mesh["influences"]) // vertices if vertices and _has_length(mesh, "influences") else 1
    if not 1 <= width <= MOST_INFLUENCES:
        raise Damaged("influences")
    influences = _array(mesh, "influences", np.int32, vertices, width)
    weights = _array(mesh, "weights", np.float32, vertices, width)
    if influences.min(initial=-1) < -1 or influences.max(initial=-1) > MOST_NUMBER:
        raise Damaged("influences")
    if not bones.numbers:
        raise Damaged("bones")
    channels = _array(mesh, "channels", np.float32, -1, count, _CHANNELS)
    if not len(channels):
        raise Damaged("channels")
    return Snapshot(bones, times, channels, counts, edges, influences, weights, rest)


def _has_length(mesh: Mapping, name: str) -> bool:
    return hasattr(mesh.get(name), "__len__")


# ---- the motion


def shape(mesh: Mapping) -> tuple[int, int, bool]:
    """Frames, vertices, and whether there is a rest of its own."""
    frames, vertices, with_rest = _array(mesh, "shape", np.int64, 3).tolist()
    if frames < 1 or vertices < 1 or with_rest not in (0, 1):
        raise Damaged("shape")
    return frames, vertices, bool(with_rest)


def columns(mesh: Mapping, meshes: int) -> list[slice]:
    """Where each mesh is in the motion."""
    counts = _array(mesh, "columns", np.int64, meshes)
    ends = np.cumsum(counts)
    if counts.min(initial=0) < 0 or not meshes or ends[-1] != shape(mesh)[1]:
        raise Damaged("columns")
    return [slice(int(end - count), int(end)) for end, count in zip(ends, counts, strict=True)]


def is_motion(frames: np.ndarray, rest: np.ndarray | None, wanted: tuple[int, int, bool]) -> bool:
    """Whether arrays are a motion of this shape."""
    count, vertices, with_rest = wanted
    fits = frames.shape == (count, vertices, 3) and (rest is not None) == with_rest
    fits = fits and (rest is None or rest.shape == (vertices, 3))
    arrays = [array for array in (frames, rest) if array is not None]
    return fits and all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays)


# ---- looks


def _look(look, what: str) -> dict:
    look = mapped(look, what)
    fits = (
        isinstance(look.get("palette"), str)
        and _PALETTE.fullmatch(look["palette"])
        and isinstance(look.get("rotation"), str)
        and _PALETTE.fullmatch(look["rotation"])
    )
    if not fits:
        raise Damaged(what)
    colours = listed(look.get("colours"), lambda value: isinstance(value, list), what)
    if len(colours) not in (0, _COLOURS):
        raise Damaged(what)
    for colour in colours:
        listed(colour, is_real, what, 3)
    listed(look.get("collections"), is_text, what)
    noted = mapped(look.get("noted"), what)
    if not all(name.startswith("ossify_") and _is_plain(value) for name, value in noted.items()):
        raise Damaged(what)
    return look


def _is_plain(value) -> bool:
    """What a custom property may be."""
    if isinstance(value, list):
        return 0 < len(value) <= 64 and all(map(is_real, value))
    return isinstance(value, (bool, str)) or is_whole(value, -(2**31), 2**31 - 1) or is_real(value)


def looks(mesh: Mapping) -> dict[str, dict]:
    """A bone's number, as text -> how it looks."""
    return looks_of(parsed(mesh.get(LOOKS, "{}"), LOOKS), LOOKS)


def looks_of(words, what: str) -> dict[str, dict]:
    found = mapped(words, what)
    for number, look in found.items():
        if not (number.isdecimal() and len(number) < 9 and is_number(int(number))):
            raise Damaged(what)
        _look(look, what)
    return found
