"""Operators for UV maps of a motion: thin, they do nothing that a script could not do with unwrap.py."""

import bpy

from ..base.refusal import Refusal
from ..motion import sources
from ..options.options import UNWRAP_FIELDS, UnwrapOptions
from ..options.unwrap_words import UNWRAP_WORDS
from ..unwrap import stretched, unwrap
from .chosen import allowed, allowed_now
from .modal import FAILURES, Working, fail
from .properties import as_properties


def _active(context):
    return context.view_layer.objects.active if context.view_layer else None


class OSSIFY_OT_unwrap(Working, bpy.types.Operator):
    """Relax the active UV map for every frame of the motion at once, along the seams it has; the result is a
    new map. Without a map Blender's own unwrap makes a first one"""

    bl_idname = "ossify.unwrap"
    bl_label = "Unwrap for Motion"
    bl_options = {"REGISTER", "UNDO"}

    __annotations__ = as_properties(UNWRAP_WORDS, UnwrapOptions, UNWRAP_FIELDS)

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, unwrap.trouble(_active(context), context.view_layer))

    def _options(self) -> UnwrapOptions:
        return UnwrapOptions.of(self.properties)

    def steps(self, context):
        return unwrap.unwrap(context.scene, context.view_layer, _active(context), self._options())

    def check_first(self, context) -> None:
        unwrap.check_first(context.scene, context.view_layer, _active(context), self._options())

    def succeed(self, result: unwrap.Unwrapped) -> set[str]:
        for note in result.notes:
            self.report({"INFO"}, note)
        self.report({"INFO"}, result.sentence())
        return {"FINISHED"}


class OSSIFY_OT_show_stretch(bpy.types.Operator):
    """Colour each face by how much the motion stretches its texture, from blue to red; or take the colours
    off again"""

    bl_idname = "ossify.show_stretch"
    bl_label = "Show Stretch"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        obj = _active(context)
        known = obj is not None and obj.type == "MESH" and stretched.ATTRIBUTE in obj.data.attributes
        trouble = None if known else "No stretch is stored on this mesh: Unwrap for Motion measures it"
        return allowed(cls, trouble or sources.library_trouble(obj.data, obj.name))

    def execute(self, context):
        obj = _active(context)
        try:
            if obj.mode == "EDIT":
                raise Refusal(f"{obj.name} is in Edit Mode: go back to Object Mode.")
            if stretched.stretch_of(obj.data) is None:
                raise Refusal(f"{stretched.ATTRIBUTE} of {obj.name} is not Ossify's: remove it.")
            shown = not stretched.is_shown(obj.data)
            stretched.show(obj, context, shown)
        except FAILURES as error:
            return fail(self, error)
        if shown:
            self.report({"INFO"}, f"Blue is 0 %, red {stretched.top_stretch(obj.data):.3g} % and more")
        return {"FINISHED"}


CLASSES = (OSSIFY_OT_unwrap, OSSIFY_OT_show_stretch)


def draw_menu(self, _context) -> None:
    self.layout.separator()
    self.layout.operator(OSSIFY_OT_unwrap.bl_idname, icon="UV")
    self.layout.operator(OSSIFY_OT_show_stretch.bl_idname, icon="COLOR")


def _menus() -> list:
    """UV > Unwrap, in the UV editor and in Edit Mode of the viewport; Object > Animation."""
    names = ("IMAGE_MT_uvs_unwrap", "VIEW3D_MT_uv_map", "VIEW3D_MT_object_animation")
    return [getattr(bpy.types, name) for name in names if hasattr(bpy.types, name)]


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for menu in _menus():
        menu.append(draw_menu)


def unregister() -> None:
    for menu in _menus():
        menu.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
