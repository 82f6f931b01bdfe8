"""Operators on the bones of a rig: thin, they do nothing that a script could not do with bone_edits.py."""

import bpy
from bpy.props import BoolProperty, FloatProperty

from . import bone_edits
from .modal import fail
from .operators import OfIdleRig, is_selected, rig_of
from .options import Refusal

_SHOWN = 12  # names in a dialog


class _EditsBones(OfIdleRig):
    """An operator on the bones of the active rig, in Pose or Object Mode."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        if context.mode not in {"POSE", "OBJECT"}:
            cls.poll_message_set("Go to Pose Mode or Object Mode")
            return False
        return True

    def execute(self, context):
        try:
            done = self.edit(context, rig_of(context))
        except Exception as error:
            return fail(self, error)
        for note in done.notes:
            self.report({"WARNING"}, note)
        self.report({"INFO"}, bone_edits.words(done, self.verb))
        return {"FINISHED"}


class _EditsSelected(_EditsBones):
    needed = 1

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        if context.mode != "POSE" or len(selected(context)) < cls.needed or active(context) is None:
            words = "two or more bones, the last is kept" if cls.needed > 1 else "the bone"
            cls.poll_message_set(f"Select {words}, in Pose Mode")
            return False
        return True


def selected(context) -> list[str]:
    return [bone.name for bone in rig_of(context).pose.bones if is_selected(bone)]


def active(context) -> str | None:
    bone = rig_of(context).data.bones.active
    return bone.name if bone is not None and bone.name in selected(context) else None


class OSSIFY_OT_merge_bones(_EditsSelected, bpy.types.Operator):
    """Make the selected bones one: the active bone gets the weights of the others, and its motion is solved
    again"""

    bl_idname = "ossify.merge_bones"
    bl_label = "Merge Bones"
    needed = 2
    verb = "Merged"

    solve: BoolProperty(
        name="Solve Weights",
        description="Solve the weights of the vertices that follow the bone as well; if not, they are sums",
        default=True,
    )

    def edit(self, context, armature):
        return bone_edits.merge(context, armature, active(context), selected(context), self.solve)


class OSSIFY_OT_split_bone(_EditsSelected, bpy.types.Operator):
    """Make two bones of the active one, by how the vertices that follow it move"""

    bl_idname = "ossify.split_bone"
    bl_label = "Split Bone"
    verb = "Made"

    def edit(self, context, armature):
        return bone_edits.split(context, armature, active(context))


class OSSIFY_OT_add_bone(_EditsBones, bpy.types.Operator):
    """Add a bone where the error is most; what is around it is solved again"""

    bl_idname = "ossify.add_bone"
    bl_label = "Add Bone at Worst"
    verb = "Added"

    def edit(self, context, armature):
        return bone_edits.add_at_worst(context, armature)


class OSSIFY_OT_remove_useless(_EditsBones, bpy.types.Operator):
    """Remove bones that hardly lower the error. Bones that you added, that have constraints, drivers or
    shapes, or that something else names, stay"""

    bl_idname = "ossify.remove_useless"
    bl_label = "Remove Useless Bones"
    verb = "Removed"

    tolerance: FloatProperty(
        name="Tolerance",
        description="The most that the error may grow in all, in percent of the size",
        default=0.02,
        min=0,
        max=100,
        soft_max=1,
        precision=4,
        subtype="PERCENTAGE",
    )

    def edit(self, context, armature):
        return bone_edits.remove(context, bone_edits.find_useless(context, armature, self.tolerance))

    def _look(self, context) -> None:
        """For the dialog: which bones would go."""
        try:
            found = bone_edits.find_useless(context, rig_of(context), self.tolerance)
        except Refusal as refusal:
            self._preview = [str(refusal)]
            return
        count = len(found.names)
        self._preview = [f"{count} of {len(found.names) + len(found.left)} bones"]
        if count:
            self._preview[0] += f", {bone_edits.error_words(found.before, found.after)}"
        self._preview += found.names[:_SHOWN]
        if count > _SHOWN:
            self._preview.append(f"and {count - _SHOWN} more")

    def invoke(self, context, _event):
        if bpy.app.background or context.window is None:
            return self.execute(context)
        try:
            self._look(context)
        except Exception as error:
            return fail(self, error)
        return context.window_manager.invoke_props_dialog(self, width=420)

    def check(self, context):
        """The tolerance was changed in the dialog."""
        self._look(context)
        return True

    def draw(self, _context):
        self.layout.prop(self, "tolerance")
        column = self.layout.column(align=True)
        for line in getattr(self, "_preview", ()):
            column.label(text=line)


CLASSES = (OSSIFY_OT_merge_bones, OSSIFY_OT_split_bone, OSSIFY_OT_add_bone, OSSIFY_OT_remove_useless)


class OSSIFY_MT_bones(bpy.types.Menu):
    bl_label = "Ossify Bones"

    def draw(self, _context):
        for cls in CLASSES:
            self.layout.operator(cls.bl_idname)


def draw_menu(self, context) -> None:
    """Of Pose Mode."""
    if rig_of(context) is not None:
        self.layout.menu(OSSIFY_MT_bones.__name__, icon="BONE_DATA")


def register() -> None:
    for cls in (*CLASSES, OSSIFY_MT_bones):
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_pose.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_pose.remove(draw_menu)
    for cls in reversed((*CLASSES, OSSIFY_MT_bones)):
        bpy.utils.unregister_class(cls)
