"""Operators for virtual bones: thin, they do nothing that a script could not do with two_layer/."""

import bpy

from ..options.options import COMPRESS_FIELDS, CompressOptions
from ..rig import virtual_bones
from ..two_layer import compress, keyed_copy
from . import preview, properties_virtual
from .chosen import allowed_now
from .modal import FAILURES, Working, fail


def armature_of(context):
    """The active armature, or that which moves the active mesh; None: neither."""
    obj = context.view_layer.objects.active if context.view_layer else None
    if obj is not None and obj.type == "MESH":
        movers = (m.object for m in obj.modifiers if m.type == "ARMATURE")
        obj = next((mover for mover in movers if mover is not None), None)
    return obj if obj is not None and obj.type == "ARMATURE" else None


_NO_RIG = "The active object is neither an armature nor a mesh that one moves"


class OSSIFY_OT_compress_weights(Working, bpy.types.Operator):
    """Let every vertex of the rig follow a few virtual bones, which blend its bones. The bones stay what they
    are, and what one poses; whoever made the rig"""

    bl_idname = "ossify.compress_weights"
    bl_label = "Compress Weights"
    bl_options = {"REGISTER", "UNDO"}

    __annotations__ = properties_virtual.compress_annotations(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        armature = armature_of(context)
        return allowed_now(cls, _NO_RIG if armature is None else compress.trouble(armature))

    def _options(self, context) -> CompressOptions:
        return self.given(CompressOptions.of(context.scene.ossify_virtual), COMPRESS_FIELDS)

    def steps(self, context):
        options = self._options(context)
        return compress.compress(context.scene, context.view_layer, armature_of(context), options)

    def check_first(self, context) -> None:
        compress.read(armature_of(context), self._options(context).straighten)

    def succeed(self, made: compress.Compressed) -> set[str]:
        self.report({"INFO"}, f"{made.armature.name}: {made.sentence()}")
        return {"FINISHED"}


class _OfVirtualBones:
    """An operator on a rig that has some."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        armature = armature_of(context)
        has_some = armature is not None and virtual_bones.has_any(armature)
        words = _NO_RIG if armature is None else f"{armature.name} has no virtual bones"
        return allowed_now(cls, None if has_some else words)

    def execute(self, context):
        preview.stop()  # its poses are no part of the rig
        try:
            self.report({"INFO"}, self.do(context, armature_of(context)))
        except FAILURES as error:
            return fail(self, error)
        return {"FINISHED"}


class OSSIFY_OT_remove_virtual_bones(_OfVirtualBones, bpy.types.Operator):
    """Give the bones of the rig the weights that vertices have of them, and take the virtual bones out"""

    bl_idname = "ossify.remove_virtual_bones"
    bl_label = "Remove Virtual Bones"

    def do(self, _context, armature) -> str:
        return f"{compress.remove(armature)} virtual bones removed: the bones have their weights."


class OSSIFY_OT_key_virtual_bones(_OfVirtualBones, bpy.types.Operator):
    """Make a copy of the rig whose virtual bones have keys instead of constraints, to export it to programs
    that have none"""

    bl_idname = "ossify.key_virtual_bones"
    bl_label = "Keyed Copy"

    def do(self, context, armature) -> str:
        copy = keyed_copy.place(armature, context.scene, context.view_layer)
        return f"{copy.armature.name}: {copy.sentence()}"


CLASSES = (OSSIFY_OT_compress_weights, OSSIFY_OT_key_virtual_bones, OSSIFY_OT_remove_virtual_bones)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
