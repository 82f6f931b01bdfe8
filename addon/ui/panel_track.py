"""The sidebar's part for the clips of a rig, and for new motion on it."""

import bpy

from . import preview
from .chosen import rig_of
from .operators_track import rig_and_sources, track_trouble
from .panel import Sidebar, draw_progress, paragraph, runs
from .panel_rows import as_settings, draw_range

_NAME_SHARE = 0.44  # of a line, for the name of a clip
_RANGE_SHARE = 0.42  # of the rest of it


class OSSIFY_UL_clips(bpy.types.UIList):
    """The actions of a rig; a click plays one."""

    def draw_item(self, _context, layout, data, item, _icon, _active_data, _active_property, index):
        row = layout.row(align=True)
        action = data.id_data.animation_data.action if data.id_data.animation_data else None
        icon = "PLAY" if item.action is not None and item.action == action else "ACTION"
        name = item.action.name if item.action is not None else f"{item.name} (gone)"
        row.operator("ossify.play_clip", text="", icon=icon, emboss=False).clip = index
        split = row.split(factor=_NAME_SHARE)
        split.label(text=name)
        split = split.split(factor=_RANGE_SHARE)
        split.label(text=f"{item.first_frame} to {item.last_frame}")
        split.label(text=f"{item.rms:.2g} %")


class OSSIFY_PT_track(Sidebar, bpy.types.Panel):
    bl_label = "Clips and New Motion"
    bl_order = 4
    bl_parent_id = "OSSIFY_PT_rig"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None

    def draw(self, context):
        layout, settings = self.layout, context.scene.ossify_track
        rig, meshes = rig_and_sources(context)
        if rig.ossify.clips:
            layout.template_list(
                "OSSIFY_UL_clips", "", rig.ossify, "clips", rig.ossify, "clip_index", rows=2, maxrows=6
            )
        as_settings(layout).prop(settings, "source")
        draw_range(layout, settings)
        layout.prop(settings, "place")
        layout.prop(settings, "match_limit")
        layout.prop(settings, "name")
        layout.prop(settings, "nla")
        if runs("OSSIFY_OT_track"):
            draw_progress(layout)
        else:
            _draw_buttons(layout, context, meshes)


def _draw_buttons(layout, context, meshes) -> None:
    trouble = track_trouble(context)
    if trouble:
        paragraph(layout, context, trouble, "INFO")
    column = layout.column(align=True)
    text = f"Track {meshes[0].name}" if len(meshes) == 1 and not trouble else "Track Motion"
    column.operator("ossify.track", text=text, icon="ACTION")
    column.operator("ossify.preview", depress=preview.running(), icon="HIDE_OFF")
    if preview.sentence():
        paragraph(layout, context, preview.sentence(), "INFO")


CLASSES = (OSSIFY_UL_clips, OSSIFY_PT_track)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
