"""A skeleton as a tree in space: ways along its bones from one end to another.

A way goes from the tail of a bone that leads nowhere to its joint, and on from joint to joint; at the bone
where two ways meet, straight from one child's joint to the other's: what hangs from a body hangs apart.
"""

from __future__ import annotations

import numpy as np


class Tree:
    def __init__(self, parents: np.ndarray, joints: np.ndarray, tails: np.ndarray):
        self.parents, self.joints, self.tails = np.asarray(parents), joints, tails
        led = np.bincount(self.parents[self.parents >= 0], minlength=len(self.parents))
        self.leaves = np.flatnonzero((led == 0) & (self.parents >= 0)).tolist()

    def up(self, b: int) -> list[int]:
        """The bone, and those above it, up to the root."""
        way = [int(b)]
        while self.parents[way[-1]] >= 0:
            way.append(int(self.parents[way[-1]]))
        return way

    def along(self, leaf: int) -> dict[int, float]:
        """bone -> the distance from the tip of a leaf to its joint, for all above the leaf but the root"""
        found, at, gone = {}, self.tails[leaf], 0.0
        for b in self.up(leaf)[:-1]:
            gone += float(np.linalg.norm(self.joints[b] - at))
            found[b], at = gone, self.joints[b]
        return found

    def meet(self, one: int, other: int) -> int:
        """The bone in which the ways to two bones part."""
        above = self.up(other)
        return next(b for b in self.up(one) if b in above)

    def distance(self, one: int, other: int) -> float:
        """From tip to tip."""
        ends, lengths = [], 0.0
        where = self.meet(one, other)
        for leaf in (one, other):
            below = self.up(leaf)
            below = below[: below.index(where)]
            if not below:  # the leaf itself is above the other: they meet in its tail
                ends.append(self.tails[leaf])
                continue
            lengths += self.along(leaf)[below[-1]]
            ends.append(self.joints[below[-1]])
        return lengths + float(np.linalg.norm(ends[0] - ends[1]))

    def between(self, ends: list[int]) -> int:
        """The bone in the middle of three: that in which the ways between them come together."""
        a, b, c = ends
        meets = [self.meet(a, b), self.meet(b, c), self.meet(a, c)]
        return max(meets, key=lambda bone: len(self.up(bone)))

    def way(self, one: int, other: int) -> list[int]:
        """All bones from one to another, both among them."""
        where = self.meet(one, other)
        there, back = self.up(one), self.up(other)
        return there[: there.index(where) + 1] + back[: back.index(where)][::-1]
