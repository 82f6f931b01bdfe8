"""What the buttons do, without a screen."""

import types

import bpy
import chain
import ossify
import pytest
import scenes
from ossify.motion import sources
from ossify.options import options
from ossify.options.convert_words import CONVERT_WORDS
from ossify.ui import chosen, operators, operators_refit, operators_skeleton, panel, properties


@pytest.fixture
def source():
    obj = scenes.key_shapes(scenes.grid())
    scenes.select(obj)
    return obj


QUICK = {"bones": 4, "quality": "DRAFT"}


def test_settings_and_options_have_the_same_defaults():
    for field, value in vars(options.Options()).items():
        stored = options.plain(getattr(bpy.context.scene.ossify, field))
        assert stored == (pytest.approx(value) if isinstance(value, float) else value)
    for field in options.FIELDS:
        words = CONVERT_WORDS[field]
        assert words["name"]
        assert words["description"]
        assert not words["description"].endswith(".")


def test_the_operator_does_what_the_function_does(source):
    by_function = chain.converted(source, hide_source=False, **QUICK).armature
    scenes.select(source)
    values = {"keys": "EVERY", "threads": 1, "hide_source": False, "skeleton": "NONE", **QUICK}
    assert bpy.ops.ossify.convert("EXEC_DEFAULT", **values) == {"FINISHED"}
    by_operator = bpy.context.view_layer.objects.active
    assert by_operator != by_function
    assert by_operator.ossify.erms == by_function.ossify.erms
    for bone in by_function.data.bones:
        assert by_operator.data.bones[bone.name].matrix_local == bone.matrix_local


@pytest.mark.usefixtures("source")
def test_what_is_not_given_comes_from_the_sidebar():
    bpy.context.scene.ossify.bones = 3
    bpy.context.scene.ossify.quality = "DRAFT"
    bpy.ops.ossify.convert(influences=2)
    rig = bpy.context.object.ossify
    assert (rig.settings.bones, rig.settings.quality, rig.settings.influences) == (3, "DRAFT", 2)


@pytest.mark.usefixtures("source")
def test_a_preset_comes_before_the_sidebar_and_after_what_is_given():
    bpy.context.scene.ossify.bones = 3
    bpy.ops.ossify.convert(preset="DRAFT", influences=2)
    settings = bpy.context.object.ossify.settings
    assert settings.bones == options.preset_values("DRAFT")["bones"]
    assert settings.quality == "DRAFT"
    assert settings.influences == 2


@pytest.mark.parametrize("name", list(options.PRESETS))
def test_presets_are_recognised_and_leave_the_range_alone(name):
    settings = bpy.context.scene.ossify
    settings.frames, settings.frame_end = "CUSTOM", 77
    bpy.ops.ossify.preset(preset=name)
    assert options.preset_of(settings) == name
    assert settings.frame_end == 77
    settings.bones += 1
    assert options.preset_of(settings) is None


@pytest.mark.parametrize("name", ["GAME", "CLOTH", "FACE", "FIDELITY"])
@pytest.mark.usefixtures("source")
def test_every_preset_converts(name):
    bpy.ops.ossify.convert(preset=name, threads=1)
    rig = bpy.context.object.ossify
    assert rig.rms < 1


def test_refusals_reach_a_script_as_words(source):
    with pytest.raises(RuntimeError, match="before it starts"):
        bpy.ops.ossify.convert(frames="CUSTOM", frame_start=5, frame_end=1)
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="Edit Mode"):
        bpy.ops.ossify.convert()
    bpy.ops.object.mode_set(mode="OBJECT")
    source.hide_set(True)
    with pytest.raises(RuntimeError, match="hidden"):
        bpy.ops.ossify.convert()
    bpy.context.view_layer.objects.active = None
    with pytest.raises(RuntimeError, match="Select the meshes"):
        bpy.ops.ossify.convert()


def test_what_is_not_a_mesh_is_left_out_beside_one(source):
    camera = scenes.link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    scenes.select(camera, source)
    assert chosen.chosen_objects(bpy.context) == [source]
    scenes.select(camera)
    assert chosen.chosen_objects(bpy.context) == [camera]


def test_the_active_mesh_comes_first(source):
    other = scenes.grid("Another")
    scenes.select(source, other)
    assert chosen.chosen_objects(bpy.context) == [source, other]


@pytest.mark.usefixtures("source")
def test_a_conversion_is_one_undo_step():
    bpy.ops.ed.undo_push(message="before")
    before = scenes.picture()
    bpy.ops.ossify.convert("EXEC_DEFAULT", True, **QUICK)
    assert len(bpy.data.armatures) == 1
    bpy.ops.ed.undo()
    assert scenes.difference(before, scenes.picture()) == ""


def test_the_source_is_shown_and_hidden_again(source):
    bpy.ops.ossify.convert(**QUICK)
    assert not source.visible_get()
    bpy.ops.ossify.show_source()
    bpy.context.view_layer.update()
    assert source.visible_get()
    assert not source.hide_render
    bpy.ops.ossify.show_source()
    bpy.context.view_layer.update()
    assert not source.visible_get()


@pytest.mark.usefixtures("source")
def test_a_budget_is_kept_instead_of_a_count():
    bpy.ops.ossify.convert(bones_by="BUDGET", budget=0.5, bones_most=20)
    rig = bpy.context.object.ossify
    assert rig.bones <= 20
    assert rig.rms < 0.5 * 1.2


def test_offers_say_what_moves_the_object(source):
    offer = sources.offer(source, bpy.context.view_layer)
    assert (offer.vertices, offer.shape_keys, offer.trouble) == (81, 9, None)
    assert offer.motion == ["9 shape keys"]
    still = scenes.grid("Still")
    assert sources.offer(still, bpy.context.view_layer).motion == []


def test_contradictions_are_explained_before_work_starts():
    scene = bpy.context.scene
    settings = scene.ossify
    assert options.contradiction(settings, scene) is None
    settings.frames = "PREVIEW"
    assert "preview range" in options.contradiction(settings, scene)
    settings.frames, settings.rest = "POSES", "FRAME"
    assert "undeformed" in options.contradiction(settings, scene)


def test_paragraphs_fit_the_sidebar_and_lose_no_word():
    text = "only a mesh that keeps its vertices can become a rig"
    lines = panel._lines(text, 12, len)
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= 12
    assert panel._lines("a Donaudampfschiff b", 5, len) == ["a", "Donaudampfschiff", "b"]


def test_everything_is_registered():
    rooms = [room for room in ossify._ROOMS if hasattr(room, "CLASSES")]
    assert {operators, panel, properties} <= set(rooms)
    for cls in (cls for room in rooms for cls in room.CLASSES):
        assert cls.is_registered, cls
    assert "convert" in dir(bpy.ops.ossify)
    assert bpy.types.OSSIFY_PT_convert.bl_category == "Ossify"


def test_every_operator_says_what_it_and_its_settings_do():
    for name in dir(bpy.ops.ossify):
        kind = getattr(bpy.ops.ossify, name).get_rna_type()
        assert kind.description, name
        for setting in kind.properties:
            if setting.identifier != "rna_type" and not setting.is_hidden:
                assert setting.name, (name, setting.identifier)
                assert setting.description, (name, setting.identifier)
                words = [item.description for item in getattr(setting, "enum_items", ())]
                assert all(words), (name, setting.identifier)


@pytest.mark.parametrize("menu", ["VIEW3D_MT_object_animation", "VIEW3D_MT_object_convert"])
def test_it_is_in_the_menus_and_so_in_the_search(menu):
    assert operators.draw_menu in getattr(bpy.types, menu).draw._draw_funcs
    assert "INTERNAL" not in operators.OSSIFY_OT_convert.bl_options


@pytest.mark.parametrize(
    ("operator", "given", "words"),
    [
        (operators_skeleton.OSSIFY_OT_wish, {"wish": "APART"}, "does not join the two"),
        (operators_refit.OSSIFY_OT_hold, {"what": "BONES", "held": True}, "keep their weights"),
        (operators_refit.OSSIFY_OT_hold, {"what": "FRAMES", "held": False}, "Let go of this frame"),
    ],
)
def test_a_button_that_does_several_things_tells_which(operator, given, words):
    assert words in operator.description(bpy.context, types.SimpleNamespace(**given))


class Words:
    """A layout that notes the texts of its buttons."""

    def __init__(self):
        self.texts = []

    def operator(self, _operator, text="", **_more):
        self.texts.append(text)
        return types.SimpleNamespace()

    def separator(self):
        pass


def test_the_menu_of_the_skeleton_is_drawn():
    layout = Words()
    operators_skeleton.OSSIFY_MT_skeleton.draw(types.SimpleNamespace(layout=layout), bpy.context)
    assert layout.texts[:3] == ["Join Bones", "Keep Apart", "Leave It to the Motion"]
