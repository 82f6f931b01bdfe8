"""What an artist changed on a rig and keeps stays so, refit after refit, until it is given back."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import curves_of, groups_of
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.edit import bone_growth, bone_merge, bone_removal, painting
from ossify.record import changes, memory
from ossify.refit import joint_refit, refit_trial
from ossify.rig import standing
from refits import bits, creature_rig, edit, paint_noise, refitted, sheet_rig


def rows_of(mesh, rows):
    groups = groups_of(mesh)
    return [groups[row] for row in np.flatnonzero(rows)]


def moved_by(mesh, before):
    """[v] how far a vertex at rest is from where it was, percent of the size"""
    return 100 * np.linalg.norm(scenes.positions(mesh.data) - before, axis=1) / scenes.size_of(before)


# ---- refit after refit


def test_painted_weights_stay_painted_until_they_are_given_back():
    result = sheet_rig()
    armature, (mesh,) = result.armature, result.meshes
    rows = paint_noise(mesh, armature)
    painted = rows_of(mesh, rows)
    for _ in range(3):
        found = refitted(armature)
        assert found.written
        assert (found.changes.repainted[mesh.name] == rows).all()
        assert rows_of(mesh, rows) == painted
    armature.ossify.keep_repainted = False
    before = found.after.rms
    given = refitted(armature)
    assert given.after.rms < 0.9 * before
    assert all(now != then for now, then in zip(rows_of(mesh, rows), painted, strict=True))
    assert refitted(armature).changes == changes.Changes()


def test_only_what_is_kept_stays_a_change():
    """What was painted on top of it later is one, too; what the solver painted is none."""
    result = sheet_rig()
    armature, (mesh,) = result.armature, result.meshes
    first = paint_noise(mesh, armature, seed=3)
    refitted(armature)
    assert (changes.find(armature).repainted[mesh.name] == first).all()
    second = paint_noise(mesh, armature, seed=4)
    refitted(armature)
    assert (changes.find(armature).repainted[mesh.name] == (first | second)).all()


def test_sculpted_places_stay_until_they_are_given_back():
    result = sheet_rig()
    armature, (mesh,) = result.armature, result.meshes
    points = scenes.positions(mesh.data)
    rest, points = points.copy(), points.copy()
    points[40] += (0, 0, 0.2)
    mesh.data.attributes["position"].data.foreach_set("vector", points.ravel())
    mesh.data.update()
    for _ in range(2):
        found = refitted(armature)
        assert np.flatnonzero(found.changes.sculpted[mesh.name]).tolist() == [40]
        assert (scenes.positions(mesh.data)[40] == points[40]).all()
    armature.ossify.keep_sculpted = False
    refitted(armature)
    assert moved_by(mesh, rest)[40] < 1
    assert refitted(armature).changes == changes.Changes()


def test_a_sculpted_vertex_that_was_painted_is_given_back_alone():
    result = sheet_rig()
    armature, (mesh,) = result.armature, result.meshes
    rest = scenes.positions(mesh.data).copy()
    rows = paint_noise(mesh, armature)
    painted, points = rows_of(mesh, rows), rest.copy()
    points[rows] += (0, 0, 0.2)
    mesh.data.attributes["position"].data.foreach_set("vector", points.ravel())
    mesh.data.update()
    armature.ossify.keep_sculpted = False
    assert refitted(armature).written
    assert np.allclose(scenes.positions(mesh.data)[rows], rest[rows], atol=1e-6)
    assert rows_of(mesh, rows) == painted


def test_keys_stay_until_they_are_given_back():
    result = sheet_rig()
    armature = result.armature
    bone = armature.pose.bones["Bone.002"]
    bpy.context.scene.frame_set(4)
    bone.location.z += 0.3
    bone.keyframe_insert("location", frame=4)

    def keyed():
        return [
            c.evaluate(4) for c in chain.curves(armature.animation_data.action) if "Bone.002" in c.data_path
        ]

    mine = keyed()
    for _ in range(3):
        found = refitted(armature)
        assert np.flatnonzero(found.changes.rekeyed["Bone.002"]).tolist() == [3]
        assert keyed() == mine
    armature.ossify.keep_rekeyed = False
    refitted(armature)
    assert keyed() != mine
    assert refitted(armature).changes == changes.Changes()


# ---- after a change of bones

SIDE = ("Side.001.L", "Side.002.L")
GROWN = {
    "add": lambda rig: bone_growth.add_at_worst(bpy.context, rig),
    "split": lambda rig: bone_growth.split(bpy.context, rig, SIDE[0]),
    "split itself": lambda rig: bone_growth.split(bpy.context, rig, SIDE[1]),
    "merge": lambda rig: bone_merge.merge(bpy.context, rig, SIDE[0], ["Core.001"]),
}


@pytest.mark.parametrize("way", GROWN)
def test_keys_stay_when_bones_come_and_go(way):
    """With straight lines, where a key changes the frames beside it by nothing."""
    armature, name = creature_rig(key_shape="LINEAR").armature, SIDE[1]
    scenes.select(armature)
    bone = armature.pose.bones[name]
    bpy.context.scene.frame_set(4)
    bone.rotation_quaternion = (0.9, 0.1, 0.3, 0.3)
    bone.keyframe_insert("rotation_quaternion", frame=4)

    def pose():
        bpy.context.scene.frame_set(4)
        bpy.context.view_layer.update()
        return np.array(bone.matrix)

    mine = pose()
    run(GROWN[way](armature))
    bone = armature.pose.bones[name]
    assert np.flatnonzero(changes.find(armature).rekeyed[name]).tolist() == [3]
    assert np.allclose(pose(), mine, atol=1e-5)
    refitted(armature)
    assert np.allclose(pose(), mine, atol=1e-5)


@pytest.mark.parametrize("way", ["add", "split"])
def test_painted_weights_stay_when_a_bone_comes(way):
    result = creature_rig()
    armature, (mesh,) = result.armature, result.meshes
    scenes.select(armature)
    some = np.flatnonzero(standing.painted(mesh, [SIDE[0]])[:, 0] > 0.9)[:10].tolist()
    for group in mesh.vertex_groups:
        group.remove(some)
    for name, weight in ((SIDE[0], 0.6), ("Core.001", 0.4)):
        mesh.vertex_groups[name].add(some, weight, "REPLACE")
    mesh.data.update()
    rows = np.isin(np.arange(len(mesh.data.vertices)), some)
    painted = rows_of(mesh, rows)
    run(GROWN[way](armature))
    assert rows_of(mesh, rows) == painted
    assert (changes.find(armature).repainted[mesh.name] == rows).all()
    refitted(armature)
    assert rows_of(mesh, rows) == painted


@pytest.mark.parametrize("way", ["add", "split"])
def test_vertices_may_follow_more_bones_than_the_rig_was_made_with(way):
    result = creature_rig()
    armature, (mesh,) = result.armature, result.meshes
    scenes.select(armature)
    rows = paint_noise(mesh, armature, share=0.03)
    painted = rows_of(mesh, rows)
    assert min(map(len, painted)) > armature.ossify.settings.influences
    run(GROWN[way](armature))
    assert rows_of(mesh, rows) == painted


def move_second(bones):
    bone = bones[SIDE[1]]
    bone.use_connect = False
    bone.head = bone.head.lerp(bone.tail, 0.3)


def hang_second(bones):
    bones[SIDE[1]].use_connect = False
    bones[SIDE[1]].parent = bones["Root"]


BY_THE_MOTION = GROWN | {
    "remove": lambda rig: bone_removal.remove_useless(bpy.context, rig, 0.02),
    "smooth": lambda rig: painting.smooth(bpy.context, rig, 1.0, 5),
    "prune": lambda rig: painting.prune(bpy.context, rig, 2),
}


@pytest.mark.solver
@pytest.mark.parametrize("change", [move_second, hang_second])
@pytest.mark.parametrize("way", BY_THE_MOTION)
def test_bones_whose_keys_mean_another_motion_are_refitted_first(way, change):
    result = creature_rig()
    armature = result.armature
    scenes.select(armature)
    edit(armature, change)
    before = bits(armature, result.meshes)
    with pytest.raises(Refusal, match=f"{SIDE[1]}: moved or hung elsewhere.*Refit"):
        run(BY_THE_MOTION[way](armature))
    assert bits(armature, result.meshes) == before
    refitted(armature)
    run(BY_THE_MOTION["smooth" if way in ("smooth", "prune") else "merge"](armature))


@pytest.mark.parametrize("way", ["smooth", "prune"])
def test_what_an_edit_of_weights_changed_is_the_artists_until_it_is_given_back(way):
    result = sheet_rig(influences=4)
    armature, (mesh,) = result.armature, result.meshes
    done = run(BY_THE_MOTION[way](armature))
    rows = changes.find(armature).repainted[mesh.name]
    assert rows.sum() == done.changed > 0
    painted = rows_of(mesh, rows)
    for _ in range(2):
        refitted(armature)
        assert rows_of(mesh, rows) == painted
    armature.ossify.keep_repainted = False
    assert refitted(armature).written
    assert rows_of(mesh, rows) != painted
    assert not changes.find(armature).repainted


def test_a_refit_that_writes_nothing_notes_nothing(monkeypatch):
    result = sheet_rig()
    armature, (mesh,) = result.armature, result.meshes
    rows = paint_noise(mesh, armature)
    bpy.ops.object.select_all(action="DESELECT")
    scenes.select(armature)
    bpy.ops.ossify.look_for_changes()
    listed = [(item.name, item.words) for item in armature.ossify.changes]
    before = bits(armature, [mesh])
    monkeypatch.setattr(refit_trial, "_RISEN", -1.0)  # nothing is good enough
    assert not refitted(armature).written
    assert bits(armature, [mesh]) == before
    assert (changes.find(armature).repainted[mesh.name] == rows).all()
    assert armature.ossify.looked
    assert [(item.name, item.words) for item in armature.ossify.changes] == listed


def test_the_list_shows_what_is_still_kept():
    result = sheet_rig()
    armature, (mesh,) = result.armature, result.meshes
    rows = paint_noise(mesh, armature)
    scenes.select(armature)
    edit(armature, lambda bones: bones.remove(bones["Bone.005"]))
    bpy.ops.ossify.look_for_changes()
    assert [item.name for item in armature.ossify.changes] == ["DELETED", "REPAINTED"]
    assert refitted(armature).written
    assert [(item.name, item.words) for item in armature.ossify.changes] == [
        ("REPAINTED", f"{rows.sum()} vertices repainted")
    ]


def placed_rig():
    """An articulated rig with a joint that the artist moved, refitted"""
    armature = creature_rig(skeleton="ARTICULATED").armature
    edit(armature, lambda bones: setattr(bones["Side.002.L"], "head", bones["Side.002.L"].head * 1.02))
    refitted(armature)
    scenes.select(armature)
    return armature


@pytest.mark.parametrize("released", [False, True])
def test_a_joint_stays_where_it_was_put_until_it_is_let_go(released):
    armature = placed_rig()
    assert changes.find(armature).moved == []
    head = tuple(armature.data.bones["Side.002.L"].head_local)
    if released:
        bpy.ops.ossify.release_all()
    edit(armature, lambda bones: bones.remove(bones["Side.001.L"]))
    assert joint_refit.free(armature, changes.find(armature)) == set()
    loose = joint_refit.free(armature, changes.find(armature), gone=True)
    assert ("Side.002.L" in loose) == released
    refitted(armature, move_idle="AUTOMATIC")
    assert (tuple(armature.data.bones["Side.002.L"].head_local) == head) == (not released)


# ---- the shape at rest


def test_a_refit_leaves_the_rest_of_painted_vertices_alone():
    """Their place would go far to make up for weights that nobody may change."""
    result = creature_rig()
    armature, (mesh,) = result.armature, result.meshes
    rest = scenes.positions(mesh.data).copy()
    arm = np.flatnonzero(standing.painted(mesh, ["Side.001.L"])[:, 0] > 0.5)
    for group in mesh.vertex_groups:
        group.remove(arm[::4].tolist())
    mesh.vertex_groups["Side.002.L"].add(arm[::4].tolist(), 1.0, "REPLACE")
    mesh.data.update()
    for _ in range(2):
        assert refitted(armature).written
        assert (scenes.positions(mesh.data) == rest).all()
    done = run(painting.mirror(bpy.context, armature, "LEFT_TO_RIGHT", "X", 2.0))
    assert done.changed


def rekey_all(armature, _mesh):
    for curve in chain.curves(armature.animation_data.action):
        if "Side.001.L" in curve.data_path and "rotation" in curve.data_path:
            for key in curve.keyframe_points:
                key.co[1] = float(curve.array_index == 0)
            curve.update()


def constrain(armature, _mesh):
    armature.pose.bones["Side.001.L"].constraints.new("LIMIT_ROTATION").use_limit_x = True
    armature.pose.bones["Side.001.L"].constraints[0].owner_space = "LOCAL"


def lock_painted(armature, mesh):
    armature.ossify.keep_repainted = False
    group = mesh.vertex_groups["Side.001.L"]
    some = np.random.default_rng(1).permutation(len(mesh.data.vertices))[:50].tolist()
    group.add(some, 0.3, "REPLACE")
    group.lock_weight = True
    mesh.data.update()


@pytest.mark.parametrize("change", [rekey_all, constrain, lock_painted])
def test_a_refit_keeps_the_shape_of_what_is_not_free(change):
    result = creature_rig()
    armature, (mesh,) = result.armature, result.meshes
    change(armature, mesh)
    rest = scenes.positions(mesh.data).copy()
    found = refitted(armature)
    assert found.after.rms <= found.before.rms * (1 + 1e-4)
    assert (scenes.positions(mesh.data) == rest).all()


# ---- useless bones


def found_useless(armature, tolerance=100.0):
    return run(bone_removal.find_useless(bpy.context, armature, tolerance)).names


def hold_vertices(_armature, mesh, name):
    rows = standing.painted(mesh, [name])[:, 0] > 0.5
    changes.hold_vertices(mesh.data, np.flatnonzero(rows)[:1], True)


def paint_one(armature, mesh, name):
    row = int(standing.painted(mesh, [name])[:, 0].argmax())
    for other in mesh.vertex_groups:
        other.remove([row])
    mesh.vertex_groups[name].add([row], 1.0, "REPLACE")
    mesh.vertex_groups[next(n for n in standing.bone_names(armature) if n != name)].add([row], 0.5, "REPLACE")
    mesh.data.update()


def rekey_one(armature, _mesh, name):
    bpy.context.scene.frame_set(4)
    bone = armature.pose.bones[name]
    bone.rotation_quaternion = (0.9, 0.1, 0.3, 0.3)
    bone.keyframe_insert("rotation_quaternion", frame=4)


def move_one(armature, _mesh, name):
    edit(armature, lambda bones: setattr(bones[name], "roll", bones[name].roll + 0.3))


def lock_pose(armature, _mesh, name):
    armature.pose.bones[name].lock_rotation = (True, True, True)


HOLDS = (hold_vertices, paint_one, rekey_one, lock_pose)


@pytest.mark.parametrize("hold", HOLDS)
def test_a_bone_with_something_that_is_held_is_not_removed(hold):
    result = creature_rig(bones=14, keys="EVERY")
    armature, (mesh,) = result.armature, result.meshes
    name = found_useless(armature)[0]
    hold(armature, mesh, name)
    left = found_useless(armature)
    assert left
    assert name not in left


def test_a_bone_that_was_moved_and_refitted_is_not_removed():
    result = creature_rig(bones=14)
    armature, (mesh,) = result.armature, result.meshes
    name = found_useless(armature)[0]
    move_one(armature, mesh, name)
    with pytest.raises(Refusal, match=f"{name}: moved or hung elsewhere.*Refit"):
        found_useless(armature)
    refitted(armature)
    assert name not in found_useless(armature)
    changes.hold_bone(armature.data.bones[name], False)
    assert name in found_useless(armature)


def test_held_frames_hold_all_bones():
    result = creature_rig(bones=14)
    armature, (mesh,) = result.armature, result.meshes
    armature.ossify.frames[3].held = True
    before = bits(armature, [mesh])
    with pytest.raises(Refusal, match="Frames of Creature Rig are held"):
        run(bone_removal.remove_useless(bpy.context, armature, 100.0))
    assert bits(armature, [mesh]) == before
    assert memory.last(armature) is not None
    assert curves_of(armature) == before[1]
