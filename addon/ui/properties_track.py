"""What Blender stores for tracking: the settings of the panel on the scene."""

import bpy
from bpy.props import PointerProperty

from ..options.options import TRACK_FIELDS, TrackOptions
from ..options.track_words import TRACK_WORDS
from .properties import as_properties


def track_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(TRACK_WORDS, TrackOptions, TRACK_FIELDS, **more)


def _is_mesh(_self, obj) -> bool:
    return obj.type == "MESH"


class OssifyTrack(bpy.types.PropertyGroup):
    """The settings of a tracking."""

    __annotations__ = {
        **track_annotations(),
        "source": PointerProperty(
            type=bpy.types.Object,
            name="Source",
            description="The mesh that moves; empty: the selected ones",
            poll=_is_mesh,
        ),
    }


CLASSES = (OssifyTrack,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_track = PointerProperty(type=OssifyTrack, name="Ossify Track")


def unregister() -> None:
    del bpy.types.Scene.ossify_track
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
