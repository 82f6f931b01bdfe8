"""Points that follow the bones, four for each: T_b c, T_b (c + s x), T_b (c + s y), T_b (c + s z).

Any T_b (q, w) is a sum of them (keep_volume.py), so that nodes need no matrices. Blender has two ways to make
them, and both give the same points in the same order:

from 5.1 on   the node Bone Info, one for each bone, in a node group of the rig
before        the probe, a mesh with these points, bound to the armature like any other; no scene shows it, so
              that no artist selects and no exporter writes it
"""

from __future__ import annotations

from typing import NamedTuple

import bpy
import numpy as np

from ..base import tolerances
from ..rig import volumes
from ..rig.skin import MODIFIER, set_positions
from .tree import Tree, result

BONE_POINTS = 4  # points of a bone
_AXES = np.concatenate([np.zeros((1, 3)), np.eye(3)])  # [4][3] where they are, in sizes about the centre
_BONE_INFO = "GeometryNodeBoneInfo"
_RESTS = "ossify_rests"  # on the group of these nodes: the bones' rest matrices, one after the other
ALL = "All There"


class Frame(NamedTuple):
    """Where the points of every bone are at rest, in the armature's space."""

    centre: np.ndarray  # [3]
    size: float

    @classmethod
    def around(cls, rest: np.ndarray) -> Frame:
        low, high = rest.min(axis=0).astype(np.float64), rest.max(axis=0).astype(np.float64)
        return cls((low + high) / 2, float(np.linalg.norm(high - low)) / 2 or 1.0)

    def points(self) -> np.ndarray:
        """[4][3]"""
        return self.centre + self.size * _AXES

    def shares(self, corrections: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[n][4] (q, w) -> [n][3] of the points along x, y and z, and [n] of the first"""
        weight = corrections[:, 3:].astype(np.float64)
        along = (corrections[:, :3] - weight * self.centre) / self.size
        return along, weight[:, 0] - along.sum(axis=1)


def by_bone_info() -> bool:
    """Whether this Blender knows where bones are without a probe."""
    return hasattr(bpy.types, _BONE_INFO)


# ---- the probe


def make_probe(armature, names: list[str], frame: Frame):
    """An object in no scene; the modifier that reads it keeps it alive."""
    mesh = bpy.data.meshes.new(f"{armature.name} Probe")
    mesh.vertices.add(BONE_POINTS * len(names))
    set_positions(mesh, np.tile(frame.points(), (len(names), 1)))
    probe = bpy.data.objects.new(mesh.name, mesh)
    probe[volumes.PROBE] = True
    for b, name in enumerate(names):
        probe.vertex_groups.new(name=name).add(
            list(range(BONE_POINTS * b, BONE_POINTS * (b + 1))), 1.0, "REPLACE"
        )
    bind_probe(probe, armature)
    return probe


def bind_probe(probe, armature) -> None:
    probe.parent = armature
    for modifier in list(probe.modifiers):
        probe.modifiers.remove(modifier)
    modifier = probe.modifiers.new(MODIFIER, "ARMATURE")
    modifier.object = armature
    modifier.use_vertex_groups, modifier.use_bone_envelopes = True, False
    probe.lock_location = probe.lock_rotation = probe.lock_scale = (True, True, True)
    probe.hide_render = True


# ---- Bone Info


def _switch(tree: Tree, values: list, index, at, label: str, kind: str = "MATRIX"):
    """One of several, by the index."""
    node = tree.node("GeometryNodeIndexSwitch", at, label, data_type=kind)
    while len(node.index_switch_items) < len(values):
        node.index_switch_items.new()
    while len(node.index_switch_items) > max(len(values), 1):
        node.index_switch_items.remove(node.index_switch_items[-1])
    tree.give(node, "Index", index)
    for number, value in enumerate(values):
        tree.group.links.new(value, node.inputs[1 + number])
    return result(node)


def _corner(tree: Tree, index, frame: Frame):
    """Where a point is at rest."""
    number = tree.node(
        "ShaderNodeMath", (1, 1), "Which Corner", {0: index, 1: float(BONE_POINTS)}, operation="MODULO"
    )
    node = tree.node("GeometryNodeIndexSwitch", (2, 1), "Corner", data_type="VECTOR")
    while len(node.index_switch_items) < BONE_POINTS:
        node.index_switch_items.new()
    tree.give(node, "Index", result(number))
    for corner, point in enumerate(frame.points()):
        node.inputs[1 + corner].default_value = point
    return result(node)


def make_group(armature, names: list[str], frame: Frame):
    """A node group that makes the points of this rig's bones."""
    tree = Tree(f"{armature.name} Bones")
    tree.socket("Armature", "Object", words="The rig whose bones are followed")
    tree.socket("Points", "Geometry", out=True, words="Four points for each bone")
    tree.socket(
        ALL, "Float", out=True, words="1 if all bones are there, 0 if one is gone or has another name"
    )
    given = tree.node("NodeGroupInput", (-4, 0))
    tree.frame("The bones, as they are posed and at rest")
    infos = [
        tree.node(
            _BONE_INFO,
            (-2, 1.6 * b),
            name,
            {"Armature": result(given, "Armature"), "Bone Name": name},
            transform_space="ORIGINAL",
        )
        for b, name in enumerate(names)
    ]
    tree.frame("Which bone, which of its corners")
    index = result(tree.node("GeometryNodeInputIndex", (0, 0)))
    quarter = tree.node(
        "ShaderNodeMath", (1, 0), "Quarter", {0: index, 1: float(BONE_POINTS)}, operation="DIVIDE"
    )
    bone = result(tree.node("ShaderNodeMath", (2, 0), "Which Bone", {0: result(quarter)}, operation="FLOOR"))
    corner = _corner(tree, index, frame)
    tree.frame("From rest to pose, and into the space of the mesh")
    posed = _switch(tree, [result(info, "Pose") for info in infos], bone, (4, 0), "Pose")
    rest = _switch(tree, [result(info, "Rest Pose") for info in infos], bone, (4, 3), "Rest")
    back = tree.node("FunctionNodeInvertMatrix", (5, 3), "From Rest", {"Matrix": rest})
    local = tree.node(
        "FunctionNodeTransformPoint", (6, 3), given={"Vector": corner, "Transform": result(back)}
    )
    moved = tree.node(
        "FunctionNodeTransformPoint", (7, 2), given={"Vector": result(local), "Transform": posed}
    )
    at = tree.node(
        "GeometryNodeObjectInfo",
        (6, 0),
        given={"Object": result(given, "Armature")},
        transform_space="RELATIVE",
    )
    here = tree.node(
        "FunctionNodeTransformPoint",
        (8, 2),
        given={"Vector": result(moved), "Transform": result(at, "Transform")},
    )
    points = tree.node(
        "GeometryNodePoints", (9, 2), given={"Count": BONE_POINTS * len(names), "Position": result(here)}
    )
    tree.frame("Whether all bones are there")
    there = _switch(tree, [result(info, "Exists") for info in infos], bone, (4, 6), "There", "BOOLEAN")
    least = tree.node("GeometryNodeAttributeStatistic", (10, 4), "All", {"Geometry": result(points)})
    tree.give(least, "Attribute", there)
    tree.unframed()
    tree.node("NodeGroupOutput", (12, 2), given={"Points": result(points), ALL: result(least, "Min")})
    tree.group[_RESTS] = np.concatenate([_rest(armature, name) for name in names]).tolist()
    return tree.group


def _rest(armature, name: str) -> np.ndarray:
    return np.ravel(armature.data.bones[name].matrix_local).astype(np.float64)


def follow_names(group, armature) -> None:
    """After bones were renamed, which nodes do not notice: a bone is known again by its place at rest."""
    bones = armature.data.bones
    infos = [node for node in group.nodes if node.bl_idname == _BONE_INFO]
    rests = np.array(group.get(_RESTS, ()), np.float64)
    if len(rests) != 16 * len(infos):
        return
    known = {node.inputs["Bone Name"].default_value for node in infos}
    new = [bone.name for bone in bones if bone.name not in known]
    for node, rest in zip(infos, rests.reshape(-1, 16), strict=True):
        if node.inputs["Bone Name"].default_value not in bones:
            found = [name for name in new if np.allclose(_rest(armature, name), rest, atol=tolerances.TURN)]
            if len(found) == 1:
                node.inputs["Bone Name"].default_value = node.label = found[0]


def names_in(group) -> list[str]:
    """The bones that a group of these follows, in their order."""
    infos = [node for node in group.nodes if node.bl_idname == _BONE_INFO]
    return [node.inputs["Bone Name"].default_value for node in infos]
