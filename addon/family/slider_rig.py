"""A rig whose joints follow the sliders of its body, by drivers that Blender evaluates without a script.

With M_p what the parent does to the mesh, c = joint + d the joint where the sliders have it, and R the pose
of the bone, the mesh must follow M_p T(c) R T(-c). Three bones with the same rest do that exactly:

    Joint X    below the parent of X, its location driven by Q'(d - d_parent)
    X          below it, posed and keyed as ever
    Skin X     below that, its location driven by -Q'd, and the mesh follows it

where Q is the rest rotation and d = sum_k slider_k move_k. (A bone below X starts where X was moved to, hence
d - d_parent.) So the location of X is free for the animator, and actions of the rig go on.
"""

from __future__ import annotations

import json

import numpy as np

from ..base.surface import diagonal
from ..rig import drivers, standing
from .shapes import Shapes

RECORD = "ossify_bodies"  # on the armature: what was seen of each slider
COLLECTION = "Body Sliders"
JOINT, _SKIN = "Joint", "Skin"
_LONGEST_EXPRESSION = 250  # characters of an expression; Blender takes 255
_UNMOVED = 1e-9  # of the size
FARTHEST_SLIDER = 10.0  # of a slider, and of a shape key's value in Blender
_BEYOND_SEEN = 1.5  # times what was seen
_LETTERS = "abcdfghjkmnpqrstuvwxyz"  # of variables, without those that look like numbers


def is_one(armature) -> bool:
    return armature is not None and armature.type == "ARMATURE" and bool(armature.get(RECORD))


def record_of(armature) -> dict:
    """names, and [k] lowest, highest, spread of what was seen; what others wrote there is no record"""
    try:
        found = json.loads(armature[RECORD])
        names = [str(name) for name in found["names"]]
        seen = np.array(found["seen"], np.float64).reshape(-1, len(names))
    except (KeyError, TypeError, ValueError):
        return {"names": [], "seen": np.zeros((1, 0))}
    return {"names": [name for name in names if name in armature], "seen": seen}


# ---- sliders


def add_sliders(armature, shapes: Shapes) -> None:
    for name, seen in zip(shapes.names, shapes.seen.T, strict=True):
        armature[name] = 0.0
        low, high = float(seen.min()), float(seen.max())
        most = min(_BEYOND_SEEN * max(abs(low), abs(high), 1.0), FARTHEST_SLIDER)
        armature.id_properties_ui(name).update(
            min=-most,
            max=most,
            soft_min=max(low, -most),
            soft_max=min(high, most),
            default=0.0,
            precision=2,
            description="In standard deviations of the bodies, from the first one; as far as was seen",
        )
        armature.property_overridable_library_set(drivers.path_of(name), True)
    armature[RECORD] = json.dumps({"names": shapes.names, "seen": np.round(shapes.seen, 6).tolist()})


def add_keys(obj, armature, shapes: Shapes, to_mesh: np.ndarray) -> None:
    """Shape keys that the sliders drive; to_mesh [3][3]: directions of the armature in the mesh"""
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    flat = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.shape_keys.reference_key.points.foreach_get("co", flat)
    for name, change in zip(shapes.names, shapes.keys, strict=True):
        key = obj.shape_key_add(name=name, from_mix=False)
        key.slider_min, key.slider_max = -FARTHEST_SLIDER, FARTHEST_SLIDER
        key.points.foreach_set("co", (flat + (change @ to_mesh.T).ravel()).astype(np.float32))
        path = f'key_blocks["{_escaped(key.name)}"].value'
        drivers.follow(obj.data.shape_keys, path, armature, [name])


def _escaped(name: str) -> str:
    return drivers.path_of(name)[2:-2]


# ---- bones


def free_name(title: str, name: str, taken) -> str:
    found, number = f"{title} {name}"[:63], 1
    while found in taken:
        number += 1
        found = f"{title}{number} {name}"[:63]
    return found


def like(bones, name: str, other: str):
    """A bone with the rest of another."""
    new, bone = bones.new(name), bones[other]
    new.head, new.tail, new.roll = bone.head, bone.tail, bone.roll
    return new


def add_bones(armature, moved: list[str], skins: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """bone -> Joint bone above it, for those that move; bone -> Skin bone below it, for those that deform"""
    joined, above, below = [], {}, {}
    with standing.editing(armature) as bones:
        for name in moved:
            bone = bones[name]
            above[name] = free_name(JOINT, name, bones.keys())
            joint = like(bones, above[name], name)
            joint.use_deform, joint.parent = False, bone.parent
            joint.inherit_scale, joint.use_inherit_rotation = bone.inherit_scale, bone.use_inherit_rotation
            joint.use_local_location = bone.use_local_location
            if bone.use_connect:
                joined.append(name)
            bone.use_connect = False
            bone.parent, bone.inherit_scale, bone.use_inherit_rotation = joint, "FULL", True
        for name in skins:
            below[name] = free_name(_SKIN, name, bones.keys())
            skin = like(bones, below[name], name)
            skin.parent, skin.use_deform = bones[name], True
            bones[name].use_deform = False
    for name in joined:
        armature.pose.bones[name].lock_location = (True, True, True)
    put_away(armature, COLLECTION, [*above.values(), *below.values()])
    return above, below


def put_away(armature, title: str, names: list[str]) -> None:
    """Bones that are not posed by hand, in a hidden collection of their own."""
    hidden = armature.data.collections.new(title)
    hidden.is_visible = False
    for name in names:
        bone, pose = armature.data.bones[name], armature.pose.bones[name]
        for collection in list(bone.collections):
            collection.unassign(bone)
        hidden.assign(bone)
        pose.lock_location = pose.lock_rotation = pose.lock_scale = (True, True, True)


def _expressions(amounts: np.ndarray, size: float) -> list[tuple[str, list[int]]]:
    """Sums of sliders [k], each short enough, with the sliders in the order of their letters"""
    found: list[tuple[str, list[int]]] = []
    for k in np.flatnonzero(np.abs(amounts) > _UNMOVED * size).tolist():
        if not found or len(found[-1][0]) + 16 > _LONGEST_EXPRESSION or len(found[-1][1]) == len(_LETTERS):
            found.append(("", []))
        words, some = found[-1]
        found[-1] = f"{words}{amounts[k]:+.8g}*{_LETTERS[len(some)]}", [*some, k]
    return [(words.removeprefix("+"), some) for words, some in found]


def _drive(armature, owner, path: str, index: int, amounts: np.ndarray, names, size: float) -> None:
    """owner.path[index] becomes the sum of sliders times amounts [k]"""
    found = _expressions(amounts, size)
    if len(found) > 1:  # through properties that hold a part each
        parts = [f"{owner.name} {'XYZ'[index]} {number + 1}"[:63] for number in range(len(found))]
        for part, (words, some) in zip(parts, found, strict=True):
            armature[part] = 0.0
            drivers.express(armature, drivers.path_of(part), -1, words, armature, [names[k] for k in some])
        words, some = "+".join(_LETTERS[: len(parts)]), parts
    elif found:
        words, some = found[0][0], [names[k] for k in found[0][1]]
    else:
        return
    drivers.express(armature, f"{owner.path_from_id()}.{path}", index, words, armature, some)


def build(armature, meshes: list, names: list[str], shapes: Shapes, rest: np.ndarray) -> None:
    """Sliders, bones and drivers on an armature with these bones, whose joints shapes.moves [k][b][3] moves;
    meshes: all that it moves, whose groups follow the Skin bones"""
    size, number = diagonal(rest), {name: b for b, name in enumerate(names)}
    data = armature.data.bones
    own = {name: shapes.moves[:, number[name]] for name in names}
    none = np.zeros((len(shapes.names), 3))
    against = {
        name: own[name] - (own[data[name].parent.name] if data[name].parent else none) for name in names
    }
    turns = {name: np.array(data[name].matrix_local.to_3x3(), np.float64) for name in names}
    moved = [name for name in names if np.abs(against[name]).max(initial=0) > _UNMOVED * size]
    skins = [name for name in names if data[name].use_deform]
    add_sliders(armature, shapes)
    above, below = add_bones(armature, moved, skins)
    for obj in meshes:
        for name, skin in below.items():
            if name in obj.vertex_groups:
                obj.vertex_groups[name].name = skin
    pose = armature.pose.bones
    for bones, sign, way in ((above, 1, against), (below, -1, own)):
        for name, bone in bones.items():
            amounts = sign * way[name] @ turns[name]  # Q'd, a row a slider
            for axis in range(3):
                _drive(armature, pose[bone], "location", axis, amounts[:, axis], shapes.names, size)
