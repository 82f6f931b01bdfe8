"""Compress Weights: virtual bones on rigs that anybody made."""

import math

import bpy
import numpy as np
import pytest
import scenes
from contents import curves
from layered import by_hand, chain, compressed, rigify_person, wave
from mathutils import Quaternion
from ossify.base.refusal import Refusal
from ossify.options.options import CompressOptions
from ossify.rig import roles, virtual_bones
from ossify.two_layer import compress, keyed_copy, without_shear

TIMES = range(1, 9)


def dense(mesh, names):
    """[v][b] read group by group"""
    found = np.zeros((len(mesh.data.vertices), len(names)))
    for vertex in mesh.data.vertices:
        for group in vertex.groups:
            name = mesh.vertex_groups[group.group].name
            if name in names:
                found[vertex.index, names.index(name)] = group.weight
    return found


def rms(a, b):
    return math.sqrt(((a - b) ** 2).sum(axis=-1).mean())


def influences(mesh):
    return [sum(group.weight > 0 for group in vertex.groups) for vertex in mesh.data.vertices]


def test_a_dense_rig_plays_as_before_on_few_influences():
    armature, tube = chain()
    before = scenes.seen_frames(tube, TIMES)
    made = compressed(armature)
    after = scenes.seen_frames(tube, TIMES)
    size = scenes.size_of(scenes.positions(tube.data))
    error = 100 * rms(after, before) / size
    assert made.most_before == 6
    assert max(influences(tube)) == made.most_after <= 4
    assert error < 0.01
    assert made.motion[0] == pytest.approx(error, rel=0.01)
    assert len(virtual_bones.names_of(armature)) == made.virtual == 20
    assert made.milliseconds[0] > 0
    assert made.milliseconds[1] > 0


def test_blender_blends_as_the_two_layers_say():
    armature, tube = chain()
    compressed(armature)
    for frame in TIMES:
        bpy.context.scene.frame_set(frame)
        shown = scenes.seen(tube)
        assert np.abs(shown - by_hand(armature, tube)).max() < 1e-6 * scenes.size_of(shown)


def test_masters_are_the_only_controls():
    armature, tube = chain()
    keyed = {curve.data_path for curve in curves(armature.animation_data.action)}
    compressed(armature)
    bones = armature.data.bones
    for name in virtual_bones.names_of(armature):
        assert bones[name].use_deform
        assert bones[name].parent is None
        assert [c.name for c in bones[name].collections] == ["Virtual Bones"]
        assert 1 <= len(armature.pose.bones[name].constraints[0].targets) <= 4
    assert not armature.data.collections["Virtual Bones"].is_visible
    masters = virtual_bones.masters_of(armature)
    assert masters == [f"spine.{b}" for b in range(6)]
    assert not any(bones[name].use_deform for name in masters)
    assert {group.name for group in tube.vertex_groups} <= set(virtual_bones.names_of(armature))
    assert {roles.of(armature)[name] for name in masters} == {roles.DEFORM}
    assert {curve.data_path for curve in curves(armature.animation_data.action)} == keyed


@pytest.mark.parametrize("moves", [True, False])
def test_a_pose_that_was_in_no_example_is_kept_too(moves):
    """Bones that moved together, or never, are told apart."""
    armature, tube = chain(moves=moves)

    def posed():
        for b, bone in enumerate(armature.pose.bones):
            if bone.name.startswith("spine"):
                bone.rotation_mode = "QUATERNION"
                bone.rotation_quaternion = Quaternion((0, 1, 1), 0.5 * (-1) ** b)
        bpy.context.view_layer.update()
        return scenes.seen(tube)

    armature.animation_data_clear()
    before = posed()
    if moves:
        wave(armature, moved=1)
    made = compressed(armature)
    assert (made.motion is None) == (not moves)
    armature.animation_data_clear()
    assert 100 * rms(posed(), before) / scenes.size_of(before) < 0.05


def test_removed_virtual_bones_leave_what_vertices_followed():
    armature, tube = chain()
    names = [f"spine.{b}" for b in range(6)]
    painted = dense(tube, names)
    painted /= painted.sum(axis=1, keepdims=True)
    compressed(armature)
    shown = scenes.seen_frames(tube, TIMES)
    blends = virtual_bones.of(armature)
    product = dense(tube, blends.names) @ blends.shares
    compress.remove(armature)
    assert armature.data.bones.keys() == names
    assert all(bone.use_deform and roles.MASTER not in bone for bone in armature.data.bones)
    assert "Virtual Bones" not in armature.data.collections
    assert sorted(group.name for group in tube.vertex_groups) == names
    assert np.abs(dense(tube, names) - product).max() < 1e-6
    assert rms(product, painted) < 0.01
    again = scenes.seen_frames(tube, TIMES)
    assert np.abs(again - shown).max() < 2e-6 * scenes.size_of(shown)


def test_saved_and_opened_it_plays_the_same(tmp_path):
    armature, tube = chain()
    compressed(armature)
    shown = scenes.seen_frames(tube, TIMES)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    armature, tube = bpy.data.objects["Spine"], bpy.data.objects["Tube"]
    assert np.array_equal(scenes.seen_frames(tube, TIMES), shown)
    assert len(virtual_bones.names_of(armature)) == 20


def test_several_meshes_and_those_without_weights():
    armature, tube = chain()
    other = bpy.data.objects.new("Sleeve", tube.data.copy())
    scenes.link(other)
    other.parent, other.location = armature, (0.5, 0, 0)
    other.modifiers.new("Armature", "ARMATURE").object = armature
    for name in [group.name for group in other.vertex_groups]:
        other.vertex_groups[name].remove([0, 1, 2])
    bpy.context.view_layer.update()
    before = [scenes.seen_frames(obj, TIMES) for obj in (tube, other)]
    compressed(armature, count=30)
    for obj, shown in zip((tube, other), before, strict=True):
        now = scenes.seen_frames(obj, TIMES)
        assert 100 * rms(now, shown) / scenes.size_of(shown[0]) < 0.05
    assert not any(len(other.data.vertices[v].groups) for v in (0, 1, 2))


@pytest.mark.usefixtures("rigify")
@pytest.mark.parametrize(("most", "percent"), [(2, 0.02), (4, 0.01)])
def test_a_rigify_character_with_automatic_weights(most, percent):
    armature, body = rigify_person()
    with pytest.raises(Refusal, match="Straighten gives such bones"):
        compressed(armature)
    deforming = [bone.name for bone in armature.data.bones if bone.use_deform]
    segments = {name: armature.data.bones[name].bbone_segments for name in deforming}
    for name in deforming:
        armature.data.bones[name].bbone_segments = 1
    before = scenes.seen_frames(body, TIMES)
    for name in deforming:
        armature.data.bones[name].bbone_segments = segments[name]
    followed = np.count_nonzero(dense(body, deforming) > 0, axis=1).max()
    made = compressed(armature, count=100, masters=8, influences=most, straighten=True)
    assert made.straightened == sum(count > 1 for count in segments.values()) > 0
    assert made.most_before == followed > 4
    assert max(influences(body)) <= most
    error = 100 * rms(scenes.seen_frames(body, TIMES), before) / scenes.size_of(scenes.positions(body.data))
    assert error == pytest.approx(made.motion[0], rel=0.02)
    assert error < percent
    print(made.sentence())


def _bendy(armature, _tube):
    armature.data.bones["spine.2"].bbone_segments = 4


def _volume(_armature, tube):
    tube.modifiers[0].use_deform_preserve_volume = True


def _envelopes(_armature, tube):
    tube.modifiers[0].use_bone_envelopes = True


def _mirror(_armature, tube):
    tube.modifiers.new("Mirror", "MIRROR")
    tube.modifiers.move(1, 0)


def _multiplied(armature, _tube):
    armature.data.bones["spine.0"].use_envelope_multiply = True


def _twice(armature, _tube):
    compressed(armature)


def _unmoved(_armature, tube):
    bpy.data.objects.remove(tube)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_bendy, "spine.2 bends in 4 segments"),
        (_volume, "Preserve Volume on"),
        (_envelopes, "follows Bone Envelopes"),
        (_mirror, "Mirror modifier"),
        (_multiplied, "Envelope Multiply"),
        (_twice, "remove them first"),
        (_unmoved, "moves no mesh"),
    ],
)
def test_what_two_layers_cannot_do_is_refused_in_words(spoil, words):
    armature, tube = chain()
    spoil(armature, tube)
    picture = scenes.picture()
    with pytest.raises(Refusal, match=words):
        compressed(armature)
    assert scenes.difference(picture, scenes.picture()) == ""


@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building"])
def test_cancelled_it_leaves_the_file_as_it_was(stage):
    armature, _ = chain()
    picture = scenes.picture()
    context = bpy.context
    steps = compress.compress(context.scene, context.view_layer, armature, CompressOptions(count=20))
    for step in steps:
        if step.stage == stage:
            break
    assert step.stage == stage
    steps.close()
    assert scenes.difference(picture, scenes.picture()) == ""


def test_weights_painted_meanwhile_are_not_overwritten():
    armature, tube = chain()
    context = bpy.context
    steps = compress.compress(context.scene, context.view_layer, armature, CompressOptions(count=20))
    while next(steps).stage != "Building":
        pass
    tube.vertex_groups["spine.0"].add([0], 0.5, "REPLACE")
    with pytest.raises(Refusal, match="was changed while Ossify was working"):
        next(steps)
    assert not virtual_bones.has_any(armature)


def test_the_buttons_do_it_and_undo_brings_the_old_groups_back():
    armature, tube = chain()
    names = [f"spine.{b}" for b in range(6)]
    before = dense(tube, names)
    scenes.select(tube)
    bpy.ops.ed.undo_push(message="rigged")
    context = bpy.context
    context.scene.ossify_virtual.masters = 3
    assert bpy.ops.ossify.compress_weights("EXEC_DEFAULT", count=15) == {"FINISHED"}
    assert len(virtual_bones.names_of(armature)) == 15
    assert (
        max(len(armature.pose.bones[n].constraints[0].targets) for n in virtual_bones.names_of(armature)) <= 3
    )
    bpy.ops.ed.undo_push(message="compressed")
    bpy.ops.ed.undo()
    armature, tube = bpy.data.objects["Spine"], bpy.data.objects["Tube"]
    assert armature.data.bones.keys() == names
    assert all(bone.use_deform for bone in armature.data.bones)
    assert np.array_equal(dense(tube, names), before)
    bpy.ops.ed.redo()
    armature = bpy.data.objects["Spine"]
    scenes.select(armature)
    assert len(virtual_bones.names_of(armature)) == 15
    assert bpy.ops.ossify.remove_virtual_bones() == {"FINISHED"}
    assert not bpy.ops.ossify.remove_virtual_bones.poll()
    assert bpy.ops.ossify.compress_weights.poll()


def test_a_copy_with_keys_plays_what_the_rig_plays():
    armature, tube = chain()
    compressed(armature)
    shown = scenes.seen_frames(tube, TIMES)
    size = scenes.size_of(scenes.positions(tube.data))
    scenes.select(armature)
    assert bpy.ops.ossify.key_virtual_bones() == {"FINISHED"}
    copy = bpy.data.objects["Spine Keyed"]
    (mesh,) = [obj for obj in copy.children if obj.type == "MESH"]
    assert not any(bone.constraints for bone in copy.pose.bones)
    again = scenes.seen_frames(mesh, TIMES)
    assert 100 * rms(again, shown) / size < 0.1
    assert np.array_equal(scenes.seen_frames(tube, TIMES), shown)
    made = keyed_copy.place(armature, bpy.context.scene, bpy.context.view_layer)
    assert made.rms == pytest.approx(100 * rms(again, shown) / size, rel=0.05)


def test_rotations_and_scales_come_back_from_their_product():
    """Known answer: a stretch along turned axes is found along them, and nothing is lost."""
    random = np.random.default_rng(1)
    axes = np.linalg.qr(random.normal(size=(3, 3)))[0]
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    turns = np.array([np.linalg.qr(random.normal(size=(3, 3)))[0] for _ in range(5)])
    turns[:, :, 0] *= np.sign(np.linalg.det(turns))[:, None]
    scales = random.uniform(0.5, 1.5, (5, 3))
    linear = ((turns * scales[:, None]) @ axes.T)[:, None]
    found = without_shear.axes_of(linear)
    rotation, scale = without_shear.turned_and_scaled(linear, found)
    again = (rotation * scale[..., None, :]) @ found.swapaxes(-1, -2)
    assert np.abs(again - linear).max() < 1e-9
    assert np.abs(np.linalg.det(rotation) - 1).max() < 1e-9
