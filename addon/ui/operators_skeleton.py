"""Operators on the skeleton of a rig: what an artist wants of it, and its update. Thin, as the others are."""

import bpy
from bpy.props import EnumProperty

from ..edit import rejoin
from ..motion import sources
from ..skeleton import joints
from . import preview
from .chosen import OfBones, OfIdleRig, OfRig, allowed, rig_of
from .modal import FAILURES, fail

_WISHES = {  # name and description
    "JOIN": ("Join Bones", "The next Update Skeleton joins the two selected bones, and their mirror images"),
    "APART": (
        "Keep Apart",
        "The next Update Skeleton does not join the two selected bones, nor their mirror images",
    ),
    "FORGET": ("Leave It to the Motion", "Forget what was said of the two selected bones"),
}


class OSSIFY_OT_wish(OfBones, bpy.types.Operator):
    """Say how two selected bones hang together; Update Skeleton then does it"""

    bl_idname = "ossify.wish"
    bl_label = "Join Bones"
    bl_options = {"REGISTER", "UNDO"}

    wish: EnumProperty(
        name="Wish",
        description="What the next Update Skeleton does with the two bones",
        items=[(wish, *words) for wish, words in _WISHES.items()],
    )

    @classmethod
    def description(cls, _context, operator):
        return _WISHES[operator.wish][1]

    def execute(self, context):
        rig, pair = rig_of(context).ossify, self.selected(context)
        for index in reversed(range(len(rig.wishes))):
            if sorted((rig.wishes[index].first, rig.wishes[index].second)) == pair:
                rig.wishes.remove(index)
        if self.wish != "FORGET":
            wish = rig.wishes.add()
            wish.first, wish.second = pair
            wish.joined = self.wish == "JOIN"
        return {"FINISHED"}


class OSSIFY_OT_make_root(OfBones, bpy.types.Operator):
    """Make the selected bone the one that all others hang from; Update Skeleton then does it"""

    bl_idname = "ossify.make_root"
    bl_label = "Make Root of Skeleton"
    bl_options = {"REGISTER", "UNDO"}
    needed = 1

    def execute(self, context):
        (rig_of(context).ossify.root_bone,) = self.selected(context)
        return {"FINISHED"}


class OSSIFY_OT_forget_wishes(OfRig, bpy.types.Operator):
    """Forget all that was said of the skeleton of this rig: the next update leaves it to the motion"""

    bl_idname = "ossify.forget_wishes"
    bl_label = "Leave All to the Motion"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        armature = rig_of(context)
        return super().poll(context) and allowed(cls, sources.library_trouble(armature, armature.name))

    def execute(self, context):
        rig = rig_of(context).ossify
        rig.wishes.clear()
        rig.root_bone = ""
        return {"FINISHED"}


class OSSIFY_OT_update_skeleton(OfIdleRig, bpy.types.Operator):
    """Hang the bones of this rig anew, by its weights, its motion and your wishes; nothing is solved"""

    bl_idname = "ossify.update_skeleton"
    bl_label = "Update Skeleton"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        armature = rig_of(context)
        preview.stop()  # its poses are no part of the rig
        try:
            skeleton, keyed, notes = rejoin.rejoin(context, armature)
        except FAILURES as error:
            return fail(self, error)
        for note in notes:
            self.report({"WARNING"}, note)
        if skeleton.message:
            self.report({"WARNING"}, skeleton.message[0].upper() + skeleton.message[1:])
        self.report({"INFO"}, f"{armature.name}: {joints.moving(keyed.located)} against the parent")
        return {"FINISHED"}


def draw_wish_buttons(layout, wishes: tuple[str, ...]) -> None:
    for wish in wishes:
        layout.operator(OSSIFY_OT_wish.bl_idname, text=_WISHES[wish][0]).wish = wish


class OSSIFY_MT_skeleton(bpy.types.Menu):
    bl_label = "Ossify Skeleton"

    def draw(self, _context):
        draw_wish_buttons(self.layout, ("JOIN", "APART", "FORGET"))
        self.layout.operator(OSSIFY_OT_make_root.bl_idname)
        self.layout.separator()
        self.layout.operator(OSSIFY_OT_update_skeleton.bl_idname)


CLASSES = (
    OSSIFY_OT_wish,
    OSSIFY_OT_make_root,
    OSSIFY_OT_forget_wishes,
    OSSIFY_OT_update_skeleton,
    OSSIFY_MT_skeleton,
)


def draw_menu(self, context) -> None:
    """Of Pose Mode."""
    if rig_of(context) is not None:
        self.layout.separator()
        self.layout.menu(OSSIFY_MT_skeleton.__name__, icon="ARMATURE_DATA")


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_pose.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_pose.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
