"""Every operator says in a sentence why it cannot run, and leaves the file as it was: without a rig, on a
mesh with other vertices, on a rig of another file, without the motion."""

import bpy
import pytest
import scenes
from refits import creature_rig, link_rig
from screens import told

# what works on settings, frames or any mesh that moves
WITHOUT_A_RIG = {
    "bake",
    "convert",
    "go_to_frame",
    "manual",
    "preset",
    "preset_add",
    "root_at_cursor",
    "show_stretch",
    "unwrap",
}
BY_THE_MOTION = (
    "add_bone",
    "merge_bones",
    "prune_weights",
    "refit",
    "remove_useless",
    "smooth_weights",
    "split_bone",
)
PAIR = ("Side.001.L", "Side.002.L")


def refusals(*names):
    """name of an operator -> what it says; the file is compared before and after each."""
    before, found = scenes.picture(), {}
    for name in names:
        found[name] = told(getattr(bpy.ops.ossify, name))
        assert "Traceback" not in found[name], name
        assert "context is incorrect" not in found[name], name
        assert scenes.difference(before, scenes.picture()) == "", name
    return found


def refusal(name):
    return refusals(name)[name]


def of_a_rig():
    return [name for name in dir(bpy.ops.ossify) if name not in WITHOUT_A_RIG]


@pytest.mark.parametrize("active", [True, False])
def test_all_refuse_without_a_rig(active):
    scenes.select(scenes.grid("Lonely"))
    if not active:
        bpy.context.view_layer.objects.active = None
    others = {
        "adopt": "Select the armature as well as the meshes",
        "switch_controls": "no armature whose constraints were turned off",
        "cancel": "Nothing is at work",
        "compress_weights": "neither an armature nor a mesh that one moves",
        "body_sliders": "make the rigged mesh the active one",
        "body_bones": "make the rigged mesh the active one",
        "find_body": "has no body sliders",
        "random_body": "has no body sliders",
        "reset_body": "has no body sliders",
        "fit_rig": "make the rigged mesh the active one",
        "key_virtual_bones": "neither an armature nor a mesh that one moves",
        "remove_found": "Look for useless bones first",
        "remove_virtual_bones": "neither an armature nor a mesh that one moves",
    }
    for name, sentence in refusals(*of_a_rig()).items():
        assert others.get(name, "rig made by Ossify") in sentence, name


@pytest.mark.parametrize("name", BY_THE_MOTION)
def test_a_mesh_with_other_vertices_is_refused(creature, name):
    creature.meshes[0].data.vertices.add(1)
    scenes.pose(creature.armature, *PAIR)
    assert "Creature Rigged has other vertices or edges than when the rig was made" in refusal(name)


@pytest.mark.parametrize("name", BY_THE_MOTION)
def test_a_rig_without_its_motion_is_refused(name):
    armature = creature_rig(keep_motion="NONE").armature
    bpy.data.objects.remove(armature.ossify.sources[0].object)
    scenes.pose(armature, *PAIR)
    assert "was not kept, and its source is gone: choose another one" in refusal(name)


def test_what_needs_the_source_refuses_without_it(creature):
    bpy.data.objects.remove(creature.armature.ossify.sources[0].object)
    scenes.select(creature.armature)
    assert "The source of Creature Rig is not in this view layer" in refusal("show_source")
    assert "Select a mesh that moves" in refusal("track")
    assert "Select a mesh that moves" in refusal("preview")


def test_all_refuse_a_rig_of_another_file(creature, tmp_path):
    """It cannot be in Pose Mode, where bones are selected."""
    link_rig(tmp_path / "rig.blend", creature.armature, creature.meshes)
    others = {
        "adopt": "was made by Ossify: Track Motion",
        "switch_controls": "no armature whose constraints were turned off",
        "cancel": "Nothing is at work",
        "export": "Name a file to write the rig to",
        "export_engine": "Name a file to write the rig to",
        "body_sliders": "make the rigged mesh the active one",
        "body_bones": "make the rigged mesh the active one",
        "find_body": "has no body sliders",
        "random_body": "has no body sliders",
        "reset_body": "has no body sliders",
        "fit_rig": "make the rigged mesh the active one",
        "key_virtual_bones": "has no virtual bones",
        "remove_virtual_bones": "has no virtual bones",
        "make_root": "Select one bone that deforms the mesh, in Pose Mode",
        "merge_bones": "in Pose Mode",
        "remove_correctives": "This rig has no correctives",
        "remove_found": "Look for useless bones first",
        "show_source": "is not in this view layer",
        "split_bone": "in Pose Mode",
        "transfer_weights": "Select the copies",
        "wish": "Select two bones that deform the mesh, in Pose Mode",
    }
    for name, sentence in refusals(*of_a_rig(), "bake").items():
        assert others.get(name, "is linked from rig.blend: make it local") in sentence, name


@pytest.mark.parametrize("how", ["eye", "viewport", "excluded"])
def test_hidden_vertices_are_not_selected(creature, how):
    armature, (mesh,) = creature.armature, creature.meshes
    if how == "eye":
        mesh.hide_set(True)
    elif how == "viewport":
        mesh.hide_viewport = True
    else:
        away = bpy.data.collections.new("Away")
        bpy.context.scene.collection.children.link(away)
        for collection in mesh.users_collection:
            collection.objects.unlink(mesh)
        away.objects.link(mesh)
        bpy.context.view_layer.layer_collection.children["Away"].exclude = True
    scenes.select(armature)
    assert "Creature Rigged is hidden: show it" in refusal("select_worst")
