"""Points of a skeleton carried from one body into another that has the same vertices.

The surface around a point carries it along, by the affine frame that subjects/local_frame.c has for joints:

    g_v = (r / (|p_v - x|^2 + r))^4 area_v follows_v,   r = min_v |p_v - x|^2 / follows_v
    D = sum g (p - p^)(p - p^)',   C = sum g (q - q^)(p - p^)'
    x' = q^ + (C + e I)(D + e I)^-1 (x - p^),   e = EVEN tr D / 3 + FAR |x - p^|^2

in diagonals of both bodies. Joints are placed by the library; this is for all else that a rig has: tails,
and bones that move no vertex. FAR is for those outside of the body, a pole of an IK chain in front of a knee:
the farther, the less the surface below may shear or bend its way.
"""

from __future__ import annotations

import numpy as np

from ..base.surface import diagonal, vertex_areas

_SKIN_DEEP = 0.005  # diagonals: a point in the skin itself looks that far
_EVEN = 1e-3  # of the mean square extent
_FAR = 0.05  # of the squared distance
_NO_EXTENT = 1e-30  # squared diagonals
_ONE_PLACE = 1e-5  # of the size: points nearer than this are one point of the rig


def carried(points, follows, rest, triangles, bodies) -> np.ndarray:
    """[n][p][3] points [p][3] of the body rest [v][3] in bodies [n][v][3]

    follows [p][v]: how much a vertex has to say about a point
    """
    unit = diagonal(rest)
    known, areas = np.asarray(rest, np.float64) / unit, vertex_areas(rest, triangles)
    others = [np.asarray(body, np.float64) / diagonal(body) for body in bodies]
    result = np.empty((len(others), len(points), 3))
    for number, (point, wants) in enumerate(zip(np.asarray(points, np.float64) / unit, follows, strict=True)):
        share = _sight(known, point, wants, areas)
        middle = share @ known
        offset, away = known - middle, point - middle
        spread = (offset * share[:, None]).T @ offset
        even = (_EVEN * np.trace(spread) / 3 + _FAR * float(away @ away) + _NO_EXTENT) * np.eye(3)
        way = np.linalg.solve(spread + even, away)
        for body, found in zip(others, result, strict=True):
            centre = share @ body
            across = ((body - centre) * share[:, None]).T @ offset
            found[number] = centre + (across + even) @ way
    return result * np.array([diagonal(body) for body in bodies])[:, None, None]


def _sight(known: np.ndarray, point: np.ndarray, follows: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """[v] shares of sum 1"""
    squares = ((known - point) ** 2).sum(axis=1)
    told = follows > 0
    reach = max((squares[told] / follows[told]).min(), _SKIN_DEEP**2)
    seen = (reach / (squares + reach)) ** 4 * areas * follows
    return seen / seen.sum()


def skeleton_in(heads, tails, follows, known: dict[int, np.ndarray], rest, triangles, bodies):
    """[n][b][3] heads and tails of bones in bodies [n][v][3]; known: bone -> [n][3] where its head is there.

    follows [2 b][v] as in carried(), heads first. What lies together in the rig does so in the bodies, and of
    several known joints in one place the first counts.
    """
    points, count = np.concatenate([heads, tails]), len(heads)
    place = _places(points, diagonal(rest))
    found = np.empty((len(bodies), *points.shape))
    joints = {place[b]: known[b] for b in reversed(known)}
    loose = [p for p in dict.fromkeys(place.tolist()) if p not in joints]
    if loose:
        found[:, loose] = carried(points[loose], follows[loose], rest, triangles, bodies)
    for p, where in joints.items():
        found[:, p] = where
    return found[:, place[:count]], found[:, place[count:]]


def _places(points: np.ndarray, size: float) -> np.ndarray:
    """[p] a number for each place: points that lie together have the same"""
    order, numbers = np.lexsort(points.T), np.full(len(points), -1)
    for p in order.tolist():
        if numbers[p] < 0:
            near = np.linalg.norm(points - points[p], axis=1) <= _ONE_PLACE * size
            numbers[near & (numbers < 0)] = p
    return numbers
