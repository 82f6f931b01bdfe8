"""Layers for a rig: what the library is asked, whoever wants virtual bones."""

from __future__ import annotations

import numpy as np

from .. import native
from ..rig import weights


def masters_for(bones: int, most: int | None = None) -> int:
    """That a virtual bone may blend, of so many bones; most: as the library has it if nobody says"""
    return min(native.Compression().masters if most is None else most, bones)


def begin(
    rest: np.ndarray,
    dense: np.ndarray,
    transforms: np.ndarray,
    frames: np.ndarray,
    triangles: np.ndarray,
    wish: native.Compression,
    threads: int = 0,
    bone_kind: str = "rigid",
    held: np.ndarray | None = None,
) -> native.Job:
    """dense [v][b] of sum 1, transforms [f][b][4][4], frames [f][v][3] that shall be met; held [f]: where
    masters stay when they are solved along"""
    bones = weights.strongest(dense)
    stay = None if held is None else np.repeat(held[:, None], dense.shape[1], axis=1).astype(np.uint8)
    rig = native.Rig(
        np.ascontiguousarray(transforms[:, :, :3]),
        bones.astype(np.int32),
        weights.at(dense, bones).astype(np.float32),
        np.ascontiguousarray(rest, np.float32),
        held_transforms=stay,
    )
    settings = native.Settings(threads=threads, bone_kind=bone_kind, rest_mode="fixed")
    return native.Job.start(native.compress, rig.rest, frames, triangles, rig, wish, settings)


def flat(layers: native.Layers, masters: np.ndarray, rest: np.ndarray) -> native.Rig:
    """The same rig with virtual bones alone; masters [f][b][3][4]"""
    bones, amounts = weights.exact(layers.influence_bones, layers.influence_weights)
    moved = np.ascontiguousarray(layers.transforms(masters))
    return native.Rig(moved, bones.astype(np.int32), amounts, np.ascontiguousarray(rest, np.float32))
