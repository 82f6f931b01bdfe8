"""Virtual bones of a rig, read: each blends some bones, its masters, by an Armature constraint, and moves
vertices for them; the masters deform nothing themselves (docs/two-layer.md).

    V_j = sum_b D[b,j] M_b          x_v = sum_j A[j,v] V_j p_v          w = D A

D are the weights of the constraints, A those of the vertex groups; w is what a vertex follows of its masters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.refusal import Refusal
from . import roles


class Blends(NamedTuple):
    names: list[str]  # of virtual bones
    masters: list[str]
    shares: np.ndarray  # [m][b] of each master, sum 1; all 0 where every master is gone


def names_of(armature) -> list[str]:
    return [bone.name for bone in armature.data.bones if roles.is_virtual(bone)]


def masters_of(armature) -> list[str]:
    return [bone.name for bone in armature.data.bones if bone.get(roles.MASTER)]


def has_any(armature) -> bool:
    return any(roles.is_virtual(bone) for bone in armature.data.bones)


def constraint_of(pose_bone):
    """What blends its masters; None when an artist took it away."""
    return next((item for item in pose_bone.constraints if item.type == "ARMATURE"), None)


def of(armature) -> Blends:
    names, masters = names_of(armature), masters_of(armature)
    shares, number = np.zeros((len(names), len(masters))), {name: b for b, name in enumerate(masters)}
    for row, name in zip(shares, names, strict=True):
        constraint = constraint_of(armature.pose.bones[name])
        for target in constraint.targets if constraint else ():
            if target.subtarget in number:
                row[number[target.subtarget]] += target.weight
    total = shares.sum(axis=1, keepdims=True)
    return Blends(names, masters, shares / np.where(total > 0, total, 1))


class Sizes(NamedTuple):
    """What compression a rig has."""

    virtual: int
    masters: int  # most that a virtual bone blends
    influences: int  # most virtual bones of a vertex


def sizes_of(armature, meshes: list) -> Sizes:
    blends, most = of(armature), 0
    for obj in meshes:
        mine = {group.index for group in obj.vertex_groups if group.name in blends.names}
        counts = (sum(g.group in mine and g.weight > 0 for g in v.groups) for v in obj.data.vertices)
        most = max(most, max(counts, default=0))
    masters = int((blends.shares > 0).sum(axis=1).max(initial=1))
    return Sizes(len(blends.names), masters, most)


def painted_masters(armature, meshes: list) -> list[str]:
    """With vertex groups of their own, which move nothing while virtual bones do"""
    return [name for name in masters_of(armature) if any(name in obj.vertex_groups for obj in meshes)]


def of_mesh(obj) -> Blends | None:
    """Of the armature that moves it; None without virtual bones."""
    found = (m.object for m in obj.modifiers if m.type == "ARMATURE" and m.object is not None)
    armature = next(found, None)
    return of(armature) if armature is not None and has_any(armature) else None


def trouble(armature) -> str | None:
    """Why weights and bones cannot be changed, in one sentence; None when they can."""
    if not has_any(armature):
        return None
    return (
        f"{armature.name} moves its mesh through virtual bones: Remove Virtual Bones gives its bones their"
        " weights, and Compress Weights makes virtual bones again afterwards."
    )


def refuse(armature) -> None:
    """Refuses a rig that has some."""
    sentence = trouble(armature)
    if sentence:
        raise Refusal(sentence)
