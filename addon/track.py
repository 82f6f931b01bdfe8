"""New motion on a rig that stands: weights, rest shape and joints are held, and transforms solved.

    for step in track(scene, view_layer, armature, objects, TrackOptions()): ...   # its value is Tracked

The new action is keyed and measured on a copy of the rig in a scene of its own; the artist's rig is given it
at the end, and keeps the actions it had. Closing the generator, or an error in it, takes everything back.

Bones that only turn keep doing so: those of an articulated rig, those that are connected to their parent and
those whose location is locked. The library holds their joints, the bones' heads, and lets the others move.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from . import actions, native, rewrite, rigid, standing, takes
from .build import Maker, discard
from .capture import matrix_of, positions
from .channels import homogeneous
from .convert import Clock, Step, each, step, watch
from .handles import Handle, Place
from .keying import ROOT
from .options import Options, Refusal, TrackOptions
from .placement import diagonal
from .properties import remember_clip
from .trial import Trial

_FREE_SHARE = 0.5  # of the solving, before joints are made to hold


class Tracked(NamedTuple):
    """What tracking made, and how well it fits; distances in units of the armature."""

    armature: object
    action: object
    frames: int
    rms: float
    maximum: float
    worst_frame: int
    percent: float  # one such unit in percent of the size
    keys: int
    notes: list[str]
    seconds: dict[str, float]

    def to_json(self) -> dict:
        """For pipelines: plain values, distances in the armature's units and in percent of the size."""
        return {
            "action": self.action.name,
            "frames": self.frames,
            "rms": self.rms,
            "rms_percent": self.rms * self.percent,
            "maximum": self.maximum,
            "maximum_percent": self.maximum * self.percent,
            "worst_frame": self.worst_frame,
            "keys": self.keys,
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
        }

    def sentence(self) -> str:
        return (
            f"{self.armature.name}: {self.action.name}, {self.frames} frames, error"
            f" {self.rms * self.percent:.3g} % of the size, largest {self.maximum * self.percent:.3g} % in"
            f" frame {self.worst_frame}"
        )


# ---- the rig as it stands


@dataclasses.dataclass
class Standing:
    """What of a rig is held."""

    armature: Handle
    meshes: list[Handle]
    names: list[str]  # deform bones
    skin: standing.Skin
    rig: native.Rig  # of the moved vertices: weights and rest
    triangles: np.ndarray
    parents: np.ndarray  # [b] the bone that one turns against; -1: it is free to move
    heads: np.ndarray  # [b][3]
    options: Options  # that it was made with

    @property
    def bones(self) -> list[str]:
        """All that may be keyed: the root, and what carries a bone that is flexible."""
        bones, flexible = self.armature.get().data.bones, self.options.bone_kind == "FLEXIBLE"
        carriers = [rewrite.carrier_of(bones[name]) for name in self.names] if flexible else []
        return [ROOT, *self.names, *(bone.name for bone in carriers if bone is not None)]

    def check_sources(self) -> None:
        """Refuses when the rig was removed since; what moves it was read."""
        self.armature.get()

    @property
    def turns(self) -> bool:
        return bool((self.parents >= 0).any())

    def settings(self, sweeps: int) -> native.Settings:
        """sweeps: the most over the bones; 0: as many as the library thinks fit"""
        settings = self.options.solver()
        settings.iterations = sweeps
        settings.bones, settings.budget_kind, settings.budget = len(self.names), "none", 0.0
        settings.influences, settings.rest_mode = self.rig.influence_bones.shape[1], "fixed"
        return settings


def _only_turns(bone, pose, articulated: bool) -> bool:
    return articulated or bone.use_connect or all(pose.lock_location)


def _parents(armature, names: list[str], articulated: bool) -> np.ndarray:
    """Of bones that only turn the nearest deform bone above."""
    number, parents = {name: b for b, name in enumerate(names)}, np.full(len(names), -1, np.int32)
    for b, name in enumerate(names):
        bone = armature.data.bones[name]
        if not _only_turns(bone, armature.pose.bones[name], articulated):
            continue
        above = bone.parent
        while above is not None and above.name not in number:
            above = above.parent
        parents[b] = -1 if above is None else number[above.name]
    return parents


def stand(armature) -> Standing:
    """Reads the rig."""
    standing.check(armature)
    options = armature.ossify.settings.options()
    names = standing.bone_names(armature)
    skin = standing.read_skin(armature, names)
    moved, dense = skin.moved, skin.weights()
    names = [name for name, used in zip(names, dense.any(axis=0), strict=True) if used]
    dense = dense[moved][:, dense.any(axis=0)]
    rig = native.Rig(None, *standing.sparse(dense), skin.rest[moved].astype(np.float32)).to_track()
    heads = np.array([armature.data.bones[name].head_local for name in names], np.float64)
    articulated = options.skeleton == "ARTICULATED"
    return Standing(
        Handle.of("objects", armature),
        [Handle.of("objects", obj) for obj in skin.meshes],
        names,
        skin,
        rig,
        skin.moved_triangles(),
        _parents(armature, names, articulated),
        heads,
        options,
    )


def trouble(armature) -> str | None:
    """Why nothing can be tracked onto it, in one sentence; None when it can."""
    if armature is None:
        return "There is no rig: select a rig made by Ossify, and a mesh that moves."
    if armature.library or (armature.override_library and armature.override_library.is_system_override):
        return f"{armature.name} is linked from another file: make it local, or work in its own file."
    if armature.mode == "EDIT":
        return f"{armature.name} is in Edit Mode: go back to Object Mode."
    return None


# ---- transforms


def _skeleton(rig: Standing) -> native.Skeleton:
    """What is known of the joints: where they are, and which bones they join."""
    bones = len(rig.names)
    kinds = ["root" if parent < 0 else "ball" for parent in rig.parents]
    none = np.zeros(bones)
    return native.Skeleton(
        int(np.argmin(rig.parents)),
        rig.parents,
        rig.heads,
        kinds,
        np.zeros((bones, 3)),
        none,
        none,
        np.full(bones, -1, np.int32),
        None,
        "",
    )


def solve(rig: Standing, frames: np.ndarray, sweeps: int = 0) -> Generator[Step, None, np.ndarray]:
    """frames [f][v][3] -> [f][b][4][4] the transforms that bring the rig nearest to them"""
    frames = np.ascontiguousarray(frames[:, rig.skin.moved])
    poses, settings = (rig.rig.rest, frames, rig.triangles), rig.settings(sweeps)
    share = _FREE_SHARE if rig.turns else 1.0
    yield step("Solving", 0.0)
    job = native.Job.start(*poses, settings, rig.rig)
    found, _ = yield from watch(job, rig, 0.0, share)
    if rig.turns:
        given = dataclasses.replace(rig.rig, transforms=found.transforms)
        held = np.ones(len(rig.names), np.uint8)
        job = native.Job.start_articulate(*poses, given, _skeleton(rig), settings, held_joints=held)
        found, _, _ = yield from watch(job, rig, share, 1.0)
    return homogeneous(found.transforms)


# ---- keys, on a copy of the rig


class _Stage(Trial):
    """The copy, without the actions it had."""

    def __init__(self, rig: Standing):
        super().__init__(rig.armature.get(), [handle.get() for handle in rig.meshes], rig.names)
        data = self.armature.get().animation_data_create()  # drivers stay
        data.action, data.use_nla = None, False
        self.slices = rig.skin.slices

    def replay(self, time: int, out: np.ndarray) -> None:
        """out [v][3]: where Blender puts the vertices, in the armature's space"""
        scene, armature = self.scene.get(), self.armature.get()
        scene.frame_set(time)
        depsgraph = scene.view_layers[0].depsgraph
        back = np.linalg.inv(matrix_of(armature.evaluated_get(depsgraph)))
        for handle, rows in zip(self.meshes, self.slices, strict=True):
            evaluated = handle.get().evaluated_get(depsgraph)
            matrix = back @ matrix_of(evaluated)
            out[rows] = positions(evaluated.data).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def _write(rig: Standing, stage: _Stage, action, take: takes.Take, found: np.ndarray) -> int:
    """Keys the copy; how many keys there are."""
    copy, body = stage.armature.get(), rigid.body_motion(rig.skin.rest, take.frames)
    transforms = np.concatenate([body[:, None], found], axis=1)
    keyed = rewrite.write_keys(copy, action, transforms, take.times, [ROOT, *rig.names], rig.options)
    actions.rest_pose(copy, action, rig.bones)
    for slot in getattr(action, "slots", ()):
        slot.name_display = rig.armature.name
    return keyed.keys


def _measure(stage: _Stage, take: takes.Take) -> Generator[float, None, np.ndarray]:
    """[f][v] distances, as Blender evaluates the action"""
    distances = np.empty(take.frames.shape[:2], np.float32)
    replayed = np.empty(take.frames.shape[1:])
    for row, time in enumerate(take.times.tolist()):
        stage.replay(time, replayed)
        distances[row] = np.linalg.norm(replayed - take.frames[row], axis=1)
        yield (row + 1) / len(take.times)
    return distances


# ---- the artist's rig


def _earlier(armature) -> list:
    """The actions of this file that the rig has had, the one it has now first."""
    data = armature.animation_data
    found = [data.action if data else None, *(clip.action for clip in armature.ossify.clips)]
    return list(dict.fromkeys(action for action in found if action is not None and not action.library))


def _keep(armature, nla: bool) -> None:
    """The action that the rig has now stays: in the NLA, out of hearing, or as a data-block of the file."""
    data, record = armature.animation_data, armature.ossify
    now = data.action if data else None
    if now is None:
        return
    if not any(clip.action == now for clip in record.clips):
        source = record.sources[0].object if record.sources else None
        remember_clip(record, now, source, (record.first_frame, record.last_frame), record.rms)
    if nla:
        actions.push(armature, now, now.name, now.frame_range[0], muted=True)
    now.use_fake_user = True


def _hand_over(rig: Standing, action, take: takes.Take, options: TrackOptions, rms_percent: float) -> None:
    armature, bones = rig.armature.get(), rig.bones
    _keep(armature, options.nla)
    actions.complete(armature, [action, *_earlier(armature)], bones)
    actions.assign(armature, action)
    actions.rest_pose(armature, action, bones)
    action.use_fake_user = True
    source = take.sources[0].find()
    remember_clip(armature.ossify, action, source, take.times, rms_percent, tracked=True)
    armature.update_tag(refresh={"TIME"})


# ---- all of it


def _result(rig: Standing, action, take, distances: np.ndarray, keys: int, clock: Clock) -> Tracked:
    frame = int(distances.max(axis=1).argmax())
    return Tracked(
        rig.armature.get(),
        action,
        len(take.times),
        math.sqrt(float((distances.astype(np.float64) ** 2).mean())),
        float(distances.max()),
        int(take.times[frame]),
        100 / diagonal(rig.skin.rest),
        keys,
        take.notes,
        clock.seconds,
    )


def track(scene, view_layer, armature, objects, options: TrackOptions) -> Generator[Step, None, Tracked]:
    """The objects are meshes that move; `armature` is the rig that shall move like them."""
    clock, maker = Clock(), Maker()
    native.library()
    sentence = trouble(armature)
    if sentence:
        raise Refusal(sentence)
    view_layer.update()
    takes.check(scene, view_layer, armature, objects, options)
    place, rig = Place.of(scene, view_layer), stand(armature)
    take = yield from each("Reading", takes.read(place, rig.armature, rig.skin, objects, options))
    clock.lap("capture")
    found = yield from solve(rig, take.frames)
    clock.lap("solve")
    yield step("Building", 0.0)
    stage = _Stage(rig)
    try:
        action = Handle.of("actions", maker.new("actions", take.name))
        keys = _write(rig, stage, action.get(), take, found)
        clock.lap("build")
        distances = yield from each("Measuring", _measure(stage, take))
        clock.lap("measure")
    except BaseException:
        discard(maker.made)
        raise
    finally:
        stage.remove()
    result = _result(rig, action.get(), take, distances, keys, clock)
    _hand_over(rig, action.get(), take, options, result.rms * result.percent)
    place.get()[1].update()
    return result
