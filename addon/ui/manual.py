"""The manual: a page that comes with the extension. F1 over a button of Ossify's, or *Online Manual* in its
menu, opens the part that tells about it."""

from pathlib import Path

import bpy
from bpy.props import StringProperty

from .chosen import allowed

# operator, without "ossify.": the anchor of its part; the others are told about from the beginning
TOPICS = {
    "adopt": "your-own-armature",
    "switch_controls": "your-own-armature",
    "bake": "back-to-a-cache",
    "convert": "the-first-five-minutes",
    "convert_again": "the-first-five-minutes",
    "export": "export",
    "preset": "which-mesh-which-preset",
    "preset_add": "which-mesh-which-preset",
    "refit": "edit-and-refit",
    "select_worst": "report-and-heat-map",
    "track": "later-track-motion",
    "unwrap": "unwrap-for-motion",
    "update_skeleton": "skeleton",
    "compress_weights": "virtual-bones",
}


def page() -> Path | None:
    """The page of the extension, or in a source tree the text that it is made of; None: there is neither."""
    folder = Path(__file__).resolve().parents[1]
    places = folder / "manual" / "manual.html", folder.parent / "docs" / "manual.md"
    return next((path for path in places if path.is_file()), None)


def _map():
    """For Blender: where the pages are, and the page of each of its names."""
    found = page()
    prefix = "" if found is None else found.as_uri()
    topics = [(f"bpy.ops.ossify.{name}", f"#{anchor}") for name, anchor in TOPICS.items()]
    return prefix, (*topics, ("bpy.ops.ossify.*", ""))


class OSSIFY_OT_manual(bpy.types.Operator):
    """Open the manual of Ossify, which came with it, in a browser"""

    bl_idname = "ossify.manual"
    bl_label = "Ossify Manual"
    bl_options = {"INTERNAL"}

    topic: StringProperty(name="Part", description="The anchor of a part; empty: from the beginning")

    @classmethod
    def poll(cls, _context):
        return allowed(cls, None if page() is not None else "The manual is not there: install Ossify again")

    def execute(self, _context):
        address = page().as_uri() + (f"#{self.topic}" if self.topic else "")
        bpy.ops.wm.url_open(url=address)
        return {"FINISHED"}


CLASSES = (OSSIFY_OT_manual,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.utils.register_manual_map(_map)


def unregister() -> None:
    bpy.utils.unregister_manual_map(_map)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
