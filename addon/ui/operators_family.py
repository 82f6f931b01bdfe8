"""Operators for bodies of one family: thin, they do nothing that a script could not do with family/."""

import bpy

from ..base.refusal import Refusal
from ..family import body_bones, fit, rigged, slider_rig, sliders
from ..options.family_words import BODY_BONES_WORDS, FIT_WORDS, SLIDERS_WORDS
from ..options.options import (
    BODY_BONES_FIELDS,
    FIT_FIELDS,
    SLIDERS_FIELDS,
    BodyBonesOptions,
    FitOptions,
    SlidersOptions,
)
from .chosen import allowed_now
from .modal import FAILURES, Working, fail
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


class OSSIFY_OT_body_sliders(Working, bpy.types.Operator):
    """Make a copy of the active rigged mesh whose shape is set by sliders, from the active body to all others
    that are selected; joints go along. They must have the same vertices in the same order"""

    bl_idname = "ossify.body_sliders"
    bl_label = "Make Body Sliders"
    bl_options = {"REGISTER", "UNDO"}

    __annotations__ = as_properties(SLIDERS_WORDS, SlidersOptions, SLIDERS_FIELDS)

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, sliders.trouble(_active(context), _others(context)))

    def steps(self, context):
        options = SlidersOptions.of(self.properties)
        return sliders.make(context.scene, context.view_layer, _active(context), _others(context), options)

    def check_first(self, context) -> None:
        fit.family_of(_active(context), _others(context))

    def succeed(self, made: sliders.Made) -> set[str]:
        self.report({"INFO"}, made.sentence())
        return {"FINISHED"}


class OSSIFY_OT_body_bones(Working, bpy.types.Operator):
    """Make a copy of the active rigged mesh whose shape is set by bones, without shape keys, and a pose in
    the pose library for each body that is selected. They must have the same vertices in the same order"""

    bl_idname = "ossify.body_bones"
    bl_label = "Make Body Bones"
    bl_options = {"REGISTER", "UNDO"}

    __annotations__ = as_properties(BODY_BONES_WORDS, BodyBonesOptions, BODY_BONES_FIELDS)

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, body_bones.trouble(_active(context), _others(context)))

    def steps(self, context):
        options = BodyBonesOptions.of(self.properties)
        return body_bones.make(context.scene, context.view_layer, _active(context), _others(context), options)

    def check_first(self, context) -> None:
        fit.family_of(_active(context), _others(context))

    def succeed(self, made: body_bones.Made) -> set[str]:
        self.report({"INFO"}, made.sentence())
        return {"FINISHED"}


def slider_rig_of(context):
    """The armature with sliders that is active, or that moves the active mesh; None: neither."""
    obj = _active(context)
    armature = rigged.armature_of(obj) or obj
    return armature if slider_rig.is_one(armature) else None


class _OfSliders:
    """An operator on a rig that has some."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        words = "The active object has no body sliders: make some from a rigged mesh and other bodies"
        return allowed_now(cls, None if slider_rig_of(context) is not None else words)

    def execute(self, context):
        try:
            words = self.do(context, slider_rig_of(context))
        except FAILURES as error:
            return fail(self, error)
        if words:
            self.report({"INFO"}, words)
        return {"FINISHED"}


class OSSIFY_OT_reset_body(_OfSliders, bpy.types.Operator):
    """Set all sliders to 0: the body that they were made from"""

    bl_idname = "ossify.reset_body"
    bl_label = "Reset Body"

    def do(self, _context, armature) -> None:
        sliders.reset(armature)


class OSSIFY_OT_random_body(_OfSliders, bpy.types.Operator):
    """Set the sliders by chance, none farther out than on any body that they were made from"""

    bl_idname = "ossify.random_body"
    bl_label = "Random Body"

    seed: bpy.props.IntProperty(name="Seed", description="Another number, another body", default=0, min=0)

    def invoke(self, context, _event):
        self.seed = (self.seed + 1) % 2**31
        return self.execute(context)

    def do(self, _context, armature) -> None:
        sliders.randomise(armature, self.seed)


class OSSIFY_OT_find_body(_OfSliders, bpy.types.Operator):
    """Set the sliders to where the other selected mesh lies among the bodies that were seen, and tell how far
    off it is"""

    bl_idname = "ossify.find_body"
    bl_label = "Find Body"

    def do(self, context, armature) -> str:
        own = {armature, *armature.children}
        others = [obj for obj in context.selected_objects if obj.type == "MESH" and obj not in own]
        if len(others) != 1:
            raise Refusal("Select one body to look for, and then the rig with the sliders.")
        found = sliders.find(armature, others[0])
        return f"The sliders show {others[0].name} to within {found.percent:.2g} % of the size."


CLASSES = (
    OSSIFY_OT_fit_rig,
    OSSIFY_OT_body_sliders,
    OSSIFY_OT_body_bones,
    OSSIFY_OT_reset_body,
    OSSIFY_OT_random_body,
    OSSIFY_OT_find_body,
)


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
