"""The sidebar's part for virtual bones, on any rig."""

import bpy

from ..base.words import counted
from ..options.options import COMPRESS_FIELDS
from ..rig import virtual_bones
from .operators_virtual import armature_of
from .panel import Sidebar, draw_progress, runs
from .panel_rows import as_settings


class OSSIFY_PT_virtual(Sidebar, bpy.types.Panel):
    bl_label = "Virtual Bones"
    bl_order = 2
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return armature_of(context) is not None

    def draw(self, context):
        layout, armature = as_settings(self.layout), armature_of(context)
        if runs("OSSIFY_OT_compress_weights"):
            draw_progress(layout)
            return
        if virtual_bones.has_any(armature):
            count, masters = len(virtual_bones.names_of(armature)), len(virtual_bones.masters_of(armature))
            layout.label(text=f"{counted(count, 'virtual bone')} on {counted(masters, 'master')}")
            column = layout.column(align=True)
            column.operator("ossify.key_virtual_bones", icon="EXPORT")
            column.operator("ossify.remove_virtual_bones", icon="X")
            return
        column = layout.column(align=True)
        for field in COMPRESS_FIELDS:
            column.prop(context.scene.ossify_virtual, field)
        layout.operator("ossify.compress_weights", icon="MOD_ARMATURE")


CLASSES = (OSSIFY_PT_virtual,)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
