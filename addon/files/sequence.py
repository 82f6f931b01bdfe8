"""A folder of numbered files, one a frame, as meshes that move: caches of their positions, and the first
frame as objects.

All frames must be the same mesh, its vertices in the same order: as many meshes, vertices and faces, and
faces that join the same vertices. What generators and scanners write keeps that order; what was remeshed does
not, and then a sentence says how many frames differ and which is the first. Faces may be the same although
vertices stand in another order: then edges that were short join far ends, and no stretching of the whole mesh
explains it.

Some kinds of files part a vertex where its faces differ in normal or texture (glTF), or everywhere (.stl).
Vertices that lie on each other in every frame are one again; those that meet for a while are not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import bmesh
import bpy
import numpy as np

from ..base import pointcache
from ..base.meshes import matrix_of, positions
from ..base.refusal import Refusal
from ..base.words import counted
from . import arrays, importing

_PARTED = (".glb", ".gltf", ".stl", ".usd", ".usda", ".usdc", ".usdz")  # may have a vertex more than once
KINDS = (".obj", ".ply", ".npz", *_PARTED)
_FAR_ENDS = 0.5  # of the root mean square distance from the middle: an edge that spans much of the mesh
_LONGER_EDGES = 3.0  # times, and it was this much shorter in the first frame
_MANY_EDGES = 0.25  # of the edges: rather another order than a mesh that is torn
_LEFT_OF_STRETCHING = 0.3  # of the squares: what an affine map of the first frame leaves of another order


# ---- which files


def _number(numbers: list[tuple[str, ...]]) -> int:
    """Which of the numbers in a name counts the frames: the last that is not the same in all of them."""
    columns = list(zip(*numbers, strict=False))
    differ = [place for place, column in enumerate(columns) if len(set(map(int, column))) > 1]
    return differ[-1] if differ else len(columns) - 1


def numbered(folder: Path) -> list[Path]:
    """The files of a folder in the order of their numbers; of several kinds the one with the most."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in KINDS and re.search(r"\d", file.stem):
            found.setdefault(file.suffix.lower(), []).append(file)
    if not found:
        raise Refusal(f"{folder} holds no numbered files ({', '.join(KINDS)}).")
    files = max(found.values(), key=len)
    numbers = [tuple(re.findall(r"\d+", file.stem)) for file in files]
    counts = _number(numbers)
    keys = [int(own[min(counts, len(own) - 1)]) for own in numbers]
    return [file for _, _, file in sorted(zip(keys, files, files, strict=True))]


# ---- one frame


class Piece(NamedTuple):
    """One mesh of a frame, in the scene."""

    points: np.ndarray  # [v][3] as they stand there
    own: np.ndarray  # the same as they are in the mesh: to the bit
    corners: np.ndarray | None  # vertices of all faces; None: those of the first frame
    sides: np.ndarray | None  # where each face begins in them


def _mesh_objects(known: set[int]) -> list:
    return [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.session_uid not in known]


def _piece(obj) -> Piece:
    mesh, matrix = obj.data, matrix_of(obj)
    corners, sides = np.empty(len(mesh.loops), np.int32), np.empty(len(mesh.polygons), np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    mesh.polygons.foreach_get("loop_start", sides)
    own = positions(mesh)
    return Piece(own @ matrix[:3, :3].T + matrix[:3, 3], own, corners, sides)


def _import(path: Path) -> list:
    """The meshes of a file as new objects."""
    known = set(importing.all_blocks())
    if path.suffix.lower() in (".obj", ".ply"):
        importing.import_mesh(path)
    else:
        importing.import_scene(path)
    bpy.context.view_layer.update()
    found = _mesh_objects(known)
    if not found:
        raise Refusal(f"{path} holds no mesh.")
    return found


def _plain_pose(path: Path) -> arrays.Pose:
    pose = arrays.read(path)
    if pose.points.ndim != 2:
        raise Refusal(f"{path} holds a motion, and a file of a folder is one frame: name the file itself.")
    return pose


def _read(path: Path) -> list[Piece]:
    """The meshes of a file, which leaves nothing in the scene."""
    if path.suffix.lower() in arrays.KINDS:
        pose = _plain_pose(path)
        joins = (None, None) if pose.faces is None else (pose.faces.ravel(), _starts(pose.faces))
        return [Piece(pose.points, pose.points, *joins)]
    known = set(importing.all_blocks())
    try:
        return [_piece(obj) for obj in _import(path)]
    finally:
        importing.remove_others(known)


def _starts(faces: np.ndarray) -> np.ndarray:
    return np.arange(0, faces.size, 3, dtype=np.int32)


def _keep(path: Path) -> list:
    """The first frame, as objects that stay."""
    if path.suffix.lower() not in arrays.KINDS:
        return _import(path)
    pose = _plain_pose(path)
    if pose.faces is None or not len(pose.faces):
        raise Refusal(f"{path} holds no faces, and the first frame must have them.")
    return [importing.object_of(path.stem, pose.points, pose.faces)]


def _ends(piece: Piece) -> np.ndarray:
    """[e][2] the vertices along each face"""
    after = np.roll(piece.corners, -1)
    after[np.append(piece.sides[1:], len(piece.corners)) - 1] = piece.corners[piece.sides]
    return np.column_stack([piece.corners, after])


def _lengths(points: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """[e] of edges, in root mean square distances of the points from their middle"""
    size = np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean())
    return np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1) / max(size, np.finfo(float).tiny)


def _is_scattered(points: np.ndarray, first: Piece) -> bool:
    """Whether so many edges of the first frame join far ends that vertices must stand in another order."""
    if not len(first.sides):
        return False
    ends = _ends(first)
    now, then = _lengths(points, ends), _lengths(first.points, ends)
    far = (now > _FAR_ENDS) & (now > _LONGER_EDGES * then) & (then > 0)  # what was a point says nothing
    return bool(far.mean() > _MANY_EDGES and not _is_stretched(points, first.points))


def _is_stretched(points: np.ndarray, first: np.ndarray) -> bool:
    """Whether a frame is the first, turned and stretched as a whole: a bar that grows has few, long edges."""
    here, there = points - points.mean(axis=0), first - first.mean(axis=0)
    affine, *_ = np.linalg.lstsq(there, here, rcond=None)
    return bool(((here - there @ affine) ** 2).sum() < _LEFT_OF_STRETCHING * (here**2).sum())


def _difference(first: list[Piece], frame: list[Piece]) -> str | None:
    """Why a frame is not the same mesh, in words; None when it is."""
    if len(frame) != len(first):
        return f"{counted(len(frame), 'mesh')} instead of {len(first)}"
    for mine, wanted in zip(frame, first, strict=True):
        if len(mine.points) != len(wanted.points):
            return f"{counted(len(mine.points), 'vertex')} instead of {len(wanted.points):,}"
        if mine.corners is not None:
            if len(mine.sides) != len(wanted.sides):
                return f"{counted(len(mine.sides), 'face')} instead of {len(wanted.sides):,}"
            if not (
                np.array_equal(mine.corners, wanted.corners) and np.array_equal(mine.sides, wanted.sides)
            ):
                return "its faces join other vertices: they are in another order"
        if _is_scattered(mine.points, wanted):
            return "the same faces join far vertices: they are in another order"
    return None


# ---- vertices that were parted


class _Twins:
    """Which vertices lie on each other in every frame that was seen: leader [v], the first of them."""

    def __init__(self, vertices: int):
        self.leader = np.zeros(vertices, np.int64)

    def see(self, points: np.ndarray) -> None:
        apart = np.flatnonzero((points != points[self.leader]).any(axis=1))
        if len(apart):
            rows = np.column_stack([self.leader[apart], points[apart]])
            _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
            self.leader[apart] = apart[first[group.ravel()]]


def _weld(mesh, leader: np.ndarray) -> np.ndarray | None:
    """Joins each vertex to its leader; the old numbers of those that are left, None where a face would go."""
    twins = np.flatnonzero(leader != np.arange(len(leader)))
    if not len(twins):
        return None
    made = bmesh.new()
    try:
        made.from_mesh(mesh)
        made.verts.ensure_lookup_table()
        was = made.verts.layers.int.new("ossify_was")
        for number, vertex in enumerate(made.verts):
            vertex[was] = number
        verts, faces = made.verts, len(made.faces)
        bmesh.ops.weld_verts(made, targetmap={verts[a]: verts[leader[a]] for a in twins.tolist()})
        if len(made.faces) != faces:
            return None
        left = np.array([vertex[was] for vertex in made.verts], np.int64)
        made.verts.layers.int.remove(made.verts.layers.int["ossify_was"])
        made.to_mesh(mesh)
        return left
    finally:
        made.free()


def _choose(cache: Path, left: np.ndarray) -> Path:
    """Another cache, of these vertices of one."""
    samples, vertices = pointcache.size_of(cache)
    chosen = cache.with_name(f"joined-{cache.name}")
    with open(cache, "rb") as file, pointcache.Writer(chosen, len(left), range(1, samples + 1)) as writer:
        file.seek(-12 * samples * vertices, 2)
        for _ in range(samples):
            writer.add(np.fromfile(file, "<f4", 3 * vertices).reshape(-1, 3)[left])
        writer.finish()
    return chosen


# ---- all of them


class _Taken:
    """Caches, one a mesh of the first file, that take frame after frame."""

    def __init__(self, files: list[Path], folder: Path, parted: bool):
        self.files = files
        objects = _keep(files[0])
        self.names = [obj.name for obj in objects]
        self.first = [_piece(obj) for obj in objects]
        self.back = [np.linalg.inv(matrix_of(obj)) for obj in objects]
        self.twins = [_Twins(len(piece.points)) if parted else None for piece in self.first]
        self.different: list[tuple[Path, str]] = []
        times = range(1, len(files) + 1)
        self.caches = [folder / f"sequence{number}.pc2" for number in range(len(self.first))]
        self.writers = [
            pointcache.Writer(cache, len(piece.points), times)
            for cache, piece in zip(self.caches, self.first, strict=True)
        ]

    def add(self, file: Path, frame: list[Piece]) -> None:
        why = _difference(self.first, frame)
        if why:
            self.different.append((file, why))
        if self.different:
            return
        for piece, writer, back, twins in zip(frame, self.writers, self.back, self.twins, strict=True):
            writer.add(piece.points @ back[:3, :3].T + back[:3, 3])
            if twins is not None:
                twins.see(piece.own)

    def finish(self) -> list[tuple[object, Path]]:
        if self.different:
            (file, why), count = self.different[0], len(self.different)
            raise Refusal(
                f"{count} of {len(self.files)} files {'is' if count == 1 else 'are'} not the mesh of"
                f" {self.files[0].name}: {file.name} is the first that differs ({why}). Only a mesh that"
                " keeps its vertices, in the same order, can become a rig."
            )
        for writer in self.writers:
            writer.finish()
        objects = [bpy.data.objects[name] for name in self.names]
        for number, (obj, twins) in enumerate(zip(objects, self.twins, strict=True)):
            left = _weld(obj.data, twins.leader) if twins is not None else None
            if left is not None:
                self.caches[number] = _choose(self.caches[number], left)
        return list(zip(objects, self.caches, strict=True))


def gather(files: list[Path], folder: Path) -> list[tuple[object, Path]]:
    """Objects as the first file has them, each with a cache of its motion in `folder`."""
    taken = _Taken(files, folder, files[0].suffix.lower() in _PARTED)
    try:
        for number, file in enumerate(files):
            taken.add(file, _read(file) if number else taken.first)
        return taken.finish()
    finally:
        for writer in taken.writers:
            writer.__exit__()


def gather_motion(path: Path, folder: Path) -> list[tuple[object, Path]]:
    """The same from one .npz with all frames."""
    pose = arrays.read(path)
    if pose.points.ndim != 3 or len(pose.points) < 2:
        raise Refusal(f"{path} holds one pose and no motion: frames [f][v][3] are needed.")
    if pose.faces is None or not len(pose.faces):
        raise Refusal(f"{path} holds no faces: triangles [t][3] are needed.")
    rest = pose.points[0] if pose.rest is None else pose.rest
    cache = folder / "sequence0.pc2"
    with pointcache.Writer(cache, len(rest), range(1, len(pose.points) + 1)) as writer:
        for points in pose.points:
            writer.add(points)
        writer.finish()
    return [(importing.object_of(path.stem, rest, pose.faces), cache)]
