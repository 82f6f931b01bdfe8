"""The stages of a conversion one by one, for tests that look in between."""

import time

import bpy
import numpy as np
from contents import curves as curves
from ossify import native
from ossify.base.steps import run
from ossify.convert import convert
from ossify.motion import capture
from ossify.options import options
from ossify.rig import build


def drain(steps):
    """The value of a generator."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def unhurried(steps):
    """The steps, with one alone for the whole wait for the solver."""
    waited = False
    for step in steps:
        if step.wait and waited:
            time.sleep(0.002)
            continue
        waited = step.wait
        yield step


def captured(*objects, **chosen):
    context = bpy.context
    return drain(capture.capture(context.scene, context.view_layer, list(objects), options.Options(**chosen)))


def quick(**chosen):
    plain = {
        "bones_by": "COUNT",
        "bones": 5,
        "quality": "DRAFT",
        "keys": "EVERY",
        "threads": 1,
        "skeleton": "NONE",
    }
    return options.Options(**{**plain, **chosen})


def built(*objects, skeleton=None, **chosen):
    """motion, rig, and the armature and meshes in the scene; `skeleton` makes one of the rig"""
    picked = quick(**chosen)
    context = bpy.context
    motion = drain(capture.capture(context.scene, context.view_layer, list(objects), picked))
    rig, _ = native.decompose(motion.rest, motion.frames, motion.triangles, picked.solver())
    made = drain(build.build(motion, rig, picked, skeleton and skeleton(rig)))
    build.hand_over(made, motion, picked)
    bpy.context.view_layer.update()
    return motion, rig, made.armature.get(), [handle.get() for handle in made.meshes]


def converted(*objects, **chosen):
    context = bpy.context
    return run(convert.convert(context.scene, context.view_layer, list(objects), quick(**chosen)))


def replay(motion, rig):
    """[f][v][3] in world space: linear blend skinning written from its definition"""
    weights = rig.dense_weights().astype(np.float64)
    rest = np.concatenate([rig.rest.astype(np.float64), np.ones((len(rig.rest), 1))], axis=1)
    moved = np.einsum("vb,fbij,vj->fvi", weights, rig.transforms, rest)
    return moved @ motion.space[:3, :3].T + motion.space[:3, 3]
