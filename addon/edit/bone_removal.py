"""Bones of a standing rig that hardly lower its error, found one by one and removed. Nothing an artist added,
shaped or built upon is."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from .. import native
from ..base.refusal import Refusal
from ..base.steps import Step, step
from ..options.options import holds
from ..record import changes
from ..refit import joint_refit
from ..rig import keys, played, references, roles
from ..rig.stand import Standing
from . import bone_change, edits, local_fit
from .local_fit import Fit

NOTHING = "No bone is useless by this tolerance; nothing was changed."
FRAMES = "Frames of {armature} are held, and with them the poses of all its bones: let go of them first."
_SEARCH = 0.8  # of the solving, while bones are looked for


def _deforms(bone) -> bool:
    return bone is not None and bone.use_deform


def _held(subject: Standing) -> set[str]:
    """Bones with weights, vertices or motion that is held: without the bone it cannot stay as it is."""
    holds, weights = subject.holds, subject.weights()
    carried = (weights[holds.vertices[subject.rows]] > 0).any(axis=0)
    found = holds.groups | holds.transforms.any(axis=0) | carried
    return {name for name, held in zip(subject.names, found, strict=True) if held}


def protected(subject: Standing) -> set[str]:
    """Bones that hold something of an artist's, and are not removed."""
    armature, names = subject.armature, subject.names
    bones, pose, role = armature.data.bones, armature.pose.bones, roles.of(armature)
    found = _held(subject) | joint_refit.own(armature, changes.find(armature))
    made = [None, *played.made(armature)]
    for name in names:
        controls = [child for child in bones[name].children if role[child.name] == roles.CONTROL]
        if bone_change.joined(armature) and bones[name].children and not _deforms(bones[name].parent):
            found.add(name)  # the whole skeleton hangs from it
        shaped = pose[name].custom_shape is not None or bool(pose[name].constraints)
        if shaped or controls or any(keys.is_driven(armature, action, name) for action in made):
            found.add(name)
    found |= {reference.bone for reference in references.to(armature, names)}
    for obj in armature.children:
        if obj.type == "MESH":
            found |= {group.name for group in obj.vertex_groups if group.lock_weight}
    return found & set(names)


@dataclasses.dataclass
class Useless:
    """Bones to remove, the most useless first, and the rig without them, solved as far as weights go."""

    subject: Standing
    names: list[str]
    left: list[int]  # the others, in the subject's numbers
    rig: native.Rig
    before: float
    after: float  # before anything but weights is solved


def _without(
    subject: Standing, rig: native.Rig, names: list[str], b: int, span: local_fit.Span
) -> Generator[Step, None, native.Rig]:
    """The rig without a bone; its vertices' weights are solved again, and nothing else."""
    dense = rig.dense_weights().astype(np.float64)
    free = dense[:, b] > 0
    left = np.delete(np.arange(len(names)), b)
    dense = dense[:, left]
    bare = dense.sum(axis=1) <= 0
    dense[bare] = 1.0 / len(left)  # the solver chooses among all
    rig = dataclasses.replace(subject.rig(dense), transforms=np.ascontiguousarray(rig.transforms[:, left]))
    kept = [names[i] for i in left]
    fit = yield from local_fit.fit(subject, kept, rig, np.zeros(len(left), bool), free, span)
    return dataclasses.replace(subject.rig(fit.weights), transforms=rig.transforms)


@dataclasses.dataclass
class _Without:
    """A rig without the bones that were found."""

    fit: Fit
    free: np.ndarray  # [v]
    touched: np.ndarray  # [b]
    parents: dict[str, str | None]  # of bones whose parent goes


def _solve_without(found: Useless, span: local_fit.Span) -> Generator[Step, None, _Without]:
    """Bones that take over are solved again where they do; where joints hold, all of them."""
    subject = found.subject
    gone = [subject.names.index(name) for name in found.names]
    free = (subject.weights()[:, gone] > 0).any(axis=1)
    touched = (found.rig.dense_weights()[free] > 0).any(axis=0)
    names = [subject.names[b] for b in found.left]
    fit = yield from local_fit.fit(subject, names, found.rig, touched, free, span)
    removed, parents = set(found.names), {}
    for bone in subject.armature.data.bones:
        if bone.name not in removed and bone.parent is not None and bone.parent.name in removed:
            above = bone_change.standing_above(bone, removed)
            parents[bone.name] = above.name if above else None
    fit, _, whole = yield from bone_change.turning(subject, fit, free, parents, {})
    return _Without(fit, free, touched | whole, parents)


def _with_next(found: Useless, safe: set[str], tolerance: float) -> Generator[Step, None, Useless | None]:
    """One bone more that is useless, or None."""
    subject = found.subject
    span = _span(found)
    names = [subject.names[b] for b in found.left]
    settings = local_fit.solver(subject, len(names))
    poses = found.rig.rest, subject.frames, subject.triangles
    costs = native.bone_costs(*poses, found.rig, settings)
    costs[[name in safe for name in names]] = np.inf
    b = int(costs.argmin())
    if costs[b] > tolerance:
        return None
    rig = yield from _without(subject, found.rig, names, b, span)
    left = [number for i, number in enumerate(found.left) if i != b]
    after = local_fit.error(subject, rig)
    more = Useless(subject, [*found.names, names[b]], left, rig, found.before, after)
    if holds(subject.armature.ossify.settings):
        more.after = (yield from _solve_without(more, span)).fit.error
    return more if more.after <= found.before + tolerance else None


def _span(found: Useless) -> local_fit.Span:
    """The share of the next bone in the looking: nobody knows how many there will be."""
    done, count = len(found.names), len(found.subject.names)
    return _SEARCH * done / count, _SEARCH * (done + 1) / count


def find_useless(context, armature, tolerance: float) -> Generator[Step, None, Useless]:
    """Bones without which the error, percent of the size, grows by no more than the tolerance in all."""
    subject = yield from edits.read(context, armature)
    if any(item.held for item in subject.armature.ossify.frames):
        raise Refusal(FRAMES.format(armature=subject.armature.name))
    before, safe = edits.error(subject), protected(subject)
    found = Useless(subject, [], list(range(len(subject.names))), subject.rig(), before, before)
    while len(found.left) > 1:
        yield step("Solving", _span(found)[0])
        more = yield from _with_next(found, safe, tolerance)
        if more is None:
            break
        found = more
    return found


def remove(found: Useless) -> Generator[Step, None, bone_change.Edited]:
    """Removes what was found."""
    subject = found.subject
    if not found.names:
        raise Refusal(NOTHING)
    without = yield from _solve_without(found, (_SEARCH, 1.0))
    yield step("Building", 0.0)
    bone_change.wake(subject)
    names = without.fit.names

    def hang(bones):
        for name, parent in without.parents.items():
            bones[name].use_connect = False
            bones[name].parent = bones[parent] if parent else None
        for name in found.names:
            bones.remove(bones[name])

    rekeyed = [names[b] for b in np.flatnonzero(without.touched)] + list(without.parents)
    rekeyed = [name for name in dict.fromkeys(rekeyed) if name in names]
    bone_change.write(subject, bone_change.Change(without.fit, without.free, rekeyed, found.names), hang)
    return bone_change.finish(subject, found.before, found.names, [])


def remove_useless(context, armature, tolerance: float) -> Generator[Step, None, bone_change.Edited]:
    """Both."""
    return (yield from remove((yield from find_useless(context, armature, tolerance))))
