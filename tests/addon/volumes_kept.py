"""Rigs that keep their volume, and what their meshes should be, computed from the library's answer."""

import bpy
import chain
import numpy as np
import scenes
from kept import kept
from ossify import native
from ossify.base.steps import run
from ossify.edit import edits, keep_volume
from ossify.nodes import volume
from ossify.nodes.tree import input_of, set_input
from ossify.rig import volumes


def _twisted(points, time):
    """A tube that bends by up to a right angle and twists by nearly two, always to the same side: to twist to
    both sides alike is more than animation space can do better than linear skinning."""
    share = np.clip((points[:, 2] - 1.2) / 1.6, 0, 1)
    twist, bend = np.pi * 0.8 * np.sin(time / 2) ** 2 * share, 0.5 * np.pi * np.sin(2 * time) ** 2 * share
    x = points[:, 0] * np.cos(twist) - points[:, 1] * np.sin(twist)
    y = points[:, 0] * np.sin(twist) + points[:, 1] * np.cos(twist)
    way = np.stack([np.sin(bend), np.cos(bend)], 1)
    steps = np.linspace(0, 4, 400)
    angles = 0.5 * np.pi * np.sin(2 * time) ** 2 * np.clip((steps - 1.2) / 1.6, 0, 1)
    at = np.cumsum(np.stack([np.sin(angles), np.cos(angles)], 1), axis=0) * (steps[1] - steps[0])
    axis = np.stack([np.interp(points[:, 2], steps, at[:, i]) for i in (0, 1)], 1)
    return np.stack([axis[:, 0] + x * way[:, 1], y, axis[:, 1] - x * way[:, 0]], 1)


@kept
def tube_rig(**chosen):
    """The rig of a tube that twists and bends, two bones with a joint between"""
    tube = scenes.tube(rings=25, around=12)
    rest = scenes.positions(tube.data).astype(float)
    frames = np.array([_twisted(rest, 2 * np.pi * f / 12) for f in range(12)], np.float32)
    bpy.context.scene.frame_end = 12
    for f, key in enumerate(scenes.add_shape_keys(tube, frames)[1:]):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    plain = {"bones": 2, "quality": "NORMAL", "rest_correction": "KEPT", "keep_volume": True}
    return chain.converted(tube, **{**plain, **chosen})


def strength(meshes, value):
    for mesh in meshes:
        set_input(volumes.modifier_of(mesh), "Strength", value)
        mesh.update_tag()
    bpy.context.view_layer.update()


def strength_of(mesh):
    return input_of(volumes.modifier_of(mesh), "Strength")


def shown(armature, mesh, value=None):
    """[f][v][3] in the armature's space, of the frames that it was made from"""
    if value is not None:
        strength([mesh], value)
    times = [item.frame for item in armature.ossify.frames]
    back = np.linalg.inv(np.array(armature.matrix_world))
    return scenes.seen_frames(mesh, times) @ back[:3, :3].T + back[:3, 3]


def expected(armature):
    """Linear skinning, and with the library's corrections: [f][v][3] each, by sums of this test's own"""
    subject = run(edits.read(bpy.context, armature))
    rig = subject.rig(subject.skin.weights[subject.skin.moved])
    given = volume.fitting(rig.rest, subject.frames, subject.triangles, rig)
    _, space, _ = native.animation_space(*given)
    rest = np.concatenate([rig.rest, np.ones((len(rig.rest), 1))], axis=1).astype(float)
    dense = rig.dense_weights().astype(float)
    plain = np.einsum("vb,fbij,vj->fvi", dense, rig.transforms, rest)
    bones = np.maximum(space.bones, 0)
    moved = np.where(space.bones[..., None] < 0, 0, space.corrections).astype(float)
    more = sum(
        np.einsum("fvij,vj->fvi", rig.transforms[:, bones[:, k]], moved[:, k]) for k in range(bones.shape[1])
    )
    return plain, plain + more


def added(armature):
    return run(keep_volume.add(bpy.context, armature))


def width(armature):
    return scenes.size_of(scenes.seen(armature.children[0])[None])
