"""Operators for bodies of one family: thin, they do nothing that a script could not do with family/."""

import bpy

from ..family import fit
from ..options.family_words import FIT_WORDS
from ..options.options import FIT_FIELDS, FitOptions
from .chosen import allowed_now
from .modal import Working
from .properties import as_properties


def _active(context):
    return context.view_layer.objects.active if context.view_layer else None


def _others(context) -> list:
    return [obj for obj in context.selected_objects if obj != _active(context)]


class OSSIFY_OT_fit_rig(Working, bpy.types.Operator):
    """Give the selected meshes the rig of the active one: an armature with joints in each body, vertex groups
    and the action. They must have the same vertices in the same order; rigged ones are learnt from"""

    bl_idname = "ossify.fit_rig"
    bl_label = "Fit Rig to Meshes"
    bl_options = {"REGISTER", "UNDO"}

    __annotations__ = as_properties(FIT_WORDS, FitOptions, FIT_FIELDS)

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, fit.trouble(_active(context), _others(context)))

    def steps(self, context):
        options = FitOptions.of(self.properties)
        return fit.fit(context.scene, context.view_layer, _active(context), _others(context), options)

    def check_first(self, context) -> None:
        fit.read(_active(context), _others(context))

    def succeed(self, fitted: fit.Fitted) -> set[str]:
        for note in fitted.notes:
            self.report({"INFO"}, note)
        self.report({"INFO"}, fitted.sentence())
        return {"FINISHED"}


CLASSES = (OSSIFY_OT_fit_rig,)


def draw_menu(self, _context) -> None:
    self.layout.separator()
    self.layout.operator(OSSIFY_OT_fit_rig.bl_idname, icon="OUTLINER_OB_ARMATURE")


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_object_parent.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_object_parent.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
