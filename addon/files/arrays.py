"""Meshes that are plain numbers in a file, without Blender: .npz, one pose or a whole motion, and .stl.

An .stl is a heap of triangles with three corners of their own; what holds them together is found later, from
all frames (sequence.py). A binary one says how many triangles follow, and has that length.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.refusal import Refusal
from ..native import npz

_POINTS = ("vertices", "verts", "points", "positions", "v", "frames")  # names that are in use
_FACES = ("faces", "triangles", "tris", "f")
_STL_HEAD = 84  # bytes of a binary .stl before its triangles
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])


class Pose(NamedTuple):
    points: np.ndarray  # [v][3] float32, or [f][v][3] of a motion
    faces: np.ndarray | None  # [t][3] int32; None: they are those of the first frame
    rest: np.ndarray | None = None  # [v][3], where a motion has one


def _damaged(path: Path, what: str) -> Refusal:
    return Refusal(f"{path} is damaged: {what}; copy or export it again.")


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}.") from None


# ---- .npz


def _one_of(arrays: dict, names: tuple[str, ...], dtype: type) -> np.ndarray | None:
    found = next((arrays[name] for name in names if name in arrays), None)
    with np.errstate(all="ignore"):  # what does not fit is out of every range afterwards, too
        return None if found is None else np.ascontiguousarray(found, dtype)


def _check_faces(path: Path, faces: np.ndarray, vertices: int) -> None:
    if faces.ndim != 2 or faces.shape[1] != 3:
        raise Refusal(f"{path}: its faces have the shape {list(faces.shape)}, and not [triangles][3].")
    if faces.size and not (0 <= faces.min() and faces.max() < vertices):
        raise _damaged(path, f"a face names vertex {faces.max()} of {vertices}")


def npz_of(data: bytes, path: Path) -> Pose:
    """path: names the file in a sentence"""
    try:
        arrays = npz.read(io.BytesIO(data), (*_POINTS, *_FACES, "rest"))
    except npz.Damaged as what:
        raise _damaged(path, f"{what} is not whole" if str(what) else "it is no .npz") from None
    points, faces = _one_of(arrays, _POINTS, np.float32), _one_of(arrays, _FACES, np.int32)
    if points is None:
        raise Refusal(f"{path} holds no positions: one of {', '.join(_POINTS)} is needed.")
    if points.ndim not in (2, 3) or points.shape[-1] != 3 or not points.size:
        raise Refusal(f"{path}: its positions have the shape {list(points.shape)}, and not [vertices][3].")
    if faces is not None:
        _check_faces(path, faces, points.shape[-2])
    rest = _one_of(arrays, ("rest",), np.float32)
    fits = rest is not None and rest.shape == points.shape[-2:]
    return Pose(points, faces, rest if fits else None)


# ---- .stl


def _binary(path: Path, data: bytes) -> np.ndarray:
    count = int.from_bytes(data[80:_STL_HEAD], "little")
    if len(data) != _STL_HEAD + count * _TRIANGLE.itemsize:
        raise _damaged(path, f"{count} triangles do not take {len(data)} bytes")
    return np.frombuffer(data, _TRIANGLE, count, _STL_HEAD)["corners"].reshape(-1, 3)


def _text(path: Path, data: bytes) -> np.ndarray:
    words = re.findall(rb"^\s*vertex\s+(\S+)\s+(\S+)\s+(\S+)\s*$", data, re.MULTILINE)
    try:
        points = np.array(words, dtype="S").astype(np.float32).reshape(-1, 3)
    except ValueError:
        raise _damaged(path, "a corner is no number") from None
    if len(points) % 3 or len(points) != 3 * len(re.findall(rb"^\s*endfacet\b", data, re.MULTILINE)):
        raise _damaged(path, "a triangle has not three corners")
    if not re.search(rb"^\s*endsolid\b", data, re.MULTILINE):
        raise _damaged(path, "it has no end")
    return points


def stl_of(data: bytes, path: Path) -> Pose:
    is_text = data[:5] == b"solid" and b"facet" in data[:1000]
    points = (
        np.array((_text if is_text else _binary)(path, data), np.float32) if len(data) >= _STL_HEAD else None
    )
    if points is None or not len(points):
        raise _damaged(path, "it has no triangles")
    return Pose(points, np.arange(len(points), dtype=np.int32).reshape(-1, 3))


# ---- both

_KINDS = {".npz": npz_of, ".stl": stl_of}
KINDS = tuple(_KINDS)


def read(path: Path) -> Pose:
    return _KINDS[path.suffix.lower()](_bytes_of(path), path)
