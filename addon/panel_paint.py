"""The panels of what the solver does to weights and bones of a rig that stands."""

import bpy

from . import operators_bones, operators_paint
from .operators import rig_of


class _OfRig:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Ossify"
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None

    def draw(self, _context):
        column = self.layout.column(align=True)
        for operator in self.operators:
            column.operator(operator.bl_idname)


class OSSIFY_PT_edit_bones(_OfRig, bpy.types.Panel):
    bl_label = "Bones"
    operators = operators_bones.CLASSES


class OSSIFY_PT_edit_weights(_OfRig, bpy.types.Panel):
    bl_label = "Weights"
    operators = operators_paint.CLASSES


CLASSES = (OSSIFY_PT_edit_bones, OSSIFY_PT_edit_weights)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
