"""Whether a file that Blender wrote is whole: on a full disk its exporters for USD and Alembic, and since 5.0
the one for compressed .blend files, cut a file short and say that all went well.

Each format ends, or says where it ends: .glb and .usdc name lengths, Alembic marks a file that was closed,
FBX and .blend have a last block of their own.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO

_FBX_END = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")
_ZSTD, _SEEKABLE = (
    bytes.fromhex("28b52ffd"),
    bytes.fromhex("b1ea928f"),
)  # first and last of a compressed .blend
_MOST_SECTIONS = 1000  # of a .usdc, which has six


def _tail(file: IO[bytes], size: int, count: int) -> bytes:
    file.seek(max(size - count, 0))
    return file.read(count)


def _glb(file: IO[bytes], size: int) -> bool:
    magic, _, length = struct.unpack("<4sII", file.read(12))
    return magic == b"glTF" and length == size


def _fbx(file: IO[bytes], size: int) -> bool:
    return _tail(file, size, len(_FBX_END)) == _FBX_END


def _usdc(file: IO[bytes], size: int) -> bool:
    magic, _, contents = struct.unpack("<8s8sq", file.read(24))
    if magic != b"PXR-USDC" or not 0 < contents < size:
        return False
    file.seek(contents)
    (count,) = struct.unpack("<Q", file.read(8))
    sections = [struct.unpack("<16sqq", file.read(32)) for _ in range(min(count, _MOST_SECTIONS))]
    return all(0 <= start and start + length <= size for _, start, length in sections)


def _usd(file: IO[bytes], size: int) -> bool:
    """Binary, or text, whose last line closes what stands at its margin."""
    begin = file.read(8)
    file.seek(0)
    if begin == b"PXR-USDC":
        return _usdc(file, size)
    last = _tail(file, size, 64).rstrip().rpartition(b"\n")[2]
    return begin.startswith(b"#usda") and last in (b"}", b")")


def _abc(file: IO[bytes], size: int) -> bool:
    magic, closed, _, root = struct.unpack("<5sBHQ", file.read(16))
    if magic != b"Ogawa" or closed != 0xFF or not 0 < root < size:
        return False
    file.seek(root)
    (children,) = struct.unpack("<Q", file.read(8))
    return root + 8 + 8 * children <= size


def _blend(file: IO[bytes], size: int) -> bool:
    if file.read(4) == _ZSTD:
        return _tail(file, size, 4) == _SEEKABLE
    return any(_tail(file, size, block)[:4] == b"ENDB" for block in (24, 32))  # to 4.5, and from 5.0 on


_CHECKS: dict[str, Callable[[IO[bytes], int], bool]] = {
    ".glb": _glb,
    ".fbx": _fbx,
    ".usd": _usd,
    ".usda": _usd,
    ".usdc": _usd,
    ".abc": _abc,
    ".blend": _blend,
}


def is_whole(path: Path) -> bool:
    """True for other formats: whoever writes them tells."""
    check = _CHECKS.get(path.suffix.lower())
    if check is None:
        return True
    try:
        with open(path, "rb") as file:
            return check(file, os.fstat(file.fileno()).st_size)
    except struct.error:
        return False
