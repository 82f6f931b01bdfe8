"""Old names are given again, and added bones taken out, by a button; what is in the way is told."""

import bpy
import numpy as np
import pytest
import scenes
from contents import curves, keys_of
from ossify.record import changes
from ossify.rig import standing
from refits import edit
from returned import (
    SIDE,
    As,
    give_some,
    listed,
    put_back,
    same_weights,
    weights_by_name,
)
from screens import told


def test_old_names_are_given_again(creature):
    before, bones = As(creature), creature.armature.data.bones
    keys = [(c.data_path, c.array_index, keys_of(c)) for c in curves(creature.armature.animation_data.action)]
    copy = creature.armature.pose.bones["Core.001"].constraints.new("COPY_LOCATION")
    copy.target, copy.subtarget, copy.mute = creature.armature, SIDE[1], True
    bones[SIDE[0]].name = "Swap"
    bones[SIDE[1]].name = SIDE[0]
    bones["Swap"].name = SIDE[1]
    bones["Down.001.L"].name = "Thigh"
    assert copy.subtarget == SIDE[0]
    put_back(creature.armature, "RENAMED")
    before.holds()
    assert copy.subtarget == SIDE[1]
    now = [(c.data_path, c.array_index, keys_of(c)) for c in curves(creature.armature.animation_data.action)]
    assert sorted(now) == sorted(keys)


def test_names_that_others_have_are_told(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    bones = armature.data.bones
    bones[SIDE[0]].name, bones["Core.001"].name, bones["Core.002"].name = "Arm", "Trunk", "Head"
    edit(armature, lambda some: setattr(some.new(SIDE[0]), "tail", (0, 0, 1)))
    mesh.vertex_groups.new(name="Core.001")
    put_back(armature, "RENAMED")
    assert {"Arm", "Trunk", "Core.002"} <= set(bones.keys())
    before = scenes.picture()
    sentence = told(bpy.ops.ossify.put_back, kind="RENAMED")
    assert f"{SIDE[0]} is the name of another bone now: Arm keeps its name." in sentence
    assert "Core.001 is the name of another vertex group now: Trunk keeps its name." in sentence
    assert scenes.difference(before, scenes.picture()) == ""


# ---- added


def add_between(bones):
    """A bone between the arm and the hand."""
    bone = bones.new("Elbow")
    bone.head, bone.tail, bone.parent = bones[SIDE[0]].tail, bones[SIDE[1]].head, bones[SIDE[0]]
    bone.tail.z += 0.2
    bones[SIDE[1]].use_connect = False
    bones[SIDE[1]].parent = bone


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_added_bones_are_taken_out(creature, share):
    before, armature = As(creature), creature.armature
    edit(armature, add_between)
    give_some(creature.meshes[0], SIDE[1], "Elbow", share)
    armature.pose.bones["Elbow"].keyframe_insert("location", frame=3)
    assert "ADDED" in listed(armature)
    put_back(armature, "ADDED")
    before.holds()
    assert "Elbow" not in creature.meshes[0].vertex_groups
    assert not [c for c in curves(armature.animation_data.action) if "Elbow" in c.data_path]


def test_painted_and_held_vertices_stay_when_a_bone_is_taken_out(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    before = weights_by_name(mesh)
    edit(armature, add_between)
    give_some(mesh, SIDE[1], "Elbow")
    rows = np.flatnonzero(standing.painted(mesh, ["Elbow"])[:, 0] > 0.4).tolist()
    painted, held = rows[:5], rows[5:10]
    mesh.vertex_groups["Core.001"].add(painted, 0.5, "REPLACE")
    changes.hold_vertices(mesh.data, np.array(held), True)
    put_back(armature, "ADDED")
    now = weights_by_name(mesh)
    same_weights(mesh, before, but={*painted, *held})
    for row in painted:
        assert now[row]["Core.001"] == pytest.approx(
            0.5
            / (0.5 + before[row][SIDE[1]] / 2 + sum(w for name, w in before[row].items() if name != SIDE[1])),
            rel=1e-3,
        )
        assert sum(now[row].values()) == pytest.approx(1)
    for row in held:
        assert now[row][SIDE[1]] == pytest.approx(before[row][SIDE[1]] / 2)


MANY = ("Plain", "Deep", "Target", "Control", "Led", "Above", "Pair", "Worn", "Pinned")


def add_many(bones):
    for index, name in enumerate(MANY):
        bone = bones.new(name)
        bone.head, bone.tail, bone.parent = (index, 0, 3), (index, 0, 3.5), bones["Root"]
        bone.use_deform = name not in ("Plain", "Control")
    bones["Target"].parent = bones["Above"]


def test_bones_that_others_are_built_on_stay(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    edit(armature, add_many)
    pose = armature.pose.bones
    for owner, target in (("Core.002", "Target"), ("Pair", "Deep"), ("Control", "Led")):
        copy = pose[owner].constraints.new("COPY_ROTATION")
        copy.target, copy.subtarget, copy.mute = armature, target, True
    pose["Control"].custom_shape = scenes.grid("Shape")
    coat = scenes.grid("Coat", n=5)
    coat.modifiers.new("Armature", "ARMATURE").object = armature
    coat.vertex_groups.new(name="Worn").add([0], 1.0, "REPLACE")
    mesh.vertex_groups.new(name="Pinned")
    mesh.modifiers.new("Smooth", "SMOOTH").vertex_group = "Pinned"
    put_back(armature, "ADDED")
    assert set(MANY) & set(armature.data.bones.keys()) == {
        *("Target", "Above", "Control", "Led", "Worn", "Pinned")
    }
    before = scenes.picture()
    sentence = told(bpy.ops.ossify.put_back, kind="ADDED")
    for words in (
        "Target stays: Core.002's constraint Copy Rotation names it.",
        "Above stays: Target hangs from it.",
        "Control stays: it is a control",
        "Led stays: Control's constraint Copy Rotation names it.",
        "Worn stays: Coat needs it.",
        "Pinned stays: Creature Rigged's modifier Smooth needs it.",
    ):
        assert words in sentence
    assert scenes.difference(before, scenes.picture()) == ""
