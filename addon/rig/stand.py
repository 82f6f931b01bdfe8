"""A rig that stands in the scene as arrays, read at one moment: what edits, refits and tracking start from.

Nothing of it changes afterwards. Blender's own data is found anew by handles, since an undo may have made it
again; whether it is still the rig that was read, record/reading.py tells.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import native
from ..base import tolerances
from ..base.handles import Handle, Place
from ..base.surface import diagonal
from ..options.options import Options
from . import carriers, rewrite, roles, standing
from .standing import Skin, sparse


@dataclasses.dataclass(frozen=True)
class Holds:
    """True: held."""

    groups: np.ndarray  # [b] weights of a bone
    vertices: np.ndarray  # [v] weights of a vertex
    rest: np.ndarray  # [v]
    transforms: np.ndarray  # [f][b]

    @classmethod
    def nothing(cls, vertices: int, frames: int, bones: int) -> Holds:
        shapes = (bones, vertices, vertices, (frames, bones))
        return cls(*(np.zeros(shape, bool) for shape in shapes))

    def of_bones(self, order) -> Holds:
        return dataclasses.replace(self, groups=self.groups[order], transforms=self.transforms[:, order])


@dataclasses.dataclass(frozen=True)
class Standing:
    """f counts the frames that it was made from, b its `names`, v the vertices of its skin."""

    place: Place
    handle: Handle
    shape: tuple  # the bones and the groups, which are quickly looked at again
    mark: bytes  # of all that was read; another one after any change
    names: list[str]  # of deform bones
    skin: Skin
    holds: Holds
    transforms: np.ndarray | None  # [f][b][4][4] from rest, as Blender evaluates them; None: not asked for
    options: Options  # that it was made with
    heads: np.ndarray  # [b][3]
    above: np.ndarray  # [b] the bone that one hangs from; -1: from none that deforms
    turns: np.ndarray  # [b] the same of bones that only turn; -1 also where the bone is free to move
    frames: np.ndarray | None = None  # [f][r][3] the motion of the moved vertices; None: not asked for

    @property
    def armature(self):
        return self.handle.get()

    def check_sources(self) -> None:
        """Refuses when the rig, or a bone of it, was removed since."""
        standing.with_bones(self.armature, self.names)

    def in_order(self, order: list[int]) -> Standing:
        """The same bones in another order."""
        number = np.full(len(order) + 1, -1, np.int32)  # -1 stays -1
        number[order] = np.arange(len(order))
        return dataclasses.replace(
            self,
            names=[self.names[b] for b in order],
            skin=self.skin.of_bones(order),
            holds=self.holds.of_bones(order),
            transforms=self.transforms[:, order],
            heads=self.heads[order],
            above=number[self.above[order]],
            turns=number[self.turns[order]],
        )

    # ---- the vertices that it moves

    @property
    def rows(self) -> np.ndarray:
        """[r] in the skin"""
        return np.flatnonzero(self.skin.moved)

    @property
    def rest(self) -> np.ndarray:
        """[r][3]"""
        return self.skin.rest[self.skin.moved]

    @property
    def triangles(self) -> np.ndarray:
        """[t][3] of these vertices alone"""
        return self.skin.moved_triangles

    @property
    def size(self) -> float:
        """As in the rig's report; where a refit was free to, it has changed the rest shape, and its box."""
        return self.armature.ossify.size or diagonal(self.rest)

    def weights(self) -> np.ndarray:
        """[r][b] float64 of sum 1: locked groups as painted, the others with what those leave"""
        locked, moved = self.holds.groups, self.skin.moved
        dense = self.skin.weights[moved]
        fixed = np.where(locked, self.skin.painted[moved], 0.0)
        loose = np.where(locked, 0.0, dense)
        left, total = 1 - fixed.sum(axis=1, keepdims=True), loose.sum(axis=1, keepdims=True)
        fits = (left >= 0) & (total > 0) & (fixed.any(axis=1, keepdims=True))
        return np.where(fits, fixed + loose * (left / np.where(total > 0, total, 1)), dense)

    def full(self) -> np.ndarray:
        """[r] whether held groups have more than all of the weight: then no other can be solved"""
        painted = self.skin.painted[self.skin.moved][:, self.holds.groups]
        return painted.sum(axis=1, dtype=np.float64) > 1 + tolerances.WEIGHT

    # ---- for the library

    def rig(self, weights: np.ndarray | None = None) -> native.Rig:
        """All its influences, however many they are up to the library's limit."""
        dense = self.weights() if weights is None else weights
        moved = None if self.transforms is None else np.ascontiguousarray(self.transforms[:, :, :3])
        return native.Rig(moved, *sparse(dense), np.ascontiguousarray(self.rest, np.float32))

    def settings(self, bones: int, influences: int, **more) -> native.Settings:
        """Those it was made with, to solve a given rig of so many bones at rest as it is."""
        return dataclasses.replace(
            self.options.solver(),
            bones=min(bones, native.MAX_BONES),
            influences=min(influences, native.MAX_INFLUENCES),
            budget_kind="none",
            budget=0.0,
            **{"rest_mode": "fixed", **more},
        )

    # ---- its bones

    @property
    def root(self) -> str:
        """The bone that carries the body."""
        return roles.root_of(self.armature)

    def keyed_bones(self) -> list[str]:
        """All that may be keyed: the root, and what carries a bone that is flexible."""
        return [self.root, *self.names, *carriers.of(self.armature, self.names)]

    def held_in_motion(self) -> np.ndarray:
        """[f][b] transforms that a solver shall not change: what is held, what something else moves, and the
        bones above those"""
        return rewrite.held_with_ancestors(self.armature, self.names, self.holds.transforms)


def hanging(parents: np.ndarray, joints: np.ndarray, like: native.Skeleton | None = None) -> native.Skeleton:
    """Bones as they hang from each other: -1 is free to move, and counts as a root.

    like: what the library makes of them, with kinds and axes for joints that are also its own.
    """
    bones = len(parents)
    found = ["ball"] * bones if like is None else like.kinds
    same = np.ones(bones, bool) if like is None else like.parents == parents
    kinds = [
        "root" if above < 0 else kind if known else "ball"
        for above, kind, known in zip(parents, found, same, strict=True)
    ]
    root = int(np.flatnonzero(parents < 0)[0])
    parents = np.asarray(parents, np.int32)
    if like is not None:
        return like._replace(root=root, parents=parents, joints=joints, kinds=kinds)
    nothing, alone = np.zeros(bones), np.full(bones, -1, np.int32)
    return native.Skeleton(
        root, parents, joints, kinds, np.zeros((bones, 3)), nothing, nothing, alone, None, ""
    )
