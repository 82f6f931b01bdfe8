"""An animator's skeleton for a body: the chain of native/animator.py, watched verb by verb.

    pieces, core, helpers        as docs/animator.md says
    surface                      the pieces move patches of cloth or skin: no skeleton, the pieces themselves
    jelly                        hardly a bone is left that stays in the body: the same
    slides                       joints that hold cost so much that there are none: bones move as they like

The last three end the chain early, or throw its answer away, where the skeleton was left to the motion.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from .. import native
from ..base.steps import Step, watch
from ..motion.capture import Motion
from ..native import animator
from ..options.options import Options
from ..skeleton import placement, rooting

SIDE_BY_SIDE = (
    "The bones move patches of a surface, not parts of a body, so they hang side by side:"
    " Skeleton > Hierarchy joins them all the same."
)
_JELLY = (
    "The body bends everywhere, so that bones with joints would leave it, and they hang side by side:"
    " Skeleton > Animator joins them all the same."
)
_HARDLY_ANY = 5  # bones of a core: fewer are no skeleton to animate with
_LOOSE, _MUCH_MORE = 0.5, 6.0  # percent of the size; of the error of free pieces: joints may cost as much


class Found(NamedTuple):
    """What a body came to: a character, or pieces of a surface, or neither, since its joints do not hold."""

    character: animator.Character | None = None
    pieces: tuple[native.Rig, native.Info] | None = None
    why: str = ""  # there are pieces


def is_meant(options: Options) -> bool:
    """Whether the chain is asked for; with a budget, or bones that stretch, it is not."""
    auto = options.skeleton == "AUTO" and options.bones_by != "BUDGET" and options.bone_kind == "RIGID"
    return options.skeleton == "ANIMATOR" or auto


def _connect(motion: Motion, options: Options, now: int) -> animator.Connect:
    """now: the frame in which the artist started it"""

    def connect(rig: native.Rig, settings: native.Settings) -> native.Skeleton:
        wishes = options.wishes(root=rooting.chosen(options, motion, rig, now))
        return animator.connect_balanced(motion.triangles, wishes)(rig, settings)

    return connect


def _ask(ask: animator.Ask, motion: Motion) -> Generator[Step, None, object]:
    job = native.Job.start(ask.verb, *ask.arguments, **ask.named)
    return (yield from watch(job, motion, ask.begin, ask.end))


def watched(steps: Generator, motion: Motion) -> Generator[Step, None, object]:
    """One verb after the other; what the steps come to."""
    answer = None
    while True:
        try:
            ask = steps.send(answer)
        except StopIteration as end:
            return end.value
        answer = yield from _ask(ask, motion)


def _most_helpers(options: Options) -> int:
    return options.helper_count if options.helpers == "COUNT" else animator.MOST_IN_ALL


def _slides(found: animator.Character) -> bool:
    """Whether parts move past each other, so that joints that hold are wrong."""
    return found.info.rms_percent > max(_LOOSE, _MUCH_MORE * found.pieces.rms_percent)


def _is_jelly(motion: Motion, found: animator.Character) -> Generator[Step, None, bool]:
    """Whether hardly a bone was left that stays in the body, and not even these do."""
    core = found.roles == animator.CORE
    if core.all() or core.sum() >= _HARDLY_ANY:
        return False
    given = motion.rest, motion.frames, motion.triangles, found.rig, found.skeleton
    seen = yield from _ask(animator.Ask(native.inspect, given, {}, 1.0, 1.0), motion)
    return bool(seen.excesses[core].max() > animator.FLIES)


def _judged(
    motion: Motion, options: Options, found: animator.Character, pieces
) -> Generator[Step, None, Found]:
    if options.skeleton == "AUTO":
        if _slides(found):
            return Found()
        if options.bones_by == "PARTS" and (yield from _is_jelly(motion, found)):
            return Found(pieces=pieces, why=_JELLY)
    return Found(character=_core_first(found))


def solve(motion: Motion, options: Options, now: int) -> Generator[Step, None, Found]:
    poses, auto = (motion.rest, motion.frames, motion.triangles), options.skeleton == "AUTO"
    settings = dataclasses.replace(options.solver(), bones=animator.PIECES)
    count = options.bones if options.bones_by == "COUNT" else 0
    helpers, most = options.helpers != "OFF", _most_helpers(options)
    connect = _connect(motion, options, now)
    steps = animator.steps(*poses, settings, count, helpers, connect, most)
    ask, pieces = next(steps), None
    while True:
        answer = yield from _ask(ask, motion)
        if pieces is None:
            pieces = answer
            rig = pieces[0]
            if auto and placement.moves_patches(rig.rest, rig.dense_weights(), motion.triangles):
                steps.close()
                return Found(pieces=pieces, why=SIDE_BY_SIDE)
        try:
            ask = steps.send(answer)
        except StopIteration as end:
            return (yield from _judged(motion, options, end.value, pieces))


def _core_first(found: animator.Character) -> animator.Character:
    """The chain has them so; what is laid and named relies on it."""
    assert (np.diff(found.roles) >= 0).all()
    return found
