"""The panel of Keep Volume: on or off, how strong, and what it is worth."""

import bpy

from ..nodes import volume
from ..rig import volumes
from .chosen import rig_of
from .operators_volume import CLASSES as OPERATORS
from .panel import Sidebar, draw_progress, paragraph, runs


class OSSIFY_PT_volume(Sidebar, bpy.types.Panel):
    bl_label = "Keep Volume"
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 4

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None

    def draw(self, context):
        layout, armature = self.layout, rig_of(context)
        meshes = volume.meshes_of(armature)
        if runs(*(operator.__name__ for operator in OPERATORS)):
            draw_progress(layout)
        elif not meshes:
            layout.operator("ossify.add_keep_volume", icon="MOD_CAST")
        else:
            self._draw_kept(layout, context, armature, meshes)

    @staticmethod
    def _draw_kept(layout, context, armature, meshes):
        record = armature.ossify
        if record.volume_rms:
            paragraph(
                layout, context, f"Error {record.rms:.3g} %, with Keep Volume {record.volume_rms:.3g} %."
            )
        for obj in meshes:
            modifier = volumes.modifier_of(obj)
            owner, name = volume.strength_property(modifier)
            layout.prop(owner, name, text=obj.name if len(meshes) > 1 else "Strength", slider=True)
        astray = [obj.name for obj in meshes if volume.is_astray(obj, armature)]
        if astray:
            words = f"{astray[0]} follows the bones of another rig, or by names that they do not have."
            paragraph(layout, context, words, "ERROR")
            layout.operator("ossify.rebind_keep_volume", icon="LINKED")
        column = layout.column(align=True)
        column.operator("ossify.add_keep_volume", text="Fit Again", icon="FILE_REFRESH")
        column.operator("ossify.remove_keep_volume", text="Remove", icon="X")


CLASSES = (OSSIFY_PT_volume,)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
