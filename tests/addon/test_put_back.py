"""What an artist did to bones is put back by a button: the rig is as before, and nothing is listed."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import curves, keys_of, weights_of
from ossify import convert
from ossify.rig import actions, standing
from ossify.roundtrip import bone_merge, changes
from ossify.roundtrip import put_back as put_back_room
from refits import creature_rig, edit, paint_noise, refitted
from test_clips import two_takes
from test_refit_clips import errors, takes_rig, tracked_rig
from test_refit_operators import give_weights, told

SIDE = ("Side.001.L", "Side.002.L")
NEAR = 1e-5  # of the armature's units


def put_back(armature, kind):
    scenes.select(armature)
    assert bpy.ops.ossify.put_back(kind=kind) == {"FINISHED"}


def listed(armature):
    scenes.select(armature)
    bpy.ops.ossify.look_for_changes()
    return {item.name: item.words for item in armature.ossify.changes}


def delete(armature, *names):
    """With Blender's own operator, as the X key does."""
    scenes.select(armature)
    hidden = [some for some in armature.data.collections_all if not some.is_visible]
    for collection in hidden:
        collection.is_visible = True
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.select = bone.select_head = bone.select_tail = bone.name in names
    bpy.ops.armature.delete()
    bpy.ops.object.mode_set(mode="OBJECT")
    for collection in hidden:
        collection.is_visible = False
    assert not set(names) & set(armature.data.bones.keys())


def skeleton_of(armature):
    """name -> parent, connected, deforms, colour, collections, rotation mode, and where it is"""
    return {
        bone.name: (
            (
                bone.parent.name if bone.parent else None,
                bone.use_connect,
                bone.use_deform,
                tuple(bone.color.custom.normal),
                sorted(collection.name for collection in bone.collections),
                armature.pose.bones[bone.name].rotation_mode,
                bone.get("ossify_joint"),
            ),
            np.array([*bone.head_local, *bone.tail_local, *bone.matrix_local.col[0]]),
        )
        for bone in armature.data.bones
    }


def same_skeleton(armature, before):
    now = skeleton_of(armature)
    assert now.keys() == before.keys()
    for name, (words, place) in before.items():
        assert now[name][0] == words, name
        assert np.abs(now[name][1] - place).max() < NEAR, name


def weights_by_name(mesh):
    """[v] name -> weight, of groups with any"""
    names = [group.name for group in mesh.vertex_groups]
    return [{names[group]: w for group, w in row if w > 0} for row in weights_of(mesh.data)]


def same_weights(mesh, before, but=()):
    for row, (now, then) in enumerate(zip(weights_by_name(mesh), before, strict=True)):
        if row not in but:
            assert now == pytest.approx(then, abs=1e-6), row


def shown(armature, meshes):
    """What Blender shows in all frames of the rig."""
    times = sorted({item.frame for item in armature.ossify.frames})
    return np.concatenate([scenes.seen_frames(mesh, times) for mesh in meshes], axis=1)


class As:
    """A rig as it is, to compare with later."""

    def __init__(self, result):
        self.armature, self.meshes = result.armature, result.meshes
        self.skeleton = skeleton_of(self.armature)
        self.weights = [weights_by_name(mesh) for mesh in self.meshes]
        self.seen = shown(self.armature, self.meshes)

    def holds(self, but=()):
        same_skeleton(self.armature, self.skeleton)
        for mesh, weights in zip(self.meshes, self.weights, strict=True):
            same_weights(mesh, weights, but)
        size = scenes.size_of(self.seen[0])
        assert np.abs(shown(self.armature, self.meshes) - self.seen).max() < 1e-5 * size
        assert listed(self.armature) == {}


def clean_up(armature, meshes, *names):
    """Groups and keys of bones that are gone, as tidy people do."""
    for mesh in meshes:
        for name in names:
            mesh.vertex_groups.remove(mesh.vertex_groups[name])
    for action in bpy.data.actions:
        if not action.name.startswith("Creature") and action != armature.animation_data.action:
            continue
        for bag in [action] if hasattr(action, "fcurves") else action.layers[0].strips[0].channelbags:
            for curve in list(bag.fcurves):
                if any(f'"{name}"' in curve.data_path for name in names):
                    bag.fcurves.remove(curve)


def normalise(meshes):
    for mesh in meshes:
        for vertex in mesh.data.vertices:
            total = sum(group.weight for group in vertex.groups)
            for group in vertex.groups:
                group.weight /= total or 1.0
        mesh.data.update()


# ---- deleted


@pytest.mark.parametrize("names", [SIDE[:1], SIDE[1:], SIDE, ("Core.001",)])
@pytest.mark.parametrize("tidy", [False, True])
def test_deleted_bones_are_made_again(creature, names, tidy):
    before = As(creature)
    delete(creature.armature, *names)
    if tidy:
        clean_up(creature.armature, creature.meshes, *names)
        normalise(creature.meshes)
    assert "DELETED" in listed(creature.armature)
    put_back(creature.armature, "DELETED")
    before.holds()


@pytest.mark.parametrize(
    "chosen",
    [
        {"skeleton": "ARTICULATED"},
        {"skeleton": "NONE"},
        {"skeleton": "NONE", "bone_kind": "FLEXIBLE"},
        {"keys": "EVERY"},
    ],
)
@pytest.mark.parametrize("tidy", [False, True])
def test_deleted_bones_of_other_rigs(chosen, tidy):
    result = creature_rig(**chosen)
    before, armature = As(result), result.armature
    deforming = [bone for bone in armature.data.bones if bone.use_deform]
    gone = [max(deforming, key=lambda bone: len(bone.children)).name]
    if chosen.get("bone_kind") == "FLEXIBLE":
        gone.append(armature.data.bones[gone[0]].parent.name)
        assert gone[1].startswith("Stretch")
    delete(armature, *gone)
    if tidy:
        clean_up(armature, [], *gone)
        for mesh in result.meshes:
            mesh.vertex_groups.remove(mesh.vertex_groups[gone[0]])
    put_back(armature, "DELETED")
    before.holds()
    again = refitted(armature)
    assert again.after.rms <= again.before.rms * (1 + 1e-5)


def test_keys_written_again_are_as_few_as_they_were():
    body, bones = scenes.creature(frames=48)
    chosen = {"skeleton": "HIERARCHY", "keys": "REDUCED", "key_tolerance": 5.0}
    creature = chain.converted(body, bones=len(bones), quality="NORMAL", **chosen)
    armature = creature.armature
    action = armature.animation_data.action

    def keyed():
        return {
            (c.data_path, c.array_index): len(c.keyframe_points)
            for c in curves(action)
            if SIDE[0] in c.data_path
        }

    before = keyed()
    assert 0 < sum(before.values()) < 0.7 * len(before) * len(armature.ossify.frames)
    delete(armature, SIDE[0])
    clean_up(armature, creature.meshes, SIDE[0])
    put_back(armature, "DELETED")
    now = keyed()
    assert now.keys() == before.keys()
    assert sum(now.values()) <= sum(before.values()) + len(before)  # one at the end, where it may rest


@pytest.mark.parametrize("tidy", [False, True])
def test_in_every_clip(tidy):
    result = takes_rig(skeleton="HIERARCHY", keys="REDUCED")
    armature, (mesh,) = result.armature, result.meshes
    before, name = errors(armature, mesh), standing.bone_names(armature)[1]
    delete(armature, name)
    if tidy:
        for action in ("Walk", "Run"):
            actions.assign(armature, bpy.data.actions[action])
            clean_up(armature, [], name)
        mesh.vertex_groups.remove(mesh.vertex_groups[name])
    assert errors(armature, mesh) != pytest.approx(before, rel=1e-3)
    put_back(armature, "DELETED")
    assert errors(armature, mesh) == pytest.approx(before, rel=1e-4)
    assert listed(armature) == {}


def test_of_several_meshes():
    first, second = scenes.key_shapes(scenes.grid("First")), scenes.key_shapes(scenes.grid("Second", n=7))
    second.location.x = 1
    bpy.context.view_layer.update()
    result = chain.converted(first, second, bones=4)
    before, name = As(result), standing.bone_names(result.armature)[0]
    delete(result.armature, name)
    for mesh in result.meshes:
        if name in mesh.vertex_groups:
            mesh.vertex_groups.remove(mesh.vertex_groups[name])
    put_back(result.armature, "DELETED")
    before.holds()


def test_a_name_that_is_taken_is_told(creature):
    armature = creature.armature
    seen = shown(armature, creature.meshes)
    delete(armature, SIDE[1])
    clean_up(armature, creature.meshes, SIDE[1])
    edit(armature, lambda bones: setattr(bones.new(SIDE[1]), "tail", (0, 0, 1)))
    put_back(armature, "DELETED")
    assert armature.data.bones["Side.003.L"].parent.name == SIDE[0]
    assert listed(armature) == {"ADDED": f"{SIDE[1]} added", "RENAMED": "Side.003.L renamed"}
    assert np.abs(shown(armature, creature.meshes) - seen).max() < 1e-4


def warned(armature, kind):
    """The sentences that putting back ends with."""
    scenes.select(armature)
    return put_back_room.put_back(bpy.context, armature, kind).notes


@pytest.mark.parametrize("kind", ["DELETED", "MERGED"])
def test_a_taken_name_is_said(creature, kind):
    armature = creature.armature
    if kind == "DELETED":
        delete(armature, SIDE[1])
        clean_up(armature, creature.meshes, SIDE[1])  # or the other one would have become it
    else:
        merge(creature, *SIDE)
    edit(armature, lambda bones: setattr(bones.new(SIDE[1]), "tail", (0, 0, 1)))
    words = f"{SIDE[1]} is the name of another bone now: the one that was put back is Side.003.L."
    assert warned(armature, kind) == [words]
    assert armature.data.bones["Side.003.L"].parent.name == SIDE[0]


def test_a_child_that_was_hung_elsewhere_since_stays_there(creature):
    armature = creature.armature
    delete(armature, SIDE[0])
    edit(armature, lambda bones: setattr(bones[SIDE[1]], "parent", bones["Down.001.L"]))
    put_back(armature, "DELETED")
    assert armature.data.bones[SIDE[1]].parent.name == "Down.001.L"
    assert listed(armature) == {"REPARENTED": f"{SIDE[1]} reparented"}


def test_a_child_of_a_deleted_bone_waits_for_it(creature):
    armature = creature.armature
    delete(armature, SIDE[0])
    scenes.select(armature)
    before = scenes.picture()
    sentence = told(bpy.ops.ossify.put_back, kind="REPARENTED")
    assert f"{SIDE[1]} hung from {SIDE[0]}, which is gone: put that back first." in sentence
    assert scenes.difference(before, scenes.picture()) == ""
    edit(armature, lambda bones: setattr(bones["Down.002.R"], "parent", bones["Root"]))
    put_back(armature, "REPARENTED")
    assert armature.data.bones["Down.002.R"].parent.name == "Down.001.R"
    put_back(armature, "DELETED")
    assert listed(armature) == {}


def test_painted_and_held_vertices_and_locked_groups_stay(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    rows = np.flatnonzero(standing.painted(mesh, [SIDE[1]])[:, 0] > 0.9)
    before = weights_by_name(mesh)
    delete(armature, SIDE[1])
    mesh.vertex_groups.remove(mesh.vertex_groups[SIDE[1]])
    painted, held, locked = (rows[i::7].tolist() for i in range(3))
    for some in (painted, held):
        for group in mesh.vertex_groups:
            group.remove(some)
    mesh.vertex_groups["Core.001"].add(painted, 1.0, "REPLACE")  # takes from all that were there
    mesh.vertex_groups["Core.002"].add(painted, 1.0, "REPLACE")
    mesh.vertex_groups[SIDE[0]].add(held, 0.7, "REPLACE")
    mesh.vertex_groups["Down.002.R"].add(locked, 0.25, "REPLACE")
    mesh.vertex_groups["Down.002.R"].lock_weight = True
    mesh.data.update()
    changes.hold_vertices(mesh.data, np.array(held), True)
    put_back(armature, "DELETED")
    now = weights_by_name(mesh)
    same_weights(mesh, before, but={*painted, *held, *locked})
    assert all(now[row] == {"Core.001": 1.0, "Core.002": 1.0} for row in painted)
    assert all(now[row] == pytest.approx({SIDE[0]: 0.7}) for row in held)
    for row in locked:
        assert now[row]["Down.002.R"] == 0.25
        assert now[row][SIDE[1]] == pytest.approx(0.75 * before[row][SIDE[1]], abs=1e-5)


def test_what_was_painted_before_the_bone_was_deleted_stays(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    row = int(standing.painted(mesh, [SIDE[1]])[:, 0].argmax())
    mesh.vertex_groups[SIDE[1]].add([row], 0.4, "REPLACE")
    mesh.vertex_groups[SIDE[0]].add([row], 0.6, "REPLACE")
    mesh.data.update()
    mine = weights_by_name(mesh)[row]
    delete(armature, SIDE[1])
    put_back(armature, "DELETED")
    assert weights_by_name(mesh)[row] == mine
    assert listed(armature) == {"REPAINTED": "1 vertices repainted"}


def test_the_root_is_made_again(creature):
    before = As(creature)
    delete(creature.armature, "Root")
    put_back(creature.armature, "DELETED")
    before.holds()


def test_a_flexible_bone_alone():
    """Without the one above it, which is out of sight."""
    result = creature_rig(skeleton="NONE", bone_kind="FLEXIBLE")
    before, name = As(result), standing.bone_names(result.armature)[2]
    delete(result.armature, name)
    put_back(result.armature, "DELETED")
    before.holds()


def test_an_action_of_another_file_is_refused(creature, tmp_path):
    armature = creature.armature
    path, action = tmp_path / "action.blend", armature.animation_data.action
    delete(armature, SIDE[0])
    bpy.data.libraries.write(str(path), {action})
    with bpy.data.libraries.load(str(path), link=True) as (_, here):
        here.actions = [action.name]
    actions.assign(armature, here.actions[0])
    for clip in armature.ossify.clips:
        clip.action = here.actions[0]
    before = scenes.picture()
    assert "is linked from action.blend" in told(bpy.ops.ossify.put_back, kind="DELETED")
    assert scenes.difference(before, scenes.picture()) == ""


def test_a_hidden_rig(creature):
    before = As(creature)
    delete(creature.armature, SIDE[0])
    creature.armature.hide_viewport = True
    put_back(creature.armature, "DELETED")
    assert creature.armature.hide_viewport
    creature.armature.hide_viewport = False
    before.holds()


# ---- merged


def merge_by_hand(result, kept, gone):
    for mesh in result.meshes:
        give_weights(mesh, gone, kept)
    delete(result.armature, gone)


def merge(result, kept, *gone, **chosen):
    convert.run(bone_merge.merge(bpy.context, result.armature, kept, list(gone), **chosen))


@pytest.mark.parametrize("way", [merge, merge_by_hand])
@pytest.mark.parametrize(("kept", "gone"), [SIDE, SIDE[::-1]])
def test_merged_bones_are_taken_apart(creature, way, kept, gone):
    before = As(creature)
    way(creature, kept, gone)
    assert listed(creature.armature)["MERGED"] == f"{gone} merged into {kept}"
    put_back(creature.armature, "MERGED")
    before.holds()
    again = refitted(creature.armature)
    assert again.after.rms <= again.before.rms * (1 + 1e-5)


@pytest.mark.parametrize(
    "chosen",
    [{"skeleton": "ARTICULATED"}, {"skeleton": "NONE"}, {"skeleton": "NONE", "bone_kind": "FLEXIBLE"}],
)
@pytest.mark.parametrize("way", [merge, merge_by_hand])
def test_merged_bones_of_other_rigs(chosen, way):
    result = creature_rig(**chosen)
    before, error_before = As(result), result.armature.ossify.rms
    kept, gone = standing.bone_names(result.armature)[1:3]
    way(result, kept, gone)
    put_back(result.armature, "MERGED")
    before.holds()
    assert result.armature.ossify.rms == pytest.approx(error_before, rel=1e-2, abs=1e-4)


def test_merges_upon_merges(creature):
    before = As(creature)
    merge(creature, SIDE[0], SIDE[1])
    merge(creature, "Core.001", SIDE[0], "Core.002")
    merge_by_hand(creature, "Side.001.R", "Side.002.R")
    merge(creature, "Down.001.L", "Down.002.L", solve=False)
    put_back(creature.armature, "MERGED")
    before.holds()


def test_a_merge_under_one_made_by_hand(creature):
    before = As(creature)
    merge(creature, SIDE[0], SIDE[1])
    merge_by_hand(creature, "Core.001", SIDE[0])
    put_back(creature.armature, "MERGED")
    before.holds()


def test_an_heir_that_was_deleted_comes_first(creature):
    before = As(creature)
    merge(creature, SIDE[0], SIDE[1])
    delete(creature.armature, SIDE[0])
    assert "MERGED" not in listed(creature.armature)
    put_back(creature.armature, "DELETED")
    assert listed(creature.armature) == {"MERGED": f"{SIDE[1]} merged into {SIDE[0]}"}
    put_back(creature.armature, "MERGED")
    before.holds()


def test_a_refit_makes_the_merge_the_new_state(creature):
    merge(creature, *SIDE)
    notes = creature.armature.ossify.memory
    assert any(isinstance(value, bytes) for _, value in notes.items())
    refitted(creature.armature)
    assert not any(isinstance(value, bytes) for _, value in notes.items())
    assert listed(creature.armature) == {}
    assert "was merged" in told(bpy.ops.ossify.put_back, kind="MERGED")


@pytest.mark.parametrize("skeleton", ["HIERARCHY", "ARTICULATED"])
def test_what_was_done_since_the_merge_stays(skeleton):
    creature = creature_rig(skeleton=skeleton)
    armature, (mesh,) = creature.armature, creature.meshes
    before = weights_by_name(mesh)
    row = int(standing.painted(mesh, [SIDE[1]])[:, 0].argmax())
    merge(creature, *SIDE)
    for group in mesh.vertex_groups:
        group.remove([row])
    mesh.vertex_groups["Core.001"].add([row], 1.0, "REPLACE")
    mesh.data.update()
    far = armature.pose.bones["Down.002.R"]
    far.rotation_quaternion = (0.8, 0.6, 0, 0)
    far.keyframe_insert("rotation_quaternion", frame=5)
    put_back(armature, "MERGED")
    assert weights_by_name(mesh)[row] == {"Core.001": 1.0}
    same_weights(mesh, before, but={row})
    assert set(listed(armature)) == {"REPAINTED", "REKEYED"}
    turned = [
        c.evaluate(5) for c in curves(armature.animation_data.action) if '"Down.002.R"].rot' in c.data_path
    ]
    assert turned == pytest.approx([0.8, 0.6, 0, 0])


def test_what_was_painted_before_the_merge_comes_back(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    paint_noise(mesh, armature, share=0.03)
    painted, words = weights_by_name(mesh), listed(armature)
    assert set(words) == {"REPAINTED"}
    merge(creature, *SIDE)
    put_back(armature, "MERGED")
    same_weights(mesh, painted)
    assert listed(armature) == words


def test_what_named_a_merged_bone_names_it_again(creature):
    armature = creature.armature
    box = scenes.grid("Box")
    box.parent, box.parent_type, box.parent_bone = armature, "BONE", SIDE[1]
    copy = armature.pose.bones["Down.001.R"].constraints.new("COPY_LOCATION")
    copy.target, copy.subtarget, copy.mute = armature, SIDE[1], True
    other = armature.pose.bones["Down.001.R"].constraints.new("COPY_LOCATION")
    other.target, other.subtarget, other.mute = armature, SIDE[0], True
    merge(creature, *SIDE)
    assert (box.parent_bone, copy.subtarget, other.subtarget) == (SIDE[0],) * 3
    put_back(armature, "MERGED")
    assert (box.parent_bone, copy.subtarget, other.subtarget) == (SIDE[1], SIDE[1], SIDE[0])


def test_clothes_follow_the_bones_that_are_back(creature):
    armature = creature.armature
    coat = scenes.grid("Coat", n=5)
    coat.modifiers.new("Armature", "ARMATURE").object = armature
    coat.vertex_groups.new(name=SIDE[1]).add(list(range(25)), 1.0, "REPLACE")
    before = weights_by_name(coat)
    merge(creature, *SIDE)
    assert weights_by_name(coat) != before
    put_back(armature, "MERGED")
    same_weights(coat, before)


@pytest.mark.parametrize("kind", ["DELETED", "MERGED"])
def test_in_a_clip_that_was_tracked(kind):
    result = tracked_rig()
    armature, (mesh,) = result.armature, result.meshes
    name = next(b.name for b in armature.data.bones if b.parent and b.parent.use_deform)
    parent = armature.data.bones[name].parent.name

    def seen():
        found = []
        for clip in ("Walk Rig", "Run"):
            with actions.given(armature, bpy.data.actions[clip]):
                found.append(shown(armature, [mesh]))
        return np.array(found)

    before = seen()
    if kind == "DELETED":
        delete(armature, name)
    else:
        merge(result, parent, name)
    assert np.abs(seen() - before).max() > 1e-3
    put_back(armature, kind)
    assert np.abs(seen() - before).max() < 1e-5
    assert listed(armature) == {}


def test_in_a_clip_that_was_tracked_since_the_merge():
    """Nobody knows how the bone would have moved there: it moves as the merged one does."""
    walk, run = two_takes()
    run.location = (0, 0, 0)
    result = chain.converted(walk, skeleton="HIERARCHY", bones=6)
    armature, (mesh,) = result.armature, result.meshes
    name = next(b.name for b in armature.data.bones if b.parent and b.parent.use_deform)
    walked = shown(armature, [mesh])
    merge(result, armature.data.bones[name].parent.name, name, solve=False)
    scenes.select(armature, run)
    assert bpy.ops.ossify.track() == {"FINISHED"}
    ran = shown(armature, [mesh])
    bpy.ops.ossify.play_clip(clip=0)
    put_back(armature, "MERGED")
    assert np.abs(shown(armature, [mesh]) - walked).max() < 1e-5
    with actions.given(armature, bpy.data.actions["Run"]):
        assert np.abs(shown(armature, [mesh]) - ran).max() < 2e-3


def test_bones_added_since_the_merge_are_others(creature):
    """They get no number of one that may come back."""
    before = As(creature)
    last = max(creature.armature.data.bones, key=lambda bone: bone["ossify_bone"] * bone.use_deform).name
    kept = next(name for name in standing.bone_names(creature.armature) if name != last)
    merge(creature, kept, last)
    edit(creature.armature, lambda bones: setattr(bones.new("Extra"), "tail", (0, 0, 1)))
    put_back(creature.armature, "MERGED")
    put_back(creature.armature, "ADDED")
    before.holds()


def test_a_merge_is_taken_apart_in_a_file_that_was_saved(creature, tmp_path):
    before = weights_by_name(creature.meshes[0])
    merge(creature, *SIDE)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "merged.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "merged.blend"))
    armature = bpy.data.objects["Creature Rig"]
    put_back(armature, "MERGED")
    same_weights(bpy.data.objects["Creature Rigged"], before)
    assert listed(armature) == {}


# ---- renamed


def test_old_names_are_given_again(creature):
    before, bones = As(creature), creature.armature.data.bones
    keys = [(c.data_path, c.array_index, keys_of(c)) for c in curves(creature.armature.animation_data.action)]
    copy = creature.armature.pose.bones["Core.001"].constraints.new("COPY_LOCATION")
    copy.target, copy.subtarget, copy.mute = creature.armature, SIDE[1], True
    bones[SIDE[0]].name = "Swap"
    bones[SIDE[1]].name = SIDE[0]
    bones["Swap"].name = SIDE[1]
    bones["Down.001.L"].name = "Thigh"
    assert copy.subtarget == SIDE[0]
    put_back(creature.armature, "RENAMED")
    before.holds()
    assert copy.subtarget == SIDE[1]
    now = [(c.data_path, c.array_index, keys_of(c)) for c in curves(creature.armature.animation_data.action)]
    assert sorted(now) == sorted(keys)


def test_names_that_others_have_are_told(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    bones = armature.data.bones
    bones[SIDE[0]].name, bones["Core.001"].name, bones["Core.002"].name = "Arm", "Trunk", "Head"
    edit(armature, lambda some: setattr(some.new(SIDE[0]), "tail", (0, 0, 1)))
    mesh.vertex_groups.new(name="Core.001")
    put_back(armature, "RENAMED")
    assert {"Arm", "Trunk", "Core.002"} <= set(bones.keys())
    before = scenes.picture()
    sentence = told(bpy.ops.ossify.put_back, kind="RENAMED")
    assert f"{SIDE[0]} is the name of another bone now: Arm keeps its name." in sentence
    assert "Core.001 is the name of another vertex group now: Trunk keeps its name." in sentence
    assert scenes.difference(before, scenes.picture()) == ""


# ---- added


def add_between(bones):
    """A bone between the arm and the hand."""
    bone = bones.new("Elbow")
    bone.head, bone.tail, bone.parent = bones[SIDE[0]].tail, bones[SIDE[1]].head, bones[SIDE[0]]
    bone.tail.z += 0.2
    bones[SIDE[1]].use_connect = False
    bones[SIDE[1]].parent = bone


def give_some(mesh, donor, name, share=0.5):
    group = mesh.vertex_groups.new(name=name)
    for row, weight in enumerate(standing.painted(mesh, [donor])[:, 0].tolist()):
        if weight > 0:
            group.add([row], share * weight, "REPLACE")
            mesh.vertex_groups[donor].add([row], (1 - share) * weight, "REPLACE")
    mesh.data.update()


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_added_bones_are_taken_out(creature, share):
    before, armature = As(creature), creature.armature
    edit(armature, add_between)
    give_some(creature.meshes[0], SIDE[1], "Elbow", share)
    armature.pose.bones["Elbow"].keyframe_insert("location", frame=3)
    assert "ADDED" in listed(armature)
    put_back(armature, "ADDED")
    before.holds()
    assert "Elbow" not in creature.meshes[0].vertex_groups
    assert not [c for c in curves(armature.animation_data.action) if "Elbow" in c.data_path]


def test_painted_and_held_vertices_stay_when_a_bone_is_taken_out(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    before = weights_by_name(mesh)
    edit(armature, add_between)
    give_some(mesh, SIDE[1], "Elbow")
    rows = np.flatnonzero(standing.painted(mesh, ["Elbow"])[:, 0] > 0.4).tolist()
    painted, held = rows[:5], rows[5:10]
    mesh.vertex_groups["Core.001"].add(painted, 0.5, "REPLACE")
    changes.hold_vertices(mesh.data, np.array(held), True)
    put_back(armature, "ADDED")
    now = weights_by_name(mesh)
    same_weights(mesh, before, but={*painted, *held})
    for row in painted:
        assert now[row]["Core.001"] == pytest.approx(
            0.5
            / (0.5 + before[row][SIDE[1]] / 2 + sum(w for name, w in before[row].items() if name != SIDE[1])),
            rel=1e-3,
        )
        assert sum(now[row].values()) == pytest.approx(1)
    for row in held:
        assert now[row][SIDE[1]] == pytest.approx(before[row][SIDE[1]] / 2)


MANY = ("Plain", "Deep", "Target", "Control", "Led", "Above", "Pair", "Worn", "Pinned")


def add_many(bones):
    for index, name in enumerate(MANY):
        bone = bones.new(name)
        bone.head, bone.tail, bone.parent = (index, 0, 3), (index, 0, 3.5), bones["Root"]
        bone.use_deform = name not in ("Plain", "Control")
    bones["Target"].parent = bones["Above"]


def test_bones_that_others_are_built_on_stay(creature):
    armature, (mesh,) = creature.armature, creature.meshes
    edit(armature, add_many)
    pose = armature.pose.bones
    for owner, target in (("Core.002", "Target"), ("Pair", "Deep"), ("Control", "Led")):
        copy = pose[owner].constraints.new("COPY_ROTATION")
        copy.target, copy.subtarget, copy.mute = armature, target, True
    pose["Control"].custom_shape = scenes.grid("Shape")
    coat = scenes.grid("Coat", n=5)
    coat.modifiers.new("Armature", "ARMATURE").object = armature
    coat.vertex_groups.new(name="Worn").add([0], 1.0, "REPLACE")
    mesh.vertex_groups.new(name="Pinned")
    mesh.modifiers.new("Smooth", "SMOOTH").vertex_group = "Pinned"
    put_back(armature, "ADDED")
    assert set(MANY) & set(armature.data.bones.keys()) == {
        *("Target", "Above", "Control", "Led", "Worn", "Pinned")
    }
    before = scenes.picture()
    sentence = told(bpy.ops.ossify.put_back, kind="ADDED")
    for words in (
        "Target stays: Core.002's constraint Copy Rotation names it.",
        "Above stays: Target hangs from it.",
        "Control stays: it is a control",
        "Led stays: Control's constraint Copy Rotation names it.",
        "Worn stays: Coat needs it.",
        "Pinned stays: Creature Rigged's modifier Smooth needs it.",
    ):
        assert words in sentence
    assert scenes.difference(before, scenes.picture()) == ""


# ---- all of them


def change_all(result):
    armature = result.armature
    delete(armature, "Side.002.R")
    merge(result, *SIDE)
    armature.data.bones["Down.001.L"].name = "Thigh"
    edit(armature, lambda bones: setattr(bones.new("Extra"), "tail", (0, 0, 1)))


KINDS = ("ADDED", "DELETED", "MERGED", "RENAMED")


def test_all_kinds_one_after_the_other(creature):
    before = As(creature)
    change_all(creature)
    assert set(listed(creature.armature)) >= set(KINDS)
    for kind in KINDS:
        put_back(creature.armature, kind)
        assert kind not in {item.name for item in creature.armature.ossify.changes}
    before.holds()


@pytest.mark.parametrize("kind", KINDS)
def test_undone_and_done_again(creature, kind):
    change_all(creature)
    scenes.select(creature.armature)
    bpy.ops.ossify.look_for_changes()
    bpy.ops.ed.undo_push(message="Changed")
    before = scenes.picture()
    bpy.ops.ossify.put_back(kind=kind)
    bpy.ops.ed.undo_push(message="Put Back")  # a call from Python makes none
    after = scenes.picture()
    assert scenes.difference(before, after) != ""
    bpy.ops.ed.undo()
    assert scenes.difference(before, scenes.picture()) == ""
    bpy.ops.ed.redo()
    assert scenes.difference(after, scenes.picture()) == ""


@pytest.mark.parametrize("kind", ["ADDED", "DELETED", "MERGED"])
def test_nothing_is_lost_when_edit_mode_fails(creature, kind, monkeypatch):
    change_all(creature)
    give_some(creature.meshes[0], "Core.001", "Extra")
    scenes.select(creature.armature)
    before = scenes.picture()

    def fail(*_arguments):
        raise RuntimeError("no Edit Mode here")

    monkeypatch.setattr(standing, "edit_mode", fail)
    with pytest.raises(RuntimeError, match="no Edit Mode here"):
        put_back_room.put_back(bpy.context, creature.armature, kind)
    assert scenes.difference(before, scenes.picture()) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_refused_in_words(creature, kind):
    armature = creature.armature
    scenes.select(armature)
    assert f"was {kind.lower()}" in told(bpy.ops.ossify.put_back, kind=kind)
    change_all(creature)
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    assert "is in Edit Mode" in told(bpy.ops.ossify.put_back, kind=kind)
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.ossify.memory = None
    before = scenes.picture()
    assert "remembers nothing" in told(bpy.ops.ossify.put_back, kind=kind)
    assert scenes.difference(before, scenes.picture()) == ""
