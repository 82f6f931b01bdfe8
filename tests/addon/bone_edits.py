"""Edits of bones and weights, each ready to be run, and the rigs they are done to."""

import time

import bpy
from ossify.edit import bone_growth, bone_merge, bone_removal, correction, keep_volume, painting
from refits import COUNT, creature_rig


def deforming(armature):
    return [bone.name for bone in armature.data.bones if bone.use_deform]


def linked_pair(armature):
    """A bone that deforms and a child of it that does"""
    for bone in armature.data.bones:
        for child in bone.children:
            if bone.use_deform and child.use_deform:
                return bone.name, child.name
    raise AssertionError("no chain")


def rigged(which):
    """A body with joints: its rig, with a bone for each part when they are to mirror, or else with fewer"""
    result = creature_rig(bones=COUNT if which == "mirror" else COUNT - 2, keys="EVERY")
    return result.armature, result.meshes[0]


EDITS = {
    "merge": lambda rig: bone_merge.merge(bpy.context, rig, *_pair(rig)),
    "split": lambda rig: bone_growth.split(bpy.context, rig, linked_pair(rig)[0]),
    "add": lambda rig: bone_growth.add_at_worst(bpy.context, rig),
    "remove": lambda rig: bone_removal.remove_useless(bpy.context, rig, 5.0),
    "smooth": lambda rig: painting.smooth(bpy.context, rig, 1.0, 5),
    "prune": lambda rig: painting.prune(bpy.context, rig, 2),
    "correct": lambda rig: correction.add(bpy.context, rig, "DRIVEN", 2),
    "mirror": lambda rig: painting.mirror(bpy.context, rig, "LEFT_TO_RIGHT", "X", 5.0),
    "keep volume": lambda rig: keep_volume.add(bpy.context, rig),
}


def _pair(rig):
    kept, gone = linked_pair(rig)
    return kept, [gone]


def stages_of(steps, stop=None):
    """Runs up to the first step of a stage, which must come; the stages that were met"""
    met = []
    for step in steps:
        met.append(step.stage)
        assert 0 <= step.fraction <= 1
        if step.stage == stop:
            break
        if step.wait:
            time.sleep(0.001)
    assert stop is None or met[-1] == stop
    return met
