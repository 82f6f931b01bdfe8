"""Arrays written back into a rig that stands: what was asked for arrives, and nothing else changes."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import curves_of, groups_of
from kept import kept
from mathutils import Matrix
from ossify.options.options import Options
from ossify.rig import rewrite, standing

TIMES = np.arange(1, 9)


@pytest.fixture
@kept
def sheet():
    """A flat rig: the armature and its mesh."""
    result = chain.converted(scenes.key_shapes(scenes.grid()), bones=4)
    return result.armature, result.meshes[0]


@pytest.fixture
@kept
def creature():
    body, _ = scenes.creature(frames=8)
    result = chain.converted(body, bones=len(scenes.creature_bones()), skeleton="HIERARCHY", keys="REDUCED")
    return result.armature, result.meshes[0]


def read(armature, times=TIMES):
    names = standing.bone_names(armature)
    context = bpy.context
    return names, standing.read_transforms(armature, context.scene, context.view_layer, names, times)


def nudged(transforms, amount=0.1, seed=1):
    """Rigid motions near the given ones."""
    rng = np.random.default_rng(seed)
    result = transforms.copy()
    for index in np.ndindex(transforms.shape[:2]):
        turn = Matrix.Rotation(amount * rng.normal(), 4, rng.normal(size=3).tolist())
        shift = Matrix.Translation((amount * rng.normal(size=3)).tolist())
        result[index] = transforms[index] @ np.array(shift @ turn)
    return result


def choices(armature, **more):
    chosen = Options.of(armature.ossify.settings)
    for name, value in more.items():
        setattr(chosen, name, value)
    return chosen


def write(armature, transforms, names, held=None, times=TIMES, **more):
    action = armature.animation_data.action
    return rewrite.write_keys(armature, action, transforms, times, names, choices(armature, **more), held)


def values_of(armature, bone, frames):
    """(path, index) -> values in these frames, to the bit"""
    return {
        (curve.data_path, curve.array_index): [curve.evaluate(frame) for frame in frames]
        for curve in chain.curves(armature.animation_data.action)
        if f'"{bone}"' in curve.data_path
    }


def free_heads(armature):
    """Bones may leave their parents."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.use_connect = False
    bpy.ops.object.mode_set(mode="OBJECT")


# ---- keys


@pytest.mark.parametrize("keys", ["EVERY", "REDUCED"])
def test_any_transforms_arrive(creature, keys):
    armature, _ = creature
    free_heads(armature)
    names, before = read(armature)
    wanted = nudged(before)
    keyed = write(armature, wanted, names, keys=keys, key_tolerance=0.1)
    _, after = read(armature)
    size = armature.ossify.size
    allowed = 1e-5 if keys == "EVERY" else 0.01
    assert np.abs(after - wanted).max() < allowed * size
    assert keyed.keys == sum(
        len(points) for path, points in curves_of(armature).items() if "Root" not in path[0]
    )


def test_the_root_is_keyed_only_when_it_is_named(sheet):
    armature, _ = sheet
    names, before = read(armature)
    root = curves_of(armature, "Root")
    write(armature, nudged(before), names)
    assert curves_of(armature, "Root") == root
    _, standing_still = read(armature)
    body = np.tile(np.eye(4), (8, 1, 1, 1))
    body[:, 0, 0, 3] = TIMES
    write(armature, np.concatenate([body, standing_still], axis=1), ["Root", *names])
    _, after = read(armature)
    assert np.abs(after - standing_still).max() < 1e-5
    bpy.context.scene.frame_set(5)
    assert armature.pose.bones["Root"].location[0] == pytest.approx(5)


def test_flexible_bones_keep_their_carriers():
    result = chain.converted(scenes.key_shapes(scenes.grid()), bones=4, bone_kind="FLEXIBLE")
    armature = result.armature
    names, before = read(armature)
    wanted = before.copy()
    wanted[..., :3, :3] = before[..., :3, :3] @ np.array([[1.1, 0.1, 0], [0, 1, 0], [0, 0, 0.9]])
    write(armature, wanted, names)
    _, after = read(armature)
    assert np.abs(after - wanted).max() < 1e-4


def hang_control(armature, bone):
    """A bone of the artist's between a bone and its parent, keyed, with a constraint on it."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    control = bones.new("Control")
    control.head, control.tail = bones[bone].head, bones[bone].head + bones[bone].vector.yxz
    control.use_deform = False
    control.parent = bones[bone].parent
    bones[bone].use_connect = False
    bones[bone].parent = control
    bpy.ops.object.mode_set(mode="OBJECT")
    pose = armature.pose.bones["Control"]
    pose.rotation_mode = "XYZ"
    for frame in (1, 4, 8):
        pose.rotation_euler = (0.1 * frame, 0, 0.05 * frame)
        pose.keyframe_insert("rotation_euler", frame=frame)
    limit = pose.constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.max_x = True, 0.5


def test_bones_hang_from_the_artists_controls(creature):
    armature, _ = creature
    free_heads(armature)
    leaf = next(bone.name for bone in armature.data.bones if not bone.children and bone.parent.use_deform)
    names, wanted = read(armature)

    def now():
        """In the order of before: another parent may put a bone behind others."""
        found, transforms = read(armature)
        return transforms[:, [found.index(name) for name in names]]

    hang_control(armature, leaf)
    control = curves_of(armature, "Control")
    assert np.abs(now() - wanted).max() > 0.1
    write(armature, wanted, names, keys="EVERY")
    assert np.abs(now() - wanted).max() < 1e-4
    assert curves_of(armature, "Control") == control
    moved = nudged(wanted)  # the control hangs from a bone that moves
    write(armature, moved, names, keys="EVERY")
    assert np.abs(now() - moved).max() < 1e-4


@pytest.mark.parametrize("mode", ["XYZ", "ZXY", "AXIS_ANGLE"])
def test_other_rotation_modes_are_kept(sheet, mode):
    armature, _ = sheet
    names, before = read(armature)
    bone = armature.pose.bones[names[1]]
    bone.rotation_mode = mode
    wanted = nudged(before)
    write(armature, wanted, names, keys="REDUCED")
    assert bone.rotation_mode == mode
    assert np.abs(read(armature)[1][:, 1] - wanted[:, 1]).max() < 1e-4


# ---- what is held


@pytest.mark.parametrize("keys", ["EVERY", "REDUCED"])
def test_everything_held_changes_nothing(creature, keys):
    armature, _ = creature
    names, before = read(armature)
    curves = curves_of(armature)
    write(armature, nudged(before), names, np.ones(before.shape[:2], bool), keys=keys)
    assert curves_of(armature) == curves


@pytest.mark.parametrize("keys", ["EVERY", "REDUCED"])
def test_held_frames_keep_their_values_to_the_bit(creature, keys):
    armature, _ = creature
    free_heads(armature)
    names, before = read(armature)
    leaf = next(bone.name for bone in armature.data.bones if not bone.children and bone.parent.use_deform)
    above = [leaf, *(bone.name for bone in armature.data.bones[leaf].parent_recursive)]
    curve = next(c for c in chain.curves(armature.animation_data.action) if f'"{leaf}"' in c.data_path)
    curve.keyframe_points[-1].interpolation = "BEZIER"
    held = np.zeros(before.shape[:2], bool)
    frames = [3, 4, 5]
    held[np.array(frames) - 1, names.index(leaf)] = True
    kept = {name: values_of(armature, name, frames) for name in above}
    wanted = nudged(before)
    write(armature, wanted, names, held, keys=keys)
    for name in above:
        now = values_of(armature, name, frames)
        for channel, values in kept[name].items():
            assert now[channel] == values
    after = read(armature)[1]
    columns = [names.index(name) for name in above if name in names]
    assert np.abs(after[2:5][:, columns] - before[2:5][:, columns]).max() < 1e-5
    others = [b for b in range(len(names)) if b not in columns]
    allowed = 1e-4 if keys == "EVERY" else 0.05
    assert np.abs(after[:, others] - wanted[:, others]).max() < allowed
    free = [0, 1, 5, 6, 7]
    assert np.abs(after[free][:, columns] - wanted[free][:, columns]).max() < allowed


def test_bones_with_constraints_or_drivers_are_not_keyed_and_those_above_are(creature):
    armature, _ = creature
    free_heads(armature)
    names, before = read(armature)
    first, second, third, fourth = [bone.name for bone in armature.data.bones if not bone.children][:4]
    armature.pose.bones[first].constraints.new("COPY_ROTATION")
    armature.pose.bones[second].driver_add("location", 0).driver.expression = "0"
    armature.pose.bones[third].constraints.new("LIMIT_SCALE")
    armature.pose.bones[fourth].constraints.new("COPY_ROTATION").mute = True
    kept = {name: curves_of(armature, name) for name in names}
    wanted = nudged(before)
    write(armature, wanted, names, key_shape="LINEAR")
    now = {name: curves_of(armature, name) for name in names}
    assert {name for name in names if now[name] == kept[name]} == {first, second}
    free = [names.index(name) for name in names if name not in (first, second)]
    _, after = read(armature)
    assert np.abs(after[:, free] - wanted[:, free]).max() < 1e-4


def test_a_solver_leaves_what_is_above_a_bone_that_something_else_moves(creature):
    """Or the bone would move along, and the solver would not know."""
    armature, _ = creature
    names, _ = read(armature)
    leaves = [bone.name for bone in armature.data.bones if not bone.children]
    first, second, third = leaves[:3]
    armature.pose.bones[first].constraints.new("COPY_ROTATION")
    armature.pose.bones[second].driver_add("location", 0).driver.expression = "0"
    armature.pose.bones[third].constraints.new("COPY_ROTATION").mute = True
    fixed = {first, second}
    for name in (first, second):
        fixed |= {bone.name for bone in armature.data.bones[name].parent_recursive}
    told = rewrite.held_with_ancestors(armature, names, None)
    assert {name for b, name in enumerate(names) if told[:, b].all()} == fixed & set(names)


def test_keys_outside_of_the_frames_stay(sheet):
    armature, _ = sheet
    names, before = read(armature)
    bone = armature.pose.bones[names[0]]
    for frame in (-10, 30):
        bone.location = (frame, 1, 2)
        bone.keyframe_insert("location", frame=frame)
    write(armature, nudged(before), names, keys="REDUCED", key_tolerance=1.0)
    for frame in (-10, 30):
        bpy.context.scene.frame_set(frame)
        assert tuple(bone.location) == (frame, 1, 2)
    assert np.abs(read(armature)[1] - nudged(before)).max() < 0.1


def test_a_new_action_leaves_the_old_one_alone(sheet):
    armature, _ = sheet
    names, before = read(armature)
    old, curves = armature.animation_data.action, curves_of(armature)
    wanted = nudged(before)
    new = bpy.data.actions.new("Take")
    rewrite.write_keys(armature, new, wanted, TIMES + 100, names, choices(armature))
    assert armature.animation_data.action == new
    assert np.abs(read(armature, TIMES + 100)[1] - wanted).max() < 1e-4
    armature.animation_data.action = old
    if hasattr(old, "slots"):
        armature.animation_data.action_slot = old.slots[0]
    assert curves_of(armature) == curves
    assert np.abs(read(armature)[1] - before).max() < 1e-5


def test_the_artists_scene_stays_where_it_is(sheet):
    armature, _ = sheet
    names, before = read(armature)
    bpy.context.scene.frame_set(3, subframe=0.25)
    armature.data.pose_position = "REST"
    write(armature, before, names)
    scene = bpy.context.scene
    assert (scene.frame_current, scene.frame_subframe, len(bpy.data.scenes)) == (3, 0.25, 1)
    assert armature.data.pose_position == "REST"


# ---- weights


def influences(rng, rows, bones):
    numbers = np.array([rng.permutation(bones)[:3] for _ in range(rows)], np.int32)
    amounts = rng.random((rows, 3)).astype(np.float32)
    return numbers, amounts / amounts.sum(axis=1, keepdims=True)


def test_weights_of_other_vertices_stay(sheet):
    armature, mesh = sheet
    names = standing.bone_names(armature)
    mask = mesh.vertex_groups.new(name="Mask")
    mask.add(list(range(20)), 0.3, "REPLACE")
    mesh.vertex_groups.remove(mesh.vertex_groups[names[2]])
    before = groups_of(mesh)
    rows = np.array([2, 3, 50])
    bones, amounts = influences(np.random.default_rng(1), 3, len(names))
    rewrite.write_weights(mesh, rows, bones, amounts, names)
    after = groups_of(mesh)
    assert [v for v in range(81) if after[v] != before[v]] == rows.tolist()
    painted = standing.painted(mesh, names)
    for i, row in enumerate(rows):
        assert painted[row, bones[i]] == pytest.approx(amounts[i], abs=1e-6)
        total = np.float32(0)
        for group, weight in after[row]:
            if mesh.vertex_groups[group].name in names:
                total += np.float32(weight)
        assert total == 1
    assert [mask.weight(v) for v in range(20)] == [np.float32(0.3)] * 20


def test_the_same_weights_change_nothing(sheet):
    armature, mesh = sheet
    names = standing.bone_names(armature)
    before = groups_of(mesh)
    rewrite.write_weights(mesh, np.arange(81), *standing.sparse(standing.painted(mesh, names)), names)
    assert groups_of(mesh) == before


def test_a_held_group_keeps_its_weights_and_the_others_share_the_rest(sheet):
    armature, mesh = sheet
    names = standing.bone_names(armature)
    group = mesh.vertex_groups[names[1]]
    group.add(list(range(40)), 0.25, "REPLACE")
    group.add([40], 1.0, "REPLACE")
    before = standing.painted(mesh, names)
    bones, amounts = influences(np.random.default_rng(2), 81, len(names))
    held = np.array([False, True, False, False])
    rewrite.write_weights(mesh, np.arange(81), bones, amounts, names, held)
    after = standing.painted(mesh, names)
    assert (after[:, 1] == before[:, 1]).all()
    assert after.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert (after[40] == [0, 1, 0, 0]).all()


# ---- the rest shape


def test_rest_points_of_other_vertices_stay(sheet):
    armature, mesh = sheet
    armature.matrix_world = Matrix.Translation((3, 0, 0)) @ Matrix.Rotation(1, 4, "X")
    mesh.scale = (2, 1, 1)
    mesh.shape_key_add(name="Basis")
    mesh.shape_key_add(name="Smile").points[7].co.z += 0.5
    bpy.context.view_layer.update()
    skin = standing.read_skin(armature, standing.bone_names(armature))
    before = scenes.positions(mesh.data).copy()
    wanted = skin.rest[[5, 7]] + [0.1, 0.2, 0.3]
    rewrite.write_rest(mesh, armature, np.array([5, 7]), wanted)
    after = standing.read_skin(armature, standing.bone_names(armature)).rest
    assert np.abs(after[[5, 7]] - wanted).max() < 1e-5
    others = np.delete(np.arange(81), [5, 7])
    assert (scenes.positions(mesh.data)[others] == before[others]).all()
    keys = mesh.data.shape_keys.key_blocks
    lift = np.array(keys["Smile"].points[7].co) - keys["Basis"].points[7].co
    assert lift == pytest.approx([0, 0, 0.5], abs=1e-5)
