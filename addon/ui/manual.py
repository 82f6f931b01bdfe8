"""The manual: a page that comes with the extension. F1 over a button or a setting of Ossify's, or *Online
Manual* in its menu, opens the part that tells about it."""

from pathlib import Path

import bpy
from bpy.props import StringProperty

from .chosen import allowed

_SKELETON = ("wish", "make_root", "forget_wishes", "update_skeleton")
_BY_MOTION = (
    *("merge_bones", "split_bone", "add_bone", "remove_useless", "remove_found"),
    *("smooth_weights", "prune_weights", "mirror_weights", "transfer_weights"),
)
# the anchor of a part, and the operators that it tells about, without "ossify."; others: the beginning
_PARTS = {
    "the-first-five-minutes": ("convert", "convert_again"),
    "which-mesh-which-preset": ("preset", "preset_add"),
    "bones": ("root_at_cursor",),
    "skeleton": _SKELETON,
    "report-and-heat-map": ("select_worst", "go_to_frame", "show_source"),
    "export": ("export",),
    "for-an-engine": ("export_engine",),
    "edit-and-refit": ("refit", "look_for_changes", "hold", "release_all"),
    "put-back": ("put_back",),
    "bones-and-weights-by-the-motion": _BY_MOTION,
    "virtual-bones": ("compress_weights", "remove_virtual_bones", "key_virtual_bones"),
    "correctives": ("add_correctives", "remove_correctives"),
    "keep-volume": ("add_keep_volume", "remove_keep_volume", "rebind_keep_volume"),
    "later-track-motion": ("track", "preview", "play_clip"),
    "fit-rig-to-meshes": ("fit_rig",),
    "body-sliders": ("body_sliders", "reset_body", "random_body", "find_body"),
    "body-bones": ("body_bones",),
    "your-own-armature": ("adopt", "switch_controls"),
    "unwrap-for-motion": ("unwrap", "show_stretch"),
    "back-to-a-cache": ("bake",),
}
TOPICS = {operator: anchor for anchor, operators in _PARTS.items() for operator in operators}
# the same of settings, by the class that holds them
SETTINGS = {
    "OssifySettings": "settings",
    "OssifyAdopt": "your-own-armature",
    "OssifyBake": "back-to-a-cache",
    "OssifyRefit": "edit-and-refit",
    "OssifyRig": "report-and-heat-map",
    "OssifyTrack": "later-track-motion",
    "OssifyVirtual": "virtual-bones",
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
    # Blender compares in lower case
    settings = [(f"bpy.types.{name.lower()}.*", f"#{anchor}") for name, anchor in SETTINGS.items()]
    return prefix, (*topics, *settings, ("bpy.ops.ossify.*", ""))


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
