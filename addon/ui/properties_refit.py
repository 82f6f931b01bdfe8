"""What Blender stores for refitting: the settings of the panel on the scene."""

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, PointerProperty

from ..options import REFIT_FIELDS, RefitOptions
from .properties import as_properties, words_of

# Names, tooltips and limits; the defaults are those of RefitOptions.
_WORDS = {
    "solve": (
        EnumProperty,
        {
            "name": "Solve",
            "description": "What is solved again",
            "items": [
                ("BOTH", "Weights and Motion", "And the rest shape, if the rig's settings say so"),
                ("TRANSFORMS", "Motion", "How bones move; weights stay"),
                ("WEIGHTS", "Weights", "What bones move; their keys stay"),
            ],
        },
    ),
    "only": (
        EnumProperty,
        {
            "name": "Limit To",
            "description": "What may change",
            "items": [
                ("ALL", "Everything", "All that is not held"),
                ("BONES", "Selected Bones", "Weights and motion of the bones selected in Pose Mode"),
                ("VERTICES", "Selected Vertices", "Weights of the vertices selected in Edit Mode"),
            ],
        },
    ),
    "rest": (
        BoolProperty,
        {"name": "Rest Shape", "description": "Correct the rest shape as the settings of the rig say"},
    ),
    "motion": (
        EnumProperty,
        {
            "name": "Motion",
            "description": "What the rig is fitted to",
            "items": [
                ("KEPT", "As Kept", "The motion that the rig was made from"),
                ("SOURCE", "Source Now", "The source, read again: for one that was changed"),
            ],
        },
    ),
    "frames": (
        EnumProperty,
        {
            "name": "Frames",
            "description": "In which frames bones may move",
            "items": [
                ("ALL", "All", "All frames that the rig was made from"),
                ("CUSTOM", "Custom Range", "Frames of your choice; in the others poses stay as they are"),
            ],
        },
    ),
    "frame_start": (IntProperty, words_of("frame_start")),
    "frame_end": (IntProperty, words_of("frame_end")),
    "quality": (
        EnumProperty,
        {
            "name": "Quality",
            "description": "How long the solver tries",
            "items": [
                ("RIG", "As the Rig's", "As when the rig was made"),
                *words_of("quality")["items"],
            ],
        },
    ),
    "joints": (
        BoolProperty,
        {
            "name": "Joints",
            "description": "Find joints that hold (Articulated) anew. Those that you placed or hold stay, and"
            " so do all of a rig with several clips, whose keys would mean another motion",
        },
    ),
    "move_idle": (
        EnumProperty,
        {
            "name": "Move Idle Bones",
            "description": "When a bone that does little may leave for a place where one is missed, if that"
            " takes a twentieth off the error. It keeps its name. Bones that you added, moved, renamed, hold"
            " or built upon stay",
            "items": [  # numbered so that files in which this was a tick can be read
                ("NEVER", "Never", "All bones stay near their places", 2),
                ("AUTOMATIC", "Automatic", "After you deleted a bone", 0),
                ("ALWAYS", "Always", "In every refit. Takes a few times as long", 1),
            ],
        },
    ),
}


def refit_words_of(field: str) -> dict:
    """Name, description, items and limits of an option, for the command line."""
    return _WORDS[field][1]


def refit_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(_WORDS, RefitOptions, REFIT_FIELDS, **more)


class OssifyRefit(bpy.types.PropertyGroup):
    """The settings of a refit."""

    __annotations__ = refit_annotations()

    def options(self) -> RefitOptions:
        return RefitOptions(**{field: getattr(self, field) for field in REFIT_FIELDS})


CLASSES = (OssifyRefit,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_refit = PointerProperty(type=OssifyRefit, name="Ossify Refit")


def unregister() -> None:
    del bpy.types.Scene.ossify_refit
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
