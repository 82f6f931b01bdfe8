"""The keys of a rig: transforms to the curves of its pose bones, when it is made and when it stands."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from ..base import tolerances
from ..native import Rig
from ..options.options import Options, holds
from ..skeleton import placement
from . import channels
from .keys import Untouched, Writer
from .roles import ROOT_NAME

_JUDGED = 600  # vertices, by which curves are judged
_DIRECTIONS = np.array([way for way in itertools.product((-1, 0, 1), repeat=3) if any(way)], np.float64)


@dataclasses.dataclass
class Keyed:
    """What was written."""

    keys: int
    keys_if_every: int  # with one on every frame
    located: int  # bones below the skeleton's root that keep keys of their location
    location: float  # the largest of those
    numbers: int = 0  # values of keys, and slopes of those with curves
    tolerance: float = 0.0  # that keys left out may move a vertex; 0: none is left out

    @classmethod
    def of(cls, clips: list[Keyed], extra: int) -> Keyed:
        """All clips of a rig together, and `extra` keys."""
        return cls(
            sum(clip.keys for clip in clips) + extra,
            sum(clip.keys_if_every for clip in clips) + extra,
            max(clip.located for clip in clips),
            max(clip.location for clip in clips),
            sum(clip.numbers for clip in clips) + extra,
            max(clip.tolerance for clip in clips),
        )


@dataclasses.dataclass
class Links:
    """A chain, and the bones that it is made of."""

    chain: channels.Chain
    bones: list[str]
    inner: list[str | None]  # the bones under carriers
    joined: np.ndarray  # [b] true: hangs from another bone that deforms


def tolerance_of(options: Options, size: float, poses: bool) -> float | None:
    """How far keys that are left out may move a vertex; None: none is left out."""
    return options.key_tolerance / 100 * size if options.keys == "REDUCED" and not poses else None


def tracks_of(links: Links, times, size: float, options: Options, poses: bool) -> list:
    """The keys of every link; None for those that follow."""
    tolerance, curved = tolerance_of(options, size, poses), options.key_shape == "BEZIER"
    if curved:
        return channels.tracks(links.chain, np.asarray(times), tolerance, curved=True)
    if tolerance is not None and links.chain.pinned.any() and not holds(options):
        tolerance *= 1 - channels.PIN_SHARE
    return channels.tracks(links.chain, np.asarray(times), tolerance)


def put(writer: Writer, links: Links, tracks: list) -> Keyed:
    """Into the action."""
    located, location = 0, 0.0
    for b, track in enumerate(tracks):
        if track is None:
            continue
        if isinstance(track, Untouched):
            writer.restore(track)
            continue
        writer.track(links.bones[b], track, links.inner[b], links.chain.held[:, b])
        if links.joined[b] and not links.chain.pinned[b]:
            located += 1
            location = max(location, float(np.linalg.norm(track.location, axis=1).max()))
    return Keyed(writer.keys, writer.keys_if_every, located, location, writer.numbers)


def goes_along(heads, root: np.ndarray, transforms: np.ndarray, size: float) -> np.ndarray:
    """[b] whether the heads of bones below the root go where it takes them, so that they only turn

    heads [b][3], root [f][4][4], transforms [f][b][4][4]
    """
    points = np.concatenate([heads, np.ones((len(heads), 1))], axis=1)
    gap = np.einsum("fbij,bj->fbi", root[:, None] - transforms, points)
    return np.linalg.norm(gap, axis=2).max(axis=0, initial=0) <= tolerances.LENGTH * size


def sample_of(rest, bones: np.ndarray, weights: np.ndarray, number: np.ndarray) -> channels.Sample:
    """Some vertices, evenly from all of them, and the outermost of each bone, where it moves most

    bones, weights [v][k]; number: links of bones
    """
    even = np.unique(np.linspace(0, len(rest) - 1, _JUDGED).astype(int))
    some = [even]
    reach = np.asarray(rest, np.float64) @ _DIRECTIONS.T
    for b in range(len(number)):
        rows = np.flatnonzero(((bones == b) & (weights > 0)).any(axis=1))
        if len(rows):
            some.append(rows[reach[rows].argmax(axis=0)])
    some = np.concatenate(some)
    links = np.where(bones[some] >= 0, number[bones[some]], -1)
    return channels.Sample(rest[some].astype(np.float64), links, weights[some].astype(np.float64), len(even))


def _planned(armature, rig: Rig, root: np.ndarray, plan) -> Links:
    """Root first, then the deform bones in the plan's order; a carrier and its bone are one link."""
    bones, order = armature.data.bones, plan.order
    names = [plan.names[b] for b in order]
    rests = [np.array(bones[name].matrix_local, np.float64) for name in (ROOT_NAME, *names)]
    whole = placement.box(rig.rest.astype(np.float64), np.eye(3))
    number = np.zeros(rig.bones + 1, int)  # of a link; the root's stands last, at -1
    number[order] = np.arange(rig.bones) + 1
    along = (plan.parents < 0) & goes_along(plan.places.heads, root, plan.transforms, plan.size)
    chain = channels.Chain(
        rest=np.array(rests),
        parents=np.concatenate([[-1], number[plan.parents[order]]]),
        boxes=np.concatenate([whole[None], plan.places.boxes[order]]),
        transforms=np.concatenate([root[:, None], plan.transforms[:, order]], axis=1),
        rigid=plan.carriers is None,
        pinned=np.concatenate([[False], (plan.pinned | along)[order]]),
    )
    goals = channels.homogeneous(rig.transforms)[:, order]
    chain.goals = np.concatenate([root[:, None], goals], axis=1)
    chain.skin = sample_of(rig.rest, rig.influence_bones, rig.influence_weights, number)
    hangs = (plan.parents >= 0) & ~plan.helps & (plan.skeleton is not None)
    joined = np.concatenate([[False], hangs[order]])
    if plan.carriers is None:
        return Links(chain, [ROOT_NAME, *names], [None] * (rig.bones + 1), joined)
    return Links(chain, [ROOT_NAME, *(plan.carriers[b] for b in order)], [None, *names], joined)


def key(armature, action, rig: Rig, root: np.ndarray, times, plan, options: Options, poses) -> Keyed:
    """root [f][4][4]: of the bone Root; plan: armature.Plan; poses: names of the frames, or None."""
    writer = Writer(armature, action, times, plan.size)
    links = _planned(armature, rig, root, plan)
    keyed = put(writer, links, tracks_of(links, times, plan.size, options, bool(poses)))
    keyed.tolerance = tolerance_of(options, plan.size, bool(poses)) or 0.0
    if poses:
        writer.name_poses(poses)
    return keyed
