"""The verbs of the library, each a call that returns when it is done."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

from . import header
from .arguments import address, whole
from .call import Call, Room, articulation, decomposition, progress_of
from .errors import refuse
from .loading import library
from .nouns import Evaluation, Info, Progress, Rig, Settings, Skeleton, Wishes, known

Watch = Callable[[Progress], object]


def _run(verb: str, call: Call, watch: Watch | None):
    """Runs a verb; an exception in `watch`, and Ctrl-C, end the call and are raised from here."""
    raised: list[BaseException] = []

    def watched(_user, progress) -> int:
        try:
            return int(bool(watch is not None and watch(progress_of(progress.contents))))
        except BaseException as error:  # raised again below: none may pass through C
            raised.append(error)
            return 1

    call.settings.watch = header.Watch(watched)
    began = time.perf_counter()
    getattr(library(), verb)(*call.refs())
    seconds = time.perf_counter() - began
    if raised:
        raise raised[0]
    return call.answer(seconds)


def decompose(
    rest,
    frames,
    triangles=None,
    settings: Settings | None = None,
    rig: Rig | None = None,
    watch: Watch | None = None,
) -> tuple[Rig, Info]:
    """Decomposes the motion into bones; `watch` sees the progress and cancels by a true value.

    rest [v][3] or None (a bind shape is made), frames [f][v][3], triangles [t][3] or None.
    """
    return _run("ossify_decompose", decomposition(rest, frames, triangles, settings, rig), watch)


def articulate(
    rest,
    frames,
    triangles,
    rig: Rig,
    skeleton: Skeleton,
    settings: Settings | None = None,
    watch: Watch | None = None,
    stretch: bool = False,
    held_joints=None,
) -> tuple[Rig, Skeleton, Info]:
    """Refits a whole rig so that its bones only turn about the skeleton's joints; roots also move.

    With `stretch`, joints may slide along the line from their parent's joint. held_joints [b]: true where
    the joint to the parent stays where it is.
    """
    call = articulation(rest, frames, triangles, rig, skeleton, settings, stretch, held_joints)
    return _run("ossify_articulate", call, watch)


def connect(
    rig: Rig, triangles=None, wishes: Wishes | None = None, settings: Settings | None = None
) -> Skeleton:
    """Joins the bones of a whole rig to a skeleton."""
    if (
        rig.transforms is None
        or rig.influence_bones is None
        or rig.influence_weights is None
        or rig.rest is None
    ):
        refuse("The rig lacks transforms, weights or its rest pose: only a whole rig has a skeleton.")
    call = Call(rig.rest, len(rig.transforms), triangles, settings)
    call.settings.bones = call.settings.influences = 1
    call.make_room(rig.released())
    call.room = Room(rig.bones, wishes or Wishes())
    library().ossify_connect(*call.refs())
    call.raise_refusal()
    return call.room.answer(call.message())


def _is_whole(rig: Rig) -> bool:
    return rig.transforms is not None and rig.influence_bones is not None


def bone_costs(rest, frames, triangles, rig: Rig, settings: Settings | None = None) -> np.ndarray:
    """[b] by how much rms_percent would rise were the bone lost and its vertices solved again without it."""
    if not _is_whole(rig):
        refuse("The rig lacks transforms or weights: only a whole rig's bones have a cost.")
    call = Call(rest, frames, triangles, settings)
    call.make_room(rig.released())
    costs = np.zeros(rig.bones)
    *structs, info = call.refs()
    library().ossify_bone_costs(*structs, address(costs), info)
    call.raise_refusal()
    return costs


def add_bone(
    rest,
    frames,
    triangles,
    rig: Rig,
    vertex: int | None = None,
    split: int | None = None,
    settings: Settings | None = None,
) -> Rig:
    """The rig with one bone more, the last; decompose() with it then makes all fit.

    It takes weights around `vertex`, or where the error is most; with `split`, from those vertices of that
    bone which move least like it. What is held stays, and no other bone's transform changes.
    """
    if not _is_whole(rig):
        refuse("The rig lacks transforms or weights: only a whole rig can be given a bone.")
    call = Call(rest, frames, triangles, settings)
    call.make_room(rig, more=1)
    place = [
        -1 if number is None else whole(name, number, "")
        for name, number in (("vertex", vertex), ("split", split))
    ]
    *structs, info = call.refs()
    library().ossify_add_bone(*structs, *place, info)
    grown, _ = call.answer(0.0)
    return grown


def evaluate(rest, frames, rig: Rig, replay: bool = True, triangles=None) -> Evaluation:
    """Replays the rig and measures it against the frames; replay=False leaves the replayed frames out.

    Only with triangles is there a surface to measure.
    """
    call = Call(rest, frames, triangles, None)
    if rig.transforms is None or rig.influence_bones is None or rig.influence_weights is None:
        refuse("The rig lacks transforms or weights: only a whole rig can be evaluated.")
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(rig.released())
    replayed = np.empty_like(call.frames) if replay else None
    vertex_error = np.zeros(call.frames.shape[1])
    frame_error = np.zeros(call.frames.shape[0])
    vertex_degrees = None if triangles is None else np.zeros(call.frames.shape[1])
    evaluation = header.sized(
        header.Evaluation,
        frames=address(replayed),
        vertex_error=address(vertex_error),
        frame_error=address(frame_error),
        vertex_degrees=address(vertex_degrees),
    )
    poses, _, rig_ref, info = call.refs()
    library().ossify_evaluate(poses, rig_ref, None, ctypes.byref(evaluation), info)
    call.raise_refusal()
    scalars = ("erms", "rms", "maximum", "diagonal", "radius", "worst_vertex", "worst_frame")
    return Evaluation(
        replayed,
        vertex_error,
        frame_error,
        *(getattr(evaluation, name) for name in scalars),
        vertex_degrees,
        known(evaluation.normal_degrees),
        known(evaluation.bumps),
        known(evaluation.rest_normal_degrees),
        known(evaluation.rest_bumps),
        evaluation.rest_moved,
    )
