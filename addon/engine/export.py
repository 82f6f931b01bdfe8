"""A rig written for an engine, read again and measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import bpy

from ..base.refusal import Refusal
from ..base.words import counted
from ..files import outputs
from ..rig import virtual_bones
from ..two_layer import keyed_copy
from . import adapted, contract, fewer, reread
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


def _fbx(
    path: Path, armature, meshes: list, engine: Engine, influences: int, names: str, pruned
) -> list[str]:
    keyed = virtual_bones.has_any(armature)
    with keyed_copy.beside(armature, meshes) if keyed else contextlib.nullcontext() as copy:
        own = (copy.armature, copy.meshes) if keyed else (armature, meshes)
        with adapted.beside(*own, engine, influences, pruned) as taken:
            notes = outputs.write(path, *taken, influences, names)
        return [*notes, copy.sentence()] if keyed else notes


def _gltf(
    path: Path, armature, meshes: list, engine: Engine, influences: int, names: str, pruned
) -> list[str]:
    if pruned is None:
        return outputs.write(path, armature, meshes, influences, names, contract.plain)
    with adapted.beside(armature, meshes, engine, influences, pruned) as taken:
        return outputs.write(path, *taken, influences, names, contract.plain)


def _fewer(armature, meshes: list, influences: int) -> tuple[fewer.Pruned | None, list[str]]:
    """Weights for the file where the rig has more influences, and what that costs."""
    wide = {obj.name: contract.wider(armature, obj, influences) for obj in meshes}
    if not any(wide.values()):
        return None, []
    pruned = None if virtual_bones.has_any(armature) else fewer.prune(armature, meshes, influences)
    if pruned is not None:
        return pruned, [pruned.sentence(influences)]
    return None, [
        f"{name} has {counted(count, 'vertex')} with more than {influences} bones: the file has the strongest"
        f" of them, and skin may crack. Convert again with {influences} influences."
        for name, count in wide.items()
        if count
    ]


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
    pruned, told = _fewer(armature, meshes, few)
    notes = told + contract.trouble(engine, armature, meshes)
    write_file = _fbx if path.suffix.lower() == ".fbx" else _gltf
    notes += write_file(path, armature, meshes, engine, few, names, pruned)
    why = reread.unmeasured(meshes)
    error = None if why else reread.measure(path, armature, meshes, engine)
    if error is not None:
        return Written([*notes, error.sentence(engine)], error)
    return Written([*notes, f"The file was not measured: {why or 'it has no clip of the rig'}."], None)
