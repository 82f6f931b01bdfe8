"""Operators: thin, they do nothing that a script could not do with convert.py."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from . import bake, build, heat, joints, native, properties, rejoin, session, sources
from .capture import check
from .convert import Result, convert, run
from .modal import FAILURES, Working, fail
from .options import (
    BAKE_FIELDS,
    CACHE_ENDINGS,
    FIELDS,
    PRESETS,
    BakeOptions,
    Options,
    implied,
    preset_values,
)


def _active_first(context) -> list:
    """The selected objects, or the active one when nothing is selected."""
    selected = sorted(context.selected_objects, key=lambda obj: obj.name)
    active = context.view_layer.objects.active
    if active is not None and (active in selected or not selected):
        selected = [active, *(obj for obj in selected if obj != active)]
    return selected


def chosen_objects(context) -> list:
    """The meshes to convert: the active one first. What is not a mesh is left out if any mesh is selected."""
    selected = _active_first(context)
    meshes = [obj for obj in selected if obj.type == "MESH"]
    return meshes or selected


def rig_of(context):
    """The armature of the rig that the active object belongs to, or None."""
    obj = context.view_layer.objects.active if context.view_layer else None
    if obj is not None and obj.type == "MESH":
        obj = obj.parent
    return obj if obj is not None and obj.type == "ARMATURE" and obj.ossify.version else None


def rigs_and_meshes(context) -> list:
    """What to bake: the selected armatures and meshes, the active one first."""
    found = _active_first(context)
    return [obj for obj in found if obj.type in {"ARMATURE", "MESH"}] or found


class OSSIFY_OT_convert(Working, bpy.types.Operator):
    """Turn the motion of the selected meshes into an armature with weights and keys"""

    bl_idname = "ossify.convert"
    bl_label = "Convert Motion to Rig"
    bl_options = {"UNDO"}

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

    @classmethod
    def poll(cls, context):
        if session.current is not None:
            cls.poll_message_set("A conversion is running")
            return False
        objects = chosen_objects(context)
        if not objects:
            cls.poll_message_set("Select the meshes to convert")
            return False
        troubles = (sources.trouble(obj, context.view_layer) for obj in objects)
        trouble = next((sentence for sentence in troubles if sentence), None)
        if trouble:
            cls.poll_message_set(trouble.rstrip("."))
        return trouble is None

    def _options(self, context) -> Options:
        """What was given to the operator, then the preset, then the sidebar."""
        options = context.scene.ossify.options()
        values = {} if self.preset == "NONE" else preset_values(self.preset)
        given = {
            field: properties.plain(getattr(self, field))
            for field in FIELDS
            if self.properties.is_property_set(field)
        }
        values |= implied(given)
        for field, value in values.items():
            setattr(options, field, value)
        return options

    def succeed(self, result: Result) -> set[str]:
        report = result.report
        for note in report.notes:
            self.report({"INFO"}, note)
        self.report(
            {"INFO"},
            f"{result.armature.name}: {report.bones} bones, error {report.percent(report.rms):.3g} % of the"
            f" size, largest {report.percent(report.maximum):.3g} % in frame {report.worst_frame}",
        )
        return {"FINISHED"}

    def steps(self, context):
        return convert(context.scene, context.view_layer, chosen_objects(context), self._options(context))

    def check_first(self, context) -> None:
        native.library()
        check(context.scene, context.view_layer, chosen_objects(context), self._options(context))


class OSSIFY_OT_cancel(bpy.types.Operator):
    """Stop the conversion; the scene stays as it was"""

    bl_idname = "ossify.cancel"
    bl_label = "Cancel Conversion"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, _context):
        return session.current is not None

    def execute(self, _context):
        session.current.cancel()
        return {"FINISHED"}


class OSSIFY_OT_preset(bpy.types.Operator):
    """Set the settings to a preset"""

    bl_idname = "ossify.preset"
    bl_label = "Ossify Preset"
    bl_options = {"UNDO", "INTERNAL"}

    preset: EnumProperty(items=[(name, label, text) for name, (label, text, _) in PRESETS.items()])

    @classmethod
    def description(cls, _context, operator):
        return PRESETS[operator.preset][1]

    def execute(self, context):
        for field, value in preset_values(self.preset).items():
            setattr(context.scene.ossify, field, value)
        return {"FINISHED"}


class OSSIFY_OT_root_at_cursor(bpy.types.Operator):
    """The root is the part of the body at the 3D cursor, as the mesh stands in this frame"""

    bl_idname = "ossify.root_at_cursor"
    bl_label = "Root at 3D Cursor"
    bl_options = {"UNDO"}

    def execute(self, context):
        settings = context.scene.ossify
        settings.root, settings.root_place = "PLACE", context.scene.cursor.location
        return {"FINISHED"}


class OfRig:
    """An operator on the active rig."""

    @classmethod
    def poll(cls, context):
        if rig_of(context) is None:
            cls.poll_message_set("The active object is not a rig made by Ossify")
            return False
        return True


class OfIdleRig(OfRig):
    """One that waits until nothing else is at work."""

    @classmethod
    def poll(cls, context):
        if session.current is not None:
            cls.poll_message_set("A conversion is running")
            return False
        return super().poll(context)


class OSSIFY_OT_show_source(OfRig, bpy.types.Operator):
    """Show the meshes that this rig was made from, or hide them again"""

    bl_idname = "ossify.show_source"
    bl_label = "Show Source"
    bl_options = {"UNDO"}

    def execute(self, context):
        found = [item.object for item in rig_of(context).ossify.sources if item.object is not None]
        found = [obj for obj in found if context.view_layer.objects.get(obj.name) == obj]
        if not found:
            self.report({"ERROR"}, "The source of this rig is not in this view layer.")
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

    def execute(self, context):
        meshes = heat.meshes_of(rig_of(context))
        if not meshes:
            self.report({"ERROR"}, "The meshes of this rig have no errors stored.")
            return {"CANCELLED"}
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
        self.report({"INFO"}, f"{count} vertices")
        return {"FINISHED"}


def is_selected(bone) -> bool:
    """Of a pose bone, in Blender 5 and before."""
    return bone.select if hasattr(bone, "select") else bone.bone.select


class _OfBones(OfRig):
    """An operator on selected pose bones of the active rig."""

    needed = 2

    @classmethod
    def selected(cls, context) -> list[str]:
        pose = rig_of(context).pose.bones
        return sorted(bone.name for bone in pose if bone.bone.use_deform and is_selected(bone))

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        if context.mode != "POSE" or len(cls.selected(context)) != cls.needed:
            words = "two bones" if cls.needed == 2 else "one bone"
            cls.poll_message_set(f"Select {words} that deform the mesh, in Pose Mode")
            return False
        return True


class OSSIFY_OT_wish(_OfBones, bpy.types.Operator):
    """Say how two selected bones hang together; Update Skeleton then does it"""

    bl_idname = "ossify.wish"
    bl_label = "Join Bones"
    bl_options = {"REGISTER", "UNDO"}

    wish: EnumProperty(
        name="Wish",
        items=[
            ("JOIN", "Join Bones", "The next Update Skeleton joins the two selected bones"),
            ("APART", "Keep Bones Apart", "The next Update Skeleton does not join the two selected bones"),
            ("FORGET", "Leave It to the Motion", "Forget what was said of the two selected bones"),
        ],
    )

    @classmethod
    def description(cls, _context, operator):
        return next(
            item.description
            for item in cls.bl_rna.properties["wish"].enum_items
            if item.identifier == operator.wish
        )

    def execute(self, context):
        rig, pair = rig_of(context).ossify, self.selected(context)
        for index in reversed(range(len(rig.wishes))):
            if sorted((rig.wishes[index].first, rig.wishes[index].second)) == pair:
                rig.wishes.remove(index)
        if self.wish != "FORGET":
            wish = rig.wishes.add()
            wish.first, wish.second = pair
            wish.joined = self.wish == "JOIN"
        return {"FINISHED"}


class OSSIFY_OT_make_root(_OfBones, bpy.types.Operator):
    """Make the selected bone the one that all others hang from; Update Skeleton then does it"""

    bl_idname = "ossify.make_root"
    bl_label = "Make Root of Skeleton"
    bl_options = {"REGISTER", "UNDO"}
    needed = 1

    def execute(self, context):
        (rig_of(context).ossify.root_bone,) = self.selected(context)
        return {"FINISHED"}


class OSSIFY_OT_forget_wishes(OfRig, bpy.types.Operator):
    """Forget all that was said of the skeleton of this rig: the next update leaves it to the motion"""

    bl_idname = "ossify.forget_wishes"
    bl_label = "Leave All to the Motion"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        rig = rig_of(context).ossify
        rig.wishes.clear()
        rig.root_bone = ""
        return {"FINISHED"}


class OSSIFY_OT_update_skeleton(OfRig, bpy.types.Operator):
    """Hang the bones of this rig anew, by its weights, its motion and your wishes; nothing is solved"""

    bl_idname = "ossify.update_skeleton"
    bl_label = "Update Skeleton"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        armature = rig_of(context)
        if context.view_layer.objects.active != armature and context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        try:
            skeleton, keyed = rejoin.rejoin(context, armature)
        except FAILURES as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if skeleton.message:
            self.report({"WARNING"}, skeleton.message[0].upper() + skeleton.message[1:])
        self.report({"INFO"}, f"{armature.name}: {joints.moving(keyed.located)} against the parent")
        return {"FINISHED"}


class OSSIFY_MT_skeleton(bpy.types.Menu):
    bl_label = "Ossify Skeleton"

    def draw(self, _context):
        for wish in ("JOIN", "APART", "FORGET"):
            words = OSSIFY_OT_wish.bl_rna.properties["wish"].enum_items[wish].name
            self.layout.operator(OSSIFY_OT_wish.bl_idname, text=words).wish = wish
        self.layout.operator(OSSIFY_OT_make_root.bl_idname)
        self.layout.separator()
        self.layout.operator(OSSIFY_OT_update_skeleton.bl_idname)


class OSSIFY_OT_bake(bpy.types.Operator):
    """Bake the selected rigs, or meshes that move, into shape keys or a cache; the rig stays as it is"""

    bl_idname = "ossify.bake"
    bl_label = "Bake Back"
    bl_options = {"UNDO"}

    __annotations__ = {
        **properties.bake_annotations(options={"SKIP_SAVE"}),  # what is not given comes from the sidebar
        "filepath": StringProperty(
            name="File", description="Cache file to write", subtype="FILE_PATH", options={"SKIP_SAVE"}
        ),
        "filter_glob": StringProperty(options={"HIDDEN", "SKIP_SAVE"}),
        "check_existing": BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"}),
    }

    @classmethod
    def poll(cls, context):
        if session.current is not None:
            cls.poll_message_set("A conversion is running")
            return False
        trouble = bake.trouble(rigs_and_meshes(context), context.view_layer)
        if trouble:
            cls.poll_message_set(trouble.rstrip("."))
        return trouble is None

    def _options(self, context) -> BakeOptions:
        """What was given to the operator, then the sidebar."""
        options = context.scene.ossify_bake.options()
        for field in (*BAKE_FIELDS, "filepath"):
            if self.properties.is_property_set(field):
                setattr(options, field, getattr(self, field))
        return options

    def execute(self, context):
        objects, options = rigs_and_meshes(context), self._options(context)
        try:
            baked = run(bake.bake(context.scene, context.view_layer, objects, options))
        except Exception as error:
            return fail(self, error)
        what = " and ".join(path.name for path in baked.files) or f"{baked.meshes[0].name}: shape keys"
        self.report({"INFO"}, f"{what}, {baked.samples} samples")
        return {"FINISHED"}

    def invoke(self, context, _event):
        options = self._options(context)
        if options.to == "SHAPE_KEYS" or options.filepath or bpy.app.background or context.window is None:
            return self.execute(context)
        endings = CACHE_ENDINGS[options.to]
        for field in BAKE_FIELDS:  # the dialog shows them
            setattr(self, field, getattr(options, field))
        self.filter_glob = ";".join(f"*{ending}" for ending in endings)
        name = bpy.path.clean_name(rigs_and_meshes(context)[0].name)
        self.filepath = bpy.path.abspath(f"//{name}{endings[0]}") if bpy.data.filepath else name + endings[0]
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def check(self, _context):
        """While the file dialog is open: the ending that belongs to the choice."""
        wanted = bake.with_ending(self.filepath, self.to)
        changed, self.filepath = wanted != self.filepath, wanted
        return changed

    def draw(self, _context):
        """Beside the file dialog; what is written was chosen before it."""
        draw_bake_range(self.layout, self)


def draw_bake_range(layout, settings) -> None:
    layout.use_property_split = True
    layout.use_property_decorate = False
    layout.prop(settings, "frames")
    column = layout.column(align=True)
    if settings.frames == "CUSTOM":
        column.prop(settings, "frame_start")
        column.prop(settings, "frame_end")
    if settings.to != "SHAPE_KEYS" or settings.shapes == "FRAMES":
        column.prop(settings, "frame_step")


class OSSIFY_OT_go_to_frame(bpy.types.Operator):
    """Go to this frame"""

    bl_idname = "ossify.go_to_frame"
    bl_label = "Go to Frame"
    bl_options = {"INTERNAL"}

    frame: IntProperty()

    def execute(self, context):
        context.scene.frame_set(self.frame)
        return {"FINISHED"}


CLASSES = (
    OSSIFY_OT_convert,
    OSSIFY_OT_cancel,
    OSSIFY_OT_preset,
    OSSIFY_OT_root_at_cursor,
    OSSIFY_OT_show_source,
    OSSIFY_OT_select_worst,
    OSSIFY_OT_wish,
    OSSIFY_OT_make_root,
    OSSIFY_OT_forget_wishes,
    OSSIFY_OT_update_skeleton,
    OSSIFY_OT_bake,
    OSSIFY_OT_go_to_frame,
    OSSIFY_MT_skeleton,
)


def draw_menu(self, _context) -> None:
    self.layout.separator()
    self.layout.operator(OSSIFY_OT_convert.bl_idname, icon="ARMATURE_DATA")
    self.layout.operator_menu_enum(OSSIFY_OT_bake.bl_idname, "to", text="Bake Rig Back", icon="FILE_CACHE")


def draw_pose_menu(self, context) -> None:
    if rig_of(context) is not None:
        self.layout.separator()
        self.layout.menu(OSSIFY_MT_skeleton.__name__, icon="ARMATURE_DATA")


@bpy.app.handlers.persistent
def _before_load(*_arguments) -> None:
    session.end()


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_object_animation.append(draw_menu)
    bpy.types.VIEW3D_MT_object_convert.append(draw_menu)
    bpy.types.VIEW3D_MT_pose.append(draw_pose_menu)
    bpy.app.handlers.load_pre.append(_before_load)


def unregister() -> None:
    session.end()
    bpy.app.handlers.load_pre.remove(_before_load)
    bpy.types.VIEW3D_MT_pose.remove(draw_pose_menu)
    bpy.types.VIEW3D_MT_object_convert.remove(draw_menu)
    bpy.types.VIEW3D_MT_object_animation.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
