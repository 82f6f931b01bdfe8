"""What Blender stores for baking: the settings of the panel on the scene."""

import bpy
from bpy.props import PointerProperty

from ..options.bake_words import BAKE_WORDS
from ..options.options import BAKE_FIELDS, BakeOptions
from .properties import as_properties


def bake_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(BAKE_WORDS, BakeOptions, BAKE_FIELDS, **more)


class OssifyBake(bpy.types.PropertyGroup):
    """The settings of a bake."""

    __annotations__ = bake_annotations()


CLASSES = (OssifyBake,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_bake = PointerProperty(type=OssifyBake, name="Ossify Bake")


def unregister() -> None:
    del bpy.types.Scene.ossify_bake
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
