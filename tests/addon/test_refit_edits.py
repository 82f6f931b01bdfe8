"""Bones deleted, moved, added and painted: what is held stays, equal to the bit, and the rest fits again."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import curves_of, groups_of
from mathutils import Vector
from ossify.record import changes
from ossify.refit import facts, refit_trial
from ossify.rig import standing
from refits import (
    creature_rig,
    delete_bone,
    edit,
    error,
    named_curves,
    paint_noise,
    refitted,
    sheet_rig,
    source_frames,
)


def test_a_deleted_bone_leaves_its_vertices_to_the_others(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    delete_bone(armature, "Side.002.R")
    broken = error(armature, mesh, goal)
    found = refitted(armature)
    assert found.changes.deleted == ["Side.002.R"]
    assert error(armature, mesh, goal) < 0.2 * broken
    assert "Side.002.R" not in armature.data.bones
    weights = standing.painted(mesh, standing.bone_names(armature))
    assert np.abs(weights.sum(axis=1) - 1).max() < 1e-6
    assert refitted(armature).changes == changes.Changes()


def test_the_child_of_a_deleted_bone_moves_on_from_another_parent(creature):
    """Its child goes on to move as it did, from another parent."""
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    delete_bone(armature, "Side.001.L")
    found = refitted(armature)
    assert found.changes.deleted == ["Side.001.L"]
    assert found.changes.reparented == ["Side.002.L"]
    hand = [line for line in found.bones if line.name == "Side.002.L"]
    assert hand[0].after < 0.3 * hand[0].before
    assert error(armature, mesh, goal) < 0.5 * found.before.rms


def heads_of(armature):
    return {bone.name: tuple(bone.head_local) for bone in armature.data.bones}


def tails_of(armature):
    return {bone.name: tuple(bone.tail_local) for bone in armature.data.bones}


def without_middle(move_idle):
    """An articulated rig refitted after a bone in the middle went, where its bones were, the error."""
    result = creature_rig(skeleton="ARTICULATED", fairness=0.0)
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    delete_bone(armature, "Side.001.L")
    before = heads_of(armature), tails_of(armature)
    found = refitted(armature, move_idle=move_idle)
    return found, before, error(armature, mesh, goal)


def test_all_bones_stay_in_their_places_when_one_was_deleted():
    found, before, _ = without_middle("NEVER")
    assert found.written
    assert found.after.rms < 0.5 * found.before.rms
    assert (heads_of(found.armature), tails_of(found.armature)) == before


@pytest.mark.solver
def test_joints_beside_a_deleted_bone_are_solved_again_where_bones_may_leave():
    found, (before, _), after = without_middle("AUTOMATIC")
    armature = found.armature
    moved = {name for name, head in heads_of(armature).items() if head != before[name]}
    assert "Side.002.L" in moved
    hand = armature.data.bones["Side.002.L"]
    near = {hand, *hand.children, hand.parent, hand.parent.parent, *hand.parent.children}
    assert moved <= {bone.name for bone in near if bone}
    assert found.after.rms == pytest.approx(after, rel=1e-3)
    assert refitted(armature).changes == changes.Changes()
    assert after < without_middle("NEVER")[2]


@pytest.mark.parametrize("way", ["held", "moved"])
def test_a_joint_that_the_artist_holds_or_moved_stays_beside_a_deleted_bone(way):
    result = creature_rig(skeleton="ARTICULATED")
    armature = result.armature
    delete_bone(armature, "Side.001.L")
    if way == "held":
        changes.hold_bone(armature.data.bones["Side.002.L"], True)
    else:
        edit(armature, lambda bones: setattr(bones["Side.002.L"], "head", bones["Side.002.L"].head * 1.02))
    before = heads_of(armature)
    refitted(armature, move_idle="AUTOMATIC")
    assert heads_of(armature)["Side.002.L"] == before["Side.002.L"]


def test_a_moved_joint_keeps_the_motion(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)

    def move(bones):
        bone = bones["Side.002.L"]
        bone.use_connect = False
        bone.head = bone.head + 0.3 * bone.vector

    edit(armature, move)
    head = np.array(armature.data.bones["Side.002.L"].head_local)
    assert error(armature, mesh, goal) > 5 * before
    found = refitted(armature)
    assert found.changes.moved == ["Side.002.L"]
    assert error(armature, mesh, goal) <= 1.05 * before
    assert (np.array(armature.data.bones["Side.002.L"].head_local) == head).all()


def test_a_joint_moved_above_a_driven_bone_leaves_that_in_its_place(creature):
    """The bone above is keyed anew, so that the driven one, whose keys nobody touches, stays where it was."""
    armature, (mesh,) = creature.armature, creature.meshes
    armature.pose.bones["Side.002.L"].driver_add("scale", 0).driver.expression = "1"
    goal = source_frames(armature)
    keys, before = curves_of(armature, "Side.002.L"), error(armature, mesh, goal)

    def move(bones):
        for name in ("Side.001.L", "Side.002.L"):
            bones[name].use_connect = False
        bones["Side.001.L"].head.z += 0.1

    edit(armature, move)
    broken = error(armature, mesh, goal)
    assert broken > 10 * before
    found = refitted(armature)
    assert found.notes == [
        "Side.002.L is moved by a constraint or driver: kept as that is, and with it the bones above."
    ]
    assert error(armature, mesh, goal) < 0.1 * broken
    assert curves_of(armature, "Side.002.L") == keys


def test_bones_that_do_not_inherit_are_told_from_those_that_are_moved(creature):
    armature, bones = creature.armature, creature.armature.data.bones
    bones["Side.002.L"].use_inherit_rotation = False
    bones["Side.002.L"].inherit_scale = "NONE"
    kept = "kept as that is, and with it the bones above."
    alone = f"Side.002.L has Inherit Rotation off and Inherit Scale not at Full: {kept}"
    assert refitted(armature).notes == [alone]
    bones["Side.002.R"].inherit_scale = "AVERAGE"
    armature.pose.bones["Down.002.L"].driver_add("scale", 0).driver.expression = "1"
    moved = f"Down.002.L is moved by a constraint or driver: {kept}"
    both = "Side.002.L and Side.002.R have Inherit Rotation off or Inherit Scale not at Full"
    assert refitted(armature).notes == [moved, f"{both}: {kept}"]


def test_a_reparented_bone_keeps_the_motion(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)

    def hang(bones):
        bones["Side.002.L"].use_connect = False
        bones["Side.002.L"].parent = bones["Core.001"]

    edit(armature, hang)
    assert error(armature, mesh, goal) > 5 * before
    found = refitted(armature)
    assert found.changes.reparented == ["Side.002.L"]
    assert error(armature, mesh, goal) <= 1.05 * before
    assert armature.data.bones["Side.002.L"].parent.name == "Core.001"


def test_painted_weights_are_kept_to_the_bit(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    rows = paint_noise(mesh, armature)
    painted = groups_of(mesh)
    noisy = error(armature, mesh, goal)
    assert noisy > 2 * before
    found = refitted(armature, solve="WEIGHTS")
    assert (found.changes.repainted[mesh.name] == rows).all()
    now = groups_of(mesh)
    assert [now[v] for v in np.flatnonzero(rows)] == [painted[v] for v in np.flatnonzero(rows)]


def test_painted_noise_that_is_not_kept_is_gone_after_one_refit(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    paint_noise(mesh, armature)
    armature.ossify.keep_repainted = False
    refitted(armature)
    assert error(armature, mesh, goal) <= before * (1 + 1e-4)


def test_keyed_frames_are_kept_to_the_bit(creature):
    armature = creature.armature
    bone = armature.pose.bones["Down.002.L"]
    bone.rotation_quaternion = (0.8, 0.6, 0, 0)
    bone.keyframe_insert("rotation_quaternion", frame=5)
    found = changes.find(armature)
    frames = 1 + np.flatnonzero(found.rekeyed["Down.002.L"])
    assert 5 in frames
    assert set(found.rekeyed) == {"Down.002.L"}
    values = {name: [c.evaluate(f) for f in frames] for name, c in named_curves(armature, "Down.002.L")}
    refitted(armature, solve="TRANSFORMS")
    for name, curve in named_curves(armature, "Down.002.L"):
        if name in values:
            assert [curve.evaluate(f) for f in frames] == values[name]


def test_a_sculpted_rest_shape_is_kept(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    mesh.data.vertices[11].co.z += 0.05
    mesh.data.update()
    point = tuple(mesh.data.vertices[11].co)
    found = refitted(armature)
    assert np.flatnonzero(found.changes.sculpted[mesh.name]).tolist() == [11]
    assert tuple(mesh.data.vertices[11].co) == point


def test_an_added_bone_takes_the_vertices_where_it_was_put():
    result = sheet_rig(bones=2)
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)

    def add(bones):
        bone = bones.new("Sleeve")
        bone.head, bone.tail = (0.9, 0.9, 0), (0.9, 0.9, 0.2)
        bone.parent = bones["Root"]

    edit(armature, add)
    found = refitted(armature)
    assert found.changes.added == ["Sleeve"]
    assert "Sleeve" in armature.data.bones
    assert error(armature, mesh, goal) < 0.95 * before
    weights = standing.painted(mesh, ["Sleeve"])[:, 0]
    assert weights.max() > 0.05
    points = scenes.positions(mesh.data)
    middle = weights @ points / weights.sum()
    assert np.linalg.norm(middle[:2] - 0.9) < 1.0


def connect_lone_children(bones):
    """For edit()"""
    for bone in bones:
        if len(bone.children) == 1 and bone.parent:
            bone.tail = bone.children[0].head
            bone.children[0].use_connect = True


def test_bones_that_can_only_turn_are_solved_so(monkeypatch):
    """A hand painted as part of the other arm: solved as if all bones could move, the rig falls short; also
    where nothing pins them from the start."""

    def refit_of(tied):
        body, bones = scenes.creature(frames=16)
        made = chain.converted(body, bones=len(bones) - 1, quality="DRAFT", skeleton="HIERARCHY")
        armature, (mesh,) = made.armature, made.meshes
        edit(armature, connect_lone_children)
        assert any(bone.use_connect for bone in armature.data.bones)
        own = np.flatnonzero(standing.painted(mesh, ["Side.002.L"])[:, 0] > 0.5)
        for v in own[: len(own) // 2].tolist():
            for group in mesh.vertex_groups:
                group.remove([v])
            mesh.vertex_groups["Side.002.R"].add([v], 1.0, "REPLACE")
        with monkeypatch.context() as patch:
            patch.setattr(facts, "_pinned", lambda *_: set())
            patch.setattr(refit_trial, "_SHORT", refit_trial._SHORT if tied else np.inf)
            return refitted(armature)

    free, tied = refit_of(False), refit_of(True)
    assert tied.written
    assert tied.after.rms < 0.5 * free.after.rms


def put_bone(name, head, tail, parent="Root"):
    """For edit()"""

    def add(bones):
        bone = bones.new(name)
        bone.head, bone.tail, bone.parent = head, tail, bones[parent]

    return add


@pytest.mark.parametrize("parent", ["Root", "Side.002.L"])
def test_a_bone_added_where_the_rig_fits_gets_what_is_around_it(creature, parent):
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    edit(armature, put_bone("Sleeve", (1.3, 0, 1.85), (1.6, 0, 1.85), parent))
    found = refitted(armature)
    rounding = 1e-6 * armature.ossify.size
    assert error(armature, mesh, goal) <= before + rounding
    weights, points = standing.painted(mesh, ["Sleeve"])[:, 0], scenes.positions(mesh.data)
    around = (points[:, 0] > 1.35) & (points[:, 0] < 1.55)
    assert weights[around].min() > 0.5
    ends = np.clip(points[:, 0], 1.3, 1.6)
    distance = np.linalg.norm(points - np.stack([ends, 0 * ends, 0 * ends + 1.85], axis=1), axis=1)
    assert not weights[distance > distance.min() + 0.15 + 1e-6].any()  # half of the bone's length
    names = standing.bone_names(armature)
    assert (standing.painted(mesh, names) > 0).sum(axis=1).max() <= armature.ossify.settings.influences
    (note,) = found.notes
    assert f"shares {int((weights > 0).sum())} vertices around it with Side.002.L" in note
    assert note in armature.ossify.notes
    bpy.context.scene.frame_set(5)
    shown = scenes.seen(mesh)
    armature.pose.bones["Sleeve"].rotation_mode = "XYZ"
    armature.pose.bones["Sleeve"].rotation_euler = (0, 0, 1.0)
    bpy.context.view_layer.update()
    moved = np.linalg.norm(scenes.seen(mesh) - shown, axis=1) > 1e-4
    assert moved[around].mean() > 0.9
    assert not moved[weights == 0].any()


def test_a_bone_extruded_from_a_tip_takes_from_its_parent(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)

    def extrude(bones):
        bone = bones.new("Finger")
        bone.head, bone.tail = bones["Side.002.L"].tail, bones["Side.002.L"].tail + Vector((0.2, 0, 0))
        bone.parent, bone.use_connect = bones["Side.002.L"], True

    edit(armature, extrude)
    found = refitted(armature)
    assert armature.data.bones["Finger"].use_connect
    assert error(armature, mesh, goal) <= before + 1.1e-6 * found.after.size
    assert standing.painted(mesh, ["Finger"]).max() > 0.5


@pytest.mark.solver
@pytest.mark.parametrize("parent", ["Root", "Side.002.L"])
def test_a_bone_added_where_joints_hold_costs_nothing(parent):
    result = creature_rig(fineness=2, skeleton="ARTICULATED", fairness=0.0)
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    edit(armature, put_bone("Sleeve", (1.3, 0, 1.85), (1.6, 0, 1.85), parent))
    found = refitted(armature)
    assert error(armature, mesh, goal) <= before + 1.1e-6 * found.after.size
    weights = standing.painted(mesh, ["Sleeve"])[:, 0]
    if parent == "Root":  # from there it cannot follow the hand
        assert "Sleeve moves nothing" in found.notes[0]
        assert not weights.any()
    else:
        assert weights.max() > 0.5


def test_a_bone_added_among_held_vertices_is_told_to_move_nothing(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    for name in standing.bone_names(armature):
        mesh.vertex_groups[name].lock_weight = name != "Down.002.R"
    edit(armature, put_bone("Sleeve", (1.3, 0, 1.85), (1.6, 0, 1.85)))
    locked = [name for name in standing.bone_names(armature) if name not in ("Down.002.R", "Sleeve")]
    before = standing.painted(mesh, locked)
    found = refitted(armature)
    assert "Sleeve moves nothing" in found.notes[0]
    assert "Sleeve" in armature.data.bones
    assert not standing.painted(mesh, ["Sleeve"]).any()
    assert np.array_equal(standing.painted(mesh, locked), before)


def test_names_parents_and_what_hangs_on_bones_survive(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    shape = scenes.grid("Shape")
    bones = armature.data.bones
    bones["Side.001.L"].name = "UpperArm"
    bones["UpperArm"].color.palette = "THEME05"
    pose = armature.pose.bones
    pose["UpperArm"].custom_shape = shape
    pose["Core.002"].constraints.new("LIMIT_ROTATION").name = "Mine"
    pose["Down.002.R"]["mood"] = 3.5

    def control(edit_bones):
        bone = edit_bones.new("Control")
        bone.head, bone.tail, bone.use_deform = (0, 0, 3), (0, 0, 3.5), False
        bone.parent = edit_bones["UpperArm"]

    edit(armature, control)
    driver = pose["Control"].driver_add("location", 0)
    driver.driver.expression = "frame / 10"
    found = refitted(armature)
    assert found.changes.renamed == {"Side.001.L": "UpperArm"}
    assert bones["UpperArm"].color.palette == "THEME05"
    assert pose["UpperArm"].custom_shape == shape
    assert pose["Core.002"].constraints[0].name == "Mine"
    assert pose["Down.002.R"]["mood"] == 3.5
    assert bones["Control"].parent.name == "UpperArm"
    assert [d.data_path for d in armature.animation_data.drivers] == ['pose.bones["Control"].location']
    assert "UpperArm" in mesh.vertex_groups


def test_a_mesh_that_goes_is_told_and_one_that_comes_is_left_alone():
    first, second = scenes.key_shapes(scenes.grid("First")), scenes.key_shapes(scenes.grid("Second", n=7))
    second.location.x = 4
    bpy.context.view_layer.update()
    result = chain.converted(first, second, bones=6)
    armature, meshes = result.armature, result.meshes
    found = refitted(armature)
    assert [line.name for line in found.meshes] == [mesh.name for mesh in meshes]
    bpy.data.objects.remove(meshes[0])
    coat = scenes.grid("Coat", n=5)
    coat.parent = armature
    coat.modifiers.new("Armature", "ARMATURE").object = armature
    coat.vertex_groups.new(name="Bone.001").add(list(range(25)), 0.5, "REPLACE")
    worn = groups_of(coat), scenes.positions(coat.data).tolist()
    found = refitted(armature)
    assert found.changes.removed == 1
    assert [line.name for line in found.meshes] == [meshes[1].name]
    assert found.after.rms <= found.before.rms * (1 + 1e-4)
    assert (groups_of(coat), scenes.positions(coat.data).tolist()) == worn
    assert refitted(armature).changes.removed == 0
