"""What Blender stores on every rig: where it came from, how well it fits and what the artist wants of it."""

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..rig import actions, heat
from . import overlay
from .properties import OssifySettings


class OssifySource(bpy.types.PropertyGroup):
    """A mesh that a rig was made from."""

    object: PointerProperty(
        type=bpy.types.Object, name="Source", description="The mesh, or another one with the same vertices"
    )


class OssifyClip(bpy.types.PropertyGroup):
    """An action of a rig, and what it replays."""

    action: PointerProperty(type=bpy.types.Action, name="Action")
    source: PointerProperty(
        type=bpy.types.Object,
        name="Source",
        description="The mesh that the action replays, or another one with the same vertices",
    )
    first_frame: IntProperty(name="First Frame")
    last_frame: IntProperty(name="Last Frame")
    frame_step: IntProperty(name="Step", default=1)
    rms: FloatProperty(name="Error", precision=4, description="Root mean square, in percent of the size")
    tracked: BoolProperty(name="Tracked", description="Put onto the rig later, with its weights held")


class OssifyFrame(bpy.types.PropertyGroup):
    """The error of one frame."""

    frame: IntProperty(name="Frame")
    clip: IntProperty(name="Clip", description="Which of the rig's clips it belongs to")
    error: FloatProperty(name="Error", description="Root mean square, in percent of the size")
    held: BoolProperty(name="Held", description="A refit leaves the pose of this frame as it is")


class OssifyWish(bpy.types.PropertyGroup):
    """What an artist wants of two bones of the skeleton."""

    first: StringProperty(name="Bone")
    second: StringProperty(name="Bone")
    joined: BoolProperty(name="Joined", description="Joined by a joint, or kept apart")


class OssifyChange(bpy.types.PropertyGroup):
    """What was changed on a rig; its name is the kind."""

    words: StringProperty(name="Change")


class OssifyFit(bpy.types.PropertyGroup):
    """The error of a bone or a mesh before and after a refit, in percent of the size."""

    kind: StringProperty()
    before: FloatProperty(name="Before")
    after: FloatProperty(name="After")


def _jump(self, context) -> None:
    if 0 <= self.frame_index < len(self.frames) and context.scene:
        item = self.frames[self.frame_index]
        show_clip(self.id_data, item.clip)
        context.scene.frame_set(item.frame)


def show_clip(armature, index: int) -> None:
    """Plays the action of a clip, unless it is gone or lies in the NLA, or another is tweaked there."""
    data, clips = armature.animation_data, armature.ossify.clips
    if data is None or data.action is None or data.use_tweak_mode:
        return
    if 0 <= index < len(clips) and len(clips) > 1:
        action = clips[index].action
        if action is not None and action != data.action:
            actions.assign(armature, action)


def _show_error(self, context) -> None:
    if self.show_error:
        self.show_change = False
    heat.show(self.id_data, context, self.show_error)


def _show_change(self, context) -> None:
    if self.show_change:
        self.show_error = False
    heat.show(self.id_data, context, self.show_change)


def _show_error_of(self, context) -> None:
    if self.show_error:
        heat.show(self.id_data, context, True)


class OssifyRig(bpy.types.PropertyGroup):
    """What an armature made by Ossify knows about itself."""

    version: StringProperty(name="Ossify", description="The version that made this rig; empty: none did")
    blender: StringProperty(name="Blender")
    settings: PointerProperty(type=OssifySettings)
    sources: CollectionProperty(type=OssifySource)
    meshes: CollectionProperty(type=OssifySource)  # of the rig, in the order of the sources
    memory: PointerProperty(type=bpy.types.Mesh, name="Memory", description="What the rig remembers")
    motion_file: StringProperty(name="Motion", description="The file with the motion")
    first_frame: IntProperty(name="First Frame")
    last_frame: IntProperty(name="Last Frame")
    clips: CollectionProperty(type=OssifyClip)
    clip_index: IntProperty(name="Clip")

    erms: FloatProperty(
        name="E_RMS",
        precision=4,
        description="The error as papers give it: of a coordinate, in thousandths of the radius",
    )
    size: FloatProperty(name="Size", description="Diagonal of the rest shape's box", subtype="DISTANCE")
    rms: FloatProperty(name="Average", precision=4, description="Root mean square, in percent of the size")
    mean: FloatProperty(name="Mean", precision=4, description="In percent of the size")
    percentile_95: FloatProperty(name="95 Percent Below", precision=4, description="In percent of the size")
    maximum: FloatProperty(name="Largest", precision=4, description="In percent of the size")
    worst_object: StringProperty(name="Worst Object")
    worst_vertex: IntProperty(name="Worst Vertex")
    worst_frame: IntProperty(name="Worst Frame")
    bones: IntProperty(name="Bones")
    vertices: IntProperty(name="Vertices")
    keys: IntProperty(name="Keys")
    keys_if_every: IntProperty(name="Keys if Every Frame")
    keys_moved: FloatProperty(
        name="Moved by Reduction",
        precision=4,
        description="The most that leaving out keys moves a vertex, in percent of the size",
    )
    rig_size: StringProperty(name="As a Rig")
    shape_key_size: StringProperty(name="As Shape Keys")
    cache_size: StringProperty(name="As a Point Cache")
    notes: StringProperty(name="Notes")
    normal_degrees: FloatProperty(
        name="Normals Off", precision=1, description="In degrees, root mean square; 0: not known"
    )
    excess_flight: FloatProperty(
        name="Bones Leave the Body", precision=2, description="By how much, in percent of the size"
    )
    located: IntProperty(name="Bones That Also Move")
    location: FloatProperty(
        name="Largest Move", precision=4, description="Of a bone against its parent, in percent of the size"
    )
    correctives: StringProperty(name="Correctives", description="Their names, one in each line")
    correctives_driven: BoolProperty(name="Driven", description="Correctives follow the bones")
    correctives_note: StringProperty(name="Correctives", description="What they are worth")
    correctives_marks: StringProperty(
        name="Correctives", description="What tells each from one that was sculpted"
    )
    correctives_count: IntProperty(name="Correctives", description="How many were asked for")
    correctives_budget: FloatProperty(
        name="Correctives", description="The error that they were to leave, in percent of the size; 0: none"
    )
    free_erms: FloatProperty(name="E_RMS of Free Bones", precision=4, description="0: joints do not hold")

    posed: StringProperty(
        name="Pose Before the Preview", description="While a preview poses the rig; else empty"
    )
    wishes: CollectionProperty(type=OssifyWish)
    root_bone: StringProperty(name="Root Bone", description="The bone that others hang from; empty: found")
    show_joints: BoolProperty(
        name="Show Joints",
        description="Draw the joints by how well they are known: a green dot is well determined, a blue bar"
        " the axis of a hinge, a yellow dot hardly turns, a red ring is a guess",
        update=lambda _self, _context: overlay.redraw(),
        options=set(),
    )

    refitted: BoolProperty(name="Refitted")
    rms_before: FloatProperty(name="Error Before", description="Of the last refit, in percent of the size")
    fits: CollectionProperty(type=OssifyFit)
    changes: CollectionProperty(type=OssifyChange)
    looked: BoolProperty(name="Looked", description="Changes were looked for, and are listed")
    keep_repainted: BoolProperty(
        name="Keep Painted Weights", description="Vertices that you painted keep their weights", default=True
    )
    keep_rekeyed: BoolProperty(
        name="Keep Poses", description="Bones keep their pose in frames that you keyed", default=True
    )
    keep_sculpted: BoolProperty(
        name="Keep Sculpted Shape", description="Vertices that you moved stay where they are", default=True
    )
    keep_reshaped: BoolProperty(
        name="Keep Sculpted Correctives",
        description="Correctives that you sculpted stay as they are, and the others are solved around them",
        default=True,
    )

    volume_rms: FloatProperty(
        name="Error with Keep Volume", description="Root mean square, in percent of the size", precision=4
    )
    worst_frame_error: FloatProperty(
        name="Error of the Worst Frame",
        precision=4,
        description="Root mean square, in percent of the size",
    )
    frames: CollectionProperty(type=OssifyFrame)
    frame_index: IntProperty(name="Frame", description="Go to this frame", update=_jump)
    show_error: BoolProperty(
        name="Show Error",
        description="Colour the meshes by their error: blue is small, red is large",
        update=_show_error,
        options=set(),
    )
    show_error_of: EnumProperty(
        name="Error Of",
        description="What Show Error colours the meshes by",
        items=[
            ("POSITION", "Position", "How far vertices are off, in percent of the size"),
            ("NORMALS", "Normals", "By how many degrees the surface is turned: where cracks and ridges show"),
        ],
        update=_show_error_of,
        options=set(),
    )
    show_change: BoolProperty(
        name="Show Change",
        description="Colour the meshes by what the last refit did to the error: blue fell, red rose",
        update=_show_change,
        options=set(),
    )


CLASSES = (
    OssifySource,
    OssifyClip,
    OssifyFrame,
    OssifyWish,
    OssifyChange,
    OssifyFit,
    OssifyRig,
)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.ossify = PointerProperty(type=OssifyRig, name="Ossify Rig")


def unregister() -> None:
    del bpy.types.Object.ossify
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
