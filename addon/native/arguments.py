"""Numbers, words and arrays of Python as C takes them; what is of the wrong kind is named in a sentence."""

from __future__ import annotations

import operator

import numpy as np

from .errors import refuse


def whole(name: str, value, of: str = "settings.") -> int:
    try:
        number = operator.index(value)
    except TypeError:
        refuse(f"{of}{name} is {value!r}; a whole number is needed.")
    if not -(2**63) <= number < 2**63:
        refuse(f"{of}{name} is {number}, which no 64-bit number holds.")
    return number


def real(name: str, value, of: str = "settings.") -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        refuse(f"{of}{name} is {value!r}; a number is needed.")


def choice(name: str, value, words: tuple[str, ...]) -> int:
    if value not in words:
        refuse(f"settings.{name} is {value!r}; one of {', '.join(words)} is needed.")
    return words.index(value)


def as_array(name: str, value, dtype, letters: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """`value` as a C-ordered array, copied only if it is not one already; None in shape: any length."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        refuse(f"{name} is not an array ({error}).")
    kinds = "iu" if np.dtype(dtype).kind in "iu" else "iuf"
    if array.size and array.dtype.kind not in kinds + "b" * (dtype == np.uint8):
        refuse(f"{name} holds {array.dtype}; {'whole ' if kinds == 'iu' else ''}numbers are needed.")
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits:
        want = ", ".join(letter if n is None else str(n) for letter, n in zip(letters, shape, strict=True))
        refuse(f"{name} has shape {array.shape}; ({want}) is needed.")
    if dtype == np.int32 and array.dtype != dtype and array.size:
        wide = (array > 2**31 - 1) | (array < -(2**31))
        if wide.any():
            index = np.unravel_index(int(np.argmax(wide)), array.shape)
            refuse(f"{name}{''.join(f'[{i}]' for i in index)} is {array[index]}, which no index can be.")
    with np.errstate(over="ignore", invalid="ignore"):  # too large for float32: the library names the place
        return np.ascontiguousarray(array, dtype=dtype)


def address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


def pairs(name: str, pairs) -> np.ndarray:
    return as_array(name, np.reshape(np.asarray(pairs, np.int64), (-1, 2)), np.int32, "pb", (None, 2))
