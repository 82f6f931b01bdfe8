"""A mesh that moves, rigged to an armature that an artist has: its bones, their names and their tree stay.

    for step in adopt(scene, view_layer, armature, objects, Options(), AdoptOptions()): ...   # Adopted

If the armature moves with the mesh, weights are solved for its motion. If it stands still in the rest pose,
weights and poses are solved with its joints held, and bones that deform get keys, in an action of their own.
Nothing is made or changed before the last step, which is done at once; an error in it takes everything back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from .. import native
from ..base.handles import Handle, Place
from ..base.refusal import Refusal
from ..base.steps import Clock, Step, each, step, watch
from ..base.surface import diagonal
from ..base.words import counted, listed
from ..motion import capture, clips, sources
from ..motion.capture import Clip, Motion
from ..native import armature as own_armature
from ..options.options import AdoptOptions, Options
from ..record.rig_record import note_report
from ..rig import actions, played, report, rewrite, skin, standing, weights
from ..rig.build import Built, Maker, discard, hide, present
from ..rig.channels import homogeneous
from ..rig.keying import Keyed, tolerance_of
from . import bones, plain

_LEFT_OUT = {
    "virtual_bones": "virtual bones",
    "keep_volume": "Keep Volume",
}


class Adopted(NamedTuple):
    armature: object
    meshes: list
    report: report.Report
    keyed: bool  # its motion was solved
    others: tuple = ()  # as a conversion has them

    def sentence(self) -> str:
        found, what = self.report, "weights and motion" if self.keyed else "weights"
        return (
            f"{self.armature.name}: {what} of {counted(found.bones, 'bone')}, error"
            f" {found.percent(found.rms):.3g} % of the size, largest {found.percent(found.maximum):.3g} % in"
            f" frame {found.worst_frame}"
        )


# ---- what is refused


def is_moved_by(obj, armature) -> bool:
    return obj.type == "MESH" and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers)


def waits(armature, objects) -> bool:
    """Whether an armature may be meant that is selected with these objects: one that moves its meshes already
    is not, unless there are others."""
    others = [obj for obj in objects if not is_moved_by(obj, armature)]
    return bool(others) or not (objects or any(is_moved_by(obj, armature) for obj in armature.children))


def trouble(armature, objects, view_layer) -> str | None:
    """Why these meshes cannot be rigged to the armature, in one sentence; None when they can."""
    if armature is None:
        return "Select the armature as well as the meshes that move."
    if standing.is_rig(armature):
        return f"{armature.name} was made by Ossify: Track Motion puts other motions of its mesh on it."
    linked = sources.library_trouble(armature, armature.name) or sources.library_trouble(
        armature.data, armature.name
    )
    if linked:
        return linked
    if armature.mode == "EDIT":
        return f"{armature.name} is in Edit Mode: go back to Object Mode."
    if view_layer.objects.get(armature.name) != armature or not armature.visible_get(view_layer=view_layer):
        return f"{armature.name} is hidden: Blender moves only what is visible, so show it in the viewport."
    if not bones.deforming(armature):
        what = "has no bone that deforms" if len(armature.data.bones) else "has no bones"
        return f"{armature.name} {what}: turn on Deform (Bone properties) for those that shall move the mesh."
    if armature.data.pose_position == "REST":
        return f"{armature.name} is shown in its rest position: choose Pose Position (Armature properties)."
    if len(bones.deforming(armature)) > native.MAX_BONES:
        return f"{armature.name} has more than {native.MAX_BONES} bones that deform."
    if not objects:
        return f"Select the meshes that move together with {armature.name}."
    for obj in objects:
        if is_moved_by(obj, armature):
            return f"{obj.name} is moved by {armature.name} already: select a mesh with a motion of its own."
    return sources.first_trouble(objects, view_layer) or played.tweaked(armature)


def check(scene, view_layer, armature, objects, options: Options) -> None:
    """Refuses, before anything is read."""
    sentence = trouble(armature, objects, view_layer)
    if sentence:
        raise Refusal(sentence)
    if options.rest == "SYNTHESISED":
        raise Refusal(
            "The armature has a rest pose of its own: choose the undeformed mesh, or a frame, as the rest"
            " shape."
        )
    capture.check(scene, view_layer, objects, options)


def _notes(options: Options) -> list[str]:
    wished = [word for field, word in _LEFT_OUT.items() if getattr(options, field)]
    wished += ["correctives"] if options.correctives != "OFF" else []
    if not wished:
        return []
    return [f"{listed(wished)[:1].upper() + listed(wished)[1:]}: not made for an armature of your own."]


# ---- solving


def _held(motion: Motion, own: bones.Own, options: AdoptOptions) -> native.Rig | None:
    """The weights that the meshes have in groups of these bones, as far as they are held."""
    count = len(own.names)
    present = np.zeros((len(motion.rest), count), np.float32)
    locked = np.zeros(count, bool)
    for part in motion.parts:
        obj = part.source.get()
        if part.own_mesh:
            present[part.vertices] = standing.painted(obj, own.names)
        groups = (obj.vertex_groups.get(name) for name in own.names)
        locked |= [group is not None and group.lock_weight for group in groups]
    total = present.sum(axis=1, keepdims=True)
    whole = (total[:, 0] > standing.WEIGHTLESS) & (options.painted == "HELD")
    if not locked.any() and not whole.any():
        return None
    present /= np.where(whole[:, None], total, np.maximum(total, 1))
    order = weights.strongest(present)
    return native.Rig(
        None,
        order.astype(np.int32),
        weights.at(present, order).astype(np.float32),
        held_groups=locked.astype(np.uint8) if locked.any() else None,
        held_vertices=whole.astype(np.uint8) if whole.any() else None,
    )


def _solve(motion: Motion, own: bones.Own, options: Options, chosen: AdoptOptions) -> Generator:
    settings = dataclasses.replace(options.solver(), bone_kind="rigid", budget=0.0)
    given = None if own.transforms is None else np.ascontiguousarray(own.transforms[:, :, :3])
    held = _held(motion, own, chosen)
    work = own_armature.steps(
        motion.rest, motion.frames, motion.triangles, own.parents, own.heads, given, settings, held
    )
    answer = None
    while True:
        try:
            ask = work.send(answer)
        except StopIteration as end:
            return end.value
        job = native.Job.start(ask.verb, *ask.arguments, **ask.named)
        answer = yield from watch(job, motion, ask.begin, ask.end)


# ---- the scene


class _Before:
    """The armature as it was: its action, and what keys would be hidden by."""

    def __init__(self, armature):
        data = armature.animation_data
        self.had_data = data is not None
        self.action = data.action if data else None
        self.slot = getattr(data, "action_slot", None) if data else None
        self.changes: dict[str, list] = {}
        self.poses = {bone.name: bone.matrix_basis.copy() for bone in armature.pose.bones}

    def put_back(self, armature) -> None:
        plain.undo(armature, self.changes)
        if not self.had_data:
            armature.animation_data_clear()
        else:
            armature.animation_data.action = self.action
            if self.slot is not None:
                armature.animation_data.action_slot = self.slot
        for name, matrix in self.poses.items():
            armature.pose.bones[name].matrix_basis = matrix


def _wake(armature, names: list[str], motion: Motion) -> None:
    """After a step: refuses when the armature or a source was changed."""
    motion.check_sources()
    present_names = {bone.name for bone in bones.deforming(armature)}
    if armature.mode == "EDIT" or not set(names) <= present_names:
        raise Refusal(f"{armature.name} was changed while Ossify was working: it is as you left it.")


def _skin(maker: Maker, motion: Motion, rig: native.Rig, names: list[str], armature) -> list[Handle]:
    """A copy of each mesh, without its motion, that follows the armature."""
    made, exact = [], weights.exact(rig.influence_bones, rig.influence_weights)
    for part in motion.parts:
        obj = skin.copy_source(part, motion.place, f"{part.name} Rigged", maker.note)
        source, handle = part.source.get(), Handle.of("objects", obj)
        for name in set(names) & set(obj.vertex_groups.keys()):
            obj.vertex_groups.remove(obj.vertex_groups[name])
        skin.shape(obj, part, armature, rig.rest)
        for _ in skin.weigh(handle, part, exact, names):
            pass
        for name in names:
            theirs, mine = source.vertex_groups.get(name), obj.vertex_groups.get(name)
            if theirs is not None and mine is not None:
                mine.lock_weight = theirs.lock_weight
        skin.bind(obj, armature)
        made.append(handle)
    return made


def _key(maker: Maker, motion: Motion, rig: native.Rig, own: bones.Own, armature, meshes, options: Options):
    """An action for each clip; the first is the armature's."""
    options = dataclasses.replace(options, skeleton="ARTICULATED", bone_kind="RIGID")
    read = standing.read_skin(armature, own.names, [handle.get() for handle in meshes])
    size, transforms = diagonal(motion.rest), homogeneous(rig.transforms)
    whole = Clip(motion.parts[0].name, slice(0, len(motion.times)), motion.parts[0].source)
    made, keyed = [], []
    for clip in motion.clips or [whole]:
        action = maker.new("actions", clip.name)
        times = motion.times[clip.rows]
        moved = transforms[clip.rows]
        one, _ = rewrite.settle_keys(armature, action, moved, times, own.names, options, None, read)
        one.tolerance = tolerance_of(options, size, bool(motion.poses)) or 0.0
        keyed.append(one)
        action.use_fake_user = True
        made.append((Handle.of("actions", action), dataclasses.replace(clip, name=action.name)))
    found = [handle.get() for handle, _ in made]
    extra = actions.complete(armature, found, own.names) if len(found) > 1 else 0
    actions.assign(armature, found[0])
    return Keyed.of(keyed, extra), made


def _not_keyed(armature, names: list[str]) -> list[str]:
    bound = [name for name in names if rewrite.is_bound(armature, None, name)]
    return [f"{words}: not keyed." for words in rewrite.not_plain_words(armature, bound)]


def _plain_notes(changes: dict[str, list]) -> list[str]:
    if not changes:
        return []
    return [
        f"Constraints or segments of {counted(len(changes), 'bone')} are off, so that the keys play:"
        " Switch to Controls turns them on again."
    ]


def _measured(built: Built, motion: Motion, rig: native.Rig, info) -> report.Report:
    armature, meshes = built.armature.get(), [handle.get() for handle in built.meshes]
    with standing.alone(armature, meshes) as (scene, _):
        handle = Handle.of("scenes", scene)
        played_in = dataclasses.replace(built, workshop=handle, collection=handle)
        steps = report.measure(played_in, motion, rig, info, None)
        try:
            while True:
                next(steps)
        except StopIteration as end:
            return end.value


def _hand_over(built: Built, motion: Motion, options: Options, before: _Before) -> None:
    scene, layer = motion.place.get()
    armature = built.armature.get()
    homes = [home for home in armature.users_collection if home in scene.collection.children_recursive]
    home = homes[0] if homes else scene.collection
    for handle in built.meshes:
        home.objects.link(handle.get())
    if options.hide_source:
        for part in motion.parts:
            hide(part.source.get(), layer, True)
    if built.actions:
        plain.note(armature, before.changes, built.bones, built.actions[0][0].get(), before.action)
        if before.action is not None:
            before.action.use_fake_user = True
    rig = armature.ossify
    rig.first_frame, rig.last_frame = int(motion.times.min()), int(motion.times.max())
    rig.sources.clear()
    for part in motion.parts:
        rig.sources.add().object = part.source.get()
    armature.update_tag(refresh={"TIME"})
    layer.update()
    present(layer, [armature, *(handle.get() for handle in built.meshes)])


def _build(
    handle: Handle, motion: Motion, own: bones.Own, rig: native.Rig, info, options: Options, clock: Clock
) -> Adopted:
    """Skin and keys, all in one step."""
    armature, maker, solved = handle.get(), Maker(), own.transforms is None
    _wake(armature, own.names, motion)
    before = _Before(armature)
    try:
        meshes = _skin(maker, motion, rig, own.names, armature)
        keyed, made = Keyed(0, 0, 0, 0.0), []
        if solved:
            before.changes = plain.make_plain(armature, own.names)
            keyed, made = _key(maker, motion, rig, own, armature, meshes, options)
            motion.notes += _plain_notes(before.changes) + _not_keyed(armature, own.names)
        clock.lap("build")
        place = motion.place.scene
        built = Built(place, place, handle, meshes, own.names, keyed, None, maker.made, made)
        found = _measured(built, motion, rig, info)
        found.seconds = clock.seconds
        clock.lap("measure")
        _hand_over(built, motion, options, before)
        note_report(armature.ossify, found)
    except BaseException:
        before.put_back(armature)
        discard(maker.made)
        raise
    return Adopted(armature, [mesh.get() for mesh in meshes], found, solved)


def adopt(
    scene, view_layer, armature, objects, options: Options, chosen: AdoptOptions
) -> Generator[Step, None, Adopted]:
    """The objects are meshes that move; `armature` is an artist's."""
    native.library()
    view_layer.update()
    check(scene, view_layer, armature, objects, options)
    clock, place, handle = Clock(), Place.of(scene, view_layer), Handle.of("objects", armature)
    motion = yield from each("Reading", clips.read(scene, view_layer, objects, options), 0.0, 0.8)
    motion.notes += _notes(options)
    rest_frame = options.rest_frame if options.rest == "FRAME" else None
    following = bones.follow(place, handle, motion, rest_frame, chosen)
    own, motion = yield from each("Reading", following, 0.8, 1.0)
    clock.lap("capture")
    rig, _, info = yield from _solve(motion, own, options, chosen)
    clock.lap("solve")
    yield step("Building", 0.0)
    return _build(handle, motion, own, rig, info, options, clock)
