"""The skeleton's buttons in a Blender with a window: bones clicked, wishes said, carried out and undone."""

import sys

import bpy
import numpy as np
from creature import armature, click, enter, look, make
from hands import DRAWN, SLOW, wait_for

APART, JOIN = "bpy.ops.ossify.wish(wish='APART'", "bpy.ops.ossify.wish(wish='JOIN'"
ROOT, UPDATE = "bpy.ops.ossify.make_root(", "bpy.ops.ossify.update_skeleton("


def parents():
    return {bone.name: bone.parent.name if bone.parent else "" for bone in armature().data.bones}


def make_rig(screen):
    """The creature's rig alone, in Pose Mode."""
    body, bones = make()
    assert bpy.ops.ossify.convert(bones=len(bones), skeleton="HIERARCHY") == {"FINISHED"}
    bpy.data.objects.remove(bpy.data.objects["Mover"])
    bpy.data.objects.remove(body)
    bpy.context.scene.frame_set(1)
    yield SLOW
    yield from look(screen)
    yield from enter(screen, "POSE")


def undo(screen):
    yield from screen.key("Z", ctrl=True)
    yield SLOW


def wishes_are_carried_out_and_undone(screen, note):
    before = parents()
    assert before["Side.001.L"] == "Core.001", before
    yield from click(screen, "Side.001.L", "Core.001")
    yield from screen.press(APART)
    yield from click(screen, "Side.001.L", "Core.002")
    yield from screen.press(JOIN)
    yield from wait_for(lambda: len(armature().ossify.wishes) == 2, 5, "two wishes are noted")
    yield DRAWN
    screen.picture("wishes")
    yield from screen.press(UPDATE)
    yield from wait_for(lambda: parents() != before, 10, "the skeleton is updated")
    assert armature().mode == "POSE"
    children = {bone.name for bone in armature().data.bones["Core.002"].children}
    assert len(children) == 2, f"Core.002 has {children}"  # a wish counts for the other arm, too
    yield DRAWN
    screen.picture("rejoined")
    yield from undo(screen)
    assert parents() == before, "undo did not hang the bones back"
    assert len(armature().ossify.wishes) == 2, "one undo took more than the update back"
    note("Keep Apart, Join Bones and Update Skeleton do it; one undo hangs the bones back")


def a_root_is_made_and_undone(screen, note):
    before = parents()
    yield from click(screen, "Down.002.L")
    yield from screen.press(ROOT)
    yield from wait_for(lambda: armature().ossify.root_bone == "Down.002.L", 5, "the root is noted")
    yield from screen.press(UPDATE)
    yield from wait_for(lambda: parents() != before, 10, "the skeleton is updated")
    (first,) = (bone for bone in armature().data.bones["Root"].children)
    assert first.name == armature().ossify.root_bone, f"{first.name} hangs from the root"
    yield DRAWN
    screen.picture("other-root")
    yield from undo(screen)
    assert parents() == before, "undo did not give the root back"
    note("Make Root of Skeleton does it; one undo takes it back")


def pixels_like(screen, path, colour):
    """How many pixels of the viewport have nearly this colour."""
    pixels = screen.pixels(path)
    view = screen.region("WINDOW")
    part = pixels[view.y : view.y + view.height, view.x : view.x + view.width - screen.region("UI").width]
    return int((np.abs(part.astype(int) - 255 * np.array(colour)).max(axis=2) < 20).sum())


def joints_are_drawn_while_they_are_shown(screen, note, module):
    colours = sys.modules[f"{module}.ui.overlay"].COLOURS
    counts = {}
    for name, shown in (("no-joints", False), ("joints", True), ("joints-gone", False)):
        armature().ossify.show_joints = shown
        yield SLOW
        picture = screen.picture(name)
        counts[name] = {kind: pixels_like(screen, picture, colours[kind]) for kind in ("ball", "hinge")}
    for kind in ("ball", "hinge"):
        without, drawn, after = (counts[name][kind] for name in counts)
        assert drawn > without + 100, f"{kind}: {counts}"
        assert after < without + 20, f"{kind}: {counts}"
    words = "joints are drawn while they are shown: {ball} pixels of dots, {hinge} of hinges"
    note(words.format(**counts["joints"]))


def joints_go_with_the_extension(screen, note, module):
    armature().ossify.show_joints = True
    yield SLOW
    overlay = sys.modules[f"{module}.ui.overlay"]
    hinge = overlay.COLOURS["hinge"]
    shown = pixels_like(screen, screen.picture("before-disable"), hinge)
    bpy.ops.preferences.addon_disable(module=module)
    yield SLOW
    left = pixels_like(screen, screen.picture("disabled"), hinge)
    assert left < shown - 100, f"{shown} pixels of hinges, {left} when the extension was disabled"
    bpy.ops.preferences.addon_enable(module=module)
    yield SLOW
    bpy.ops.wm.read_homefile()
    yield SLOW
    note("disabling the extension takes the joints off the screen")


def script(screen, note, module):
    """All of it; `note` gets what was seen."""
    yield from screen.open_sidebar("Ossify")
    yield from make_rig(screen)
    yield from screen.open_sidebar("Ossify")
    yield from wishes_are_carried_out_and_undone(screen, note)
    yield from a_root_is_made_and_undone(screen, note)
    yield from joints_are_drawn_while_they_are_shown(screen, note, module)
    yield from joints_go_with_the_extension(screen, note, module)
