"""Which correctives a rig gets: keyed, driven by its bones, or none, by what the motion says.

Keyed ones are for the motion that they were made from. Driven ones are judged on frames that were left out
while they were made: those that give back less than KEPT_SHARE of what keyed values would are not worth it,
and those that lower the error by less than LEAST_GAIN would not serve other poses at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.steps import Step, watch
from ..base.words import counted
from .correctives import Shapes, named

JOINT_KEYS = 4  # fields of one joint each, for every one that all joints would drive
KEPT_SHARE = 0.6  # of the gain of keyed values on frames that were left out
LEAST_GAIN = 0.02  # of the error
PAYS = 0.6  # of the error: where correctives leave more, bones are cheaper
_KEY_BYTES, _VALUE_BYTES, _BONE_BYTES = 12, 4, 28  # of a vertex, of a frame, of a bone in a frame
_FORMS = {"whole": "all joints", "joints": "a joint each"}


@dataclasses.dataclass(frozen=True)
class Wish:
    kind: str  # KEYED, DRIVEN, AUTO
    count: int


@dataclasses.dataclass(frozen=True)
class Body:
    """What is corrected: f frames and v moved vertices of a rig as Blender plays it."""

    poses: tuple  # rest [v][3], frames [f][v][3], triangles [t][3]
    rig: native.Rig
    bones: list[str]
    parents: np.ndarray  # [b], -1: none that deforms
    root: np.ndarray | None  # [f][4][4] of the bone that carries all; None: it says nothing
    settings: native.Settings
    owner: object  # check_sources() refuses when what all this was read from is gone
    flexible: bool = False


@dataclasses.dataclass(frozen=True)
class Found:
    shapes: Shapes | None  # of the moved vertices; None: they do not pay
    note: str


def _hung(body: Body) -> tuple[native.Rig, np.ndarray]:
    """The rig and its parents; bones side by side hang from the one that carries them, which stands last."""
    if body.root is None or (body.parents >= 0).any():
        return body.rig, body.parents
    transforms = np.concatenate([body.rig.transforms, body.root[:, None, :3]], axis=1)
    parents = np.append(np.full(body.rig.bones, body.rig.bones, np.int32), np.int32(-1))
    return dataclasses.replace(body.rig, transforms=np.ascontiguousarray(transforms)), parents


def _key(body: Body, count: int, first: float, last: float) -> Generator[Step, None, tuple]:
    correction = native.Correction(count=count)
    job = native.Job.start(native.correct, *body.poses, body.rig, correction, body.settings)
    return (yield from watch(job, body.owner, first, last))


def _drive(body: Body, count: int, first: float, last: float) -> Generator[Step, None, tuple]:
    rig, parents = _hung(body)
    most = min(JOINT_KEYS * count, native.MAX_CORRECTIVES)
    driving = native.Driving(count=count, joint_count=most)
    settings = dataclasses.replace(body.settings, bones=rig.bones)
    job = native.Job.start(native.drive, *body.poses, rig, parents, driving, settings)
    return (yield from watch(job, body.owner, first, last))


def share_kept(driven: native.Driven) -> float | None:
    """Of the gain of keyed values on frames that were left out; None: there were too few to tell"""
    if driven.bare_erms is None:
        return None
    error = driven.whole_erms if driven.form == "whole" else driven.joints_erms
    return (driven.bare_erms - error) / max(driven.bare_erms - driven.keyed_erms, 1e-12)


def _serves(driven: native.Driven, fields, least: float) -> bool:
    share = share_kept(driven)
    if share is None or not len(fields):
        return False
    error = driven.whole_erms if driven.form == "whole" else driven.joints_erms
    return share >= least and error <= (1 - LEAST_GAIN) * driven.bare_erms


def bytes_of(count: int, vertices: int, frames: int) -> int:
    return count * (_KEY_BYTES * vertices + _VALUE_BYTES * frames)


def _size(body: Body, count: int) -> str:
    vertices, frames = len(body.poses[0]), len(body.poses[1])
    size = bytes_of(count, vertices, frames)
    return f"{size / 1000:.3g} kB, as much as {counted(round(size / _BONE_BYTES / frames), 'bone')}"


def _keyed(body: Body, rig: native.Rig, worth: native.Corrected, info: native.Info, why: str = "") -> Found:
    names = named(worth.joints.tolist(), body.bones)
    gains = ", ".join(f"{gain:.2g}" for gain in worth.gains[:5])
    note = (
        f"{counted(len(names), 'corrective')}, keyed: E_RMS {info.erms:.3g}, {worth.bare_erms:.3g} without;"
        f" without each the error would rise by {gains} % of the size. {_size(body, len(names))}.{why}"
    )
    return Found(Shapes(names, rig.fields, rig.coefficients), note)


def _driven(body: Body, rig: native.Rig, driven: native.Driven, info: native.Info) -> Found:
    names = named(driven.joints.tolist(), body.bones)
    error = driven.whole_erms if driven.form == "whole" else driven.joints_erms
    note = (
        f"{counted(len(names), 'corrective')}, driven by {_FORMS[driven.form]}: E_RMS {info.erms:.3g}."
        f" On frames left out {error:.3g}, {driven.bare_erms:.3g} without, {driven.keyed_erms:.3g} if keyed:"
        f" {100 * share_kept(driven):.0f} % of the gain. {_size(body, len(names))}."
    )
    return Found(Shapes(names, rig.fields, rig.coefficients, driven.map[:, : len(body.bones)]), note)


def _not_driven(body: Body, driven: native.Driven | None) -> str:
    if body.flexible:
        return " Not driven: flexible bones do not only turn."
    if driven is None or driven.bare_erms is None:
        return " Not driven: there are too few frames to tell whether that would serve others."
    share = share_kept(driven)
    return f" Not driven: on frames left out that would keep {100 * max(share, 0):.0f} % of the gain."


def solve(body: Body, wish: Wish) -> Generator[Step, None, Found]:
    """What the rig gets; what cannot be driven is keyed, and the note says so."""
    first, driven = 0.0, None
    if wish.kind != "KEYED" and not body.flexible:
        rig, driven, info = yield from _drive(body, wish.count, 0.0, 0.6)
        first = 0.6
        if wish.kind == "DRIVEN" and _serves(driven, rig.fields, 0.0):
            return _driven(body, rig, driven, info)
    keyed, worth, keyed_info = yield from _key(body, wish.count, first, 1.0)
    if wish.kind == "AUTO":
        share = keyed_info.erms / worth.bare_erms if worth.bare_erms > 0 else 1.0
        if not len(worth.gains) or share > PAYS:
            size = _size(body, wish.count)
            return Found(
                None, f"No correctives: {wish.count} leave {100 * share:.0f} % of the error, for {size}."
            )
        if driven is not None and _serves(driven, rig.fields, KEPT_SHARE):
            return _driven(body, rig, driven, info)
    why = "" if wish.kind == "KEYED" else _not_driven(body, driven)
    return _keyed(body, keyed, worth, keyed_info, why)
