"""What a rig remembers: the motion it was made from, and itself as it was made or last refitted.

Both are in a mesh data-block that no object shows and that the armature points at: its vertices are those of
all frames, one frame after the other, then those of the rest. Blender shares such arrays between undo steps.
With 50 MB of motion, in 4.2, a step costs nothing to speak of and an undo 50 ms, and the file is saved in 0.1
and opened in 0.4 s; the same as custom properties took 17 ms for each step and 360 ms for an undo.

The snapshot of the rig is in custom properties of that mesh. Bones carry a number, so that one that was
renamed is known again. How bones look, and what merges have changed, is noted beside it, so that bones can be
put back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import bpy
import numpy as np

from .. import native
from ..base import whole
from ..base.handles import Handle
from ..base.meshes import edges_of, matrices_of, positions
from ..base.pointcache import MOST_FRAME
from ..base.refusal import Refusal
from ..motion.capture import Motion
from ..native import npz
from ..options.options import Options
from ..rig import keys, looks, played, roles, standing
from . import stored
from .stored import LOOKS, MOST_INFLUENCES, Bones, Snapshot
from .stored_merges import MERGED

PACKED_MOST = 64_000_000  # bytes of motion that are kept in the .blend unasked
NUMBER = "ossify_bone"  # on bones


# ---- what is stored


def _damaged(armature, what) -> Refusal:
    return Refusal(
        f"What {armature.name} remembers of itself is damaged ({what}): go back to an earlier file, or"
        " convert its source again."
    )


@contextlib.contextmanager
def opened(armature) -> Iterator[Mapping]:
    """What a rig has stored, empty where there is nothing; whatever is wrong with it becomes a sentence."""
    mesh, version = armature.ossify.memory, armature.ossify.version
    try:
        if version:  # else it is being made
            stored.check_version(version, _version(), mesh)
        yield {} if mesh is None else mesh
    except stored.Newer:
        raise Refusal(
            f"{armature.name} was made by a newer Ossify ({version}; this is {_version()}): install that one"
            " to change it."
        ) from None
    except stored.Damaged as what:
        raise _damaged(armature, what) from None


def _version() -> str:
    """Also for panels, which tell by themselves that there is no library."""
    try:
        return native.version()
    except native.LibraryError:
        return f"{2**16}.0"


def trouble(armature) -> str | None:
    """Why what it remembers cannot be read here, in one sentence; None when it may be. Quick, for panels."""
    try:
        with opened(armature):
            return None
    except Refusal as error:
        return str(error)


def _check_frames(armature) -> None:
    times = played.times_of(armature)
    if not len(times) or np.abs(times.astype(np.int64)).max() > MOST_FRAME:
        raise _damaged(armature, "frames")


# ---- motion


@dataclasses.dataclass
class Kept:
    """The motion of all meshes of a rig, in the order of its record."""

    frames: np.ndarray  # [f][v][3] float32
    rest: np.ndarray | None  # [v][3] float32; None: synthesised


def bytes_of(motion) -> int:
    return motion.frames.nbytes + (0 if motion.rest is None else motion.rest.nbytes)


def way_of(motion, options: Options) -> str:
    """PACKED, FILE or NONE: how this motion is kept."""
    if options.keep_motion == "AUTO":
        return "PACKED" if bytes_of(motion) <= PACKED_MOST else "NONE"
    return options.keep_motion


def check(options: Options) -> None:
    if options.keep_motion == "FILE" and not bpy.data.filepath:
        raise Refusal(
            "The motion shall be kept in a file beside the .blend, and that is not saved yet: save it."
        )


def _pack(mesh, motion) -> None:
    points = motion.frames.reshape(-1, 3)
    if motion.rest is not None:
        points = np.concatenate([points, motion.rest])
    mesh.clear_geometry()
    mesh.vertices.add(len(points))
    mesh.attributes["position"].data.foreach_set("vector", points.ravel())
    mesh.update()


def _path_for(armature, arrays: dict[str, np.ndarray]) -> Path:
    """Another one for another motion: undo, and older files, still name the one before."""
    content = hashlib.blake2b(digest_size=4)
    for array in arrays.values():
        content.update(np.ascontiguousarray(array))
    beside = Path(bpy.data.filepath)
    rig = bpy.path.clean_name(armature.name)
    return beside.with_name(f"{beside.stem}-{rig}-{content.hexdigest()}.motion.npz")


def store(armature, motion, options: Options) -> str:
    """Writes the file that the motion shall be kept in, and nothing else; empty: it is kept otherwise."""
    if way_of(motion, options) != "FILE":
        return ""
    arrays = {"frames": motion.frames} | ({} if motion.rest is None else {"rest": motion.rest})
    path = _path_for(armature, arrays)
    with whole.replacing(path) as part, open(part, "wb") as file:
        np.savez(file, **arrays)
    return f"//{path.name}"


def keep(armature, motion: Motion, options: Options, file: str | None = None) -> None:
    """Keeps the motion as the options say, instead of what was kept before; file: where it was stored"""
    file = store(armature, motion, options) if file is None else file
    record, mesh = armature.ossify, mesh_of(armature)
    mesh.clear_geometry()
    record.motion_file = file
    mesh["shape"] = [len(motion.frames), motion.frames.shape[1], int(motion.rest is not None)]
    mesh["columns"] = [int(part.vertices.stop - part.vertices.start) for part in motion.parts]
    if way_of(motion, options) == "PACKED":
        _pack(mesh, motion)


def is_packed(armature) -> bool:
    mesh = armature.ossify.memory
    return mesh is not None and len(mesh.vertices) > 0


def is_kept(armature) -> bool:
    """Quick, for panels."""
    path = armature.ossify.motion_file
    return is_packed(armature) or bool(path and Path(bpy.path.abspath(path)).is_file())


def recall(armature) -> Kept | None:
    """The motion, or None when it was not kept, or its file is gone."""
    with opened(armature) as mesh:
        if is_packed(armature):
            return _unpacked(mesh)
        wanted = stored.shape(mesh) if "shape" in mesh else None
    if not is_kept(armature):
        return None
    path = bpy.path.abspath(armature.ossify.motion_file)
    try:
        arrays = npz.read(path, ("frames", "rest"))
        kept = Kept(arrays["frames"], arrays.get("rest"))
    except (OSError, npz.Damaged, KeyError):
        raise Refusal(
            f"{path} does not hold the motion of {armature.name}, or is damaged: put it there again, or"
            " remove it and choose a source."
        ) from None
    if wanted is None or not stored.is_motion(kept.frames, kept.rest, wanted):
        raise Refusal(f"{path} holds the motion of another rig, not that of {armature.name}.")
    return kept


def _unpacked(mesh) -> Kept:
    frames, vertices, with_rest = stored.shape(mesh)
    points, split = positions(mesh), frames * vertices
    if len(points) != split + with_rest * vertices or not np.isfinite(points).all():
        raise stored.Damaged("motion")
    return Kept(points[:split].reshape(frames, vertices, 3), points[split:] if with_rest else None)


def mesh_of(armature):
    """The data-block, made if there is none, and the rig's own."""
    record = armature.ossify
    if record.memory is None:
        record.memory = bpy.data.meshes.new(f"{armature.name} Memory")
    elif record.memory.users > 1:  # the rig was duplicated
        record.memory = record.memory.copy()
    return record.memory


# ---- the rig as it was


def plain_bones(armature) -> list:
    """All but virtual ones, which come and go and are not remembered."""
    return [bone for bone in armature.data.bones if not roles.is_virtual(bone)]


def _number_bones(armature) -> list[int]:
    """Every bone's number; a copy of a bone has its number too, and is given another."""
    bones, taken, numbers = plain_bones(armature), set(), {}
    with opened(armature) as mesh:
        names = stored.names_by_number(mesh)
    first = sorted(bones, key=lambda bone: names.get(bone.get(NUMBER)) != bone.name)  # those not renamed
    for bone in first:
        number = bone.get(NUMBER)
        if stored.is_number(number) and number not in taken:
            numbers[bone.name] = number
            taken.add(number)
    fresh = max([*taken, *names, *map(int, looks_of(armature)), -1]) + 1  # merged ones may come back
    for bone in bones:
        if bone.name not in numbers:
            numbers[bone.name], fresh = fresh, fresh + 1
    return [numbers[bone.name] for bone in bones]


def read_bones(armature) -> Bones:
    bones = plain_bones(armature)
    numbers = _number_bones(armature)
    rests = dict(
        zip(armature.data.bones.keys(), matrices_of(armature.data.bones, "matrix_local"), strict=True)
    )
    by_name = dict(zip((bone.name for bone in bones), numbers, strict=True))
    return Bones(
        numbers,
        [bone.name for bone in bones],
        [by_name[bone.parent.name] if bone.parent else -1 for bone in bones],
        [bone.use_connect for bone in bones],
        [roles.moves_vertices(bone) for bone in bones],
        [bone.length for bone in bones],
        np.array([rests[bone.name] for bone in bones]).reshape(-1, 4, 4),
    )


def read_channels(armature, names: list[str], times, action) -> np.ndarray:
    """[f][b][10] location, rotation as a quaternion, scale: as the action has them"""
    reader = keys.Reader(armature, times, action)
    values = np.empty((len(times), len(names), 10), np.float32)
    for b, name in enumerate(names):
        present = reader.present(name)
        values[:, b] = np.concatenate([present.location, present.rotation, present.scale], axis=1)
    return values


def topology_of(mesh) -> int:
    """A number that is another one for other edges. Faces do not count: the motion fits however they are
    turned, and in whatever order they come."""
    return zlib.crc32(edges_of(mesh).tobytes(), len(mesh.vertices) & 0xFFFFFFFF) & 0x7FFFFFFF


def columns(armature) -> list[slice]:
    """Where each mesh of the record is in the motion."""
    with opened(armature) as mesh:
        return stored.columns(mesh, len(armature.ossify.meshes))


def meshes_of(armature) -> list:
    """Those that the rig was made with and still moves."""
    moved = standing.meshes_of(armature)
    return [item.object for item in armature.ossify.meshes if item.object in moved]


def parts_of(armature, then: Snapshot, skin: standing.Skin) -> Iterator[tuple[object, slice, slice]]:
    """(mesh object, its rows in the skin, its rows then)"""
    starts, meshes = np.concatenate([[0], np.cumsum(then.counts)]), skin.meshes
    for index, item in enumerate(armature.ossify.meshes):
        if item.object in meshes:
            rows = slice(int(starts[index]), int(starts[index + 1]))
            yield item.object, skin.slices[meshes.index(item.object)], rows


def groups_of(obj, bones: Bones) -> np.ndarray:
    """[v][b] as painted, of the bones that deform"""
    return standing.painted(obj, [bones.names[b] for b in np.flatnonzero(bones.deforms)])


def influences_of(painted: np.ndarray, bones: Bones) -> tuple[np.ndarray, np.ndarray]:
    """[v][16] numbers of bones (-1: none) and weights, the strongest first; painted: groups_of"""
    columns = np.flatnonzero(bones.deforms)
    order = np.argsort(-painted, axis=1, kind="stable")[:, :MOST_INFLUENCES]
    some = np.take_along_axis(painted, order, axis=1)
    numbers = np.where(some > 0, np.array(bones.numbers, np.int32)[columns][order], -1)
    short = ((0, 0), (0, MOST_INFLUENCES - some.shape[1]))
    return np.pad(numbers, short, constant_values=-1), np.pad(some, short)


def read(armature) -> Snapshot:
    """The rig as it is now."""
    _check_frames(armature)
    record, bones = armature.ossify, read_bones(armature)
    times, clips = played.times_of(armature), played.of(armature)
    influences, weights, rests, counts, topology, groups = [], [], [], [], [], []
    present = meshes_of(armature)
    for item in record.meshes:
        obj = item.object
        if obj not in present:
            counts.append(0)
            topology.append(0)
            continue
        groups.append(groups_of(obj, bones))
        mine, some = influences_of(groups[-1], bones)
        influences.append(mine)
        weights.append(some)
        rests.append(positions(obj.data))
        counts.append(len(rests[-1]))
        topology.append(topology_of(obj.data))
    return Snapshot(
        bones,
        times,
        np.concatenate([read_channels(armature, bones.names, clip.times, clip.action) for clip in clips]),
        counts,
        topology,
        np.concatenate(influences or [np.empty((0, MOST_INFLUENCES))]).astype(np.int32),
        np.concatenate(weights or [np.empty((0, MOST_INFLUENCES), np.float32)]),
        np.concatenate(rests or [np.empty((0, 3), np.float32)]),
        groups,
    )


def snapshot(armature, now: Snapshot) -> None:
    """Notes a rig that was just read, and nothing of before: from now on changes are counted from this."""
    for bone, number in zip(plain_bones(armature), now.bones.numbers, strict=True):
        bone[NUMBER] = number
    mesh = mesh_of(armature)
    for name in [name for name, _ in mesh.items() if name == LOOKS or name.startswith(MERGED)]:
        del mesh[name]
    note(armature, now)


def note(armature, now: Snapshot) -> None:
    """Notes this as what changes are counted from."""
    roles.upgrade(armature)
    mesh = mesh_of(armature)
    bones = dataclasses.asdict(dataclasses.replace(now.bones, rests=None))
    used = max(int((now.influences >= 0).sum(axis=1).max(initial=1)), 1)
    noted = {
        "format": stored.FORMAT,
        "bones": json.dumps({name: value for name, value in bones.items() if name != "rests"}),
        "meshes": json.dumps({"counts": now.counts, "edges": now.topology}),
        "rests": now.bones.rests.astype(np.float32).ravel(),
        "channels": now.channels.ravel(),
        "influences": now.influences[:, :used].ravel(),
        "weights": now.weights[:, :used].ravel(),
        "rest": now.rest.ravel(),
    }
    for name, value in noted.items():
        if name in mesh:
            del mesh[name]  # an array that is there keeps its length
        mesh[name] = value
    known, before = set(map(str, now.bones.numbers)), looks_of(armature)
    mesh[LOOKS] = json.dumps(before | {n: look for n, look in looks_now(armature).items() if n in known})


def looks_now(armature) -> dict[str, dict]:
    """A bone's number, as text -> how it looks."""
    now = read_bones(armature)
    return {str(n): looks.of(armature, name) for n, name in zip(now.numbers, now.names, strict=True)}


def looks_of(armature) -> dict[str, dict]:
    """The same as it was last noted; also of bones that are gone."""
    with opened(armature) as mesh:
        return stored.looks(mesh)


def is_noted(armature) -> bool:
    """Whether it is known what the rig was like."""
    mesh = armature.ossify.memory
    return mesh is not None and "bones" in mesh


def last(armature) -> Snapshot | None:
    """The rig as it was noted; None: it never was."""
    if not is_noted(armature):
        return None
    _check_frames(armature)
    with opened(armature) as mesh:
        return stored.notes(mesh, len(armature.ossify.meshes), played.times_of(armature))


def print_of(now: Snapshot) -> bytes:
    """Another one after any change that must not be overlooked."""
    words = [now.bones.names, now.bones.parents, now.bones.connected, now.bones.deforms]
    total = hashlib.blake2b(json.dumps(words).encode())
    for array in (now.bones.rests, now.channels, now.influences, now.weights, now.rest):
        total.update(np.ascontiguousarray(array))
    return total.digest()


# ---- a rig that was just made


def begin(built, motion: Motion, options: Options) -> None:
    """All of it, for a rig in its workshop."""
    armature = built.armature.get()
    for handle in built.meshes:
        armature.ossify.meshes.add().object = handle.get()
    keep(armature, motion, options)
    built.made.append(Handle.of("meshes", armature.ossify.memory))
    snapshot(armature, read(armature))
