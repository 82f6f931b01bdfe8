"""Operators of Keep Volume: thin, they do nothing that a script could not do with edit/keep_volume.py."""

import bpy

from ..base.words import counted
from ..edit import edits, keep_volume
from ..nodes import volume
from ..refit import refit_check
from .chosen import OfIdleRig, allowed, rig_of
from .modal import FAILURES, Working, fail


class OSSIFY_OT_add_keep_volume(Working, OfIdleRig, bpy.types.Operator):
    """Let joints keep their volume: fit what the skin loses in the motion, and add it by a modifier after the
    armature. Bones, weights and keys stay; pressed again, it is fitted again"""

    bl_idname = "ossify.add_keep_volume"
    bl_label = "Add Keep Volume"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return super().poll(context) and allowed(cls, refit_check.trouble(rig_of(context)))

    def steps(self, context):
        return keep_volume.add(context, rig_of(context))

    def check_first(self, context) -> None:
        edits.check(rig_of(context))

    def succeed(self, kept: keep_volume.Kept) -> set[str]:
        self.report({"INFO"}, f"Keep Volume: {kept.words()}")
        return {"FINISHED"}


class _OfKept(OfIdleRig):
    """An operator on a rig that keeps its volume."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        armature = rig_of(context)
        lacking = None if volume.is_on(armature) else "The rig has no Keep Volume"
        return allowed(cls, edits.trouble(armature) or lacking)

    def execute(self, context):
        try:
            words = self.do(rig_of(context))
        except FAILURES as error:
            return fail(self, error)
        context.view_layer.update()
        self.report({"INFO"}, words)
        return {"FINISHED"}


class OSSIFY_OT_remove_keep_volume(_OfKept, bpy.types.Operator):
    """Take Keep Volume off: the modifier, what it reads, and the attributes on the meshes"""

    bl_idname = "ossify.remove_keep_volume"
    bl_label = "Remove Keep Volume"

    def do(self, armature) -> str:
        return f"Keep Volume taken off {counted(keep_volume.remove(armature), 'mesh')}"


class OSSIFY_OT_rebind_keep_volume(_OfKept, bpy.types.Operator):
    """After a rig was duplicated, or bones renamed: let meshes follow the bones of their own rig again"""

    bl_idname = "ossify.rebind_keep_volume"
    bl_label = "Rebind"

    def do(self, armature) -> str:
        count = keep_volume.rebind(armature)
        return f"{counted(count, 'mesh')} bound to {armature.name}" if count else "Nothing was astray"


CLASSES = (OSSIFY_OT_add_keep_volume, OSSIFY_OT_remove_keep_volume, OSSIFY_OT_rebind_keep_volume)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
