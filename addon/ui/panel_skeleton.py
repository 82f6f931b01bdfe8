"""The sidebar's part for the skeleton of a rig: how well its joints are known, and what is wanted of it."""

import bpy

from ..skeleton import joints
from .chosen import rig_of
from .operators_skeleton import draw_wish_buttons
from .panel import Sidebar, paragraph

_LEGEND = {  # icons of the colours in which overlay.py draws joints
    "ball": "COLLECTION_COLOR_04",
    "hinge": "COLLECTION_COLOR_05",
    "stiff": "COLLECTION_COLOR_03",
    "loose": "COLLECTION_COLOR_01",
}
_COUNTED = {  # one, and more
    "ball": ("joint well determined", "joints well determined"),
    "hinge": ("hinge", "hinges"),
    "stiff": ("joint that hardly turns", "joints that hardly turn"),
    "loose": ("joint guessed", "joints guessed"),
}


class OSSIFY_PT_skeleton(Sidebar, bpy.types.Panel):
    bl_label = "Skeleton"
    bl_parent_id = "OSSIFY_PT_rig"

    @classmethod
    def poll(cls, context):
        return rig_of(context) is not None and rig_of(context).ossify.settings.bone_kind == "RIGID"

    def draw(self, context):
        layout, armature = self.layout, rig_of(context)
        rig = armature.ossify
        if rig.settings.skeleton != "NONE":
            _draw_joints(layout, context, armature)
            active = context.active_pose_bone
            if active is not None and active.id_data == armature:
                _draw_joint_of(layout, context, active.bone)
        column = layout.column(align=True)
        draw_wish_buttons(column, ("JOIN", "APART"))
        column.operator("ossify.make_root")
        column.operator("ossify.update_skeleton", icon="FILE_REFRESH")  # above the wishes: it keeps its place
        if rig.wishes or rig.root_bone:
            _draw_wishes(layout.column(align=True), rig)


def _draw_joints(layout, context, armature) -> None:
    rig, counts = armature.ossify, joints.counts(armature.data)
    column = layout.column(align=True)
    for kind, icon in _LEGEND.items():
        if counts[kind]:
            column.label(text=f"{counts[kind]} {_COUNTED[kind][counts[kind] > 1]}", icon=icon)
    if rig.free_erms:
        free = rig.rms * rig.free_erms / rig.erms if rig.erms else 0.0
        paragraph(column, context, f"Joints hold; with bones that may move the error is {free:.3g} %")
    elif rig.located:
        column.label(text=f"{joints.moving(rig.located)}, by {rig.location:.2g} % at most")
    else:
        column.label(text="All bones only turn")
    column.prop(rig, "show_joints", toggle=True)


def _draw_joint_of(layout, context, bone) -> None:
    """What is known of the joint of a bone."""
    kind = bone.get(joints.KIND)
    if kind in joints.WORDS:
        words = (
            f"{bone.name} {joints.WORDS[kind]}: {bone[joints.ANGLE]:.0f}°, drift {bone[joints.DRIFT]:.2f} %"
        )
        paragraph(layout, context, words, _LEGEND[kind])


def _draw_wishes(column, rig) -> None:
    for wish in rig.wishes:
        icon = "LINKED" if wish.joined else "UNLINKED"
        column.label(text=f"{wish.first}, {wish.second}", icon=icon)
    if rig.root_bone:
        column.label(text=f"{rig.root_bone} is the root", icon="PINNED")
    column.operator("ossify.forget_wishes")


CLASSES = (OSSIFY_PT_skeleton,)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
