"""Arrays to scene: Blender replays the solver's rig, and the rig is one that a rigger would keep."""

import math

import bpy
import chain
import numpy as np
import pytest
import scenes
from mathutils import Vector
from ossify import native
from ossify.rig import build


def bent_tube(frames=8):
    """A tube that bends in the middle and is carried along."""
    obj = scenes.tube()
    rest = scenes.positions(obj.data).astype(float)
    shapes = []
    for f in range(frames):
        angle = 1.2 * math.sin(2 * math.pi * f / frames)
        share = np.clip((rest[:, 2] - 1.5) / 1.0, 0, 1)
        turn = angle * share
        high = np.maximum(rest[:, 2] - 1.5, 0)
        moved = rest.copy()
        moved[:, 2] = np.minimum(rest[:, 2], 1.5) + high * np.cos(turn)
        moved[:, 0] = rest[:, 0] + high * np.sin(turn)
        shapes.append(moved)
    keys = scenes.add_shape_keys(obj, shapes)[1:]
    for f, key in enumerate(keys):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    obj.location = (2, 1, 0)
    obj.keyframe_insert("location", frame=1)
    obj.location = (2, 5, 1)
    obj.keyframe_insert("location", frame=8)
    return obj


def replayed(meshes, times):
    return np.concatenate([scenes.seen_frames(obj, times) for obj in meshes], axis=1)


def check_replay(motion, rig, meshes, share=3e-6):
    expected = chain.replay(motion, rig)
    error = np.abs(replayed(meshes, motion.times.tolist()) - expected).max()
    assert error < share * scenes.size_of(expected)


@pytest.mark.parametrize("kind", ["RIGID", "FLEXIBLE"])
def test_blender_replays_the_rig(kind):
    motion, rig, _armature, meshes = chain.built(bent_tube(), bone_kind=kind)
    check_replay(motion, rig, meshes)


def test_flexible_bones_shear_stretch_and_mirror():
    obj = scenes.tube()
    obj.keyframe_insert("scale", frame=1)
    obj.scale = (0.3, 2.0, 1.5)
    obj.rotation_euler = (0.3, 0.5, 0.7)
    parent = scenes.link(bpy.data.objects.new("Parent", None))
    parent.scale = (1, 3, 0.5)
    obj.parent = parent
    obj.keyframe_insert("scale", frame=5)
    obj.scale = (-0.3, 1.0, 1.0)
    obj.keyframe_insert("scale", frame=8)
    motion, rig, armature, meshes = chain.built(obj, bone_kind="FLEXIBLE", bones=2)
    check_replay(motion, rig, meshes)
    assert np.abs(chain.replay(motion, rig) - scenes.seen_frames(obj_shown(obj), range(1, 9))).max() < 0.02
    names = [bone.name for bone in armature.data.bones]
    assert names == ["Root", "Stretch.001", "Bone.001", "Stretch.002", "Bone.002"][: len(names)]
    assert armature.data.bones["Bone.001"].parent.name == "Stretch.001"
    assert [bone.use_deform for bone in armature.data.bones][:3] == [False, False, True]


def obj_shown(obj):
    build.hide(obj, bpy.context.view_layer, False)
    bpy.context.view_layer.update()
    return obj


@pytest.mark.parametrize(
    "scale",
    [(1, 1, 1), (2, 0.5, 3), (-1, 1, 1), (-2, -1, -0.5)],
    ids=["plain", "scaled", "mirrored", "negative"],
)
@pytest.mark.parametrize("sheared", [False, True], ids=["straight", "sheared"])
def test_scaled_and_parented_sources_are_replayed(scale, sheared):
    obj = bent_tube()
    obj.scale = scale
    obj.rotation_euler = (0.1, 0.2, 0.5)
    if sheared:
        parent = scenes.link(bpy.data.objects.new("Parent", None))
        parent.scale = (1, 2, 1)
        obj.parent = parent
    motion, rig, armature, meshes = chain.built(obj, bones=8, rest_correction="FIXED")
    check_replay(motion, rig, meshes)
    assert np.allclose(armature.scale, 1)
    assert np.linalg.det(np.array(meshes[0].matrix_world)[:3, :3]) > 0
    armature.data.pose_position = "REST"
    assert np.abs(scenes.seen(meshes[0], 1) - motion_rest(motion)).max() < 1e-5
    assert (world_normals(meshes[0], 1) * normals_at_rest(obj)).sum(axis=1).min() > 0.99


def motion_rest(motion):
    return motion.rest @ motion.space[:3, :3].T + motion.space[:3, 3]


def world_normals(obj, frame):
    bpy.context.scene.frame_set(frame)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    matrix = np.linalg.inv(np.array(evaluated.matrix_world)[:3, :3]).T
    normals = np.array([polygon.normal for polygon in evaluated.data.polygons]) @ matrix.T
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def normals_at_rest(obj):
    """Of the undeformed source, where it is in frame 1."""
    obj_shown(obj)
    for key in obj.data.shape_keys.key_blocks:
        key.mute = True
    normals = world_normals(obj, 1)
    for key in obj.data.shape_keys.key_blocks:
        key.mute = False
    return normals


def test_rest_pose_is_the_source_undistorted():
    obj = bent_tube()
    _, _, armature, meshes = chain.built(obj, rest_correction="FIXED")
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    assert np.abs(scenes.positions(meshes[0].data) - scenes.positions(obj.data)).max() < 1e-6
    assert np.allclose(armature.matrix_world.translation, (2, 1, 0), atol=1e-6)


def test_an_object_scaled_to_nothing_at_rest_is_replayed():
    obj = scenes.key_shapes(scenes.grid())
    obj.scale = (0, 0, 0)
    obj.keyframe_insert("scale", frame=1)
    obj.scale = (1, 1, 1)
    obj.keyframe_insert("scale", frame=2)
    motion, rig, _, meshes = chain.built(obj, rest="FRAME", rest_frame=4)
    check_replay(motion, rig, meshes)
    motion, rig, _, meshes = chain.built(obj_shown(obj))
    check_replay(motion, rig, meshes, 1e-5)


# ---- weights


def test_weights_are_few_and_sum_to_exactly_one():
    _, rig, armature, meshes = chain.built(bent_tube(), influences=3, bones=6)
    names = [group.name for group in meshes[0].vertex_groups]
    assert set(names) <= {f"Bone.{b + 1:03}" for b in range(rig.bones)}
    assert all(armature.data.bones[name].use_deform for name in names)
    for vertex in meshes[0].data.vertices:
        total = np.float32(0)
        for group in vertex.groups:
            total = np.float32(total + np.float32(group.weight))
        assert total == 1
        assert 1 <= len(vertex.groups) <= 3


def test_groups_that_live_modifiers_need_are_kept():
    obj = scenes.key_shapes(scenes.grid())
    for name in ("Thick", "Old"):
        obj.vertex_groups.new(name=name).add([0, 1, 2], 0.5, "REPLACE")
    obj.modifiers.new("Solidify", "SOLIDIFY").vertex_group = "Thick"
    _, _, _, meshes = chain.built(obj)
    names = [group.name for group in meshes[0].vertex_groups]
    assert "Thick" in names
    assert "Old" not in names
    assert len(obj.vertex_groups) == 2


@pytest.mark.parametrize("taken", [["Bone.001"], ["Bone.001", "Ossify.002"]])
def test_bones_do_not_take_the_names_of_kept_groups(taken):
    obj = scenes.key_shapes(scenes.grid())
    for name in taken:
        obj.vertex_groups.new(name=name).add([0, 1, 2], 0.5, "REPLACE")
        obj.modifiers.new(name, "SOLIDIFY").vertex_group = name
    motion, rig, armature, meshes = chain.built(obj)
    assert not set(taken) & set(armature.data.bones.keys())
    for name in taken:
        meshes[0].modifiers[name].show_viewport = False
    check_replay(motion, rig, meshes)


# ---- the armature


def test_bones_are_ones_a_rigger_would_keep():
    _, rig, armature, _ = chain.built(bent_tube())
    bones = armature.data.bones
    assert [bone.name for bone in bones] == ["Root", *(f"Bone.{b + 1:03}" for b in range(rig.bones))]
    assert not bones["Root"].use_deform
    assert all(bone.parent == bones["Root"] for bone in bones[1:])
    size = scenes.size_of(rig.rest)
    assert all(0.009 * size < bone.length < 0.51 * size for bone in bones)
    low, high = rig.rest.min(axis=0) - 0.05 * size, rig.rest.max(axis=0) + 0.05 * size
    for bone in bones[1:]:
        assert (low < np.array(bone.head_local)).all()
        assert (np.array(bone.tail_local) < high).all()
    assert {c.name for c in armature.data.collections} == {"Root", "Deform"}
    assert len({tuple(bone.color.custom.normal) for bone in bones[1:]}) == rig.bones


def test_same_input_gives_the_same_rig():
    obj = bent_tube()
    first = chain.built(obj)[2]
    second = chain.built(obj_shown(obj))[2]
    for bone in first.data.bones:
        assert np.array_equal(bone.matrix_local, second.data.bones[bone.name].matrix_local)


def test_whole_body_motion_goes_to_the_root():
    obj = scenes.tube()
    obj.keyframe_insert("location", frame=1)
    obj.keyframe_insert("rotation_euler", frame=1)
    obj.location, obj.rotation_euler = (3, 2, 1), (0.5, 1.0, 0.2)
    obj.keyframe_insert("location", frame=8)
    obj.keyframe_insert("rotation_euler", frame=8)
    times = list(range(1, 9))
    source = scenes.seen_frames(obj, times)
    _, _, armature, meshes = chain.built(obj, bones=1)
    keyed = {curve.data_path for curve in chain.curves(armature.animation_data.action)}
    assert keyed == {'pose.bones["Root"].location', 'pose.bones["Root"].rotation_quaternion'}
    assert np.abs(replayed(meshes, times) - source).max() < 1e-5


def test_quaternions_do_not_flip():
    obj = scenes.tube()
    for frame, angle in ((1, 0.0), (30, 12.0)):
        obj.rotation_euler = (0, angle, 0)
        obj.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_end = 30
    _, _, armature, _ = chain.built(obj)
    path = 'pose.bones["Root"].rotation_quaternion'
    curves = [c for c in chain.curves(armature.animation_data.action) if c.data_path == path]
    values = np.array([[point.co[1] for point in curve.keyframe_points] for curve in curves])
    assert values.shape == (4, 30)
    assert ((values[:, 1:] * values[:, :-1]).sum(axis=0) > 0.9).all()


def test_keys_are_grouped_by_bone_linear_and_on_the_captured_frames():
    _, _, armature, _ = chain.built(bent_tube(), frames="CUSTOM", frame_start=2, frame_end=8, frame_step=2)
    action = armature.animation_data.action
    curves = chain.curves(action)
    assert curves
    for curve in curves:
        assert curve.group.name == curve.data_path.split('"')[1]
        assert {point.interpolation for point in curve.keyframe_points} == {"LINEAR"}
        assert [point.co[0] for point in curve.keyframe_points] in ([2, 4, 6, 8], [2])
        assert "scale" not in curve.data_path
    if hasattr(action, "slots"):
        assert armature.animation_data.action_slot == action.slots[0]


def test_a_skeleton_hangs_bones_in_chains():
    def skeleton(rig):
        count = rig.bones
        joints = np.array([(b, 0.2, 3.0 * b) for b in range(count)])
        kinds, zeros = ["root", *["ball"] * (count - 1)], np.zeros(count)
        alone = np.full(count, -1)
        return native.Skeleton(
            0, np.arange(count) - 1, joints, kinds, np.zeros((count, 3)), zeros, zeros, alone, None, ""
        )

    motion, rig, armature, meshes = chain.built(bent_tube(), bones=4, skeleton=skeleton)
    check_replay(motion, rig, meshes)
    bones = armature.data.bones
    assert bones["Core.003"].parent.name == "Core.002"
    assert bones["Core.001"].parent.name == "Root"
    assert np.allclose(bones["Core.003"].head_local, (2, 0.2, 6), atol=1e-6)
    gap = (bones["Core.002"].tail_local - bones["Core.003"].head_local).length
    assert gap <= 1.1e-3 * bones["Core.002"].length  # a hair, where the child also moves


# ---- meshes


def test_mesh_keeps_materials_uvs_attributes_and_modifiers():
    obj = scenes.key_shapes(scenes.grid())
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    obj["mine"] = 3
    _, _, armature, (mesh,) = chain.built(obj)
    assert [modifier.name for modifier in mesh.modifiers] == ["Armature", "Subdivision"]
    modifier = mesh.modifiers[0]
    assert modifier.object == armature
    assert not modifier.use_deform_preserve_volume
    assert mesh.data.shape_keys is None
    assert [material.name for material in mesh.data.materials] == ["Sheet"]
    assert [layer.name for layer in mesh.data.uv_layers] == ["UVMap"]
    marks = np.empty(81, np.int32)
    mesh.data.attributes["mark"].data.foreach_get("value", marks)
    assert np.array_equal(marks, np.arange(81))
    assert mesh["mine"] == 3
    assert mesh.parent == armature
    assert mesh.animation_data is None


def test_custom_normals_survive(tmp_path):
    for scale in ((1, 1, 1), (-1, 1, 1)):
        obj = scenes.cached(scenes.grid(f"Sheet {scale[0]}"), tmp_path / f"{scale[0]}.pc2")
        chosen = [Vector((0.3, 0.1 * (i % 3), 1)).normalized() for i in range(len(obj.data.loops))]
        obj.data.normals_split_custom_set(chosen)
        obj.scale = scale
        bpy.context.view_layer.update()
        _, _, _, (mesh,) = chain.built(obj, rest_correction="FIXED")
        assert mesh.data.has_custom_normals
        assert np.abs(corner_normals(mesh) - corner_normals(obj)).max() < 2e-3


def corner_normals(obj):
    """In the order of faces and vertices, in the axes of the source."""
    scale = np.sign(np.array(obj.scale)) if obj.parent is None else 1
    rows = []
    for polygon in obj.data.polygons:
        for corner in polygon.loop_indices:
            normal = np.array(obj.data.corner_normals[corner].vector) * scale
            rows.append((polygon.index, obj.data.loops[corner].vertex_index, *normal))
    return np.array(sorted(rows))[:, 2:]


def test_a_mesh_that_modifiers_made_keeps_what_is_on_it():
    obj = scenes.key_shapes(scenes.grid(n=5))
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    wave = obj.modifiers.new("Wave", "WAVE")
    wave.height, wave.time_offset = 0.3, -20
    obj.modifiers.new("Solidify", "SOLIDIFY").thickness = 0.1
    motion, rig, _, (mesh,) = chain.built(obj)
    assert len(mesh.data.vertices) == 81
    assert [modifier.name for modifier in mesh.modifiers] == ["Armature", "Solidify"]
    assert [material.name for material in mesh.data.materials] == ["Sheet"]
    assert [layer.name for layer in mesh.data.uv_layers] == ["UVMap"]
    assert "mark" in mesh.data.attributes
    mesh.modifiers["Solidify"].show_viewport = False
    check_replay(motion, rig, [mesh])
    assert all(obj.modifiers[name].show_viewport for name in ("Subdivision", "Wave", "Solidify"))


def test_several_meshes_share_one_armature():
    first, second = bent_tube(), scenes.key_shapes(scenes.grid())
    second.scale = (-1, 2, 1)
    motion, rig, armature, meshes = chain.built(first, second, bones=8)
    check_replay(motion, rig, meshes)
    assert [mesh.name for mesh in meshes] == ["Tube Rigged", "Sheet Rigged"]
    assert all(mesh.modifiers[0].object == armature for mesh in meshes)
    assert meshes[0].users_collection == meshes[1].users_collection == armature.users_collection


# ---- the scene


def test_result_is_in_a_collection_of_its_own_and_selected():
    obj = scenes.key_shapes(scenes.grid())
    _, _, armature, meshes = chain.built(obj)
    collection = bpy.data.collections["Sheet Rig"]
    assert set(collection.objects) == {armature, *meshes}
    assert collection.name in bpy.context.scene.collection.children
    assert bpy.context.view_layer.objects.active == armature
    assert set(bpy.context.selected_objects) == {armature, *meshes}
    assert len(bpy.data.scenes) == 1
    assert bpy.context.mode == "OBJECT"


def test_source_is_hidden_or_left_alone():
    obj = scenes.key_shapes(scenes.grid())
    chain.built(obj, hide_source=False)
    assert obj.visible_get()
    chain.built(obj)
    assert not obj.visible_get()
    assert obj.hide_render
    assert obj.data.shape_keys is not None


def test_running_again_numbers_the_names():
    obj = scenes.key_shapes(scenes.grid())
    names = [chain.built(obj, hide_source=False)[2].name for _ in range(3)]
    assert names == ["Sheet Rig", "Sheet Rig.001", "Sheet Rig.002"]
    assert [c.name for c in bpy.data.collections] == names
    assert len(bpy.data.actions) == 4  # the source's own, and one for each rig
