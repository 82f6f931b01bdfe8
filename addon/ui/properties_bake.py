"""What Blender stores for baking: the settings of the panel on the scene."""

import bpy
from bpy.props import EnumProperty, IntProperty, PointerProperty

from ..options import BAKE_FIELDS, BakeOptions
from .properties import as_properties, words_of

# Names, tooltips and limits; the defaults are those of BakeOptions.
_WORDS = {
    "to": (
        EnumProperty,
        {
            "name": "Bake To",
            "description": "What the motion becomes",
            "items": [
                ("SHAPE_KEYS", "Shape Keys", "A copy of the mesh with keyed shape keys"),
                ("PC2", "Point Cache (.pc2)", "A file, and a copy of the mesh that plays it"),
                ("MDD", "Point Cache (.mdd)", "A file, and a copy of the mesh that plays it"),
                ("ALEMBIC", "Alembic (.abc)", "A file for other programs; the scene stays as it is"),
                ("USD", "USD (.usdc)", "A file for other programs; the scene stays as it is"),
            ],
        },
    ),
    "shapes": (
        EnumProperty,
        {
            "name": "One For",
            "description": "How many shape keys there are",
            "items": [
                ("FRAMES", "Each Frame", "A shape key for each frame of the range"),
                ("KEYS", "Each Key", "A shape key for each frame with keys; those between are mixed"),
            ],
        },
    ),
    "frames": (
        EnumProperty,
        {
            "name": "Range",
            "description": "Which frames are baked",
            "items": [
                ("SCENE", "Scene Range", "The frames of the scene"),
                ("PREVIEW", "Preview Range", "The frames of the preview range"),
                ("CUSTOM", "Custom Range", "Frames of your choice"),
            ],
        },
    ),
    **{field: (IntProperty, words_of(field)) for field in ("frame_start", "frame_end", "frame_step")},
}


def bake_words_of(field: str) -> dict:
    """Name, description, items and limits of an option, for the command line."""
    return _WORDS[field][1]


def bake_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(_WORDS, BakeOptions, BAKE_FIELDS, **more)


class OssifyBake(bpy.types.PropertyGroup):
    """The settings of a bake."""

    __annotations__ = bake_annotations()

    def options(self) -> BakeOptions:
        return BakeOptions(**{field: getattr(self, field) for field in BAKE_FIELDS})


CLASSES = (OssifyBake,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_bake = PointerProperty(type=OssifyBake, name="Ossify Bake")


def unregister() -> None:
    del bpy.types.Scene.ossify_bake
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
