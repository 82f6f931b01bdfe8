"""Takes of a sheet that waves, tracked onto its rig."""

import math

import bpy
import numpy as np
import pytest
import scenes
from chain import converted
from kept import kept
from ossify.base.refusal import Refusal
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


@kept
def first_rig(**chosen):
    """The rig of the first take."""
    return converted(sheet("First", 0.0), **{"bones": 6, **chosen})


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


def bind(armature, name, kind="COPY_TRANSFORMS"):
    """The bone follows an object that swings; the object"""
    empty = scenes.link(bpy.data.objects.new("Guide", None))
    for frame, height in ((1, 0.0), (FRAMES // 2, 0.3), (FRAMES, 0.0)):
        head = armature.matrix_world @ armature.data.bones[name].head_local
        empty.location = (head.x, head.y, head.z + height)
        empty.keyframe_insert("location", frame=frame)
    constraint = armature.pose.bones[name].constraints.new(kind)
    constraint.target = empty
    return empty


def refused(result, *objects, **chosen):
    with pytest.raises(Refusal) as refusal:
        tracked(result, *objects, **chosen)
    return str(refusal.value)


def stage():
    """A rig and a second take; both selected, the rig active."""
    result, second = first_rig(), sheet("Second", 0.8)
    scenes.select(result.armature, second)
    return result, second
