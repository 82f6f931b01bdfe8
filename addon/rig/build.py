"""Arrays to scene: an armature, a copy of each mesh with vertex groups, and keys.

Everything is made in a scene of its own, the workshop, so that the artist's scene, mode and selection are
not touched until the result is whole; then the finished collection is handed over.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator

import bpy
import numpy as np
from mathutils import Matrix

from ..base.handles import Handle, Place
from ..motion.capture import Clip, Motion
from ..native import Rig, Skeleton
from ..options.options import Options
from ..skeleton import helpers
from ..skeleton.mirror import Mirror
from . import actions, pose_assets, root_motion, skin, weights
from .armature import Plan, add_bones, dress, plan_bones
from .keying import Keyed, key
from .roles import ROOT_NAME


@dataclasses.dataclass
class Built:
    """What was made; handles, because an artist may undo between the steps."""

    workshop: Handle
    collection: Handle
    armature: Handle
    meshes: list[Handle]  # objects, one for each part
    bones: list[str]  # deform bones, in the solver's order
    keyed: Keyed
    skeleton: Skeleton | None  # of bones that an animator sees
    made: list[Handle]  # all data-blocks
    actions: list[tuple[Handle, Clip]] = dataclasses.field(default_factory=list)  # empty: one for all of it


def discard(made: list[Handle]) -> None:
    """Takes everything back."""
    for handle in made:
        block = handle.find()
        if block is not None:
            getattr(bpy.data, handle.kind).remove(block)


class Maker:
    """Remembers what it makes."""

    def __init__(self):
        self.made: list[Handle] = []

    def note(self, kind: str, block):
        self.made.append(Handle.of(kind, block))
        return block

    def new(self, kind: str, *arguments):
        return self.note(kind, getattr(bpy.data, kind).new(*arguments))


def _clips(motion: Motion) -> list[Clip]:
    whole = Clip(f"{motion.parts[0].name} Rig", slice(0, len(motion.times)), motion.parts[0].source)
    return motion.clips or [whole]


def _root(motion: Motion, rig: Rig, plan: Plan, clip: Clip):
    """[f][4][4] what Root does in a clip"""
    frames, transforms = motion.frames[clip.rows], plan.transforms[clip.rows]
    joined = plan.skeleton is not None
    return root_motion.find(rig.rest, frames, transforms, plan.parents, plan.places.heads, joined)


def _animate(maker: Maker, motion: Motion, rig: Rig, options: Options, plan: Plan, armature):
    """An action for each clip; the first is the armature's."""
    made, keyed = [], []
    for clip in _clips(motion):
        action = maker.new("actions", clip.name)
        part = dataclasses.replace(rig, transforms=rig.transforms[clip.rows])
        some = dataclasses.replace(plan, transforms=plan.transforms[clip.rows])
        root = _root(motion, rig, plan, clip)
        keyed.append(key(armature, action, part, root, motion.times[clip.rows], some, options, motion.poses))
        if motion.poses and options.pose_assets:
            times = motion.times[clip.rows]
            pose_assets.make(armature, action, times, motion.poses, lambda name: maker.new("actions", name))
        named = dataclasses.replace(clip, name=action.name)  # it may be taken
        made.append((Handle.of("actions", action), named))
    found = [handle.get() for handle, _ in made]
    extra = 0
    if len(found) > 1:
        for action in found:
            action.use_fake_user = True
        extra = actions.complete(armature, found, [ROOT_NAME, *plan.names, *(plan.carriers or [])])
        actions.assign(armature, found[0])
    return Keyed.of(keyed, extra), made


def _make(maker: Maker, motion: Motion, rig: Rig, options: Options, skeleton, mirror, helps, plan):
    name = motion.parts[0].name
    workshop = Handle.of("scenes", maker.new("scenes", "Ossify Workshop"))
    meshes = [
        Handle.of("objects", skin.copy_source(part, motion.place, f"{part.name} Rigged", maker.note))
        for part in motion.parts
    ]
    yield 0.2
    taken = {group.name for handle in meshes for group in handle.get().vertex_groups}
    poses = bool(motion.poses)
    if plan is None:
        given = rig, motion.triangles, motion.space, options, taken, skeleton, poses, mirror, helps
        plan = plan_bones(*given)
    motion.notes += plan.notes
    yield 0.3
    collection = maker.new("collections", f"{name} Rig")
    workshop.get().collection.children.link(collection)
    armature = maker.new("objects", f"{name} Rig", maker.new("armatures", f"{name} Rig"))
    armature.matrix_world = Matrix(motion.space)
    for obj in (armature, *(handle.get() for handle in meshes)):
        collection.objects.link(obj)
    add_bones(armature, workshop.get(), plan)
    dress(armature, plan)
    keyed, made = _animate(maker, motion, rig, options, plan, armature)
    built = Built(
        workshop,
        Handle.of("collections", collection),
        Handle.of("objects", armature),
        meshes,
        plan.names,
        keyed,
        skeleton and helpers.core_of(skeleton, plan.helps),
        maker.made,
        made,
    )
    yield 0.6
    influences = weights.exact(rig.influence_bones, rig.influence_weights)
    for index, (handle, part) in enumerate(zip(built.meshes, motion.parts, strict=True)):
        skin.shape(handle.get(), part, built.armature.get(), rig.rest)
        for share in skin.weigh(handle, part, influences, plan.names):
            yield 0.6 + 0.4 * (index + share) / len(motion.parts)
        skin.bind(handle.get(), built.armature.get())
    return built


def build(
    motion: Motion,
    rig: Rig,
    options: Options,
    skeleton: Skeleton | None = None,
    mirror: Mirror | None = None,
    helps: np.ndarray | None = None,
    plan: Plan | None = None,
) -> Generator[float, None, Built]:
    """Makes the rig in a workshop scene; yields how far it is, 0 to 1. Without a skeleton all bones hang
    from the root, and `mirror` says which of them are mirror images. helps [b]: which are helpers, after all
    others; a plan says where all of them lie."""
    maker = Maker()
    try:
        return (yield from _make(maker, motion, rig, options, skeleton, mirror, helps, plan))
    except BaseException:
        discard(maker.made)
        raise


def hand_over(built: Built, motion: Motion, options: Options) -> None:
    """Into the artist's scene: the finished rig selected, its sources hidden."""
    scene, layer = motion.place.get()
    armature, collection = built.armature.get(), built.collection.get()
    scene.collection.children.link(collection)
    bpy.data.scenes.remove(built.workshop.get())
    for handle in {part.source for part in motion.parts} | {clip.source for clip in motion.clips}:
        source = handle.find()
        if source is not None and options.hide_source:
            hide(source, layer, True)
    if options.nla:
        times = [
            (int(motion.times[clip.rows][0]), int(motion.times[clip.rows][-1])) for _, clip in built.actions
        ]
        found = [(handle.get(), clip.name) for handle, clip in built.actions]
        actions.push_all(armature, [(*pair, *ends) for pair, ends in zip(found, times, strict=True)])
    armature.update_tag(refresh={"TIME"})  # or it stays in the frame that was played last
    layer.update()
    present(layer, [armature, *(handle.get() for handle in built.meshes)])


def present(layer, objects: list) -> None:
    """Selects the objects alone, the first active, unless the artist is in a mode."""
    active = layer.objects.active
    if active is None or active.mode == "OBJECT":
        for obj in list(layer.objects.selected):
            obj.select_set(False, view_layer=layer)
        for obj in objects:
            obj.select_set(True, view_layer=layer)
        layer.objects.active = objects[0]


def hide(obj, layer, hidden: bool) -> None:
    """Out of sight, out of the render, and not evaluated."""
    if layer.objects.get(obj.name) == obj:
        obj.hide_set(hidden, view_layer=layer)
    obj.hide_viewport = obj.hide_render = hidden


@contextlib.contextmanager
def shown(place: Place, objects: list):
    """Hidden objects are to be seen, and so moved, and hidden again in the end."""
    layer = place.get()[1]
    hidden = [obj for obj in objects if obj.hide_viewport or obj.hide_get(view_layer=layer)]
    states = [
        (Handle.of("objects", obj), obj.hide_get(view_layer=layer), obj.hide_viewport, obj.hide_render)
        for obj in hidden
    ]
    try:
        for obj in hidden:
            hide(obj, layer, False)
        layer.update()
        yield
    finally:
        layer = place.find()
        for source, eye, viewport, render in states:
            obj = source.find()
            if obj is not None:
                if layer is not None:
                    hide(obj, layer, eye)
                obj.hide_viewport, obj.hide_render = viewport, render
