"""What bones are for is written on them; rigs of version 0.1.0, which say nothing, are known all the same."""

import math
from pathlib import Path

import bpy
import chain
import numpy as np
import pytest
import scenes
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.edit import bone_growth, bone_merge
from ossify.options import options
from ossify.put_back import put_back
from ossify.record import changes
from ossify.rig import armature, roles
from ossify.track import track
from refits import edit, refitted, sheet_rig

BEFORE = Path(__file__).parent / "files" / "rigs-0.1.0.blend"


def told(armature):
    """The words on the bones."""
    return {bone.name: bone.get(roles.ROLE) for bone in armature.data.bones}


def flexible():
    return sheet_rig(bone_kind="FLEXIBLE", keys="REDUCED")


def opened(name):
    """A rig that version 0.1.0 made."""
    bpy.ops.wm.open_mainfile(filepath=str(BEFORE))
    armature = bpy.data.objects[name]
    assert set(told(armature).values()) == {None}
    scenes.select(armature)
    return armature


def deforming(armature):
    return [bone.name for bone in armature.data.bones if bone.use_deform]


def stretches(armature):
    """Bones whose scale is keyed."""
    curves = chain.curves(armature.animation_data.action)
    return {c.data_path.split('"')[1] for c in curves if c.data_path.endswith(".scale")}


# ---- on the bones


def test_every_bone_of_a_rig_says_what_it_is_for():
    result = sheet_rig()
    assert told(result.armature) == {"Root": "root", **dict.fromkeys(deforming(result.armature), "deform")}


def test_the_bones_above_flexible_ones_are_carriers():
    armature = flexible().armature
    assert roles.root_of(armature) == "Root"
    assert {name for name, role in told(armature).items() if role == "carrier"} == {
        f"Stretch.{number:03}" for number in range(1, 6)
    }
    assert roles.carriers_of(armature) == {f"Bone.{n:03}": f"Stretch.{n:03}" for n in range(1, 6)}


def test_an_artists_bones_count_by_whether_they_deform():
    armature = sheet_rig().armature

    def add(bones):
        for name, deforms in (("Handle", False), ("Patch", True)):
            bone = bones.new(name)
            bone.head, bone.tail, bone.parent, bone.use_deform = (
                (0, 0, 0),
                (0, 0, 1),
                bones["Bone.001"],
                deforms,
            )

    edit(armature, add)
    assert told(armature)["Handle"] is None
    assert roles.of(armature)["Handle"] == roles.CONTROL
    assert roles.of(armature)["Patch"] == roles.DEFORM


def test_names_say_nothing_about_carriers():
    armature = flexible().armature
    armature.data.bones["Stretch.002"].name = "Cheek"
    assert roles.carriers_of(armature)["Bone.002"] == "Cheek"


def test_a_control_below_a_carrier_leaves_it_a_carrier():
    armature = flexible().armature

    def add(bones):
        bone = bones.new("Handle")
        bone.head, bone.tail, bone.parent = (0, 0, 0), (0, 0, 1), bones["Stretch.002"]
        bone.use_deform = False

    edit(armature, add)
    assert roles.carriers_of(armature)["Bone.002"] == "Stretch.002"
    assert roles.of(armature)["Handle"] == roles.CONTROL


def test_a_bone_that_was_moved_away_from_its_carrier_is_carried_no_more():
    armature = flexible().armature

    def move(bones):
        bones["Bone.002"].head.z += 0.1

    edit(armature, move)
    assert "Bone.002" not in roles.carriers_of(armature)
    assert len(roles.carriers_of(armature)) == 4


def test_a_root_of_another_name_is_still_the_root():
    result = sheet_rig()
    armature = result.armature
    armature.data.bones["Root"].name = "Hips"
    found = refitted(armature)
    assert found.changes.renamed == {"Root": "Hips"}
    assert roles.root_of(armature) == "Hips"


def test_a_rig_without_its_root_is_refused():
    armature = sheet_rig().armature
    edit(armature, lambda bones: bones.remove(bones["Root"]))
    with pytest.raises(Refusal, match="has lost its bone Root, which carries the body: undo that"):
        refitted(armature)


def test_new_bones_have_roles():
    armature = flexible().armature
    (name,) = run(bone_growth.add_at_worst(bpy.context, armature)).bones
    assert told(armature)[name] == "deform"
    assert told(armature)[roles.carriers_of(armature)[name]] == "carrier"


def test_bones_that_are_put_back_have_the_roles_they_had():
    armature = flexible().armature
    before = told(armature)
    edit(armature, lambda bones: [bones.remove(bones[name]) for name in ("Bone.002", "Stretch.002")])
    put_back.put_back(bpy.context, armature, "DELETED")
    assert told(armature) == before


# ---- rigs of version 0.1.0


def test_bones_of_before_are_known():
    armature = opened("Sheet Rig")
    found = roles.of(armature)
    assert found["Root"] == roles.ROOT
    assert {found[name] for name in deforming(armature)} == {roles.DEFORM}
    carriers = roles.carriers_of(armature)
    assert list(carriers) == deforming(armature)
    assert {found[name] for name in carriers.values()} == {roles.CARRIER}
    assert set(told(armature).values()) == {None}  # to look at them changes nothing
    found = roles.of(bpy.data.objects["Tube Rig"])
    assert found["Handle"] == roles.CONTROL
    assert roles.CARRIER not in found.values()


@pytest.mark.parametrize("name", ["Sheet Rig", "Tube Rig"])
def test_a_rig_of_before_has_no_changes_and_is_refitted(name):
    armature = opened(name)
    found = changes.find(armature)
    added = ["Handle"] if name == "Tube Rig" else []
    assert found == changes.Changes(added=added)
    scaled, known = stretches(armature), roles.of(armature)
    mesh = armature.ossify.meshes[0].object
    rng, names = np.random.default_rng(5), deforming(armature)
    for row in rng.permutation(len(mesh.data.vertices))[:6].tolist():
        for group, amount in zip(names, rng.dirichlet(np.ones(len(names))), strict=True):
            mesh.vertex_groups[group].add([row], float(amount), "REPLACE")
    armature.ossify.keep_repainted = False
    result = refitted(armature)
    assert result.written
    assert result.after.rms < 0.1 * result.before.rms
    assert stretches(armature) == scaled
    assert (len(scaled) > 0) == (name == "Sheet Rig")
    own = {bone: role for bone, role in known.items() if role != roles.CONTROL}
    assert {bone: role for bone, role in told(armature).items() if role} == own


def test_what_to_do_for_a_rig_of_before_whose_root_was_renamed_is_told():
    armature = opened("Tube Rig")
    armature.data.bones["Root"].name = "Hips"
    with pytest.raises(Refusal, match="call it Root again if it was renamed, or undo that"):
        refitted(armature)
    armature.data.bones["Hips"].name = "Root"
    assert refitted(armature).changes.added == ["Handle"]


def test_a_bone_is_deleted_from_a_rig_of_before():
    armature = opened("Tube Rig")
    edit(armature, lambda bones: bones.remove(bones[deforming(armature)[-1]]))
    result = refitted(armature)
    assert result.written
    assert result.after.rms < 0.5 * result.before.rms


@pytest.mark.parametrize("name", ["Sheet Rig", "Tube Rig"])
def test_a_motion_is_tracked_onto_a_rig_of_before(name):
    armature = opened(name)
    mesh = armature.ossify.meshes[0].object
    source = bpy.data.objects.new("Take", mesh.data.copy())
    scenes.link(source)
    points = scenes.positions(source.data)
    moved = [points + np.array((0.1 * f, 0, 0.05 * math.sin(f))) for f in range(8)]
    for f, key in enumerate(scenes.add_shape_keys(source, moved)[1:]):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    context = bpy.context
    steps = track.track(context.scene, context.view_layer, armature, [source], options.TrackOptions())
    found = run(steps)
    assert found.rms * found.percent < 0.05


def test_flexible_bones_of_before_are_merged_and_put_back():
    armature = opened("Sheet Rig")
    names, carriers = deforming(armature), roles.carriers_of(armature)
    run(bone_merge.merge(bpy.context, armature, names[0], [names[1]]))
    assert carriers[names[1]] not in armature.data.bones
    assert told(armature)[carriers[names[0]]] == "carrier"
    put_back.put_back(bpy.context, armature, "MERGED")
    assert roles.carriers_of(armature) == carriers


def test_a_bone_that_was_deleted_before_roles_were_given_comes_back_with_its_own():
    armature = opened("Sheet Rig")
    names, carriers = deforming(armature), roles.carriers_of(armature)
    gone = names[3], carriers[names[3]]
    edit(armature, lambda bones: [bones.remove(bones[name]) for name in gone])
    run(bone_merge.merge(bpy.context, armature, names[0], [names[1]]))
    put_back.put_back(bpy.context, armature, "DELETED")
    assert told(armature)[gone[0]] == "deform"
    assert told(armature)[gone[1]] == "carrier"
    assert roles.carriers_of(armature)[gone[0]] == gone[1]


@pytest.mark.parametrize("aside", [0.0, 5e-5, 1.8e-4, 4e-4, 2e-3])
def test_a_carrier_and_its_bone_lie_together_next_to_minus_y(aside):
    obj = scenes.link(bpy.data.objects.new("Flexible", bpy.data.armatures.new("Flexible")))
    spot = (0.3, 1.0, 0.2), (0.3 + aside, 0.0, 0.2), (0.0, 0.0, 1.0)
    with armature.edit_mode(obj, bpy.context.scene, bpy.context.view_layer) as bones:
        armature.add_bone(bones, "Root", (0, 0, 0), (0, 1, 0), (0, 0, 1), None, False)
        armature.add_bone(bones, "Stretch", *spot, "Root", False)
        armature.add_bone(bones, "Bone", *spot, "Stretch", True)
    carrier, bone = (np.array(obj.data.bones[name].matrix_local) for name in ("Stretch", "Bone"))
    assert np.abs(carrier - bone).max() < 1e-6
