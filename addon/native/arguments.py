"""Numbers, words and arrays of Python as C takes them; what is of the wrong kind is named in a sentence."""

from __future__ import annotations

import operator
import reprlib

import numpy as np

from .errors import refuse

_SHOWN = 60  # letters of a wrong value


def _shown(value) -> str:
    """A wrong value in a sentence: on one line, not all of it when it is long."""
    try:
        text = " ".join(reprlib.repr(value).split())
    except Exception:  # of whoever made it
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def noun(name: str, value, kind: type, optional: bool = False):
    """A value of this class, or None where nothing may be given: then one with the defaults."""
    if optional and value is None:
        return kind()
    if not isinstance(value, kind):
        refuse(f"{name} is {_shown(value)}; {kind.__name__} is needed.")
    return value


def whole(name: str, value, of: str = "settings.") -> int:
    try:
        number = operator.index(value)
    except Exception:
        refuse(f"{of}{name} is {_shown(value)}; a whole number is needed.")
    if not -(2**63) <= number < 2**63:
        refuse(f"{of}{name} is {_shown(number)}, which no 64-bit number holds.")
    return number


def flag(name: str, value, of: str = "settings.") -> int:
    if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
        refuse(f"{of}{name} is {_shown(value)}; True or False is needed.")
    return int(value)


def real(name: str, value, of: str = "settings.") -> float:
    try:
        return float(value)
    except Exception:
        refuse(f"{of}{name} is {_shown(value)}; a number is needed.")


def choice(name: str, value, words: tuple[str, ...], of: str = "settings.") -> int:
    if not isinstance(value, str) or value not in words:
        refuse(f"{of}{name} is {_shown(value)}; one of {', '.join(words)} is needed.")
    return words.index(value)


def items(name: str, value, count: int | None = None) -> list:
    """A list of so many, whatever is in it."""
    try:
        found = list(value)
    except Exception:
        refuse(f"{name} is {_shown(value)}; a list is needed.")
    if count is not None and len(found) != count:
        refuse(f"{name} has {len(found)} items; {count} are needed.")
    return found


def as_array(name: str, value, dtype, letters: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """`value` as a C-ordered array, copied only if it is not one already; None in shape: any length."""
    try:
        array = np.asarray(value)
    except MemoryError:
        raise
    except Exception as error:
        refuse(f"{name} is not an array ({' '.join(str(error).split())}).")
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


def pairs(name: str, value) -> np.ndarray:
    """[p][2] bones"""
    found = items(name, value)
    return as_array(name, found if found else np.empty((0, 2), np.int32), np.int32, "pb", (None, 2))
