"""A family of made-up bodies: tubes on chains of bones, with the same vertices and known joints."""

import bpy
import numpy as np
import scenes
from layered import chain
from ossify.base.steps import run
from ossify.family import fit
from ossify.options.options import FitOptions

BONES = 3
FRAMES = 8
FAMILY = [(1.0, 1.9, 1.2), (1.8, 0.9, 0.8), (1.4, 1.2, 2.0), (0.9, 1.0, 1.1)]


def stretched(points, lengths, radius=1.0):
    """Points of a tube along Z whose three parts have other lengths; [.., 3]"""
    points = np.array(points, np.float64)
    own, ends = np.linspace(0, 4, BONES + 1), np.concatenate([[0], np.cumsum(lengths)])
    z = np.interp(points[..., 2], own, ends)
    return np.stack([radius * points[..., 0], radius * points[..., 1], z], axis=-1)


def body(name, points, faces_of):
    """A mesh with the faces of another one."""
    mesh = faces_of.data.copy()
    mesh.name = name
    mesh.vertices.foreach_set("co", np.asarray(points, np.float32).ravel())
    mesh.update()
    obj = scenes.link(bpy.data.objects.new(name, mesh))
    for group in list(obj.vertex_groups):
        obj.vertex_groups.remove(group)
    return obj


def like(obj, name, change):
    """A body whose points are those of a mesh, changed."""
    return body(name, change(scenes.positions(obj.data)), obj)


def joints(armature, names=None):
    """[b][3] heads in the armature"""
    bones = armature.data.bones
    return np.array([bones[name].head_local for name in names or bones.keys()])


def fitted(active, *others, **chosen):
    context = bpy.context
    context.view_layer.update()
    return run(fit.fit(context.scene, context.view_layer, active, list(others), FitOptions(**chosen)))


def weights(obj):
    return {
        (obj.vertex_groups[group.group].name, vertex.index): group.weight
        for vertex in obj.data.vertices
        for group in vertex.groups
    }


def moved(armature):
    """name -> [4][4] what a bone does to the mesh, in the armature"""
    bones = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    return {
        bone.name: np.array(bone.matrix, float) @ np.linalg.inv(np.array(bone.bone.matrix_local, float))
        for bone in bones
    }


def by_hand(armature, obj):
    """[v][3] in the world: linear blend skinning of the mesh at rest, in double precision"""
    turns, amounts = moved(armature), np.zeros((len(obj.data.vertices), len(obj.vertex_groups)))
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            amounts[vertex.index, group.group] = group.weight
    amounts /= amounts.sum(axis=1, keepdims=True)
    world = np.array(armature.matrix_world, float)
    to_armature = np.linalg.inv(world) @ np.array(obj.matrix_world, float)
    rest = np.concatenate([scenes.positions(obj.data), np.ones((len(amounts), 1))], axis=1) @ to_armature.T
    stack = np.array([turns[group.name] for group in obj.vertex_groups])
    return (np.einsum("vg,grc,vc->vr", amounts, stack, rest) @ world.T)[:, :3]


def family():
    """A rigged tube, and others with other lengths; all joints go where a third of the lengths end."""
    armature, tube = chain(bones=3, rings=16, width=0.5)
    bodies = [
        like(
            tube,
            f"Body {number}",
            lambda points, lengths=lengths, wide=wide: stretched(points, lengths, wide),
        )
        for number, (lengths, wide) in enumerate(zip(FAMILY, (1.0, 1.4, 0.8, 1.1), strict=True))
    ]
    for body in bodies:
        body.matrix_world = tube.matrix_world
    return armature, tube, bodies


# ---- bodies with motions of their own


def bent(points, lengths, turns):
    """A tube of three stiff parts, soft at its two joints, each turned about X by as much against the last"""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    moved, at, angle = np.array(points, np.float64), np.array([0.0, 0, 0]), 0.0
    result, soft = np.zeros_like(moved), 0.25
    shares = [np.clip((moved[:, 2] - end) / soft + 0.5, 0, 1) for end in ends[1:-1]]
    parts = [1 - shares[0], shares[0] * (1 - shares[1]), shares[0] * shares[1]]
    for part, (share, turn) in enumerate(zip(parts, (0, *turns), strict=True)):
        if part:
            at = at + (ends[part] - ends[part - 1]) * np.array([0, -np.sin(angle), np.cos(angle)])
        angle += turn
        rotation = np.array(
            [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
        )
        result += share[:, None] * ((moved - [0, 0, ends[part]]) @ rotation.T + at)
    return result


def joints_of(lengths):
    return np.cumsum(lengths)[:2]


def moving(folder, name, lengths, seed):
    """A body that bends at its joints, by a cache."""
    tube = scenes.tube(f"{name} plan", rings=25, around=8)
    obj = like(tube, name, lambda points: stretched(points, lengths))
    bpy.data.objects.remove(tube)
    points, rng = scenes.positions(obj.data), np.random.default_rng(seed)
    frames = [bent(points, lengths, rng.uniform(-1, 1, 2)) for _ in range(FRAMES)]
    scenes.cached(obj, folder / f"{name}.pc2", np.array(frames, np.float32))
    return obj
