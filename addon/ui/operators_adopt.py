"""Operators for an artist's own armature: thin, like those of operators.py."""

import bpy

from .. import native
from ..adopt import adopt, plain
from ..motion import sources
from ..options.options import ADOPT_FIELDS, AdoptOptions, Options
from ..rig.standing import is_rig
from . import properties_adopt
from .chosen import allowed, allowed_now
from .modal import Working


def armature_and_meshes(context) -> tuple:
    """The armature that is selected, the active one first, and the meshes, likewise."""
    selected = sorted(context.selected_objects, key=lambda obj: obj.name)
    active = context.view_layer.objects.active
    if active in selected:
        selected = [active, *(obj for obj in selected if obj != active)]
    armatures = [obj for obj in selected if obj.type == "ARMATURE"]
    return armatures[0] if armatures else None, [obj for obj in selected if obj.type == "MESH"]


def own_armature(context):
    """The active object, if it is an armature that Ossify did not make."""
    active = context.view_layer.objects.active
    return active if active is not None and active.type == "ARMATURE" and not is_rig(active) else None


class OSSIFY_OT_adopt(Working, bpy.types.Operator):
    """Weigh the selected meshes for the bones of the selected armature, by how the meshes move; \
bones that stand still get the motion, too"""

    bl_idname = "ossify.adopt"
    bl_label = "Rig to This Armature"
    bl_options = {"UNDO"}

    __annotations__ = properties_adopt.adopt_annotations(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        armature, meshes = armature_and_meshes(context)
        return allowed_now(cls, adopt.trouble(armature, meshes, context.view_layer))

    def steps(self, context):
        armature, meshes = armature_and_meshes(context)
        chosen = self.given(AdoptOptions.of(context.scene.ossify_adopt), ADOPT_FIELDS)
        options = Options.of(context.scene.ossify)
        return adopt.adopt(context.scene, context.view_layer, armature, meshes, options, chosen)

    def check_first(self, context) -> None:
        native.library()
        armature, meshes = armature_and_meshes(context)
        adopt.check(context.scene, context.view_layer, armature, meshes, Options.of(context.scene.ossify))

    def succeed(self, result: adopt.Adopted) -> set[str]:
        for note in result.report.notes:
            self.report({"INFO"}, note)
        self.report({"INFO"}, result.sentence())
        return {"FINISHED"}


class OSSIFY_OT_switch_controls(bpy.types.Operator):
    """Let the controls move this armature's bones instead of the keys that Rig to This Armature gave them, \
or the keys again"""

    bl_idname = "ossify.switch_controls"
    bl_label = "Switch to Controls"
    bl_options = {"UNDO"}

    @classmethod
    def poll(cls, context):
        armature = own_armature(context)
        if armature is None or not plain.noted(armature):
            return allowed(cls, "The active object is no armature whose constraints were turned off for keys")
        return allowed_now(cls, sources.library_trouble(armature, armature.name))

    def execute(self, context):
        armature = own_armature(context)
        keys = plain.switch(armature)
        self.report({"INFO"}, f"{armature.name}: {'keys' if keys else 'controls'} move the bones")
        return {"FINISHED"}


CLASSES = (OSSIFY_OT_adopt, OSSIFY_OT_switch_controls)


def draw_menu(self, _context) -> None:
    self.layout.operator(OSSIFY_OT_adopt.bl_idname, icon="ARMATURE_DATA")


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_object_animation.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_object_animation.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
