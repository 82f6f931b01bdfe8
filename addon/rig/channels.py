"""Transforms of bones as what a pose bone has: location, rotation (quaternion), scale.

With R the bone's rest matrix, T its rest-to-frame transform and P its parent's pose (Rp at rest), the bone's
own channels make up

    L = R^-1 Rp P^-1 T R.

A rigid bone has L = (U, t). An affine one has L = (U s V', t), the singular value decomposition: a carrier
bone is keyed with t, U and s, and a deform bone, its child with the same rest, with V'.

Keys are joined by curves (bezier.py) or by straight lines. For the latter, reduction keeps, for each bone,
the fewest frames found by splitting at the worst (Douglas & Peucker 1973), such that linear interpolation in
between moves no corner of the box around the bone's vertices, and so no vertex, by more than the tolerance.
Parents come first and children follow the parent as interpolated, so errors do not add up along a chain.
Curves may miss those corners by more, as long as 99 in 100 vertices of a sample, which has the outermost of
each bone, stay within the tolerance, and all within three times that.

A bone whose head keeps to its parent in all frames only turns: it is pinned, and has no location.

In a rig that stands, some bones only follow, and others are held in some frames: the former keep their pose
against their parent's as it is, the latter their channels, and what is keyed around them counts with that.
Curves that say already what a bone shall do stay as they are, or every rewriting would wear them down.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from ..base.rigid import nearest_rotation
from ..skeleton import limbs
from . import bezier

_EQUAL_SCALES = 1e-6  # singular values nearer than this, relative to the largest, are equal
_EQUAL_SHARE = 0.2  # of the tolerance, that taking them for equal may cost
_RIGID = 1e-5  # scales nearer to 1 than this, in all frames, are 1
WITHIN, WORST = 0.99, 3.0  # of vertices, within the tolerance; of the tolerance, the largest: of curves
_FIRST_SLACK, _MOST_SLACK = 3.0, 8.0  # of the tolerance, for corners of boxes, where no vertex is
_TRIES, _NEARLY, _EDGE = 4, 0.85, 0.1  # of a slack: how often, near enough, how far from what is known
_SAME = 3e-6  # of a channel's unit: what rounding to single precision makes of equal values
_ROOT_SHARE = 0.5  # of the tolerance, for bones that others follow
PIN_SHARE = 0.4  # of the tolerance, that pinning bones to their parents may cost


@dataclasses.dataclass
class Chain:
    """The bones, in an order in which parents come before their children."""

    rest: np.ndarray  # [b][4][4] bone to armature
    parents: np.ndarray  # [b] -1: none
    boxes: np.ndarray  # [b][n][3] points around what the bone and its children move
    transforms: np.ndarray  # [f][b][4][4] rest to frame
    rigid: bool = False  # no bone scales, whatever the rounding of Blender's rest matrices looks like
    pinned: np.ndarray | None = None  # [b] true: the bone only turns about its head
    follows: np.ndarray | None = None  # [b] true: not keyed, and all below it follows it as it is
    local: np.ndarray | None = None  # [f][b][4][4] pose against the parent's pose, of those that follow
    held: np.ndarray | None = None  # [f][b] true: keyed with the channels given
    given: Channels | None = None  # of held frames
    every: np.ndarray | None = None  # [b] true: keyed in every frame
    skin: Sample | None = None  # whose vertices say how far curves may be off, from where bones have them in
    goals: np.ndarray | None = None  # [f][b][4][4] before bones were pinned
    present: Channels | None = None  # of all frames, as they are keyed with curves; None: they are not
    ended: np.ndarray | None = None  # [b] true: keyed in the last frame, since more keys come after it

    def __post_init__(self):
        frames, bones = self.transforms.shape[:2]
        for name in ("pinned", "follows", "every", "ended"):
            if getattr(self, name) is None:
                setattr(self, name, np.zeros(bones, bool))
        if self.held is None:
            self.held = np.zeros((frames, bones), bool)


@dataclasses.dataclass
class Sample:
    """Some vertices of what the bones move."""

    points: np.ndarray  # [n][3] in rest
    bones: np.ndarray  # [n][k] links; -1: none
    weights: np.ndarray  # [n][k]
    even: int  # the first so many are taken evenly from all, the others lie far out


@dataclasses.dataclass
class Track:
    """The keys of one bone; n frames are kept."""

    rows: np.ndarray  # [n] frames by index
    location: np.ndarray  # [n][3]
    rotation: np.ndarray  # [n][4]
    scale: np.ndarray | None  # [n][3]; None: 1
    inner: np.ndarray | None  # [n][4] rotation of the deform bone under a carrier; None: no carrier
    slopes: Channels | None = None  # [n].. of curves, a frame; None: straight lines


def homogeneous(transforms: np.ndarray) -> np.ndarray:
    """[...][3][4] -> [...][4][4]"""
    result = np.zeros((*transforms.shape[:-2], 4, 4))
    result[..., :3, :] = transforms
    result[..., 3, 3] = 1
    return result


# ---- pins


def pin(heads, parents, transforms, limit: float, turning) -> tuple[np.ndarray, np.ndarray]:
    """Pins bones whose head strays from its parent by no more than the limit, and those that are `turning`.

    heads [b][3], parents [b], rigid transforms [f][b][4][4], parents before children, turning [b] or for all
    -> transforms of the pinned rig, and which bones are pinned. How far one strays counts what was pinned
    above it.
    """
    turning = np.broadcast_to(turning, len(parents))
    held, pinned = transforms.copy(), np.zeros(len(parents), bool)
    for b, parent in enumerate(parents):
        if parent < 0:
            continue
        head = np.append(heads[b], 1.0)
        gap = held[:, parent] @ head - transforms[:, b] @ head
        if turning[b] or np.linalg.norm(gap, axis=1).max() <= limit:
            held[:, b] += gap[:, :, None] * [0, 0, 0, 1]
            pinned[b] = True
    return held, pinned


# ---- quaternions


def quaternions(rotations: np.ndarray) -> np.ndarray:
    """[...][3][3] -> [...][4] w x y z, each from its largest component (Shepperd 1978)"""
    r = rotations
    xx, yy, zz = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    squares = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], -1)
    wx, wy, wz = (r[..., i, j] - r[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    xy, xz, yz = (r[..., i, j] + r[..., j, i] for i, j in ((1, 0), (0, 2), (2, 1)))
    rows = [
        np.stack([squares[..., 0], wx, wy, wz], -1),
        np.stack([wx, squares[..., 1], xy, xz], -1),
        np.stack([wy, xy, squares[..., 2], yz], -1),
        np.stack([wz, xz, yz, squares[..., 3]], -1),
    ]
    best = squares.argmax(axis=-1)[..., None, None]
    chosen = np.take_along_axis(np.stack(rows, -2), best, axis=-2)[..., 0, :]
    return chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)


def continuous(q: np.ndarray) -> np.ndarray:
    """[f][...][4] with the sign of each frame chosen by the one before, and of the first by w >= 0"""
    signs = np.where((q[1:] * q[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
    first = np.where(q[:1, ..., 0] < 0, -1.0, 1.0)
    return q * np.cumprod(np.concatenate([first, signs]), axis=0)[..., None]


def rotations(q: np.ndarray) -> np.ndarray:
    """[...][4], of any length -> [...][3][3]"""
    w, x, y, z = np.moveaxis(q / np.sqrt((q * q).sum(axis=-1, keepdims=True)), -1, 0)
    result = np.empty((*q.shape[:-1], 3, 3))
    for i, (a, b, c) in enumerate(((x, y, z), (y, z, x), (z, x, y))):
        j, k = (i + 1) % 3, (i + 2) % 3
        result[..., i, i] = 1 - 2 * (b * b + c * c)
        result[..., i, j] = 2 * (a * b - w * c)
        result[..., i, k] = 2 * (a * c + w * b)
    return result


# ---- rotation, scale, rotation


def _axis_swaps() -> np.ndarray:
    """[24][3][3] the rotations that take axes to axes"""
    swaps = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[list(order), range(3)] = signs
            if np.linalg.det(matrix) > 0:
                swaps.append(matrix)
    return np.array(swaps)


def singular(matrices: np.ndarray, near: float = _EQUAL_SCALES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[f][b][3][3] = U s V', U and V rotations as near to the frame before as the values allow; V'

    Values nearer to each other than `near` are taken for equal.
    """
    u, s, vt = np.linalg.svd(matrices)
    v = vt.swapaxes(-1, -2)
    for side in (u, v):  # a mirrored map has its sign in the smallest scale
        mirrored = np.linalg.det(side) < 0
        side[mirrored, :, 2] *= -1
        s[mirrored, 2] *= -1
    swaps = _axis_swaps()
    before = np.tile(np.eye(3), (matrices.shape[1], 1, 1))
    for f in range(len(matrices)):
        swap = swaps[np.einsum("bji,bjk,qik->bq", v[f], before, swaps).argmax(axis=1)]
        u[f], v[f] = u[f] @ swap, v[f] @ swap
        s[f] = np.einsum("bji,bj,bji->bi", swap, s[f], swap)
        # where scales are equal their axes are free
        apart = np.abs(s[f][:, :, None] - s[f][:, None, :])
        close = apart <= near * np.abs(s[f]).max(axis=1)[:, None, None]
        turn = nearest_rotation(np.where(close, v[f].swapaxes(-1, -2) @ before, 0.0))
        u[f], v[f] = u[f] @ turn, v[f] @ turn
        before = v[f]
    return u, s, v.swapaxes(-1, -2)


# ---- channels of all frames, and between keys


@dataclasses.dataclass
class Channels:
    location: np.ndarray  # [f][b][3], here and below, or [...][3] in between
    rotation: np.ndarray  # [f][b][4]
    scale: np.ndarray | None = None  # [f][b][3]
    inner: np.ndarray | None = None  # [f][b][4]

    def between(self, bones, before, after, share) -> Channels:
        """Linear interpolation of every channel, as Blender does it; the four arrays broadcast together."""

        def mix(values):
            if values is None:
                return None
            first = values[before, bones]
            return first + share[..., None] * (values[after, bones] - first)

        return Channels(*map(mix, (self.location, self.rotation, self.scale, self.inner)))

    def matrices(self) -> np.ndarray:
        """[...][4][4] as a pose bone makes them of its channels"""
        linear = rotations(self.rotation)
        if self.scale is not None:
            linear = linear * self.scale[..., None, :]
        if self.inner is not None:
            linear = linear @ rotations(self.inner)
        result = np.zeros((*linear.shape[:-2], 4, 4))
        result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = linear, self.location, 1
        return result

    def flat(self) -> np.ndarray:
        """[...][c] all of them, one after the other"""
        parts = (self.location, self.rotation, self.scale, self.inner)
        return np.concatenate([part for part in parts if part is not None], axis=-1)

    def like(self, flat: np.ndarray) -> Channels:
        """The same backwards."""
        parts = (self.location, self.rotation, self.scale, self.inner)
        widths = [0 if part is None else part.shape[-1] for part in parts]
        cut = np.split(flat, np.cumsum(widths)[:-1], axis=-1)
        return Channels(*(part if width else None for part, width in zip(cut, widths, strict=True)))

    def of(self, bones) -> Channels:
        parts = (self.location, self.rotation, self.scale, self.inner)
        return Channels(*(None if values is None else values[:, bones] for values in parts))


def _is_rigid(linear: np.ndarray) -> bool:
    gram = linear.swapaxes(-1, -2) @ linear
    return np.abs(gram - np.eye(3)).max() <= 2 * _RIGID and (np.linalg.det(linear) > 0).all()


def _channels(local: np.ndarray, rigid: bool, near: float) -> Channels:
    """local [f][b][4][4]"""
    linear, location = local[..., :3, :3], local[..., :3, 3]
    if rigid or _is_rigid(linear):
        return Channels(location, continuous(quaternions(nearest_rotation(linear))))
    u, s, vt = singular(linear, near)
    return Channels(location, continuous(quaternions(u)), s, continuous(quaternions(vt)))


# ---- which frames are keyed


def _neighbours(keyed: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """keyed [f][b] -> the keyed frames before and after each frame, and how far it is between them"""
    count = np.arange(len(keyed))[:, None]
    before = np.maximum.accumulate(np.where(keyed, count, 0), axis=0)
    after = np.minimum.accumulate(np.where(keyed, count, len(keyed))[::-1], axis=0)[::-1]
    after = np.where(after < len(keyed), after, before)
    gap = times[after] - times[before]
    return before, after, (times[:, None] - times[before]) / np.where(gap > 0, gap, 1)


def _worst_of_spans(bones, before, error) -> tuple[np.ndarray, np.ndarray]:
    """The largest error of the span that each entry lies in, and the entry of each span that has it.

    Entries of one bone between the same keys are a span, and stand together.
    """
    opens = np.concatenate([[True], (bones[1:] != bones[:-1]) | (before[1:] != before[:-1])])
    span = np.cumsum(opens) - 1
    worst = np.maximum.reduceat(error, np.flatnonzero(opens))[span]
    found = np.flatnonzero(error == worst)
    return worst, found[np.unique(span[found], return_index=True)[1]]


def _reduced(channels: Channels, measure, times, tolerance: float, keyed: np.ndarray) -> np.ndarray:
    """[f][b] the frames to key, `keyed` among them; measure(rows, bones, matrices) -> vertex movement of each

    Only spans that were split are measured again.
    """
    keyed[0] = True
    owners, rows = np.nonzero(~keyed.T)
    while len(rows):
        before, after, share = (part[rows, owners] for part in _neighbours(keyed, times))
        error = measure(rows, owners, channels.between(owners, before, after, share).matrices())
        worst, found = _worst_of_spans(owners, before, error)
        found = found[worst[found] > tolerance]
        keyed[rows[found], owners[found]] = True
        left = (worst > tolerance) & ~keyed[rows, owners]
        owners, rows = owners[left], rows[left]
    return keyed


def inverse_of(matrices: np.ndarray) -> np.ndarray:
    """Of affine maps, [...][4][4]: rows of the linear part crossed, over the determinant."""
    x, y, z = np.moveaxis(matrices[..., :3, :3], -2, 0)
    linear = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], -1)
    linear /= (x * linear[..., 0]).sum(axis=-1)[..., None, None]
    result = np.zeros_like(matrices)
    result[..., :3, :3], result[..., 3, 3] = linear, 1
    result[..., :3, 3:] = -linear @ matrices[..., :3, 3:]
    return result


def _movement(chain: Chain, inverse, members, base, share):
    """A function (rows, bones, matrices) -> how far these poses move what lies in the members' boxes from
    where it belongs, over the share of the tolerance that the bone has."""
    corners = chain.boxes[members].swapaxes(-1, -2)
    goals = chain.transforms[:, members, :3, :3] @ corners + chain.transforms[:, members, :3, 3:]
    corners = inverse[members, :3, :3] @ corners + inverse[members, :3, 3:]

    def movement(rows, bones, matrices):
        posed = base[rows, bones] @ matrices
        shift = posed[:, :3, :3] @ corners[bones] + posed[:, :3, 3:] - goals[rows, bones]
        return np.sqrt((shift**2).sum(axis=-2).max(axis=-1)) / share[bones]

    return movement


def _hold(channels: Channels, held: np.ndarray, given: Channels) -> Channels:
    """The channels with those given in held frames; quaternions near a held one have its sign."""
    if channels.scale is None and not np.all(given.scale[held] == 1):
        channels.scale = np.ones_like(channels.location)
    for name in ("location", "rotation", "scale", "inner"):
        values = getattr(channels, name)
        if values is not None:
            values[held] = getattr(given, name)[held]
    for q in (channels.rotation, channels.inner):
        if q is not None:
            _face(q, held)
    return channels


def _face(q: np.ndarray, held: np.ndarray) -> None:
    """Turns the signs of quaternions [f][b][4] that are not held to those of their neighbours."""
    rows = range(1, len(q))
    steps = [*((row, row - 1) for row in rows), *((row - 1, row) for row in reversed(rows))]
    settled = held.copy()
    for row, by in steps:
        turned = settled[by] & ~settled[row]
        away = (q[row] * q[by]).sum(axis=-1) < 0
        q[row, turned & away] *= -1
        settled[row] |= turned


class _Tracker:
    """Keys a chain level by level; `poses` are those of the levels done."""

    def __init__(self, chain: Chain, times: np.ndarray, tolerance: float | None, slack: float = 0.0):
        """slack: of curves, how many times the tolerance the corners may be off; 0: straight lines"""
        frames, bones = chain.transforms.shape[:2]
        self.chain, self.times, self.tolerance = chain, times.astype(np.float64), tolerance
        self.inverse = inverse_of(chain.rest)
        self.poses = np.empty((frames, bones, 4, 4))  # as keyed and interpolated
        self.tracks: list[Track | None] = [None] * bones
        self.kept = np.zeros(bones, bool)  # with the keys that they have
        self.straight = chain.held.any(axis=0) | chain.every | chain.ended  # beside keys of the artist's
        self.share = np.where(np.isin(np.arange(bones), chain.parents), _ROOT_SHARE, 1.0)
        self.near, self.slack = _EQUAL_SCALES, slack
        if tolerance is not None:
            extent = max(float(np.ptp(chain.boxes, axis=(0, 1)).max()), 1e-30)
            self.near = max(self.near, _EQUAL_SHARE * tolerance / extent)

    def _above(self, members: np.ndarray) -> np.ndarray:
        """[f][m][4][4] the poses of the parents"""
        parents = self.chain.parents[members]
        poses = self.poses[:, parents]
        poses[:, parents < 0] = np.eye(4)
        return poses

    def follow(self, members: np.ndarray) -> None:
        if len(members):
            self.poses[:, members] = self._above(members) @ self.chain.local[:, members]

    def key(self, members: np.ndarray, anew: bool = False) -> None:
        """anew: also where the keys at hand would do"""
        if not len(members):
            return
        chain, inverse, parents = self.chain, self.inverse, self.chain.parents[members]
        between = np.where((parents < 0)[:, None, None], np.eye(4), inverse[parents]) @ chain.rest[members]
        base = self._above(members) @ between  # the bone's pose while its own channels are at rest
        target = chain.transforms[:, members] @ chain.rest[members]
        channels = _channels(inverse_of(base) @ target, chain.rigid, self.near)
        channels.location[:, chain.pinned[members]] = 0
        held = chain.held[:, members]
        if held.any():
            channels = _hold(channels, held, chain.given.of(members))
        keyed = held | chain.every[members]
        keyed[-1] |= chain.ended[members]
        movement = _movement(chain, inverse, members, base, self.share[members])
        if self.tolerance is None:
            keyed[:] = True
        elif self.slack and len(self.times) > 2 and not keyed.any():
            same = np.zeros(len(members), bool) if anew else self._as_present(members, channels)
            self.kept[members] = same
            if same.any():
                present = chain.present.of(members[same])
                if channels.inner is None:
                    present.inner = None
                self.poses[:, members[same]] = base[:, same] @ present.matrices()
                self.key(members[~same], anew=True)
                return
            self._curve(members, channels, movement, base)
            return
        else:
            keyed = _reduced(channels, movement, self.times, self.tolerance, keyed)
        every = np.arange(len(members))
        between = channels.between(every, *_neighbours(keyed, self.times))
        self.poses[:, members] = base @ between.matrices()
        for i, b in enumerate(members):
            rows = np.flatnonzero(keyed[:, i])
            parts = (channels.location, channels.rotation, channels.scale, channels.inner)
            self.tracks[b] = Track(rows, *(None if values is None else values[rows, i] for values in parts))

    def _as_present(self, members: np.ndarray, channels: Channels) -> np.ndarray:
        """[m] whose keys say all of it already"""
        if self.chain.present is None:
            return np.zeros(len(members), bool)
        present = self.chain.present.of(members)
        extent = max(float(np.ptp(self.chain.boxes, axis=(0, 1)).max()), 1e-30)
        scale = 1.0 if channels.scale is None else channels.scale
        off = [np.abs(channels.location - present.location) / extent, np.abs(scale - present.scale)]
        turns = [(channels.rotation, present.rotation), (channels.inner, present.inner)]
        for wanted, found in turns:
            if wanted is not None:
                unit = found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-30)
                facing = np.sign((wanted * unit).sum(axis=-1, keepdims=True))
                off.append(np.abs(wanted - facing * unit))
        return np.max([part.max(axis=(0, 2)) for part in off], axis=0) <= _SAME

    def _curve(self, members: np.ndarray, channels: Channels, movement, base: np.ndarray) -> None:
        """Keys with slopes."""
        rows, columns = (part.ravel() for part in np.indices(base.shape[:2]))

        def measure(values):
            return movement(rows, columns, channels.like(values).matrices()[rows, columns]).reshape(
                values.shape[:2]
            )

        demanded = np.zeros(base.shape[:2], bool)
        limit = self.slack * self.tolerance
        keyed, points, slopes, spans = bezier.reduce(channels.flat(), self.times, demanded, measure, limit)
        self.poses[:, members] = base @ channels.like(bezier.between(points, slopes, spans)).matrices()
        points, slopes = channels.like(points), channels.like(slopes)
        for i, b in enumerate(members):
            rows = np.flatnonzero(keyed[:, i])
            own, rising = (_rows_of(part, rows, i) for part in (points, slopes))
            self.tracks[b] = Track(rows, own.location, own.rotation, own.scale, own.inner, rising)

    def run(self) -> _Tracker:
        depth = limbs.depths(self.chain.parents)
        for level in range(depth.max() + 1):
            self.follow(np.flatnonzero((depth == level) & self.chain.follows))
            here = np.flatnonzero((depth == level) & ~self.chain.follows)
            straight = self.straight[here]
            self.key(here[straight])
            self.key(here[~straight])
        return self

    def deviations(self) -> np.ndarray:
        """[f][n] how far vertices of the sample are off"""
        skin, chain = self.chain.skin, self.chain
        moved = self.poses @ self.inverse - (chain.transforms if chain.goals is None else chain.goals)
        total = np.zeros((len(moved), len(skin.points), 3))
        for k in range(skin.bones.shape[1]):
            part = moved[:, skin.bones[:, k]]
            off = np.einsum("fnij,nj->fni", part[..., :3, :3], skin.points) + part[..., :3, 3]
            total += np.where(skin.bones[:, k] >= 0, skin.weights[:, k], 0.0)[:, None] * off
        return np.linalg.norm(total, axis=-1)


def _rows_of(channels: Channels, rows: np.ndarray, bone: int) -> Channels:
    parts = (channels.location, channels.rotation, channels.scale, channels.inner)
    return Channels(*(None if part is None else part[rows, bone] for part in parts))


def _curved(chain: Chain, times: np.ndarray, tolerance: float) -> _Tracker:
    """With as much slack as the sample of vertices allows."""
    if chain.skin is None:
        return _Tracker(chain, times, tolerance, 1.0).run()
    least, most, tried, best = 1.0, _MOST_SLACK, _FIRST_SLACK, None
    for _ in range(_TRIES):
        tracker = _Tracker(chain, times, tolerance, tried).run()
        off = tracker.deviations() / tolerance
        share = max(np.quantile(off[:, : chain.skin.even], WITHIN), off.max() / WORST)
        if share <= 1:
            least, best = tried, tracker
        else:
            most = tried
        if _NEARLY < share <= 1 or least >= most:
            break
        edge = _EDGE * (most - least)
        tried = (
            most
            if best and most == _MOST_SLACK
            else np.clip(tried / max(share, 0.1), least + edge, most - edge)
        )
    return best if best is not None else _Tracker(chain, times, tolerance, 1.0).run()


def tracks(
    chain: Chain, times: np.ndarray, tolerance: float | None, curved: bool = False
) -> list[Track | None]:
    """The keys of every bone; None for those that follow, or have the keys already.

    tolerance: how far keys left out may move a vertex; None: none is left out.
    """
    if curved and tolerance:
        return _curved(chain, times, tolerance).tracks
    return _Tracker(chain, times, tolerance).run().tracks
