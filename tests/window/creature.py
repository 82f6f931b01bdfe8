"""The creature of the other tests in a window, and its rig: seen from the front, its bones clicked."""

import bpy
import contents
import numpy as np
import scenes
from bpy_extras.view3d_utils import location_3d_to_region_2d
from hands import DRAWN, SLOW
from mathutils import Euler, Vector


def armature():
    (found,) = (obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.ossify.version)
    return found


def mesh():
    (found,) = (item.object for item in armature().ossify.meshes)
    return found


def dense():
    """[v][group] weights of the rig's mesh"""
    found = np.zeros((len(mesh().data.vertices), len(mesh().vertex_groups)))
    for row, groups in enumerate(contents.weights_of(mesh().data)):
        for group, weight in groups:
            found[row, group] = weight
    return found


def make(**chosen):
    """A creature alone in the file; what moves it is hidden."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    return another(**chosen)


def another(**chosen):
    movers = {obj.name for obj in bpy.data.objects}
    body, bones = scenes.creature(fineness=2, **chosen)
    scenes.select(body)
    for obj in bpy.data.objects:
        if obj.type == "ARMATURE" and obj.name not in movers:
            obj.hide_set(True)
    return body, bones


def in_view(screen, **more):
    return bpy.context.temp_override(
        window=screen.window, area=screen.area(), region=screen.region("WINDOW"), **more
    )


def look(screen):
    """From the front."""
    view = screen.area().spaces.active.region_3d
    view.view_perspective = "ORTHO"
    view.view_rotation = Euler((np.pi / 2, 0, 0)).to_quaternion()
    view.view_location, view.view_distance = Vector((0.1, 0, 1.2)), 7.0
    yield SLOW


def enter(screen, mode, obj=None):
    """A mode, with an object as the active one."""
    with in_view(screen):
        if bpy.context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        if obj is not None:
            scenes.select(obj)
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode=mode)
    bpy.ops.ed.undo_push(message=mode)
    yield SLOW


def is_selected(bone):
    return bone.select if hasattr(bone, "select") else bone.bone.select


def selected():
    return {bone.name for bone in armature().pose.bones if is_selected(bone)}


def place_of(screen, name, rest=False):
    """Where the middle of a bone is on the screen, as it is posed or at rest."""
    region, view = screen.region("WINDOW"), screen.area().spaces.active.region_3d
    bone = armature().pose.bones[name]
    middle = (bone.bone.head_local + bone.bone.tail_local if rest else bone.head + bone.tail) / 2
    at = location_3d_to_region_2d(region, view, armature().matrix_world @ middle)
    return region.x + round(at.x), region.y + round(at.y)


def click(screen, *names):
    """Selects bones as a person does, the others by holding Shift."""
    for number, name in enumerate(names):
        yield from screen.key("LEFTMOUSE", place_of(screen, name), shift=number > 0)
        yield DRAWN
    assert selected() == set(names), f"a click on {names} selected {selected()}"
