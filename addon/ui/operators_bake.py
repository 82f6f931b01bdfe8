"""The operator for baking back: thin, like those of operators.py."""

import bpy
from bpy.props import BoolProperty, StringProperty

from ..base.words import counted
from ..files import bake
from ..options.options import BAKE_FIELDS, CACHE_ENDINGS, BakeOptions
from . import properties_bake
from .chosen import allowed_now, rigs_and_meshes
from .modal import Working
from .panel_rows import as_settings, draw_range


class OSSIFY_OT_bake(Working, bpy.types.Operator):
    """Bake the selected rigs, or meshes that move, into shape keys or a cache; the rig stays as it is"""

    bl_idname = "ossify.bake"
    bl_label = "Bake Back"
    bl_options = {"UNDO"}

    __annotations__ = {
        **properties_bake.bake_annotations(options={"SKIP_SAVE"}),  # what is not given comes from the sidebar
        "filepath": StringProperty(
            name="File", description="Cache file to write", subtype="FILE_PATH", options={"SKIP_SAVE"}
        ),
        "filter_glob": StringProperty(options={"HIDDEN", "SKIP_SAVE"}),
        "check_existing": BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"}),
    }

    @classmethod
    def poll(cls, context):
        return allowed_now(cls, bake.trouble(rigs_and_meshes(context), context.view_layer))

    def _options(self, context) -> BakeOptions:
        return self.given(BakeOptions.of(context.scene.ossify_bake), (*BAKE_FIELDS, "filepath"))

    def steps(self, context):
        objects = rigs_and_meshes(context)
        return bake.bake(context.scene, context.view_layer, objects, self._options(context))

    def check_first(self, context) -> None:
        objects = rigs_and_meshes(context)
        bake.check(context.scene, context.view_layer, objects, self._options(context))

    def succeed(self, baked: bake.Baked) -> set[str]:
        what = " and ".join(path.name for path in baked.files) or f"{baked.meshes[0].name}: shape keys"
        self.report({"INFO"}, f"{what}, {counted(baked.samples, 'sample')}")
        return {"FINISHED"}

    def invoke(self, context, event):
        options = self._options(context)
        if options.to == "SHAPE_KEYS" or options.filepath or bpy.app.background or context.window is None:
            return super().invoke(context, event)
        endings = CACHE_ENDINGS[options.to]
        for field in BAKE_FIELDS:  # the dialog shows them
            setattr(self, field, getattr(options, field))
        self.filter_glob = ";".join(f"*{ending}" for ending in endings)
        name = bpy.path.clean_name(rigs_and_meshes(context)[0].name)
        self.filepath = bpy.path.abspath(f"//{name}{endings[0]}") if bpy.data.filepath else name + endings[0]
        self.asked = True
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
    steps = settings.to != "SHAPE_KEYS" or settings.shapes == "FRAMES"
    draw_range(as_settings(layout), settings, steps)


CLASSES = (OSSIFY_OT_bake,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
