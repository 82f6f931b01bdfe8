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
from ..base.words import counted, listed, size_words
from .correctives import Held, Shapes, named

JOINT_KEYS = 4  # fields of one joint each, for every one that all joints would drive
KEPT_SHARE = 0.6  # of the gain of keyed values on frames that were left out
LEAST_GAIN = 0.02  # of the error
PAYS = 0.6  # of the error: where correctives leave more, bones are cheaper
MOST_FOR_BUDGET = 40  # that a budget may ask for
_SMOOTHER = (0.0, 30.0, 1000.0)  # how smooth fields are, tried until normals are no worse for them
_LEAST_TURN = 0.01  # degrees: normals that are off by as much more are no worse
_KEY_BYTES, _VALUE_BYTES, _BONE_BYTES = 12, 4, 28  # of a vertex, of a frame, of a bone in a frame
_FORMS = {"whole": "all joints", "joints": "a joint each"}


@dataclasses.dataclass(frozen=True)
class Wish:
    kind: str  # KEYED, DRIVEN, AUTO
    count: int
    budget: float = 0.0  # percent of the size that may be missed, by the fewest; 0: by count


@dataclasses.dataclass(frozen=True)
class Body:
    """What is corrected: f frames and v moved vertices of a rig as Blender plays it."""

    poses: tuple  # rest [v][3], frames [f][v][3], triangles [t][3]
    rig: native.Rig
    bones: list[str]
    parents: np.ndarray  # [b], -1: none that deforms
    heads: np.ndarray  # [b][3] at rest, in the armature's space
    root: np.ndarray | None  # [f][4][4] of the bone that carries all; None: it says nothing
    settings: native.Settings
    owner: object  # check_sources() refuses when what all this was read from is gone
    flexible: bool = False
    held: Held | None = None  # what the artist keeps, of the moved vertices


@dataclasses.dataclass(frozen=True)
class Found:
    shapes: Shapes | None  # of the moved vertices, without those that are held; None: they do not pay
    note: str
    held_values: np.ndarray | None = None  # [f][n] of those that are held, as they shall be


def _hung(body: Body) -> tuple[native.Rig, np.ndarray]:
    """The rig and its parents; bones side by side hang from the one that carries them, which stands last."""
    if body.root is None or (body.parents >= 0).any():
        return body.rig, body.parents
    transforms = np.concatenate([body.rig.transforms, body.root[:, None, :3]], axis=1)
    parents = np.append(np.full(body.rig.bones, body.rig.bones, np.int32), np.int32(-1))
    return dataclasses.replace(body.rig, transforms=np.ascontiguousarray(transforms)), parents


def _with_held(body: Body) -> native.Rig:
    """The library keeps fields that come with a rig."""
    if body.held is None:
        return body.rig
    return dataclasses.replace(body.rig, fields=body.held.fields, coefficients=body.held.values)


def _fields(body: Body, correction: native.Correction, first, last) -> Generator[Step, None, tuple]:
    job = native.Job.start(native.correct, *body.poses, _with_held(body), correction, body.settings)
    return (yield from watch(job, body.owner, first, last))


def _within(body: Body, wish: Wish, smoothness, first, last) -> Generator[Step, None, tuple]:
    """As few as the budget needs; where it cannot be met, as many as may be."""
    most = MOST_FOR_BUDGET + _held_count(body)
    asked = native.Correction(count=most, budget_kind="rms", budget=wish.budget, smoothness=smoothness)
    try:
        return (yield from _fields(body, asked, first, last))
    except native.OssifyError as error:
        if error.status != native.Status.OUT_OF_ITERATIONS:
            raise
    return (yield from _fields(body, native.Correction(count=most, smoothness=smoothness), first, last))


def _held_count(body: Body) -> int:
    return 0 if body.held is None else len(body.held.names)


def _key(body: Body, wish: Wish, first: float, last: float) -> Generator[Step, None, tuple]:
    """Smooth enough that normals are no worse with them than without."""
    bare = native.evaluate(body.poses[0], body.poses[1], body.rig, replay=False, triangles=body.poses[2])
    for smoothness in _SMOOTHER:
        if wish.budget > 0:
            found = yield from _within(body, wish, smoothness, first, last)
        else:
            count = max(wish.count, _held_count(body))
            asked = native.Correction(count=count, smoothness=smoothness)
            found = yield from _fields(body, asked, first, last)
        turned = found[2].normal_degrees
        if turned is None or turned <= bare.normal_degrees + _LEAST_TURN:
            break
    return found


def _less_held(body: Body) -> tuple:
    """The poses without what held correctives do in them: displacements of the rest add up."""
    if body.held is None:
        return body.poses
    rest, frames, triangles = body.poses
    with_them = native.evaluate(rest, frames, _with_held(body)).frames
    left = frames - (with_them - native.evaluate(rest, frames, body.rig).frames)
    return rest, np.ascontiguousarray(left, np.float32), triangles


def _drive(body: Body, count: int, first: float, last: float) -> Generator[Step, None, tuple]:
    rig, parents = _hung(body)
    most = min(JOINT_KEYS * count, native.MAX_CORRECTIVES)
    driving = native.Driving(count=count, joint_count=most)
    settings = dataclasses.replace(body.settings, bones=rig.bones)
    pivots = np.zeros((rig.bones, 3))
    pivots[: len(body.heads)] = body.heads
    job = native.Job.start(native.drive, *_less_held(body), rig, parents, driving, settings, pivots)
    return (yield from watch(job, body.owner, first, last))


def share_kept(driven: native.Driven) -> float | None:
    """Of the gain of keyed values on frames that were left out; None: there were too few to tell"""
    if driven.bare_erms is None:
        return None
    error = driven.whole_erms if driven.form == "whole" else driven.joints_erms
    return (driven.bare_erms - error) / max(driven.bare_erms - driven.keyed_erms, 1e-12)


def _serves(body: Body, found: tuple, least: float) -> bool:
    rig, driven, _ = found
    share = share_kept(driven)
    if share is None or not len(rig.fields) or _turns_normals(body, rig):
        return False
    error = driven.whole_erms if driven.form == "whole" else driven.joints_erms
    return share >= least and error <= (1 - LEAST_GAIN) * driven.bare_erms


def _turns_normals(body: Body, rig: native.Rig) -> bool:
    """Whether normals are worse with the fields than without"""
    poses = _less_held(body)
    some = [
        native.evaluate(*poses[:2], one, replay=False, triangles=poses[2]).normal_degrees
        for one in (rig.bare(), rig)
    ]
    return None not in some and some[1] > some[0] + _LEAST_TURN


def bytes_of(count: int, vertices: int, frames: int) -> int:
    return count * (_KEY_BYTES * vertices + _VALUE_BYTES * frames)


def _size(body: Body, count: int) -> str:
    vertices, frames = len(body.poses[0]), len(body.poses[1])
    size = bytes_of(count, vertices, frames)
    return f"{size_words(size)}, as much as {counted(round(size / _BONE_BYTES / frames), 'bone')}"


def _percent(info: native.Info, erms: float) -> str:
    """An E_RMS in an artist's words; info is of the same rest."""
    return f"{erms * info.rms_percent / info.erms if info.erms else 0.0:.3g} %"


def _keyed(body: Body, rig: native.Rig, worth: native.Corrected, info: native.Info, why: str = "") -> Found:
    held = _held_count(body)
    names = named(worth.joints.tolist()[held:], body.bones)
    gains = ", ".join(f"{gain:.2g}" for gain in worth.gains[:5])
    note = (
        f"{counted(held + len(names), 'corrective')}, keyed: error {info.rms_percent:.3g} % of the size,"
        f" {_percent(info, worth.bare_erms)} without; without each the error would rise by {gains} %."
        f" {_size(body, held + len(names))}.{_held_words(body)}{why}"
    )
    shapes = Shapes(names, rig.fields[held:], rig.coefficients[:, held:])
    return Found(shapes, note, rig.coefficients[:, :held])


def _held_words(body: Body) -> str:
    return f" {listed(body.held.names)}: as you made it, and the others around it." if body.held else ""


def _driven(body: Body, found: tuple) -> Found:
    rig, driven, info = found
    names = named(driven.joints.tolist(), body.bones)
    error = driven.whole_erms if driven.form == "whole" else driven.joints_erms
    note = (
        f"{counted(len(names), 'corrective')}, driven by {_FORMS[driven.form]}: error"
        f" {info.rms_percent:.3g} % of the size. On frames left out {_percent(info, error)},"
        f" {_percent(info, driven.bare_erms)} without, {_percent(info, driven.keyed_erms)} if keyed:"
        f" {100 * share_kept(driven):.0f} % of the gain. {_size(body, len(names))}.{_held_words(body)}"
    )
    bones = slice(len(body.bones))
    shapes = Shapes(names, rig.fields, rig.coefficients, driven.map[:, bones], driven.shifts[:, bones])
    return Found(shapes, note, None if body.held is None else body.held.values)


def _not_driven(body: Body, driven: native.Driven | None) -> str:
    if body.flexible:
        return " Not driven: flexible bones do not only turn."
    if driven is None or driven.bare_erms is None:
        return " Not driven: there are too few frames to tell whether that would serve others."
    share = share_kept(driven)
    return f" Not driven: on frames left out that would keep {100 * max(share, 0):.0f} % of the gain."


def _count_for(body: Body, wish: Wish) -> Generator[Step, None, int]:
    """How many to drive: with a budget as many as keyed ones need for it"""
    if wish.budget <= 0:
        return max(wish.count - _held_count(body), 1)
    rig, _, _ = yield from _within(body, wish, 0.0, 0.0, 0.3)
    return max(len(rig.fields) - _held_count(body), 1)


def solve(body: Body, wish: Wish) -> Generator[Step, None, Found]:
    """What the rig gets; what cannot be driven is keyed, and the note says so."""
    first, found = 0.0, None
    if wish.kind != "KEYED" and not body.flexible:
        count = yield from _count_for(body, wish)
        found = yield from _drive(body, count, 0.3 if wish.budget > 0 else 0.0, 0.6)
        first = 0.6
        if wish.kind == "DRIVEN" and _serves(body, found, 0.0):
            return _driven(body, found)
    keyed, worth, info = yield from _key(body, wish, first, 1.0)
    if wish.kind == "AUTO":
        share = info.erms / worth.bare_erms if worth.bare_erms > 0 else 1.0
        if body.held is None and (not len(worth.gains) or share > PAYS):
            count = max(len(worth.gains), 1)
            words = f"No correctives: {count} would leave {100 * share:.0f} % of the error, for"
            return Found(None, f"{words} {_size(body, count)}: bones are cheaper here.")
        if found is not None and _serves(body, found, KEPT_SHARE):
            return _driven(body, found)
    why = "" if wish.kind == "KEYED" else _not_driven(body, found and found[1])
    return _keyed(body, keyed, worth, info, why)
