"""Blender's exporters, writing files that are there whole or as they were before (base/whole.py).

A .gltf names its other files; those are given names by what is in them, so that an earlier .gltf has its own
until the new one is there. They go into a folder of their own first, as do USD files with their textures.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from ..base import whole
from ..base.refusal import Refusal
from . import gltf, overlaps, wholeness
from .formats import call, supported


def _export(operator, part: Path, path: Path, **arguments) -> None:
    """Writes `part`, which shall become `path`, and sees that it is whole."""
    reason = "it says that it did"
    try:
        call(operator, part, **arguments)
        if wholeness.is_whole(part):
            return
    except Refusal as error:
        reason = str(error).removeprefix(f"{part}: ").replace(str(part), str(path))
    whole.settle(part)  # when the disk is still full, its own words are better
    raise Refusal(
        f"Blender did not write {path} ({reason.rstrip('.')}): look whether there is room for it, or choose"
        " another place."
    )


@contextlib.contextmanager
def _in_folder(path: Path) -> Iterator[Path]:
    """A file of that name in a folder beside it, which is gone afterwards."""
    target = path.resolve()
    with (
        whole.in_words(path),
        tempfile.TemporaryDirectory(prefix=f".{path.stem[:100]}.", suffix=".part", dir=target.parent) as name,
    ):
        yield Path(name) / path.name


def _adopt_gltf(made: Path, path: Path) -> None:
    """The files that a .gltf names, under names of their own beside `path`; then itself."""
    earlier = overlaps.parts_of_gltf(path)
    words = json.loads(made.read_bytes())
    kept = set()
    for item in (*words.get("buffers", ()), *words.get("images", ())):
        uri = item.get("uri", "data:")
        if not uri.startswith("data:"):
            file = made.parent / unquote(uri)
            mark = hashlib.blake2b(file.read_bytes(), digest_size=4).hexdigest()
            name = f"{path.stem}-{mark}{file.suffix}"
            whole.settle(file)
            os.replace(file, path.resolve().parent / name)
            item["uri"] = quote(name)
            kept.add(name)
    whole.write_text(path, json.dumps(words, indent=1) + "\n")
    own = re.compile(rf"{re.escape(path.stem)}-[0-9a-f]{{8}}\.\w+")
    for file in earlier:
        if own.fullmatch(file.name) and file.name not in kept:
            file.unlink(missing_ok=True)


def _adopt_textures(made: Path, path: Path) -> None:
    """Those beside a USD file; what is there already stays, as when Blender writes them."""
    folder = path.resolve().parent / "textures"
    for file in sorted((made.parent / "textures").glob("*")):
        folder.mkdir(exist_ok=True)
        if not (folder / file.name).exists():
            os.replace(file, folder / file.name)


def write(path: Path, operator, arguments: dict, room: int = 0, plain=None) -> None:
    """Has one of Blender's operators write a file; room: bytes that must be free, where it does not look;
    plain: what makes of a name in a glTF one that an engine takes"""
    suffix = path.suffix.lower()
    arguments = supported(operator, check_existing=False, **arguments)
    if suffix == ".gltf" or suffix.startswith(".usd"):
        with _in_folder(path) as made:
            _export(operator, made, path, **arguments)
            if suffix == ".gltf":
                gltf.tidy(made, plain)
                _adopt_gltf(made, path)
            else:
                _adopt_textures(made, path)
                with whole.replacing(path) as part:
                    os.replace(made, part)
    else:
        with whole.replacing(path) as part:
            whole.reserve(part, room)
            part.unlink()  # of a .blend that is there Blender would make a copy
            _export(operator, part, path, **arguments)
            if suffix == ".glb":
                gltf.tidy(part, plain)
