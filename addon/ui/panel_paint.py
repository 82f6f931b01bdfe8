"""The panels of what the solver does to weights and bones of a rig that stands."""

import bpy

from . import operators_bones, operators_paint
from .chosen import rig_of
from .panel import Sidebar, draw_progress, runs


class _OfRig(Sidebar):
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}
    others = ()  # that these operators start

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None

    def draw(self, _context):
        column = self.layout.column(align=True)
        for operator in self.operators:
            column.operator(operator.bl_idname)
        if runs(*(operator.__name__ for operator in self.operators), *self.others):
            draw_progress(self.layout)


class OSSIFY_PT_edit_bones(_OfRig, bpy.types.Panel):
    bl_label = "Bones"
    bl_order = 2
    operators = operators_bones.CLASSES
    others = ("OSSIFY_OT_remove_found",)


class OSSIFY_PT_edit_weights(_OfRig, bpy.types.Panel):
    bl_label = "Weights"
    bl_order = 3
    operators = operators_paint.CLASSES


CLASSES = (OSSIFY_PT_edit_bones, OSSIFY_PT_edit_weights)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
