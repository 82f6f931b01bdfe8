"""The sidebar's way back: what was changed on a rig, what is held of it, and the button that refits it."""

import bpy

from ..base.words import counted
from ..options.options import holds
from ..put_back import put_back
from ..record import changes, memory
from ..record.recapture import sources_are_here, takes_of
from ..refit import refit_check
from .chosen import rig_of
from .panel import Sidebar, draw_progress, paragraph, runs
from .panel_rows import as_settings, draw_range

_BONES_SHOWN = 5  # bones listed one by one
_WORDS_SHARE = 0.72  # of a line, for what was changed
_KEEPS = {
    "REPAINTED": "keep_repainted",
    "REKEYED": "keep_rekeyed",
    "SCULPTED": "keep_sculpted",
    "RESHAPED": "keep_reshaped",
}
_ICONS = {
    "ADDED": "ADD",
    "DELETED": "REMOVE",
    "MERGED": "AUTOMERGE_ON",
    "MOVED": "OBJECT_ORIGIN",
    "REPARENTED": "LINKED",
    "RENAMED": "SORTALPHA",
    "REPAINTED": "WPAINT_HLT",
    "SCULPTED": "SCULPTMODE_HLT",
    "RESHAPED": "SHAPEKEY_DATA",
    "REKEYED": "KEYFRAME_HLT",
}


class OSSIFY_PT_refit(Sidebar, bpy.types.Panel):
    bl_label = "Refit"
    bl_parent_id = "OSSIFY_PT_rig"
    bl_order = 1

    def draw(self, context):
        layout, armature = self.layout, rig_of(context)
        _draw_motion(layout, context, armature)
        _draw_changes(layout, context, armature.ossify)
        _draw_held(layout, context, armature)
        if runs("OSSIFY_OT_refit"):
            draw_progress(layout)
        else:
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
    column, takes = layout.column(align=True), takes_of(armature)
    if takes is not None:
        for clip in takes:
            column.prop(clip, "source", text=f"For {clip.name}")
        return
    for index, item in enumerate(record.sources):
        name = record.meshes[index].object.name if record.meshes[index].object else "Mesh"
        column.prop(item, "object", text=f"For {name}")


def _draw_changes(layout, context, record) -> None:
    layout.operator("ossify.look_for_changes", icon="VIEWZOOM")
    if not record.looked:
        return
    box = layout.box().column(align=True)
    if not record.changes:
        box.label(text="Nothing was changed")
    for item in record.changes:
        with_button = item.name in _KEEPS or item.name in put_back.KINDS
        row = box.split(factor=_WORDS_SHARE) if with_button else box
        share = _WORDS_SHARE if with_button else 1.0
        paragraph(row, context, item.words, _ICONS.get(item.name, "ERROR"), share)
        if item.name in _KEEPS:
            row.prop(record, _KEEPS[item.name], text="Keep")
        elif item.name in put_back.KINDS:
            row.operator("ossify.put_back", text="Put Back").kind = item.name


def _held_words(armature) -> list[tuple[str, str]]:
    """(icon, words) of bones, vertices and frames that are held."""
    record, words = armature.ossify, []
    bones = [bone.name for bone in armature.data.bones if bone.get(changes.HELD)]
    if bones:
        more = f" and {len(bones) - _BONES_SHOWN} more" if len(bones) > _BONES_SHOWN else ""
        words.append(("BONE_DATA", ", ".join(bones[:_BONES_SHOWN]) + more))
    placed = [bone.name for bone in armature.data.bones if bone.get(changes.PLACED)]
    if placed:
        several = f"Places of {len(placed)} bones"
        words.append(("OBJECT_ORIGIN", several if len(placed) > 1 else f"The place of {placed[0]}"))
    meshes = [item.object for item in record.meshes if item.object]
    meshes = [obj for obj in meshes if changes.HELD in obj.data.attributes]
    if meshes:
        in_edit_mode = any(obj.mode == "EDIT" for obj in meshes)  # where attributes cannot be read
        count = 0 if in_edit_mode else sum(int(changes.held_vertices(obj.data).sum()) for obj in meshes)
        words.append(("VERTEXSEL", counted(count, "vertex") if count else "Some vertices"))
    frames = [str(item.frame) for item in record.frames if item.held]
    if frames:
        several = f"{len(frames)} frames from {frames[0]} on"
        words.append(("KEYFRAME_HLT", several if len(frames) > 1 else f"Frame {frames[0]}"))
    return words


def _draw_held(layout, context, armature) -> None:
    """What is held by name, when anything is."""
    held = _held_words(armature)
    if held:
        box = layout.box().column(align=True)
        box.label(text="Held", icon="LOCKED")
        for icon, words in held:
            paragraph(box, context, words, icon)
        box.operator("ossify.release_all")


def _draw_button(layout, context, armature) -> None:
    trouble = refit_check.trouble(armature)
    if trouble:
        paragraph(layout, context, trouble, "ERROR")
    row = layout.row()
    row.scale_y = 1.4
    row.operator("ossify.refit", icon="FILE_REFRESH")


class _OfRefit(Sidebar):
    """A folded part of the panel."""

    bl_parent_id = "OSSIFY_PT_refit"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None


class OSSIFY_PT_hold(_OfRefit, bpy.types.Panel):
    bl_label = "Hold"

    def draw(self, _context):
        column = self.layout.column(align=True)
        for what, words in (
            ("BONES", "Selected Bones"),
            ("VERTICES", "Selected Vertices"),
            ("FRAMES", "This Frame"),
        ):
            row = column.row(align=True)
            hold = row.operator("ossify.hold", text=f"Hold {words}", icon="LOCKED")
            hold.what, hold.held = what, True
            release = row.operator("ossify.hold", text="", icon="UNLOCKED")
            release.what, release.held = what, False


class OSSIFY_PT_refit_settings(_OfRefit, bpy.types.Panel):
    bl_label = "What Is Solved"

    def draw(self, context):
        settings, armature = context.scene.ossify_refit, rig_of(context)
        column = as_settings(self.layout.column())
        column.prop(settings, "solve")
        column.prop(settings, "only")
        draw_range(column, settings, steps=False)
        column.prop(settings, "quality")
        column.prop(settings, "rest")
        if holds(armature.ossify.settings):
            column.prop(settings, "joints")
        column.prop(settings, "move_idle", text="Idle Bones")
        if memory.is_kept(armature) and sources_are_here(armature):
            column.prop(settings, "motion")


class OSSIFY_PT_refitted(_OfRefit, bpy.types.Panel):
    bl_label = "Last Refit"

    @classmethod
    def poll(cls, context):
        return super().poll(context) and rig_of(context).ossify.refitted

    def draw(self, context):
        layout, record = self.layout, rig_of(context).ossify
        column = layout.column(align=True)
        column.label(text=f"Error {record.rms_before:.3g} % before, {record.rms:.3g} % after")
        column.prop(record, "show_change", toggle=True)
        meshes = [item for item in record.fits if item.kind == "MESH"]
        bones = [item for item in record.fits if item.kind == "BONE"]
        few = len(bones) <= 2 * _BONES_SHOWN
        shown = bones if few else [*bones[:_BONES_SHOWN], *bones[-_BONES_SHOWN:]]
        column = layout.column(align=True)
        column.label(text="Of each bone, in %" if few else "Of bones that changed most, in %")
        for item in (*(meshes if len(meshes) > 1 else ()), *shown):
            split = column.split(factor=0.6)
            split.label(text=item.name, icon="OUTLINER_OB_MESH" if item.kind == "MESH" else "BONE_DATA")
            split.label(text=f"{item.before:.2g} to {item.after:.2g}")


CLASSES = (OSSIFY_PT_refit, OSSIFY_PT_hold, OSSIFY_PT_refit_settings, OSSIFY_PT_refitted)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
