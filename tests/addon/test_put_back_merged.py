"""Merged bones are taken apart by a button: the rig is as before, and nothing is listed."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import curves
from ossify.rig import actions, standing
from refits import creature_rig, edit, paint_noise, refitted
from returned import (
    SIDE,
    As,
    delete,
    listed,
    merge,
    merge_by_hand,
    put_back,
    same_weights,
    shown,
    weights_by_name,
)
from screens import told
from takes import tracked_rig, two_takes


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
def test_merged_bones_of_other_rigs_are_taken_apart(chosen, way):
    result = creature_rig(**chosen)
    before, error_before = As(result), result.armature.ossify.rms
    kept, gone = standing.bone_names(result.armature)[1:3]
    way(result, kept, gone)
    put_back(result.armature, "MERGED")
    before.holds()
    assert result.armature.ossify.rms == pytest.approx(error_before, rel=1e-2, abs=1e-4)


def test_merges_upon_merges_are_taken_apart():
    """To the bit with straight lines; bones merged by hand get new curves, within the tolerance."""
    creature = creature_rig(key_shape="LINEAR")
    before = As(creature)
    merge(creature, SIDE[0], SIDE[1])
    merge(creature, "Core.001", SIDE[0], "Core.002")
    merge_by_hand(creature, "Side.001.R", "Side.002.R")
    merge(creature, "Down.001.L", "Down.002.L", solve=False)
    put_back(creature.armature, "MERGED")
    before.holds()


def test_a_merge_under_one_made_by_hand_is_taken_apart(creature):
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
def test_a_tracked_clip_moves_as_it_did(kind):
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


def test_a_clip_tracked_since_the_merge_moves_as_the_merged_bone_does():
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


def test_bones_added_since_the_merge_are_told_from_those_that_come_back(creature):
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
