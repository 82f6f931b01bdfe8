"""Point cache files, .pc2 and .mdd.

.pc2 is little-endian: "POINTCACHE2\\0", version 1, vertices, first frame, frames from sample to sample,
samples; then x y z of every vertex, sample by sample. .mdd is big-endian: samples, vertices, the time of each
sample in seconds; then the same. So the header says how long the file is, and a file of another length is
refused before anything follows from its numbers.
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import whole
from .refusal import Refusal
from .words import counted

KINDS = (".pc2", ".mdd")
_PC2, _MDD = struct.Struct("<12siiffi"), struct.Struct(">ii")
MOST_FRAME = 1_048_574  # that Blender counts to


class Size(NamedTuple):
    samples: int
    vertices: int

    def bytes(self, kind: str) -> int:
        """Of a whole file."""
        points = 12 * self.samples * self.vertices
        return points + (_PC2.size if kind == ".pc2" else _MDD.size + 4 * self.samples)


# ---- reading


def _header(path: Path, kind: str, head: bytes) -> Size:
    if kind == ".pc2":
        if len(head) < _PC2.size or head[:12] != b"POINTCACHE2\0":
            raise Refusal(f"{path} is not a .pc2 file, or it is damaged.")
        _, _, vertices, _, _, samples = _PC2.unpack(head)
    else:
        if len(head) < _MDD.size:
            raise Refusal(f"{path} is not an .mdd file, or it is damaged.")
        samples, vertices = _MDD.unpack(head[: _MDD.size])
    return Size(samples, vertices)


def size_of_bytes(head: bytes, length: int, path: Path, kind: str) -> Size:
    """Of a file that begins so and has this length."""
    size = _header(path, kind, head)
    if size.samples < 1 or size.vertices < 1:
        raise Refusal(
            f"{path} has {size.samples} frames of {size.vertices} vertices: it is damaged or empty."
        )
    promised = size.bytes(kind)
    if length != promised:
        raise Refusal(
            f"{path} is damaged: {counted(size.samples, 'frame')} of {counted(size.vertices, 'vertex')} take"
            f" {promised} bytes, and it has {length}: copy or export it again."
        )
    if size.samples > MOST_FRAME:
        raise Refusal(f"{path} has {size.samples} frames; Blender counts to {MOST_FRAME}.")
    return size


def size_of(path: Path, kind: str | None = None) -> Size:
    """What a file holds, all of it; refuses one that is cut, too long or of another kind. kind: one of KINDS;
    None: the file's ending says it."""
    kind = kind or path.suffix.lower()
    if kind not in KINDS:
        raise Refusal(f"{path} is no point cache: its ending must be {' or '.join(KINDS)}.")
    try:
        with open(path, "rb") as file:
            length, head = os.fstat(file.fileno()).st_size, file.read(_PC2.size)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}.") from None
    return size_of_bytes(head, length, path, kind)


# ---- writing


def _pc2_header(vertices: int, times) -> bytes:
    step = times[1] - times[0] if len(times) > 1 else 1
    return _PC2.pack(b"POINTCACHE2", 1, vertices, times[0], step, len(times))


def _mdd_header(vertices: int, times, fps: float) -> bytes:
    seconds = (np.asarray(times, np.float64) - times[0]) / fps
    return _MDD.pack(len(times), vertices) + seconds.astype(">f4").tobytes()


class Writer:
    """A context manager, one frame at a time: what it leaves without finish() was never there."""

    def __init__(self, path: Path, vertices: int, times, fps: float = 24.0):
        big = path.suffix.lower() == ".mdd"
        self.dtype = ">f4" if big else "<f4"
        self.draft = whole.Draft(path)
        with whole.in_words(path):
            self.file = open(self.draft.part, "wb")  # noqa: SIM115 (closed in finish and __exit__)
            self.file.write(_mdd_header(vertices, times, fps) if big else _pc2_header(vertices, times))

    def add(self, points: np.ndarray) -> None:
        """points [v][3]"""
        with whole.in_words(self.draft.path):
            self.file.write(np.ascontiguousarray(points, self.dtype).tobytes())

    def finish(self) -> None:
        with whole.in_words(self.draft.path):
            self.file.close()
        self.draft.keep()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_exception) -> None:
        with contextlib.suppress(OSError):  # of bytes that nobody wants any more
            self.file.close()
        self.draft.drop()
