"""Update Skeleton is for a rig that can be changed, changes what it says and no more, and is not taken for a
change of the artist's."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from exchange import bones_of
from ossify.base.refusal import Refusal
from ossify.edit import rejoin
from ossify.record import changes, memory
from ossify.rig import actions, standing
from ossify.ui import session
from refits import COUNT, creature_rig, delete_bone, edit, error, paint_noise, refitted, source_frames
from screens import told
from takes import keys_of, take

FRAMES = range(1, 13)


@pytest.fixture
def flat():
    """A creature whose bones hang side by side: an update changes all of them."""
    result = creature_rig(skeleton="NONE")
    scenes.select(result.armature)
    return result


def update():
    return bpy.ops.ossify.update_skeleton()


def joined(armature):
    return sum(bone.parent is not None and bone.parent.name != "Root" for bone in armature.data.bones)


# ---- refusals


def refused():
    """The sentence; the file is compared before and after."""
    before = scenes.picture()
    sentence = told(bpy.ops.ossify.update_skeleton)
    assert scenes.difference(before, scenes.picture()) == ""
    return sentence


@pytest.mark.parametrize("which", ["armature", "mesh"])
def test_edit_mode_is_refused(flat, which):
    obj = flat.armature if which == "armature" else flat.meshes[0]
    scenes.select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    assert f"{obj.name} is in Edit Mode" in refused()
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_linked_action_is_refused(flat, tmp_path):
    path = str(tmp_path / "action.blend")
    bpy.data.libraries.write(path, {flat.armature.animation_data.action})
    with bpy.data.libraries.load(path, link=True) as (there, here):
        here.actions = list(there.actions)
    (linked,) = here.actions
    flat.armature.ossify.clips[0].action = linked
    actions.assign(flat.armature, linked)
    assert "is linked from action.blend" in refused()


def test_tweak_mode_is_refused(flat):
    data = flat.armature.animation_data
    actions.push(flat.armature, data.action, "Walk", 1, muted=False)
    data.action = None
    data.nla_tracks.active = data.nla_tracks[0]
    data.nla_tracks[0].strips[0].select = True
    data.use_tweak_mode = True
    assert data.use_tweak_mode
    assert "Tweak Mode" in refused()


def test_while_the_artists_own_action_plays_it_is_refused(flat):
    own = bpy.data.actions.new("Mine")
    actions.assign(flat.armature, own)
    flat.armature.pose.bones[0].keyframe_insert("location", frame=3)
    assert "Mine, an action of your own" in refused()


@pytest.mark.usefixtures("flat")
def test_it_waits_while_something_else_is_at_work(monkeypatch):
    monkeypatch.setattr(session, "current", session.Session(iter(())))
    assert "Ossify is at work" in refused()


def test_what_goes_wrong_in_edit_mode_leaves_the_file_as_it_was(flat, monkeypatch):
    def no_edit_mode(*_arguments):
        raise Refusal("There is no Edit Mode.")

    monkeypatch.setattr(rejoin, "rearrange", no_edit_mode)
    assert "There is no Edit Mode." in refused()
    assert keys_of(flat.armature, flat.armature.animation_data.action.name)


# ---- what it leaves alone


@pytest.mark.parametrize("way", ["eye", "viewport", "collection", "paint"])
def test_a_rig_that_is_hidden_or_in_the_way_of_a_mode_is_updated(flat, way):
    armature, (mesh,) = flat.armature, flat.meshes
    shown = scenes.seen_frames(mesh, FRAMES)
    scenes.select(mesh)
    if way == "eye":
        armature.hide_set(True)
    elif way == "viewport":
        armature.hide_viewport = True
    elif way == "paint":
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    else:
        away = bpy.data.collections.new("Away")
        bpy.context.scene.collection.children.link(away)
        away.objects.link(armature)
        armature.users_collection[0].objects.unlink(armature)
        bpy.context.view_layer.layer_collection.children["Away"].exclude = True
    visible, mode = armature.visible_get(), mesh.mode
    assert update() == {"FINISHED"}
    assert joined(armature) == COUNT - 1
    assert (armature.visible_get(), armature.mode, mesh.mode) == (visible, "OBJECT", mode)
    assert bpy.context.view_layer.objects.active == mesh
    if way != "collection":  # then Blender plays nothing
        assert np.abs(scenes.seen_frames(mesh, FRAMES) - shown).max() < 1e-2 * scenes.size_of(shown)


def test_the_rest_position_and_the_frame_stay(flat):
    flat.armature.data.pose_position = "REST"
    bpy.context.scene.frame_set(5)
    assert update() == {"FINISHED"}
    assert flat.armature.data.pose_position == "REST"
    assert bpy.context.scene.frame_current == 5
    assert joined(flat.armature) == COUNT - 1


def test_the_pose_that_is_shown_is_up_to_date(flat):
    bpy.context.scene.frame_set(5)
    before = scenes.seen(flat.meshes[0])
    update()
    now = scenes.seen(flat.meshes[0])
    assert np.abs(now - before).max() < 1e-2 * scenes.size_of(before)
    assert np.abs(now - scenes.seen(flat.meshes[0], 5)).max() < 1e-6


def test_clips_in_the_nla_stay_there():
    for name, frame in (("First", 1), ("Later", 5)):
        bpy.context.scene.timeline_markers.new(name, frame=frame)
    result = chain.converted(take("Sheet", 0.0), clips="MARKERS", nla=True, bones=6)
    armature, (mesh,) = result.armature, result.meshes
    scenes.select(armature)
    shown = scenes.seen_frames(mesh, range(1, 9))
    assert update() == {"FINISHED"}
    data = armature.animation_data
    assert data.action is None
    assert [strip.action.name for track in data.nla_tracks for strip in track.strips] == ["First", "Later"]
    assert np.abs(scenes.seen_frames(mesh, range(1, 9)) - shown).max() < 1e-3 * scenes.size_of(shown)


def test_the_artists_own_action_in_the_nla_is_left_alone_and_named(flat):
    own = flat.armature.animation_data.action.copy()
    own.name = "Mine"
    actions.push(flat.armature, own, "Mine", 1, muted=True)
    before = [value for _, value in sorted(keys_of(flat.armature, "Mine").items())]
    found = rejoin.rejoin(bpy.context, flat.armature)
    assert found.notes == [
        "Mine is an action of your own and was not re-keyed: look whether it still plays as it did."
    ]
    after = keys_of(flat.armature, "Mine")
    assert sorted(map(str, after.values())) == sorted(map(str, before))


def test_joints_that_hold_no_more_are_not_told_of():
    result = creature_rig(skeleton="ARTICULATED")
    scenes.select(result.armature)
    assert result.armature.ossify.free_erms > 0
    update()
    assert result.armature.ossify.free_erms == 0


# ---- what else is on the armature


def add_controls(armature, *names):
    def add(bones):
        for name in names:
            bone = bones.new(name)
            bone.head, bone.tail, bone.use_deform = (0, 0, 3), (0, 0, 3.2), False

    edit(armature, add)


def add_between(armature, mesh, name, share=0.5):
    """A bone of the artist's that has a share of the weights of another, and its motion"""

    def add(bones):
        bone, other = bones.new("Mine"), bones[name]
        bone.head, bone.tail, bone.roll, bone.parent = other.head, other.tail, other.roll, other.parent

    edit(armature, add)
    weights = standing.painted(mesh, [name])[:, 0]
    groups = mesh.vertex_groups.new(name="Mine"), mesh.vertex_groups[name]
    for vertex in np.flatnonzero(weights).tolist():
        for group, part in zip(groups, (share, 1 - share), strict=True):
            group.add([vertex], float(weights[vertex]) * part, "REPLACE")
    mine, other = armature.pose.bones["Mine"], armature.pose.bones[name]
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        mine.rotation_mode, mine.matrix_basis = "QUATERNION", other.matrix_basis
        for channel in ("location", "rotation_quaternion", "scale"):
            mine.keyframe_insert(channel, frame=frame)


@pytest.mark.parametrize("controls", [["Core.001"], ["Core.001", "Ossify Core.001"]])
def test_a_control_bone_keeps_a_name_that_was_planned(flat, controls):
    armature, (mesh,) = flat.armature, flat.meshes
    goal = source_frames(armature)
    made = error(armature, mesh, goal)
    add_controls(armature, *controls)
    update()
    deforming = {bone.name for bone in armature.data.bones if bone.use_deform}
    assert deforming == {group.name for group in mesh.vertex_groups}
    assert len(deforming) == COUNT
    assert not deforming & set(controls)
    assert all(name in armature.data.bones for name in controls)
    assert error(armature, mesh, goal) < made + 1e-2 * flat.report.size


def test_collections_with_other_bones_stay(flat):
    data = flat.armature.data
    add_controls(flat.armature, "Control", "Second")
    for title, control in (("Controls", "Control"), ("Core", "Second")):
        collection = data.collections.new(title, parent=data.collections["Deform"])
        collection.assign(data.bones[control])
        collection.is_visible = False
    for _ in range(2):  # the second time, there are those of the first
        update()
        inside = {c.name: {bone.name for bone in c.bones} for c in data.collections["Deform"].children}
        assert inside.pop("Controls") == {"Control"}
        assert "Second" in inside["Core"]
        deforming = {bone.name for bone in data.bones if bone.use_deform}
        assert set().union(*inside.values()) - {"Second"} == deforming
        assert sum(map(len, inside.values())) == COUNT + 1
        assert not data.collections_all["Controls"].is_visible


# ---- what the rig remembers


@pytest.mark.parametrize("skeleton", ["NONE", "HIERARCHY", "ARTICULATED"])
def test_an_update_is_no_change_of_the_artists(skeleton):
    result = creature_rig(skeleton=skeleton)
    armature = result.armature
    scenes.select(armature)
    wish = armature.ossify.wishes.add()
    wish.first, wish.second = [bone.name for bone in armature.data.bones if bone.use_deform][-2:]
    bones = bones_of(armature)
    update()
    assert bones_of(armature) != bones
    assert changes.find(armature) == changes.Changes()
    bpy.ops.ossify.look_for_changes()
    assert not armature.ossify.changes
    assert "No bone of" in told(bpy.ops.ossify.put_back, kind="MOVED")


def test_a_refit_after_an_update_takes_only_the_edit_for_a_change(flat):
    armature, (mesh,) = flat.armature, flat.meshes
    goal = source_frames(armature)
    made = error(armature, mesh, goal)
    update()
    assert error(armature, mesh, goal) < made + 1e-2 * flat.report.size
    paint_noise(mesh, armature)
    armature.ossify.keep_repainted = False
    broken = error(armature, mesh, goal)
    found = refitted(armature)
    assert found.written
    assert list(found.changes.repainted) == [mesh.name]
    assert not found.changes.moved
    assert not found.changes.rekeyed
    assert error(armature, mesh, goal) < 0.01 * broken


def test_what_the_artist_changed_before_is_still_a_change(flat):
    armature, (mesh,) = flat.armature, flat.meshes
    names = [bone.name for bone in armature.data.bones if bone.use_deform]
    numbers = {name: armature.data.bones[name][memory.NUMBER] for name in names}
    rows = paint_noise(mesh, armature)
    posed = armature.pose.bones[names[1]]
    bpy.context.scene.frame_set(6)
    turned = posed.rotation_quaternion.copy()
    turned.x += 0.2
    posed.rotation_quaternion = turned.normalized()
    posed.keyframe_insert("rotation_quaternion", frame=6)
    delete_bone(armature, names[0])
    before = changes.find(armature)
    keyed = before.rekeyed[names[1]]
    update()
    after = changes.find(armature)
    new = {bone[memory.NUMBER]: bone.name for bone in armature.data.bones if memory.NUMBER in bone}
    assert after.deleted == [names[0]]
    assert np.array_equal(after.repainted[mesh.name], before.repainted[mesh.name])
    assert rows.any()
    assert list(after.rekeyed) == [new[numbers[names[1]]]]
    assert np.array_equal(after.rekeyed[new[numbers[names[1]]]], keyed)
    untouched = (after.moved, after.renamed, after.reparented, after.added)
    assert not any(untouched)


def test_a_bone_that_the_artist_added_is_still_new(flat):
    armature = flat.armature
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("Sleeve")
    bone.head, bone.tail = (1.2, 0, 1.9), (1.5, 0, 1.9)
    bone.parent = armature.data.edit_bones["Root"]
    bpy.ops.object.mode_set(mode="OBJECT")
    assert changes.find(armature).added == ["Sleeve"]
    update()
    (added,) = changes.find(armature).added
    assert armature.data.bones[added].use_deform
    found = refitted(armature)
    assert found.changes.added == [added]


def test_a_bone_that_was_moved_counts_no_more_as_placed_by_the_artist():
    armature = creature_rig().armature
    edit(armature, lambda bones: setattr(bones["Side.002.L"], "head", 1.02 * bones["Side.002.L"].head))
    placed = np.array(armature.data.bones["Side.002.L"].head_local)
    refitted(armature)
    assert changes.PLACED in armature.data.bones["Side.002.L"]
    scenes.select(armature)
    update()
    assert np.abs(np.array(armature.data.bones["Side.002.L"].head_local) - placed).max() > 1e-3
    assert not any(changes.PLACED in bone for bone in armature.data.bones)


@pytest.mark.parametrize("goes", [False, True])
def test_a_bone_that_an_update_hung_from_an_added_one_is_refitted(goes):
    result = creature_rig()
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    made = error(armature, mesh, goal)
    add_between(armature, mesh, "Side.001.L", share=0.6)  # it owns the limb: what follows hangs from it
    scenes.select(armature)
    update()
    (added,) = changes.find(armature).added
    child = armature.data.bones[added].children[0].name
    assert not changes.find(armature).reparented
    edit(armature, lambda bones: setattr(bones[child], "roll", 0.7 + bones[child].roll))
    if goes:
        delete_bone(armature, added)
    found = refitted(armature)
    assert found.changes.moved == [child]
    if not goes:
        assert error(armature, mesh, goal) < made + 1e-3 * result.report.size
