"""Bones that the artist added where the rig fits already: a solver has no use for them, an artist has.

Such a bone doubles the one that moves the surface around it: it is given that bone's motion, and of its
weights w the share

    s = smooth(1 - (d - d0) / r),    smooth(t) = t t (3 - 2 t) for t in 0..1,

d the distance of a vertex to the bone, d0 that of the surface, and r half of the bone's length. As both move
alike, nothing that is seen changes; but the bone is there to be posed, painted and keyed.
"""

from __future__ import annotations

import numpy as np

from .. import native
from ..base.surface import diagonal
from ..base.words import counted
from ..options.options import holds
from ..rig import played, rewrite, standing
from .facts import Facts

_HELPS = 0.005  # percent of the size: a bone whose loss costs less helps nothing
_LEADS = 0.5  # of a vertex's weight: with as much, a bone leads there
_OWN = 0.5  # of the vertices around it: where a bone leads on as many, it has the place where it was put
_LEAST_REACH = 0.01  # of the size: what half of a bone counts for at least
_LEAST_SHARE = 0.01  # a share below it is none


def idle(armature, facts: Facts, solved: native.Rig, costs: np.ndarray) -> list[str]:
    """Of the bones that claimed vertices those that help nothing; costs [b] as native.bone_costs has them."""
    if armature.ossify.settings.bone_kind == "FLEXIBLE":
        return []  # they could not follow a bone that stretches
    dense, actions, found = solved.dense_weights(), played.made(armature) or [None], []
    for name in facts.claims:
        b = facts.names.index(name)
        free = all(rewrite.is_plain(armature, action, name) for action in actions)
        placed = _has_place(armature.data.bones[name], solved.rest, dense[:, b])
        if free and costs[b] <= _HELPS and not placed:
            found.append(name)
    return found


def _has_place(bone, points: np.ndarray, weights: np.ndarray) -> bool:
    """Two bones that move alike share their vertices at will: to lead on some of them says nothing."""
    around = _around(bone, points.astype(np.float64)) >= 0.5
    return float((weights[around] >= _LEADS).mean()) > _OWN


def _around(bone, points: np.ndarray) -> np.ndarray:
    """[v] the share of each vertex that the bone gets"""
    head, tail = np.array(bone.head_local, np.float64), np.array(bone.tail_local, np.float64)
    way = tail - head
    along = np.clip((points - head) @ way / (way @ way), 0, 1)
    distances = np.linalg.norm(points - head - along[:, None] * way, axis=1)
    reach = max(bone.length / 2, _LEAST_REACH * diagonal(points))
    near = np.clip(1 - (distances - distances.min()) / reach, 0, 1)
    share = near * near * (3 - 2 * near)
    return np.where(share > _LEAST_SHARE, share, 0)


def _deforming_parent(bone, names: list[str]) -> int:
    """The number of the nearest bone above that deforms; -1: there is none"""
    above = bone.parent
    while above is not None and above.name not in names:
        above = above.parent
    return -1 if above is None else names.index(above.name)


def _donor(armature, bone, names: list[str], dense: np.ndarray, share: np.ndarray, locked) -> int | None:
    """The bone that moves the most there and may give; a bone that can only turn takes from its parent."""
    given = share @ dense
    given[locked] = 0
    if armature.ossify.settings.bone_kind == "FLEXIBLE":
        return None  # without a bone of its own to stretch it cannot follow one that does
    if bone.use_connect or holds(armature.ossify.settings):
        parent = _deforming_parent(bone, names)
        given[np.arange(len(given)) != parent] = 0
    return int(given.argmax()) if given.max() > 0 else None


def _handed_over(dense: np.ndarray, donor: int, share: np.ndarray, most: int) -> np.ndarray:
    """[v] what the new bone gets; whole or nothing where there is no room for one influence more"""
    full = (dense > 0).sum(axis=1) >= most
    return dense[:, donor] * np.where(full, share >= 0.5, share)


def _words(name: str, donor: str | None, count: int) -> str:
    if donor is None:
        return (
            f"{name} moves nothing: the rig fits without it, and no bone around it has weights to give, or"
            " they are held, or it hangs where it cannot follow that bone."
        )
    return (
        f"{name} does not lower the error, as the rig fits without it: it shares"
        f" {counted(count, 'vertex')} around it with {donor}, and moves as that does."
    )


def double(armature, facts: Facts, rig: native.Rig, most: int) -> tuple[native.Rig, list[str]]:
    """The rig with the bones that were set aside, each as a double of the one around it; and notes."""
    dense, transforms = rig.dense_weights().astype(np.float64), [rig.transforms]
    points, count, held, notes = rig.rest.astype(np.float64), rig.bones, facts.held, []
    for name in facts.aside:
        b, bone = facts.names.index(name), armature.data.bones[name]
        share = np.where(held.vertices, 0, _around(bone, points))
        donor = _donor(armature, bone, facts.names, dense[:, :count], share, held.groups[:count])
        taken = np.zeros(len(dense)) if donor is None else _handed_over(dense, donor, share, most)
        if donor is None:
            transforms.append(facts.stands.transforms[:, b : b + 1, :3])
        else:
            dense[:, donor] -= taken
            transforms.append(rig.transforms[:, donor : donor + 1])
        dense = np.concatenate([dense, taken[:, None]], axis=1)
        notes.append(_words(name, None if donor is None else facts.names[donor], int((taken > 0).sum())))
    moved = np.ascontiguousarray(np.concatenate(transforms, axis=1))
    return native.Rig(moved, *standing.sparse(dense), rig.rest), notes
