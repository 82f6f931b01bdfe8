"""New motion on a rig that stands: weights, rest shape and joints are held, and transforms solved.

    for step in track(scene, view_layer, armature, objects, TrackOptions()): ...   # its value is Tracked

The new action is keyed and measured on a copy of the rig in a scene of its own, all in the last step; the
artist's rig is given it then, and keeps the actions it had. Until then nothing is made in the file.

Bones that only turn keep doing so: those of an articulated rig, those that are connected to their parent and
those whose location is locked. The library holds their joints, the bones' heads, and lets the others move.

Bones that constraints or drivers move are not keyed. Where they go is known once the others are keyed, on the
copy; then the others are solved again around them, as evaluated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from .. import native
from ..base import tolerances
from ..base.handles import Place, was_changed
from ..base.meshes import matrix_of, positions
from ..base.refusal import Refusal
from ..base.steps import Clock, Step, each, step, watch
from ..base.surface import diagonal
from ..base.words import counted
from ..edit import edits
from ..motion import sources
from ..nodes import volume
from ..options.options import TrackOptions
from ..record import memory, renamed
from ..record.rig_record import remember_clip
from ..rig import actions, correctives, played, rewrite, root_motion, standing
from ..rig.build import Maker, discard
from ..rig.channels import homogeneous
from ..rig.keying import tolerance_of
from ..rig.stand import Standing, hanging
from ..rig.trial import Trial
from . import takes
from .track_rig import Held, stand

_PLAIN = "Keep Volume stays as it is, on top of the new motion; the error is that of the armature alone."
_FREE_PART = 0.5  # of the solving, before joints are made to hold
_ROUNDS = 2  # of solving around bones that something else moves, after the one in which all are free


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
            f"{self.armature.name}: {self.action.name}, {counted(self.frames, 'frame')}, error"
            f" {self.rms * self.percent:.3g} % of the size, largest {self.maximum * self.percent:.3g} % in"
            f" frame {self.worst_frame}"
        )


def trouble(armature) -> str | None:
    """Why nothing can be tracked onto it, in one sentence; None when it can."""
    if armature is None:
        return "There is no rig: select a rig made by Ossify, and a mesh that moves."
    linked = sources.library_trouble(armature, armature.name)
    if linked:
        return linked
    if armature.mode == "EDIT":
        return f"{armature.name} is in Edit Mode: go back to Object Mode."
    return memory.trouble(armature) or played.tweaked(armature)


# ---- transforms


def solve(
    held: Held, frames: np.ndarray, sweeps: int = 0, known: np.ndarray | None = None
) -> Generator[Step, None, np.ndarray]:
    """frames [f][v][3] -> [f][b][4][4] the transforms that bring the rig nearest to them. known: likewise,
    from a solve before; those of bound bones are as they are evaluated, and stay. sweeps: the most over the
    bones; 0: as many as the library thinks fit."""
    stands, given = held.stands, held.rig
    frames = np.ascontiguousarray(frames[:, stands.skin.moved])
    poses = given.rest, frames, stands.triangles
    settings = stands.settings(len(stands.names), given.influence_bones.shape[1], iterations=sweeps)
    share = _FREE_PART if held.only_turn else 1.0
    yield step("Solving", 0.0)
    if known is not None:
        fixed = np.repeat(held.bound[None], len(frames), axis=0).astype(np.uint8)
        moved = np.ascontiguousarray(known[:, :, :3])
        given = dataclasses.replace(given, transforms=moved, held_transforms=fixed)
    job = native.Job.start(native.decompose, *poses, settings, given)
    found, _ = yield from watch(job, stands, 0.0, share)
    if held.only_turn:
        given = dataclasses.replace(held.rig, transforms=found.transforms)
        tied = standing.ties(stands.armature, stands.names, stands.turns)
        skeleton, joints = hanging(tied.parents, stands.heads), np.ones(len(stands.names), np.uint8)
        asked = given, skeleton, settings, False, joints, tied.stiffness
        job = native.Job.start(native.articulate, *poses, *asked)
        found, _, _ = yield from watch(job, stands, share, 1.0)
    return homogeneous(found.transforms)


# ---- keys, on a copy of the rig


class _Stage(Trial):
    """The copy, without the actions it had."""

    def __init__(self, rig: Standing):
        super().__init__(rig.armature, rig.skin.meshes, rig.names)
        data = self.armature.get().animation_data_create()  # drivers stay
        data.action, data.use_nla = None, False
        self.slices = rig.skin.slices

    def _adopt(self) -> None:
        """The action that is written on the copy is the artist's to be."""

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


def _check(armature) -> None:
    """Refuses what nothing can be tracked onto: also a rig with keys for other places than its bones have. It
    would be keyed for both, and a refit could not tell which is which."""
    sentence = trouble(armature)
    if sentence:
        raise Refusal(sentence)
    renamed.check(armature)
    edits.check_keys(armature)


def _wake(rig: Standing) -> None:
    """After a step: refuses when the artist has changed the rig, or entered a mode."""
    rig.check_sources()
    _check(rig.armature)
    for handle, rows in zip(rig.skin.handles, rig.skin.slices, strict=True):
        if len(handle.get().data.vertices) != rows.stop - rows.start:
            raise was_changed(handle)


def root_of(rig: Standing, frames: np.ndarray, found: np.ndarray) -> np.ndarray:
    """[f][4][4] what Root does when the others do what was found, [f][b][4][4]"""
    joined = rig.options.skeleton != "NONE"
    return root_motion.find(rig.skin.rest, frames, found, rig.above, rig.heads, joined)


def _write_correctives(rig: Standing, copy, action, take: takes.Take, found: np.ndarray) -> None:
    """Keyed ones get the values that suit the new motion best; driven ones follow by themselves."""
    names = correctives.names_of(copy)
    if not names or correctives.are_driven(copy):
        return
    fields = correctives.read_fields(rig.armature, rig.skin.meshes)
    moved, rows = dataclasses.replace(rig, transforms=found).rig(), rig.rows
    given = dataclasses.replace(moved, fields=np.ascontiguousarray(fields[:, rows]))
    frames, wish = np.ascontiguousarray(take.frames[:, rows]), native.Correction(count=len(names))
    settings = rig.settings(len(rig.names), moved.influence_bones.shape[1])
    solved, _, _ = native.correct(moved.rest, frames, rig.triangles, given, wish, settings)
    tolerance = tolerance_of(rig.options, diagonal(rig.skin.rest), False)
    exact = correctives.tolerances_of(fields, tolerance)
    correctives.key_clip(copy, action, take.times, solved.coefficients, exact)


def _write(rig: Standing, stage: _Stage, action, take: takes.Take, found: np.ndarray) -> int:
    """Keys the copy; how many keys there are."""
    copy, root = stage.armature.get(), root_of(rig, take.frames, found)
    transforms = np.concatenate([root[:, None], found], axis=1)
    keyed = rewrite.write_keys(copy, action, transforms, take.times, [rig.root, *rig.names], rig.options)
    _write_correctives(rig, copy, action, take, found)
    actions.rest_pose(copy, action, rig.keyed_bones())
    for slot in getattr(action, "slots", ()):
        slot.name_display = rig.handle.name
    return keyed.keys


def _evaluated(held: Held, take: takes.Take, found: np.ndarray) -> np.ndarray:
    """[f][b][4][4] with bound bones as a copy shows them once the others are keyed"""
    rig = held.stands
    _wake(rig)
    maker, result, times = Maker(), found.copy(), take.times.tolist()
    names = [name for name, bound in zip(rig.names, held.bound, strict=True) if bound]
    try:
        with _Stage(rig) as stage:
            _write(rig, stage, maker.new("actions", take.name), take, found)
            scene, copy = stage.scene.get(), stage.armature.get()
            result[:, held.bound] = standing.read_transforms(copy, scene, scene.view_layers[0], names, times)
    finally:
        discard(maker.made)
    return result


def _around_bound(held: Held, take: takes.Take, found: np.ndarray) -> Generator[Step, None, np.ndarray]:
    """[f][b][4][4] with the others solved around bones that something else moves"""
    size, heads = diagonal(held.stands.skin.rest), held.stands.heads
    heads = np.concatenate([heads, np.ones((len(heads), 1))], axis=1)
    for _ in range(_ROUNDS):
        yield step("Solving", 1.0)
        known = _evaluated(held, take, found)
        gone = np.abs(np.einsum("fbij,bj->fbi", known - found, heads)).max()
        if gone <= tolerances.REST * size and np.abs(known - found)[..., :3, :3].max() <= tolerances.REST:
            break
        found = yield from solve(held, take.frames, known=known)
        found[:, held.bound] = known[:, held.bound]
    return found


def _measure(stage: _Stage, take: takes.Take) -> np.ndarray:
    """[f][v] distances, as Blender evaluates the action"""
    distances = np.empty(take.frames.shape[:2], np.float32)
    replayed = np.empty(take.frames.shape[1:])
    for row, time in enumerate(take.times.tolist()):
        stage.replay(time, replayed)
        distances[row] = np.linalg.norm(replayed - take.frames[row], axis=1)
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
    armature, bones = rig.armature, rig.keyed_bones()
    _keep(armature, options.nla)
    actions.complete(armature, [action, *_earlier(armature)], bones)
    actions.assign(armature, action)
    actions.rest_pose(armature, action, bones)
    action.use_fake_user = True
    source = take.sources[0].find()
    remember_clip(armature.ossify, action, source, take.times, rms_percent, tracked=True)
    armature.update_tag(refresh={"TIME"})


# ---- all of it


def _result(held: Held, action, take, distances: np.ndarray, keys: int, clock: Clock) -> Tracked:
    frame, rig = int(distances.max(axis=1).argmax()), held.stands
    return Tracked(
        rig.armature,
        action,
        len(take.times),
        math.sqrt(float((distances.astype(np.float64) ** 2).mean())),
        float(distances.max()),
        int(take.times[frame]),
        100 / diagonal(rig.skin.rest),
        keys,
        [*take.notes, *held.notes(), *([_PLAIN] if volume.is_on(rig.armature) else [])],
        clock.seconds,
    )


def _build(held: Held, take: takes.Take, found: np.ndarray, options: TrackOptions, clock: Clock) -> Tracked:
    """The action, keyed and measured on a copy, and given to the artist's rig: all in one step."""
    maker, rig = Maker(), held.stands
    _wake(rig)
    try:
        action = maker.new("actions", take.name)
        with _Stage(rig) as stage:
            keys = _write(rig, stage, action, take, found)
            clock.lap("build")
            distances = _measure(stage, take)
        clock.lap("measure")
        result = _result(held, action, take, distances, keys, clock)
        _hand_over(rig, action, take, options, result.rms * result.percent)
        rig.place.get()[1].update()
    except BaseException:
        discard(maker.made)
        raise
    return result


def track(scene, view_layer, armature, objects, options: TrackOptions) -> Generator[Step, None, Tracked]:
    """The objects are meshes that move; `armature` is the rig that shall move like them."""
    clock = Clock()
    native.library()
    _check(armature)
    view_layer.update()
    takes.check(scene, view_layer, armature, objects, options)
    held = stand(Place.of(scene, view_layer), armature)
    take = yield from each("Reading", takes.read(held.stands, objects, options))
    clock.lap("capture")
    found = yield from solve(held, take.frames)
    if held.bound.any():
        found = yield from _around_bound(held, take, found)
    clock.lap("solve")
    yield step("Building", 0.0)
    return _build(held, take, found, options, clock)
