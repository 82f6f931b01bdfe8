"""Takes of a sheet that waves, tracked onto its rig."""

import math

import bpy
import numpy as np
import scenes
from ossify.base.steps import run
from ossify.options import options
from ossify.track import track

FRAMES = 12


def sheet(name, phase, frames=FRAMES, **more):
    """A sheet that waves, by a shape key a frame."""
    obj = scenes.grid(name, **more)
    points = scenes.positions(obj.data)
    moved = [scenes.wave(points, phase + 2 * math.pi * f / FRAMES) for f in range(frames)]
    blocks = scenes.add_shape_keys(obj, moved)
    for f in range(frames):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            blocks[f + 1].value = value
            blocks[f + 1].keyframe_insert("value", frame=time)
    bpy.context.scene.frame_end = FRAMES
    bpy.context.view_layer.update()
    return obj


def tracked(result, *objects, **chosen):
    context = bpy.context
    steps = track.track(
        context.scene, context.view_layer, result.armature, list(objects), options.TrackOptions(**chosen)
    )
    return run(steps)


def distances(result, source, times=range(1, FRAMES + 1)):
    """[f][v] between the rig's mesh and the source, as seen"""
    mine, theirs = scenes.seen_frames(result.meshes[0], times), scenes.seen_frames(source, times)
    return np.linalg.norm(mine - theirs, axis=2)
