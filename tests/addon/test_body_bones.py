"""Body Bones: a rig whose shape is set by bones, with a pose of the library for each body."""

import types

import bpy
import exchange
import numpy as np
import ossify
import pytest
import scenes
from limbs_of_a_family import family, fitted
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.family import body_bones, bone_bodies
from ossify.options.options import BodyBonesOptions
from ossify.rig import pose_assets

SHAPES = 8


def steps(tube, *bodies, **chosen):
    context = bpy.context
    context.view_layer.update()
    options = BodyBonesOptions(**{"count": SHAPES, **chosen})
    return body_bones.make(context.scene, context.view_layer, tube, list(bodies), options)


def stand_as(armature, body):
    pose_assets.take(armature, bpy.data.actions[f"{body.name} Body"])
    bpy.context.view_layer.update()


def percent(shown, wanted):
    return 100 * np.sqrt(((shown - wanted) ** 2).sum(axis=1).mean()) / scenes.size_of(wanted)


def test_each_body_is_a_pose_of_the_library():
    _, tube, bodies = family()
    wanted = {body: scenes.seen(body) for body in bodies}
    rig = run(steps(tube, *bodies))
    rig.armature.animation_data.action = None
    for bone in rig.armature.pose.bones:
        bone.matrix_basis.identity()
    errors = []
    for body, shape in wanted.items():
        stand_as(rig.armature, body)
        errors.append(percent(scenes.seen(rig.mesh), shape))
        assert bpy.data.actions[f"{body.name} Body"].asset_data is not None
    assert max(errors) < 2 * rig.left + 0.01, (errors, rig.left)
    assert rig.left < 1.0


def heads(armature, names):
    """[b][3] in the world, as posed"""
    bones = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    return np.array([armature.matrix_world @ bones[name].head for name in names])


def test_joints_are_where_a_rig_of_that_body_has_them_while_it_plays():
    armature, tube, bodies = family()
    own, names = fitted(tube, *bodies).armatures, armature.data.bones.keys()
    rig = run(steps(tube, *bodies))
    for body, other in zip(bodies, own, strict=True):
        stand_as(rig.armature, body)
        for frame in (1, 4, 7):
            bpy.context.scene.frame_set(frame)
            apart = np.abs(heads(rig.armature, names) - heads(other, names)).max()
            assert apart < 1e-3 * scenes.size_of(scenes.positions(body.data)), (body.name, frame)


def test_it_plays_on_every_body_as_a_rig_of_that_body_does():
    _, tube, bodies = family()
    fitted(tube, *bodies)
    frames = (1, 4, 7)
    wanted = {body: scenes.seen_frames(body, frames) for body in bodies}
    rig = run(steps(tube, *bodies))

    def missed(pose, moving):
        stand_as(rig.armature, pose)
        pairs = zip(scenes.seen_frames(rig.mesh, frames), moving, strict=True)
        return max(percent(shown, points) for shown, points in pairs)

    for body, moving in wanted.items():
        assert missed(body, moving) < min(1.0, 0.2 * missed(tube, moving))


@pytest.mark.parametrize("ending", ["glb", "fbx"])
def test_a_body_goes_into_files_as_it_stands(tmp_path, ending):
    """Without morphs, which is what it is for."""
    _, tube, bodies = family()
    rig = run(steps(tube, *bodies))
    stand_as(rig.armature, bodies[1])
    times = list(range(1, 9))
    shown = scenes.seen_frames(rig.mesh, times)
    path = tmp_path / f"body.{ending}"
    whole = types.SimpleNamespace(armature=rig.armature, meshes=[rig.mesh])
    meshes = exchange.exported_and_imported(whole, path)
    exchange.compare(shown, meshes, exchange.times_of_action(times), 1e-3)
    assert meshes[0].data.shape_keys is None


def test_it_plays_in_a_file_without_the_extension(tmp_path):
    _, tube, bodies = family()
    rig = run(steps(tube, *bodies))
    stand_as(rig.armature, bodies[2])
    shown, name = scenes.seen_frames(rig.mesh, (2, 5)), rig.mesh.name
    path = str(tmp_path / "bodies.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    ossify.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=path, use_scripts=False)
        again = scenes.seen_frames(bpy.data.objects[name], (2, 5))
        assert any(action.asset_data for action in bpy.data.actions)
    finally:
        ossify.register()
    assert np.abs(again - shown).max() < 1e-6


def test_shape_bones_have_a_collection_of_their_own_and_the_rig_keeps_its_tree():
    armature, tube, bodies = family()
    names = set(armature.data.bones.keys())
    rig = run(steps(tube, *bodies))
    own = {bone.name for bone in rig.armature.data.collections[bone_bodies.COLLECTION].bones}
    assert own == set(rig.armature.data.bones.keys()) - names
    assert sum(name.startswith("Shape ") for name in own) == rig.bones == SHAPES
    assert rig.mesh.data.shape_keys is None
    for name in names:
        parent, found = armature.data.bones[name].parent, rig.armature.data.bones[name].parent
        while found is not None and found.name in own:
            found = found.parent
        assert (found and found.name) == (parent and parent.name)


def test_stopped_it_leaves_nothing_behind():
    _, tube, bodies = family()
    before = [len(bpy.data.objects), len(bpy.data.actions), len(bpy.data.meshes)]
    for count in range(1, 4):
        job = steps(tube, *bodies)
        for _ in range(count):
            next(job)
        job.close()
    assert before == [len(bpy.data.objects), len(bpy.data.actions), len(bpy.data.meshes)]


def test_a_mesh_with_shape_keys_is_refused():
    _, tube, bodies = family()
    tube.shape_key_add(name="Basis")
    with pytest.raises(Refusal, match="shape keys"):
        run(steps(tube, *bodies))
