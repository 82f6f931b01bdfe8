"""Uses the extension in a Blender with a window as a person would: install, press, watch, cancel, undo.

blender --enable-event-simulate --python tests/window/drive.py -- ZIP PICTURES RESULT [SESSION...]
"""

import importlib
import sys
import time
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "addon"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import scenes
from hands import DRAWN, Screen, leave, play, wait_for

import roundtrip
import skeletons

ARGUMENTS = sys.argv[sys.argv.index("--") + 1 :]
ZIP, PICTURES, RESULT = map(Path, ARGUMENTS[:3])
ONLY = ARGUMENTS[3:]
MODULE = "bl_ext.user_default.ossify"
CONVERT, CANCEL = "bpy.ops.ossify.convert(", "bpy.ops.ossify.cancel("
LIMIT = 1500  # seconds for everything
# From the press until the scene is as it was, while the solver works and the viewport has been drawn. Here
# all is drawn by the processor, which the solver and other programs want, too: the best of a few counts, and
# where to draw the sidebar alone takes long with nothing else to do, a few times that is allowed.
CANCEL_LIMIT, CANCELS, DRAWINGS = 0.25, 3, 3
SETTLED = 0.5  # seconds without a new viewport
GROWTH_LIMIT = 60.0  # until a progress bar has grown by a pixel
PAUSE_LIMIT = 4.0  # of the interface; drawing is slow here

BEGAN = time.monotonic()
screen = Screen(PICTURES)
seen = []


def note(sentence):
    seen.append(sentence)
    print(f"window: {time.monotonic() - BEGAN:.0f} s: {sentence}", flush=True)


def install():
    done = bpy.ops.extensions.package_install_files(
        filepath=str(ZIP), repo="user_default", enable_on_install=True
    )
    assert done == {"FINISHED"}, done
    assert MODULE in bpy.context.preferences.addons, "installed, but not enabled"


def make_flag():
    """A sheet in the wind, with enough vertices to have something to wait for."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=90, y_subdivisions=60, size=4, rotation=(1.57, 0, 0.7))
    flag = bpy.context.object
    flag.name = "Flag"
    for name, height, width, speed, along in (
        ("Gusts", 0.25, 1.4, 0.12, True),
        ("Wind", 0.1, 0.9, 0.2, False),
    ):
        wave = flag.modifiers.new(name, "WAVE")
        wave.height, wave.width, wave.speed = height, width, speed
        wave.use_x, wave.use_y, wave.time_offset = along, True, -200
    bpy.ops.object.shade_smooth()
    bpy.context.scene.frame_end = 48
    bpy.ops.ed.undo_push(message="Flag")


def blocks():
    """Every data-block by kind and name, but for those of the interface."""
    kinds = "actions armatures collections materials meshes objects scenes shape_keys texts images".split()
    return {(kind, block.name) for kind in kinds for block in getattr(bpy.data, kind, ())}


def running():
    return any(operator.bl_idname == "OSSIFY_OT_convert" for operator in screen.window.modal_operators)


def armatures():
    return [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]


def take_long():
    """Settings that leave time to look, to press and to interfere."""
    settings = bpy.context.scene.ossify
    settings.bones, settings.quality = 150, "BEST"


def start():
    yield from screen.press(CONVERT)
    yield from wait_for(running, 5, "the conversion starts")


def solving():
    """A conversion under way, with the solver at work: then keys and edits reach Blender as ever."""
    yield from start()
    session = importlib.import_module(f"{MODULE}.ui.session")
    yield from wait_for(
        lambda: session.current is None or session.current.step.stage == "Solving", 60, "the solver starts"
    )
    assert running(), "it was over before anybody could have seen it"


def stays_as(before, after_what):
    """The scene holds what it held, and the button is back."""
    assert blocks() == before, f"{after_what} left {blocks() ^ before}"
    assert bpy.context.scene.frame_current == 1, f"{after_what} left frame {bpy.context.scene.frame_current}"
    yield DRAWN
    assert (yield from screen.button(CONVERT)), f"{after_what}: the button is gone"


def the_sidebar_offers_it():
    yield from screen.open_sidebar("Ossify")
    assert screen.bar_lengths(screen.picture("sidebar")) == (0, 0)


def watch_viewport():
    """A list that gets the moment of each drawing of the viewport."""
    drawn = [time.monotonic()]
    bpy.types.SpaceView3D.draw_handler_add(lambda: drawn.append(time.monotonic()), (), "WINDOW", "POST_PIXEL")
    return drawn


def drawing_the_sidebar():
    """The seconds that takes while nothing is converted."""
    took = []
    for _ in range(5):
        screen.region("UI").tag_redraw()
        began = time.monotonic()
        yield 0.001
        took.append(time.monotonic() - began)
    return float(np.median(took))


def cancel_by(kind, place, drawn):
    """Starts a conversion and, when the solver is at work, cancels it; the seconds until it is over."""
    yield from solving()
    at = yield from place()
    yield from screen.move(*at)
    yield from wait_for(lambda: time.monotonic() - drawn[-1] > SETTLED, 60, "the viewport")
    assert running(), "it was over before anybody could have seen it"
    yield from screen.key(kind, at)
    yield from wait_for(lambda: not running(), 5, f"{kind} ends it")
    return time.monotonic() - screen.pressed


def in_the_viewport():
    yield 0.0
    return screen.middle()


def it_cancels(before):
    drawn = watch_viewport()
    take_long()
    yield DRAWN
    drawing = yield from drawing_the_sidebar()
    limit = max(CANCEL_LIMIT, DRAWINGS * drawing)
    for what, kind, place in (
        ("ESC", "ESC", in_the_viewport),
        ("Cancel", "LEFTMOUSE", lambda: screen.button(CANCEL)),
    ):
        took = []
        for _ in range(CANCELS):
            took.append((yield from cancel_by(kind, place, drawn)))
            yield from stays_as(before, what)
        assert min(took) < limit, f"{what} took {took} s where {limit:.2f} are allowed"
        assert max(took) < PAUSE_LIMIT, f"{what} took {took} s"
        seconds = ", ".join(f"{each:.2f}" for each in took)
        note(f"{what} cancels within {seconds} s ({drawing:.2f} s to draw a sidebar); the scene is as it was")
    screen.picture("cancelled")


def the_bars_grow(before):
    yield from solving()
    first = last = (0, 0)
    until = time.monotonic() + GROWTH_LIMIT
    while not (all(first) and all(np.greater(last, first))):
        assert time.monotonic() < until, f"the progress bars had {first}, then {last} pixels"
        yield 2.0
        assert running(), "it was over before anybody could have seen it"
        last = screen.bar_lengths(screen.picture("progress"))
        first = first if all(first) else last
    yield from screen.key("ESC")
    yield from wait_for(lambda: not running(), 5, "ESC ends it")
    yield from stays_as(before, "ESC")
    note(f"the progress bars in sidebar and status bar grew from {first} to {last} pixels")


def it_converts():
    bpy.ops.ossify.preset(preset="GAME")
    yield from start()
    took, longest = yield from wait_for(lambda: not running(), 200, "the conversion")
    assert len(armatures()) == 1, "no armature came of it"
    assert longest < PAUSE_LIMIT, f"the interface stood still for {longest:.1f} s"
    note(f"converted in {took:.0f} s; the interface never stood still for more than {longest:.2f} s")
    yield DRAWN
    screen.picture("rig")


def one_undo_takes_it_back(before, after):
    yield from screen.key("Z", ctrl=True)
    yield DRAWN
    assert blocks() == before, f"undo left {blocks() ^ before}"
    screen.picture("undone")
    yield from screen.key("Z", ctrl=True, shift=True)
    yield DRAWN
    assert blocks() == after, f"redo changed {blocks() ^ after}"
    screen.picture("redone")
    yield from screen.key("Z", ctrl=True)
    yield DRAWN
    assert blocks() == before, f"the second undo left {blocks() ^ before}"
    note("one undo takes it back, redo brings it again")


def remove_the_source():
    bpy.data.objects.remove(bpy.data.objects["Flag"])
    yield DRAWN


def open_another_file():
    bpy.ops.wm.read_homefile()
    yield DRAWN


def disturbances_do_no_harm():
    """Whatever becomes of the conversion, it ends, and Blender goes on."""
    undo = screen.key("Z", ctrl=True)
    for name, disturb in (("undo", undo), ("delete", remove_the_source()), ("new file", open_another_file())):
        make_flag()
        take_long()
        yield from screen.open_sidebar("Ossify")
        yield from solving()
        yield from disturb
        yield from wait_for(lambda: not running(), 10, f"the conversion after {name}")
        yield DRAWN
        screen.picture(name.replace(" ", "-"))
        yield from screen.key("ESC")  # closes what Blender says about it
    note("undo, deleting the source and opening a file while it runs do no harm")


def conversion():
    make_flag()
    before = blocks()
    yield from the_sidebar_offers_it()
    yield from it_cancels(before)
    yield from the_bars_grow(before)
    yield from it_converts()
    yield from one_undo_takes_it_back(before, blocks())
    yield from disturbances_do_no_harm()


def two_bodies(nearly):
    """Two waving sheets; the second is larger by so much along one side."""
    make_flag()
    bpy.ops.object.duplicate()
    mesh = bpy.context.object.data
    for vertex in mesh.vertices:
        vertex.co.x *= 1 + nearly
    scenes.select(*bpy.data.objects)
    settings = bpy.context.scene.ossify
    settings.clips, settings.skeleton, settings.bones, settings.quality = "SUBJECTS", "NONE", 6, "DRAFT"
    bpy.ops.ed.undo_push(message="Two bodies")


def nearly_alike():
    """Asked about; ESC leaves all as it was, and Enter says that they are different."""
    two_bodies(nearly=0.01)
    before = blocks()
    yield from screen.open_sidebar("Ossify")
    yield from screen.press(CONVERT)
    yield DRAWN
    screen.picture("nearly-alike")
    assert not running(), "it began before anybody had answered"
    screen.tap("ESC")
    yield DRAWN
    yield from stays_as(before, "ESC")
    yield from screen.press(CONVERT)
    yield DRAWN
    screen.tap("RET")
    yield from wait_for(lambda: running() or armatures(), 10, "the conversion starts")
    yield from wait_for(lambda: not running(), 100, "the conversion of both")
    assert len(armatures()) == 2, f"{len(armatures())} armatures came of two bodies"
    note("bodies that are nearly alike are asked about: ESC leaves them, Enter converts both")
    yield from open_another_file()  # with settings as they were


def script():
    install()
    note("the zip is installed and enabled")
    sessions = {
        "conversion": conversion,
        "nearly alike": nearly_alike,
        "skeletons": lambda: skeletons.script(screen, note, MODULE),
        "roundtrip": lambda: roundtrip.script(screen, note, MODULE),
    }
    for name in ONLY or sessions:
        yield from sessions[name]()


def ended(error):
    if error is not None:
        screen.picture("failure")
    status, words = 0, f"{len(seen)} things seen"
    if error is not None:
        status, words = 1, f"{type(error).__name__}: {error}".replace("|", "/")
    RESULT.write_text(f"{status}|{bpy.app.version_string}|{words}")
    leave(status)


bpy.context.preferences.view.show_splash = False
bpy.context.preferences.system.viewport_aa = "OFF"  # or each change is drawn eight times
play(script(), ended, LIMIT)
