"""A copy of a rig whose virtual bones have keys instead of constraints: what other programs can play.

with beside(armature, meshes) as copy: ...      the copy has the names meanwhile, and is gone afterwards
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Matrix

from ..base.meshes import matrices_of
from ..base.refusal import Refusal
from ..base.surface import diagonal
from ..rig import actions, channels, copies, keys, standing, virtual_bones, virtual_write
from ..rig.build import Maker, discard, present
from . import compress, examples, without_shear

_CHANNELS = (("location", 3), ("rotation_quaternion", 4), ("scale", 3))


class Copy(NamedTuple):
    armature: object
    meshes: list
    rms: float  # how far it is off the rig itself, percent of the size
    maximum: float

    def sentence(self) -> str:
        return (
            f"virtual bones are keyed, without shear: off by {self.rms:.2g} % of the size,"
            f" {self.maximum:.2g} % at most."
        )


# ---- what is copied


def _times(action, scene) -> np.ndarray:
    first, last = action.frame_range if action is not None else (scene.frame_start, scene.frame_end)
    return np.arange(math.floor(first), math.ceil(last) + 1)


def _read(armature, action, masters: list[str], times) -> np.ndarray:
    """[f][b][4][4] of the masters in an action, or as something else moves them"""
    plays = contextlib.nullcontext() if action is None else actions.alone(armature, action)
    with standing.alone(armature) as (scene, layer), plays:
        return standing.read_transforms(armature, scene, layer, masters, times.tolist())


# ---- virtual bones without constraints


def _lay(copy, names: list[str], heads: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """[m][4][4] the rest of the bones, as Blender rounds it"""
    with standing.editing(copy) as bones:
        for name, head, turn in zip(names, heads, axes, strict=True):
            matrix = np.eye(4)
            matrix[:3, :3], matrix[:3, 3] = turn, head
            bones[name].matrix = Matrix(matrix)
    known = copy.data.bones.keys()
    return matrices_of(copy.data.bones, "matrix_local")[[known.index(name) for name in names]]


def _free(copy, names: list[str]) -> None:
    for name in names:
        bone = copy.pose.bones[name]
        bone.constraints.remove(virtual_bones.constraint_of(bone))
        bone.rotation_mode = "QUATERNION"


def _key(copy, action, names: list[str], rests: np.ndarray, moved: np.ndarray, times) -> np.ndarray:
    """Writes the keys of moved [f][m][4][4]; [f][m][4][4] what they come to"""
    linear, turn = moved[..., :3, :3], rests[:, :3, :3]
    rotation, scale = without_shear.turned_and_scaled(linear, turn)
    heads = np.einsum("fmrc,mc->fmr", linear, rests[:, :3, 3]) + moved[..., :3, 3]
    back = turn.swapaxes(-1, -2)
    values = (
        np.einsum("mrc,fmc->fmr", back, heads - rests[:, :3, 3]),
        channels.continuous(channels.quaternions(back @ rotation)),
        scale,
    )
    with actions.given(copy, action):
        new = keys.curves(action, copy)
        for m, name in enumerate(names):
            for (channel, width), value in zip(_CHANNELS, values, strict=True):
                for index in range(width):
                    curve = new(keys.path_of(name) + channel, index, name)
                    keys.fill(curve, times, value[:, m, index])
    shown = np.tile(np.eye(4), (*scale.shape[:2], 1, 1))
    shown[..., :3, :3], shown[..., :3, 3] = rotation * scale[..., None, :], heads
    return shown @ np.linalg.inv(rests)


def _heads(armature, blends: virtual_bones.Blends, meshes: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[m][3] the middle of what each moves; rest [v][3] and weights [v][m] of moved vertices"""
    skin = standing.read_followed(armature, blends.names, meshes)
    dense, rest = skin.weights[skin.moved], skin.rest[skin.moved]
    bones = np.tile(np.arange(len(blends.names)), (len(rest), 1))
    return virtual_write.centres(rest, bones, dense, len(blends.names)), rest, dense


class _Error:
    """Of what is keyed against the rig itself, over all vertices and frames."""

    def __init__(self):
        self.squares, self.count, self.most = 0.0, 0, 0.0

    def add(self, rest, dense, wanted, shown) -> None:
        for frame in range(len(wanted)):
            pair = examples.replay(rest, dense, np.stack([wanted[frame], shown[frame]])).astype(np.float64)
            distances = ((pair[0] - pair[1]) ** 2).sum(axis=1)
            self.squares, self.count = self.squares + distances.sum(), self.count + len(distances)
            self.most = max(self.most, float(distances.max()))

    def percent(self, size: float) -> tuple[float, float]:
        return 100 * math.sqrt(self.squares / self.count) / size, 100 * math.sqrt(self.most) / size


def make(maker: Maker, armature, meshes: list, scene) -> Copy:
    """In no scene yet; `maker` remembers all of it."""
    blends, found = virtual_bones.of(armature), copies.actions_of(armature)
    heads, rest, dense = _heads(armature, blends, meshes)
    times = [_times(action, scene) for action in found or [None]]
    moved = [
        np.einsum("mb,fbrc->fmrc", blends.shares, _read(armature, action, blends.masters, some))
        for action, some in zip(found or [None], times, strict=True)
    ]
    copy = copies.copy_armature(maker, armature)
    made = copies.copy_actions(maker, armature, copy, found)
    axes = without_shear.axes_of(np.concatenate(moved)[..., :3, :3])
    rests = _lay(copy, blends.names, heads, axes)
    _free(copy, blends.names)
    error = _Error()
    for action, some, matrices in zip(made, times, moved, strict=True):
        error.add(rest, dense, matrices, _key(copy, action, blends.names, rests, matrices, some))
    return Copy(copy, copies.copy_meshes(maker, armature, copy, meshes), *error.percent(diagonal(rest)))


def place(armature, scene, layer) -> Copy:
    """A copy in a collection of its own, to be kept, beside the rig."""
    sentence = None if virtual_bones.has_any(armature) else f"{armature.name} has no virtual bones."
    sentence = sentence or compress.common_trouble(armature)
    if sentence:
        raise Refusal(sentence)
    maker = Maker()
    try:
        copy = make(maker, armature, compress.meshes_of(armature), scene)
        collection = maker.new("collections", f"{armature.name} Keyed")
        for obj in (copy.armature, *copy.meshes):
            collection.objects.link(obj)
        copy.armature.name = copy.armature.data.name = f"{armature.name} Keyed"
        scene.collection.children.link(collection)
        layer.update()
        present(layer, [copy.armature, *copy.meshes])
        return copy
    except BaseException:
        discard(maker.made)
        raise


# ---- in the place of the rig


@contextlib.contextmanager
def beside(armature, meshes: list) -> Iterator[Copy]:
    """A copy in the scene at hand, with the names of the rig, which has others meanwhile."""
    maker = Maker()
    with copies.in_place(maker) as put:
        copy = make(maker, armature, meshes, bpy.context.scene)
        put(copies.pairs(armature, meshes, copy.armature, copy.meshes))
        yield copy
