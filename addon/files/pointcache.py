"""Point cache files, .pc2 and .mdd, written one frame at a time.

.pc2 is little-endian: "POINTCACHE2\\0", version 1, vertices, first frame, frames from sample to sample,
samples; then x y z of every vertex, sample by sample. .mdd is big-endian: samples, vertices, the time of each
sample in seconds; then the same. A file of that name is replaced when the new one is whole, and not before.
"""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import numpy as np

KINDS = (".pc2", ".mdd")


def _pc2_header(vertices: int, times) -> bytes:
    step = times[1] - times[0] if len(times) > 1 else 1
    return struct.pack("<12siiffi", b"POINTCACHE2", 1, vertices, times[0], step, len(times))


def _mdd_header(vertices: int, times, fps: float) -> bytes:
    seconds = (np.asarray(times, np.float64) - times[0]) / fps
    return struct.pack(">ii", len(times), vertices) + seconds.astype(">f4").tobytes()


def refuse_folder(path: Path) -> None:
    """At once, and not when the file is whole and finds its place taken."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


class Writer:
    """A context manager: what it leaves without finish() was never there."""

    def __init__(self, path: Path, vertices: int, times, fps: float = 24.0):
        self.path, self.part = path, path.with_name(path.name + ".part")
        big = path.suffix.lower() == ".mdd"
        self.dtype = ">f4" if big else "<f4"
        refuse_folder(path)
        self.file = open(self.part, "wb")  # noqa: SIM115 (closed in finish and __exit__)
        self.file.write(_mdd_header(vertices, times, fps) if big else _pc2_header(vertices, times))

    def add(self, points: np.ndarray) -> None:
        """points [v][3]"""
        self.file.write(np.ascontiguousarray(points, self.dtype).tobytes())

    def finish(self) -> None:
        self.file.close()
        os.replace(self.part, self.path)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_exception) -> None:
        self.file.close()
        self.part.unlink(missing_ok=True)
