"""The node group Keep Volume: animation space on top of the Armature modifier.

    offset = strength sum_k T_b d_k,     d_k = (q, w) what bone b of slot k adds to linear blend skinning

(Merry, Marais and Gain 2006; docs/animation-space.md). T_b d is a sum over the four points that follow the
bone (bone_points.py): with a = (q - w c) / s

    T_b d = (w - a_x - a_y - a_z) P_0 + a_x P_1 + a_y P_2 + a_z P_3.

Weights w of a vertex sum to 0, so that neither the place of the armature nor that of the mesh matters.
Attributes of the mesh hold for each slot the number of P_0, a, and the share of P_0; only vertices with a
correction are moved.
"""

from __future__ import annotations

import bpy

from ..rig import volumes
from . import bone_points
from .bone_points import BONE_POINTS
from .tree import Tree, result

STRENGTH = "Strength"
SOURCE = {True: "Armature", False: "Probe"}  # the input that says whose bones; True: by Bone Info
_SLOT_GROUP = "Keep Volume Bone"
_SLOT_MARK = "ossify_keep_volume_bone"
_RIG = "ossify_rig"  # on groups that are one rig's own: its name


def attribute(what: str, slot: int) -> str:
    """The name of one of a slot's: bone, along, first"""
    return f"{volumes.PREFIX}_{what}_{slot + 1}"


def _shared(mark: str, value: int, make):
    """The group of this file that is marked so and no rig's own, or a new one."""
    for group in bpy.data.node_groups:
        if group.library is None and group.get(mark) == value and _RIG not in group:
            return group
    group = make()
    group[mark] = value
    return group


# ---- one bone of a vertex


def _slot_group():
    tree = Tree(_SLOT_GROUP)
    tree.socket("Points", "Geometry", words="Four points for each bone")
    tree.socket("Bone", "Int", words="The first point of the bone")
    tree.socket("Along", "Vector", words="The shares of the points along X, Y and Z")
    tree.socket("First", "Float", words="The share of the first point")
    tree.socket("Offset", "Vector", out=True)
    given = tree.node("NodeGroupInput", (0, 0))
    tree.frame("The four points of the bone, as they are now")
    place = result(tree.node("GeometryNodeInputPosition", (1, 2.4)))
    along = tree.node("ShaderNodeSeparateXYZ", (1, 1.4), given={0: result(given, "Along")})
    shares = [result(given, "First"), *along.outputs]
    parts = []
    for corner, share in enumerate(shares):
        index = result(given, "Bone")
        if corner:
            more = tree.node(
                "ShaderNodeMath",
                (2, 1.3 * corner),
                f"+ {corner}",
                {0: index, 1: float(corner)},
                operation="ADD",
            )
            index = result(more)
        point = tree.node(
            "GeometryNodeSampleIndex",
            (3, 1.3 * corner),
            given={"Geometry": result(given, "Points")},
            data_type="FLOAT_VECTOR",
            domain="POINT",
        )
        tree.give(point, "Value", place)
        tree.give(point, "Index", index)
        scaled = tree.node(
            "ShaderNodeVectorMath",
            (4, 1.3 * corner),
            "Share",
            {0: result(point), "Scale": share},
            operation="SCALE",
        )
        parts.append(result(scaled))
    tree.frame("Their sum")
    total = _sum(tree, parts, 5)
    tree.unframed()
    tree.node("NodeGroupOutput", (9, 1), given={"Offset": total})
    return tree.group


def _sum(tree: Tree, parts: list, column: int):
    total = parts[0]
    for number, part in enumerate(parts[1:]):
        at = column + number, 1.3 * number
        total = result(tree.node("ShaderNodeVectorMath", at, given={0: total, 1: part}, operation="ADD"))
    return total


# ---- all of it


def _named(tree: Tree, name: str, kind: str, at):
    return result(
        tree.node("GeometryNodeInputNamedAttribute", at, given={"Name": name}, data_type=kind), "Attribute"
    )


def _slot(tree: Tree, slot: int, points, row: float):
    """What the bone of a slot adds."""
    tree.frame(f"Bone {slot + 1} of a vertex")
    kinds = (("bone", "INT"), ("along", "FLOAT_VECTOR"), ("first", "FLOAT"))
    values = [
        _named(tree, attribute(what, slot), kind, (3, row + 0.9 * number))
        for number, (what, kind) in enumerate(kinds)
    ]
    node = tree.node("GeometryNodeGroup", (4, row), "Its Part")
    node.node_tree = _shared(_SLOT_MARK, BONE_POINTS, _slot_group)
    for name, value in zip(("Points", "Bone", "Along", "First"), (points, *values), strict=True):
        tree.give(node, name, value)
    return result(node)


def _points(tree: Tree, given, bones):
    """The points, and how much of the correction may be seen; bones: the rig's own group of Bone Info nodes,
    None: there is a probe"""
    strength = result(given, STRENGTH)
    tree.frame("Points that follow the bones")
    if bones is None:
        source = {"Object": result(given, SOURCE[False])}
        probe = tree.node("GeometryNodeObjectInfo", (1, 1), "Probe", source, transform_space="RELATIVE")
        return result(probe, "Geometry"), strength
    node = tree.node("GeometryNodeGroup", (1, 1), "Bones")
    node.node_tree = bones
    tree.give(node, SOURCE[True], result(given, SOURCE[True]))
    both = {0: strength, 1: result(node, bone_points.ALL)}
    return result(node), result(
        tree.node("ShaderNodeMath", (2, 2), "None if a bone is gone", both, operation="MULTIPLY")
    )


def _group(slots: int, bones):
    tree = Tree(volumes.MODIFIER)
    group = tree.group
    group.is_modifier = True
    group.description = "Joints keep their volume: what linear skinning loses, fitted to the motion by Ossify"
    tree.socket("Geometry", "Geometry")
    tree.socket("Geometry", "Geometry", out=True)
    tree.socket(
        STRENGTH,
        "Float",
        words="How much of the correction is seen; 0 is the armature alone",
        subtype="FACTOR",
        default_value=1.0,
        min_value=0.0,
        max_value=2.0,
    )
    tree.socket(SOURCE[bones is not None], "Object", words="What follows the bones of the rig")
    given = tree.node("NodeGroupInput", (0, 0))
    points, strength = _points(tree, given, bones)
    parts = [_slot(tree, slot, points, 3.0 * slot) for slot in range(slots)]
    tree.frame("The sum, as strong as asked for")
    total = _sum(tree, parts, 6)
    column = 6 + max(slots - 1, 0)
    scaled = tree.node(
        "ShaderNodeVectorMath",
        (column, 0),
        STRENGTH,
        {0: total, "Scale": strength},
        operation="SCALE",
    )
    chosen = _named(tree, volumes.PREFIX, "BOOLEAN", (column, 1))
    tree.unframed()
    moved = tree.node(
        "GeometryNodeSetPosition",
        (column + 1.5, 0),
        given={"Geometry": result(given, "Geometry"), "Selection": chosen, "Offset": result(scaled)},
    )
    tree.node("NodeGroupOutput", (column + 2.5, 0), given={"Geometry": result(moved)})
    return group


def probe_group(slots: int):
    """The group for so many bones a vertex, which all rigs with a probe share."""
    return _shared(volumes.GROUP, slots, lambda: _group(slots, None))


def rig_group(slots: int, armature, names: list[str], frame: bone_points.Frame):
    """One of the rig's own, by Bone Info."""
    group = _group(slots, bone_points.make_group(armature, names, frame))
    group[volumes.GROUP], group[_RIG] = slots, armature.name
    group.name = f"{armature.name} {volumes.MODIFIER}"
    return group


def bones_group(group):
    """The group of Bone Info nodes in it; None: it reads a probe."""
    nodes = (node for node in group.nodes if node.bl_idname == "GeometryNodeGroup" and node.node_tree)
    return next((node.node_tree for node in nodes if bone_points.names_in(node.node_tree)), None)


def sources_in(group) -> list[str]:
    """The inputs of a group that say whose bones it follows."""
    items = [item for item in group.interface.items_tree if item.item_type == "SOCKET"]
    return [item.name for item in items if item.in_out == "INPUT" and item.name in SOURCE.values()]


def copied(group):
    """One of the same with a group of Bone Info nodes of its own."""
    copy, bones = group.copy(), bones_group(group)
    own = bones.copy()
    for node in copy.nodes:
        if node.bl_idname == "GeometryNodeGroup" and node.node_tree == bones:
            node.node_tree = own
    return copy
