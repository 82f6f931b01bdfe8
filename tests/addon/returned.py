"""Rigs before and after something was put back: what is done to them, and how they are compared."""

import bpy
import numpy as np
import scenes
from contents import weights_by_name
from ossify.base.steps import run
from ossify.edit import bone_merge
from ossify.put_back import put_back as put_back_room
from ossify.rig import standing
from refits import give_weights

SIDE = ("Side.001.L", "Side.002.L")
NEAR = 1e-5  # of the armature's units


def put_back(armature, kind):
    scenes.select(armature)
    assert bpy.ops.ossify.put_back(kind=kind) == {"FINISHED"}


def listed(armature):
    scenes.select(armature)
    bpy.ops.ossify.look_for_changes()
    return {item.name: item.words for item in armature.ossify.changes}


def delete(armature, *names):
    """With Blender's own operator, as the X key does."""
    scenes.select(armature)
    hidden = [some for some in armature.data.collections_all if not some.is_visible]
    for collection in hidden:
        collection.is_visible = True
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.select = bone.select_head = bone.select_tail = bone.name in names
    bpy.ops.armature.delete()
    bpy.ops.object.mode_set(mode="OBJECT")
    for collection in hidden:
        collection.is_visible = False
    assert not set(names) & set(armature.data.bones.keys())


def skeleton_of(armature):
    """name -> parent, connected, deforms, colour, collections, rotation mode, and where it is"""
    return {
        bone.name: (
            (
                bone.parent.name if bone.parent else None,
                bone.use_connect,
                bone.use_deform,
                tuple(bone.color.custom.normal),
                sorted(collection.name for collection in bone.collections),
                armature.pose.bones[bone.name].rotation_mode,
                bone.get("ossify_joint"),
            ),
            np.array([*bone.head_local, *bone.tail_local, *bone.matrix_local.col[0]]),
        )
        for bone in armature.data.bones
    }


def same_skeleton(armature, before):
    now = skeleton_of(armature)
    assert now.keys() == before.keys()
    for name, (words, place) in before.items():
        assert now[name][0] == words, name
        assert np.abs(now[name][1] - place).max() < NEAR, name


def same_weights(mesh, before, but=()):
    for row, (now, then) in enumerate(zip(weights_by_name(mesh), before, strict=True)):
        if row not in but:
            assert now.keys() == then.keys(), row
            assert all(abs(now[name] - then[name]) <= 1e-6 for name in then), row


def shown(armature, meshes):
    """What Blender shows in all frames of the rig."""
    times = sorted({item.frame for item in armature.ossify.frames})
    return np.concatenate([scenes.seen_frames(mesh, times) for mesh in meshes], axis=1)


class As:
    """A rig as it is, to compare with later."""

    def __init__(self, result):
        self.armature, self.meshes = result.armature, result.meshes
        self.skeleton = skeleton_of(self.armature)
        self.weights = [weights_by_name(mesh) for mesh in self.meshes]
        self.seen = shown(self.armature, self.meshes)

    def holds(self, but=()):
        same_skeleton(self.armature, self.skeleton)
        for mesh, weights in zip(self.meshes, self.weights, strict=True):
            same_weights(mesh, weights, but)
        size = scenes.size_of(self.seen[0])
        off = np.abs(shown(self.armature, self.meshes) - self.seen).max(axis=(1, 2)) / size
        assert off.max() < 1e-5, off
        assert listed(self.armature) == {}


def clean_up(armature, meshes, *names):
    """Groups and keys of bones that are gone, as tidy people do."""
    for mesh in meshes:
        for name in names:
            mesh.vertex_groups.remove(mesh.vertex_groups[name])
    action = armature.animation_data.action
    for bag in [action] if hasattr(action, "fcurves") else action.layers[0].strips[0].channelbags:
        for curve in list(bag.fcurves):
            if any(f'"{name}"' in curve.data_path for name in names):
                bag.fcurves.remove(curve)


def normalise(meshes):
    for mesh in meshes:
        for vertex in mesh.data.vertices:
            total = sum(group.weight for group in vertex.groups)
            for group in vertex.groups:
                group.weight /= total or 1.0
        mesh.data.update()


def warned(armature, kind):
    """The sentences that putting back ends with."""
    scenes.select(armature)
    return put_back_room.put_back(bpy.context, armature, kind).notes


def merge_by_hand(result, kept, gone):
    for mesh in result.meshes:
        give_weights(mesh, gone, kept)
    delete(result.armature, gone)


def merge(result, kept, *gone, **chosen):
    run(bone_merge.merge(bpy.context, result.armature, kept, list(gone), **chosen))


def give_some(mesh, donor, name, share=0.5):
    group = mesh.vertex_groups.new(name=name)
    for row, weight in enumerate(standing.painted(mesh, [donor])[:, 0].tolist()):
        if weight > 0:
            group.add([row], share * weight, "REPLACE")
            mesh.vertex_groups[donor].add([row], (1 - share) * weight, "REPLACE")
    mesh.data.update()
