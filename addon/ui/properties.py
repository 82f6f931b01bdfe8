"""What Blender stores for a conversion: the settings of the panel on the scene."""

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..options.convert_words import CONVERT_WORDS
from ..options.options import FIELDS, Options

_KINDS = {
    bool: BoolProperty,
    int: IntProperty,
    float: FloatProperty,
    str: StringProperty,
    tuple: FloatVectorProperty,
}


def _kind_of(default, words: dict):
    """The property that holds values like this one."""
    if "items" in words:
        return EnumProperty
    return _KINDS[type(default)]


def as_properties(words: dict, defaults, fields: tuple[str, ...], **more) -> dict:
    """Fields of options as Blender properties; words: field -> the arguments of its property"""
    found = {}
    for field in fields:
        default = getattr(defaults, field)
        said = {name: word for name, word in words[field].items() if name != "unsaid"}
        found[field] = _kind_of(default, said)(default=default, **said, **more)
    return found


def annotations() -> dict:
    """The options as Blender properties, for any class that wants them."""
    return as_properties(CONVERT_WORDS, Options, FIELDS)


class OssifySettings(bpy.types.PropertyGroup):
    """The settings of a conversion."""

    __annotations__ = annotations()


CLASSES = (OssifySettings,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify = PointerProperty(type=OssifySettings, name="Ossify")


def unregister() -> None:
    del bpy.types.Scene.ossify
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
