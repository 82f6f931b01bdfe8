"""Operators on the weights of a rig: thin, they do nothing that a script could not do with painting.py."""

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty

from .. import native
from ..edit import edits, painting
from ..motion import matching
from ..rig import standing
from .chosen import OfIdleRig, allowed, rig_of
from .modal import Working


def _limit():
    return FloatProperty(
        name="Limit",
        description="The most that a vertex may lie off the other shape, in percent of the size",
        default=matching.LIMIT,
        min=0.001,
        max=100,
        subtype="PERCENTAGE",
    )


def _painted_mesh(context, armature) -> str | None:
    """The name of the active mesh of the rig; None: all of them."""
    active = context.view_layer.objects.active
    return active.name if active in standing.meshes_of(armature) else None


class _Paints(Working, OfIdleRig):
    """An operator on the weights of the active rig, in Weight Paint or Object Mode."""

    bl_options = {"REGISTER", "UNDO"}

    def steps(self, context):
        return self.paint(context, rig_of(context))

    def check_first(self, context) -> None:
        edits.check(rig_of(context))

    def succeed(self, painted: painting.Painted) -> set[str]:
        self.report({"INFO"}, f"{self.bl_label}: {painted.words()}")
        return {"FINISHED"}


class OSSIFY_OT_smooth_weights(_Paints, bpy.types.Operator):
    """Smooth weights over the surface, as far as the error against the motion allows; with a paint mask only
    the selected vertices. Locked vertex groups stay"""

    bl_idname = "ossify.smooth_weights"
    bl_label = "Smooth Within Budget"

    budget: FloatProperty(
        name="Budget",
        description="The most that the error may grow, in percent of the size",
        default=0.01,
        min=0,
        max=100,
        soft_max=1,
        precision=4,
        subtype="PERCENTAGE",
    )
    rounds: IntProperty(
        name="Rounds",
        description="How often a vertex moves toward its neighbours",
        default=5,
        min=1,
        max=100,
        soft_max=20,
    )

    def paint(self, context, armature):
        return painting.smooth(context, armature, self.budget, self.rounds, _painted_mesh(context, armature))


class OSSIFY_OT_prune_weights(_Paints, bpy.types.Operator):
    """Leave at most so many influences on each vertex: those go whose loss costs least in the motion, and
    what is left is solved again. Locked vertex groups stay"""

    bl_idname = "ossify.prune_weights"
    bl_label = "Prune to Influences"

    influences: IntProperty(
        name="Influences",
        description="The most bones that move one vertex",
        default=4,
        min=1,
        max=native.MAX_INFLUENCES,
        soft_max=8,
    )

    def paint(self, context, armature):
        return painting.prune(context, armature, self.influences, _painted_mesh(context, armature))


class OSSIFY_OT_mirror_weights(_Paints, bpy.types.Operator):
    """Give one side of the body the weights of the other, .L and .R swapped; with a paint mask only the
    selected vertices. Locked vertex groups stay"""

    bl_idname = "ossify.mirror_weights"
    bl_label = "Mirror Weights"

    direction: EnumProperty(
        name="Direction",
        description="Which side gives its weights to the other",
        items=[
            ("LEFT_TO_RIGHT", "Left to Right", "From .L, where X is above 0, to .R"),
            ("RIGHT_TO_LEFT", "Right to Left", "From .R, where X is below 0, to .L"),
        ],
    )
    plane: EnumProperty(
        name="Plane",
        description="What lies between the two sides",
        items=[
            ("FOUND", "Found", "The plane that mirrors the rest shape"),
            ("X", "X", "The middle of the armature, across its own X axis"),
        ],
    )
    limit: _limit()

    def paint(self, context, armature):
        only = _painted_mesh(context, armature)
        return painting.mirror(context, armature, self.direction, self.plane, self.limit, only)


class OSSIFY_OT_transfer_weights(_Paints, bpy.types.Operator):
    """Give the weights of the active rig to the other selected meshes: denser or sparser copies of the same
    shape, in the same place. They get vertex groups and an Armature modifier"""

    bl_idname = "ossify.transfer_weights"
    bl_label = "Transfer to Copy"

    limit: _limit()

    @classmethod
    def copies(cls, context) -> list:
        armature = rig_of(context)
        own = {armature, *standing.meshes_of(armature)}
        return sorted((obj for obj in context.selected_objects if obj not in own), key=lambda obj: obj.name)

    @classmethod
    def poll(cls, context):
        words = "Select the copies of the mesh as well, with the rig active"
        return super().poll(context) and allowed(cls, None if cls.copies(context) else words)

    def paint(self, context, armature):
        return painting.transfer(context, armature, self.copies(context), self.limit)


CLASSES = (
    OSSIFY_OT_smooth_weights,
    OSSIFY_OT_prune_weights,
    OSSIFY_OT_mirror_weights,
    OSSIFY_OT_transfer_weights,
)


def draw_menu(self, context) -> None:
    """Of Weight Paint."""
    if rig_of(context) is not None:
        self.layout.separator()
        for cls in CLASSES:
            self.layout.operator(cls.bl_idname)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_paint_weight.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_paint_weight.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
