"""Files into Blender, for the command line: what it reads moving meshes and rigs from."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np

from ..base import pointcache
from ..base.refusal import Refusal
from ..motion import sources
from . import importing, sequence
from .formats import call

MESHES = (".obj", ".ply")
SCENES = (".abc", ".usd", ".usda", ".usdc", ".usdz", ".glb", ".gltf", ".fbx")
INPUTS = (".blend", *SCENES, *MESHES, ".npz")


class Opened:
    """An input as a scene, or beside what is in the scene; a context manager, because it may stand on
    temporary files."""

    def __init__(
        self, path: Path, names: list[str], cache: Path | None, beside: bool = False, still: bool = False
    ):
        """still: its meshes need not move"""
        self.path, self.names, self.cache, self.beside, self.still = path, names, cache, beside, still
        self.folder: Path | None = None  # of temporary files
        self._known = set(importing.all_blocks()) if beside else set()
        self._brought: list[int] = []

    def __enter__(self) -> Opened:
        try:
            self._open()
            self._brought = [uid for uid in importing.all_blocks() if uid not in self._known]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _open(self) -> None:
        path, suffix = self.path, self.path.suffix.lower()
        if not path.exists():
            raise Refusal(f"{path} is not there.")
        if path.is_dir() or suffix == ".npz":
            self._open_gathered()
        elif suffix == ".blend":
            if self.beside:
                _append(path)
            else:
                call(bpy.ops.wm.open_mainfile, path, load_ui=False)
        elif suffix in SCENES:
            self._make_room()
            importing.import_scene(path)
            if suffix not in {".abc", ".usd", ".usda", ".usdc", ".usdz"}:
                _take_range_from_actions(self._known)
        elif suffix in MESHES and self.still:
            self._make_room()
            importing.one_mesh(path)
        elif suffix in MESHES:
            self._open_cached()
        else:
            raise Refusal(f"{path} is not of a kind that Ossify reads ({', '.join(INPUTS)}, or a folder).")

    def _make_room(self) -> None:
        if not self.beside:
            bpy.ops.wm.read_homefile(use_empty=True)

    def _open_cached(self) -> None:
        """One mesh file, moved by a cache file."""
        cache = cache_of(self.path, self.cache)
        if cache is None:
            raise Refusal(f"{self.path} does not move by itself: name its .pc2 or .mdd file with --cache.")
        if not cache.is_file():
            raise Refusal(f"{cache} is not there.")
        self._make_room()
        obj = importing.one_mesh(self.path)
        _attach(obj, cache)

    def _open_gathered(self) -> None:
        """A folder of numbered files, or one with arrays of all frames: gathered in temporary caches."""
        files = sequence.numbered(self.path) if self.path.is_dir() else None
        self._make_room()
        self.folder = Path(tempfile.mkdtemp(prefix="ossify-"))
        if files is None:
            found = sequence.gather_motion(self.path, self.folder)
        else:
            found = sequence.gather(files, self.folder)
        for obj, cache in found:
            _attach(obj, cache)
        if len(found) == 1:
            found[0][0].name = self.path.stem if files is None else self.path.name

    @property
    def temporary(self) -> bool:
        """Whether the source cannot be kept in what is written."""
        return self.folder is not None

    def objects(self) -> list:
        """The meshes to convert."""
        layer = bpy.context.view_layer
        layer.update()
        mine = [obj for obj in layer.objects if obj.session_uid not in self._known]
        if self.names:
            return [self._named(mine, name) for name in self.names]
        meshes = [obj for obj in mine if obj.type == "MESH"]
        if self.still and meshes:
            return meshes
        moving = [obj for obj in meshes if sources.motion_words(obj)]
        if self.path.suffix.lower() == ".blend" and len(moving) > 1:
            names = ", ".join(obj.name for obj in moving)
            raise Refusal(f"{self.path} has several moving meshes ({names}): choose with --object.")
        if not moving:
            raise Refusal(f"{self.path} has no mesh that moves.")
        return moving

    def _named(self, mine: list, name: str):
        """Beside others of the same name, Blender gives it a number."""
        found = [obj for obj in mine if obj.name == name or (self.beside and _plain_name(obj.name) == name)]
        if not found:
            raise Refusal(f"{self.path} has no object named {name}.")
        return found[0]

    def remove(self) -> None:
        """Takes what was brought in beside others out of the file again."""
        blocks = importing.all_blocks()
        bpy.data.batch_remove([blocks[uid] for uid in self._brought if uid in blocks])


def _plain_name(name: str) -> str:
    """Without the number that Blender gives to a name that is taken."""
    return re.sub(r"\.\d{3,}$", "", name)


def _is_open(path: Path) -> bool:
    """Whether it is the file that Blender has open, by any of its names."""
    mine = Path(bpy.data.filepath)
    return mine.is_file() and path.exists() and path.samefile(mine)


@contextlib.contextmanager
def _library(path: Path) -> Iterator[tuple]:
    """What is there, and what is to be here, of another .blend; from itself Blender 4.2 would end."""
    if _is_open(path):
        raise Refusal(f"{path} is the file that is open: nothing is brought into it from itself.")
    try:
        with bpy.data.libraries.load(str(path.absolute()), link=False) as both:
            yield both
    except OSError as error:
        raise Refusal(f"{path}: {error}") from None


def _append(path: Path) -> None:
    """The objects of the first scene of a .blend, into the scene that is open, and its range."""
    with _library(path) as (there, here):
        here.scenes = there.scenes[:1]
    if not here.scenes:
        raise Refusal(f"{path} has no scene.")
    (brought,), scene = here.scenes, bpy.context.scene
    for obj in brought.collection.all_objects:
        scene.collection.objects.link(obj)
    scene.frame_start, scene.frame_end = brought.frame_start, brought.frame_end
    bpy.data.scenes.remove(brought)


def armature_named(words: str) -> tuple[Path | None, str | None]:
    """FILE.blend, FILE.blend:NAME or :NAME; no file: that which is open"""
    file, colon, name = words.rpartition(":")
    if not colon or words.lower().endswith(".blend"):
        file, name = words, ""
    return Path(file) if file else None, name or None


def own_armature(words: str):
    """The armature of a file, brought into the scene, or one that is there; a file's only one, or by name."""
    path, name = armature_named(words)
    if path is not None:
        found = _append_armatures(path, name)
    else:
        found = [obj for obj in bpy.context.view_layer.objects if obj.type == "ARMATURE" and obj.name == name]
    where = path if path is not None else "The input"
    if not found:
        raise Refusal(f"{where} has no armature named {name}." if name else f"{where} has no armature.")
    if len(found) > 1:
        names = ", ".join(sorted(obj.name for obj in found))
        raise Refusal(f"{where} has several armatures ({names}): choose with {where}:NAME.")
    return found[0]


def _append_armatures(path: Path, name: str | None) -> list:
    """Those of a .blend, with their motion, into the scene that is open; the one of that name, if any."""
    if not path.is_file():
        raise Refusal(f"{path} is not there.")
    with _library(path) as (there, here):
        here.objects = [other for other in there.objects if name in (None, other)]
    found = [obj for obj in here.objects if obj is not None and obj.type == "ARMATURE"]
    others = [obj for obj in here.objects if obj is not None and obj not in found and obj.users == 0]
    bpy.data.batch_remove(others)
    for obj in found:
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    return found


def cache_of(mesh: Path, cache: Path | None) -> Path | None:
    """The cache that moves a mesh file: the one that is named, or one that lies beside it."""
    beside = (mesh.with_suffix(suffix) for suffix in pointcache.KINDS)
    return cache or next((found for found in beside if found.is_file()), None)


def _attach(obj, cache: Path) -> None:
    """Moves a mesh by a cache, from frame 1 on."""
    frames, vertices = pointcache.size_of(cache)
    if vertices != len(obj.data.vertices):
        raise Refusal(f"{cache} has {vertices} vertices, but {obj.name} has {len(obj.data.vertices)}.")
    modifier = obj.modifiers.new("Cache", "MESH_CACHE")
    modifier.cache_format = cache.suffix[1:].upper()
    modifier.filepath = str(cache.absolute())
    modifier.frame_start = 1
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, frames


def _take_range_from_actions(known: set[int]) -> None:
    """glTF and FBX say nothing of a range: it is that of the imported actions."""
    ranges = [action.frame_range for action in bpy.data.actions if action.session_uid not in known]
    if ranges:
        scene = bpy.context.scene
        scene.frame_start = int(np.floor(min(first for first, _ in ranges)))
        scene.frame_end = int(np.ceil(max(last for _, last in ranges)))
