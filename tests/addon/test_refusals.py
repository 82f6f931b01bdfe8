"""Each kind of bad input has its own sentence, and leaves the file as it was."""

import bpy
import numpy as np
import pytest
import scenes
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.convert import convert
from ossify.options import options


def refusal(*objects, **chosen):
    """The sentence; the file is compared before and after."""
    before = scenes.picture()
    context = bpy.context
    with pytest.raises(Refusal) as caught:
        run(convert.convert(context.scene, context.view_layer, list(objects), options.Options(**chosen)))
    assert scenes.difference(before, scenes.picture()) == ""
    sentence = str(caught.value)
    assert sentence.endswith(".")
    return sentence


def test_nothing_selected_is_refused():
    assert "Nothing is selected" in refusal()


def test_what_is_not_a_mesh_is_refused():
    camera = scenes.link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    assert refusal(camera) == "Camera is not a mesh (camera): select mesh objects."


def test_a_range_without_frames_is_refused():
    obj = scenes.key_shapes(scenes.grid())
    sentence = refusal(obj, frames="CUSTOM", frame_start=9, frame_end=3)
    assert sentence == "The range ends (3) before it starts (9): there are no frames in it."


def test_one_frame_is_refused():
    obj = scenes.key_shapes(scenes.grid())
    sentence = refusal(obj, frames="CUSTOM", frame_start=5, frame_end=5)
    assert sentence == "The range has one frame (5): a motion needs at least two."


def test_a_missing_preview_range_is_told():
    assert "no preview range" in refusal(scenes.key_shapes(scenes.grid()), frames="PREVIEW")


def test_what_does_not_move_is_refused():
    assert refusal(scenes.grid()) == (
        "Sheet does not move between frames 1 and 8: there is no motion to convert."
    )


def test_changing_topology_is_refused():
    obj = scenes.growing(scenes.key_shapes(scenes.grid()))
    sentence = refusal(obj, frames="CUSTOM", frame_start=4, frame_end=6)
    assert sentence.startswith("Sheet has 12 vertices in frame 4 and 15 in frame 5: ")


def test_an_empty_mesh_is_refused():
    obj = scenes.link(bpy.data.objects.new("Empty", bpy.data.meshes.new("Empty")))
    assert refusal(obj) == "Empty has no vertices."


def test_a_mesh_emptied_by_a_modifier_is_refused():
    obj = scenes.key_shapes(scenes.grid())
    obj.vertex_groups.new(name="None")
    mask = obj.modifiers.new("Mask", "MASK")
    mask.vertex_group = "None"
    obj.modifiers.new("Cast", "CAST")
    assert refusal(obj) == "Sheet has no vertices."


def linked_sheet(tmp_path):
    """A sheet that moves, from library.blend"""
    scenes.key_shapes(scenes.grid())
    library = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["Sheet"]
    return scenes.link(bpy.data.objects["Sheet"])


def test_a_linked_object_is_refused(tmp_path):
    obj = linked_sheet(tmp_path)
    assert "is linked from library.blend" in refusal(obj)


def test_a_read_only_override_is_refused(tmp_path):
    obj = linked_sheet(tmp_path).override_create(remap_local_usages=True)
    obj.override_library.is_system_override = True
    bpy.context.view_layer.update()
    assert "read-only" in refusal(obj)


@pytest.mark.parametrize("how", ["eye", "viewport", "collection"])
def test_a_hidden_object_is_refused(how):
    obj = scenes.key_shapes(scenes.grid())
    if how == "eye":
        obj.hide_set(True)
    elif how == "viewport":
        obj.hide_viewport = True
    else:
        collection = bpy.data.collections.new("Away")
        bpy.context.scene.collection.children.link(collection)
        collection.objects.link(obj)
        bpy.context.scene.collection.objects.unlink(obj)
        collection.hide_viewport = True
    assert refusal(obj).startswith("Sheet is hidden: ")


def test_an_excluded_collection_is_told():
    obj = scenes.key_shapes(scenes.grid())
    collection = bpy.data.collections.new("Away")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(obj)
    bpy.context.scene.collection.objects.unlink(obj)
    bpy.context.view_layer.layer_collection.children["Away"].exclude = True
    assert "not in this view layer" in refusal(obj)


def test_edit_mode_is_refused():
    obj = scenes.key_shapes(scenes.grid())
    scenes.select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    assert refusal(obj) == "Sheet is in Edit Mode: go back to Object Mode."
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_missing_cache_file_is_told(tmp_path):
    obj = scenes.grid()
    scenes.add_cache(obj, tmp_path / "gone.pc2", "PC2")
    sentence = refusal(obj)
    assert "gone.pc2" in sentence
    assert "there is no such file" in sentence
    obj.modifiers["Cache"].filepath = ""
    assert "names no cache file" in refusal(obj)


def test_what_is_not_finite_in_a_cache_is_told(tmp_path):
    obj = scenes.grid()
    frames = scenes.waves(scenes.positions(obj.data))
    frames[4, 17, 1] = np.nan
    scenes.cached(obj, tmp_path / "nan.pc2", frames)
    assert refusal(obj) == "Sheet has no finite position for vertex 17 in frame 5."


def test_poses_without_shape_keys_are_refused():
    assert "no shape keys to take as poses" in refusal(scenes.grid(), frames="POSES")


def test_poses_with_a_rest_frame_are_refused():
    obj = scenes.key_shapes(scenes.grid())
    assert "have no frames" in refusal(obj, frames="POSES", rest="FRAME")


# ---- odd, but fine


def converted(*objects, **chosen):
    context = bpy.context
    chosen = {"bones": 4, "quality": "DRAFT", **chosen}
    return run(convert.convert(context.scene, context.view_layer, list(objects), options.Options(**chosen)))


def test_shared_mesh_gets_its_own_copy_and_says_so():
    obj = scenes.key_shapes(scenes.grid())
    other = scenes.link(bpy.data.objects.new("Other", obj.data))
    result = converted(obj, skeleton="NONE")
    assert result.report.notes == ["Sheet's mesh is shared by 2 objects; the rig has a copy of its own."]
    assert result.meshes[0].data != obj.data
    assert other.data == obj.data


def test_one_vertex_is_converted():
    mesh = bpy.data.meshes.new("Dot")
    mesh.from_pydata([(0, 0, 0)], [], [])
    obj = scenes.link(bpy.data.objects.new("Dot", mesh))
    obj.keyframe_insert("location", frame=1)
    obj.location = (1, 2, 3)
    obj.keyframe_insert("location", frame=8)
    result = converted(obj, keys="EVERY")
    assert result.report.bones == 1
    assert result.report.maximum < 1e-5


def test_a_linked_mesh_of_a_local_object_is_converted(tmp_path):
    scenes.grid()
    library = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.context.scene.frame_end = 8
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.meshes = ["Sheet"]
    obj = scenes.link(bpy.data.objects.new("Local", bpy.data.meshes["Sheet"]))
    wave = obj.modifiers.new("Wave", "WAVE")
    wave.height = 0.5
    result = converted(obj)
    assert result.meshes[0].data.library is None
