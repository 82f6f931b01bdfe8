"""Operators on the bones of a rig: thin, they do nothing that a script could not do with bone_*.py."""

from typing import ClassVar

import bpy
from bpy.props import BoolProperty, FloatProperty

from ..edit import bone_change, bone_growth, bone_merge, bone_removal
from ..refit import refit_check
from .chosen import OfIdleRig, allowed, is_selected, rig_of
from .modal import Working

_NAMES_SHOWN = 12  # names in a dialog


class _EditsBones(Working, OfIdleRig):
    """An operator on the bones of the active rig, in Pose or Object Mode."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        fits = context.mode in {"POSE", "OBJECT"}
        return super().poll(context) and allowed(cls, None if fits else "Go to Pose Mode or Object Mode")

    def steps(self, context):
        return self.edit(context, rig_of(context))

    def check_first(self, context) -> None:
        refit_check.check(rig_of(context))

    def succeed(self, done: bone_change.Edited) -> set[str]:
        for note in done.notes:
            self.report({"WARNING"}, note)
        self.report({"INFO"}, done.words(self.verb))
        return {"FINISHED"}


class _EditsSelected(_EditsBones):
    needed = 1

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        posed = context.mode == "POSE" and active(context) is not None
        fits = posed and len(selected(context)) >= cls.needed
        words = "two or more bones, the last is kept" if cls.needed > 1 else "the bone"
        return allowed(cls, None if fits else f"Select {words}, in Pose Mode")


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
        return bone_merge.merge(context, armature, active(context), selected(context), self.solve)


class OSSIFY_OT_split_bone(_EditsSelected, bpy.types.Operator):
    """Make two bones of the active one, by how the vertices that follow it move"""

    bl_idname = "ossify.split_bone"
    bl_label = "Split Bone"
    verb = "Made"

    def edit(self, context, armature):
        return bone_growth.split(context, armature, active(context))


class OSSIFY_OT_add_bone(_EditsBones, bpy.types.Operator):
    """Add a bone where the error is most; what is around it is solved again"""

    bl_idname = "ossify.add_bone"
    bl_label = "Add Bone at Worst"
    verb = "Added"

    def edit(self, context, armature):
        return bone_growth.add_at_worst(context, armature)


class OSSIFY_OT_remove_useless(_EditsBones, bpy.types.Operator):
    """Remove bones that hardly lower the error. Bones that you added or moved, that have constraints, drivers
    or shapes, that something else names, or of which something is held, stay"""

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

    looks = False  # in a window bones are looked for first, and shown before they go

    def edit(self, context, armature):
        work = bone_removal.find_useless if self.looks else bone_removal.remove_useless
        return work(context, armature, self.tolerance)

    def invoke(self, context, _event):
        if bpy.app.background or context.window is None:
            return self.execute(context)
        self.asked = self.looks = True
        return context.window_manager.invoke_props_dialog(self, confirm_text="Look for Them")

    def draw(self, _context):
        self.layout.prop(self, "tolerance")

    def succeed(self, done) -> set[str]:
        if not self.looks:
            return super().succeed(done)
        if not done.names:
            self.report({"INFO"}, bone_removal.NOTHING)
        else:
            OSSIFY_OT_remove_found.offer(done, self)
        return {"CANCELLED"}  # nothing is changed yet, and nothing to undo


class OSSIFY_OT_remove_found(_EditsBones, bpy.types.Operator):
    """Remove the bones that were found to be useless"""

    bl_idname = "ossify.remove_found"
    bl_label = "Remove Useless Bones"
    bl_options = {"UNDO", "INTERNAL"}
    verb = "Removed"

    found: ClassVar[bone_removal.Useless | None] = None

    @classmethod
    def poll(cls, context):
        found = allowed(cls, None if cls.found is not None else "Look for useless bones first")
        return found and super().poll(context)

    @classmethod
    def offer(cls, found: bone_removal.Useless, teller) -> None:
        """Shows them, unless the artist has gone elsewhere while they were looked for."""
        cls.found = found
        if bpy.ops.ossify.remove_found.poll():
            bpy.ops.ossify.remove_found("INVOKE_DEFAULT")
        else:
            count = len(cls._take().names)
            words = f"{count} bones are useless" if count != 1 else "One bone is useless"
            teller.report({"ERROR"}, f"{words}: look again in Pose Mode or Object Mode, with the rig active.")

    @classmethod
    def _take(cls) -> bone_removal.Useless:
        found, cls.found = cls.found, None
        return found

    def edit(self, _context, _armature):
        return bone_removal.remove(self._take())

    def cancel(self, context):
        self._take()
        super().cancel(context)

    def invoke(self, context, _event):
        self.asked = True
        return context.window_manager.invoke_props_dialog(self, width=420, confirm_text="Remove")

    def draw(self, _context):
        found, column = self.found, self.layout.column(align=True)
        count = len(found.names)
        column.label(text=f"{count} of {count + len(found.left)} bones can go")
        words = f"Error {found.before:.3g} % of the size now, {found.after:.3g} % or less without them"
        column.label(text=words)
        for name in found.names[:_NAMES_SHOWN]:
            column.label(text=name, icon="BONE_DATA")
        if count > _NAMES_SHOWN:
            column.label(text=f"and {count - _NAMES_SHOWN} more")


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
    for cls in (*CLASSES, OSSIFY_OT_remove_found, OSSIFY_MT_bones):
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_pose.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_pose.remove(draw_menu)
    for cls in reversed((*CLASSES, OSSIFY_OT_remove_found, OSSIFY_MT_bones)):
        bpy.utils.unregister_class(cls)
