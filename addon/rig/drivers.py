"""Properties that follow how bones are turned and moved, without a script.

With Q a bone's rest rotation in the armature and D = R(q) - I what it is turned by from there, where
q = (w, x, y, z) is its pose as Blender evaluates it, the library's turn of the bone against its parent is
Q D Q', so that

    sum_ij W[i][j] (Q D Q')[i][j] = sum_kl (Q'W Q)[k][l] D[k][l]

is a form of nine products of the quaternion's numbers: whatever way the bone is posed, and on either side of
the sphere. By how much its head has left its place beside the parent is Q l, l its location, so that s'Q l
takes three numbers more. An expression of one or two bones fits into what Blender takes; more are summed
through properties beside it. All of them are of the kind that Blender evaluates by itself: a file that is
opened where scripts are not trusted, or without the extension, works as well.
"""

from __future__ import annotations

import bpy
import numpy as np

_LONGEST_EXPRESSION = 250  # characters of an expression; Blender takes 255
_LEAST = 1e-7  # of the largest number of a map: what is less is left out
_LETTERS = ("wxyzijk", "abcdfgh")  # the quaternions and locations of the bones in an expression
_CHANNELS = ("ROT_W", "ROT_X", "ROT_Y", "ROT_Z", "LOC_X", "LOC_Y", "LOC_Z")


def forms(weights: np.ndarray, rests: np.ndarray, shifts: np.ndarray | None = None) -> np.ndarray:
    """[...][b][9] maps of turns, [b][3][3] rest rotations, [...][b][3] maps of shifts
    -> [...][b][12] of xx xy xz wx yy yz wy zz wz and the location"""
    w = weights.reshape(*weights.shape[:-1], 3, 3)
    m = np.einsum("bik,...bij,bjl->...bkl", rests, w, rests)
    diagonal = np.einsum("...ii->...i", m)
    rest = diagonal.sum(-1, keepdims=True) - diagonal
    both, turned = m + np.swapaxes(m, -1, -2), m - np.swapaxes(m, -1, -2)
    columns = (
        -rest[..., 0],
        both[..., 0, 1],
        both[..., 0, 2],
        turned[..., 2, 1],
        -rest[..., 1],
        both[..., 1, 2],
        turned[..., 0, 2],
        -rest[..., 2],
        turned[..., 1, 0],
    )
    places = np.zeros_like(w[..., 0]) if shifts is None else np.einsum("bik,...bi->...bk", rests, shifts)
    return np.concatenate([2 * np.stack(columns, -1), places], -1)


def _sum(numbers, letters: str) -> str:
    """3*x-2*y, without what is 0"""
    words = ""
    for number, letter in zip(numbers, letters, strict=True):
        if number:
            words += f"{number:+.6g}*{letter}"
    return words.removeprefix("+")


def expression(form: np.ndarray, letters: str) -> str:
    """[12] as an expression; empty: it is 0"""
    w, x, y, z = letters[:4]
    parts = ((x, _sum(form[:4], x + y + z + w)), (y, _sum(form[4:7], y + z + w)), (z, _sum(form[7:9], z + w)))
    turned = [f"{letter}*({words})" for letter, words in parts if words]
    return "+".join([*turned, *filter(None, [_sum(form[9:], letters[4:])])])


def expressions(form: np.ndarray) -> list[tuple[str, list[int]]]:
    """[b][12] as expressions to be summed, each with its bones in the order of their letters"""
    form = np.where(np.abs(form) > _LEAST * np.abs(form).max(initial=0), form, 0.0)
    found: list[tuple[str, list[int]]] = []
    for bone in np.flatnonzero(form.any(axis=1)).tolist():
        if found and len(found[-1][1]) < len(_LETTERS):
            words, bones = found[-1]
            both = f"{words}+{expression(form[bone], _LETTERS[len(bones)])}"
            if len(both) <= _LONGEST_EXPRESSION:
                found[-1] = both, [*bones, bone]
                continue
        found.append((expression(form[bone], _LETTERS[0]), [bone]))
    return found


def path_of(name: str) -> str:
    """Of a property."""
    return f'["{bpy.utils.escape_identifier(name)}"]'


def _new(owner, path: str, kind: str, index: int = -1):
    """The driver of a path. Its modifier hands the value on as it is; without one, and without keys, Blender
    takes all from 0 to 1e-4 for 0."""
    owner.driver_remove(path, index)
    curve = owner.driver_add(path, index)
    for modifier in list(curve.modifiers):
        curve.modifiers.remove(modifier)
    curve.modifiers.new("GENERATOR").coefficients = (0.0, 1.0)
    curve.driver.type = kind
    return curve.driver


def follow(owner, path: str, target, names: list[str]) -> None:
    """owner.path becomes the sum of the target's properties of these names."""
    driver = _new(owner, path, "SUM")
    for name in names:
        variable = driver.variables.new()
        variable.type = "SINGLE_PROP"
        variable.targets[0].id, variable.targets[0].data_path = target, path_of(name)


def express(owner, path: str, index: int, words: str, target, names: list[str]) -> None:
    """owner.path, or one number of it, becomes an expression of the target's properties of these names, which
    are letters in it, in the order in which the letters come."""
    driver = _new(owner, path, "SCRIPTED", index)
    letters = dict.fromkeys(letter for letter in words if letter.isalpha() and letter != "e")
    for letter, name in zip(letters, names, strict=True):
        variable = driver.variables.new()
        variable.name, variable.type = letter, "SINGLE_PROP"
        variable.targets[0].id, variable.targets[0].data_path = target, path_of(name)
    driver.expression = words


def _turn(armature, name: str, words: str, bones: list[str]) -> None:
    driver = _new(armature, path_of(name), "SCRIPTED")
    for bone, letters in zip(bones, _LETTERS, strict=False):
        for letter, channel in zip(letters, _CHANNELS, strict=True):
            if letter not in words:
                continue
            variable = driver.variables.new()
            variable.name, variable.type = letter, "TRANSFORMS"
            target = variable.targets[0]
            target.id, target.bone_target = armature, bone
            target.transform_type, target.transform_space = channel, "LOCAL_SPACE"
            target.rotation_mode = "QUATERNION"
    driver.expression = words


def helpers_of(armature, name: str) -> list[str]:
    """The properties that the one of this name is summed from."""
    start = f"{name} part "
    return [key for key, _ in armature.items() if key.startswith(start) and key[len(start) :].isdigit()]


def turn(armature, name: str, form: np.ndarray, bones: list[str]) -> None:
    """A property of the armature, which is there, becomes what [b][12] makes of how bones have moved."""
    found = expressions(form)
    if len(found) < 2:
        words, which = found[0] if found else ("0", [])
        _turn(armature, name, words, [bones[b] for b in which])
        return
    parts = [f"{name} part {number + 1}" for number in range(len(found))]
    for part, (words, which) in zip(parts, found, strict=True):
        armature[part] = 0.0
        _turn(armature, part, words, [bones[b] for b in which])
    follow(armature, path_of(name), armature, parts)
