"""Merges as a rig has stored them: a list of bones that became others, and for each merge the bytes of an
.npz with all that is needed to take it apart. Read as carefully as in stored.py.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Mapping

import numpy as np

from ..native import npz
from .stored import (
    FIELDS,
    MOST_INFLUENCES,
    MOST_NUMBER,
    Bones,
    Damaged,
    bones_of,
    is_number,
    is_text,
    is_whole,
    listed,
    looks_of,
    mapped,
    parsed,
)

MERGED = "merged"  # how the names of properties begin that tell of merges
_MOST_INDEX = 63  # of a channel's numbers
_MARK = 2**32 - 1  # the largest


def merged(mesh: Mapping) -> list[tuple[int, str, int]]:
    """The number and name of a bone that became another one, and that one's number."""
    found = parsed(mesh.get(MERGED, "[]"), MERGED)
    for item in listed(found, lambda value: isinstance(value, list) and len(value) == 3, MERGED):
        gone, name, kept = item
        if not (is_number(gone) and is_text(name) and is_number(kept)):
            raise Damaged(MERGED)
    return [tuple(item) for item in found]


def merge_names(mesh: Mapping) -> list[str]:
    """The properties that tell how to take merges apart, the first merge first."""
    names = sorted(name for name in mesh.keys() if name.startswith(f"{MERGED} "))  # noqa: SIM118 (no dict)
    if not all(re.fullmatch(rf"{MERGED} \d{{3,6}}", name) for name in names):
        raise Damaged(names[-1])
    return names


@dataclasses.dataclass
class Merge:
    """What is needed to take it apart."""

    kept: int
    known: list[int]  # bones that went, and that the rig's notes had
    before: Bones
    after: Bones
    looks: dict[str, dict]  # of the bones that went
    keys: dict[str, dict[str, dict[tuple[str, int], np.ndarray]]]  # as they were, where they changed
    key_marks: dict[str, dict[str, int]]  # as they became
    weights: dict[str, tuple[np.ndarray, ...]]  # mesh -> [n] rows, [n][k] numbers, weights before, [n] marks
    named: list[list]  # [words, how many came before, bone] of what named a bone that went

    @property
    def gone(self) -> list[int]:
        return [number for number in self.before.numbers if number not in self.after.numbers]


def packed(merge: Merge) -> bytes:
    """Compressed, and without anything that could be run."""
    arrays, keyed = {}, []
    for action, bones in merge.keys.items():
        for bone, copy in bones.items():
            keyed.append([action, bone, merge.key_marks[action][bone], [*copy]])
            for index, flat in enumerate(copy.values()):
                arrays[f"keys {len(keyed) - 1} {index}"] = flat
    for index, parts in enumerate(merge.weights.values()):
        arrays |= {f"weights {index} {part}": array for part, array in enumerate(parts)}
    words = {name: getattr(merge, name) for name in ("kept", "known", "looks", "named")}
    for name in ("before", "after"):
        bones = getattr(merge, name)
        words[name] = {field: getattr(bones, field) for field in FIELDS}
        arrays[name] = bones.rests
    words |= {"keys": keyed, "weights": [*merge.weights]}
    file = io.BytesIO()
    np.savez_compressed(file, words=np.frombuffer(json.dumps(words).encode(), np.uint8), **arrays)
    return file.getvalue()


def _rests(array: np.ndarray, count: int, what: str) -> np.ndarray:
    if array.shape != (count, 4, 4) or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise Damaged(what)
    return array.astype(np.float64)


def _copy(channels, arrays: dict, number: int, width: int, what: str) -> dict[tuple[str, int], np.ndarray]:
    """The keys of a bone, by channel."""
    copy = {}
    for index, channel in enumerate(listed(channels, lambda value: isinstance(value, list), what)):
        if len(channel) != 2 or not is_text(channel[0]) or not is_whole(channel[1], 0, _MOST_INDEX):
            raise Damaged(what)
        flat = arrays[f"keys {number} {index}"]
        fits = flat.ndim == 2 and flat.shape[1] == width and flat.dtype == np.float64
        if not fits or not np.isfinite(flat).all():
            raise Damaged(what)
        copy[tuple(channel)] = flat
    return copy


def _keys(words, arrays: dict, width: int, what: str) -> tuple[dict, dict]:
    """By action and bone: copies, and marks."""
    copies: dict[str, dict] = {}
    marks: dict[str, dict] = {}
    for number, item in enumerate(listed(words, lambda value: isinstance(value, list), what)):
        if len(item) != 4 or not is_text(item[0]) or not is_text(item[1]) or not is_whole(item[2], 0, _MARK):
            raise Damaged(what)
        action, bone, mark, channels = item
        copies.setdefault(action, {})[bone] = _copy(channels, arrays, number, width, what)
        marks.setdefault(action, {})[bone] = mark
    return copies, marks


def _weights(words: list, arrays: dict, what: str) -> dict[str, tuple[np.ndarray, ...]]:
    found = {}
    for index, key in enumerate(listed(words, is_text, what)):
        rows, numbers, weights, marks = parts = tuple(arrays[f"weights {index} {part}"] for part in range(4))
        count = len(rows) if rows.ndim == 1 else -1
        fits = (
            numbers.ndim == 2
            and numbers.shape == weights.shape
            and len(numbers) == count
            and marks.shape == (count,)
            and 1 <= numbers.shape[1] <= MOST_INFLUENCES
            and [array.dtype.kind for array in parts] == ["i", "i", "f", "u"]
        )
        if not fits or not np.isfinite(weights).all() or rows.min(initial=0) < 0:
            raise Damaged(what)
        if numbers.min(initial=-1) < -1 or numbers.max(initial=-1) > MOST_NUMBER:
            raise Damaged(what)
        found[key] = parts
    return found


def _named(words, bones: Bones, what: str) -> list[list]:
    def fits(item) -> bool:
        if not isinstance(item, list) or len(item) != 3:
            return False
        return is_text(item[0]) and is_whole(item[1], 0, 2**31) and item[2] in bones.names

    return listed(words, fits, what)


def merge(mesh: Mapping, name: str, width: int) -> Merge:
    """One that was noted; width: of the numbers of a key"""
    data = mesh[name]
    if not isinstance(data, bytes):
        raise Damaged(name)
    try:
        arrays = npz.read(io.BytesIO(data), npz.names_in(io.BytesIO(data)))
        words = mapped(parsed(arrays["words"].tobytes().decode(), name), name)
        before, after = (
            bones_of(words[part], _rests(arrays[part], len(words[part]["numbers"]), name), name)
            for part in ("before", "after")
        )
        keys, marks = _keys(words["keys"], arrays, width, name)
        if not is_number(words["kept"]):
            raise Damaged(name)
        return Merge(
            words["kept"],
            listed(words["known"], is_number, name),
            before,
            after,
            looks_of(words["looks"], name),
            keys,
            marks,
            _weights(words["weights"], arrays, name),
            _named(words["named"], before, name),
        )
    except (npz.Damaged, KeyError, TypeError, ValueError):
        raise Damaged(name) from None
