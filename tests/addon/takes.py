"""Takes of a sheet as clips of one rig, and what the rig shows of each of them."""

import math

import bpy
import chain
import numpy as np
import scenes
from contents import curves_of
from kept import kept
from ossify.record import memory
from ossify.rig import actions

TAKES = 8


def take(name, phase, frames=TAKES, place=(0, 0, 0)):
    """A sheet that waves with a phase of its own, by a keyed shape key a frame."""
    obj = scenes.grid(name)
    points = scenes.positions(obj.data)
    moved = [scenes.wave(points, phase + 2 * math.pi * f / frames) for f in range(frames)]
    blocks = scenes.add_shape_keys(obj, moved)
    for f in range(frames):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            if not (f == frames - 1 and time == f + 2):  # the last shape stays
                blocks[f + 1].value = value
                blocks[f + 1].keyframe_insert("value", frame=time)
    obj.location = place
    bpy.context.view_layer.update()
    return obj


def two_takes():
    return take("Walk", 0.0), take("Run", 2.0, place=(5, 0, 0))


def shown(armature, mesh, name, times):
    """[f][v][3] in world space, with the action of that name"""
    actions.assign(armature, bpy.data.actions[name])
    return scenes.seen_frames(mesh, times)


TIMES = range(1, TAKES + 1)


@kept
def takes_rig(**chosen):
    result = chain.converted(*two_takes(), clips="TAKES", **{"bones": 6, **chosen})
    scenes.select(result.armature)
    return result


def errors(armature, mesh):
    """name of a clip -> root mean square distance to the motion that was kept, as Blender shows it"""
    frames = memory.recall(armature).frames.astype(float)
    matrix, now = np.array(armature.matrix_world), armature.animation_data.action
    goal, found = frames @ matrix[:3, :3].T + matrix[:3, 3], {}
    for number, name in enumerate(("Walk", "Run")):
        gap = shown(armature, mesh, name, TIMES) - goal[number * TAKES : (number + 1) * TAKES]
        found[name] = float(np.sqrt((gap**2).sum(axis=-1).mean()))
    actions.assign(armature, now)
    return found


def keys_of(armature, name):
    """The keys of an action of the rig"""
    with actions.given(armature, bpy.data.actions[name]):
        return curves_of(armature)


@kept
def tracked_rig(**chosen):
    """A rig made for Walk, with Run tracked onto it; Walk plays"""
    walk, run = two_takes()
    run.location = (0, 0, 0)
    result = chain.converted(walk, skeleton="HIERARCHY", **{"bones": 6, **chosen})
    scenes.select(result.armature, run)
    assert bpy.ops.ossify.track() == {"FINISHED"}
    bpy.ops.ossify.play_clip(clip=0)
    scenes.select(result.armature)
    return result
