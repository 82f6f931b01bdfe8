"""An arm that bends with a muscle that grows: a rig with something for correctives to do."""

import math

import bpy
import chain
import numpy as np
import scenes
from kept import kept
from ossify.base.steps import run
from ossify.edit import correction

FRAMES = 24
TIMES = list(range(1, FRAMES + 1))


def bent(points, angle):
    """An arm along Z that bends at its elbow, in the middle, with a muscle that grows as it does"""
    moved = np.array(points, np.float64)
    height = moved[:, 2] - 2
    share = np.clip(0.5 + height / 0.6, 0, 1)
    muscle = 0.25 * (1 - math.cos(angle)) * np.exp(-((moved[:, 2] - 1.3) ** 2) / 0.2)
    moved[:, :2] *= 1 + muscle[:, None]
    turn = angle * share
    x, z = moved[:, 0].copy(), height * (height > 0)
    moved[:, 0] = x * np.cos(turn) + z * np.sin(turn)
    moved[:, 2] = np.where(
        height > 0, 2 - x * np.sin(turn) + z * np.cos(turn), moved[:, 2] - x * np.sin(turn)
    )
    return moved


def angles(frames=FRAMES):
    return [1.2 * math.sin(2 * math.pi * 1.3 * f / frames) ** 2 for f in range(frames)]


@kept
def arm(**chosen):
    """An arm that bends, and its rig: a bone for the upper arm and one for the lower"""
    bpy.context.scene.frame_end = FRAMES
    source = scenes.tube("Arm", rings=41, around=12)
    points = scenes.positions(source.data)
    frames = np.array([bent(points, angle) for angle in angles()], np.float32)
    blocks = scenes.add_shape_keys(source, frames)
    for f, block in enumerate(blocks[1:]):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            block.value = value
            block.keyframe_insert("value", frame=time)
    choices = {"bones": 2, "skeleton": "HIERARCHY", "rest_correction": "FIXED", "hide_source": False}
    result = chain.converted(source, **{**choices, "quality": "NORMAL", **chosen})
    return source, result.armature, result.meshes[0]


def error(source, mesh):
    """Root mean square over vertices and frames of what Blender shows, percent of the size"""
    apart = scenes.seen_frames(mesh, TIMES) - scenes.seen_frames(source, TIMES)
    return 100 * np.sqrt((apart**2).sum(axis=2).mean()) / scenes.size_of(scenes.positions(mesh.data))


def corrected(armature, kind="KEYED", count=2):
    return run(correction.add(bpy.context, armature, kind, count))


def lower(armature):
    """The bone below the elbow"""
    return next(b for b in armature.pose.bones if b.bone.use_deform and b.parent and b.parent.bone.use_deform)
