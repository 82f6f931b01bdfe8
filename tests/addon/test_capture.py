"""Every kind of source: what is captured is what Blender shows in world space."""

import math
import tracemalloc

import bpy
import builds
import chain
import numpy as np
import pytest
import scenes
from mathutils import Matrix
from ossify.motion import sources


def in_world(motion, points):
    return points @ motion.space[:3, :3].T + motion.space[:3, 3]


def check(obj, **chosen):
    """Captured positions against evaluated ones, frame by frame, and the scene as before."""
    bpy.context.scene.frame_set(3)
    motion = chain.captured(obj, **chosen)
    assert bpy.context.scene.frame_current == 3
    expected = scenes.seen_frames(obj, motion.times.tolist())
    assert motion.frames.shape == expected.shape
    assert motion.frames.dtype == np.float32
    assert np.abs(in_world(motion, motion.frames) - expected).max() < 2e-6 * scenes.size_of(expected)
    assert np.ptp(motion.frames, axis=0).max() > 0.01
    return motion


def test_keyed_shape_keys_are_read():
    obj = scenes.key_shapes(scenes.grid())
    motion = check(obj)
    assert motion.parts[0].own_mesh
    assert np.allclose(in_world(motion, motion.rest), scenes.positions(obj.data), atol=1e-6)
    assert "shape keys" in sources.motion_words(obj)[0]


@pytest.mark.parametrize("kind", ["pc2", "mdd"])
def test_a_mesh_cache_is_read(tmp_path, kind):
    obj = scenes.grid()
    frames = scenes.waves(scenes.positions(obj.data))
    scenes.cached(obj, tmp_path / f"wave.{kind}", frames)
    motion = check(obj)
    assert np.abs(motion.frames - frames).max() < 1e-6  # the writer and Blender's reader agree
    assert f"wave.{kind}" in sources.motion_words(obj)[0]


def test_memory_is_one_copy_of_the_frames(tmp_path):
    obj = scenes.grid(n=60)
    rest = scenes.positions(obj.data)
    scenes.cached(obj, tmp_path / "long.pc2", scenes.waves(rest, 60))
    bpy.context.scene.frame_end = 60
    obj.rotation_euler.z = 0.5  # so that positions are transformed on the way
    tracemalloc.start()
    try:
        motion = chain.captured(obj)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(motion.frames) == 60
    assert most - motion.frames.nbytes < 0.3 * motion.frames.nbytes  # a few frames, the rest, the triangles


def cache_of_scene(obj, path):
    """Writes the object's motion with Blender's exporter and reads it back with its importer."""
    scenes.select(obj)
    if path.suffix == ".abc":
        bpy.ops.wm.alembic_export(filepath=str(path), start=1, end=8, selected=True, as_background_job=False)
    else:
        bpy.ops.wm.usd_export(filepath=str(path), selected_objects_only=True, export_animation=True)
    bpy.ops.wm.read_homefile(use_empty=True)
    if path.suffix == ".abc":
        bpy.ops.wm.alembic_import(filepath=str(path), as_background_job=False)
    else:
        bpy.ops.wm.usd_import(filepath=str(path))
    return next(found for found in bpy.data.objects if found.type == "MESH")


@pytest.mark.parametrize("suffix", [".abc", ".usdc"])
def test_a_mesh_sequence_cache_is_read(tmp_path, suffix):
    builds.needs("alembic" if suffix == ".abc" else "usd")
    source = scenes.cached(scenes.grid(), tmp_path / "wave.pc2")
    obj = cache_of_scene(source, tmp_path / f"wave{suffix}")
    assert [modifier.type for modifier in obj.modifiers] == ["MESH_SEQUENCE_CACHE"]
    check(obj, frames="CUSTOM", frame_start=1, frame_end=8)
    assert "geometry cache" in sources.motion_words(obj)[0]


def hung_cloth():
    obj = scenes.grid(n=10)
    pinned = obj.vertex_groups.new(name="Pin")
    pinned.add([index for index, p in enumerate(scenes.positions(obj.data)) if p[1] > 0.99], 1.0, "REPLACE")
    cloth = obj.modifiers.new("Cloth", "CLOTH")
    cloth.settings.vertex_group_mass = "Pin"
    cloth.point_cache.frame_start, cloth.point_cache.frame_end = 1, 12
    bpy.context.scene.frame_end = 12
    return obj, cloth


def test_cloth_is_stepped_from_its_start():
    obj, _ = hung_cloth()
    motion = chain.captured(obj, frames="CUSTOM", frame_start=6, frame_end=12, frame_step=3)
    assert motion.times.tolist() == [6, 9, 12]
    expected = {time: scenes.seen(obj, time) for time in range(1, 13)}
    for row, time in enumerate(motion.times.tolist()):
        assert np.abs(in_world(motion, motion.frames[row]) - expected[time]).max() < 1e-5
    assert motion.frames[-1, :, 2].min() < -0.05  # it fell


def test_cloth_bake_is_used():
    obj, cloth = hung_cloth()
    with bpy.context.temp_override(scene=bpy.context.scene, object=obj, point_cache=cloth.point_cache):
        bpy.ops.ptcache.bake(bake=True)
    assert cloth.point_cache.is_baked
    assert sources.simulation_start(bpy.context.scene, bpy.context.view_layer) is None
    check(obj)
    assert cloth.point_cache.is_baked
    assert "(baked)" in sources.motion_words(obj)[0]


def test_a_soft_body_is_stepped_from_its_start():
    obj = scenes.grid(n=6)
    obj.modifiers.new("Softbody", "SOFT_BODY")
    obj.soft_body.use_goal = False
    motion = chain.captured(obj)
    expected = [scenes.seen(obj, time) for time in range(1, 9)]
    assert np.abs(in_world(motion, motion.frames) - np.array(expected)).max() < 1e-4
    assert motion.frames[-1, :, 2].min() < -0.01


def test_lattice_hook_and_displace_are_read():
    obj = scenes.grid()
    lattice = scenes.link(bpy.data.objects.new("Lattice", bpy.data.lattices.new("Lattice")))
    lattice.scale = (3, 3, 3)
    lattice.keyframe_insert("scale", frame=1)
    lattice.scale = (2, 4, 3)
    lattice.keyframe_insert("scale", frame=8)
    obj.modifiers.new("Lattice", "LATTICE").object = lattice
    empty = scenes.link(bpy.data.objects.new("Empty", None))
    empty.keyframe_insert("location", frame=1)
    empty.location = (0, 0, 1)
    empty.keyframe_insert("location", frame=8)
    hook = obj.modifiers.new("Hook", "HOOK")
    hook.object = empty
    hook.vertex_indices_set([0, 1, 2])
    displace = obj.modifiers.new("Displace", "DISPLACE")
    displace.strength = 0
    displace.keyframe_insert("strength", frame=1)
    displace.strength = 0.5
    displace.keyframe_insert("strength", frame=8)
    check(obj)
    assert len(sources.movers(obj)) == 3


def moving_nodes(obj):
    """Set Position by the scene's time."""
    tree = bpy.data.node_groups.new("Move", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    start, end = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    move, time = tree.nodes.new("GeometryNodeSetPosition"), tree.nodes.new("GeometryNodeInputSceneTime")
    place = tree.nodes.new("GeometryNodeInputPosition")
    scale = tree.nodes.new("ShaderNodeVectorMath")
    scale.operation = "SCALE"
    tree.links.new(start.outputs[0], move.inputs["Geometry"])
    tree.links.new(place.outputs[0], scale.inputs[0])
    tree.links.new(time.outputs["Seconds"], scale.inputs["Scale"])
    tree.links.new(scale.outputs[0], move.inputs["Offset"])
    tree.links.new(move.outputs[0], end.inputs[0])
    modifier = obj.modifiers.new("Nodes", "NODES")
    modifier.node_group = tree
    return modifier


def test_geometry_nodes_are_read():
    obj = scenes.grid()
    moving_nodes(obj)
    check(obj)


def test_nodes_that_move_nothing_stay_live():
    obj = scenes.key_shapes(scenes.grid())
    tree = bpy.data.node_groups.new("Shade", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    start, end = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    smooth = tree.nodes.new("GeometryNodeSetShadeSmooth")
    tree.links.new(start.outputs[0], smooth.inputs[0])
    tree.links.new(smooth.outputs[0], end.inputs[0])
    obj.modifiers.new("Subdivision", "SUBSURF")
    obj.modifiers.new("Smooth", "NODES").node_group = tree
    assert sources.movers(obj) == []
    motion = chain.captured(obj)
    assert motion.parts[0].kept == ["Subdivision", "Smooth"]
    assert motion.frames.shape[1] == len(obj.data.vertices)


def test_the_motion_of_an_armature_is_read():
    obj = scenes.tube()
    data = bpy.data.armatures.new("Old")
    old = scenes.link(bpy.data.objects.new("Old", data))
    scenes.select(old)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = data.edit_bones.new("Upper")
    bone.head, bone.tail = (0, 0, 2), (0, 0, 4)
    bpy.ops.object.mode_set(mode="OBJECT")
    obj.vertex_groups.new(name="Upper").add(
        [index for index, p in enumerate(scenes.positions(obj.data)) if p[2] > 2], 1.0, "REPLACE"
    )
    obj.modifiers.new("Armature", "ARMATURE").object = old
    pose = old.pose.bones["Upper"]
    pose.keyframe_insert("rotation_quaternion", frame=1)
    pose.rotation_quaternion = (math.cos(0.5), math.sin(0.5), 0, 0)
    pose.keyframe_insert("rotation_quaternion", frame=8)
    check(obj)


def test_later_modifiers_stay_live_and_are_not_captured():
    obj = scenes.key_shapes(scenes.grid())
    obj.modifiers.new("Subdivision", "SUBSURF")
    hidden = obj.modifiers.new("Solidify", "SOLIDIFY")
    hidden.show_viewport = False
    motion = chain.captured(obj)
    assert motion.frames.shape[1] == len(obj.data.vertices)
    assert motion.parts[0].kept == ["Subdivision", "Solidify"]
    assert obj.modifiers["Subdivision"].show_viewport
    assert not obj.modifiers["Solidify"].show_viewport


def test_vertices_made_before_the_last_mover_are_captured():
    obj = scenes.key_shapes(scenes.grid(n=5))
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    cast = obj.modifiers.new("Cast", "CAST")
    cast.factor = 0
    cast.keyframe_insert("factor", frame=1)
    cast.factor = 0.5
    cast.keyframe_insert("factor", frame=8)
    motion = check(obj)
    assert not motion.parts[0].own_mesh
    assert motion.frames.shape[1] == 81
    obj.modifiers.remove(cast)
    for key in obj.data.shape_keys.key_blocks[1:]:
        key.mute = True
    assert np.abs(in_world(motion, motion.rest) - scenes.seen(obj)).max() < 1e-6
    assert not motion.notes


def test_mesh_made_by_nodes_rests_as_in_the_first_frame():
    obj = scenes.grid(n=4)
    tree = moving_nodes(obj).node_group
    subdivide = tree.nodes.new("GeometryNodeSubdivideMesh")
    end = next(node for node in tree.nodes if node.bl_idname == "NodeGroupOutput")
    move = next(node for node in tree.nodes if node.bl_idname == "GeometryNodeSetPosition")
    tree.links.new(move.outputs[0], subdivide.inputs[0])
    tree.links.new(subdivide.outputs[0], end.inputs[0])
    motion = check(obj)
    assert "no undeformed shape" in motion.notes[0]
    assert np.array_equal(motion.rest, motion.frames[0])


@pytest.mark.parametrize(
    "scale",
    [(1, 1, 1), (2, 0.5, 3), (-1, 1, 1), (-2, -1, -0.5)],
    ids=["plain", "scaled", "mirrored", "negative"],
)
def test_the_motion_of_an_object_and_its_parents_is_read(scale):
    obj = scenes.key_shapes(scenes.grid())
    parent = scenes.link(bpy.data.objects.new("Parent", None))
    parent.rotation_euler = (0.3, 0.2, 0.1)
    parent.scale = (1, 2, 1)  # a shear for what turns under it
    parent.location = (5, 0, 0)
    parent.keyframe_insert("location", frame=1)
    parent.location = (5, 4, 0)
    parent.keyframe_insert("location", frame=8)
    obj.parent = parent
    obj.scale = scale
    obj.rotation_euler = (0, 0, 0.5)
    obj.keyframe_insert("rotation_euler", frame=1)
    obj.rotation_euler = (0, 1, 0.5)
    obj.keyframe_insert("rotation_euler", frame=8)
    motion = check(obj)
    assert np.allclose(motion.space[:3, :3] @ motion.space[:3, :3].T, np.eye(3), atol=1e-6)
    assert np.linalg.det(motion.space[:3, :3]) > 0


def test_far_from_the_origin_keeps_its_precision():
    obj = scenes.key_shapes(scenes.grid())
    near = chain.captured(obj)
    obj.location = (1e5, -1e5, 3e4)
    far = chain.captured(obj)
    assert np.abs(near.frames - far.frames).max() < 1e-6


def test_frames_are_those_of_the_range_and_step():
    obj = scenes.key_shapes(scenes.grid())
    scene = bpy.context.scene
    scene.use_preview_range = True
    scene.frame_preview_start, scene.frame_preview_end = 3, 6
    assert chain.captured(obj).times.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert chain.captured(obj, frames="PREVIEW").times.tolist() == [3, 4, 5, 6]
    assert chain.captured(obj, frames="CUSTOM", frame_start=2, frame_end=9, frame_step=3).times.tolist() == [
        2,
        5,
        8,
    ]


def test_the_rest_is_that_of_the_frame_chosen():
    obj = scenes.key_shapes(scenes.grid())
    inside = chain.captured(obj, rest="FRAME", rest_frame=4)
    assert np.abs(in_world(inside, inside.rest) - scenes.seen(obj, 4)).max() < 1e-6
    outside = chain.captured(obj, rest="FRAME", rest_frame=4, frames="CUSTOM", frame_start=6, frame_end=8)
    assert np.abs(outside.rest - inside.rest).max() < 1e-6
    assert chain.captured(obj, rest="SYNTHESISED").rest is None


def test_shape_keys_are_poses_by_name():
    obj = scenes.grid()
    names = ["Smile", "Frown", "Blink"]
    keys = scenes.add_shape_keys(obj, scenes.waves(scenes.positions(obj.data), 3), names)
    keys["Frown"].slider_max = 0.5
    obj.active_shape_key_index = 2
    motion = chain.captured(obj, frames="POSES")
    assert motion.poses == ["Basis", *names]
    for row, name in enumerate(motion.poses):
        expected = np.array([point.co for point in keys[name].data])
        assert np.abs(in_world(motion, motion.frames[row]) - expected).max() < 1e-6
    assert obj.active_shape_key_index == 2
    assert not obj.show_only_shape_key


def test_poses_of_several_meshes_meet_by_name():
    face, teeth, eyes = scenes.grid("Face"), scenes.grid("Teeth", n=4), scenes.grid("Eyes", n=3)
    scenes.add_shape_keys(face, scenes.waves(scenes.positions(face.data), 2), ["Open", "Smile"])
    scenes.add_shape_keys(teeth, scenes.waves(scenes.positions(teeth.data), 2), ["Open", "Bite"])
    motion = chain.captured(face, teeth, eyes, frames="POSES")
    assert motion.poses == ["Basis", "Open", "Smile", "Bite"]
    rows = motion.parts[1].vertices
    assert np.array_equal(motion.frames[2, rows], motion.frames[0, rows])  # no Smile on the teeth
    assert np.ptp(motion.frames[:, rows], axis=0).max() > 0.01


def test_several_meshes_are_read_one_after_the_other():
    first, second = scenes.key_shapes(scenes.grid("A")), scenes.key_shapes(scenes.grid("B", n=5))
    second.location = (3, 0, 0)
    motion = chain.captured(first, second)
    assert [part.vertices for part in motion.parts] == [slice(0, 81), slice(81, 106)]
    expected = np.concatenate([scenes.seen_frames(o, range(1, 9)) for o in (first, second)], axis=1)
    assert np.abs(in_world(motion, motion.frames) - expected).max() < 1e-6
    assert motion.triangles.max() == 105


def test_loose_edges_are_triangles_of_two_corners():
    mesh = bpy.data.meshes.new("Loose")
    mesh.from_pydata([(i, 0, 0) for i in range(6)], [(0, 1), (1, 2)], [(2, 3, 4)])
    obj = scenes.key_shapes(scenes.link(bpy.data.objects.new("Loose", mesh)))
    motion = check(obj)
    triangles = {tuple(sorted(set(row))) for row in motion.triangles.tolist()}
    assert triangles == {(2, 3, 4), (0, 1), (1, 2)}


def test_shear_is_in_the_part_and_not_in_the_space():
    obj = scenes.key_shapes(scenes.grid())
    parent = scenes.link(bpy.data.objects.new("Parent", None))
    parent.scale = (1, 3, 1)
    obj.parent = parent
    obj.rotation_euler = (0, 0, 0.7)
    motion = chain.captured(obj)
    bpy.context.view_layer.update()
    assert np.allclose(motion.space @ motion.parts[0].matrix, np.array(Matrix(obj.matrix_world)), atol=1e-6)
