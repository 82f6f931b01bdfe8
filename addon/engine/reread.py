"""What is in a file for an engine: it is read again, played, and compared with the motion that the rig was
made from, or, where that was not kept, with the rig as Blender plays it.

glTF is played as the specification says, with no more influences than the engine takes; other files are given
back to Blender's importers. Exporters may part vertices, so each in the file is matched with the one of the
rig that it lies on at rest; of several there, with the one that moves alike.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import bpy
import numpy as np
from mathutils.kdtree import KDTree

from ..base.meshes import matrix_of, positions
from ..base.refusal import Refusal
from ..base.surface import diagonal
from ..files import gltf, importing
from ..record import memory
from ..rig import actions, keys, played
from .contract import Engine, plain

_LIES_ON = 1e-4  # of the size: vertices at rest that are nearer than this may be one


class Error(NamedTuple):
    rms: float  # percent of the size
    maximum: float
    of_source: bool  # or of the rig as Blender plays it

    def sentence(self, engine: Engine) -> str:
        beside = "" if self.of_source else " of what Blender plays"
        return (
            f"within {self.rms:.2g} %{beside} as {engine.label} will see it, {self.maximum:.2g} % at most:"
            " measured on the file."
        )


class _Clip(NamedTuple):
    name: str
    times: np.ndarray  # [f] frames of the scene
    goal: np.ndarray  # [f][v][3] in the world


# ---- what it should show


@contextlib.contextmanager
def _scene_as_it_is() -> Iterator:
    scene = bpy.context.scene
    names = ("frame_start", "frame_end")
    before = {name: getattr(scene, name) for name in names}
    rate, frame = (scene.render.fps, scene.render.fps_base), scene.frame_current
    try:
        yield scene
    finally:
        for name, value in before.items():
            setattr(scene, name, value)
        scene.render.fps, scene.render.fps_base = rate
        scene.frame_set(frame)


def _shown(meshes: list) -> np.ndarray:
    """[v][3] in the world, as Blender has it now"""
    graph = bpy.context.evaluated_depsgraph_get()
    found = []
    for obj in meshes:
        evaluated = obj.evaluated_get(graph)
        matrix = matrix_of(evaluated)
        found.append(positions(evaluated.data) @ matrix[:3, :3].T + matrix[:3, 3])
    return np.concatenate(found)


def _played(armature, action, meshes: list, times) -> np.ndarray:
    """[f][v][3] while the armature has the action"""
    with _scene_as_it_is() as scene, actions.alone(armature, action):
        shown = []
        for time in times:
            whole = int(np.floor(time))
            scene.frame_set(whole, subframe=float(time - whole))
            shown.append(_shown(meshes))
        return np.array(shown)


def _goals(armature, meshes: list) -> tuple[list[_Clip], bool]:
    """The clips, and whether they are those of the source."""
    kept, clips = memory.recall(armature), played.of(armature)
    if kept is None or memory.meshes_of(armature) != meshes:
        moves = [clip for clip in clips if clip.action is not None]
        return [
            _Clip(clip.name, clip.times, _played(armature, clip.action, meshes, clip.times)) for clip in moves
        ], False
    matrix = matrix_of(armature)
    order = {
        item.object: rows for item, rows in zip(armature.ossify.meshes, memory.columns(armature), strict=True)
    }
    columns = np.concatenate([np.arange(order[obj].start, order[obj].stop) for obj in meshes])
    frames = kept.frames[:, columns] @ matrix[:3, :3].T + matrix[:3, 3]
    return [_Clip(clip.name, clip.times, frames[clip.rows]) for clip in clips], True


# ---- what it shows


class _Gltf:
    def __init__(self, path: Path, engine: Engine):
        self.document, self.most = gltf.Document.read(path), engine.influences
        self.rest = gltf.play(self.document, None, np.zeros(1), self.most)[0]

    def play(self, clip: _Clip, alone: bool) -> np.ndarray | None:
        found = self.document.named("animations")
        mine = found if alone else [item for item in found if item.get("name") == plain(clip.name)]
        if not mine:
            return None
        render = bpy.context.scene.render
        seconds = (clip.times - clip.times[0]) * render.fps_base / render.fps
        return gltf.play(self.document, mine[0], seconds, self.most)

    def __enter__(self):
        return self

    def __exit__(self, *_exception) -> None:
        return None


def _names(action) -> list[str]:
    """What an importer has put together, without the number of a name that was taken."""
    return re.sub(r"\.\d{3,}$", "", action.name).split("|")


class _Imported:
    """By Blender; gone when it is left."""

    def __init__(self, path: Path):
        self.known, self.path = set(importing.all_blocks()), path
        self.state = _scene_as_it_is()

    def __enter__(self):
        self.state.__enter__()
        importing.import_scene(self.path)
        bpy.context.view_layer.update()
        new = [obj for obj in bpy.data.objects if obj.session_uid not in self.known]
        self.meshes = [obj for obj in new if obj.type == "MESH"]
        self.armature = next((obj for obj in new if obj.type == "ARMATURE"), None)
        if self.armature is None or not self.meshes:
            raise Refusal(f"{self.path} holds no rig when it is read again.")
        self.actions = [action for action in bpy.data.actions if action.session_uid not in self.known]
        rest = [positions(o.data) @ matrix_of(o)[:3, :3].T + matrix_of(o)[:3, 3] for o in self.meshes]
        self.rest = np.concatenate(rest)
        return self

    def play(self, clip: _Clip, alone: bool) -> np.ndarray | None:
        own = keys.action_of(self.armature)
        mine = [own] if alone else [item for item in self.actions if plain(clip.name) in _names(item)]
        if not mine or mine[0] is None:
            return None
        first = mine[0].frame_range[0]
        return _played(self.armature, mine[0], self.meshes, first + (clip.times - clip.times[0]))

    def __exit__(self, *_exception) -> None:
        importing.remove_others(self.known)
        self.state.__exit__(None, None, None)


# ---- compared


def _match(rest: np.ndarray, mine: np.ndarray, goal: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """[m] for each vertex of the file one of the rig"""
    tree = KDTree(len(mine))
    for number, point in enumerate(mine):
        tree.insert(point, number)
    tree.balance()
    near, match = _LIES_ON * diagonal(mine), np.empty(len(rest), np.int64)
    for number, point in enumerate(rest):
        found = [index for _, index, _ in tree.find_range(point, near)]
        if len(found) > 1:
            apart = ((goal[:, found] - shown[:, number : number + 1]) ** 2).sum(axis=(0, 2))
            match[number] = found[int(apart.argmin())]
        else:
            match[number] = found[0] if found else tree.find(point)[1]
    return match


def unmeasured(meshes: list) -> str | None:
    """Why a file cannot be compared with the rig, in words; None when it can."""
    for obj in meshes:
        live = [item.name for item in obj.modifiers if item.type != "ARMATURE" and item.show_viewport]
        if live:
            return f"{obj.name} has the modifier {live[0]}, which the file has applied"
    return None


def measure(path: Path, armature, meshes: list, engine: Engine) -> Error | None:
    """None where no clip of the rig is in the file"""
    clips, of_source = _goals(armature, meshes)
    mine = np.concatenate([positions(o.data) @ matrix_of(o)[:3, :3].T + matrix_of(o)[:3, 3] for o in meshes])
    is_gltf = path.suffix.lower() in (".glb", ".gltf")
    squares, count, most, match = 0.0, 0, 0.0, None
    with _Gltf(path, engine) if is_gltf else _Imported(path) as file:
        for clip in clips:
            shown = file.play(clip, len(clips) == 1)
            if shown is None:
                continue
            if match is None:
                match = _match(file.rest, mine, clip.goal, shown)
            distances = ((shown - clip.goal[:, match]) ** 2).sum(axis=2)
            squares, count = squares + float(distances.sum()), count + distances.size
            most = max(most, float(distances.max()))
    if not count:
        return None
    size = diagonal(mine)
    return Error(100 * np.sqrt(squares / count) / size, 100 * np.sqrt(most) / size, of_source)
