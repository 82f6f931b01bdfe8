"""The artist's word about a skeleton, and its update."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from creature_rigs import converted, deforming, matched
from exchange import bones_of


def wish(armature, wanted, *names):
    scenes.pose(armature, *names)
    assert bpy.ops.ossify.wish(wish=wanted) == {"FINISHED"}


def test_update_without_wishes_changes_nothing(hierarchy):
    result, _, _ = hierarchy
    armature, (mesh,) = result.armature, result.meshes
    times = [1, 9, 17, 30]
    shown, bones = scenes.seen_frames(mesh, times), bones_of(armature)
    heads = {bone.name: np.array(bone.head_local) for bone in armature.data.bones}
    scenes.select(armature)
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert bones_of(armature) == bones
    for bone in armature.data.bones:
        assert np.linalg.norm(np.array(bone.head_local) - heads[bone.name]) < 1e-3 * result.report.size
    assert np.abs(scenes.seen_frames(mesh, times) - shown).max() < 1e-5 * result.report.size


def test_demanded_edges_are_made_and_forbidden_ones_are_not():
    result, body, _ = converted(keys="REDUCED", key_tolerance=0.05)
    armature, (mesh,) = result.armature, result.meshes
    match, times = matched(result, body), [1, 9, 17, 30]
    shown = scenes.seen_frames(mesh, times)
    wish(armature, "APART", match["trunk"], match["arm.L"])
    wish(armature, "JOIN", match["head"], match["arm.L"])
    assert len(armature.ossify.wishes) == 2
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert armature.mode == "POSE"
    after = matched(result, body)
    found = armature.data.bones
    assert found[after["arm.L"]].parent.name == after["head"]
    assert found[after["hand.L"]].parent.name == after["arm.L"]
    assert found[after["arm.R"]].parent.name == after["head"]  # it is the image of the other
    assert found[after["hand.R"]].parent.name == after["arm.R"]
    assert {g.name for g in mesh.vertex_groups} == {bone.name for bone in deforming(armature)}
    assert {(w.first, w.second) for w in armature.ossify.wishes} == {
        tuple(sorted((after["trunk"], after["arm.L"]))),
        tuple(sorted((after["head"], after["arm.L"]))),
    }
    assert armature.ossify.located == 2  # the arms do not turn about a point of the head
    moved_by = np.linalg.norm(scenes.seen_frames(mesh, times) - shown, axis=2).max()
    assert result.report.percent(moved_by) < 0.05 * 1.01


def test_a_wish_counts_for_both_sides_and_keeps_joints_mirrored(hierarchy):
    result, body, _ = hierarchy
    armature = result.armature
    wish(armature, "JOIN", matched(result, body)["head"], matched(result, body)["arm.L"])
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert len(armature.ossify.wishes) == 1
    bones = armature.data.bones
    pairs = [bone for bone in bones if bone.name.endswith(".L")]
    assert len(pairs) == 4
    for bone in pairs:
        other = np.array(bones[bone.name[:-2] + ".R"].head_local)
        assert np.linalg.norm(other * (-1, 1, 1) - bone.head_local) < 1e-3 * result.report.size


def test_a_wish_for_the_other_side_comes_before_the_image_of_one(hierarchy):
    result, body, _ = hierarchy
    armature, match = result.armature, matched(result, body)
    wish(armature, "JOIN", match["head"], match["arm.L"])
    wish(armature, "APART", match["head"], match["arm.R"])
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    after, found = matched(result, body), armature.data.bones
    assert found[after["arm.L"]].parent.name == after["head"]
    assert found[after["arm.R"]].parent.name == after["trunk"]


def test_wishes_that_close_a_ring_are_refused_by_name(hierarchy):
    result, body, _ = hierarchy
    match, armature = matched(result, body), result.armature
    bones = bones_of(armature)
    for pair in (("head", "hand.L"), ("hand.L", "shin.R"), ("shin.R", "head")):
        wish(armature, "JOIN", *(match[name] for name in pair))
    with pytest.raises(RuntimeError, match="a skeleton has no rings") as refused:
        bpy.ops.ossify.update_skeleton()
    assert all(match[name] in str(refused.value) for name in ("head", "hand.L", "shin.R"))
    assert "skeleton.demanded" not in str(refused.value)
    assert bones_of(armature) == bones


def test_a_bone_that_was_named_is_the_root(hierarchy):
    result, body, _ = hierarchy
    armature = result.armature
    scenes.pose(armature, matched(result, body)["head"])
    assert bpy.ops.ossify.make_root() == {"FINISHED"}
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    after = matched(result, body)
    assert armature.data.bones[after["head"]].parent.name == "Root"
    assert armature.data.bones[after["trunk"]].parent.name == after["head"]
    assert armature.ossify.root_bone == after["head"]


def test_an_update_of_a_skeleton_that_hangs_from_one_side_changes_nothing(hierarchy):
    """The root has a mirror image, and neither does as the other."""
    result, body, _ = hierarchy
    armature = result.armature
    scenes.pose(armature, matched(result, body)["arm.R"])
    assert bpy.ops.ossify.make_root() == {"FINISHED"}
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    bones = bones_of(armature)
    ways = {bone.name: bone.vector.normalized() for bone in armature.data.bones}
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert bones_of(armature) == bones
    for bone in armature.data.bones:
        assert bone.vector.normalized().dot(ways[bone.name]) > 0.999


def test_what_an_artist_added_to_the_rig_is_kept(hierarchy):
    result, body, _ = hierarchy
    armature = result.armature
    name = matched(result, body)["hand.L"]
    armature.pose.bones[name].constraints.new("LIMIT_ROTATION").name = "Mine"
    armature.location = (1, 0, 0)
    armature.keyframe_insert("location", frame=1)
    wish(armature, "JOIN", matched(result, body)["head"], matched(result, body)["arm.L"])
    bpy.ops.ossify.update_skeleton()
    assert "Mine" in armature.pose.bones[matched(result, body)["hand.L"]].constraints
    paths = [curve.data_path for curve in chain.curves(armature.animation_data.action)]
    assert paths.count("location") == 3


def test_a_rig_without_a_skeleton_gets_one():
    result, body, bones = converted(skeleton="NONE")
    scenes.select(result.armature)
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    match = matched(result, body)
    for name, (parent, _, _) in bones.items():
        found = result.armature.data.bones[match[name]].parent.name
        assert found == (match[parent] if parent else "Root")
    assert result.armature.ossify.settings.skeleton == "HIERARCHY"


def test_an_update_is_one_undo_step(hierarchy):
    result, body, _ = hierarchy
    name = result.armature.name
    wish(result.armature, "JOIN", matched(result, body)["head"], matched(result, body)["arm.L"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bones = bones_of(result.armature)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    assert bones_of(bpy.data.objects[name]) != bones
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert bones_of(bpy.data.objects[name]) == bones


def test_flexible_rigs_are_refused_an_update():
    obj = scenes.key_shapes(scenes.grid())
    result = chain.converted(obj, bone_kind="FLEXIBLE")
    scenes.select(result.armature)
    with pytest.raises(RuntimeError, match="Flexible bones"):
        bpy.ops.ossify.update_skeleton()


def test_wishes_need_two_bones(hierarchy):
    scenes.pose(hierarchy[0].armature, "Core.001")
    with pytest.raises(RuntimeError, match="poll"):
        bpy.ops.ossify.wish(wish="JOIN")


def test_wishes_can_be_taken_back(hierarchy):
    armature = hierarchy[0].armature
    for wanted, count in (("JOIN", 1), ("APART", 1), ("FORGET", 0), ("JOIN", 1)):
        wish(armature, wanted, "Core.001", "Side.002.L")
        assert len(armature.ossify.wishes) == count
    bpy.ops.ossify.forget_wishes()
    assert len(armature.ossify.wishes) == 0
