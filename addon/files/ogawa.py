"""Whether an Alembic archive (.abc) is whole, before Blender reads it: over one that is cut its importer ends
Blender.

Ogawa, the form that archives have: sixteen bytes that end with the place of the root; a group is the number
of its children and their places, data are their length and themselves, and the highest bit of a place says
which of the two it is. All must lie within the file, and no group within itself.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

import numpy as np

from ..base.refusal import Refusal

_MAGIC, _FIRST_BYTES, _CLOSED = b"Ogawa", 16, 0xFF
_DATA = 1 << 63
_NUMBER = 8  # bytes


class _Damaged(Exception):
    """What is wrong, as the end of a sentence."""


def _number(data, at: int) -> int:
    if at < _FIRST_BYTES or at + _NUMBER > len(data):
        raise _Damaged("it names a place behind its end")
    return struct.unpack_from("<Q", data, at)[0]


def _children(data, at: int) -> np.ndarray:
    """places [n] of what a group holds"""
    count = _number(data, at)
    if count > (len(data) - at - _NUMBER) // _NUMBER:
        raise _Damaged(f"a group of {count} parts does not fit into it")
    first = at + _NUMBER  # a copy: what is mapped can only be closed when nothing holds on to it
    return np.frombuffer(data[first : first + _NUMBER * count], "<u8")


def _groups_in(data, at: int) -> list[int]:
    """Places of the groups in a group, whose data are looked at."""
    places = _children(data, at)
    held = places[places >= _DATA] - np.uint64(_DATA)
    for place in held[held > 0].tolist():
        if _number(data, place) > len(data) - place - _NUMBER:
            raise _Damaged("some data do not fit into it")
    return places[(places < _DATA) & (places > 0)].tolist()


def _check(data) -> None:
    if len(data) < _FIRST_BYTES or data[: len(_MAGIC)] != _MAGIC:
        raise _Damaged("it is no Alembic archive of the kind that Blender reads")
    if data[len(_MAGIC)] != _CLOSED:
        raise _Damaged("it was not written to its end")
    way, whole = set(), set()  # groups from the root to the one at hand; those that are known
    left = [(struct.unpack_from("<Q", data, _NUMBER)[0], False)]  # and whether all in them was looked at
    while left:
        at, is_done = left.pop()
        if is_done:
            way.remove(at)
            whole.add(at)
        elif at in way:
            raise _Damaged("a group of it holds itself")
        elif at not in whole:
            way.add(at)
            left.append((at, True))
            left += [(group, False) for group in _groups_in(data, at)]


def check_bytes(data, path: Path) -> None:
    try:
        _check(data)
    except _Damaged as what:
        raise Refusal(f"{path} is damaged: {what}; copy or export it again.") from None


def check(path: Path) -> None:
    """Refuses an archive that is damaged or cut."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                check_bytes(b"", path)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                check_bytes(data, path)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}.") from None
