"""Operators of the way back: look for changes, hold things, refit. Thin, as the others are."""

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ..base.refusal import Refusal
from ..edit import edits
from ..motion import sources
from ..options.options import REFIT_FIELDS, RefitOptions
from ..put_back import put_back
from ..record import changes, renamed
from ..refit import refit, refit_check
from ..rig import played
from . import preview, properties_refit
from .chosen import OfIdleRig, OfRig, allowed, is_selected, rig_of
from .modal import FAILURES, Working, fail


def selected_bones(armature) -> list[str]:
    """In Pose Mode, or as they were left there."""
    return [bone.name for bone in armature.pose.bones if is_selected(bone)]


def selected_vertices(obj) -> np.ndarray:
    """[v] as selected in Edit Mode, or as left there"""
    obj.update_from_editmode()
    chosen = np.zeros(len(obj.data.vertices), bool)
    obj.data.vertices.foreach_get("select", chosen)
    return chosen


def _meshes(armature) -> list:
    return [item.object for item in armature.ossify.meshes if item.object is not None]


class OSSIFY_OT_refit(Working, OfIdleRig, bpy.types.Operator):
    """Solve the rig again from what it is now; what is held, and what you changed and keep, stays"""

    bl_idname = "ossify.refit"
    bl_label = "Refit"
    bl_options = {"UNDO"}

    __annotations__ = properties_refit.refit_annotations(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        return allowed(cls, refit_check.trouble(rig_of(context)))

    def _options(self, context) -> RefitOptions:
        return self.given(RefitOptions.of(context.scene.ossify_refit), REFIT_FIELDS)

    def steps(self, context):
        armature, options = rig_of(context), self._options(context)
        bones = selected_bones(armature) if options.only == "BONES" else []
        vertices = {}
        if options.only == "VERTICES":
            vertices = {obj.name: selected_vertices(obj) for obj in _meshes(armature)}
        if (options.only == "BONES" and not bones) or (vertices and not any(map(np.any, vertices.values()))):
            where = "Pose Mode" if options.only == "BONES" else "Edit Mode"
            what = f"No {options.only.lower()} of {armature.name} are selected"
            raise Refusal(f"{what}: select some in {where}, or do not limit the refit.")
        return refit.refit(context.scene, context.view_layer, armature, options, bones, vertices)

    def check_first(self, context) -> None:
        refit_check.check(rig_of(context))

    def succeed(self, result: refit.Refitted) -> set[str]:
        before, after = result.before, result.after
        words = f"error {before.percent(before.rms):.3g} % before, {after.percent(after.rms):.3g} % after"
        if not result.written:
            words = f"error {before.percent(before.rms):.3g} %, and nothing better was found: it is as it was"
        for note in result.notes:
            self.report({"WARNING"}, note)
        self.report({"INFO"}, f"{result.armature.name}: {words}")
        return {"FINISHED"}


class OSSIFY_OT_look_for_changes(OfRig, bpy.types.Operator):
    """List what was changed on the rig since it was made or last refitted"""

    bl_idname = "ossify.look_for_changes"
    bl_label = "Look for Changes"
    bl_options = {"UNDO"}

    def execute(self, context):
        armature = rig_of(context)
        preview.stop()  # its poses are no changes
        sentence = sources.library_trouble(armature, armature.name)
        if sentence:
            return fail(self, Refusal(sentence))
        for obj in (armature, *_meshes(armature)):
            if obj.mode == "EDIT":
                obj.update_from_editmode()
        for name in renamed.follow(armature):
            self.report(
                {"WARNING"}, f"{name} has the bones' new names now: Blender had not renamed them there"
            )
        found = changes.note(armature)
        self.report({"INFO"}, ", ".join(words for _, words in found) or "Nothing was changed")
        return {"FINISHED"}


_PUT_BACK = {  # name, and what is done
    "ADDED": (
        "Added",
        "Take out the bones that you added, with their vertex groups: vertices follow again what they"
        " followed before. Bones that something else is built on stay",
    ),
    "DELETED": (
        "Deleted",
        "Make the bones that you deleted again, as they were after the last solve, with their weights and"
        " keys. Vertices that you have painted since, and what is held, stay",
    ),
    "MERGED": (
        "Merged",
        "Take the merged bones apart again, with the weights and keys that they had. Vertices that you have"
        " painted since, and what is held, stay",
    ),
    "MOVED": ("Moved", "Put the bones that you moved back to where they were after the last solve"),
    "REPARENTED": (
        "Reparented",
        "Hang the bones that you hung elsewhere from the parents that they had, where they were",
    ),
    "RENAMED": ("Renamed", "Give the bones that you renamed their old names again"),
}


class OSSIFY_OT_put_back(OfIdleRig, bpy.types.Operator):
    """Put back what you changed on bones: they are as they were after the last solve"""

    bl_idname = "ossify.put_back"
    bl_label = "Put Back"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(
        name="What",
        description="Which bones are put back",
        items=[(kind, *words) for kind, words in _PUT_BACK.items()],
        default="MOVED",
    )

    @classmethod
    def description(cls, _context, operator):
        return _PUT_BACK[operator.kind][1]

    def execute(self, context):
        preview.stop()
        try:
            done = put_back.put_back(context, rig_of(context), self.kind)
        except FAILURES as error:
            return fail(self, error)
        for note in done.notes:
            self.report({"WARNING"}, note)
        self.report({"INFO"}, done.words)
        context.view_layer.update()
        return {"FINISHED"}


def _check_noting(armature) -> None:
    """Refuses a rig on which it cannot be noted what is held: in Edit Mode what is written to bones is lost,
    and what is linked is another file's."""
    blocks = [(block, obj.name) for obj in _meshes(armature) for block in (obj, obj.data)]
    troubles = [edits.trouble(armature), *(sources.library_trouble(*named) for named in blocks)]
    sentence = next(filter(None, troubles), None)
    if sentence:
        raise Refusal(sentence)


_HOLDS = {  # name, description, and what letting go is
    "BONES": ("Bones", "The selected bones keep their weights and their motion", "the selected bones"),
    "VERTICES": (
        "Vertices",
        "The selected vertices keep their weights and their place at rest",
        "the selected vertices",
    ),
    "FRAMES": ("Frames", "All bones keep their poses in these frames", "this frame"),
}


class OSSIFY_OT_hold(OfRig, bpy.types.Operator):
    """Hold what is selected, so that a refit does not change it, or let go of it"""

    bl_idname = "ossify.hold"
    bl_label = "Hold Selected"
    bl_options = {"REGISTER", "UNDO"}

    what: EnumProperty(
        name="What",
        description="What a refit shall leave as it is",
        items=[(what, name, words) for what, (name, words, _) in _HOLDS.items()],
    )
    held: BoolProperty(name="Hold", description="Hold, or let go", default=True)
    frame_start: IntProperty(name="From", description="First frame; the current one if none is given")
    frame_end: IntProperty(name="To", description="Last frame; the current one if none is given")

    @classmethod
    def description(cls, _context, operator):
        _, words, those = _HOLDS[operator.what]
        return words if operator.held else f"Let go of {those}"

    def execute(self, context):
        armature = rig_of(context)
        try:
            _check_noting(armature)
            hold = {"BONES": self._bones, "VERTICES": self._vertices, "FRAMES": self._frames}[self.what]
            count = hold(context, armature)
        except FAILURES as error:
            return fail(self, error)
        noun = {"BONES": "bone", "VERTICES": "vertex", "FRAMES": "frame"}[self.what]
        words = f"{count} {self.what.lower()}" if count != 1 else f"One {noun}"
        self.report({"INFO"}, f"{words} {'held' if self.held else 'let go'}")
        return {"FINISHED"}

    def _bones(self, _context, armature) -> int:
        names = [n for n in selected_bones(armature) if armature.data.bones[n].use_deform]
        if not names:
            raise Refusal("No bones that deform the mesh are selected: select them in Pose Mode.")
        for name in names:
            changes.hold_bone(armature.data.bones[name], self.held)
        return len(names)

    def _vertices(self, context, armature) -> int:
        mode, count = context.mode, 0
        chosen = [(obj, selected_vertices(obj)) for obj in _meshes(armature)]
        if not any(rows.any() for _, rows in chosen):
            raise Refusal(f"No vertices of {armature.name}'s meshes are selected: select them in Edit Mode.")
        if mode == "EDIT_MESH":  # attributes of a mesh in Edit Mode cannot be written
            bpy.ops.object.mode_set(mode="OBJECT")
        for obj, rows in chosen:
            changes.hold_vertices(obj.data, rows, self.held)
            count += int(rows.sum())
        if mode == "EDIT_MESH":
            bpy.ops.object.mode_set(mode="EDIT")
        return count

    def _frames(self, context, armature) -> int:
        now = context.scene.frame_current
        first = self.frame_start if self.properties.is_property_set("frame_start") else now
        last = self.frame_end if self.properties.is_property_set("frame_end") else max(first, now)
        rows = np.flatnonzero(played.within(armature, first, last))
        items = [armature.ossify.frames[row] for row in rows.tolist()]
        if not items:
            raise Refusal(f"{armature.name} was not made from any frame between {first} and {last}.")
        for item in items:
            item.held = self.held
        return len(items)


class OSSIFY_OT_release_all(OfRig, bpy.types.Operator):
    """Let go of all bones, vertices and frames that were held, and of the places that you gave to bones;
    Blender's own locks stay"""

    bl_idname = "ossify.release_all"
    bl_label = "Release All"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        armature, mode = rig_of(context), context.mode
        try:
            _check_noting(armature)
        except FAILURES as error:
            return fail(self, error)
        if mode == "EDIT_MESH":
            bpy.ops.object.mode_set(mode="OBJECT")
        for bone in armature.data.bones:
            changes.hold_bone(bone, False)
        for obj in _meshes(armature):
            changes.hold_vertices(obj.data, np.ones(len(obj.data.vertices), bool), False)
        for item in armature.ossify.frames:
            item.held = False
        if mode == "EDIT_MESH":
            bpy.ops.object.mode_set(mode="EDIT")
        return {"FINISHED"}


CLASSES = (
    OSSIFY_OT_refit,
    OSSIFY_OT_look_for_changes,
    OSSIFY_OT_put_back,
    OSSIFY_OT_hold,
    OSSIFY_OT_release_all,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
