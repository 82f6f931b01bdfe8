"""The doors to Blender's own importers and exporters: what they complain about becomes a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import addon_utils
import bpy

from ..base.refusal import Refusal


def call(operator, path: Path, **arguments) -> None:
    """Runs an operator on a file; what it complains about becomes a sentence.

    Some operators take a relative path from where the open .blend is, and not from where one stands.
    """
    try:
        done = operator(filepath=str(path.absolute()), **arguments)
    except RuntimeError as error:
        words, number = _words_of(str(error))
        if number is not None:
            raise OSError(number, words, str(path)) from None
        raise Refusal(words if path.name in words else f"{path}: {words}") from None
    if "FINISHED" not in done:
        raise Refusal(f"{path} could not be read or written by Blender.")


def _words_of(text: str) -> tuple[str, int | None]:
    """What an operator reports, and the system's number if it is the system that complains. An error in
    Python comes with all the lines it went through, and last the place in Blender's source."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("Location: ")]
    last = lines[-1].strip() if lines else "it failed without a word"
    found = re.search(r"\[Errno (\d+)\] (.*?)(?:: '.*')?$", last)
    if found:
        return found.group(2), int(found.group(1))
    return last.removeprefix("Error: "), None


def need_addon(addon: str) -> None:
    if not addon_utils.check(addon)[1] and addon_utils.enable(addon, default_set=False) is None:
        raise Refusal(f"Blender's add-on {addon} is needed and cannot be enabled.")


def need_built_in(operator: str, kind: str, path: Path) -> None:
    if operator not in dir(bpy.ops.wm):
        raise Refusal(f"This Blender was built without {kind}, which {path.name} needs.")


def supported(operator, **arguments) -> dict:
    """The arguments that this Blender's operator knows."""
    known = operator.get_rna_type().properties.keys()
    return {name: value for name, value in arguments.items() if name in known}
