"""The verbs of the library, one row each: a function that fills a call, and what is read from it then.

A verb is called, which returns when it is done, or started as a job (job.py).
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import time
from collections.abc import Callable

import numpy as np

from . import header
from .arguments import address, as_array, choice, flag, items, noun, real, whole
from .call import (
    Call,
    Crowd,
    Family,
    Figures,
    Folds,
    Following,
    Graft,
    Poses,
    Room,
    Sheet,
    Sight,
    Slots,
    Worth,
    progress_of,
)
from .errors import refuse
from .loading import library
from .nouns import (
    Compression,
    Correction,
    Driving,
    Progress,
    Rig,
    Settings,
    Skeleton,
    Space,
    SpaceFit,
    Unwrapping,
    Wishes,
)

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
def decompose(
    rest, frames, triangles=None, settings: Settings | None = None, rig: Rig | None = None, subject=None
) -> Call:
    """Decomposes the motion into bones: the rig and how it went.

    rest [v][3] or None (a bind shape is made), frames [f][v][3], triangles [t][3] or None. Of several bodies
    with shared weights subject [f] says whose frame it is, and rest, the rig's too, is [s][v][3].
    """
    call = Call(rest, frames, triangles, settings, subject=subject)
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
    stiffness=None,
    subject=None,
) -> Call:
    """Refits a whole rig so that its bones only turn about the skeleton's joints; roots also move.

    Gives the rig, the skeleton and how it went. With `stretch`, joints may slide along the line from their
    parent's joint. held_joints [b]: true where the joint to the parent stays where it is. stiffness [b]:
    above 0 where that joint does not hold, but is pulled together so strongly. subject as for decompose():
    every body by itself, about joints of its own, joints [s][b][3], weights and rests held.
    """
    call = Call(rest, frames, triangles, settings, subject=subject)
    call.make_room(noun("rig", rig, Rig))
    call.room = Room.holding(skeleton, call.rig.bones, stretch, held_joints, stiffness, call.bodies)
    return call


@_verb(lambda call, _seconds: call.skeleton_found())
def connect(
    rig: Rig,
    triangles=None,
    wishes: Wishes | None = None,
    settings: Settings | None = None,
    subject=None,
) -> Call:
    """Joins the bones of a whole rig to a skeleton; of several subjects with joints [s][b][3]."""
    if _whole(rig, "has a skeleton").rest is None:
        refuse("The rig lacks its rest pose: only a whole rig has a skeleton.")
    transforms = as_array("rig.transforms", rig.transforms, np.float64, "fbrc", (None, None, 3, 4))
    call = Call(rig.rest, None, triangles, settings, frame_count=len(transforms), subject=subject)
    call.settings.bones = call.settings.influences = 1
    call.make_room(rig.released())
    call.room = Room(call.rig.bones, noun("wishes", wishes, Wishes, optional=True), call.bodies)
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
    subject=None,
) -> Call:
    """The rig with correctives: fields and coefficients of what its bones miss. And what each is worth.

    Fields that the rig already has are held, and the others are solved around them; held_coefficients [n]:
    true where their coefficients stay, too. parents [b] tell joints apart (support "joints"). subject as for
    decompose(): bodies share fields, rests and bones stay, and bare_erms is by the size of the first.
    """
    correction = noun("correction", correction, Correction, optional=True)
    call = Call(rest, frames, triangles, settings, subject=subject)
    room = min(max(whole("count", correction.count, "correction."), 0), header.MAX_CORRECTIVES)
    call.make_room(_whole(rig, "can be corrected"), correctives=room)
    call.worth = Worth(call, correction, parents, held_coefficients)
    call.options, call.result = call.worth.options, call.worth.result
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.space_found(), call.info_found(seconds)))
def animation_space(
    rest,
    frames,
    triangles,
    rig: Rig,
    fit: SpaceFit | None = None,
    settings: Settings | None = None,
    space: Space | None = None,
    parents=None,
    joints=None,
) -> Call:
    """A rest position of every vertex for each of its bones, as corrections of a whole rig; and how it went.

    With a space, its corrections stay and the bones are solved, from those of the rig on. With parents [b]
    and joints [b][3], bones that are solved only turn about their joints; roots (-1) also move.
    """
    fit = noun("fit", fit, SpaceFit, optional=True)
    call = Call(rest, frames, triangles, settings)
    call.make_room(_whole(rig, "has an animation space").bare())
    call.slots = Slots(call, space, call.rig.influences)
    call.options = fit.struct()
    call.slots.hang(call.options, call.rig.bones, parents, joints)
    return call


def _dense(rig: Rig) -> Rig:
    """With room for all of its bones a vertex."""
    bones = as_array("rig.influence_bones", rig.influence_bones, np.int32, "vk", (None, None))
    weights = as_array("rig.influence_weights", rig.influence_weights, np.float32, "vk", bones.shape)
    return dataclasses.replace(rig, influence_bones=bones, influence_weights=weights).widened(rig.bones)


@_verb(lambda call, seconds: (call.rig_found(), call.layers_found(), call.info_found(seconds)))
def compress(
    rest,
    frames,
    triangles,
    rig: Rig,
    compression: Compression | None = None,
    settings: Settings | None = None,
) -> Call:
    """Weights of many bones as two layers of few: the rig, its virtual bones, and how it went.

    The rig may have any number of influences a vertex. Its own motion need not be there: without frames and
    transforms the weights alone are met. Without virtual bones the rig comes back with dense weights.
    """
    compression = noun("compression", compression, Compression, optional=True)
    noun("rig", rig, Rig)
    if frames is None and rig.transforms is None and rest is not None:
        rig = dataclasses.replace(rig, transforms=np.tile(np.eye(3, 4), (1, max(rig.bones, 1), 1, 1)))
        frames = [rest]
    call = Call(rest, frames, triangles, settings)
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    rig = _whole(rig, "can be compressed")
    if whole("virtual_bones", compression.virtual_bones, "compression.") == 0:
        rig = _dense(rig)
    call.make_room(rig, most=header.MAX_BONES)
    call.folds = Folds(call.shape[1], compression)
    call.options, call.result = call.folds.options, call.folds.result
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
    pivots=None,
) -> Call:
    """The rig with correctives that follow the bones, how they do, and what that is worth on frames left out.

    parents [b], -1 at a root; pivots [b][3], where bones turn: how they shift from there may drive, too.
    The rig's coefficients are those that its transforms drive.
    """
    driving = noun("driving", driving, Driving, optional=True)
    call = Call(rest, frames, triangles, settings)
    counts = (whole(name, getattr(driving, name), "driving.") for name in ("count", "joint_count"))
    room = min(max(*counts, 0), header.MAX_CORRECTIVES)
    call.make_room(_whole(rig, "can be driven").bare(), correctives=room)
    call.following = Following(call, driving, parents, pivots)
    call.options, call.result = call.following.options, call.following.result
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.united_found(), call.info_found(seconds)))
def unite(
    rest,
    frames,
    subject,
    triangles=None,
    settings: Settings | None = None,
    joined: bool = True,
    rig: Rig | None = None,
) -> Call:
    """One rig for several subjects: the rig, what belongs to each subject, and how it went.

    rest [s][v][3], frames [f][v][3], subject [f] whose frame it is. Transforms go from its own rest. joined:
    bones are joined to one tree, with joints of each subject's own. A rig gives weights to start from.
    """
    rest = as_array("rest", rest, np.float32, "svx", (None, None, 3))
    if not len(rest):
        refuse("rest holds no subject: at least one is needed.")
    call = Call(rest[0], frames, triangles, settings)
    call.make_room(noun("rig", rig, Rig, optional=True).released())
    call.crowd = Crowd(call, rest, subject, joined)
    call.options, call.result = call.crowd.options, call.crowd.result
    return call


@_verb(lambda call, seconds: (call.rig_found(), call.info_found(seconds)))
def shape_bones(
    bodies,
    triangles=None,
    settings: Settings | None = None,
    kind: str = "rigid",
    mean=None,
    rig: Rig | None = None,
) -> Call:
    """Bones that turn a mean body into each of many: the rig of the mean, and how it went.

    bodies [s][v][3], all in the same pose; the rig's transforms [s][b][3][4] go to each. kind: "rigid", or
    "scaled" along the axes of the mean, too. mean [v][3]; None: found. With a rig its weights and its rest
    stay, and the bones of these bodies alone are solved.
    """
    call = Call(None if rig is not None else mean, bodies, triangles, settings)
    held = noun("rig", rig, Rig, optional=True)
    if rig is not None:
        if held.influence_bones is None or held.rest is None:
            refuse("The rig lacks weights or its rest: both tell which bones a body shall have.")
        held = Rig(None, held.influence_bones, held.influence_weights, held.rest)
        call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(held)
    call.options = header.sized(
        header.Shaping, kind=choice("kind", kind, header.SHAPE_KINDS, ""), held=rig is not None
    )
    return call


def _parted(call: Call, name: str, rig: Rig, transforms) -> Rig:
    """Weights of a rig, and transforms, as arrays."""
    if rig.influence_bones is None or rig.influence_weights is None:
        refuse(f"The {name} rig lacks weights: they tell what its bones move.")
    return call.checked(Rig(transforms, rig.influence_bones, rig.influence_weights))


@_verb(lambda call, seconds: (call.rig_found(), call.merged_found(), call.info_found(seconds)))
def merge(
    rest,
    frames,
    subject,
    pose: Rig,
    parents,
    joints,
    shape: Rig,
    triangles=None,
    settings: Settings | None = None,
    tree: str = "spanned",
    leaves: int | None = None,
    shape_parents=None,
) -> Call:
    """Pose bones and shape bones in one tree: a rig of the mean body, the tree, and how it went.

    rest [s][v][3], frames [f][v][3], subject [f]; pose: a rig as `unite` finds it, whose transforms stay,
    with parents [p] and joints [s][p][3]; shape: a rig as `shape_bones` finds it, whose rest is the mean.
    tree: "spanned" by shared weights, or "leaves", as many as `leaves` (None: two for each pose bone).
    shape_parents [b]: of "spanned", which shape bones may be joined to each other.
    """
    pose, shape = noun("pose", pose, Rig), noun("shape", shape, Rig)
    if pose.transforms is None or shape.rest is None:
        refuse("The pose rig lacks transforms, or the shape rig its rest: both are needed to merge them.")
    call = Call(shape.rest, frames, triangles, settings)
    pose, shape = _parted(call, "pose", pose, pose.transforms), _parted(call, "shape", shape, None)
    leaves = 2 * pose.bones if leaves is None else whole("leaves", leaves, "")
    spanned = header.MERGE_TREES[choice("tree", tree, header.MERGE_TREES, "")] == "spanned"
    call.settings.bones = pose.bones + (shape.bones if spanned else leaves)
    call.make_room(None)
    crowd = {"rest": rest, "subject": subject, "parents": parents, "joints": joints}
    call.graft = Graft(call, pose, shape, crowd, tree, leaves, shape_parents)
    call.options, call.result = call.graft.options, call.graft.result
    return call


@_verb(lambda call, _seconds: call.placed_found())
def place_joints(
    rig: Rig, parents, known, joints, rest, triangles=None, settings: Settings | None = None
) -> Call:
    """The skeleton of known bodies put into others that have the same vertices in the same order.

    Of the rig the weights alone are read. parents [b], -1: none; known [s][v][3] and their joints [s][b][3];
    rest [n][v][3], the bodies that shall have them.
    """
    noun("rig", rig, Rig)
    known = as_array("known", known, np.float32, "svx", (None, None, 3))
    if not len(known):
        refuse("known holds no body: at least one with joints is needed.")
    if rig.influence_bones is None or rig.influence_weights is None:
        refuse("The rig lacks weights: they tell which surface is around a joint.")
    bones = max(len(items("parents", parents)), 1)
    still = np.tile(np.eye(3, 4), (1, bones, 1, 1))
    call = Call(known[0], None, triangles, settings, frame_count=1)
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(Rig(still, rig.influence_bones, rig.influence_weights, known[0]))
    call.family = Family(call.shape[1], bones, parents, known, joints, rest)
    call.options, call.result = call.family.options, call.family.result
    return call


@_verb(lambda call, seconds: (call.sheet.answer(), call.info_found(seconds)))
def unwrap(
    rest, frames, triangles, uv, unwrapping: Unwrapping | None = None, settings: Settings | None = None
) -> Call:
    """A map relaxed for all frames at once, from uv [t][3][2] on, and how it went. No rig is needed."""
    unwrapping = noun("unwrapping", unwrapping, Unwrapping, optional=True)
    call = Call(rest, frames, triangles, settings)
    if call.triangles is None:
        refuse("triangles are missing: only a surface can be unwrapped.")
    call.sheet = Sheet(call.triangles, uv, unwrapping)
    call.options, call.result = call.sheet.options, call.sheet.result
    return call


@_verb(lambda call, _seconds: call.leaders)
def fuse(rest, frames, triangles, rig: Rig, count: int = 0, settings: Settings | None = None) -> Call:
    """[b] the bone that leads the group that a bone is in: groups are what an animator would rig as one bone.

    `count` says how many there shall be, 0: as many as there are joints worth having.
    """
    call = Call(rest, frames, triangles, settings)
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(_whole(rig, "has bones to fuse").released())
    call.leaders = np.zeros(call.rig.bones, np.int32)
    call.options = header.sized(header.Fusion, count=whole("count", count, ""))
    call.result = header.sized(header.Groups, leaders=address(call.leaders))
    return call


@_verb(lambda call, _seconds: call.poses_averaged.answer())
def average_poses(
    rig: Rig,
    triangles=None,
    model: str = "seen",
    parents=None,
    joints=None,
    space: Space | None = None,
    settings: Settings | None = None,
) -> Call:
    """The L2,2 inner product of animation space, and with triangles the mean squared lengths of their edges.

    model: over which poses; all but "seen" take parents [b], one of them -1, and joints [b][3].
    """
    if _whole(rig, "has poses").rest is None:
        refuse("The rig lacks its rest pose: only a whole rig has poses.")
    transforms = as_array("rig.transforms", rig.transforms, np.float64, "fbrc", (None, None, 3, 4))
    call = Call(rig.rest, None, triangles, settings, frame_count=len(transforms))
    call.settings.bones = call.settings.influences = 1
    call.make_room(rig.released().bare())
    call.poses_averaged = Poses(call, choice("model", model, header.POSE_MODELS, ""), parents, joints)
    if space is not None:
        call.slots = Slots(call, space, 0)
    call.options, call.result = call.poses_averaged.options, call.poses_averaged.result
    return call


@_verb(lambda call, _seconds: call.sight.answer())
def inspect(rest, frames, triangles, rig: Rig, skeleton: Skeleton, settings: Settings | None = None) -> Call:
    """Where the bones of a skeleton go when it plays."""
    call = Call(rest, frames, triangles, settings)
    call.settings.bones = call.settings.influences = 1
    call.make_room(_whole(rig, "can be inspected").released())
    call.room = Room.holding(skeleton, call.rig.bones, False)
    call.sight = Sight(call.rig.bones)
    call.result = call.sight.result
    return call


@_verb(lambda call, _seconds: call.figures.answer())
def evaluate(
    rest,
    frames,
    rig: Rig,
    replay: bool = True,
    triangles=None,
    space: Space | None = None,
    subject=None,
) -> Call:
    """Replays the rig and measures it against the frames; replay=False leaves the replayed frames out.

    Only with triangles is there a surface to measure. A space is replayed with the rig. subject as for
    decompose(): errors are then relative to each body's own size.
    """
    call = Call(rest, frames, triangles, None, subject=subject)
    call.settings.bones = call.settings.influences = 1  # room for the rig and no more
    call.make_room(_whole(rig, "can be evaluated").released(), most=header.MAX_BONES)
    call.figures = Figures(call.frames, flag("replay", replay, ""), call.triangles is not None)
    if space is not None:
        call.slots = Slots(call, space, 0)
    return call
