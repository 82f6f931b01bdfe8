"""What Blender stores for tracking: the settings of the panel on the scene."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from ..options import TRACK_FIELDS, TrackOptions
from .properties import as_properties, words_of

# Names, tooltips and limits; the defaults are those of TrackOptions.
_WORDS = {
    "name": (
        StringProperty,
        {"name": "Action", "description": "Name of the new action; empty: that of the source"},
    ),
    "frames": (
        EnumProperty,
        {
            "name": "Range",
            "description": "Which frames of the source are tracked",
            "items": [
                ("SCENE", "Scene Range", "The frames of the scene"),
                ("PREVIEW", "Preview Range", "The frames of the preview range"),
                ("CUSTOM", "Custom Range", "Frames of your choice"),
            ],
        },
    ),
    **{field: (IntProperty, words_of(field)) for field in ("frame_start", "frame_end", "frame_step")},
    "place": (
        EnumProperty,
        {
            "name": "Place",
            "description": "Where the rig plays the motion",
            "items": [
                ("WORLD", "As Seen", "Where the source is: the rig covers it"),
                (
                    "RIG",
                    "At the Rig",
                    "Where the mesh of the rig stands, and in its size: for a source that stands elsewhere",
                ),
            ],
        },
    ),
    "match_limit": (
        FloatProperty,
        {
            "name": "Match Limit",
            "description": (
                "How far from the surface of a source with other vertices those of the rig may lie at rest,"
                " in percent of the size"
            ),
            "min": 0.001,
            "max": 100,
            "soft_max": 10,
            "precision": 3,
            "subtype": "PERCENTAGE",
        },
    ),
    "nla": (
        BoolProperty,
        {"name": "Push to NLA", "description": "Lay the action that the rig has now into a muted NLA track"},
    ),
}


def track_words_of(field: str) -> dict:
    """Name, description, items and limits of an option, for the command line."""
    return _WORDS[field][1]


def track_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(_WORDS, TrackOptions, TRACK_FIELDS, **more)


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

    def options(self) -> TrackOptions:
        return TrackOptions(**{field: getattr(self, field) for field in TRACK_FIELDS})


CLASSES = (OssifyTrack,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_track = PointerProperty(type=OssifyTrack, name="Ossify Track")


def unregister() -> None:
    del bpy.types.Scene.ossify_track
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
