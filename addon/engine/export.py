"""A rig written for an engine, read again and measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import bpy

from ..base.refusal import Refusal
from ..files import outputs
from ..rig import virtual_bones
from ..two_layer import keyed_copy
from . import adapted, contract, reread
from .contract import Engine


class Written(NamedTuple):
    notes: list[str]
    error: reread.Error | None

    def to_json(self, engine: str) -> dict:
        found = {"engine": engine.lower()}
        if self.error is not None:
            found |= {"rms_percent": self.error.rms, "maximum_percent": self.error.maximum}
            found["against"] = "source" if self.error.of_source else "rig"
        return found


def _fbx(path: Path, armature, meshes: list, engine: Engine, influences: int, names: str) -> list[str]:
    keyed = virtual_bones.has_any(armature)
    with keyed_copy.beside(armature, meshes) if keyed else contextlib.nullcontext() as copy:
        own = (copy.armature, copy.meshes) if keyed else (armature, meshes)
        with adapted.beside(*own, engine, influences) as taken:
            notes = outputs.write(path, *taken, influences, names)
        return [*notes, copy.sentence()] if keyed else notes


@contextlib.contextmanager
def _selection_kept() -> Iterator[None]:
    layer = bpy.context.view_layer
    selected, active = list(layer.objects.selected), layer.objects.active
    try:
        yield
    finally:
        for obj in layer.objects:
            obj.select_set(obj in selected)
        layer.objects.active = active


def write(
    path: Path, armature, meshes: list, influences: int, engine: Engine, names: str = "AS_IS"
) -> Written:
    """Leaves the scene as it was; names: one of files/retarget.py"""
    with _selection_kept():
        return _write(path, armature, meshes, influences, engine, names)


def _write(path: Path, armature, meshes: list, influences: int, engine: Engine, names: str) -> Written:
    sentence = contract.ending_trouble(engine, path)
    if sentence:
        raise Refusal(sentence)
    few = min(influences, engine.influences)
    notes = contract.trouble(engine, armature, meshes, few)
    if path.suffix.lower() == ".fbx":
        notes += _fbx(path, armature, meshes, engine, few, names)
    else:
        notes += outputs.write(path, armature, meshes, few, names, contract.plain)
    why = reread.unmeasured(meshes)
    error = None if why else reread.measure(path, armature, meshes, engine)
    if error is not None:
        return Written([*notes, error.sentence(engine)], error)
    return Written([*notes, f"The file was not measured: {why or 'it has no clip of the rig'}."], None)
