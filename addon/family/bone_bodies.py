"""A rig whose body is set by bones: pose bones and shape bones in one tree, and a pose for each body.

With A_s[b] what a bone does to the mean body in subject s, C the motion of the pose bones and p what b hangs
from, the mesh must follow C A_s[b]. Bones do that with these matrices, seen from the rest of the armature:

    Shape n    A_s[p]^-1 A_s[n]
    Joint X    A_s[p]^-1 A_s[X], above each bone X of the rig, which is posed and keyed as ever

for then C_p A_s[p] A_s[p]^-1 A_s[X] turns about the joint that the subject has. Bones that move no vertex go
along with the root of the tree, to where they lie in the subject.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mathutils import Matrix

from .. import native
from ..rig import pose_assets, standing
from ..skeleton import placement
from . import copies, slider_rig
from .rigged import Rigged

COLLECTION = "Body Bones"
_SHAPE = "Shape"


class Laid(NamedTuple):
    names: list[str]  # bones of the rig
    heads: np.ndarray  # [b][3] of those, in the mean body
    tails: np.ndarray
    shapes: list[str]  # shape bones
    ends: np.ndarray  # [n][2][3] of those
    above: dict[str, str]  # what a shape bone hangs from, and a bone of the rig that hangs from one
    groups: dict[str, tuple[list[int], list[float]]]  # as in copies.weigh
    bodies: list[dict[str, np.ndarray]]  # of each: bone -> A [4][4]


def _square(transforms: np.ndarray) -> np.ndarray:
    """[...][4][4] of [...][3][4]"""
    last = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*transforms.shape[:-2], 1, 4))
    return np.concatenate([transforms, last], axis=-2)


def _groups(first: Rigged, rig: native.Rig, names: list[str]) -> dict[str, tuple[list[int], list[float]]]:
    vertices, found = np.flatnonzero(first.skin.moved), {name: ([], []) for name in names}
    for v, bones, amounts in zip(vertices.tolist(), rig.influence_bones, rig.influence_weights, strict=True):
        for b, amount in zip(bones.tolist(), amounts.tolist(), strict=True):
            if b >= 0 and amount > 0:
                found[names[b]][0].append(v)
                found[names[b]][1].append(amount)
    return found


def _through(turns: np.ndarray, points: np.ndarray) -> np.ndarray:
    """[s][b][3] points [s][b][3], each body's by its own [s][4][4]"""
    return np.einsum("sij,sbj->sbi", turns[:, :3, :3], points) + turns[:, None, :3, 3]


def lay_out(first: Rigged, tree: native.Merged, heads, tails, rig: native.Rig) -> Laid:
    """heads, tails [s][b][3] of all bones of the rig in the bodies; the tree starts with first.joints"""
    posed, moves = len(first.joints), _square(tree.shapes)
    lead = moves[:, int(np.flatnonzero(tree.parents < 0)[0])]
    home = np.linalg.inv(lead)
    middle = _through(home, heads).mean(axis=0)
    along = _through(home, tails).mean(axis=0) - middle
    middle[first.joints] = tree.joints[:posed]
    shapes = [
        slider_rig.free_name(_SHAPE, f"{n + 1:02}", first.names) for n in range(len(tree.parents) - posed)
    ]
    merged = [*first.deforming, *shapes]
    above = {
        name: merged[int(p)]
        for b, (name, p) in enumerate(zip(merged, tree.parents, strict=True))
        if p >= 0 and (b >= posed or p >= posed)
    }
    bodies = []
    for own, whole, where in zip(moves, lead, heads, strict=True):
        follow = np.repeat(whole[None], len(first.names), axis=0)
        follow[:, :3, 3] = where - middle @ whole[:3, :3].T
        found = dict(zip(first.names, follow, strict=True))
        found.update(zip(merged, own, strict=True))
        bodies.append(found)
    places = placement.place(rig.rest, rig.dense_weights(), first.skin.moved_triangles)
    ends = np.stack([places.heads[posed:], places.tails[posed:]], axis=1)
    groups = _groups(first, rig, merged)
    return Laid(first.names, middle, middle + along, shapes, ends, above, groups, bodies)


def _hangs_from(bone, name: str) -> bool:
    return bone.parent is not None and bone.parent.name == name


def _carrier(laid: Laid, name: str) -> str:
    """The bone of the rig that a shape bone goes along with."""
    while name in laid.shapes:
        name = laid.above[name]
    return name


def _add_bones(armature, laid: Laid) -> dict[str, str]:
    """bone of the rig -> Joint bone above it"""
    joined, joints = [], {}
    with standing.editing(armature) as bones:
        for name, (head, tail) in zip(laid.shapes, laid.ends, strict=True):
            shape = bones.new(name)
            shape.head, shape.tail = head, tail
        for name in laid.names:
            bone, over = bones[name], laid.above.get(name)
            hung = over is not None and _hangs_from(bone, _carrier(laid, over))
            joints[name] = slider_rig.free_name(slider_rig.JOINT, name, bones.keys())
            joint = slider_rig.like(bones, joints[name], name)
            joint.use_deform, joint.parent = False, bones[over] if hung else bone.parent
            joint.inherit_scale, joint.use_inherit_rotation = bone.inherit_scale, bone.use_inherit_rotation
            if bone.use_connect:
                joined.append(name)
            bone.use_connect, bone.parent = False, joint
            bone.inherit_scale, bone.use_inherit_rotation = "FULL", True
        for name in laid.shapes:
            bones[name].parent = bones[laid.above[name]]
    for name in joined:
        armature.pose.bones[name].lock_location = (True, True, True)
    slider_rig.put_away(armature, COLLECTION, [*joints.values(), *laid.shapes])
    for name in (*joints.values(), *laid.shapes):
        armature.pose.bones[name].rotation_mode = "QUATERNION"
    return joints


def _turns(armature, joints: dict[str, str], body: dict[str, np.ndarray]) -> dict[str, Matrix]:
    """bone -> its matrix, in its own axes"""
    whose, found = {joint: name for name, joint in joints.items()}, {}
    for bone in armature.data.collections[COLLECTION].bones:
        parent = bone.parent
        before = np.eye(4) if parent is None else body[whose.get(parent.name, parent.name)]
        rest = np.array(bone.matrix_local, np.float64)
        own = np.linalg.solve(before, body[whose.get(bone.name, bone.name)])
        found[bone.name] = Matrix(np.linalg.solve(rest, own @ rest))
    return found


def build(maker, pair, laid: Laid, names: list[str]) -> None:
    """pair: the armature with the bones of the rig, and its mesh, which become those of the mean body; names
    of the bodies. It then stands in the first."""
    armature, mesh = pair
    copies.lay(armature, laid.names, laid.heads, laid.tails, False)
    joints = _add_bones(armature, laid)
    copies.weigh(mesh, laid.groups)
    poses = [
        pose_assets.of_bones(
            armature,
            f"{name} Body",
            _turns(armature, joints, body),
            f"The body of {name} on {armature.name}",
            lambda title: maker.new("actions", title),
        )
        for name, body in zip(names, laid.bodies, strict=True)
    ]
    pose_assets.take(armature, poses[0])


def reshape(mesh, points: np.ndarray) -> None:
    mesh.data.vertices.foreach_set("co", points.astype(np.float32).ravel())
    mesh.data.update()
