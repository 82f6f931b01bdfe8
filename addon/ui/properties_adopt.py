"""What Blender stores for rigging to an artist's armature: the settings of the panel on the scene."""

import bpy
from bpy.props import PointerProperty

from ..options.adopt_words import ADOPT_WORDS
from ..options.options import ADOPT_FIELDS, AdoptOptions
from .properties import as_properties


def adopt_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(ADOPT_WORDS, AdoptOptions, ADOPT_FIELDS, **more)


class OssifyAdopt(bpy.types.PropertyGroup):
    """The settings of rigging to an armature."""

    __annotations__ = adopt_annotations()


CLASSES = (OssifyAdopt,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_adopt = PointerProperty(type=OssifyAdopt, name="Ossify Adopt")


def unregister() -> None:
    del bpy.types.Scene.ossify_adopt
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
