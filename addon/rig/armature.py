"""The armature: bones in edit mode, their colours and collections."""

from __future__ import annotations

import colorsys
import contextlib
import dataclasses
import itertools
import math

import bpy
import numpy as np
from mathutils import Vector

from ..base.surface import diagonal
from ..native import Rig, Skeleton
from ..options.options import Options, holds
from ..skeleton import body_names, helpers, joints, limbs, placement
from ..skeleton.mirror import Mirror, even_out, sides
from . import channels, roles
from .keying import tolerance_of
from .roles import CARRIER_NAME, ROOT_NAME

_DEFORM, HELPERS = "Deform", "Helpers"  # collections
GOLDEN = 0.618034  # of the colour wheel, from one bone's hue to the next: neighbours in number differ
_ROOT_LENGTH = 0.15  # of the size
_HAIR = 1e-3  # of a bone's length
_NEXT_TO = 1e-3  # of a bone's length: more than what Blender takes for nothing


@dataclasses.dataclass
class Plan:
    """The armature's bones, root first, before any of them is made."""

    names: list[str]  # of deform bones
    carriers: list[str] | None  # of the bones above them, when bones are flexible
    places: placement.Bones
    parents: np.ndarray  # [b] -1: the root
    size: float
    transforms: np.ndarray  # [f][b][4][4] rest to frame
    pinned: np.ndarray  # [b] true: only turns
    connected: np.ndarray  # [b] true: its head is its parent's tail, always
    chains: list[tuple[str, list[int]]]  # named; empty without a skeleton
    skeleton: Skeleton | None
    helps: np.ndarray  # [b] true: a helper, hidden; the others come first
    parts: list[str] = dataclasses.field(default_factory=list)  # of a body; empty: none was recognised
    notes: list[str] = dataclasses.field(default_factory=list)  # for the artist

    @property
    def core(self) -> list[str]:
        """The names of bones that an animator sees."""
        return self.names[: int((~self.helps).sum())]

    @property
    def order(self) -> np.ndarray:
        """Parents before children."""
        return np.argsort(limbs.depths(self.parents), kind="stable")


def _endings(count: int, sides: list[str], images: np.ndarray) -> list[str]:
    """Numbers, which mirror images share; sides [b] "", ".L" or ".R" """
    digits = max(3, len(str(count)))
    firsts = [min(b, image) if image >= 0 else b for b, image in enumerate(images.tolist())]
    numbers = np.unique(firsts, return_inverse=True)[1] + 1
    return [f".{number:0{digits}}{side}" for number, side in zip(numbers, sides, strict=True)]


def _bone_names(endings: list[str], taken: set[str]) -> list[str]:
    bases = itertools.chain(("Bone", "Ossify"), (f"Ossify{tries}" for tries in itertools.count(2)))
    found = ([base + ending for ending in endings] for base in bases)
    return next(names for names in found if not taken & set(names))


def _part(places: placement.Bones, leading: np.ndarray, connected: np.ndarray) -> None:
    """Turns a tail by a hair where the bone that it leads to moves away from it.

    FBX stores no tails. Blender's importer connects a bone that lies exactly on the way of its parent, and
    then leaves its location out.
    """
    for b in np.flatnonzero(leading >= 0):
        if not connected[leading[b]]:
            places.tails[b] += _HAIR * np.linalg.norm(places.tails[b] - places.heads[b]) * places.facing[b]


def _pin(plan: Plan, options: Options, poses: bool) -> None:
    """Bones that as good as turn about their joints do so exactly."""
    order, places = plan.order, plan.places
    places_in_order = np.empty_like(order)
    places_in_order[order] = np.arange(len(order))
    parents = np.where(plan.parents[order] < 0, -1, places_in_order[plan.parents[order]])
    limit = channels.PIN_SHARE * (tolerance_of(options, plan.size, poses) or 0.0)
    plan.transforms[:, order], plan.pinned[order] = channels.pin(
        places.heads[order], parents, plan.transforms[:, order], limit, holds(options) & ~plan.helps[order]
    )


def _join(
    plan: Plan, rig: Rig, dense, triangles, options: Options, taken: set[str], world, poses: bool
) -> None:
    """Hangs the bones into the plan's skeleton."""
    skeleton = helpers.core_of(plan.skeleton, plan.helps)
    places = helpers.core_places(plan.places, plan.helps)
    led = helpers.led(dense, plan.skeleton.parents, plan.helps)
    pieces, leading = limbs.lay(places, rig.rest, led, triangles, skeleton, world)
    moved = plan.transforms[:, : len(skeleton.parents)]
    laid = body_names.Laid(skeleton, pieces, places.tails, rig.rest, led, triangles, moved, world)
    named = body_names.name(laid, options, taken)
    plan.names, plan.chains, plan.parts, plan.notes = named.names, named.chains, named.parts, named.notes
    plan.parents = np.asarray(plan.skeleton.parents)
    plan.names += helpers.names(plan.names, plan.parents, taken)
    helpers.lay(plan.places, places, plan.skeleton)
    places, leading = plan.places, np.append(leading, np.full(plan.helps.sum(), -1))
    _pin(plan, options, poses)
    plan.connected = plan.pinned & (leading[plan.parents] == np.arange(rig.bones))
    _part(places, leading, plan.connected)


def plan_bones(
    rig: Rig,
    triangles,
    space: np.ndarray,
    options: Options,
    taken: set[str],
    skeleton,
    poses: bool,
    mirror=None,
    helps: np.ndarray | None = None,
) -> Plan:
    """space [4][4]: armature to world; taken: names of others, that no bone may have.

    mirror: of bones that have no skeleton; helps [b]: which are helpers, after all others.
    """
    world = space[:3, :3]  # its rows are the world's axes in the armature's space
    dense = rig.dense_weights()
    places = placement.place(rig.rest, dense, triangles, world)
    mirror = mirror or Mirror(np.zeros(4), np.full(rig.bones, -1))
    even_out(places, mirror)
    endings = _endings(rig.bones, sides(mirror, places.heads), mirror.images)
    flexible = options.bone_kind == "FLEXIBLE"
    plan = Plan(
        _bone_names(endings, taken),
        [CARRIER_NAME + ending for ending in endings] if flexible else None,
        places,
        np.full(rig.bones, -1),
        diagonal(rig.rest),
        channels.homogeneous(rig.transforms),
        np.zeros(rig.bones, bool),
        np.zeros(rig.bones, bool),
        [],
        skeleton,
        np.zeros(rig.bones, bool) if helps is None else helps,
    )
    if skeleton is not None:
        _join(plan, rig, dense, triangles, options, taken, world, poses)
    return plan


def plan_like(plan: Plan, rig: Rig, places: placement.Bones, skeleton, options: Options) -> Plan:
    """The same bones in another body, where they lie in these places."""
    other = dataclasses.replace(
        plan,
        places=places,
        size=diagonal(rig.rest),
        transforms=channels.homogeneous(rig.transforms),
        pinned=np.zeros(rig.bones, bool),
        skeleton=skeleton,
    )
    if skeleton is not None:
        _pin(other, options, False)
    return other


def agree(plans: list[Plan]) -> None:
    """Bones are connected in all bodies or in none."""
    connected = np.logical_and.reduce([plan.connected & plan.pinned for plan in plans])
    for plan in plans:
        for b in np.flatnonzero(plan.connected & ~connected):
            above = plan.parents[b]
            length = np.linalg.norm(plan.places.tails[above] - plan.places.heads[above])
            plan.places.tails[above] += _HAIR * length * plan.places.facing[above]
        plan.connected = connected.copy()


@contextlib.contextmanager
def edit_mode(armature, scene, layer):
    """Its edit bones; the armature's mode is as before."""
    layer.objects.active = armature
    context, mode = bpy.context, armature.mode
    with context.temp_override(scene=scene, view_layer=layer, object=armature, active_object=armature):
        bpy.ops.object.mode_set(mode="EDIT")
        try:
            yield armature.data.edit_bones
        finally:
            bpy.ops.object.mode_set(mode=mode)


def _clear_of_minus_y(head: Vector, tail: Vector) -> Vector:
    """The tail, on the line along -Y if it is next to it: Blender takes a bone there for one along -Y, but
    not one in the same place that hangs from it, and a carrier and its bone must lie together."""
    way = tail - head
    if math.hypot(way.x, way.z) < -_NEXT_TO * way.y:
        return head - Vector((0, way.length, 0))
    return tail


def add_bone(bones, name: str, head, tail, facing, parent: str | None, deforms: bool) -> None:
    bone = bones.new(name)
    bone.head, bone.tail = Vector(head), _clear_of_minus_y(Vector(head), Vector(tail))
    bone.align_roll(Vector(facing))
    bone.use_deform = deforms
    if parent:
        bone.parent = bones[parent]


def add_bones(armature, scene, plan: Plan) -> None:
    places = plan.places
    with edit_mode(armature, scene, scene.view_layers[0]) as bones:
        add_bone(bones, ROOT_NAME, (0, 0, 0), (0, _ROOT_LENGTH * plan.size, 0), (0, 0, 1), None, False)
        for b in plan.order:
            parent = ROOT_NAME if plan.parents[b] < 0 else plan.names[plan.parents[b]]
            spot = places.heads[b], places.tails[b], places.facing[b]
            if plan.carriers:
                add_bone(bones, plan.carriers[b], *spot, parent, False)
                parent = plan.carriers[b]
            add_bone(bones, plan.names[b], *spot, parent, True)
            bones[plan.names[b]].use_connect = bool(plan.connected[b])


def rearrange(armature, scene, layer, names: list[str], plan: Plan) -> None:
    """The same for bones that are there, by the names they have."""
    places, root = plan.places, roles.root_of(armature)
    with edit_mode(armature, scene, layer) as bones:
        for name in names:
            bones[name].use_connect, bones[name].parent = False, bones[root]
        for b in plan.order:
            bone = bones[names[b]]
            bone.head, bone.tail = Vector(places.heads[b]), Vector(places.tails[b])
            bone.align_roll(Vector(places.facing[b]))
            bone.parent = bones[root if plan.parents[b] < 0 else names[plan.parents[b]]]
            bone.use_connect = bool(plan.connected[b])


def rename(armature, names: list[str], plan: Plan) -> None:
    """Gives bones the names of the plan, and what goes by names: collections, and notes of joints."""
    count = len(names)
    for b, name in enumerate(names):  # by way of names that no bone has; Blender renames groups and paths
        armature.data.bones[name].name = f"Ossify {b} of {count}"
    for b, name in enumerate(plan.names):
        armature.data.bones[f"Ossify {b} of {count}"].name = name
    collect(armature.data, plan)
    joints.note(armature.data, plan.core, plan.skeleton)
    roles.give_parts(armature.data, plan.core, plan.parts)


def paint(bone, hue: float, saturation: float = 0.65) -> None:
    bone.color.palette = "CUSTOM"
    colours = bone.color.custom
    colours.normal = colorsys.hsv_to_rgb(hue % 1, saturation, 0.8)
    colours.select = colorsys.hsv_to_rgb(hue % 1, saturation * 0.6, 1.0)
    colours.active = colorsys.hsv_to_rgb(hue % 1, saturation * 0.3, 1.0)


def collect(data, plan: Plan) -> None:
    """Collections of the deform bones: one for each chain, inside of one for all.

    Those of other chains go, unless they hold other bones, too.
    """
    deform = data.collections.get(_DEFORM) or data.collections.new(_DEFORM)
    for collection in list(deform.children):
        if {bone.name for bone in collection.bones} <= set(plan.names):
            data.collections.remove(collection)
    kept = {collection.name: collection for collection in deform.children}
    for title, chain in plan.chains or [(_DEFORM, range(len(plan.core)))]:
        collection = deform
        if plan.chains:
            collection = kept.get(title) or data.collections.new(title, parent=deform)
        for b in chain:
            deform.unassign(data.bones[plan.names[b]])
            collection.assign(data.bones[plan.names[b]])


def _hide(data, title: str, names: list[str]) -> None:
    """Into a collection that is not shown: what nobody poses is not selected by accident, either."""
    if names:
        hidden = data.collections.get(title) or data.collections.new(title)
        for name in names:
            hidden.assign(data.bones[name])
        hidden.is_visible = False


def dress(armature, plan: Plan) -> None:
    """Roles, colours and bone collections."""
    data = armature.data
    roles.give(armature, roles.ROOT, [ROOT_NAME])
    roles.give(armature, roles.DEFORM, plan.core)
    roles.give(armature, roles.HELPER, plan.names[len(plan.core) :])
    roles.give(armature, roles.CARRIER, plan.carriers or [])
    data.collections.new("Root").assign(data.bones[ROOT_NAME])
    paint(data.bones[ROOT_NAME], 0, 0)
    collect(data, plan)
    for b, name in enumerate(plan.names):
        paint(data.bones[name], (plan.parents[b] if plan.helps[b] else b) * GOLDEN)
    _hide(data, CARRIER_NAME, plan.carriers or [])
    _hide(data, HELPERS, plan.names[len(plan.core) :])
    if plan.skeleton is not None:
        joints.note(data, plan.core, plan.skeleton)
        roles.give_parts(data, plan.core, plan.parts)
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    armature.show_in_front = True
