"""An artist's session at a screen: convert, change weights, paint, hold, refit, edit bones, save, open, refit
again, track, bake, export."""

import bpy
import buttons
import creature
import motions
import refits
import returns
from artist import Artist
from hands import SLOW
from panels import Panels

import files

FRAMES = 24
TAKE = "Take"
TIMES = range(1, FRAMES + 1, 4)  # looked at


def convert(artist):
    yield from artist.start("convert")
    yield from artist.ended("convert")
    yield from artist.picture("converted")


def script(screen, note, module):
    """All of it; `note` gets what was seen."""
    bpy.ops.wm.read_homefile()
    yield SLOW
    creature.make(frames=FRAMES, trunk=0.5)
    (take,) = bpy.context.selected_objects
    take.name = TAKE
    take.hide_set(True)
    body, bones = creature.another(frames=FRAMES)
    settings = bpy.context.scene.ossify
    settings.bones, settings.skeleton = len(bones), "HIERARCHY"
    artist = Artist(screen, Panels(screen, "OSSIFY_PT_", "OSSIFY_MT_"), note, module)
    artist.watch(body, TIMES)
    yield from screen.key("SPACE", ctrl=True)  # the viewport alone
    yield SLOW
    yield from screen.open_sidebar("Ossify")
    yield from creature.look(screen)
    bpy.ops.ed.undo_push(message="Creature")
    yield from artist.undone_and_redone("Convert", convert(artist))
    yield from buttons.weights(artist)
    yield from refits.script(artist)
    yield from returns.a_moved_joint_is_put_back(artist)
    yield from returns.bones_are_put_back(artist)
    yield from buttons.bones(artist)
    yield from files.a_saved_rig_is_refitted_again(artist)
    yield from motions.another_take_is_tracked(artist, TAKE)
    yield from motions.the_motion_is_baked(artist)
    yield from files.it_is_exported(artist)
