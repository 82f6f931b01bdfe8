"""Compress Weights: a rig whose vertices follow many bones becomes one in which they follow few virtual ones.

    for step in compress(scene, view_layer, armature, CompressOptions()): ...      # its value is Compressed

Any armature will do, whoever made it. All meshes that it moves are read, since its bones stop deforming all
of them at once; what the two layers cannot do as Blender's modifier does is refused. Nothing is written
before the last step.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Generator

import bpy
import numpy as np

from .. import native
from ..base.handles import Handle, was_changed
from ..base.refusal import Refusal
from ..base.steps import Step, step, watch
from ..base.surface import diagonal
from ..base.words import counted
from ..motion import sources
from ..options.options import CompressOptions
from ..rig import standing, virtual_bones, virtual_write, volumes
from . import examples, solving

_TIMED = 6  # frames that are played to see what one costs
_MODES = {"EDIT", "SCULPT", "VERTEX_PAINT", "TEXTURE_PAINT"}


@dataclasses.dataclass(frozen=True)
class Bound:
    """A rig as it was read."""

    handle: Handle
    shape: tuple  # that it must still have when it is written
    names: list[str]  # of the bones that move vertices
    skin: standing.Skin
    dense: np.ndarray  # [r][b] of sum 1, of the moved vertices
    size: float

    @property
    def rest(self) -> np.ndarray:
        return self.skin.rest[self.skin.moved]

    def check_sources(self) -> None:
        """Refuses when bones, vertices or groups are others than those that were read."""
        armature = self.handle.get()
        if _shape(armature, self.skin.meshes) != self.shape:
            raise was_changed(armature)

    def wake(self):
        """The armature; refuses when anything else of it was changed, too."""
        self.check_sources()
        armature = self.handle.get()
        now = standing.read_skin(armature, self.names, self.skin.meshes)
        same = np.array_equal(now.painted, self.skin.painted) and np.array_equal(now.rest, self.skin.rest)
        if not same or trouble(armature):
            raise was_changed(armature)
        return armature


@dataclasses.dataclass(frozen=True)
class Compressed:
    """What was made, what it costs and how near it is; distances in percent of the size."""

    armature: object
    virtual: int
    masters: int
    most_before: int  # influences of a vertex
    most_after: int
    mean_before: float
    mean_after: float
    motion: tuple[float, float] | None  # root mean square and largest; None: it does not move
    turned: tuple[float, float]  # the same when each bone is turned by itself
    milliseconds: tuple[float, float]  # of the processor, a frame, before and after
    straightened: int  # bendy bones

    def to_json(self) -> dict:
        return {k: v for k, v in dataclasses.asdict(self).items() if k != "armature"}

    def sentence(self) -> str:
        moved = (
            ""
            if self.motion is None
            else "{:.3g} % of the size in its motion, largest {:.3g} %; ".format(*self.motion)
        )
        return (
            f"{counted(self.virtual, 'virtual bone')} on {counted(self.masters, 'master')}: influences"
            f" {self.most_before} before, {self.most_after} after (mean {self.mean_before:.1f}, "
            f"{self.mean_after:.1f}); error {moved}{self.turned[0]:.3g} % when bones turn by themselves,"
            f" largest {self.turned[1]:.3g} %; a frame takes {self.milliseconds[0]:.3g} ms before,"
            f" {self.milliseconds[1]:.3g} ms after"
            + (f"; {counted(self.straightened, 'bendy bone')} straightened" if self.straightened else "")
        )


# ---- what it can be done to


def meshes_of(armature) -> list:
    """All that the armature moves, each mesh once."""
    found = {}
    for obj in bpy.data.objects:
        if obj.type == "MESH" and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers):
            found.setdefault(obj.data.session_uid, obj)
    return list(found.values())


def _modifier_trouble(obj, armature) -> str | None:
    if volumes.modifier_of(obj) is not None:
        return f"{obj.name} has Keep Volume, which is fitted to its weights: remove that first."
    for modifier in obj.modifiers:
        if modifier.type == "MIRROR" and modifier.use_mirror_vertex_groups:
            return f"{obj.name} has a Mirror modifier, which swaps groups by their names: apply it first."
        if modifier.type != "ARMATURE" or modifier.object != armature:
            continue
        if modifier.use_bone_envelopes or not modifier.use_vertex_groups:
            return (
                f"{obj.name} follows Bone Envelopes, which are no weights: turn them off in {modifier.name}."
            )
        if modifier.use_deform_preserve_volume:
            return (
                f"{obj.name} has Preserve Volume on, and virtual bones blend linearly: turn it off in"
                f" {modifier.name}."
            )
        return None
    return None


def _bone_trouble(armature, straighten: bool) -> str | None:
    for bone in armature.data.bones:
        if bone.use_deform and bone.bbone_segments > 1 and not straighten:
            return (
                f"{bone.name} bends in {bone.bbone_segments} segments, and a virtual bone blends straight"
                " ones: Straighten gives such bones a single one."
            )
        if bone.use_deform and bone.use_envelope_multiply:
            return f"{bone.name} multiplies its weights by its envelope: turn Envelope Multiply off."
    return None


def _straighten(armature, names: list[str]) -> int:
    """How many of the bones were bendy."""
    bendy = [name for name in names if armature.data.bones[name].bbone_segments > 1]
    for name in bendy:
        armature.data.bones[name].bbone_segments = 1
    return len(bendy)


def common_trouble(armature) -> str | None:
    """Why its bones and groups cannot be written, in one sentence; None when they can."""
    meshes = meshes_of(armature)
    for block in (armature, armature.data, *meshes, *(obj.data for obj in meshes)):
        sentence = sources.library_trouble(block, block.name)
        if sentence:
            return sentence
    for obj in (armature, *meshes):
        if obj.mode in _MODES:
            return f"{obj.name} is in {obj.mode.replace('_', ' ').title()} Mode: leave it first."
    return None if meshes else f"{armature.name} moves no mesh: there are no weights to compress."


def trouble(armature, straighten: bool = True) -> str | None:
    """Why it cannot be compressed, in one sentence; None when it can. straighten: bendy bones may be"""
    if virtual_bones.has_any(armature):
        return f"{armature.name} has virtual bones: remove them first."
    found = (_modifier_trouble(obj, armature) for obj in meshes_of(armature))
    return common_trouble(armature) or _bone_trouble(armature, straighten) or next(filter(None, found), None)


# ---- steps


def _shape(armature, meshes) -> tuple:
    bones = [(bone.name, bone.use_deform) for bone in armature.data.bones]
    return bones, [(len(obj.data.vertices), obj.vertex_groups.keys()) for obj in meshes]


def read(armature, straighten: bool = False) -> Bound:
    """Refuses what cannot be compressed."""
    native.library()
    sentence = trouble(armature, straighten)
    if sentence:
        raise Refusal(sentence)
    meshes, every = meshes_of(armature), standing.bone_names(armature)
    skin = standing.read_skin(armature, every, meshes)
    used = skin.weights.any(axis=0)
    names = [name for name, is_used in zip(every, used, strict=True) if is_used]
    if len(names) > native.MAX_BONES:
        raise Refusal(
            f"{len(names)} bones of {armature.name} deform: virtual bones blend {native.MAX_BONES} at most."
        )
    skin = skin.of_bones(np.flatnonzero(used))
    dense, shape = skin.weights[skin.moved], _shape(armature, meshes)
    size = diagonal(skin.rest[skin.moved])
    return Bound(Handle.of("objects", armature), shape, names, skin, dense, size)


def _solved(
    bound: Bound, frames, transforms, options: CompressOptions
) -> Generator[Step, None, native.Layers]:
    wish = native.Compression(
        virtual_bones=options.count,
        masters=solving.masters_for(len(bound.names), options.masters),
        influences=options.influences,
        source="poses" if options.examples == "POSES" else "weights",
    )
    job = solving.begin(bound.rest, bound.dense, transforms, frames, bound.skin.moved_triangles, wish)
    return (yield from watch(job, bound, 0.0, 1.0))[1]


def _errors(bound: Bound, layers: native.Layers, frames, transforms) -> tuple[float, float]:
    rig = solving.flat(layers, transforms[:, :, :3], bound.rest)
    found = native.evaluate(rig.rest, frames, rig, replay=False)
    return 100 * found.rms / bound.size, 100 * found.maximum / bound.size


def _cost(armature, meshes, scene) -> float:
    """Milliseconds of the processor that Blender takes for a frame."""
    first = scene.frame_start
    with standing.alone(armature, meshes) as (own, _layer):
        own.frame_set(first)
        began = time.process_time()
        for frame in range(first + 1, first + 1 + _TIMED):
            own.frame_set(frame)
        return 1000 * (time.process_time() - began) / _TIMED


def _counts(used: np.ndarray) -> tuple[int, float]:
    """The most and the mean, of influences [v][k] that are there"""
    counts = used.sum(axis=1)
    return int(counts.max()), float(counts.mean())


def compress(scene, view_layer, armature, options: CompressOptions) -> Generator[Step, None, Compressed]:
    """The generator's value is what was made."""
    view_layer.update()
    bound = read(armature, options.straighten)
    yield step("Reading", 0.3)
    motion, turns = (
        examples.motion(armature, scene, bound.names, bound.size),
        examples.turns(armature, bound.names),
    )
    transforms = np.concatenate([motion, turns])
    frames = examples.replay(bound.rest, bound.dense, transforms)
    before = _cost(armature, bound.skin.meshes, scene)
    yield step("Reading", 1.0)
    layers = yield from _solved(bound, frames, transforms, options)
    own = _errors(bound, layers, frames[: len(motion)], motion) if len(motion) else None
    turned = _errors(bound, layers, frames[len(motion) :], turns)
    yield step("Building", 0.0)
    armature = bound.wake()
    straightened = _straighten(armature, bound.names)
    names = virtual_write.add(armature, bound.skin, bound.names, layers, bound.size)
    view_layer.update()
    after = _cost(armature, bound.skin.meshes, scene)
    counted_before, counted_after = _counts(bound.dense > 0), _counts(layers.influence_bones >= 0)
    return Compressed(
        armature,
        len(names),
        len(bound.names),
        counted_before[0],
        counted_after[0],
        counted_before[1],
        counted_after[1],
        own,
        turned,
        (before, after),
        straightened,
    )


def remove(armature) -> int:
    """Gives the bones the weights that vertices have of them through virtual bones, and takes these out."""
    if not virtual_bones.has_any(armature):
        raise Refusal(f"{armature.name} has no virtual bones.")
    sentence = common_trouble(armature)
    if sentence:
        raise Refusal(sentence)
    return virtual_write.remove(armature, meshes_of(armature))
