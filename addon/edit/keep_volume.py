"""Keep Volume on a rig that stands: fitted to its motion and put on, taken off, bound anew after a copy."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from .. import native
from ..base.refusal import Refusal
from ..base.steps import Step, step, watch
from ..base.words import counted
from ..nodes import volume
from . import edits


class Kept(NamedTuple):
    """What was done."""

    meshes: int
    fit: volume.Fit

    def words(self) -> str:
        return f"{counted(self.meshes, 'mesh')}, {self.fit.words()}"


def add(context, armature) -> Generator[Step, None, Kept]:
    """Fits corrections to the rig as it is, and shows them by a modifier after the Armature; what is there is
    fitted again, and keeps its strength. Weights, rest and keys stay."""
    edits.check(armature)
    subject = yield from edits.read(context, armature)
    rig = subject.rig(subject.skin.weights[subject.skin.moved])
    given = volume.fitting(rig.rest, subject.frames, subject.triangles, rig, subject.options.threads)
    yield step("Solving", 0.0)
    _, space, _ = yield from watch(native.Job.start(native.animation_space, *given), subject, 0.0, 1.0)
    fit = volume.worth(rig.rest, subject.frames, rig, space, subject.size)
    yield step("Building", 0.0)
    edits.wake(subject)
    armature = subject.armature
    volume.put(armature, subject.names, subject.skin, space)
    volume.note(armature, fit)
    subject.place.get()[1].update()
    return Kept(len(subject.skin.handles), fit)


def _check(armature) -> None:
    edits.check(armature)
    if not volume.is_on(armature):
        raise Refusal(f"{armature.name} has no Keep Volume.")


def remove(armature) -> int:
    """The armature alone again; from how many meshes it was taken."""
    _check(armature)
    volume.note(armature, None)
    return volume.remove(armature)


def rebind(armature) -> int:
    """After the rig was copied: its meshes follow its own bones; how many did not."""
    _check(armature)
    return volume.rebind(armature)
