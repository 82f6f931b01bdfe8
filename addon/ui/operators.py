"""Operators: thin, they do nothing that a script could not do with convert.py."""

import bpy
from bl_operators.presets import AddPresetBase
from bpy.props import EnumProperty, FloatProperty, IntProperty

from .. import native
from ..base.refusal import Refusal
from ..base.words import counted
from ..convert.again import convert_again, options_for, sources_of
from ..convert.convert import Result, convert, own_trouble
from ..convert.subjects import doubts
from ..motion import sources
from ..motion.capture import check
from ..options.options import FIELDS, PRESETS, Options, contradiction, implied, plain, preset_values
from ..rig import build, heat
from . import properties, session
from .chosen import OfIdleRig, OfRig, allowed, allowed_now, chosen_objects, rig_of
from .modal import FAILURES, Working, fail
from .operators_bake import OSSIFY_OT_bake

_DOUBTS_SHOWN = 4


class _Converting(Working):
    """What makes rigs."""

    __annotations__ = {
        **properties.annotations(),
        "preset": EnumProperty(
            name="Preset",
            description="Start from a preset instead of the settings in the sidebar",
            items=[("NONE", "None", "The settings in the sidebar")]
            + [(name, label, text) for name, (label, text, _) in PRESETS.items()],
            default="NONE",
        ),
    }

    def _options(self, context) -> Options:
        """What was given to the operator, then the preset, then the sidebar."""
        options = Options.of(context.scene.ossify)
        values = {} if self.preset == "NONE" else preset_values(self.preset)
        given = {
            field: plain(getattr(self, field)) for field in FIELDS if self.properties.is_property_set(field)
        }
        values |= implied(given)
        for field, value in values.items():
            setattr(options, field, value)
        return options

    def succeed(self, result: Result) -> set[str]:
        for rig in (*result.others, result):
            report = rig.report
            for note in report.notes:
                self.report({"INFO"}, note)
            self.report(
                {"INFO"},
                f"{rig.armature.name}: {counted(report.bones, 'bone')}, error"
                f" {report.percent(report.rms):.3g} % of the size, largest"
                f" {report.percent(report.maximum):.3g} % in frame {report.worst_frame}",
            )
        return {"FINISHED"}


class OSSIFY_OT_convert(_Converting, bpy.types.Operator):
    """Turn the motion of the selected meshes into an armature with weights and keys"""

    bl_idname = "ossify.convert"
    bl_label = "Convert Motion to Rig"
    bl_options = {"UNDO"}
    doubts = ()  # sentences for the dialog

    __annotations__ = _Converting.__annotations__

    @classmethod
    def poll(cls, context):
        objects = chosen_objects(context)
        trouble = own_trouble(objects) or sources.first_trouble(objects, context.view_layer)
        return allowed_now(cls, trouble if objects else "Select the meshes to convert")

    def steps(self, context):
        return convert(context.scene, context.view_layer, chosen_objects(context), self._options(context))

    def invoke(self, context, event):
        """Asks first whether bodies that are nearly alike are meant to be different ones."""
        objects = chosen_objects(context)
        together = self._options(context).clips == "SUBJECTS" and all(obj.type == "MESH" for obj in objects)
        self.doubts = doubts(objects) if together else []
        if not self.doubts or bpy.app.background or context.window is None:
            return super().invoke(context, event)
        self.asked = True
        return context.window_manager.invoke_props_dialog(self, width=420, confirm_text="They Are Different")

    def draw(self, _context):
        column = self.layout.column(align=True)
        for sentence in self.doubts[:_DOUBTS_SHOWN]:
            column.label(text=sentence, icon="QUESTION")
        if len(self.doubts) > _DOUBTS_SHOWN:
            column.label(text=f"and {len(self.doubts) - _DOUBTS_SHOWN} more are nearly alike")
        column.label(text="Are these different bodies? If they are takes of one, cancel")
        column.label(text="and choose Selected Takes under Clips.")

    def check_first(self, context) -> None:
        native.library()
        check(context.scene, context.view_layer, chosen_objects(context), self._options(context))


class OSSIFY_OT_convert_again(_Converting, OfIdleRig, bpy.types.Operator):
    """Make a rig of this rig's source with the settings of the sidebar; the rig that is there is hidden"""

    bl_idname = "ossify.convert_again"
    bl_label = "Convert Again"
    bl_options = {"UNDO"}

    __annotations__ = _Converting.__annotations__

    def steps(self, context):
        return convert_again(context.scene, context.view_layer, rig_of(context), self._options(context))

    def check_first(self, context) -> None:
        native.library()
        armature = rig_of(context)
        sources_of(armature, context.view_layer)
        trouble = contradiction(options_for(armature, self._options(context)), context.scene)
        if trouble:
            raise Refusal(trouble)


class OSSIFY_OT_cancel(bpy.types.Operator):
    """Stop what is running; the scene stays as it was"""

    bl_idname = "ossify.cancel"
    bl_label = "Cancel"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, _context):
        return allowed(cls, None if session.current is not None else "Nothing is at work")

    def execute(self, _context):
        session.current.cancel()
        return {"FINISHED"}


class OSSIFY_OT_preset(bpy.types.Operator):
    """Set the settings to a preset"""

    bl_idname = "ossify.preset"
    bl_label = "Ossify Preset"
    bl_options = {"UNDO", "INTERNAL"}

    preset: EnumProperty(
        name="Preset",
        description="What the settings are made for",
        items=[(name, label, text) for name, (label, text, _) in PRESETS.items()],
    )

    @classmethod
    def description(cls, _context, operator):
        return PRESETS[operator.preset][1]

    def execute(self, context):
        for field, value in preset_values(self.preset).items():
            setattr(context.scene.ossify, field, value)
        return {"FINISHED"}


class OSSIFY_OT_preset_add(AddPresetBase, bpy.types.Operator):
    """Keep the settings as a preset of your own, or remove it"""

    bl_idname = "ossify.preset_add"
    bl_label = "Add Ossify Preset"

    preset_menu = "OSSIFY_MT_presets"
    preset_subdir = "ossify"
    preset_defines = ()  # a name defined here is unknown to Blender's own code in Python 3.13
    preset_values = tuple(f"bpy.context.scene.ossify.{field}" for field in preset_values("GAME"))


class OSSIFY_OT_root_at_cursor(bpy.types.Operator):
    """The root is the part of the body at the 3D cursor, as the mesh stands in this frame"""

    bl_idname = "ossify.root_at_cursor"
    bl_label = "Root at 3D Cursor"
    bl_options = {"UNDO"}

    def execute(self, context):
        settings = context.scene.ossify
        settings.root, settings.root_place = "PLACE", context.scene.cursor.location
        return {"FINISHED"}


class OSSIFY_OT_show_source(OfRig, bpy.types.Operator):
    """Show the meshes that this rig was made from, or hide them again"""

    bl_idname = "ossify.show_source"
    bl_label = "Show Source"
    bl_options = {"UNDO"}

    def execute(self, context):
        rig = rig_of(context)
        found = [item.object for item in rig.ossify.sources if item.object is not None]
        found = [obj for obj in found if context.view_layer.objects.get(obj.name) == obj]
        if not found:
            sentence = "it was deleted, or its collection is excluded or in another scene"
            self.report({"ERROR"}, f"The source of {rig.name} is not in this view layer: {sentence}.")
            return {"CANCELLED"}
        shown = any(obj.visible_get() for obj in found)
        for obj in found:
            build.hide(obj, context.view_layer, shown)
        return {"FINISHED"}


class OSSIFY_OT_select_worst(OfRig, bpy.types.Operator):
    """Select the vertices with the largest errors, in Edit Mode"""

    bl_idname = "ossify.select_worst"
    bl_label = "Select Worst Vertices"
    bl_options = {"REGISTER", "UNDO"}

    percent: FloatProperty(
        name="Share", description="Share of the vertices", default=1, min=0.001, max=100, subtype="PERCENTAGE"
    )

    @staticmethod
    def _meshes(context) -> list:
        """Those that can be in Edit Mode; refuses others."""
        meshes = heat.meshes_of(rig_of(context))
        if not meshes:
            sentence = "refit it, and they are measured again"
            raise Refusal(f"The meshes of {rig_of(context).name} have no errors stored: {sentence}.")
        for obj in meshes:
            linked = sources.library_trouble(obj, obj.name) or sources.library_trouble(obj.data, obj.name)
            if linked:
                raise Refusal(linked)
            if not obj.visible_get(view_layer=context.view_layer):
                raise Refusal(f"{obj.name} is hidden: show it, and its vertices can be selected.")
        return meshes

    def execute(self, context):
        try:
            meshes = self._meshes(context)
        except FAILURES as error:
            return fail(self, error)
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        count = heat.select_worst(meshes, self.percent)
        for obj in context.selected_objects:
            obj.select_set(False)
        for obj in meshes:
            obj.select_set(True)
        context.view_layer.objects.active = meshes[0]
        bpy.ops.object.mode_set(mode="EDIT")
        context.tool_settings.mesh_select_mode = (True, False, False)
        self.report({"INFO"}, f"{counted(count, 'vertex')} selected")
        return {"FINISHED"}


class OSSIFY_OT_go_to_frame(bpy.types.Operator):
    """Go to this frame"""

    bl_idname = "ossify.go_to_frame"
    bl_label = "Go to Frame"
    bl_options = {"INTERNAL"}

    frame: IntProperty(name="Frame", description="Where to go")

    def execute(self, context):
        context.scene.frame_set(self.frame)
        return {"FINISHED"}


CLASSES = (
    OSSIFY_OT_convert,
    OSSIFY_OT_convert_again,
    OSSIFY_OT_cancel,
    OSSIFY_OT_preset,
    OSSIFY_OT_preset_add,
    OSSIFY_OT_root_at_cursor,
    OSSIFY_OT_show_source,
    OSSIFY_OT_select_worst,
    OSSIFY_OT_go_to_frame,
)


def draw_menu(self, _context) -> None:
    self.layout.separator()
    self.layout.operator(OSSIFY_OT_convert.bl_idname, icon="ARMATURE_DATA")
    self.layout.operator_menu_enum("ossify.export", "kind", text="Export Rig", icon="EXPORT")
    self.layout.operator_menu_enum(OSSIFY_OT_bake.bl_idname, "to", text="Bake Rig Back", icon="FILE_CACHE")


@bpy.app.handlers.persistent
def _before_load(*_arguments) -> None:
    session.end()


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_object_animation.append(draw_menu)
    bpy.types.VIEW3D_MT_object_convert.append(draw_menu)
    bpy.app.handlers.load_pre.append(_before_load)


def unregister() -> None:
    session.end()
    bpy.app.handlers.load_pre.remove(_before_load)
    bpy.types.VIEW3D_MT_object_convert.remove(draw_menu)
    bpy.types.VIEW3D_MT_object_animation.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
