"""An artist's armature as arrays: which of its bones deform, how they hang together, and how they move.

Control rigs hang bones that deform from others that do not: Rigify's DEF-thigh from ORG-spine, which lies
where DEF-spine does. So a bone hangs from the first above it that deforms, or that one which deforms lies on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from ..base.handles import Handle, Place
from ..base.meshes import matrices_of, matrix_of
from ..base.refusal import Refusal
from ..base.surface import diagonal
from ..motion.capture import Motion
from ..options.options import AdoptOptions

_SAME_PLACE = 1e-4  # of a bone's length
_MOVES = 1e-3  # of the size: bones whose ends stay nearer to where they are stand still
_BESIDE = 0.1  # of the size: bones further than that from the box around a mesh lie outside of it
_INSIDE = 0.5  # of the bones, at least
_UNEVEN = 1e-3  # of the scale: axes that differ by more are scaled each in another way


@dataclasses.dataclass
class Own:
    """The bones that deform, in the order of the armature."""

    names: list[str]
    parents: np.ndarray  # [b] -1: from none of them
    heads: np.ndarray  # [b][3] in rest
    tails: np.ndarray  # [b][3]
    transforms: np.ndarray | None = None  # [f][b][4][4] rest to frame, if they move


def deforming(armature) -> list:
    return [bone for bone in armature.data.bones if bone.use_deform]


def _lies_on(bone, other) -> bool:
    far = max((bone.head_local - other.head_local).length, (bone.tail_local - other.tail_local).length)
    return far <= _SAME_PLACE * max(bone.length, other.length)


def _parent(bone, found: list) -> int:
    """The number of the bone above, among those found; -1: there is none"""
    below = {bone.name, *(child.name for child in bone.children_recursive)}
    for above in bone.parent_recursive:
        for number, other in enumerate(found):
            if other.name not in below and (other == above or _lies_on(other, above)):
                return number
    return -1


def _loops(parents: np.ndarray) -> bool:
    for b in range(len(parents)):
        seen, up = {b}, parents[b]
        while up >= 0:
            if up in seen:
                return True
            seen.add(int(up))
            up = parents[up]
    return False


def read(armature) -> Own:
    found = deforming(armature)
    parents = np.array([_parent(bone, found) for bone in found], np.int32)
    if _loops(parents):  # bones that lie on each other's parents: then by the armature's own tree alone
        names = [bone.name for bone in found]
        lines = [[above.name for above in bone.parent_recursive] for bone in found]
        parents = np.array([next((names.index(n) for n in line if n in names), -1) for line in lines])
    ends = [
        np.array([getattr(bone, end) for bone in found], np.float64) for end in ("head_local", "tail_local")
    ]
    return Own([bone.name for bone in found], parents.astype(np.int32), *ends)


# ---- where the mesh is, seen from the armature


def _moved(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    """points [...][v][3] by [...][4][4]"""
    turned = points.astype(np.float64) @ np.swapaxes(matrices[..., :3, :3], -1, -2)
    return (turned + matrices[..., None, :3, 3]).astype(np.float32)


def _check_scale(matrix: np.ndarray, name: str) -> None:
    lengths = np.linalg.norm(matrix[:3, :3], axis=0)
    if lengths.min() <= 0 or np.ptp(lengths) > _UNEVEN * lengths.max():
        raise Refusal(
            f"{name} is not scaled evenly, so bones that turn would shear the mesh: apply its scale (Ctrl-A)."
        )


def _seen(motion: Motion, worlds: np.ndarray, at_rest: np.ndarray) -> Motion:
    """The motion in the space of the armature; worlds [f][4][4] where that is, at_rest [4][4]"""
    ways, way = np.linalg.inv(worlds) @ motion.space, np.linalg.inv(at_rest) @ motion.space
    return dataclasses.replace(
        motion,
        space=at_rest,
        rest=_moved(way, motion.rest),
        frames=_moved(ways, motion.frames),
        parts=[dataclasses.replace(part, matrix=way @ part.matrix) for part in motion.parts],
    )


def _check_place(own: Own, motion: Motion, name: str) -> None:
    """Refuses an armature that does not stand in the mesh."""
    low, high = motion.rest.min(axis=0), motion.rest.max(axis=0)
    room, middles = _BESIDE * diagonal(motion.rest), (own.heads + own.tails) / 2
    inside = ((middles >= low - room) & (middles <= high + room)).all(axis=1)
    if inside.mean() < _INSIDE:
        names = " and ".join(part.name for part in motion.parts)
        raise Refusal(
            f"{int((~inside).sum())} of {len(inside)} bones of {name} lie outside of {names} at rest: bring"
            " the armature's rest pose to where the mesh is at rest, with its size."
        )


def moves(own: Own, transforms: np.ndarray, size: float) -> bool:
    """Whether bones go anywhere in these frames."""
    ends = np.concatenate([own.heads, own.tails])
    ends = np.concatenate([ends, np.ones((len(ends), 1))], axis=1)
    both = np.concatenate([transforms, transforms], axis=1)[:, :, :3]
    return bool(np.ptp(np.einsum("fbij,bj->fbi", both, ends), axis=0).max() > _MOVES * size)


def follow(
    place: Place, armature: Handle, motion: Motion, rest_frame: int | None, options: AdoptOptions
) -> Generator[float, None, tuple[Own, Motion]]:
    """The armature's bones with their motion, if they have one, and the motion of the meshes as it sees them.

    Yields how far it is, 0 to 1; the scene's frame stays.
    """
    own, times = read(armature.get()), motion.times.tolist()
    at = times[0] if rest_frame is None else rest_frame
    scene, _layer = place.get()
    before = scene.frame_current, scene.frame_subframe
    poses, worlds = {}, {}
    keys, known = armature.get().pose.bones.keys(), armature.get().data.bones.keys()
    shown, mine = [keys.index(name) for name in own.names], [known.index(name) for name in own.names]
    rests = matrices_of(armature.get().data.bones, "matrix_local")[mine]
    stops = sorted({at, *times}) if not motion.poses else [before[0]]
    try:
        for count, time in enumerate(stops):
            place.get()[0].frame_set(int(time))
            evaluated = armature.get().evaluated_get(place.get()[1].depsgraph)
            poses[time] = matrices_of(evaluated.pose.bones, "matrix")[shown]
            worlds[time] = matrix_of(evaluated)
            _check_scale(worlds[time], armature.name)
            yield (count + 1) / len(stops)
    finally:
        if place.find() is not None:
            place.get()[0].frame_set(before[0], subframe=before[1])
    still = stops[0]
    rows = [still] * len(times) if motion.poses or motion.clips else times
    transforms = np.array([poses[row] for row in rows]) @ np.linalg.inv(rests)
    motion = _seen(motion, np.array([worlds[row] for row in rows]), worlds[still if motion.poses else at])
    _check_place(own, motion, armature.name)
    moving = moves(own, transforms, diagonal(motion.rest))
    if options.bone_motion == "OWN" and not moving:
        raise Refusal(f"{armature.name} does not move in these frames: have its motion solved instead.")
    own.transforms = transforms if moving and options.bone_motion != "SOLVED" else None
    return own, motion
