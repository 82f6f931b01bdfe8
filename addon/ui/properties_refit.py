"""What Blender stores for refitting: the settings of the panel on the scene."""

import bpy
from bpy.props import PointerProperty

from ..options.options import REFIT_FIELDS, RefitOptions
from ..options.refit_words import REFIT_WORDS
from .properties import as_properties


def refit_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(REFIT_WORDS, RefitOptions, REFIT_FIELDS, **more)


class OssifyRefit(bpy.types.PropertyGroup):
    """The settings of a refit."""

    __annotations__ = refit_annotations()


CLASSES = (OssifyRefit,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_refit = PointerProperty(type=OssifyRefit, name="Ossify Refit")


def unregister() -> None:
    del bpy.types.Scene.ossify_refit
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
