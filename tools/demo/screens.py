"""Runs inside a Blender with a window: takes the manual's pictures while the extension is used.

blender --enable-event-simulate --python tools/demo/screens.py -- ZIP PICTURES
"""

import importlib
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "window")]

import bpy
import picture
import scenes
from hands import DRAWN, Screen, leave, play, wait_for
from mathutils import Euler, Vector

ZIP, PICTURES = map(Path, sys.argv[sys.argv.index("--") + 1 :])
CONVERT = "bpy.ops.ossify.convert("
LIMIT = 600  # seconds for everything
SLOW = 1.0  # until a whole new screen is drawn, in software
FRAME = 10
SCROLLED = 500  # pixels, down to the panel that refits
BONES = 21
SHOULDER = (-0.23, -0.56, 0.92)  # of the dog, in its own space
TAIL = (0, 1.27, 1.34)  # the middle of it

folder = Path(tempfile.mkdtemp())
screen = Screen(folder)


def install():
    done = bpy.ops.extensions.package_install_files(
        filepath=str(ZIP), repo="user_default", enable_on_install=True
    )
    assert done == {"FINISHED"}, done
    panel = bpy.types.OSSIFY_PT_refitted
    bpy.utils.unregister_class(panel)
    panel.bl_options = set()  # open from the first time it is drawn: nobody is here to click on it
    bpy.utils.register_class(panel)


def in_view(**more):
    window, area = screen.window, screen.area()
    return bpy.context.temp_override(window=window, area=area, region=screen.region("WINDOW"), **more)


def make_dog():
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, scenes.FRAMES
    scene.ossify.bones_by, scene.ossify.bones, scene.ossify.skeleton = "COUNT", BONES, "ARTICULATED"
    scenes.dog(folder)
    scene.frame_set(FRAME)


def look():
    """Only the viewport, seen a little from above."""
    with in_view():
        bpy.ops.screen.screen_full_area()
    yield SLOW
    space = screen.area().spaces.active
    space.region_3d.view_perspective = "PERSP"
    space.region_3d.view_rotation = Euler((1.3, 0, -0.75)).to_quaternion()
    space.region_3d.view_location, space.region_3d.view_distance = Vector((-2.0, -0.45, 0.9)), 5.8
    space.show_region_toolbar = False
    space.overlay.show_cursor = False
    yield from screen.open_sidebar("Ossify")
    yield SLOW


def running():
    return any(operator.bl_idname == "OSSIFY_OT_convert" for operator in screen.window.modal_operators)


def keep(name):
    """As a small file with few colours, which is enough for an interface."""
    yield from screen.move(*screen.middle())
    yield SLOW
    screen.keep(screen.picture(name), PICTURES / f"{name}.png")


def convert():
    yield from screen.press(CONVERT)
    yield from wait_for(running, 5, "the conversion starts")
    session = importlib.import_module("bl_ext.user_default.ossify.ui.session")
    yield from wait_for(lambda: session.current and session.current.step.fraction > 0.3, 60, "the solver")
    yield DRAWN
    screen.keep(screen.picture("progress"), PICTURES / "progress.png")
    yield from wait_for(lambda: not running(), 200, "the conversion")
    yield SLOW


def show_bones():
    (armature,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    with in_view(active_object=armature, object=armature):
        bpy.ops.object.mode_set(mode="POSE")
    yield SLOW
    yield from keep("rig")
    return armature


def select_bone(armature, chosen):
    """Alone, as a click does."""
    for bone in armature.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = bone == chosen
    armature.data.bones.active = chosen.bone


def show_skeleton(armature):
    """The joints, and an upper leg that is turned by hand."""
    select_bone(armature, picture.bone_at(armature, SHOULDER))
    with in_view():
        armature.ossify.show_joints = True
    yield SLOW
    yield from keep("skeleton")
    with in_view():
        armature.ossify.show_joints = False
        picture.pose(armature, [picture.Grip(SHOULDER, (-1.2, 0, 0))])
    yield SLOW
    yield from keep("posed")
    bpy.context.scene.frame_set(FRAME)  # its key takes the leg back
    with in_view(active_object=armature, object=armature):
        bpy.ops.object.mode_set(mode="OBJECT")


def show_error(armature):
    armature.hide_set(True)
    with in_view():
        armature.ossify.show_error = True
    bpy.context.view_layer.objects.active = armature.children[0]
    yield SLOW
    yield from keep("error")
    with in_view():
        armature.ossify.show_error = False
    armature.hide_set(False)
    bpy.context.view_layer.objects.active = armature


def scroll(pixels):
    with bpy.context.temp_override(window=screen.window, area=screen.area(), region=screen.region("UI")):
        bpy.ops.view2d.pan(deltay=-pixels)


def show_refit(armature):
    """A bone of the tail is deleted, and the rig refitted."""
    end = picture.bone_at(armature, TAIL).name
    with in_view(active_object=armature, object=armature):
        bpy.ops.object.mode_set(mode="EDIT")
        bones = armature.data.edit_bones
        bones.remove(bones[end])
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.ossify.look_for_changes()
    yield SLOW
    scroll(SCROLLED)
    yield from keep("changes")
    with in_view():
        bpy.ops.ossify.refit()
        armature.ossify.show_change = True
    yield SLOW
    yield from keep("refitted")
    with in_view():
        armature.ossify.show_change = False
    scroll(-SCROLLED)


def script():
    install()
    make_dog()
    yield from look()
    yield from keep("panel")
    yield from convert()
    armature = yield from show_bones()
    yield from show_skeleton(armature)
    yield from show_error(armature)
    yield from show_refit(armature)


def ended(error):
    if error is not None:
        screen.keep(screen.picture("failure"), PICTURES / "failure.png")
    leave(1 if error is not None else 0)


bpy.context.preferences.view.show_splash = False
play(script(), ended, LIMIT)
