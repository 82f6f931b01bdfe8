"""Whether a glTF file (.glb, .gltf) is whole, before Blender reads it: its importer ends in the middle of
itself over a number that leads nowhere, and takes some that cannot be meant.

By the specification (Khronos, glTF 2.0): the parts of a .glb are as long as it says; every number that stands
for something names what is there, but for what looks need (textures, images); views lie within their buffers
and what is read within its view; no node is below itself.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from ..base.refusal import Refusal

_MAGIC, _JSON, _BIN = 0x46546C67, 0x4E4F534A, 0x004E4942
_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}  # bytes of a component
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_VERSION = "2"  # any of its kind: what Blender makes of 2.1 is Blender's to say
_MANY = {"children", "nodes", "joints"}  # that are lists of numbers
_KINDS = ("buffers", "bufferViews", "accessors", "meshes", "materials", "nodes", "skins", "scenes")
_NAMED = [  # where numbers stand, and what they name
    ("accessors", "bufferView", "bufferViews"),
    ("images", "bufferView", "bufferViews"),
    ("nodes", "mesh", "meshes"),
    ("nodes", "skin", "skins"),
    ("nodes", "children", "nodes"),
    ("scenes", "nodes", "nodes"),
    ("skins", "joints", "nodes"),
    ("skins", "skeleton", "nodes"),
    ("skins", "inverseBindMatrices", "accessors"),
]


class _Damaged(Exception):
    """What is wrong, as the end of a sentence."""


def _list(item: dict, name: str) -> list[dict]:
    found = item.get(name, [])
    if not isinstance(found, list) or not all(isinstance(part, dict) for part in found):
        raise _Damaged(f"its {name} are no list")
    return found


def _count(item: dict, name: str, otherwise: int = 0) -> int:
    number = item.get(name, otherwise)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise _Damaged(f"a {name} is {str(number)[:20]}")
    return number


def _names(there: int, numbers: list, kind: str) -> None:
    """Whether all of them name one of so many of a kind."""
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < there:
            raise _Damaged(f"it has {there} {kind}, and {str(number)[:20]} is none of them")


def _sparse(item: dict) -> tuple[dict, dict, dict] | None:
    """What stands for a few values of an accessor: itself, their places, and they"""
    few = item.get("sparse")
    if few is None:
        return None
    parts = [few, *((few.get("indices"), few.get("values")) if isinstance(few, dict) else ())]
    if len(parts) != 3 or not all(isinstance(part, dict) for part in parts):
        raise _Damaged("a sparse accessor has no values")
    return tuple(parts)


def _check_names(words: dict) -> None:
    there = {kind: len(_list(words, kind)) for kind in _KINDS}
    for kind, name, named in _NAMED:
        for item in _list(words, kind):
            found = item.get(name, []) if name in _MANY else [item[name]] if name in item else []
            if not isinstance(found, list):
                raise _Damaged(f"its {name} are no list")
            _names(there[named], found, named)
    _names(there["buffers"], [view.get("buffer") for view in _list(words, "bufferViews")], "buffers")
    _names(there["scenes"], [words["scene"]] if "scene" in words else [], "scenes")
    for item in _list(words, "accessors"):
        views = [part.get("bufferView") for part in (_sparse(item) or ())[1:]]
        _names(there["bufferViews"], views, "bufferViews")
    for mesh in _list(words, "meshes"):
        for part in _list(mesh, "primitives"):
            _check_primitive(part, there)
    for animation in _list(words, "animations"):
        _check_animation(animation, there)


def _check_primitive(part: dict, there: dict[str, int]) -> None:
    for group in [part.get("attributes", {}), *_list(part, "targets")]:
        if not isinstance(group, dict):
            raise _Damaged("its attributes are no list")
        _names(there["accessors"], list(group.values()), "accessors")
    for name, kind in (("indices", "accessors"), ("material", "materials")):
        _names(there[kind], [part[name]] if name in part else [], kind)


def _check_animation(animation: dict, there: dict[str, int]) -> None:
    samplers = _list(animation, "samplers")
    for sampler in samplers:
        _names(there["accessors"], [sampler.get("input"), sampler.get("output")], "accessors")
    for channel in _list(animation, "channels"):
        _names(len(samplers), [channel.get("sampler")], "samplers")
        target = channel.get("target")
        if not isinstance(target, dict):
            raise _Damaged("a channel of an animation moves nothing")
        _names(there["nodes"], [target["node"]] if "node" in target else [], "nodes")


def _check_room(view: dict, offset: int, count: int, width: int) -> None:
    step = _count(view, "byteStride") or width
    if count > 0 and offset + step * (count - 1) + width > _count(view, "byteLength"):
        raise _Damaged(f"{count} items do not fit into their part of a buffer")


def _check_lengths(words: dict, sizes: list[int | None]) -> None:
    """sizes: of the buffers' own bytes; None: not to be known here"""
    buffers, views = _list(words, "buffers"), _list(words, "bufferViews")
    for item, size in zip(buffers, sizes, strict=True):
        if size is not None and _count(item, "byteLength") > size:
            raise _Damaged(f"a buffer of {item['byteLength']} bytes has {size}")
    for view in views:
        end = _count(view, "byteOffset") + _count(view, "byteLength")
        if end > _count(buffers[_count(view, "buffer")], "byteLength"):
            raise _Damaged("a part of a buffer does not fit into it")
    for item in _list(words, "accessors"):
        count, kind = _count(item, "count"), (item.get("componentType"), item.get("type"))
        if kind[0] not in list(_SIZES) or kind[1] not in list(_WIDTHS):
            raise _Damaged(f"it has numbers of the kind {str(kind)[:40]}")
        width = _SIZES[kind[0]] * _WIDTHS[kind[1]]
        if "bufferView" in item:
            _check_room(views[item["bufferView"]], _count(item, "byteOffset"), count, width)
        sparse = _sparse(item)
        if sparse:
            few, places, values = _count(sparse[0], "count"), *sparse[1:]
            step = _SIZES.get(_count(places, "componentType"), 1)
            _check_room(views[places["bufferView"]], _count(places, "byteOffset"), few, step)
            _check_room(views[values["bufferView"]], _count(values, "byteOffset"), few, width)


def _check_tree(words: dict) -> None:
    nodes, above = _list(words, "nodes"), {}
    for number, node in enumerate(nodes):
        for child in node.get("children", []):
            if above.setdefault(child, number) != number:
                raise _Damaged(f"node {child} hangs from two others")
    whole = set()  # nodes whose way up ends
    for number in range(len(nodes)):
        way, at = set(), number
        while at is not None and at not in whole:
            if at in way:
                raise _Damaged(f"node {at} is below itself")
            way.add(at)
            at = above.get(at)
        whole |= way


def _check_version(words: dict, path: Path) -> None:
    about = words.get("asset")
    version = about.get("version") if isinstance(about, dict) else None
    if version is None:
        raise _Damaged("it does not say which glTF it is")
    if str(version).partition(".")[0] != _VERSION:
        raise Refusal(f"{path} is glTF {str(version)[:20]}, and Blender reads {_VERSION}: export it as that.")


def _parts_of_glb(data: bytes) -> tuple[bytes, int | None]:
    """The words, and how many bytes follow them."""
    if len(data) < 20 or struct.unpack_from("<I", data)[0] != _MAGIC:
        raise _Damaged("it is no .glb")
    if struct.unpack_from("<I", data, 8)[0] != len(data):
        raise _Damaged(f"it has {len(data)} bytes, and says {struct.unpack_from('<I', data, 8)[0]}")
    size, kind = struct.unpack_from("<II", data, 12)
    if kind != _JSON or 20 + size > len(data):
        raise _Damaged("its words do not fit into it")
    at = 20 + size
    if at + 8 > len(data):
        return data[20:at], 0
    length, kind = struct.unpack_from("<II", data, at)
    if at + 8 + length > len(data):
        raise _Damaged("its bytes do not fit into it")
    return data[20:at], length if kind == _BIN else 0


def _sizes(words: dict, path: Path, behind: int | None) -> Iterator[int | None]:
    for number, item in enumerate(_list(words, "buffers")):
        place = item.get("uri")
        if isinstance(place, str) and not place.startswith("data:"):
            try:
                yield (path.parent / unquote(place)).stat().st_size
            except (OSError, ValueError):
                raise _Damaged(f"{place[:200]}, which it names, is not there") from None
        else:
            is_behind = place is None and number == 0 and "extensions" not in item
            yield behind if is_behind else None


def check_bytes(data: bytes, path: Path) -> None:
    """path: names the kind, the file in a sentence, and where the files are that it names"""
    try:
        is_binary = data[:4] == b"glTF"
        text, behind = _parts_of_glb(data) if is_binary or path.suffix.lower() == ".glb" else (data, None)
        words = json.loads(text)
        if not isinstance(words, dict):
            raise _Damaged("it is no list of parts")
        _check_version(words, path)
        _check_names(words)
        _check_lengths(words, list(_sizes(words, path, behind)))
        _check_tree(words)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path} is damaged: its words are no JSON ({error}); export it again.") from None
    except _Damaged as what:
        raise Refusal(f"{path} is damaged: {what}; copy or export it again.") from None


def check(path: Path) -> None:
    """Refuses a file that is damaged or cut."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}.") from None
    check_bytes(data, path)
