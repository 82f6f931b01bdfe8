"""Operators for new motion on a rig that stands: thin, like those of operators.py."""

import bpy

from .. import native
from ..base.refusal import Refusal
from ..motion import sources
from ..options.options import TRACK_FIELDS, TrackOptions
from ..record import renamed
from ..rig import actions, played
from ..track import takes, track
from . import preview, properties_track
from .chosen import OfRig, allowed, allowed_now, rig_around, rig_of
from .modal import FAILURES, Working, fail


def rig_and_sources(context) -> tuple:
    """The active rig, or the one rig among what is selected, and the other meshes that are selected.

    Where none is, the source chosen in the sidebar counts.
    """
    selected = sorted(context.selected_objects, key=lambda obj: obj.name)
    rigs = list(dict.fromkeys(filter(None, map(rig_around, selected))))
    rig = rig_of(context) or (rigs[0] if len(rigs) == 1 else None)
    meshes = [obj for obj in selected if obj.type == "MESH" and rig_around(obj) is None]
    active = context.view_layer.objects.active
    if active in meshes:
        meshes = [active, *(obj for obj in meshes if obj != active)]
    chosen = context.scene.ossify_track.source
    return rig, meshes or ([chosen] if chosen is not None else [])


def track_trouble(context) -> str | None:
    """Why nothing can be tracked, in one sentence; None when it can."""
    rig, meshes = rig_and_sources(context)
    sentence = track.trouble(rig)
    if sentence:
        return sentence
    if not meshes:
        return f"Select a mesh that moves together with {rig.name}, or choose a source."
    return sources.first_trouble(meshes, context.view_layer)


class OSSIFY_OT_track(Working, bpy.types.Operator):
    """Make another motion of the same mesh an action of this rig; its weights and joints stay"""

    bl_idname = "ossify.track"
    bl_label = "Track Motion"
    bl_options = {"UNDO"}

    __annotations__ = properties_track.track_annotations(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, track_trouble(context))

    def _options(self, context) -> TrackOptions:
        return self.given(TrackOptions.of(context.scene.ossify_track), TRACK_FIELDS)

    def steps(self, context):
        rig, meshes = rig_and_sources(context)
        return track.track(context.scene, context.view_layer, rig, meshes, self._options(context))

    def check_first(self, context) -> None:
        native.library()
        rig, meshes = rig_and_sources(context)
        takes.check(context.scene, context.view_layer, rig, meshes, self._options(context))

    def succeed(self, result: track.Tracked) -> set[str]:
        for note in result.notes:
            self.report({"WARNING"}, note)
        self.report({"INFO"}, result.sentence())
        return {"FINISHED"}


class OSSIFY_OT_preview(bpy.types.Operator):
    """Pose the rig like the source in every frame you go to; no keys are written"""

    bl_idname = "ossify.preview"
    bl_label = "Preview Tracking"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, None if preview.running() else track_trouble(context))

    def execute(self, context):
        if preview.running():
            preview.stop()
            return {"FINISHED"}
        rig, meshes = rig_and_sources(context)
        try:
            preview.start(
                context.scene, context.view_layer, rig, meshes, TrackOptions.of(context.scene.ossify_track)
            )
        except FAILURES as error:
            return fail(self, error)
        return {"FINISHED"}


class OSSIFY_OT_play_clip(OfRig, bpy.types.Operator):
    """Play this action of the rig, and take its range"""

    bl_idname = "ossify.play_clip"
    bl_label = "Play Clip"
    bl_options = {"UNDO", "INTERNAL"}

    clip: bpy.props.IntProperty(name="Clip", description="Its place in the list of the rig's clips")

    @classmethod
    def poll(cls, context):
        armature = rig_of(context)
        return super().poll(context) and allowed(
            cls, sources.library_trouble(armature, armature.name) or played.tweaked(armature)
        )

    def execute(self, context):
        armature, scene = rig_of(context), context.scene
        clips = armature.ossify.clips
        if not 0 <= self.clip < len(clips) or clips[self.clip].action is None:
            return fail(self, Refusal("The action of this clip is gone: track its source again."))
        clip = clips[self.clip]
        renamed.follow(armature)
        actions.assign(armature, clip.action)
        scene.use_preview_range = True
        scene.frame_preview_start, scene.frame_preview_end = clip.first_frame, clip.last_frame
        scene.frame_set(clip.first_frame)
        return {"FINISHED"}


CLASSES = (OSSIFY_OT_track, OSSIFY_OT_preview, OSSIFY_OT_play_clip)


def draw_menu(self, _context) -> None:
    self.layout.operator(OSSIFY_OT_track.bl_idname, icon="ACTION")


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_object_animation.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_object_animation.remove(draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
