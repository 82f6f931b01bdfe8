"""The sidebar's part for an artist's own armature."""

import bpy

from ..adopt import adopt, plain
from ..base.words import counted
from ..rig.standing import is_rig
from .operators_adopt import armature_and_meshes, own_armature
from .panel import Sidebar, draw_progress, paragraph, runs
from .panel_rows import as_settings


class OSSIFY_PT_adopt(Sidebar, bpy.types.Panel):
    bl_label = "Rig to This Armature"
    bl_order = 0

    @classmethod
    def poll(cls, context):
        armature, meshes = armature_and_meshes(context)
        if armature is None or is_rig(armature):
            return False
        return bool(armature.ossify.bones) or adopt.waits(armature, meshes)

    def draw(self, context):
        layout = self.layout
        armature, meshes = armature_and_meshes(context)
        if runs("OSSIFY_OT_adopt"):
            draw_progress(layout)
            return
        _draw_fit(layout, context, armature)
        if not adopt.waits(armature, meshes):
            return
        trouble = adopt.trouble(armature, meshes, context.view_layer)
        if trouble:
            paragraph(layout, context, trouble, "INFO")
        row = layout.row()
        row.scale_y = 1.6
        row.operator("ossify.adopt", icon="ARMATURE_DATA")
        column, settings = as_settings(layout), context.scene.ossify_adopt
        column.prop(settings, "bone_motion")
        column.prop(settings, "painted")


def _draw_fit(layout, context, armature) -> None:
    """How well it fits what it was last rigged to."""
    rig = armature.ossify
    if rig.bones:
        column = layout.column(align=True)
        column.label(text=f"{counted(rig.bones, 'bone')}, error {rig.rms:.3g} % of the size")
        column.label(text=f"Largest {rig.maximum:.3g} %, {rig.maximum / 100 * rig.size:.3g} units")
        for note in rig.notes.splitlines():
            paragraph(layout, context, note, "INFO")
        go = column.operator("ossify.go_to_frame", text=f"Worst Frame ({rig.worst_frame})")
        go.frame = rig.worst_frame
    if own_armature(context) == armature and plain.noted(armature):
        text = "Switch to Controls" if plain.plays_keys(armature) else "Switch to Keys"
        layout.operator("ossify.switch_controls", text=text)


CLASSES = (OSSIFY_PT_adopt,)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
