"""The skeleton's buttons in a Blender with a window: bones clicked, wishes said, carried out and undone."""

import sys
from pathlib import Path

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from hands import DRAWN, wait_for
from mathutils import Euler, Vector

sys.path.append(str(Path(__file__).resolve().parents[1] / "addon"))
import scenes

SLOW = 1.0  # until a whole new screen is drawn, in software
APART, JOIN = "bpy.ops.ossify.wish(wish='APART'", "bpy.ops.ossify.wish(wish='JOIN'"
ROOT, UPDATE = "bpy.ops.ossify.make_root(", "bpy.ops.ossify.update_skeleton("


def armature():
    (found,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.ossify.version)
    return found


def parents():
    return {bone.name: bone.parent.name if bone.parent else "" for bone in armature().data.bones}


def is_selected(bone):
    return bone.select if hasattr(bone, "select") else bone.bone.select


def selected():
    return {bone.name for bone in armature().pose.bones if is_selected(bone)}


def make_rig(screen):
    """The creature of the other tests and its rig, seen from the front, in Pose Mode."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    body, bones = scenes.creature()
    scenes.select(body)
    bpy.data.objects["Mover"].hide_set(True)
    assert bpy.ops.ossify.convert(bones=len(bones), skeleton="HIERARCHY") == {"FINISHED"}
    bpy.data.objects.remove(bpy.data.objects["Mover"])
    bpy.data.objects.remove(body)
    bpy.context.scene.frame_set(1)
    yield SLOW
    view = screen.area().spaces.active.region_3d
    view.view_perspective = "ORTHO"
    view.view_rotation = Euler((np.pi / 2, 0, 0)).to_quaternion()
    view.view_location, view.view_distance = Vector((0.1, 0, 1.2)), 7.0
    with bpy.context.temp_override(window=screen.window, area=screen.area(), region=screen.region("WINDOW")):
        bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.ed.undo_push(message="Rig")
    yield SLOW


def place_of(screen, name):
    """Where the middle of a bone is on the screen."""
    region, view = screen.region("WINDOW"), screen.area().spaces.active.region_3d
    bone = armature().pose.bones[name]
    at = location_3d_to_region_2d(region, view, armature().matrix_world @ ((bone.head + bone.tail) / 2))
    return region.x + round(at.x), region.y + round(at.y)


def click(screen, *names):
    """Selects bones as a person does, the others by holding Shift."""
    for number, name in enumerate(names):
        yield from screen.key("LEFTMOUSE", place_of(screen, name), shift=number > 0)
        yield DRAWN
    assert selected() == set(names), f"a click on {names} selected {selected()}"


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
    assert len(children) == 1, f"Core.002 has {children}"
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
    colours = sys.modules[f"{module}.overlay"].COLOURS
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
    overlay = sys.modules[f"{module}.overlay"]
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
