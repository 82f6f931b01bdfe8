"""Deleted bones are made again by a button: the rig is as before, and nothing is listed."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import curves, weights_by_name
from ossify.put_back import put_back as put_back_room
from ossify.record import changes
from ossify.rig import actions, standing
from refits import creature_rig, edit, refitted
from returned import (
    SIDE,
    As,
    clean_up,
    delete,
    give_some,
    listed,
    merge,
    normalise,
    put_back,
    same_weights,
    shown,
    warned,
)
from screens import told
from takes import errors, takes_rig


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
def test_deleted_bones_of_other_rigs_are_made_again(chosen, tidy):
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


@pytest.mark.parametrize(("shape", "share"), [("LINEAR", 1.0), ("BEZIER", 2.5)])
def test_keys_written_again_are_about_as_few_as_they_were(shape, share):
    body, bones = scenes.creature(frames=48)
    chosen = {"skeleton": "HIERARCHY", "keys": "REDUCED", "key_tolerance": 5.0, "key_shape": shape}
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
    assert sum(now.values()) <= share * sum(before.values()) + len(
        before
    )  # one at the end, where it may rest


@pytest.mark.parametrize("tidy", [False, True])
def test_deleted_bones_move_in_every_clip_again(tidy):
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


def test_deleted_bones_move_several_meshes_again():
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
    assert listed(armature) == {"REPAINTED": "1 vertex repainted"}


def test_the_root_is_made_again(creature):
    before = As(creature)
    delete(creature.armature, "Root")
    put_back(creature.armature, "DELETED")
    before.holds()


def test_a_flexible_bone_comes_back_without_its_carrier():
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


def test_bones_of_a_hidden_rig_are_made_again(creature):
    before = As(creature)
    delete(creature.armature, SIDE[0])
    creature.armature.hide_viewport = True
    put_back(creature.armature, "DELETED")
    assert creature.armature.hide_viewport
    creature.armature.hide_viewport = False
    before.holds()


# ---- all kinds


def change_all(result):
    armature = result.armature
    merge(result, *SIDE)
    delete(armature, "Side.002.R")
    armature.data.bones["Down.001.L"].name = "Thigh"
    edit(armature, lambda bones: setattr(bones.new("Extra"), "tail", (0, 0, 1)))


KINDS = ("ADDED", "DELETED", "MERGED", "RENAMED")


def test_all_kinds_are_put_back_one_after_the_other(creature):
    before = As(creature)
    change_all(creature)
    assert set(listed(creature.armature)) >= set(KINDS)
    for kind in KINDS:
        put_back(creature.armature, kind)
        assert kind not in {item.name for item in creature.armature.ossify.changes}
    before.holds()


@pytest.mark.parametrize("kind", KINDS)
def test_putting_back_is_undone_and_done_again(creature, kind):
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
def test_what_cannot_be_put_back_is_told(creature, kind):
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
