"""The sidebar's part for bodies of one family."""

import bpy

from ..family import rigged, slider_rig
from ..rig import drivers
from .operators_family import slider_rig_of
from .panel import Sidebar, draw_progress, runs
from .panel_rows import as_settings


class OSSIFY_PT_family(Sidebar, bpy.types.Panel):
    bl_label = "Bodies"
    bl_order = 0  # above the settings of a conversion: sliders are what one looks for
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return rigged.armature_of(context.view_layer.objects.active) is not None or bool(
            slider_rig_of(context)
        )

    def draw(self, context):
        layout, armature = as_settings(self.layout), slider_rig_of(context)
        if any(map(runs, ("OSSIFY_OT_fit_rig", "OSSIFY_OT_body_sliders", "OSSIFY_OT_body_bones"))):
            draw_progress(layout)
        elif armature is None:
            column = layout.column(align=True)
            column.operator("ossify.fit_rig", icon="OUTLINER_OB_ARMATURE")
            column.operator("ossify.body_sliders", icon="SHAPEKEY_DATA")
            column.operator("ossify.body_bones", icon="GROUP_BONE")
        else:
            column = layout.column(align=True)
            for name in slider_rig.record_of(armature)["names"]:
                column.prop(armature, drivers.path_of(name), text=name, slider=True)
            row = layout.row(align=True)
            row.operator("ossify.reset_body", text="Reset")
            row.operator("ossify.random_body", text="Random")
            row.operator("ossify.find_body", text="Find")


CLASSES = (OSSIFY_PT_family,)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
