"""The verbs of the library, one row each: a function that fills a call, and what is read from it then.

A verb is called, which returns when it is done, or started as a job (job.py).
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable

import numpy as np

from . import header
from .arguments import address, as_array, flag, noun, real, whole
from .call import Call, Figures, Following, Room, Worth, progress_of
from .errors import refuse
from .loading import library
from .nouns import Correction, Driving, Progress, Rig, Settings, Skeleton, Wishes

Watch = Callable[[Progress], object]


class Verb:
    """A verb that can be called; `watch` sees the progress and cancels by a true value."""

    def __init__(self, fill: Callable[..., Call], read: Callable[[Call, float], object]):
        functools.update_wrapper(self, fill)
        self.fill = fill
        self._read = read

    def __call__(self, *arguments, watch: Watch | None = None, **named):
        call = self.fill(*arguments, **named)
        began = time.perf_counter()
        self._run(call, watch)
        return self.answer(call, time.perf_counter() - began)

    def _run(self, call: Call, watch: Watch | None) -> None:
        """An exception in `watch`, and Ctrl-C, end the call and are raised from here."""
        raised: list[BaseException] = []

        def watched(_user, progress) -> int:
            try:
                return int(bool(watch is not None and watch(progress_of(progress.contents))))
            except BaseException as error:  # raised again below: none may pass through C
                raised.append(error)
                return 1

        call.settings.watch = header.Watch(watched)
        library().ossify_run(ctypes.byref(self.request(call)), ctypes.byref(call.info))
        if raised:
            raise raised[0]

    def request(self, call: Call) -> header.Request:
        return call.request(self.__name__)

    def answer(self, call: Call, seconds: float):
        call.raise_refusal()
        return self._read(call, seconds)


def _verb(read: Callable[[Call, float], object]) -> Callable[[Callable[..., Call]], Verb]:
    return lambda fill: Verb(fill, read)


def _whole(rig: Rig, purpose: str) -> Rig:
    rig = noun("rig", rig, Rig)
    if rig.transforms is None or rig.influence_bones is None or rig.influence_weights is None:
        refuse(f"The rig lacks transforms or weights: only a whole rig {purpose}.")
    return rig


@_verb(lambda call, seconds: (call.rig_found(), call.info_found(seconds)))
def decompose(rest, frames, triangles=None, settings: Settings | None = None, rig: Rig | None = None) -> Call:
    """Decomposes the motion into bones: the rig and how it went.

    rest [v][3] or None (a bind shape is made), frames [f][v][3], triangles [t][3] or None.
    """
    call = Call(rest, frames, triangles, settings)
    call.make_room(rig)
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.skeleton_found(), call.info_found(seconds)))
def articulate(
    rest,
    frames,
    triangles,
    rig: Rig,
    skeleton: Skeleton,
    settings: Settings | None = None,
    stretch: bool = False,
    held_joints=None,
) -> Call:
    """Refits a whole rig so that its bones only turn about the skeleton's joints; roots also move.

    Gives the rig, the skeleton and how it went. With `stretch`, joints may slide along the line from their
    parent's joint. held_joints [b]: true where the joint to the parent stays where it is.
    """
    call = Call(rest, frames, triangles, settings)
    call.make_room(noun("rig", rig, Rig))
    call.room = Room.holding(skeleton, call.rig.bones, stretch, held_joints)
    return call


@_verb(lambda call, _seconds: call.skeleton_found())
def connect(rig: Rig, triangles=None, wishes: Wishes | None = None, settings: Settings | None = None) -> Call:
    """Joins the bones of a whole rig to a skeleton."""
    if _whole(rig, "has a skeleton").rest is None:
        refuse("The rig lacks its rest pose: only a whole rig has a skeleton.")
    transforms = as_array("rig.transforms", rig.transforms, np.float64, "fbrc", (None, None, 3, 4))
    call = Call(rig.rest, None, triangles, settings, frame_count=len(transforms))
    call.settings.bones = call.settings.influences = 1
    call.make_room(rig.released())
    call.room = Room(call.rig.bones, noun("wishes", wishes, Wishes, optional=True))
    return call


@_verb(lambda call, _seconds: call.costs)
def bone_costs(rest, frames, triangles, rig: Rig, settings: Settings | None = None) -> Call:
    """[b] by how much rms_percent would rise were the bone lost and its vertices solved again without it."""
    call = Call(rest, frames, triangles, settings)
    call.make_room(_whole(rig, "has bones with a cost").released())
    call.costs = np.zeros(call.rig.bones)
    call.result = header.sized(header.Costs, costs=address(call.costs))
    return call


@_verb(lambda call, _seconds: call.rig_found())
def add_bone(
    rest,
    frames,
    triangles,
    rig: Rig,
    vertex: int | None = None,
    split: int | None = None,
    settings: Settings | None = None,
) -> Call:
    """The rig with one bone more, the last; decompose() with it then makes all fit.

    It takes weights around `vertex`, or where the error is most; with `split`, from those vertices of that
    bone which move least like it. What is held stays, and no other bone's transform changes.
    """
    call = Call(rest, frames, triangles, settings)
    call.make_room(_whole(rig, "can be given a bone"), more=1)
    call.options = header.sized(
        header.Place,
        vertex=-1 if vertex is None else whole("vertex", vertex, ""),
        split=-1 if split is None else whole("split", split, ""),
    )
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.info_found(seconds)))
def prune_weights(
    rest, frames, triangles, rig: Rig, influences: int, settings: Settings | None = None
) -> Call:
    """The rig with at most so many influences a vertex, those whose loss costs least gone; and how it went.

    What is held stays.
    """
    call = Call(rest, frames, triangles, settings)
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(_whole(rig, "can be pruned"))
    call.options = header.sized(header.Fewer, influences=whole("influences", influences, ""))
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.info_found(seconds)))
def smooth_weights(
    rest,
    frames,
    triangles,
    rig: Rig,
    budget: float,
    influences: int = 4,
    rounds: int = 5,
    settings: Settings | None = None,
) -> Call:
    """The rig with weights smoothed over the surface, most where the motion does not care; and how it went.

    The root mean square distance rises by no more than the budget, in the units of the frames. A vertex stays
    within `influences`, or those it has when they are more; what is held stays.
    """
    call = Call(rest, frames, triangles, settings)
    call.settings.bones = 1
    call.settings.influences = most = whole("influences", influences, "")
    call.make_room(_whole(rig, "can be smoothed"))
    call.options = header.sized(
        header.Smoother,
        influences=most,
        rounds=whole("rounds", rounds, ""),
        budget=real("budget", budget, ""),
    )
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.worth_found(), call.info_found(seconds)))
def correct(
    rest,
    frames,
    triangles,
    rig: Rig,
    correction: Correction | None = None,
    settings: Settings | None = None,
    parents=None,
    held_coefficients=None,
) -> Call:
    """The rig with correctives: fields and coefficients of what its bones miss. And what each is worth.

    Fields that the rig already has are held, and the others are solved around them; held_coefficients [n]:
    true where their coefficients stay, too. parents [b] tell joints apart (support "joints").
    """
    correction = noun("correction", correction, Correction, optional=True)
    call = Call(rest, frames, triangles, settings)
    room = min(max(whole("count", correction.count, "correction."), 0), header.MAX_CORRECTIVES)
    call.make_room(_whole(rig, "can be corrected"), correctives=room)
    call.worth = Worth(call, correction, parents, held_coefficients)
    call.options, call.result = call.worth.options, call.worth.result
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.following_found(), call.info_found(seconds)))
def drive(
    rest,
    frames,
    triangles,
    rig: Rig,
    parents,
    driving: Driving | None = None,
    settings: Settings | None = None,
) -> Call:
    """The rig with correctives that follow the bones, how they do, and what that is worth on frames left out.

    parents [b], -1 at a root. The rig's coefficients are those that its transforms drive.
    """
    driving = noun("driving", driving, Driving, optional=True)
    call = Call(rest, frames, triangles, settings)
    counts = (whole(name, getattr(driving, name), "driving.") for name in ("count", "joint_count"))
    room = min(max(*counts, 0), header.MAX_CORRECTIVES)
    call.make_room(_whole(rig, "can be driven").bare(), correctives=room)
    call.following = Following(call, driving, parents)
    call.options, call.result = call.following.options, call.following.result
    return call


@_verb(lambda call, _seconds: call.figures.answer())
def evaluate(rest, frames, rig: Rig, replay: bool = True, triangles=None) -> Call:
    """Replays the rig and measures it against the frames; replay=False leaves the replayed frames out.

    Only with triangles is there a surface to measure.
    """
    call = Call(rest, frames, triangles, None)
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(_whole(rig, "can be evaluated").released())
    call.figures = Figures(call.frames, flag("replay", replay, ""), call.triangles is not None)
    return call
