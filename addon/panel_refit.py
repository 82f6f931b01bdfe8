"""The sidebar's way back: what was changed on a rig, what is held of it, and the button that refits it."""

import bpy

from . import changes, memory, refit
from .operators import rig_of
from .panel import Sidebar, paragraph
from .recapture import sources_are_here

_SHOWN = 5  # bones listed one by one
_WORDS_SHARE = 0.72  # of a line, for what was changed
_KEEPS = {"REPAINTED": "keep_repainted", "REKEYED": "keep_rekeyed", "SCULPTED": "keep_sculpted"}
_ICONS = {
    "ADDED": "ADD",
    "DELETED": "REMOVE",
    "MOVED": "OBJECT_ORIGIN",
    "REPARENTED": "LINKED",
    "RENAMED": "SORTALPHA",
    "REPAINTED": "WPAINT_HLT",
    "SCULPTED": "SCULPTMODE_HLT",
    "REKEYED": "KEYFRAME_HLT",
}


class OSSIFY_PT_refit(Sidebar, bpy.types.Panel):
    bl_label = "Refit"
    bl_parent_id = "OSSIFY_PT_rig"
    bl_order = 1
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, armature = self.layout, rig_of(context)
        _draw_motion(layout, context, armature)
        _draw_changes(layout, armature.ossify)
        _draw_holds(layout, armature)
        _draw_button(layout, context, armature)


def _draw_motion(layout, context, armature) -> None:
    record = armature.ossify
    if memory.is_kept(armature):
        where = (
            "in this file" if memory.is_packed(armature) else f"in {bpy.path.basename(record.motion_file)}"
        )
        layout.label(text=f"Motion kept {where}", icon="PACKAGE")
        return
    if record.motion_file:
        paragraph(layout, context, f"{record.motion_file} is gone.", "ERROR")
    if sources_are_here(armature):
        layout.label(text="Motion read from the source", icon="OUTLINER_OB_MESH")
        return
    paragraph(layout, context, "The motion was not kept, and the source is gone.", "ERROR")
    column = layout.column(align=True)
    for index, item in enumerate(record.sources):
        name = record.meshes[index].object.name if record.meshes[index].object else "Mesh"
        column.prop(item, "object", text=f"For {name}")


def _draw_changes(layout, record) -> None:
    layout.operator("ossify.look_for_changes", icon="VIEWZOOM")
    if not record.looked:
        return
    box = layout.box().column(align=True)
    if not record.changes:
        box.label(text="Nothing was changed")
    for item in record.changes:
        row = box.split(factor=_WORDS_SHARE)
        row.label(text=item.words, icon=_ICONS.get(item.name, "ERROR"))
        if item.name in _KEEPS:
            row.prop(record, _KEEPS[item.name], text="Keep")
        elif item.name in {"MOVED", "REPARENTED"}:
            row.operator("ossify.put_back", text="Put Back").kind = item.name


def _draw_holds(layout, armature) -> None:
    record = armature.ossify
    for what, words in (("BONES", "Bones"), ("VERTICES", "Vertices"), ("FRAMES", "Frame")):
        row = layout.row(align=True)
        hold = row.operator("ossify.hold", text=f"Hold {words}", icon="LOCKED")
        hold.what, hold.held = what, True
        release = row.operator("ossify.hold", text="", icon="UNLOCKED")
        release.what, release.held = what, False
    bones = [bone.name for bone in armature.data.bones if bone.get(changes.HELD)]
    frames = [str(item.frame) for item in record.frames if item.held]
    meshes = [item.object for item in record.meshes if item.object]
    vertices = any(changes.HELD in obj.data.attributes for obj in meshes)
    if bones or frames or vertices:
        box = layout.box().column(align=True)
        if bones:
            more = f" and {len(bones) - _SHOWN} more" if len(bones) > _SHOWN else ""
            box.label(text=", ".join(bones[:_SHOWN]) + more, icon="BONE_DATA")
        if vertices:
            box.label(text="Some vertices", icon="VERTEXSEL")
        if frames:
            words = f"Frame {frames[0]}" if len(frames) == 1 else f"{len(frames)} frames from {frames[0]} on"
            box.label(text=words, icon="KEYFRAME_HLT")
        box.operator("ossify.release_all")


def _draw_button(layout, context, armature) -> None:
    settings = context.scene.ossify_refit
    column = layout.column()
    column.use_property_split, column.use_property_decorate = True, False
    column.prop(settings, "solve")
    column.prop(settings, "only")
    column.prop(settings, "frames")
    if settings.frames == "CUSTOM":
        column.prop(settings, "frame_start")
        column.prop(settings, "frame_end")
    column.prop(settings, "rest")
    if memory.is_kept(armature) and sources_are_here(armature):
        column.prop(settings, "motion")
    trouble = refit.trouble(armature)
    if trouble:
        paragraph(layout, context, trouble, "ERROR")
    row = layout.row()
    row.scale_y = 1.4
    row.operator("ossify.refit", icon="FILE_REFRESH")


class OSSIFY_PT_refitted(Sidebar, bpy.types.Panel):
    bl_label = "Last Refit"
    bl_parent_id = "OSSIFY_PT_refit"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None and rig_of(context).ossify.refitted

    def draw(self, context):
        layout, record = self.layout, rig_of(context).ossify
        column = layout.column(align=True)
        column.label(text=f"Error {record.rms_before:.3g} % before, {record.rms:.3g} % after")
        column.prop(record, "show_change", toggle=True)
        column = layout.column(align=True)
        meshes = [item for item in record.fits if item.kind == "MESH"]
        bones = [item for item in record.fits if item.kind == "BONE"]
        shown = bones if len(bones) <= 2 * _SHOWN else [*bones[:_SHOWN], *bones[-_SHOWN:]]
        for item in (*(meshes if len(meshes) > 1 else ()), *shown):
            split = column.split(factor=0.6)
            split.label(text=item.name, icon="OUTLINER_OB_MESH" if item.kind == "MESH" else "BONE_DATA")
            split.label(text=f"{item.before:.2g} to {item.after:.2g} %")


CLASSES = (OSSIFY_PT_refit, OSSIFY_PT_refitted)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
