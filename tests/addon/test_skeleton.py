"""Skeletons: a creature with known joints comes back as a rig that an animator would have built."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from creature_rigs import COUNT, converted, deforming, matched
from exchange import bones_of, compare, exported_and_imported, times_of_action
from mathutils import Quaternion, Vector
from ossify.files import outputs

# ---- the bones


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_true_joints_and_parents_come_back(kind):
    result, body, bones = converted(skeleton=kind)
    match = matched(result, body)
    assert len(set(match.values())) == COUNT
    found = result.armature.data.bones
    for name, (parent, head, _) in bones.items():
        bone = found[match[name]]
        assert bone.parent.name == (match[parent] if parent else "Root")
        if parent:
            assert np.linalg.norm(np.array(bone.head_local) - head) < 2e-3 * result.report.size


def axis_of(bone, number):
    return Vector(np.array(bone.matrix_local)[:3, number])


def test_tails_lead_to_the_child_and_limbs_are_connected():
    result, body, bones = converted(keys="REDUCED")
    match, found = matched(result, body), result.armature.data.bones
    for name in ("hand.L", "hand.R", "shin.L", "shin.R", "head"):
        bone = found[match[name]]
        assert bone.use_connect
        assert np.allclose(bone.parent.tail_local, bone.head_local, atol=1e-6)
    for name in ("arm.L", "thigh.R"):
        assert not found[match[name]].use_connect  # the trunk leads to the head
    for name in ("hand.L", "shin.R", "head"):  # along the limb at its end
        _, head, tail = bones[name]
        bone = found[match[name]]
        way = (bone.tail_local - bone.head_local).normalized()
        assert way.dot(Vector(tail - head).normalized()) > 0.98
        assert 0.8 < bone.length / np.linalg.norm(tail - head) < 1.4


def test_hinges_bend_about_x_and_a_chain_has_one_roll(hierarchy):
    result, body, _ = hierarchy
    match, found = matched(result, body), result.armature.data.bones
    for name, axis in (("hand.L", (0, 0, 1)), ("hand.R", (0, 0, 1)), ("shin.L", (1, 0, 0))):
        bone = found[match[name]]
        assert bone["ossify_joint"] == "hinge"
        assert abs(axis_of(bone, 0).dot(Vector(axis))) > 0.99
        assert axis_of(bone.parent, 0).dot(axis_of(bone, 0)) > 0.99


def test_mirrored_bones_have_mirrored_names_places_and_rolls(hierarchy):
    result, body, _ = hierarchy
    match, found = matched(result, body), result.armature.data.bones
    flip = np.array([-1, 1, 1])
    size = result.report.size
    for name in ("arm", "hand", "thigh", "shin"):
        left, right = found[match[f"{name}.L"]], found[match[f"{name}.R"]]
        assert left.name.endswith(".L")
        assert bpy.utils.flip_name(left.name) == right.name
        for end in ("head_local", "tail_local"):
            assert np.abs(np.array(getattr(left, end)) * flip - getattr(right, end)).max() < 1e-4 * size
        assert np.abs(np.array(axis_of(left, 2)) * flip - axis_of(right, 2)).max() < 1e-3
    for name in ("trunk", "head"):
        assert not match[name].endswith((".L", ".R"))
        assert abs(found[match[name]].tail_local.x) < 1e-3 * size


def test_names_are_by_chain_numbered_from_the_root(hierarchy):
    result, body, _ = hierarchy
    match = matched(result, body)
    assert match["trunk"] == "Core.001"
    assert match["head"] == "Core.002"
    assert (match["arm.L"], match["hand.L"]) == ("Side.001.L", "Side.002.L")
    assert (match["thigh.R"], match["shin.R"]) == ("Down.001.R", "Down.002.R")
    groups = {group.name for group in result.meshes[0].vertex_groups}
    assert groups == {bone.name for bone in deforming(result.armature)}
    collections = result.armature.data.collections
    assert [c.name for c in collections] == ["Root", "Deform"]
    chains = {c.name: {bone.name for bone in c.bones} for c in collections["Deform"].children}
    assert set(chains) == {"Core", "Side.L", "Side.R", "Down.L", "Down.R"}
    assert chains["Side.L"] == {"Side.001.L", "Side.002.L"}


def test_no_bone_is_tiny_and_joints_are_noted(hierarchy):
    result, _, _ = hierarchy
    for bone in deforming(result.armature):
        assert bone.length > 0.009 * result.report.size
        assert bone["ossify_joint"] in {"root", "ball", "hinge", "stiff", "loose"}
        assert bone["ossify_drift"] < 0.1
    assert result.report.joints() == {"ball": 5, "hinge": 4, "stiff": 0, "loose": 0}


def test_the_root_of_a_symmetric_body_is_in_its_middle():
    """Even when a leg turns less in space than the trunk does."""
    body, _ = scenes.creature(trunk=0.6)
    result = chain.converted(body, bones=COUNT, quality="NORMAL", skeleton="HIERARCHY")
    assert matched(result, body)["trunk"] == "Core.001"


# ---- the motion


def keyed_channels(armature):
    """bone -> names of its keyed channels"""
    found = {}
    for curve in chain.curves(armature.animation_data.action):
        found.setdefault(curve.data_path.split('"')[1], set()).add(curve.data_path.rsplit(".", 1)[1])
    return found


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
@pytest.mark.parametrize(
    ("keys", "shape"), [("EVERY", "BEZIER"), ("REDUCED", "BEZIER"), ("REDUCED", "LINEAR")]
)
def test_blender_replays_the_solver(kind, keys, shape):
    """Nothing is lost with every key, and no more than the tolerance, or three times that, with fewer."""
    result, _, _ = converted(skeleton=kind, keys=keys, key_tolerance=0.1, key_shape=shape)
    allowed = 5e-4 if keys == "EVERY" else 0.3 if shape == "BEZIER" else 0.1
    assert (result.report.keys_within or 1) >= 0.99
    assert result.report.percent(result.report.keys_moved) <= allowed * 1.01


def test_articulated_bones_only_turn(articulated):
    result, _, _ = articulated
    channels = keyed_channels(result.armature)
    assert channels.pop("Root") == {"location"}
    assert all(names == {"rotation_quaternion"} for names in channels.values())
    assert result.report.located == 0
    assert result.report.free is not None
    assert result.report.solver.erms <= 1.4 * result.report.free.erms + 0.1
    assert any("if bones were free" in line for line in result.report.lines())


def test_joints_of_articulated_bones_hold_in_every_frame(articulated):
    result, _, _ = articulated
    pose = result.armature.pose.bones
    for frame in (1, 7, 20, 30):
        bpy.context.scene.frame_set(frame)
        for bone in pose:
            if bone.parent and bone.parent.name != "Root":
                joint = bone.parent.matrix @ bone.parent.bone.matrix_local.inverted() @ bone.bone.head_local
                assert (joint - bone.head).length < 1e-5 * result.report.size


def test_hierarchy_keeps_location_only_where_it_is_needed():
    """A limb that slides on the body keeps its keys, and the report says how far."""
    body, _ = scenes.creature()
    mover = bpy.data.objects["Mover"]
    slide = mover.pose.bones["arm.L"]
    for frame in range(1, 31):
        slide.location = (0, 0.2 * np.sin(frame), 0)
        slide.keyframe_insert("location", frame=frame)
    chosen = {"skeleton": "HIERARCHY", "symmetry": "NONE", "keys": "REDUCED"}
    result = chain.converted(body, bones=COUNT, quality="NORMAL", **chosen)
    arm = matched(result, body)["arm.L"]
    channels = keyed_channels(result.armature)
    assert {name for name, keyed in channels.items() if "location" in keyed} == {"Root", arm}
    assert result.report.located == 1
    assert 2 < result.report.percent(result.report.location) < 10
    assert not result.armature.data.bones[arm].use_connect


def moved(mesh, before):
    return np.linalg.norm(scenes.seen(mesh) - before, axis=1)


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_a_turned_bone_takes_its_descendants_along_and_nothing_else(kind):
    result, body, _ = converted(skeleton=kind)
    armature, (mesh,) = result.armature, result.meshes
    name = matched(result, body)["arm.L"]
    armature.animation_data.action = None
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    before = scenes.seen(mesh)
    armature.pose.bones[name].rotation_quaternion = Quaternion((1, 0, 0), 0.8)
    distances = moved(mesh, before)
    below = {name, *(bone.name for bone in armature.data.bones[name].children_recursive)}
    assert len(below) == 2
    owned = np.array(
        [
            sum(g.weight for g in v.groups if mesh.vertex_groups[g.group].name in below)
            for v in mesh.data.vertices
        ]
    )
    assert distances[owned == 0].max() < 1e-6
    assert distances[owned > 0.99].max() > 0.5
    tip = armature.pose.bones[armature.data.bones[name].children[0].name]
    gap = (tip.head - armature.pose.bones[name].tail).length
    assert gap <= (1e-5 if tip.bone.use_connect else 1.1e-3 * tip.parent.length)


# ---- other programs


def heads_of(armature, times):
    """bone -> [f][3] where its joint is in the scene"""
    heads = {bone.name: [] for bone in armature.pose.bones}
    for time in times:
        bpy.context.scene.frame_set(time)
        for bone in armature.pose.bones:
            heads[bone.name].append(armature.matrix_world @ bone.head)
    return {name: np.array(places) for name, places in heads.items()}


@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
def test_other_programs_get_hierarchy_joints_and_motion(tmp_path, suffix, kind):
    """The hierarchy, the joints and the motion come back, and what only turned still does."""
    result, _, _ = converted(skeleton=kind)
    times, size = list(range(1, 31)), result.report.size
    shown, heads = scenes.seen_frames(result.meshes[0], times), heads_of(result.armature, times)
    bones = bones_of(result.armature)
    assert any(parent not in ("", "Root") for parent in bones.values())
    meshes = exported_and_imported(result, tmp_path / f"rig{suffix}")
    tolerance = 2e-3 if suffix == ".fbx" else 1e-4
    compare(shown, meshes, times_of_action(times), tolerance)
    again = meshes[0].find_armature()
    assert bones_of(again) == bones
    found = heads_of(again, times_of_action(times))
    for name, places in heads.items():
        assert np.abs(found[name] - places).max() < tolerance * size
    for bone in again.data.bones:
        if kind == "ARTICULATED" and bone.parent and bone.parent.name != "Root":
            lengths = np.linalg.norm(found[bone.name] - found[bone.parent.name], axis=1)
            assert np.ptp(lengths) < tolerance * size


def test_blend_keeps_the_skeleton(tmp_path, hierarchy):
    result, _, _ = hierarchy
    bones, kinds = bones_of(result.armature), [b["ossify_joint"] for b in deforming(result.armature)]
    outputs.write(tmp_path / "rig.blend", result.armature, result.meshes, 4)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    again = bpy.data.objects["Creature Rig"]
    assert bones_of(again) == bones
    assert [b["ossify_joint"] for b in deforming(again)] == kinds
