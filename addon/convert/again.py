"""A rig made anew from what an earlier one was made from, whatever is selected."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

from ..base.handles import Handle, Place
from ..base.refusal import Refusal
from ..base.steps import Step
from ..motion.sources import library_trouble
from ..options.options import Options
from ..record.recapture import objects_of, sources_are_here
from ..rig import build, standing
from .convert import Result, convert


def sources_of(armature, view_layer) -> list:
    """The objects to read; refuses when they are not here."""
    linked = library_trouble(armature, armature.name)
    if linked:
        raise Refusal(linked)
    if not sources_are_here(armature):
        raise Refusal(
            f"The source of {armature.name} is gone: select another mesh that moves, and convert it."
        )
    found = objects_of(armature)
    for obj in found:
        if view_layer.objects.get(obj.name) != obj:
            raise Refusal(
                f"{obj.name}, the source of {armature.name}, is not in this view layer: its collection is"
                " excluded or in another scene."
            )
    return found


def options_for(armature, options: Options) -> Options:
    """What is asked for, of a motion that is in takes or is not."""
    of_takes = armature.ossify.settings.clips == "TAKES"
    if of_takes:
        return dataclasses.replace(options, clips="TAKES", each=False)
    several = options.clips in ("TAKES", "SUBJECTS")
    return dataclasses.replace(options, clips="ONE") if several else options


def convert_again(scene, view_layer, armature, options: Options) -> Generator[Step, None, Result]:
    """The new rig stands in the place of the earlier one, which is hidden."""
    place, handle = Place.of(scene, view_layer), Handle.of("objects", armature)
    objects = sources_of(armature, view_layer)
    with build.shown(place, objects):
        result = yield from convert(scene, view_layer, objects, options_for(armature, options))
    earlier = handle.find()
    if earlier is not None and earlier.mode == "OBJECT":
        for obj in (earlier, *standing.meshes_of(earlier)):
            build.hide(obj, place.get()[1], True)
    return result
