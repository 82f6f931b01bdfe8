"""Whether a .ply or .obj file is whole, before Blender reads it: importers believe what they are told, and
over a wrong number the one for .ply ends Blender.

A .ply says how many of each element follow and of what each consists; all must be there, no more, and indices
must name vertices. An .obj counts nothing: its lines must be whole, and its indices name vertices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.refusal import Refusal
from ..base.words import counted

_MOST_HEADER = 1 << 16  # bytes
_NAMES = "char uchar short ushort int uint float double int8 uint8 int16 uint16 int32 uint32 float32 float64"
_TYPES = dict(zip(_NAMES.split(), 2 * "i1 u1 i2 u2 i4 u4 f4 f8".split(), strict=True))
_PLAIN = re.compile(r"[\w.-]+(?: [\w.-]+)*", re.ASCII)  # as Blender takes a header's line: no blank more
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_INDICES = {"vertex_indices", "vertex_index", "vertex1", "vertex2"}  # names of properties that name vertices
_STRIPS = "tristrips"  # where -1 ends a strip


class _Damaged(Exception):
    """What is wrong, as the end of a sentence."""


class Property(NamedTuple):
    name: str
    type: str  # NumPy's, without order
    counted_by: str | None = None  # of lists: the type of their length


class Element(NamedTuple):
    name: str
    count: int
    properties: list[Property]


# ---- .ply


def _whole_number(word: str) -> int:
    if not re.fullmatch(r"\d{1,10}", word):
        raise _Damaged(f"a number of elements is {word[:20]!r}")
    return int(word)


def _property(words: list[str]) -> Property:
    if len(words) == 2 and words[0] in _TYPES:
        return Property(words[1], _TYPES[words[0]])
    if len(words) == 4 and words[0] == "list" and words[1] in _TYPES and words[2] in _TYPES:
        if _TYPES[words[1]][0] == "f":
            raise _Damaged("a list is counted in fractions")
        return Property(words[3], _TYPES[words[2]], _TYPES[words[1]])
    raise _Damaged(f"there is a property {' '.join(words)[:40]!r}")


def _elements(lines: list[str]) -> Iterator[Element]:
    """From the lines between the format and the end of the header."""
    last = None
    for line in lines:
        words = line.split(" ")
        if words[0] in {"comment", "obj_info"}:
            continue
        if not _PLAIN.fullmatch(line):
            raise _Damaged(f"its header has a line {line[:40]!r}")
        if words[0] == "element" and len(words) == 3:
            if last is not None:
                yield last
            last = Element(words[1], _whole_number(words[2]), [])
        elif words[0] == "property" and last is not None:
            last.properties.append(_property(words[1:]))
        else:
            raise _Damaged(f"its header has a line {line[:40]!r}")
    if last is not None:
        yield last


def _ply_header(data: bytes) -> tuple[str, list[Element], int]:
    """The order of bytes ("": text), the elements, and where they begin."""
    end = re.search(rb"(?:^|\n)end_header[ \t]*(\r\n|\n|\r)", data[:_MOST_HEADER])
    if not data.startswith((b"ply\n", b"ply\r")) or end is None:
        raise _Damaged("it does not begin with a header")
    lines = re.split(r"\r\n|\n|\r", data[: end.start()].decode("latin-1"))[1:]
    while lines and lines[0].split(" ")[0] in {"comment", "obj_info"}:
        del lines[0]
    form = lines[0].split(" ") if lines else []
    if len(form) != 3 or form[0] != "format" or form[1] not in _ORDERS or form[2] != "1.0":
        raise _Damaged("its header does not begin with a format")
    elements = list(_elements(lines[1:]))
    _check_elements(elements)
    return _ORDERS[form[1]], elements, end.end()


def _check_elements(elements: list[Element]) -> None:
    names = [element.name for element in elements]
    if len(set(names)) < len(names) or not names or names[0] != "vertex":
        raise _Damaged("its vertices do not come first, or an element comes twice")
    for element in elements:
        own = [item.name for item in element.properties]
        lists = [item for item in element.properties if item.counted_by]
        if not own or len(set(own)) < len(own):
            raise _Damaged(f"the element {element.name[:20]} has no properties, or one of them twice")
        if lists and element.name in {"vertex", "edge"}:
            raise _Damaged(f"its {element.name} has a list")
        if element.name in {"face", _STRIPS} and not any(item.name in _INDICES for item in lists):
            raise _Damaged(f"its {element.name} names no vertices")
    axes = [item.name for item in elements[0].properties if item.type[0] == "f"]
    if not {"x", "y", "z"} <= set(axes):
        raise _Damaged("its vertices have no x, y and z")


def _check_indices(element: str, indices: np.ndarray, vertices: int) -> None:
    least = -1 if element == _STRIPS else 0
    if indices.size and (indices.min() < least or indices.max() >= vertices):
        wrong = indices[(indices < least) | (indices >= vertices)][0]
        raise _Damaged(f"its {element} names vertex {wrong} of {vertices}")


def _names_vertices(element: Element, item: Property) -> bool:
    if item.name not in _INDICES:
        return False
    if item.type[0] == "f":
        raise _Damaged(f"its {element.name} names vertices in fractions")
    return True


def _check_records(element: Element, data: bytes, at: int, order: str, vertices: int) -> int:
    """Of elements without lists; where they end."""
    record = np.dtype([(item.name, order + item.type) for item in element.properties])
    end = at + element.count * record.itemsize
    if end > len(data):
        raise _Damaged(f"it ends before {counted(element.count, element.name)}")
    records = np.frombuffer(data, record, element.count, at)
    for item in element.properties:
        if _names_vertices(element, item):
            _check_indices(element.name, records[item.name].astype(np.int64), vertices)
    return end


class _Lists(NamedTuple):
    """One property of all elements that are lists."""

    before: int  # bytes from the list before, or the element's begin, to the first item
    counter: np.dtype
    kind: np.dtype
    name_vertices: bool
    starts: list[int]
    lengths: list[int]


def _lists_of(element: Element, order: str) -> tuple[list[_Lists], int]:
    """And the bytes after the last of them."""
    found, fixed = [], 0
    for item in element.properties:
        if item.counted_by:
            counter, kind = np.dtype(item.counted_by), np.dtype(order + item.type)
            names = _names_vertices(element, item)
            found.append(_Lists(fixed + counter.itemsize, counter, kind, names, [], []))
            fixed = 0
        else:
            fixed += np.dtype(item.type).itemsize
    return found, fixed


def _check_lists(element: Element, data: bytes, at: int, order: str, vertices: int) -> int:
    """Of elements with lists; where they end."""
    found, after = _lists_of(element, order)
    early = _Damaged(f"it ends before {counted(element.count, element.name)}")
    if element.count > len(data) - at:  # each has a byte at least
        raise early
    little = "little" if order == "<" else "big"
    for _ in range(element.count):
        for before, counter, kind, _, starts, lengths in found:
            at += before
            length = int.from_bytes(data[at - counter.itemsize : at], little, signed=counter.kind == "i")
            starts.append(at)
            lengths.append(length)
            at += length * kind.itemsize
            if at > len(data) or length < 0:
                raise early
        at += after
    if at > len(data):
        raise early
    for lists in found:
        if lists.name_vertices:
            for indices in _listed(data, np.array(lists.starts), np.array(lists.lengths), lists.kind):
                _check_indices(element.name, indices.astype(np.int64), vertices)
    return at


def _listed(data: bytes, starts: np.ndarray, lengths: np.ndarray, kind: np.dtype) -> Iterator[np.ndarray]:
    """The items of all lists, those of one length together."""
    for length in np.unique(lengths[lengths > 0]):
        places = starts[lengths == length][:, None] + np.arange(length * kind.itemsize)
        yield np.frombuffer(data, np.uint8)[places].view(kind)


def _check_binary(element: Element, data: bytes, at: int, order: str, vertices: int) -> int:
    has_list = any(item.counted_by for item in element.properties)
    return (_check_lists if has_list else _check_records)(element, data, at, order, vertices)


def _refuse_junk(lines: list[bytes], what: str, more: bytes = b"") -> None:
    """By letters: to read all numbers takes longer than to import them. A fraction that is none comes to
    nothing worse than a wrong place."""
    if b"".join(lines).translate(None, b"0123456789+-.eE \t\r" + more):
        raise _Damaged(f"{what} holds what is no number")


def _whole_numbers(words: list[bytes], what: str) -> np.ndarray:
    try:
        return np.array(list(map(int, words)), np.int64)
    except (ValueError, OverflowError):
        raise _Damaged(f"{what} holds what is no whole number") from None


def _split_lists(element: Element, row: list[bytes]) -> list[list[bytes]] | None:
    """The words of each property; None when there are more or fewer of them."""
    at, words = 0, []
    for item in element.properties:
        length = 1
        if item.counted_by:
            if at >= len(row) or not row[at].isdigit():
                return None
            at, length = at + 1, int(row[at])
        words.append(row[at : at + length])
        at += length
    return words if at == len(row) else None


def _check_text(element: Element, lines: list[bytes], at: int, vertices: int) -> int:
    """Where the elements end: one line each."""
    if len(lines) - at < element.count:
        raise _Damaged(f"it ends before {counted(element.count, element.name)}")
    mine = lines[at : at + element.count]
    _refuse_junk(mine, f"a line of its {element.name}")
    rows = [line.split() for line in mine]
    has_list = any(item.counted_by for item in element.properties)
    if has_list:  # then the words of each property are a list
        rows = [_split_lists(element, row) for row in rows]
    if any(row is None or len(row) != len(element.properties) for row in rows):
        raise _Damaged(f"a line of its {element.name} has other numbers than its header says")
    for index, item in enumerate(element.properties):
        if _names_vertices(element, item):
            words = [word for row in rows for word in (row[index] if has_list else [row[index]])]
            _check_indices(element.name, _whole_numbers(words, f"a line of its {element.name}"), vertices)
    return at + element.count


def _check_ply(data: bytes) -> None:
    order, elements, at = _ply_header(data)
    vertices = elements[0].count
    if order:
        for element in elements:
            at = _check_binary(element, data, at, order, vertices)
        if at != len(data):
            raise _Damaged(f"{counted(len(data) - at, 'byte')} follow its last element")
        return
    lines = data[at:].splitlines()
    at = 0
    for element in elements:
        at = _check_text(element, lines, at, vertices)
    if any(line.strip() for line in lines[at:]):
        raise _Damaged("more lines follow its last element")


# ---- .obj


def _lines_of(kind: bytes, lines: list[bytes]) -> list[bytes]:
    starts = (kind + b" ", kind + b"\t")
    return [line[1:] for line in lines if line.startswith(starts) or line == kind]


def _check_obj(data: bytes) -> None:
    if b"\0" in data:
        raise _Damaged("it is no text")
    data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")  # a line may go on in the next
    lines = [line.strip() for line in data.splitlines()]
    points, faces = _lines_of(b"v", lines), _lines_of(b"f", lines)
    _refuse_junk(points, "a vertex")
    if any(len(line.split()) < 3 for line in points):
        raise _Damaged("a vertex has not three coordinates")
    _refuse_junk(faces, "a face", b"/")
    if any(len(line.split()) < 3 for line in faces):
        raise _Damaged("a face has not three corners")
    _check_corners(re.findall(rb"(?:^|[ \t])(-?\d+)", b" ".join(faces)), len(points))


def _check_corners(words: list[bytes], vertices: int) -> None:
    """From 1 on, or from the last vertex backwards with a minus."""
    corners = _whole_numbers(words, "a face")
    wrong = corners[(corners > vertices) | (corners < -vertices) | (corners == 0)]
    if wrong.size:
        raise _Damaged(f"a face names vertex {wrong[0]} of {vertices}")


# ---- both


def check_bytes(data: bytes, path: Path) -> None:
    """path: names the kind, and the file in a sentence"""
    try:
        (_check_ply if path.suffix.lower() == ".ply" else _check_obj)(data)
    except _Damaged as what:
        raise Refusal(f"{path} is damaged: {what}; copy or export it again.") from None


def check(path: Path) -> None:
    """Refuses a mesh file that is damaged or cut."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}.") from None
    check_bytes(data, path)
