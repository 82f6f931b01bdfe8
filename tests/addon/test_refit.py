"""An artist changes a rig and refits it: what is held stays, equal to the bit, and the rest fits again."""

import itertools

import bpy
import chain
import numpy as np
import pytest
import scenes
from ossify import changes, command, convert, memory, native, options, refit, standing
from test_rewrite import curves_of, groups_of

COUNT = len(scenes.creature_bones())


def sheet_rig(**chosen):
    obj = scenes.key_shapes(scenes.grid())
    return chain.converted(obj, **{"bones": 5, **chosen})


def creature_rig(**chosen):
    body, _ = scenes.creature(frames=12)
    picked = {"bones": COUNT, "quality": "NORMAL", "skeleton": "HIERARCHY", "keys": "REDUCED", **chosen}
    return chain.converted(body, **picked)


@pytest.fixture
def sheet():
    result = sheet_rig()
    scenes.select(result.armature)
    return result


@pytest.fixture
def creature():
    result = creature_rig()
    scenes.select(result.armature)
    return result


def steps_of(armature, bones=(), vertices=None, **chosen):
    context = bpy.context
    picked = options.RefitOptions(**chosen)
    return refit.refit(context.scene, context.view_layer, armature, picked, bones, vertices)


def refitted(armature, bones=(), vertices=None, **chosen):
    return convert.run(steps_of(armature, bones, vertices, **chosen))


def error(armature, mesh, source_frames):
    """The root mean square distance to the source, as Blender shows it."""
    times = [item.frame for item in armature.ossify.frames]
    gap = scenes.seen_frames(mesh, times) - source_frames
    return float(np.sqrt((gap**2).sum(axis=-1).mean()))


def source_frames(armature):
    """[f][v][3] in world space, as they were kept"""
    matrix = np.array(armature.matrix_world)
    return memory.recall(armature).frames.astype(float) @ matrix[:3, :3].T + matrix[:3, 3]


def bits(armature, meshes):
    """All of a rig that a refit may write."""
    bones = {
        bone.name: (bone.parent.name if bone.parent else None, *np.ravel(bone.matrix_local).tolist())
        for bone in armature.data.bones
    }
    skins = [
        (
            mesh.name,
            [g.name for g in mesh.vertex_groups],
            groups_of(mesh),
            scenes.positions(mesh.data).tolist(),
        )
        for mesh in meshes
    ]
    return bones, curves_of(armature), skins


def edit(armature, change):
    """change(edit_bones) in Edit Mode"""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    change(armature.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def delete_bone(armature, name):
    edit(armature, lambda bones: bones.remove(bones[name]))


def paint_noise(mesh, armature, share=0.05, seed=3):
    """Random weights on some vertices; [v] which."""
    rng = np.random.default_rng(seed)
    names = standing.bone_names(armature)
    count = len(mesh.data.vertices)
    rows = rng.permutation(count)[: max(int(share * count), 1)]
    for row in rows.tolist():
        for name, amount in zip(names, rng.dirichlet(np.ones(len(names))), strict=True):
            group = mesh.vertex_groups.get(name) or mesh.vertex_groups.new(name=name)
            group.add([row], float(amount), "REPLACE")
    mesh.data.update()
    return np.isin(np.arange(count), rows)


# ---- nothing changed, everything held


KINDS = {
    "flat": {},
    "reduced": {"keys": "REDUCED"},
    "flexible": {"bone_kind": "FLEXIBLE"},
    "synthesised": {"rest": "SYNTHESISED"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_never_rises_when_nothing_was_changed(kind):
    result = sheet_rig(**KINDS[kind])
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    for _ in range(2):
        found = refitted(armature)
        assert found.changes == changes.Changes()
        after = error(armature, mesh, goal)
        assert after <= before * (1 + 1e-4)
        assert found.after.rms == pytest.approx(after, rel=1e-3)
        before = after


@pytest.mark.parametrize("kind", ["HIERARCHY", "ARTICULATED"])
@pytest.mark.parametrize("solve", ["BOTH", "TRANSFORMS", "WEIGHTS"])
def test_the_error_of_a_skeleton_never_rises(kind, solve):
    result = creature_rig(skeleton=kind)
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    before = error(armature, mesh, goal)
    refitted(armature, solve=solve)
    assert error(armature, mesh, goal) <= before * (1 + 1e-4)


@pytest.mark.parametrize("way", ["told", "locked"])
def test_everything_held_changes_not_a_bit(sheet, way):
    armature, meshes = sheet.armature, sheet.meshes
    if way == "told":
        for bone in armature.data.bones:
            changes.hold_bone(bone, True)
        for mesh in meshes:
            changes.hold_vertices(mesh.data, np.ones(len(mesh.data.vertices), bool), True)
    else:
        for bone in armature.pose.bones:
            bone.lock_location = bone.lock_rotation = (True, True, True)
        for group in meshes[0].vertex_groups:
            group.lock_weight = True
    before = bits(armature, meshes)
    refitted(armature, rest=way == "told")
    assert bits(armature, meshes) == before


def test_weights_alone_leave_keys_and_motion_alone_leaves_weights(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    bones, keys, skins = bits(armature, [mesh])
    refitted(armature, solve="WEIGHTS")
    assert bits(armature, [mesh])[:2] == (bones, keys)
    _, _, skins = bits(armature, [mesh])
    refitted(armature, solve="TRANSFORMS", rest=False)
    assert bits(armature, [mesh])[2] == skins


# ---- edits


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


def test_a_deleted_bone_in_the_middle_of_a_chain(creature):
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


def named_curves(armature, bone):
    curves = chain.curves(armature.animation_data.action)
    return [((c.data_path, c.array_index), c) for c in curves if f'"{bone}"' in c.data_path]


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


def test_several_meshes_one_of_which_goes_and_one_of_which_comes():
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


# ---- parts


def test_only_selected_bones_and_frames(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    paint_noise(mesh, armature, share=0.3)
    armature.ossify.keep_repainted = False
    before, skins = curves_of(armature), standing.painted(mesh, standing.bone_names(armature))
    refitted(armature, ["Side.002.L"], only="BONES")
    after = curves_of(armature)
    changed = {path.split('"')[1] for path, index in after if after[path, index] != before.get((path, index))}
    assert changed <= {"Side.002.L"}
    names = standing.bone_names(armature)
    others = [b for b, name in enumerate(names) if name != "Side.002.L"]
    assert (standing.painted(mesh, names)[:, others] == skins[:, others]).all()


def test_a_range_of_frames(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    paint_noise(mesh, armature, share=0.3)
    outside = [1, 2, 3, 7, 8]
    names = standing.bone_names(armature)
    values = {
        (name, key): [c.evaluate(f) for f in outside]
        for name in names
        for key, c in named_curves(armature, name)
    }
    found = refitted(armature, solve="TRANSFORMS", frames="CUSTOM", frame_start=4, frame_end=6)
    assert found.written
    moved = 0
    for name in names:
        for key, curve in named_curves(armature, name):
            assert [curve.evaluate(f) for f in outside] == values[name, key]
            moved += 1
    assert moved
    rows = np.argsort(found.after.frame_error - found.before.frame_error)[:3]
    assert set(rows) == {3, 4, 5}


def test_only_selected_vertices(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    rows = paint_noise(mesh, armature, share=0.3)
    armature.ossify.keep_repainted = False
    before = bits(armature, [mesh])
    some = rows & (np.arange(81) < 40)
    refitted(armature, vertices={mesh.name: some}, only="VERTICES")
    now = groups_of(mesh)
    changed = np.array([now[v] != before[2][0][2][v] for v in range(81)])
    assert changed.any()
    assert not (changed & ~some).any()
    assert curves_of(armature) == before[1]


# ---- cancel, errors, undo


def whole_picture(armature, meshes):
    return scenes.picture(), bits(armature, meshes)


def assert_untouched(before, armature, meshes):
    after = whole_picture(armature, meshes)
    assert scenes.difference(before[0], after[0]) == ""
    assert after[1] == before[1]


def test_cancelling_at_every_step_leaves_the_file_as_it_was(sheet):
    armature, meshes = sheet.armature, sheet.meshes
    delete_bone(armature, "Bone.002")
    bpy.context.scene.frame_set(3)
    before = whole_picture(armature, meshes)
    for count in itertools.count():
        steps = steps_of(armature)
        if len(list(itertools.islice(unhurried(steps), count))) < count:
            break
        steps.close()
        assert_untouched(before, armature, meshes)
    assert count > 2 * len(armature.ossify.frames)


@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building", "Measuring"])
def test_cancelling_in_each_stage_leaves_the_file_as_it_was(creature, stage):
    delete_bone(creature.armature, "Side.002.R")
    before = whole_picture(creature.armature, creature.meshes)
    steps = steps_of(creature.armature)
    while next(steps).stage != stage:
        pass
    steps.close()
    assert_untouched(before, creature.armature, creature.meshes)


def unhurried(steps):
    """The steps, with one alone for the whole wait for the solver."""
    waited = False
    for step in steps:
        if step.wait and waited:
            continue
        waited = step.wait
        yield step


@pytest.mark.parametrize("name", ["_solve", "_to_write", "_write"])
def test_an_error_leaves_the_file_as_it_was(sheet, monkeypatch, name):
    before = whole_picture(sheet.armature, sheet.meshes)

    def fail(*_arguments):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(refit, name, fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        refitted(sheet.armature)
    assert_untouched(before, sheet.armature, sheet.meshes)


def test_a_rig_that_is_changed_while_it_runs_is_left_alone(sheet):
    steps = steps_of(sheet.armature)
    while next(steps).stage != "Measuring":
        pass
    sheet.meshes[0].vertex_groups[0].add([0], 0.123, "REPLACE")
    before = bits(sheet.armature, sheet.meshes)
    with pytest.raises(options.Refusal, match="was changed while Ossify was working"):
        convert.run(steps)
    assert bits(sheet.armature, sheet.meshes) == before
    assert len(bpy.data.scenes) == 1


def test_a_mode_that_is_entered_while_it_runs_is_refused(sheet):
    steps = steps_of(sheet.armature)
    while next(steps).stage != "Measuring":
        pass
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(options.Refusal, match="is in Edit Mode"):
        convert.run(steps)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert len(bpy.data.scenes) == 1


def test_undo_takes_a_refit_back_and_redo_does_it_again(sheet):
    name, mesh = sheet.armature.name, sheet.meshes[0].name

    def now():
        return bits(bpy.data.objects[name], [bpy.data.objects[mesh]])

    delete_bone(sheet.armature, "Bone.002")
    bpy.ops.ed.undo_push(message="before")
    before = now()
    assert bpy.ops.ossify.refit() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    after = now()
    assert after != before
    bpy.ops.ed.undo()
    assert now() == before
    assert changes.find(bpy.data.objects[name]).deleted == ["Bone.002"]
    bpy.ops.ed.redo()
    assert now() == after
    assert changes.find(bpy.data.objects[name]) == changes.Changes()


# ---- the motion it remembers


def without_source(result):
    for item in result.armature.ossify.sources:
        bpy.data.objects.remove(item.object)


def test_saved_reopened_and_refitted_without_the_source(tmp_path):
    result = sheet_rig()
    without_source(result)
    name, mesh = result.armature.name, result.meshes[0].name
    frames = memory.recall(result.armature).frames
    path = str(tmp_path / "rig.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    armature = bpy.data.objects[name]
    assert (memory.recall(armature).frames == frames).all()
    assert changes.find(armature) == changes.Changes()
    delete_bone(armature, "Bone.002")
    found = refitted(armature)
    assert found.written
    assert error(armature, bpy.data.objects[mesh], source_frames(armature)) == pytest.approx(
        found.after.rms, rel=1e-3
    )


def test_the_source_is_read_again_when_the_motion_was_not_kept():
    result = sheet_rig(keep_motion="NONE")
    armature, source = result.armature, result.armature.ossify.sources[0].object
    assert memory.recall(armature) is None
    assert source.hide_viewport
    before = scenes.picture()[1]["visible"]
    delete_bone(armature, "Bone.002")
    found = refitted(armature)
    assert found.written
    assert found.after.rms < 0.5 * found.before.rms
    assert source.hide_viewport
    assert scenes.picture()[1]["visible"] == before


def test_a_changed_source_is_fitted_when_asked(sheet):
    armature = sheet.armature
    source = armature.ossify.sources[0].object
    for key in source.data.shape_keys.key_blocks[1:]:
        for point in key.points:
            point.co.z *= 1.5
    kept = refitted(armature)
    assert refitted(armature).before.rms == pytest.approx(kept.after.rms, rel=1e-2)
    found = refitted(armature, motion="SOURCE")
    assert found.before.rms > 5 * kept.after.rms
    assert found.after.rms < 0.5 * found.before.rms
    assert refitted(armature).before.rms == pytest.approx(
        found.after.rms, rel=1e-3
    )  # that is kept from now on


def test_another_source_with_the_same_mesh_may_be_chosen():
    result = sheet_rig(keep_motion="NONE")
    armature = result.armature
    without_source(result)
    with pytest.raises(options.Refusal, match="choose another one with the same mesh"):
        refitted(armature)
    armature.ossify.sources[0].object = scenes.key_shapes(scenes.tube())
    with pytest.raises(options.Refusal, match="72 vertices, and the rig was made for 81"):
        refitted(armature)
    armature.ossify.sources[0].object = scenes.key_shapes(scenes.grid("Again"))
    assert refitted(armature).written


def test_motion_in_a_file_beside_the_blend(tmp_path):
    with pytest.raises(options.Refusal, match="not saved yet"):
        sheet_rig(keep_motion="FILE")
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.context.scene.frame_end = 8
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    result = sheet_rig(keep_motion="FILE")
    without_source(result)
    (file,) = tmp_path.glob("*.npz")
    assert result.armature.ossify.motion_file == f"//{file.name}"
    assert not memory.is_packed(result.armature)
    assert refitted(result.armature).written
    file.write_bytes(b"nothing")
    with pytest.raises(options.Refusal, match="does not hold the motion"):
        refitted(result.armature)
    file.unlink()
    with pytest.raises(options.Refusal, match="choose another one"):
        refitted(result.armature)


def test_large_motion_is_not_kept_unasked(monkeypatch):
    monkeypatch.setattr(memory, "PACKED_MOST", 1000)
    assert not memory.is_kept(sheet_rig().armature)
    assert memory.is_kept(sheet_rig(keep_motion="PACKED", hide_source=False).armature)


def test_a_duplicated_rig_has_a_memory_of_its_own(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    scenes.select(armature, mesh)
    bpy.ops.object.duplicate()
    twin = bpy.context.view_layer.objects.active
    assert twin.ossify.meshes[0].object in twin.children
    paint_noise(mesh, armature)
    refitted(twin)
    assert twin.ossify.memory != armature.ossify.memory
    assert mesh.name in changes.find(armature).repainted


# ---- refusals, operators, command


def told(operator, **arguments):
    """What a poll or an operator refuses with."""
    with pytest.raises(RuntimeError) as caught:
        operator(**arguments)
    return str(caught.value)


def test_refusals(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    scenes.select(armature.ossify.sources[0].object)
    assert "not a rig made by Ossify" in told(bpy.ops.ossify.refit)
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    assert "is in Edit Mode" in told(bpy.ops.ossify.refit)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "No bones of" in told(bpy.ops.ossify.refit, only="BONES")
    mesh.data.vertices.add(1)
    assert "has other vertices or faces" in told(bpy.ops.ossify.refit)
    bpy.data.objects.remove(mesh)
    assert "moves none of the meshes" in told(bpy.ops.ossify.refit)
    armature.ossify.memory = None
    assert "remembers nothing" in told(bpy.ops.ossify.refit)


@pytest.mark.usefixtures("sheet")
def test_linked_rigs_are_refused(tmp_path):
    path = str(tmp_path / "rig.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(path, link=True) as (_, here):
        here.objects = [sheet_name := "Sheet Rig"]
    armature = bpy.data.objects[sheet_name]
    bpy.context.scene.collection.objects.link(armature)
    with pytest.raises(options.Refusal, match="linked from another file"):
        refitted(armature)


@pytest.mark.usefixtures("sheet")
def test_without_the_library(monkeypatch):
    def missing():
        raise native.LibraryError("libossify is not here.")

    monkeypatch.setattr(native, "library", missing)
    assert "libossify is not here" in told(bpy.ops.ossify.refit)


def test_changes_are_listed(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    assert bpy.ops.ossify.look_for_changes() == {"FINISHED"}
    assert not armature.ossify.changes
    delete_bone(armature, "Side.002.R")
    paint_noise(mesh, armature)
    bpy.ops.ossify.look_for_changes()
    assert [item.name for item in armature.ossify.changes] == ["DELETED", "REPAINTED"]
    assert armature.ossify.changes[0].words == "Side.002.R deleted"


@pytest.mark.parametrize("kind", ["MOVED", "REPARENTED"])
def test_moved_bones_can_be_put_back(creature, kind):
    armature, (mesh,) = creature.armature, creature.meshes
    goal = source_frames(armature)
    before, rest = error(armature, mesh, goal), np.array(armature.data.bones["Side.002.L"].matrix_local)
    parent = armature.data.bones["Side.002.L"].parent.name

    def change(bones):
        bone = bones["Side.002.L"]
        bone.use_connect = False
        if kind == "MOVED":
            bone.head, bone.roll = bone.head + 0.3 * bone.vector, bone.roll + 0.5
        else:
            bone.parent = bones["Core.001"]

    edit(armature, change)
    bpy.ops.ossify.look_for_changes()
    assert [item.name for item in armature.ossify.changes] == [kind]
    assert bpy.ops.ossify.put_back(kind=kind) == {"FINISHED"}
    assert not armature.ossify.changes
    assert armature.data.bones["Side.002.L"].parent.name == parent
    assert np.abs(np.array(armature.data.bones["Side.002.L"].matrix_local) - rest).max() < 1e-5
    assert error(armature, mesh, goal) == pytest.approx(before, rel=1e-2, abs=1e-5)
    assert "was moved" in told(bpy.ops.ossify.put_back, kind="MOVED")


def select_bone(armature, name):
    for bone in armature.pose.bones:
        owner = bone if hasattr(bone, "select") else bone.bone
        owner.select = bone.name == name


def test_selected_things_are_held_and_let_go(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    bpy.ops.object.mode_set(mode="POSE")
    select_bone(armature, "Bone.003")
    assert bpy.ops.ossify.hold(what="BONES") == {"FINISHED"}
    bpy.context.scene.frame_set(4)
    bpy.ops.ossify.hold(what="FRAMES")
    bpy.ops.ossify.hold(what="FRAMES", frame_start=6, frame_end=7)
    assert [item.frame for item in armature.ossify.frames if item.held] == [4, 6, 7]
    bpy.ops.object.mode_set(mode="OBJECT")
    scenes.select(mesh)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.ossify.hold(what="VERTICES")
    bpy.ops.object.mode_set(mode="OBJECT")
    assert changes.held_vertices(mesh.data).all()
    names = standing.bone_names(armature)
    before = {name: curves_of(armature, name) for name in names}
    weights = groups_of(mesh)
    assert bpy.ops.ossify.refit() == {"FINISHED"}
    assert curves_of(armature, "Bone.003") == before["Bone.003"]
    assert groups_of(mesh) == weights
    bpy.ops.ossify.release_all()
    assert not any(item.held for item in armature.ossify.frames)
    assert not changes.held_vertices(mesh.data).any()


def test_the_report_tells_before_and_after(sheet):
    armature, (mesh,) = sheet.armature, sheet.meshes
    delete_bone(armature, "Bone.002")
    found = refitted(armature)
    record = armature.ossify
    assert record.rms_before == pytest.approx(found.before.percent(found.before.rms), rel=1e-4)
    assert record.rms == pytest.approx(found.after.percent(found.after.rms), rel=1e-4)
    assert {line.name for line in found.bones} == set(standing.bone_names(armature))
    assert [item.name for item in record.fits if item.kind == "MESH"] == [mesh.name]
    change = np.empty(81, np.float32)
    mesh.data.attributes["ossify_change"].data.foreach_get("value", change)
    percent = 100 / found.after.size
    assert change == pytest.approx(percent * (found.after.vertex_error - found.before.vertex_error), abs=1e-4)
    record.show_change = True
    assert "Ossify Error" in mesh.data.color_attributes
    record.show_change = False
    assert "Ossify Error" not in mesh.data.color_attributes


def test_the_command_refits_a_file(sheet, tmp_path, capfd):
    delete_bone(sheet.armature, "Bone.002")
    source, output = tmp_path / "rig.blend", tmp_path / "again.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    assert command.main(["refit", str(source), "--output", str(output), "--quiet"]) == 0
    assert "Sheet Rig: error" in capfd.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=str(output))
    armature = bpy.data.objects["Sheet Rig"]
    assert armature.ossify.refitted
    assert changes.find(armature) == changes.Changes()
    assert command.main(["refit", str(source), "--output", str(output), "--object", "Other"]) == 1
    assert command.main(["refit", "rig.obj", "--output", str(output)]) == 2
