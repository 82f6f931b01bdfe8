"""Bones merged, split, added and removed on a rig that stands: what is touched fits, and the rest is left."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from bone_edits import deforming, linked_pair
from contents import weights_by_name
from kept import kept
from mathutils import Vector
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.edit import bone_growth, bone_merge, bone_removal
from ossify.record import changes
from ossify.rig import actions, roles
from ossify.ui import operators_bones

FRAMES = 16
TIMES = list(range(1, FRAMES + 1))
FINE = {"fineness": 2}  # there eight bones divide the body as a test wants it that names some
ROLL = 5e-5  # Edit Mode rounds rolls by 1.5e-5 where bones get another parent, whoever gives it to them


@kept
def body_and_rig(fineness=1, **chosen):
    body, _ = scenes.creature(frames=FRAMES, fineness=fineness)
    picked = {"bones": 8, "quality": "NORMAL", "skeleton": "HIERARCHY", "hide_source": False, **chosen}
    result = chain.converted(body, **picked)
    return body, result.armature, result.meshes[0]


@pytest.fixture
def creature(request):
    """A body with joints, its rig with fewer bones than it has, and the rig's mesh"""
    return body_and_rig(**getattr(request, "param", {}))


def error(source, mesh):
    """Root mean square over vertices and frames of what Blender shows, percent of the size"""
    apart = scenes.seen_frames(mesh, TIMES) - scenes.seen_frames(source, TIMES)
    return 100 * np.sqrt((apart**2).sum(axis=2).mean()) / mesh.parent.ossify.size


def check_rig(armature, mesh, most=4):
    """What every rig must be"""
    names = set(deforming(armature))
    for row in weights_by_name(mesh):
        assert abs(sum(row.values()) - 1) < 1e-6
        assert len(row) <= most
        assert row.keys() <= names
    for bone in armature.data.bones:
        assert bone.length > 0


def motion_of(armature, names):
    """[f][b][4][4] poses of bones as Blender shows them"""
    found = []
    for time in TIMES:
        bpy.context.scene.frame_set(time)
        found.append([np.array(armature.pose.bones[name].matrix) for name in names])
    return np.array(found)


# ---- merge


@pytest.mark.parametrize("upward", [False, True])
@pytest.mark.parametrize("creature", [{}, {"skeleton": "NONE"}], indirect=True)
def test_merged_bones_are_one(creature, upward):
    source, armature, mesh = creature
    hierarchy = armature.ossify.settings.skeleton != "NONE"
    first, second = linked_pair(armature) if hierarchy else deforming(armature)[:2]
    kept, gone = (first, second) if upward else (second, first)
    colour = tuple(armature.data.bones[kept].color.custom.normal)
    rest = np.array(armature.data.bones[kept].matrix_local)
    heads = {bone.name: bone.head_local.copy() for bone in armature.data.bones}
    others = [name for name in deforming(armature) if name not in (kept, gone)]
    before, moved, weights = error(source, mesh), motion_of(armature, others), weights_by_name(mesh)
    done = run(bone_merge.merge(bpy.context, armature, kept, [gone]))
    check_rig(armature, mesh)
    assert gone not in armature.data.bones
    assert gone not in mesh.vertex_groups
    assert tuple(armature.data.bones[kept].color.custom.normal) == colour
    now = np.array(armature.data.bones[kept].matrix_local)
    assert np.allclose(now, rest, atol=ROLL)
    assert all((bone.head_local - heads[bone.name]).length < 1e-6 for bone in armature.data.bones)
    size = scenes.size_of(scenes.positions(mesh.data))
    assert np.abs(motion_of(armature, others) - moved).max() < 2e-3 * size  # reduced keys
    for old, new in zip(weights, weights_by_name(mesh), strict=True):
        if kept not in old and gone not in old:
            assert new == old
    assert done.before == pytest.approx(before, abs=2e-3)
    assert done.after == pytest.approx(error(source, mesh), abs=2e-3)


def test_merged_weights_are_sums_when_nothing_is_solved(creature):
    _, armature, mesh = creature
    kept, gone = linked_pair(armature)
    before = weights_by_name(mesh)
    run(bone_merge.merge(bpy.context, armature, kept, [gone], solve=False))
    for old, new in zip(before, weights_by_name(mesh), strict=True):
        assert new.get(kept, 0) == pytest.approx(old.get(kept, 0) + old.get(gone, 0), abs=1e-6)
        assert {n: w for n, w in new.items() if n != kept} == pytest.approx(
            {n: w for n, w in old.items() if n not in (kept, gone)}, abs=1e-6
        )


@pytest.mark.parametrize("way", ["locked", "held"])
def test_a_bone_whose_weights_are_held_takes_no_others(creature, way):
    _, armature, mesh = creature
    kept, gone = linked_pair(armature)
    if way == "locked":
        mesh.vertex_groups[kept].lock_weight = True
    else:
        changes.hold_bone(armature.data.bones[kept], True)
    before = scenes.picture()
    with pytest.raises(Refusal, match=f"The weights of {kept} are held"):
        run(bone_merge.merge(bpy.context, armature, kept, [gone]))
    assert scenes.difference(before, scenes.picture()) == ""


def test_children_of_a_merged_bone_hang_from_the_kept_one(creature):
    _, armature, _ = creature
    kept, gone = linked_pair(armature)
    below = [child.name for child in armature.data.bones[gone].children]
    run(bone_merge.merge(bpy.context, armature, kept, [gone]))
    assert all(armature.data.bones[name].parent.name == kept for name in below)


def test_what_named_a_merged_bone_is_told_and_not_broken(creature):
    _, armature, _ = creature
    kept, gone = linked_pair(armature)
    empty = scenes.link(bpy.data.objects.new("Follower", None))
    follow = empty.constraints.new("COPY_LOCATION")
    follow.target, follow.subtarget = armature, gone
    curve = empty.driver_add("location", 2)
    variable = curve.driver.variables.new()
    variable.targets[0].id = armature
    variable.targets[0].data_path = f'pose.bones["{gone}"].location[0]'
    own = armature.pose.bones[gone].constraints.new("LIMIT_ROTATION")
    own.name = "Mine"
    done = run(bone_merge.merge(bpy.context, armature, kept, [gone]))
    assert follow.subtarget == kept
    assert variable.targets[0].data_path == f'pose.bones["{kept}"].location[0]'
    said = " ".join(done.notes)
    assert "Follower's constraint" in said
    assert "Follower's driver" in said
    assert f"{gone}'s own constraint Mine" in said


def test_other_meshes_of_the_rig_keep_following(creature):
    """A copy that got its weights later hands them on as the rig's own mesh does"""
    _, armature, mesh = creature
    kept, gone = linked_pair(armature)
    copy = mesh.copy()
    copy.data = mesh.data.copy()
    copy.parent = None
    scenes.link(copy)
    before = weights_by_name(copy)
    run(bone_merge.merge(bpy.context, armature, kept, [gone], solve=False))
    assert gone not in copy.vertex_groups
    for old, new in zip(before, weights_by_name(copy), strict=True):
        assert sum(new.values()) == pytest.approx(1, abs=1e-5)
        assert new.get(kept, 0) == pytest.approx(old.get(kept, 0) + old.get(gone, 0), abs=1e-5)


@pytest.mark.parametrize("creature", [FINE, {"skeleton": "NONE"}], indirect=True)
def test_other_clips_go_on_as_they_were(creature):
    _, armature, mesh = creature
    first = armature.animation_data.action
    other = first.copy()
    other.name = "Other"
    clip = armature.ossify.clips.add()
    clip.action, clip.first_frame, clip.last_frame, clip.tracked = other, 1, FRAMES, True
    names = deforming(armature)
    actions.assign(armature, other)
    before, shown = motion_of(armature, names), scenes.seen_frames(mesh, TIMES)
    actions.assign(armature, first)
    (new,) = run(bone_growth.add_at_worst(bpy.context, armature)).bones
    assert armature.animation_data.action == first
    actions.assign(armature, other)
    size = scenes.size_of(scenes.positions(mesh.data))
    assert np.abs(motion_of(armature, names) - before).max() < 1e-4 * size
    moved = np.abs(scenes.seen_frames(mesh, TIMES) - shown).max()
    assert moved < 0.1 * size  # weights are other ones, and the new bone is not left behind
    assert new in armature.pose.bones


def test_merging_one_bone_is_refused(creature):
    _, armature, _ = creature
    name = deforming(armature)[0]
    with pytest.raises(Refusal, match="Select the bones to merge"):
        run(bone_merge.merge(bpy.context, armature, name, [name]))


# ---- add


PLAIN = {"rest_correction": "KEPT", "fairness": 0.0}  # as much is gained as can be


@pytest.mark.solver
@pytest.mark.parametrize(
    "creature", [{}, {"skeleton": "NONE"}, {"skeleton": "ARTICULATED", **PLAIN}], indirect=True
)
def test_a_bone_at_the_worst_place_lowers_the_error(creature):
    source, armature, mesh = creature
    before, names = error(source, mesh), deforming(armature)
    done = run(bone_growth.add_at_worst(bpy.context, armature))
    (new,) = done.bones
    check_rig(armature, mesh)
    assert deforming(armature) != names
    assert new not in names
    bone = armature.data.bones[new]
    assert bone.use_deform
    assert bone.parent is not None
    assert bone.color.palette == "CUSTOM"
    assert [c.name for c in bone.collections]
    after = error(source, mesh)
    assert after < 0.95 * before
    assert done.after == pytest.approx(after, abs=2e-3)
    points = scenes.positions(mesh.data)
    low, high = points.min(axis=0), points.max(axis=0)
    middle = np.array(bone.head_local + bone.tail_local) / 2
    assert (middle > low - 0.1).all()
    assert (middle < high + 0.1).all()
    record = armature.ossify
    assert record.bones == len(names) + 1
    apart = np.linalg.norm(scenes.seen_frames(mesh, TIMES) - scenes.seen_frames(source, TIMES), axis=2)
    percent = 100 / armature.ossify.size
    assert record.rms == pytest.approx(after, rel=1e-3)
    assert record.maximum == pytest.approx(percent * apart.max(), rel=1e-3)
    assert record.percentile_95 == pytest.approx(percent * np.percentile(apart, 95), rel=1e-2)
    assert record.worst_frame == TIMES[np.unravel_index(apart.argmax(), apart.shape)[0]]
    by_frame = percent * np.sqrt((apart**2).mean(axis=1))
    assert [item.error for item in record.frames] == pytest.approx(by_frame.tolist(), rel=1e-2)
    assert changes.find(armature).lines(TIMES) == []  # nothing of it is the artist's


@pytest.mark.parametrize("creature", [FINE], indirect=True)
def test_adding_leaves_locked_groups_alone(creature):
    _, armature, mesh = creature
    locked = mesh.vertex_groups[0].name
    mesh.vertex_groups[0].lock_weight = True
    before = [row.get(locked) for row in weights_by_name(mesh)]
    run(bone_growth.add_at_worst(bpy.context, armature))
    assert [row.get(locked) for row in weights_by_name(mesh)] == before


@pytest.mark.solver
def test_articulated_bones_still_only_turn(creature):
    """Added, split and merged: every joint holds in every frame"""
    source, _, _ = creature
    result = chain.converted(source, bones=8, quality="NORMAL", skeleton="ARTICULATED", hide_source=False)
    armature, (mesh,) = result.armature, result.meshes
    run(bone_growth.add_at_worst(bpy.context, armature))
    kept, gone = linked_pair(armature)
    run(bone_merge.merge(bpy.context, armature, kept, [gone]))
    size = scenes.size_of(scenes.positions(mesh.data))
    for frame in (1, 6, FRAMES):
        bpy.context.scene.frame_set(frame)
        for bone in armature.pose.bones:
            if bone.parent and bone.parent.bone.use_deform:
                joint = bone.parent.matrix @ bone.parent.bone.matrix_local.inverted() @ bone.bone.head_local
                assert (joint - bone.head).length < 1e-5 * size
    check_rig(armature, mesh)


# ---- split


@pytest.mark.parametrize("creature", [{"bones": 6}, {"bones": 6, "skeleton": "NONE"}], indirect=True)
def test_a_split_bone_moves_its_halves(creature):
    source, armature, mesh = creature
    before = error(source, mesh)
    costs = {}
    for name in deforming(armature):  # the bone whose vertices are worst
        rows = [v for v, row in enumerate(weights_by_name(mesh)) if row.get(name, 0) > 0.5]
        apart = scenes.seen_frames(mesh, TIMES)[:, rows] - scenes.seen_frames(source, TIMES)[:, rows]
        costs[name] = (apart**2).sum()
    name = max(costs, key=costs.get)
    old = armature.data.bones[name]
    parent, head = old.parent.name, old.head_local.copy()
    done = run(bone_growth.split(bpy.context, armature, name))
    (new,) = done.bones
    check_rig(armature, mesh)
    assert error(source, mesh) < before
    assert armature.data.bones[name].parent.name == parent
    assert (armature.data.bones[name].head_local - head).length < 1e-6
    assert armature.data.bones[new].parent.name in (name, parent)
    assert new.rstrip("LR.").rstrip("0123456789") == name.rstrip("LR.").rstrip("0123456789")


@pytest.mark.parametrize("creature", [FINE], indirect=True)
def test_vertices_that_are_held_stay_where_they_are_when_their_bone_is_split(creature):
    """Half of them keep their weights, so the bone keeps its motion, and the new one is put beside it."""
    source, armature, mesh = creature
    held = np.arange(len(mesh.data.vertices)) % 2 == 0
    changes.hold_vertices(mesh.data, held, True)
    before, weights, far = error(source, mesh), weights_by_name(mesh), scenes.seen_frames(mesh, TIMES)
    found = run(bone_growth.split(bpy.context, armature, "Side.001.L"))
    assert error(source, mesh) < before
    assert found.after < found.before
    assert [row for row, stays in zip(weights_by_name(mesh), held, strict=True) if stays] == [
        row for row, stays in zip(weights, held, strict=True) if stays
    ]
    moved = np.abs(scenes.seen_frames(mesh, TIMES) - far)[:, held].max()
    assert moved < 0.02 * scenes.size_of(scenes.positions(mesh.data))


@pytest.mark.parametrize("way", ["locked", "held"])
def test_a_bone_whose_weights_are_held_is_not_split(creature, way):
    _, armature, mesh = creature
    if way == "locked":
        mesh.vertex_groups["Side.001.L"].lock_weight = True
    else:
        changes.hold_bone(armature.data.bones["Side.001.L"], True)
    with pytest.raises(Refusal, match=r"The weights of Side\.001\.L are held"):
        run(bone_growth.split(bpy.context, armature, "Side.001.L"))


@pytest.mark.parametrize("creature", [FINE], indirect=True)
def test_vertices_that_lost_their_bone_are_refitted_first(creature):
    """They stand still, far from where they should be, and no bone's error would tell."""
    armature = creature[1]
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.remove(armature.data.edit_bones["Side.002.R"])
    bpy.ops.object.mode_set(mode="OBJECT")
    with pytest.raises(Refusal, match="vertices follow no bone in Creature Rigged: refit"):
        run(bone_growth.add_at_worst(bpy.context, armature))
    assert bpy.ops.ossify.refit() == {"FINISHED"}
    run(bone_growth.add_at_worst(bpy.context, armature))


@pytest.mark.solver
@pytest.mark.parametrize("creature", [{"rest_correction": "FREE"}], indirect=True)
def test_errors_are_told_in_percent_of_the_same_size_as_by_a_refit(creature):
    """With one bone left the solver makes another rest shape, in a smaller box."""
    source, armature, mesh = creature
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in list(armature.data.edit_bones):
        if bone.name not in ("Root", "Core.001"):
            armature.data.edit_bones.remove(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert bpy.ops.ossify.refit() == {"FINISHED"}
    told, size = armature.ossify.rms, armature.ossify.size
    assert abs(scenes.size_of(scenes.positions(mesh.data)) / size - 1) > 0.05
    found = run(bone_growth.add_at_worst(bpy.context, armature))
    assert found.before == pytest.approx(told, rel=1e-3)
    assert found.after == pytest.approx(error(source, mesh), rel=1e-3)


def test_what_moves_alike_is_not_split():
    stick = scenes.tube(rings=4)
    for frame in (1, 8):
        stick.location.x = frame
        stick.keyframe_insert("location", frame=frame)
    result = chain.converted(stick, bones=1, skeleton="HIERARCHY")
    before = scenes.picture()
    with pytest.raises(Refusal, match="nothing to split"):
        run(bone_growth.split(bpy.context, result.armature, "Core.001"))
    assert scenes.difference(before, scenes.picture()) == ""


# ---- remove


@pytest.mark.solver
@pytest.mark.parametrize("creature", [{}, {"skeleton": "ARTICULATED"}], indirect=True)
def test_useless_bones_go_within_the_tolerance(creature):
    source, armature, mesh = creature
    before, names = error(source, mesh), set(deforming(armature))
    assert not run(
        bone_removal.find_useless(bpy.context, armature, 0.1)
    ).names  # all ten are parts of the body
    found = run(bone_removal.find_useless(bpy.context, armature, 3.0))
    assert found.names
    assert set(deforming(armature)) == names  # looking changes nothing
    done = run(bone_removal.remove(found))
    check_rig(armature, mesh)
    assert set(deforming(armature)) == names - set(found.names)
    assert error(source, mesh) <= before + 3.0 + 1e-2
    assert done.after == pytest.approx(error(source, mesh), abs=2e-3)


@pytest.mark.parametrize("creature", [{"bones": 14}], indirect=True)
def test_what_holds_something_of_the_artists_is_not_removed(creature):
    _, armature, mesh = creature
    first = run(bone_removal.find_useless(bpy.context, armature, 100.0)).names
    assert len(first) >= 6
    shaped, constrained, named, locked, above, driven = first[:6]
    armature.pose.bones[shaped].custom_shape = mesh
    armature.pose.bones[constrained].constraints.new("LIMIT_SCALE")
    empty = scenes.link(bpy.data.objects.new("Follower", None))
    empty.parent, empty.parent_type, empty.parent_bone = armature, "BONE", named
    mesh.vertex_groups[locked].lock_weight = True
    armature.driver_add(f'pose.bones["{driven}"].location', 0)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    control = armature.data.edit_bones.new("Control")
    control.head, control.tail = Vector((0, 0, 0)), Vector((0, 0, 1))
    control.parent, control.use_deform = armature.data.edit_bones[above], False
    extra = armature.data.edit_bones.new("Sleeve")
    extra.head, extra.tail = Vector((0, 0, 0)), Vector((0, 1, 0))
    bpy.ops.object.mode_set(mode="OBJECT")
    found = run(bone_removal.find_useless(bpy.context, armature, 100.0)).names
    assert not {shaped, constrained, named, locked, above, driven, "Sleeve", "Control"} & set(found)


class Teller:
    """What an operator tells."""

    looks = True

    def __init__(self):
        self.told = []

    def report(self, kinds, words):
        self.told.append((*kinds, words))


def test_bones_found_while_the_artist_went_elsewhere_are_told_of(creature):
    _, armature, mesh = creature
    found = run(bone_removal.find_useless(bpy.context, armature, 3.0))
    scenes.select(mesh)
    bpy.ops.object.mode_set(mode="EDIT")
    teller = Teller()
    assert operators_bones.OSSIFY_OT_remove_useless.succeed(teller, found) == {"CANCELLED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    ((kind, words),) = teller.told
    assert kind == "ERROR"
    assert words.endswith("look again in Pose Mode or Object Mode, with the rig active.")
    assert operators_bones.OSSIFY_OT_remove_found.found is None


def test_nothing_useless_is_told(creature):
    _, armature, _ = creature
    found = run(bone_removal.find_useless(bpy.context, armature, 0.0))
    with pytest.raises(Refusal, match="No bone is useless"):
        run(bone_removal.remove(found))


# ---- operators


def state(armature, mesh):
    """What an undo must bring back"""
    bones = {
        bone.name: (bone.parent and bone.parent.name, *map(tuple, bone.matrix_local))
        for bone in armature.data.bones
    }
    return bones, weights_by_name(mesh), motion_of(armature, deforming(armature)).round(5).tolist()


OPERATORS = {
    "merge": lambda: bpy.ops.ossify.merge_bones(),
    "split": lambda: bpy.ops.ossify.split_bone(),
    "add": lambda: bpy.ops.ossify.add_bone(),
    "remove": lambda: bpy.ops.ossify.remove_useless(tolerance=5.0),
}


@pytest.mark.parametrize("which", OPERATORS)
def test_each_operator_is_one_undo_step(creature, which):
    _, armature, mesh = creature
    armature_name, mesh_name = armature.name, mesh.name
    scenes.pose(armature, *reversed(linked_pair(armature)))
    bpy.ops.ed.undo_push(message="before")
    before = state(armature, mesh)
    assert OPERATORS[which]() == {"FINISHED"}
    assert bpy.context.mode == "POSE"
    assert bpy.context.view_layer.objects.active.name == armature_name
    bpy.ops.ed.undo_push(message="after")
    assert set(deforming(bpy.data.objects[armature_name])) != before[0].keys() - {"Root"}
    bpy.ops.ed.undo()
    assert state(bpy.data.objects[armature_name], bpy.data.objects[mesh_name]) == before


def test_operators_need_a_rig_and_the_right_mode(creature):
    source, armature, _ = creature
    scenes.select(armature)
    assert bpy.ops.ossify.add_bone.poll()
    assert not bpy.ops.ossify.merge_bones.poll()
    assert not bpy.ops.ossify.split_bone.poll()
    bpy.ops.object.mode_set(mode="EDIT")
    assert not bpy.ops.ossify.add_bone.poll()
    bpy.ops.object.mode_set(mode="OBJECT")
    scenes.select(source)
    assert not bpy.ops.ossify.add_bone.poll()


# ---- flexible bones


@kept
def flexible_rig(bones):
    """A sheet that waves, and its rig with bones that stretch; five of them fit it"""
    body = scenes.key_shapes(scenes.grid(n=15), frames=FRAMES)
    bpy.context.scene.frame_end = FRAMES
    result = chain.converted(body, bones=bones, bone_kind="FLEXIBLE", hide_source=False)
    return body, result.armature, result.meshes[0]


FLEXIBLE = {
    "merge": lambda rig: bone_merge.merge(bpy.context, rig, *_first_two(rig)),
    "split": lambda rig: bone_growth.split(bpy.context, rig, deforming(rig)[0]),
    "add": lambda rig: bone_growth.add_at_worst(bpy.context, rig),
    "remove": lambda rig: bone_removal.remove_useless(bpy.context, rig, 3.0),
}


def _first_two(rig):
    kept, gone = deforming(rig)[:2]
    return kept, [gone]


@pytest.mark.parametrize("which", FLEXIBLE)
def test_flexible_bones_come_and_go_with_their_carriers(which):
    source, armature, mesh = flexible_rig(2 if which in ("add", "split") else 5)
    before, count = error(source, mesh), len(deforming(armature))
    done = run(FLEXIBLE[which](armature))
    check_rig(armature, mesh)
    more = {"merge": -1, "remove": -len(done.bones)}.get(which, 1)
    assert len(deforming(armature)) == count + more
    carriers = roles.carriers_of(armature)
    found = [armature.data.bones[carriers[name]] for name in deforming(armature)]
    assert len(armature.data.bones) == 1 + 2 * (count + more)  # nothing is left over
    assert all(carrier.parent.name == "Root" for carrier in found)
    assert not any(collection.is_visible for carrier in found for collection in carrier.collections)
    after = error(source, mesh)
    assert done.after == pytest.approx(after, abs=2e-3)
    assert after < before if more > 0 else after < before + 3.0
    assert changes.find(armature) == changes.Changes(merged=changes.find(armature).merged)
    keyed = {curve.data_path.split('"')[1] for curve in chain.curves(armature.animation_data.action)}
    assert keyed <= {bone.name for bone in armature.data.bones}


def test_linked_data_is_refused(creature, tmp_path):
    _, armature, mesh = creature
    path = str(tmp_path / "rig.blend")
    names = armature.name, mesh.name
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = list(names)
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    with pytest.raises(Refusal, match=r"is linked from .*\.blend: make it local"):
        run(bone_growth.add_at_worst(bpy.context, wanted.objects[0]))
