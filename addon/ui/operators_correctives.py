"""Correctives of a rig on the screen: thin, nothing that a script could not do with edit/correction.py."""

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty

from .. import native
from ..edit import correction, edits
from ..rig import correctives, standing
from .chosen import OfIdleRig, allowed, rig_of
from .modal import Working
from .panel import Sidebar, draw_progress, paragraph, runs

_KINDS = [
    ("AUTO", "Automatic", "None where bones are cheaper; driven where that serves frames it has not seen"),
    ("KEYED", "Keyed", "Each with keys for this motion: the closest fit"),
    ("DRIVEN", "Driven", "They follow how the bones are turned, also in poses that nobody has seen"),
]


class _Corrects(Working, OfIdleRig):
    bl_options = {"REGISTER", "UNDO"}

    def check_first(self, context) -> None:
        edits.check(rig_of(context))

    def succeed(self, corrected: correction.Corrected) -> set[str]:
        self.report({"INFO"}, f"{self.bl_label}: {corrected.words()}")
        return {"FINISHED"}


class OSSIFY_OT_add_correctives(_Corrects, bpy.types.Operator):
    """Give the rig shape keys for what its bones cannot show: muscle, wrinkles and folds. Those that it has
    are made anew"""

    bl_idname = "ossify.add_correctives"
    bl_label = "Add Correctives"

    kind: EnumProperty(name="Correctives", description="What moves them", items=_KINDS, default="AUTO")
    count: IntProperty(
        name="How Many",
        description="Of correctives that act everywhere; of those for one joint each there may be four times"
        " as many",
        default=5,
        min=1,
        max=native.MAX_CORRECTIVES,
        soft_max=20,
    )

    budget: FloatProperty(
        name="Budget",
        description="As few correctives as leave no more than this error, in percent of the size; 0: as many"
        " as How Many says",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        precision=3,
    )

    def steps(self, context):
        return correction.add(context, rig_of(context), self.kind, self.count, self.budget)


class OSSIFY_OT_remove_correctives(_Corrects, bpy.types.Operator):
    """Take away the correctives of the rig, their keys and their drivers"""

    bl_idname = "ossify.remove_correctives"
    bl_label = "Remove Correctives"

    @classmethod
    def poll(cls, context):
        words = "This rig has no correctives"
        return super().poll(context) and allowed(
            cls, None if correctives.names_of(rig_of(context)) else words
        )

    def steps(self, context):
        return correction.remove(context, rig_of(context))


def _draw_locks(row, armature, name: str) -> None:
    """Of its shape keys: a locked one stays as it is when the others are solved again."""
    for obj in standing.meshes_of(armature):
        shapes = obj.data.shape_keys
        if shapes is not None and name in shapes.key_blocks:
            row.prop(shapes.key_blocks[name], "lock_shape", text="")


class OSSIFY_PT_correctives(Sidebar, bpy.types.Panel):
    bl_label = "Correctives"
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 4

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None

    def draw(self, context):
        armature = rig_of(context)
        column = self.layout.column(align=True)
        for operator in OPERATORS:
            column.operator(operator.bl_idname)
        if armature.ossify.correctives_note:
            paragraph(self.layout, context, armature.ossify.correctives_note, "INFO")
        column = self.layout.column(align=True)
        for name in correctives.names_of(armature):
            if name in armature:
                row = column.row(align=True)
                slider = row.row(align=True)
                slider.enabled = not correctives.are_driven(armature)
                slider.prop(armature, f'["{bpy.utils.escape_identifier(name)}"]', text=name, slider=True)
                _draw_locks(row, armature, name)
        if runs(*(operator.__name__ for operator in OPERATORS)):
            draw_progress(self.layout)


OPERATORS = (OSSIFY_OT_add_correctives, OSSIFY_OT_remove_correctives)
CLASSES = (*OPERATORS, OSSIFY_PT_correctives)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
