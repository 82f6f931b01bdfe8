"""The sidebar: what the selection offers, the settings, the progress, and the report of a rig."""

import blf
import bpy

from .. import native
from ..base.refusal import Refusal
from ..base.words import counted, listed
from ..convert.again import sources_of
from ..motion import sources
from ..motion.capture import frame_range
from ..options.options import PRESETS, contradiction, preset_of
from ..rig import heat, roles
from . import session
from .chosen import chosen_objects, rig_around, rig_of
from .operators_bake import draw_bake_range
from .panel_rows import as_settings, draw_range

_OBJECTS_SHOWN = 4  # objects listed one by one
_FONT = 0  # Blender's own
_UNIT = 20  # pixels of a button's height at a scale of 1; the others are in units of it
_MARGIN = 3.5  # the tabs, the edges of the panel and of a box in it
_ICON = 1.2


def _lines(text: str, width: float, measure) -> list[str]:
    """The text in lines that measure no more than `width`, but for words that are longer."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and measure(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def paragraph(layout, context, text: str, icon: str = "NONE", share: float = 1.0) -> None:
    """Text over several lines, as wide as the sidebar or a share of it."""
    unit = _UNIT * context.preferences.system.ui_scale
    blf.size(_FONT, context.preferences.ui_styles[0].widget.points * context.preferences.system.ui_scale)
    width = share * (context.region.width - unit * _MARGIN) - unit * (0 if icon == "NONE" else _ICON)
    column = layout.column(align=True)
    for index, line in enumerate(_lines(text, width, lambda words: blf.dimensions(_FONT, words)[0])):
        column.label(text=line, icon=icon if index == 0 else ("NONE" if icon == "NONE" else "BLANK1"))


def _library_trouble() -> str | None:
    try:
        native.library()
    except native.OssifyError as error:
        return str(error)
    return None


class Sidebar:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Ossify"


class OSSIFY_MT_presets(bpy.types.Menu):
    """Those of Ossify, and the artist's own, which Blender keeps as files."""

    bl_label = "Presets"
    preset_subdir = "ossify"
    preset_operator = "script.execute_preset"

    def draw(self, context):
        for name, (label, _text, _values) in PRESETS.items():
            self.layout.operator("ossify.preset", text=label).preset = name
        if any(bpy.utils.preset_paths(self.preset_subdir)):
            self.layout.separator()
            bpy.types.Menu.draw_preset(self, context)


class OSSIFY_PT_convert(Sidebar, bpy.types.Panel):
    bl_label = "Motion to Rig"
    bl_order = 1

    def draw_header_preset(self, _context):
        self.layout.operator("ossify.manual", text="", icon="HELP", emboss=False)

    def draw(self, context):
        layout = self.layout
        trouble = _library_trouble()
        if trouble:
            paragraph(layout, context, trouble, "ERROR")
        elif _is_shown_here(context):
            draw_progress(layout)
        else:
            _draw_offers(layout, context)
            settings = context.scene.ossify
            _draw_button(layout, context, settings)
            _draw_presets(layout, settings)


def _draw_presets(layout, settings) -> None:
    preset, row = preset_of(settings), layout.row(align=True)
    row.menu(OSSIFY_MT_presets.__name__, text=PRESETS[preset][0] if preset else "Custom Settings")
    row.operator("ossify.preset_add", text="", icon="ADD")
    row.operator("ossify.preset_add", text="", icon="REMOVE").remove_active = True


def _draw_button(layout, context, settings):
    trouble = contradiction(settings, context.scene)
    if trouble:
        paragraph(layout, context, trouble, "ERROR")
    row = layout.row()
    row.scale_y = 1.6
    row.enabled = trouble is None
    again = is_again(context)
    row.operator("ossify.convert_again" if again else "ossify.convert", icon="ARMATURE_DATA")


def _is_shown_here(context) -> bool:
    """Whether the progress belongs into this panel: what runs has no other, or it is not to be seen."""
    return runs("OSSIFY_OT_convert", "OSSIFY_OT_convert_again") or (
        session.current is not None and rig_of(context) is None
    )


def is_again(context) -> bool:
    """Whether what is selected is a rig, or its own meshes, so that its source is meant."""
    rig = rig_of(context)
    return rig is not None and all(rig_around(obj) is not None for obj in chosen_objects(context))


def runs(*operators: str) -> bool:
    """Whether one of them is at work."""
    return session.current is not None and session.current.operator in operators


def draw_progress(layout) -> None:
    running = session.current
    layout.progress(factor=running.step.fraction, type="BAR", text=running.progress())
    layout.label(text=running.fit())  # a line of its own even while it is empty: the button stays
    layout.operator("ossify.cancel", text="Cancel", icon="X")


def _draw_offers(layout, context) -> None:
    objects = chosen_objects(context)
    box = layout.box()
    if is_again(context):
        _draw_sources(box, context)
        return
    if not objects or (rig_of(context) is not None and not any(obj.type == "MESH" for obj in objects)):
        paragraph(box, context, "Select one or more meshes that move.", "INFO")
        return
    settings = context.scene.ossify
    poses = settings.frames == "POSES" and sources.lack_poses(objects)
    for obj in objects[:_OBJECTS_SHOWN]:
        offer = sources.offer(obj, context.view_layer, poses)
        box.label(text=obj.name, icon="OUTLINER_OB_MESH" if obj.type == "MESH" else "OBJECT_DATA")
        if offer.trouble:
            paragraph(box, context, offer.trouble, "ERROR")
            continue
        motion = ", ".join(offer.motion) or "nothing that Ossify knows of"
        paragraph(box, context, f"{counted(offer.vertices, 'vertex')}. Moved by {motion}.")
    if len(objects) > _OBJECTS_SHOWN:
        box.label(text=f"and {len(objects) - _OBJECTS_SHOWN} more")
    if settings.frames != "POSES":
        try:
            times = frame_range(context.scene, settings)
            box.label(text=f"{counted(len(times), 'frame')}, {times[0]} to {times[-1]}")
        except Refusal as refusal:
            paragraph(box, context, str(refusal), "ERROR")


def _draw_sources(box, context) -> None:
    """Of a rig, which Convert Again starts from."""
    armature = rig_of(context)
    try:
        found = sources_of(armature, context.view_layer)
    except Refusal as refusal:
        paragraph(box, context, str(refusal), "ERROR")
        return
    names = listed([obj.name for obj in found])
    paragraph(box, context, f"{armature.name} is a rig: a new one is made from {names}.", "INFO")


class _Settings(Sidebar):
    """A folded part of the settings."""

    bl_parent_id = "OSSIFY_PT_convert"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, _context):
        return session.current is None

    def draw(self, context):
        self.draw_settings(as_settings(self.layout), context.scene.ossify)


def _is_found(settings) -> bool:
    """Whether their number is found without a limit."""
    return settings.skeleton in ("ANIMATOR", "AUTO")


class OSSIFY_PT_bones(_Settings, bpy.types.Panel):
    bl_label = "Bones"
    bl_options = set()

    def draw_settings(self, layout, settings):
        layout.prop(settings, "bones_by")
        column = layout.column(align=True)
        if settings.bones_by == "COUNT":
            column.prop(settings, "bones")
        if settings.bones_by == "BUDGET":
            column.prop(settings, "budget", text="Degrees" if settings.budget_of == "NORMALS" else "Percent")
            column.prop(settings, "budget_of")
        if settings.bones_by == "BUDGET" or (settings.bones_by == "PARTS" and not _is_found(settings)):
            column.prop(settings, "bones_most")
        layout.prop(settings, "bone_kind")
        layout.prop(settings, "skeleton")
        if settings.skeleton in ("ANIMATOR", "AUTO") and settings.bone_kind == "RIGID":
            layout.prop(settings, "helpers")
            if settings.helpers == "COUNT":
                layout.prop(settings, "helper_count")
        if settings.skeleton != "NONE":
            row = layout.row(align=True)
            row.prop(settings, "root")
            row.operator("ossify.root_at_cursor", text="", icon="PIVOT_CURSOR")
            if settings.root == "PLACE":
                layout.prop(settings, "root_place")
        if settings.bone_kind == "RIGID":
            layout.prop(settings, "symmetry")
            layout.prop(settings, "names")
            if settings.names != "PLACES":
                layout.prop(settings, "facing")
        layout.prop(settings, "influences_by")
        if settings.influences_by == "COUNT":
            layout.prop(settings, "influences")
        layout.prop(settings, "virtual_bones")
        layout.prop(settings, "correctives")
        if settings.correctives != "OFF":
            column = layout.column(align=True)
            column.prop(settings, "corrective_count")
            column.prop(settings, "corrective_budget")
        layout.prop(settings, "quality")
        layout.prop(settings, "locality")
        layout.prop(settings, "fairness")
        layout.prop(settings, "keep_volume")


class OSSIFY_PT_motion(_Settings, bpy.types.Panel):
    bl_label = "Motion"

    def draw_settings(self, layout, settings):
        timed = settings.frames != "POSES"
        draw_range(layout, settings, steps=timed)
        if timed:
            layout.prop(settings, "smooth_jitter")
            layout.prop(settings, "clips")
        layout.prop(settings, "each")
        layout.prop(settings, "rest")
        if settings.rest == "FRAME":
            layout.prop(settings, "rest_frame")
        row = layout.row()
        row.active = settings.rest != "SYNTHESISED"
        row.prop(settings, "rest_correction")


class OSSIFY_PT_result(_Settings, bpy.types.Panel):
    bl_label = "Keys and Result"

    def draw_settings(self, layout, settings):
        row = layout.row()
        row.active = settings.frames != "POSES"
        row.prop(settings, "keys")
        if settings.keys == "REDUCED":
            row = layout.row()
            row.active = settings.frames != "POSES"
            row.prop(settings, "key_tolerance")
            layout.prop(settings, "key_shape")
        layout.prop(settings, "nla")
        if settings.frames == "POSES":
            layout.prop(settings, "pose_assets")
        layout.prop(settings, "hide_source")
        layout.prop(settings, "keep_motion")
        layout.prop(settings, "seed")
        layout.prop(settings, "threads")


class OSSIFY_UL_frames(bpy.types.UIList):
    """The error of each frame as a bar; a click goes there."""

    use_worst_first: bpy.props.BoolProperty(name="Worst First", description="Sort by error")

    def draw_item(self, _context, layout, data, item, _icon, _active_data, _active_property):
        worst = max(data.worst_frame_error, 1e-12)
        split = layout.split(factor=0.4)
        split.label(text=item.name)
        split.progress(factor=min(item.error / worst, 1.0), text=f"{item.error:.3g} %")

    def draw_filter(self, _context, layout):
        row = layout.row(align=True)
        row.prop(self, "filter_name", text="")
        row.prop(self, "use_worst_first", toggle=True)

    def filter_items(self, _context, data, name):
        items, helper = getattr(data, name), bpy.types.UI_UL_list
        flags = []
        if self.filter_name:
            flags = helper.filter_items_by_name(self.filter_name, self.bitflag_filter_item, items, "name")
        order = []
        if self.use_worst_first:
            order = helper.sort_items_helper(list(enumerate(items)), lambda pair: -pair[1].error)
        return flags, order


class OSSIFY_PT_rig(Sidebar, bpy.types.Panel):
    bl_label = "Rig"
    bl_order = 0  # above the settings: it is what one looks at when a conversion is done

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None

    def draw(self, context):
        layout = self.layout
        rig = rig_of(context).ossify
        column = layout.column(align=True)
        column.label(text=f"Error {rig.rms:.3g} % of the size")
        column.label(text=f"Largest {rig.maximum:.3g} %, {rig.maximum / 100 * rig.size:.3g} units")
        if rig.normal_degrees:
            column.label(text=f"Surface: normals {rig.normal_degrees:.1f}° off")
        for note in rig.notes.splitlines():
            paragraph(layout, context, note, "INFO")
        column = layout.column(align=True)
        go = column.operator("ossify.go_to_frame", text=f"Worst Frame ({rig.worst_frame})")
        go.frame = rig.worst_frame
        column.operator("ossify.select_worst")
        column.prop(rig, "show_error", toggle=True)
        if rig.show_error:
            column.row(align=True).prop(rig, "show_error_of", expand=True)
            _draw_legend(column, rig_of(context))
        column.operator("ossify.show_source", text="Show or Hide Source")


def _bone_words(armature) -> str:
    """How many there are, helpers by themselves."""
    helpers = sum(map(roles.is_helper, armature.data.bones))
    words = counted(armature.ossify.bones - helpers, "bone")
    return f"{words} and {counted(helpers, 'helper')}" if helpers else words


def _draw_legend(layout, armature) -> None:
    """What the colours of Show Error mean."""
    name = heat.shown_by(armature)
    meshes = [obj for obj in heat.meshes_of(armature) if heat.error_of(obj.data, name) is not None]
    if meshes:
        top, unit = heat.top_error(meshes, name), "°" if name == heat.NORMALS else " %"
        colours = (("05", 0.0), ("04", 0.5)), (("03", 0.75), ("01", 1.0))  # those of heat.ramp
        for two in colours:  # four in a row are cut off
            row = layout.row(align=True)
            for icon, share in two:
                row.label(text=f"{top * share:.2g}{unit}", icon=f"COLLECTION_COLOR_{icon}")


class OSSIFY_PT_details(Sidebar, bpy.types.Panel):
    bl_label = "Details"
    bl_order = 4
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        rig, column = rig_of(context).ossify, self.layout.column(align=True)
        column.label(text=_bone_words(rig_of(context)))
        column.label(text=counted(rig.vertices, "vertex"))
        if rig.settings.skeleton != "NONE":
            column.label(text=f"Bones leave the body by {rig.excess_flight:.2g} %")
        column.label(text=f"95 in 100 below {rig.percentile_95:.3g} %")
        column.label(text=f"{rig.keys:,} of {rig.keys_if_every:,} keys kept")
        column.label(text=f"{rig.rig_size} as a rig")
        column.label(text=f"{rig.cache_size} as a cache")
        column.label(text=f"{rig.shape_key_size} as shape keys")
        column.label(text=f"E_RMS {rig.erms:.3g}")


class OSSIFY_PT_frames(Sidebar, bpy.types.Panel):
    bl_label = "Error of Each Frame"
    bl_order = 5
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        self.layout.template_list(
            "OSSIFY_UL_frames", "", rig_of(context).ossify, "frames", rig_of(context).ossify, "frame_index"
        )


class OSSIFY_PT_bake(Sidebar, bpy.types.Panel):
    bl_label = "Bake Back"
    bl_order = 6
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, settings = as_settings(self.layout), context.scene.ossify_bake
        layout.prop(settings, "to")
        if settings.to == "SHAPE_KEYS":
            layout.prop(settings, "shapes")
        draw_bake_range(layout, settings)
        text = "Bake to Shape Keys" if settings.to == "SHAPE_KEYS" else "Bake to File..."
        if runs("OSSIFY_OT_bake"):
            draw_progress(layout)
        else:
            layout.operator("ossify.bake", text=text, icon="FILE_CACHE")


CLASSES = (
    OSSIFY_MT_presets,
    OSSIFY_UL_frames,
    OSSIFY_PT_convert,
    OSSIFY_PT_bones,
    OSSIFY_PT_motion,
    OSSIFY_PT_result,
    OSSIFY_PT_rig,
    OSSIFY_PT_details,
    OSSIFY_PT_frames,
    OSSIFY_PT_bake,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
