"""Arrays from a NumPy .npz file or from its bytes, each checked against the length it has there before any
memory is asked for: a shape in a header is a bound, not an order.
"""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.lib import format as npy

_KINDS = "biuf"  # of numbers; nothing that could be run
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Damaged(Exception):
    """These bytes are no arrays of numbers, or not all of them; its text names the one that is not."""


def _read_one(file: zipfile.ZipFile, name: str) -> np.ndarray:
    member = file.getinfo(f"{name}.npy")
    with file.open(member) as stream:
        shape, in_columns, dtype = _HEADERS[npy.read_magic(stream)](stream)
        size = math.prod(shape) * dtype.itemsize
        if dtype.kind not in _KINDS or min(shape, default=1) < 0 or stream.tell() + size != member.file_size:
            raise Damaged
        data = stream.read(size + 1)  # one more, so that the sum of all bytes is compared
    if len(data) != size:
        raise Damaged
    return np.frombuffer(data, dtype).reshape(shape, order="F" if in_columns else "C")


@contextlib.contextmanager
def _opened(file: str | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Over bytes that are not theirs, zipfile, zlib and NumPy raise whatever they like."""
    with open(file, "rb") if isinstance(file, str) else contextlib.nullcontext(file) as stream:
        try:
            with zipfile.ZipFile(stream) as found:
                yield found
        except Damaged:
            raise
        except Exception:
            raise Damaged from None


def names_in(file: str | IO[bytes]) -> list[str]:
    """OSError when the file cannot be opened, Damaged when it is none of this kind."""
    with _opened(file) as found:
        return [name.removesuffix(".npy") for name in found.namelist() if name.endswith(".npy")]


def read(file: str | IO[bytes], names) -> dict[str, np.ndarray]:
    """The arrays of these names, as far as they are there."""
    with _opened(file) as found:
        there = set(found.namelist())
        arrays = {}
        for name in names:
            if f"{name}.npy" in there:
                try:
                    arrays[name] = _read_one(found, name)
                except Exception:
                    raise Damaged(name) from None
        return arrays
