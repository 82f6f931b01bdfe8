"""What is read must not be written over, however the two are named: a file is known by its place on the disk.

Two names of one file (a link of either kind, a path from elsewhere, another spelling where letters do not
count) are one file here; a file that is not there yet is known by its whole path.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

import bpy

from ..base.refusal import Refusal
from .inputs import MESHES, cache_of
from .sequence import numbered


def identity(path: Path | str) -> tuple:
    try:
        found = os.stat(path)
        return found.st_dev, found.st_ino
    except OSError:
        return (os.path.normcase(os.path.realpath(path)),)


class Guard:
    """Outputs by the flags that name them, and all that was read so far."""

    def __init__(self, written: list[tuple[str, Path]]):
        self.written = written
        self.read: dict[tuple, Path] = {}

    def check_outputs(self) -> None:
        """Refuses two outputs in one file."""
        seen: dict[tuple, str] = {}
        for flag, path in self.written:
            other = seen.get(identity(path))
            if other is not None:
                raise Refusal(f"{flag} {path} is also what {other} names: choose another place.")
            seen[identity(path)] = flag

    def reads(self, paths: Iterable[Path]) -> None:
        """Notes what is read; refuses when it is to be written, too."""
        self.read |= {identity(path): path for path in paths}
        for flag, path in self.written:
            self.check(flag, path)

    def check(self, flag: str, path: Path) -> None:
        kept = self.read.get(identity(path))
        if kept is not None and identity(kept) == identity(path):  # it may have been a temporary one
            raise Refusal(f"{flag} {path} would overwrite {kept}, which is read: choose another place.")


def of_input(path: Path, cache: Path | None = None) -> list[Path]:
    """The files of an input as far as its name tells."""
    if path.is_dir():
        with contextlib.suppress(Refusal, OSError):
            return numbered(path)
        return []
    files = [path]
    if path.suffix.lower() in MESHES:
        files += filter(None, [cache_of(path, cache), path.with_suffix(".mtl")])
    elif path.suffix.lower() == ".gltf":
        files += parts_of_gltf(path)
    return files


def parts_of_gltf(path: Path) -> list[Path]:
    """The files that a .gltf names; none when it cannot be read."""
    try:
        words = json.loads(path.read_bytes())
        items = [*words.get("buffers", ()), *words.get("images", ())]
        names = [item["uri"] for item in items if not item.get("uri", "data:").startswith("data:")]
        return [path.parent / unquote(name) for name in names]
    except (OSError, ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return []


def of_scene() -> list[Path]:
    """All files that the open .blend reads: itself, caches, libraries, pictures, the motion of rigs."""
    named = bpy.utils.blend_paths(absolute=True, packed=False, local=False)
    rigs = [obj.ossify.motion_file for obj in bpy.data.objects if obj.type == "ARMATURE"]
    kept = [bpy.path.abspath(file) for file in rigs if file]
    return [Path(path) for path in (*named, *kept, bpy.data.filepath) if path]
