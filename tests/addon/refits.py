"""Rigs to refit, what an artist may have done to them, and how they are judged."""

import itertools

import bpy
import chain
import numpy as np
import scenes
from contents import curves_of, groups_of
from kept import kept
from ossify.base.steps import run
from ossify.options import options
from ossify.record import memory
from ossify.refit import refit
from ossify.rig import standing

COUNT = len(scenes.creature_bones())


@kept
def sheet_rig(**chosen):
    obj = scenes.key_shapes(scenes.grid())
    numbered = {"bones": 5, "symmetry": "NONE"}  # no name has a side
    return chain.converted(obj, **{**numbered, **chosen})


@kept
def creature_rig(fineness=1, **chosen):
    """Made in NORMAL quality and refitted in DRAFT, as its settings then say."""
    body, _ = scenes.creature(frames=12, fineness=fineness)
    picked = {"bones": COUNT, "quality": "NORMAL", "skeleton": "HIERARCHY", "keys": "REDUCED", **chosen}
    result = chain.converted(body, **picked)
    result.armature.ossify.settings.quality = "DRAFT"
    return result


def steps_of(armature, bones=(), vertices=None, **chosen):
    context = bpy.context
    picked = options.RefitOptions(**chosen)
    return refit.refit(context.scene, context.view_layer, armature, picked, bones, vertices)


def refitted(armature, bones=(), vertices=None, **chosen):
    return run(steps_of(armature, bones, vertices, **chosen))


def cancelled(armature, **chosen):
    """The stage in which a refit is cancelled, each time a step later, until one comes to its end."""
    for count in itertools.count(1):
        steps = steps_of(armature, **chosen)
        taken = list(itertools.islice(chain.unhurried(steps), count))
        if len(taken) < count:
            return
        steps.close()
        yield taken[-1].stage


def error(armature, mesh, source_frames):
    """The root mean square distance to the source, as Blender shows it."""
    times = [item.frame for item in armature.ossify.frames]
    gap = scenes.seen_frames(mesh, times) - source_frames
    return float(np.sqrt((gap**2).sum(axis=-1).mean()))


def source_frames(armature):
    """[f][v][3] in world space, as they were kept"""
    matrix = np.array(armature.matrix_world)
    return memory.recall(armature).frames.astype(float) @ matrix[:3, :3].T + matrix[:3, 3]


def bits(armature, meshes):
    """All of a rig that a refit may write."""
    bones = {
        bone.name: (bone.parent.name if bone.parent else None, *np.ravel(bone.matrix_local).tolist())
        for bone in armature.data.bones
    }
    skins = [
        (
            mesh.name,
            [g.name for g in mesh.vertex_groups],
            groups_of(mesh),
            scenes.positions(mesh.data).tolist(),
        )
        for mesh in meshes
    ]
    return bones, curves_of(armature), skins


def edit(armature, change):
    """change(edit_bones) in Edit Mode"""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    change(armature.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def delete_bone(armature, name):
    edit(armature, lambda bones: bones.remove(bones[name]))


def paint_noise(mesh, armature, share=0.05, seed=3):
    """Random weights on some vertices; [v] which."""
    rng = np.random.default_rng(seed)
    names = standing.bone_names(armature)
    count = len(mesh.data.vertices)
    rows = rng.permutation(count)[: max(int(share * count), 1)]
    for row in rows.tolist():
        for name, amount in zip(names, rng.dirichlet(np.ones(len(names))), strict=True):
            group = mesh.vertex_groups.get(name) or mesh.vertex_groups.new(name=name)
            group.add([row], float(amount), "REPLACE")
    mesh.data.update()
    return np.isin(np.arange(count), rows)


def named_curves(armature, bone):
    curves = chain.curves(armature.animation_data.action)
    return [((c.data_path, c.array_index), c) for c in curves if f'"{bone}"' in c.data_path]


def give_weights(mesh, gone, kept):
    """All weights of one group to another, as an artist's tools would."""
    for vertex, (old, new) in enumerate(standing.painted(mesh, [gone, kept]).tolist()):
        if old > 0:
            mesh.vertex_groups[kept].add([vertex], old + new, "REPLACE")
    mesh.vertex_groups.remove(mesh.vertex_groups[gone])


def link_rig(path, armature, meshes):
    """The same from another file."""
    names = [obj.name for obj in (armature, *meshes)]
    bpy.data.libraries.write(str(path), {armature, *meshes})
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(path), link=True) as (_, here):
        here.objects = names
    found = [scenes.link(obj) for obj in here.objects]
    scenes.select(found[0])
    return found
