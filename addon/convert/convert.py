"""The chain: capture, solve, build, measure. One generator serves the operator, the command and the tests.

    for step in convert(scene, view_layer, objects, Options()): ...     # the generator's value is a Result

The artist's scene is untouched until the last step; closing the generator, or an error in it, takes
everything back, also of several rigs (Options.each).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import NamedTuple

import bpy
import numpy as np

from .. import native
from ..base.handles import Handle, Place
from ..base.refusal import Refusal
from ..base.steps import Clock, Step, each, share_of, watch
from ..base.surface import vertex_areas
from ..motion import clips
from ..motion.capture import Motion
from ..native import animator
from ..nodes import volume
from ..options.options import Options
from ..record import memory
from ..record.rig_record import remember
from ..rig import report, standing, weights
from ..rig.build import Built, build, discard, hand_over, present
from ..skeleton import helpers, idle, joints, limbs, mirror, placement, rooting
from ..skeleton.mirror import Mirror
from . import apart, character, layering, subjects
from .correct import correct

_NOT_ALONG_X = (
    "The object's own X axis is not from side to side of this body, so no bone has a mirror image:"
    " Symmetry > Found looks for the plane."
)
_UNSEEN_PERCENT = 0.1  # of the size; joints may cost as much,
_LITTLE_MORE = 1.1  # or times the error of free bones
_FREE_SHARE = 0.6  # of the solving, before joints are made to hold
_FAINT_SHARE, _FAINT_ROUNDS = 0.03, 12  # of the solving, iterations: to do without faint bones
_NONE_RMS, _NONE_LARGEST = 0.01, 0.4  # percent of the size: no error that faint bones are kept for
_AS_GOOD = 1.01  # of the error, neither
_FAINT_WORDS = (
    "{gone} of {count} bones {were} the strongest on no vertex, or hardly any, and left: the rest does as"
    " well."
)


class Solved(NamedTuple):
    rig: native.Rig
    skeleton: native.Skeleton | None
    info: native.Info
    free: native.Info | None  # before its joints held; None: they do not
    mirror: Mirror | None = None  # of bones without a skeleton
    roles: np.ndarray | None = None  # [b] of an animator's skeleton: animator.CORE, HELPER

    @property
    def helps(self) -> np.ndarray | None:
        """[b] which are helpers; None: there is none"""
        return None if self.roles is None else self.roles == animator.HELPER


class Result(NamedTuple):
    armature: object
    meshes: list
    report: report.Report
    others: tuple = ()  # Results of the other rigs


class _Made(NamedTuple):
    """A rig in its workshop."""

    built: Built
    motion: Motion
    options: Options
    report: report.Report

    def result(self) -> Result:
        built = self.built
        return Result(built.armature.get(), [handle.get() for handle in built.meshes], self.report)


def _has_limbs(motion: Motion, options: Options, rig: native.Rig) -> bool:
    """Whether the bones shall hang from each other."""
    if options.skeleton != "AUTO":
        return options.skeleton != "NONE"
    if options.bone_kind == "FLEXIBLE":
        return False
    patches = placement.moves_patches(rig.rest, rig.dense_weights(), motion.triangles)
    if patches:
        motion.notes.append(character.SIDE_BY_SIDE)
    return not patches


def _note_plane(motion: Motion, options: Options, mirrors: np.ndarray) -> None:
    if options.symmetry == "X" and (mirrors < 0).all():
        motion.notes.append(_NOT_ALONG_X)


def _as_good(without: native.Info, with_them: native.Info, options: Options) -> bool:
    """Whether nobody sees that faint bones are gone."""
    same_rms = without.rms_percent <= max(_NONE_RMS, _AS_GOOD * with_them.rms_percent)
    same_largest = without.maximum_percent <= max(_NONE_LARGEST, _AS_GOOD * with_them.maximum_percent)
    return same_rms and same_largest and _keeps_budget(without, options)


def _without_faint(
    motion: Motion, options: Options, rig: native.Rig, info: native.Info, last: float
) -> Generator[Step, None, tuple[native.Rig, native.Info]]:
    """The rig without bones that are nowhere the strongest, if the others, solved again, do as well.

    All of them leave at once, since they make up for each other; or at least those that cost little at first
    sight.
    """
    faint = idle.faint(rig)
    if not faint.any():
        return rig, info
    poses = motion.rest, motion.frames, motion.triangles
    settings = dataclasses.replace(
        options.solver(), bones=rig.bones, budget_kind="none", budget=0.0, iterations=_FAINT_ROUNDS
    )
    cheap = faint & (native.bone_costs(*poses, rig, settings) <= _NONE_RMS)
    for gone in [faint, cheap] if cheap.any() and (cheap != faint).any() else [faint]:
        left = int((~gone).sum())
        # of the others the weights alone: their transforms were bent to those that go
        given = dataclasses.replace(idle.without(rig, gone), transforms=None)
        job = native.Job.start(native.decompose, *poses, dataclasses.replace(settings, bones=left), given)
        fitted, after = yield from watch(job, motion, last - _FAINT_SHARE, last)
        if _as_good(after, info, options):
            count = rig.bones - left
            were = "was" if count == 1 else "were"
            motion.notes.append(_FAINT_WORDS.format(gone=count, count=rig.bones, were=were))
            return fitted, after
    return rig, info


def _mirror(motion: Motion, options: Options, rig: native.Rig) -> Mirror | None:
    """Which bones are mirror images: a face has two sides, too."""
    if options.symmetry == "NONE" or options.bone_kind == "FLEXIBLE":
        return None
    found = native.connect(rig, motion.triangles, options.wishes())
    _note_plane(motion, options, found.mirrors)
    return None if found.plane is None else Mirror(found.plane, found.mirrors)


def _side_by_side(motion: Motion, options: Options, pieces) -> Generator[Step, None, Solved]:
    """Of pieces of a surface, in a norm that the chain of a body does without."""
    rig, _ = pieces
    settings = dataclasses.replace(options.solver(), bones=rig.bones, budget_kind="none", jointed=False)
    given = motion.rest, motion.frames, motion.triangles, settings, rig
    rig, info = yield from watch(native.Job.start(native.decompose, *given), motion, 0.5, 1.0)
    rig, _ = idle.leave(rig)
    return Solved(rig, None, info, None, _mirror(motion, options, rig))


def _solve(motion: Motion, options: Options, now: int) -> Generator[Step, None, Solved]:
    """now: the frame in which the artist started it"""
    if not character.is_meant(options):
        return (yield from _solve_plainly(motion, options, now))
    found = yield from character.solve(motion, options, now)
    if found.character is not None:
        rig, skeleton, roles, info, free, _ = found.character
        _note_plane(motion, options, skeleton.mirrors)
        skeleton = helpers.rehung(rig, skeleton, roles == animator.HELPER)
        return Solved(rig, skeleton, info, free, None, roles)
    if found.pieces is not None:
        motion.notes.append(found.why)
        if options.bones_by == "PARTS":
            return (yield from _side_by_side(motion, options, found.pieces))
    kind = "HIERARCHY" if found.pieces is None else "NONE"
    return (
        yield from _solve_plainly(motion, dataclasses.replace(options, skeleton=kind, bones_by="COUNT"), now)
    )


def _solve_plainly(motion: Motion, options: Options, now: int) -> Generator[Step, None, Solved]:
    """As many bones as there shall be, and then what joins them."""
    poses, settings = (motion.rest, motion.frames, motion.triangles), options.solver()
    may_hold = options.skeleton in ("ARTICULATED", "AUTO") and options.bone_kind == "RIGID"
    free_share = _FREE_SHARE if may_hold else 1.0
    job = native.Job.start(native.decompose, *poses, settings)
    rig, info = yield from watch(job, motion, 0.0, free_share - _FAINT_SHARE)
    rig, _ = idle.leave(rig)
    if not _has_limbs(motion, options, rig):
        return Solved(rig, None, info, None, _mirror(motion, options, rig))
    rig, left = yield from _without_faint(motion, options, rig, info, free_share)
    wishes = options.wishes(root=rooting.chosen(options, motion, rig, now))
    settings = dataclasses.replace(settings, bones=rig.bones, budget_kind="none", budget=0.0)  # found by now
    skeleton = rooting.connect(rig, motion.triangles, wishes, settings)
    _note_plane(motion, options, skeleton.mirrors)
    loose = Solved(rig, skeleton, left, None)
    if not may_hold or (options.skeleton == "AUTO" and joints.mostly_guessed(skeleton.kinds)):
        return loose
    job = native.Job.start(native.articulate, *poses, rig, skeleton, settings)
    rig, skeleton, refitted = yield from watch(job, motion, free_share, 1.0)
    if options.skeleton == "AUTO" and not _costs_little(refitted, info, options):
        return loose
    return Solved(*idle.leave(rig, skeleton), refitted, info)


def _costs_little(held: native.Info, free: native.Info, options: Options) -> bool:
    """Whether joints may hold without an error that an artist sees, or said to be too large."""
    little = held.rms_percent <= max(_UNSEEN_PERCENT, _LITTLE_MORE * free.rms_percent)
    return little and _keeps_budget(held, options)


def _keeps_budget(info: native.Info, options: Options) -> bool:
    """Of the error, if the artist gave one."""
    left = {"RMS": info.rms_percent, "MAXIMUM": info.maximum_percent, "NORMALS": info.normal_degrees}
    return options.bones_by != "BUDGET" or left[options.budget_of] <= options.budget


def _chosen(options: Options, solved: Solved) -> Options:
    """With the skeleton that was made and the influences that were needed, where they were left to the
    motion."""
    if options.influences_by == "AUTO":
        most = int((solved.rig.influence_bones >= 0).sum(axis=1).max())
        options = dataclasses.replace(options, influences_by="COUNT", influences=most)
    if options.skeleton != "AUTO":
        return options
    kind = "NONE" if solved.skeleton is None else "HIERARCHY" if solved.free is None else "ARTICULATED"
    if solved.roles is not None:
        kind = "ANIMATOR"
    return dataclasses.replace(options, skeleton=kind)


def _space(motion: Motion, options: Options, rig: native.Rig) -> Generator[Step, None, native.Space | None]:
    """What keeps the volume, if that is wished for."""
    if not options.keep_volume:
        return None
    given = volume.fitting(rig.rest, motion.frames, motion.triangles, rig, options.threads)
    _, space, _ = yield from watch(native.Job.start(native.animation_space, *given), motion, 1.0, 1.0)
    return space


def _keep_volume(built, motion: Motion, rig: native.Rig, space: native.Space | None, measured) -> None:
    """Onto the finished rig, and into its report."""
    if space is None:
        return
    armature, meshes = built.armature.get(), [handle.get() for handle in built.meshes]
    skin = standing.read_skin(armature, built.bones, meshes)
    moved = native.Space(space.bones[skin.moved], space.corrections[skin.moved])
    kinds = {bpy.types.Object: "objects", bpy.types.Mesh: "meshes"}
    for block in volume.put(armature, built.bones, skin, moved):
        built.made.append(Handle.of(kinds.get(type(block), "node_groups"), block))
    measured.volume = volume.worth(rig.rest, motion.frames, rig, space, measured.size)
    volume.note(armature, measured.volume)


_LIMBS = 3  # of a body, before one of them can hang from a wrong one
_FOREIGN_WORDS = (
    "{bone} hangs from {other}, a bone of another limb: keep them apart in Skeleton, and Update Skeleton."
)


def _shares_below(motion: Motion, rig: native.Rig, roles: np.ndarray, skeleton) -> np.ndarray:
    """[core] of the surface, what each bone of a core and all that hangs from it moves"""
    areas, helps = vertex_areas(rig.rest, motion.triangles), roles == animator.HELPER
    moved = areas @ helpers.led(rig.dense_weights().astype(np.float64), skeleton.parents, helps)
    return limbs.masses_below(skeleton.parents[: len(moved)], moved / max(moved.sum(), 1e-30))


def _watch_over(
    built: Built, motion: Motion, solved: Solved, measured: report.Report
) -> Generator[Step, None, None]:
    """Into the report: where bones that an animator sees go, and which hang from limbs not their own."""
    if solved.skeleton is None or motion.rest is None:
        return
    roles = np.full(solved.rig.bones, animator.CORE) if solved.roles is None else solved.roles
    given = motion.rest, motion.frames, motion.triangles, solved.rig, solved.skeleton, roles
    seen = yield from character.watched(animator.looks(*given), motion)
    core = slice(len(built.skeleton.parents))
    columns = {name: getattr(seen, name)[core] for name in seen._fields[:7]}
    measured.conduct = seen._replace(**columns)
    skeleton, others = built.skeleton, measured.conduct.foreign.copy()
    others[others == skeleton.root] = -1  # what hangs from the root hangs from the body
    if seen.limb_count < _LIMBS:
        others[:] = -1
    aside = mirror.lopsided(skeleton, _shares_below(motion, solved.rig, roles, solved.skeleton))
    others[aside] = skeleton.parents[aside]
    for b in np.flatnonzero(others >= 0):
        if not any(others[up] >= 0 for up in limbs.above(skeleton.parents, b)):  # that is told of first
            names = {"bone": built.bones[b], "other": built.bones[others[b]]}
            measured.notes.append(_FOREIGN_WORDS.format(**names))


def _make(place: Place, handles: list[Handle], options: Options) -> Generator[Step, None, _Made]:
    """One rig, whole, in its workshop."""
    scene, layer = place.get()
    clock, now = Clock(), scene.frame_current
    objects = [handle.get() for handle in handles]
    motion = yield from each("Reading", clips.read(scene, layer, objects, options))
    clock.lap("capture")
    solved = yield from apart.solve(motion, options, now, _solve, Solved)
    return (yield from _finish(motion, solved, options, clock))


def _finish(
    motion: Motion, solved: Solved, options: Options, clock: Clock, plan=None
) -> Generator[Step, None, _Made]:
    """What was solved as a rig that is measured and remembers; plan: where bones lie, if that is known"""
    if options.bone_kind != "FLEXIBLE":  # whose transforms may be so large that faint weights count
        solved = solved._replace(rig=weights.without_faint(solved.rig))
    space = yield from _space(motion, options, solved.rig)
    clock.lap("solve")
    options = _chosen(options, solved)
    layers = None
    if options.virtual_bones:
        bones, layers = yield from layering.solve(motion, solved.rig, solved.skeleton, options)
        solved = solved._replace(rig=bones)
        clock.lap("virtual bones")
    given = motion, solved.rig, options, solved.skeleton, solved.mirror, solved.helps, plan
    built = yield from each("Building", build(*given))
    clock.lap("build")
    try:
        rig, info = solved.rig, solved.info
        if layers is not None:
            rig, info = layering.build(built, motion, rig, layers, info)
        if options.correctives != "OFF":
            rig, info = yield from correct(built, motion, rig, info, options)
            clock.lap("correctives")
        measured = yield from each("Measuring", report.measure(built, motion, rig, info, solved.free))
        measured.bones = solved.rig.bones
        measured.helpers = 0 if solved.helps is None else int(solved.helps.sum())
        yield from _watch_over(built, motion, solved, measured)
        clock.lap("measure")
        measured.seconds = clock.seconds
        _keep_volume(built, motion, solved.rig, space, measured)
        remember(built, motion, options, measured)
        memory.begin(built, motion, options)
    except BaseException:
        discard(built.made)
        raise
    return _Made(built, dataclasses.replace(motion, frames=motion.frames[:0]), options, measured)


def _make_family(place: Place, handles: list[Handle], options: Options, made: list[_Made]) -> Generator:
    """A rig for each body, into `made`: what is there when an error comes is taken back."""
    scene, layer = place.get()
    clock, now = Clock(), scene.frame_current
    steps = subjects.read(scene, layer, [handle.get() for handle in handles], options)
    motions = yield from each("Reading", steps)
    clock.lap("capture")
    family = yield from subjects.solve(motions, options, now)
    for number, (motion, one) in enumerate(zip(motions, family, strict=True)):
        solved = Solved(one.rig, one.plan.skeleton, one.info, one.free)
        own = dataclasses.replace(
            options, clips="TAKES" if motion.clips else "ONE", skeleton=one.skeleton, each=False
        )
        lap = Clock()
        lap.seconds |= clock.seconds
        steps = _finish(motion, solved, own, lap, one.plan)
        made.append((yield from share_of(steps, number, len(motions))))


def own_trouble(objects) -> str | None:
    """Why meshes of a rig are not converted, in one sentence; None when none of them is of a rig."""
    for obj in objects:
        rig = obj.parent if obj.type == "MESH" else None
        if standing.is_rig(rig) and obj in standing.meshes_of(rig):
            return f"{obj.name} is moved by the rig {rig.name}: Convert Again starts from the rig's source."
    return None


def convert(scene, view_layer, objects, options: Options) -> Generator[Step, None, Result]:
    """The first object gives the rig its place and its name; each has a rig of its own if asked for."""
    native.library()  # refuses at once when it is not there
    memory.check(options)
    trouble = own_trouble(objects)
    if trouble:
        raise Refusal(trouble)
    place, handles = Place.of(scene, view_layer), [Handle.of("objects", obj) for obj in objects]
    apart = options.each and options.clips not in ("TAKES", "SUBJECTS")
    groups = [[handle] for handle in handles] if apart else [handles]
    made: list[_Made] = []
    try:
        if options.clips == "SUBJECTS":
            yield from _make_family(place, handles, options, made)
            groups = []
        for number, group in enumerate(groups):
            steps = _make(place, group, options)
            made.append((yield from share_of(steps, number, len(groups))))
        for one in made:
            hand_over(one.built, one.motion, one.options)
    except BaseException:
        for one in made:
            discard(one.built.made)
        raise
    first, *others = (one.result() for one in made)
    rigs = [first, *others]
    meshes = [mesh for rig in rigs for mesh in rig.meshes]
    present(place.get()[1], [rig.armature for rig in rigs] + meshes)
    return first._replace(others=tuple(others))
