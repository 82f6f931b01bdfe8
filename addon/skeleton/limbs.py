"""A skeleton's bones as an animator would have drawn them.

Heads are at the joints, and a root's is where what it moves begins. A tail leads to the joint of the child
that continues the limb, or else to the far end of what the bone moves. Bones that continue each other make up
a chain. Rolls turn a bone's X axis to the axis of its hinge, where one is known, and are carried along the
chain from there without a twist; a hinge that is across the chain's X becomes the bone's Z. In the middle of
a symmetric body X goes from side to side. What has a mirror image is mirrored.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from ..base.surface import diagonal, vertex_areas
from ..native import Skeleton
from .mirror import Pieces, oriented, pieces, reflected
from .placement import LONGEST, SHORTEST, Bones, facing, rule, unit

_STRAIGHT = 0.5  # cosine: one of several children that turns off further than this does not continue the limb
_AT_JOINT = 0.15  # of the spread of what a bone moves: nearer than this, its middle tells no direction
_NEAR, _SMALL = 1.0, 0.5  # of the spread, the mass: a child as near and with as little is a part of it
_RIVAL_MASS, _RIVAL_ANGLE = (
    0.6,
    0.25,
)  # of the mass, radians: two children as much alike part the limb, as legs do
_END_SHARE = 0.96  # share of what an end bone moves that lies before its tail
_ROOT_REACH = 0.5  # of what a root moves beyond its tail: its bone is that long, wherever joints are
_CAP, _TURNS = 0.15, 3  # share of it that is its far end, which the bone is turned to in as many rounds
_LEVEL = 0.01  # of its extent: what lies as far as that belongs to the far end together
_ASKEW = 0.3  # sine of the angle from which on a hinge's axis says how the bone rolls


@dataclasses.dataclass
class Region:
    """What each bone moves."""

    points: np.ndarray  # [v][3]
    rule: np.ndarray  # [v][b] how much of the surface a bone rules
    middles: np.ndarray  # [b][3]
    spreads: np.ndarray  # [b] standard deviation
    mass: np.ndarray  # [b]

    @classmethod
    def of(cls, rest: np.ndarray, dense: np.ndarray, triangles: np.ndarray) -> Region:
        points, areas = rest.astype(np.float64), vertex_areas(rest, triangles)
        ruled = rule(dense, areas / areas.sum())
        mass = np.maximum(ruled.sum(axis=0), 1e-12)
        middles = ruled.T @ points / mass[:, None]
        squares = ruled.T @ (points**2).sum(axis=1) / mass - (middles**2).sum(axis=1)
        return cls(points, ruled, middles, np.sqrt(np.maximum(squares, 0)), mass)


def above(parents: np.ndarray, b: int) -> list[int]:
    """The bones that one hangs from, the next first."""
    found, up = [], int(parents[b])
    while up >= 0:
        found.append(up)
        up = int(parents[up])
    return found


def depths(parents: np.ndarray) -> np.ndarray:
    """[b] how many bones are above each"""
    return np.array([len(above(parents, b)) for b in range(len(parents))], int)


# ---- chains


def masses_below(parents: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """[b] of the bone and all that hangs on it"""
    result = mass.copy()
    for b in np.argsort(-depths(parents), kind="stable"):
        if parents[b] >= 0:
            result[parents[b]] += result[b]
    return result


def _best_child(b: int, skeleton: Skeleton, region: Region, below: np.ndarray, shortest: float) -> int:
    parents, joints, mirrors = skeleton.parents, skeleton.joints, skeleton.mirrors
    children = np.flatnonzero(parents == b)
    if parents[b] >= 0:  # a jaw does not continue a head, nor an ear
        near = np.linalg.norm(joints[children] - joints[b], axis=1) < _NEAR * region.spreads[b]
        children = children[~(near & (below[children] < _SMALL * region.mass[b]))]
    alone = len(children) == 1
    ways = joints[children] - joints[b]
    long = (np.linalg.norm(ways, axis=1) >= shortest) | (parents[b] < 0)  # a root has room before its origin
    children, ways = children[long], ways[long]
    if mirrors[b] == b and not alone:  # in the middle of the body, a limb goes on in the middle
        paired = (mirrors[children] >= 0) & (mirrors[children] != children)
        children, ways = children[~paired], ways[~paired]
    if not len(children):
        return -1
    if alone:
        return int(children[0])
    along = region.middles[b] - joints[b]
    told = parents[b] >= 0 and np.linalg.norm(along) > _AT_JOINT * region.spreads[b]
    ways = ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-30)
    turns = np.ones(len(ways))
    if told:
        turns = ways @ unit(along, (0, 0, 1))
        turns[_rivals(below[children], turns)] = -1
    best = int(np.argmax(turns + below[children] / below[children].sum()))
    return int(children[best]) if turns[best] >= _STRAIGHT else -1


def _rivals(below: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """[c] whether another child is as heavy and turns off as much: neither continues the limb."""
    alike = (below[:, None] > _RIVAL_MASS * below) & (below[:, None] * _RIVAL_MASS < below)
    angles = np.arccos(np.clip(turns, -1, 1))
    alike &= np.abs(angles[:, None] - angles) < _RIVAL_ANGLE
    return alike.sum(axis=1) > 1


def leads(skeleton: Skeleton, region: Region, shortest: float) -> np.ndarray:
    """[b] the child that continues the limb, -1: none"""
    parents, mirrors = skeleton.parents, skeleton.mirrors
    below = masses_below(parents, region.mass)
    result = np.array([_best_child(b, skeleton, region, below, shortest) for b in range(len(parents))])
    for right, left in _followers(skeleton, region):
        child = mirrors[result[left]] if result[left] >= 0 else -1
        if child >= 0 and parents[child] == right:
            result[right] = child
    return result


def _followers(skeleton: Skeleton, region: Region) -> list[tuple[int, int]]:
    """Bones on the right with those on the left that they do as; a root's limb goes where no other's does."""
    if skeleton.plane is None:
        return []
    along = region.middles @ oriented(skeleton.plane)[:3]
    pairs = [
        (b, int(image)) for b, image in enumerate(skeleton.mirrors) if image >= 0 and along[b] < along[image]
    ]
    return [pair for pair in pairs if (skeleton.parents[list(pair)] >= 0).all()]


def chains(parents: np.ndarray, leading: np.ndarray) -> list[list[int]]:
    """The bones that continue each other, from the root outward; every bone is in one chain."""
    result = []
    for b in np.argsort(depths(parents), kind="stable").tolist():
        if parents[b] >= 0 and leading[parents[b]] == b:
            continue
        chain = [b]
        while leading[chain[-1]] >= 0:
            chain.append(int(leading[chain[-1]]))
        result.append(chain)
    return result


def _mirrored(skeleton: Skeleton, chains: list[list[int]]) -> dict[int, int]:
    """Bones with their images in limbs that are mirror images from their beginning on."""
    cut: Pieces = pieces(skeleton, chains)
    first = {chain[0] for chain in chains}
    whole = {i for i, piece in enumerate(cut.chains) if piece[0] in first}
    limbs = [cut.chains[i] for i, other in cut.pairs.items() if {i, other} <= whole]
    return {b: int(cut.images[b]) for limb in limbs for b in limb if cut.images[b] >= 0}


# ---- tails


def _farthest(joint: np.ndarray, way: np.ndarray, points: np.ndarray, weight: np.ndarray) -> float:
    """How far along the way nearly all of the weight is."""
    along = (points - joint) @ way
    order = np.argsort(along)
    share = np.cumsum(weight[order])
    return float(along[order[min(np.searchsorted(share, _END_SHARE * share[-1]), len(order) - 1)]])


def _toward_far_end(joint: np.ndarray, way: np.ndarray, points: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The way from the joint to the middle of the far end: a hoof's sole and a muzzle, not what is above."""
    for _ in range(_TURNS):
        along = (points - joint) @ way
        order = np.argsort(-along)
        share = np.cumsum(weight[order])
        least = along[order[np.searchsorted(share, _CAP * share[-1])]]
        cap = along >= least - _LEVEL * np.ptp(along)
        way = unit(weight[cap] @ points[cap] / weight[cap].sum() - joint, way)
    return way


def _end(b: int, skeleton: Skeleton, region: Region, size: float, world: np.ndarray) -> np.ndarray:
    """The tail of a bone that leads to no child."""
    joint, parent = skeleton.joints[b], skeleton.parents[b]
    rows = np.flatnonzero(region.rule[:, b])
    if not len(rows):
        return joint + SHORTEST * size * world[2]
    points, weight = region.points[rows], region.rule[rows, b]
    way = region.middles[b] - joint
    if np.linalg.norm(way) <= _AT_JOINT * region.spreads[b]:  # the longest axis, away from the parent
        spread = points - region.middles[b]
        axis = np.linalg.eigh((spread * weight[:, None]).T @ spread)[1][:, 2]
        outward = world[2] if parent < 0 else joint - skeleton.joints[parent]
        way = axis if axis @ outward >= 0 else -axis
    way = _toward_far_end(joint, unit(way, world[2]), points, weight)
    reach = _farthest(joint, way, points, weight)
    return joint + way * np.clip(reach, SHORTEST * size, LONGEST * size)


def _ends(skeleton: Skeleton, chains: list[list[int]]) -> tuple[list[int], list[int]]:
    """The last bones of chains, and of their mirror images; a chain in the middle is its own."""
    last, images = {chain[-1] for chain in chains}, _mirrored(skeleton, chains)
    images |= {b: b for b in last if skeleton.mirrors[b] == b}
    mirrored = {b: images[b] for b in last if images.get(b) in last}
    return list(mirrored), list(mirrored.values())


def _tails(skeleton: Skeleton, leading: np.ndarray, chains, region: Region, size, world) -> np.ndarray:
    joints = skeleton.joints
    tails = np.array(
        [joints[c] if c >= 0 else _end(b, skeleton, region, size, world) for b, c in enumerate(leading)]
    )
    if skeleton.plane is None:
        return tails
    ends, images = map(np.array, _ends(skeleton, chains))
    if len(ends):
        mirrored = (tails[ends] + reflected(tails[images], skeleton.plane)) / 2
        long = np.linalg.norm(mirrored - joints[ends], axis=1) >= SHORTEST * size
        tails[ends[long]] = mirrored[long]
    return tails


def _beyond(b: int, skeleton: Skeleton, lead: int, tail: np.ndarray, near: float) -> np.ndarray:
    """[n][3] from the tail of a root: joints of what else hangs from it, on the side of its own origin."""
    origin, joints = skeleton.joints[b] - tail, skeleton.joints - tail
    others = joints[(skeleton.parents == b) & (np.arange(len(joints)) != lead)]
    return others[others @ origin > 0] if np.linalg.norm(origin) > near else others


def _root_head(b: int, skeleton: Skeleton, lead: int, tail: np.ndarray, region: Region, size) -> np.ndarray:
    """A root has no joint. Its bone goes from the tail toward the joints beyond, as a chest goes up to the
    shoulders and the neck, and no further than the last of them; if there are none, toward its own origin,
    to the end of what it moves."""
    near, origin = _AT_JOINT * region.spreads[b], skeleton.joints[b] - tail
    beyond = _beyond(b, skeleton, lead, tail, near)
    way = beyond.mean(axis=0) if len(beyond) else origin
    if skeleton.plane is not None and skeleton.mirrors[b] == b:
        way = _across(way, skeleton.plane[:3])
    meant = len(beyond) > 0 and np.linalg.norm(way) > near
    way = unit(way if meant else origin, (0, 0, -1))
    rows = np.flatnonzero(region.rule[:, b])
    reach = _farthest(tail, way, region.points[rows], region.rule[rows, b]) if len(rows) else 0.0
    if meant:
        reach = min(reach, max(float((beyond @ way).max()), _ROOT_REACH * reach))
    return tail + np.clip(reach, SHORTEST * size, LONGEST * size) * way


# ---- rolls


def _across(vector: np.ndarray, way: np.ndarray) -> np.ndarray:
    """The part of the vector that is perpendicular to the way."""
    return vector - way * (way @ vector)


def _carried(vector: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Turned as the shortest turn from one direction to the other does (Rodrigues)."""
    axis, cosine = np.cross(start, end), float(start @ end)
    if cosine < -0.999999:
        return vector
    turned = vector * cosine + np.cross(axis, vector) + axis * (axis @ vector) / (1 + cosine)
    return unit(_across(turned, end), vector)


def _signed(axis: np.ndarray, like: np.ndarray) -> np.ndarray:
    return axis if axis @ like >= 0 else -axis


def _nearest_axis(hinge: np.ndarray, way: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The hinge's axis, or what is across it and the way, whichever is nearer; signed likewise."""
    axes = [_signed(axis, like) for axis in (hinge, np.cross(way, hinge))]
    return max(axes, key=lambda axis: axis @ like)


def _first_axis(chain: list[int], ways, hinges: dict[int, np.ndarray], world) -> dict[int, np.ndarray]:
    """The X axis of the bone that tells how a chain rolls."""
    b = next((b for b in chain if b in hinges), chain[0])
    plain = np.cross(ways[b], facing(ways[b], world))
    plain = unit(_across(plain, ways[b]), world[0])
    return {b: _signed(hinges.get(b, plain), plain)}


def _bending_axes(
    chain: list[int], ways, hinges: dict[int, np.ndarray], known: dict[int, np.ndarray]
) -> dict:
    """The X axis of each bone of a chain, from that of some."""
    result, first = dict(known), next(i for i, b in enumerate(chain) if b in known)
    for path in (chain[first:], chain[first::-1]):
        for before, b in itertools.pairwise(path):
            if b not in known:
                axis = _carried(result[before], ways[before], ways[b])
                result[b] = _nearest_axis(hinges[b], ways[b], axis) if b in hinges else axis
    return result


def _hinges(skeleton: Skeleton, ways: np.ndarray) -> dict[int, np.ndarray]:
    """What says how a bone rolls: the axis of its hinge; from side to side in the middle of the body."""
    result = {}
    for b, kind in enumerate(skeleton.kinds):
        middle = skeleton.plane is not None and skeleton.mirrors[b] == b
        axis = _across(skeleton.plane[:3] if middle else skeleton.axes[b], ways[b])
        if (middle or kind == "hinge") and np.linalg.norm(axis) > _ASKEW:
            result[b] = axis / np.linalg.norm(axis)
    return result


def _facings(skeleton: Skeleton, chains: list[list[int]], ways: np.ndarray, middles, world) -> np.ndarray:
    """[b][3] where each bone's Z axis goes"""
    hinges, across = _hinges(skeleton, ways), np.zeros_like(ways)
    for chain in chains:
        axes = _bending_axes(chain, ways, hinges, _first_axis(chain, ways, hinges, world))
        across[list(axes)] = list(axes.values())
    if skeleton.plane is not None:
        _mirror_axes(across, skeleton, chains, ways, middles, hinges)
    return np.cross(across, ways)


def _mirror_axes(across: np.ndarray, skeleton: Skeleton, chains, ways: np.ndarray, middles, hinges) -> None:
    """Rolls the right as the left. What has no image between or behind them is rolled anew, or the chain
    would be twisted there."""
    flat = np.append(oriented(skeleton.plane)[:3], 0.0)
    images = _mirrored(skeleton, chains)
    right = {b for b, image in images.items() if (middles[b] - middles[image]) @ flat[:3] < 0}
    for chain in chains:
        known = {
            b: unit(_across(-reflected(across[images[b]], flat), ways[b]), across[b])
            for b in chain
            if b in right
        }
        if known:
            axes = _bending_axes(chain, ways, hinges, known)
            across[list(axes)] = list(axes.values())


# ---- all of it


def lay(bones: Bones, rest, dense, triangles, skeleton: Skeleton, world: np.ndarray):
    """Moves the bones into the skeleton; its limbs, and [b] the child that a tail leads to or -1.

    rest [v][3], weights [v][b]; world [3][3]: the world's axes, a row each.
    """
    size, region = diagonal(rest), Region.of(rest, dense, triangles)
    leading = leads(skeleton, region, SHORTEST * size)
    limbs = chains(skeleton.parents, leading)
    bones.heads[:] = skeleton.joints
    bones.tails[:] = _tails(skeleton, leading, limbs, region, size, world)
    for b in np.flatnonzero(skeleton.parents < 0):
        bones.heads[b] = _root_head(b, skeleton, leading[b], bones.tails[b], region, size)
    ways = bones.tails - bones.heads
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    bones.facing[:] = _facings(skeleton, limbs, ways, region.middles, world)
    return pieces(skeleton, limbs), leading
