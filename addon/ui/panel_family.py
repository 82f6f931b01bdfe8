"""The sidebar's part for bodies of one family."""

import bpy

from ..family import rigged
from .operators_family import OSSIFY_OT_fit_rig
from .panel import Sidebar, draw_progress, runs
from .panel_rows import as_settings


class OSSIFY_PT_family(Sidebar, bpy.types.Panel):
    bl_label = "Bodies"
    bl_order = 3
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return rigged.armature_of(context.view_layer.objects.active) is not None

    def draw(self, _context):
        layout = as_settings(self.layout)
        if runs("OSSIFY_OT_fit_rig"):
            draw_progress(layout)
            return
        layout.operator(OSSIFY_OT_fit_rig.bl_idname, icon="OUTLINER_OB_ARMATURE")


CLASSES = (OSSIFY_PT_family,)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
