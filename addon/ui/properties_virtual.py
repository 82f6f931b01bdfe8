"""What Blender stores for virtual bones: the settings of the panel on the scene."""

import bpy
from bpy.props import PointerProperty

from ..options.options import COMPRESS_FIELDS, CompressOptions
from ..options.virtual_words import COMPRESS_WORDS
from .properties import as_properties


def compress_annotations(**more) -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(COMPRESS_WORDS, CompressOptions, COMPRESS_FIELDS, **more)


class OssifyVirtual(bpy.types.PropertyGroup):
    """The settings of virtual bones."""

    __annotations__ = compress_annotations()


CLASSES = (OssifyVirtual,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify_virtual = PointerProperty(type=OssifyVirtual, name="Ossify Virtual Bones")


def unregister() -> None:
    del bpy.types.Scene.ossify_virtual
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
