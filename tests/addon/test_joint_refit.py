"""Joints that a refit moves, and those that it leaves."""

import bpy
import creature_rigs
import numpy as np
import pytest
import scenes
from ossify.record import changes
from ossify.refit import joint_refit
from ossify.rig import actions, played, standing
from refits import edit, paint_noise, refitted


def test_a_tail_that_leads_to_two_heads_follows_neither():
    armature = scenes.link(bpy.data.objects.new("Fork", bpy.data.armatures.new("Fork")))

    def fork(bones):
        for name, head, tail in (("Stem", 0, 1), ("First", 1, 2), ("Second", 1, 3)):
            bones.new(name)
            bones[name].head, bones[name].tail = (0, 0, head), (0, 0.1 * tail, tail)
        for name in ("First", "Second"):
            bones[name].parent, bones[name].use_connect = bones["Stem"], True

    edit(armature, fork)
    stem = np.array(armature.data.bones["Stem"].matrix_local), armature.data.bones["Stem"].length
    heads = {"First": np.array([0.1, 0, 1.2]), "Second": np.array([-0.1, 0, 1.1])}
    assert joint_refit.turned(armature, heads) == set(heads)
    joint_refit.move(armature, heads)
    bones = armature.data.bones
    assert np.abs(np.array(bones["Stem"].matrix_local) - stem[0]).max() < 1e-6
    assert bones["Stem"].length == pytest.approx(stem[1], rel=1e-6)
    for name, head in heads.items():
        assert not bones[name].use_connect
        assert np.allclose(bones[name].head_local, head, atol=1e-6)


def off_joint(armature):
    """The most that a bone and the one above it differ on where its head is, percent of the size"""
    names, bones = standing.bone_names(armature), armature.data.bones
    transforms, apart = played.read_transforms(armature, names), [0.0]
    for b, name in enumerate(names):
        if bones[name].parent.name in names:
            above = transforms[:, names.index(bones[name].parent.name)]
            gap = (transforms[:, b] - above) @ np.append(np.array(bones[name].head_local), 1)
            apart.append(np.linalg.norm(gap, axis=1).max())
    return 100 * max(apart) / armature.ossify.size


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_painted_weights_that_are_kept_pull_no_bone_off_its_joint(creature, share):
    armature, (mesh,) = creature.armature, creature.meshes
    assert off_joint(armature) < 0.01
    paint_noise(mesh, armature, share)
    found = refitted(armature)
    assert found.written
    assert found.after.rms < found.before.rms
    assert off_joint(armature) < 0.01
    assert armature.ossify.located == 0


def put_off(armature, name):
    """Moves a joint and refits the rig around it; a function that tells how far it is from where it was"""
    head = armature.data.bones[name].head_local.copy()
    edit(armature, lambda bones: setattr(bones[name], "head", 1.05 * bones[name].head))
    refitted(armature)
    return lambda: (armature.data.bones[name].head_local - head).length


def test_joints_are_found_anew_when_asked():
    """By distances alone: in another norm a hinge may come to lie elsewhere along its axis."""
    picked = {"skeleton": "ARTICULATED", "rest_correction": "KEPT", "fairness": 0.0}
    armature = creature_rigs.converted(**picked)[0].armature
    scenes.select(armature)
    placed, free = put_off(armature, "Side.002.R"), put_off(armature, "Side.002.L")
    changes.hold_bone(armature.data.bones["Side.002.L"], False)
    away = placed(), free()
    refitted(armature)
    assert (placed(), free()) == away  # unasked they stay
    own = armature.animation_data.action.copy()
    own.name = "Mine"
    actions.push(armature, own, "Mine", 1, muted=True)
    found = refitted(armature, joints=True)
    assert found.written
    assert [note for note in found.notes if "Mine is an action of your own" in note]
    assert found.after.rms < 0.9 * found.before.rms
    assert placed() == away[0]
    assert free() < 0.8 * away[1]  # along the axis of a hinge it may be anywhere


def test_joints_of_several_clips_stay(articulated):
    armature = articulated[0].armature
    every = joint_refit.free(armature, changes.find(armature), every=True)
    assert every == set(standing.bone_names(armature))
    armature.ossify.clips.add().action = armature.animation_data.action.copy()
    assert joint_refit.free(armature, changes.find(armature), every=True) == set()
