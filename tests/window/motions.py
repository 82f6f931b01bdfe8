"""New motion on a rig, and its motion back in a cache, in a Blender with a window: buttons, ESC, undo."""

import tempfile
from pathlib import Path

import bpy
import numpy as np
import scenes
from artist import STAGES as ANY_STAGE
from creature import armature, mesh
from hands import DRAWN, wait_for

STAGES = ({"Reading"}, {"Solving"}, {"Building", "Measuring"})
FOLLOWED = 1.5  # times the error on its own motion: what a rig may miss of another, but for what keys may
EXACT = 1e-6  # of the size
SCRUBBED = range(5, 8)  # frames


def percent_off(take):
    """How far the rig is off another mesh in the frame at hand."""
    seen = scenes.seen(take)
    gap = np.square(scenes.seen(mesh()) - seen).sum(axis=-1)
    return 100 * float(np.sqrt(gap.mean())) / scenes.size_of(seen)


def scrub(artist, name):
    """Goes on frame by frame, by the arrow key; how far the rig is off the other take in each."""
    came = set()  # frames that are not only set, but shown
    bpy.app.handlers.frame_change_post.append(lambda scene, *_: came.add(scene.frame_current))
    off = []
    for frame in SCRUBBED:
        yield from artist.screen.key("RIGHT_ARROW")
        yield from wait_for(lambda goal=frame: goal in came, 20, f"frame {frame}")
        off.append(percent_off(bpy.data.objects[name]))
    bpy.app.handlers.frame_change_post.pop()
    return off


def preview_follows(artist, name):
    """While it is on, the rig is posed like the other take in every frame gone to; then it is as it was."""
    scene = bpy.context.scene
    scene.frame_set(SCRUBBED[-1])
    before = scenes.picture()
    scene.frame_set(SCRUBBED[0] - 1)
    yield from artist.press("preview")
    off = yield from scrub(artist, name)
    yield from artist.picture("preview")
    yield from artist.press("preview")
    yield DRAWN
    left = scenes.difference(before, scenes.picture())
    assert not left, f"the preview left {left[:300]}"
    assert percent_off(bpy.data.objects[name]) > 2 * max(off), f"the preview was {off} % off"
    artist.note(f"the preview follows the other take to {max(off):.2f} % and leaves the rig as it was")


def track(artist):
    yield from artist.work("track")


def another_take_is_tracked(artist, name):
    take = bpy.data.objects[name]
    take.hide_set(False)
    yield from artist.select(armature(), take)
    yield from artist.panels.open("OSSIFY_PT_track", below="bpy.ops.ossify.transfer_weights(")
    yield from artist.picture("track")
    yield from preview_follows(artist, name)
    for stages in STAGES:
        yield from artist.cancelled("track", stages)
    take = bpy.data.objects[name]
    own = artist.error()
    artist.watch(take, artist.times)
    before = artist.error()
    yield from artist.undone_and_redone("Track Motion", track(artist))
    assert len(armature().ossify.clips) == 2
    after = artist.error()
    allowed = max(FOLLOWED * own, armature().ossify.settings.key_tolerance)
    assert after < allowed, f"{after} % off the other take, {own} % off its own motion"
    assert before > 2 * after, f"{before} % before it was tracked, {after} % after"
    yield from artist.picture("tracked")
    artist.note(f"another take tracked to {after:.2f} %, its own to {own:.2f} %; ESC, undo and redo")


def begin_to_bake(artist, file):
    """By the button, into a file chosen in the dialog."""
    yield from artist.press("bake")
    yield from wait_for(lambda: artist.screen.has_area("FILE_BROWSER"), 20, "the file dialog")
    yield from artist.picture("bake-dialog")
    browser = artist.screen.area("FILE_BROWSER")
    browser.spaces.active.params.directory = str(file.parent).encode()
    browser.spaces.active.params.filename = file.name
    yield DRAWN
    before = artist.latest
    yield from artist.screen.key("RET", (browser.x + browser.width // 2, browser.y + browser.height // 2))
    return (yield from artist.started(before, 20, "the bake begins"))


def bake(artist, file):
    yield from begin_to_bake(artist, file)
    yield from artist.ended("the bake")
    assert file.is_file()
    assert not artist.screen.has_area("FILE_BROWSER")


def a_cancelled_bake_leaves_no_file(artist, file):
    before = scenes.picture()
    artist.hold = ANY_STAGE
    running = yield from begin_to_bake(artist, file)
    artist.screen.tap("ESC")
    yield from artist.ended("the bake")
    artist.hold = ()
    assert running.cancelled, "the bake came to its end before ESC"
    assert not list(file.parent.iterdir()), list(file.parent.iterdir())
    left = scenes.difference(before, scenes.picture())
    assert not left, f"the bake, cancelled: {left[:300]}"


def the_motion_is_baked(artist):
    bpy.context.preferences.view.filebrowser_display_type = "SCREEN"
    bpy.context.scene.ossify_bake.to = "PC2"
    file = Path(tempfile.mkdtemp()) / "creature.pc2"
    yield from artist.select(armature())
    yield from artist.panels.open("OSSIFY_PT_bake", below="bpy.ops.ossify.preview(", folded=1)
    yield from artist.picture("bake")
    yield from a_cancelled_bake_leaves_no_file(artist, file)
    yield from artist.undone_and_redone("Bake", bake(artist, file))
    baked = bpy.context.view_layer.objects.active
    assert baked.modifiers[0].type == "MESH_CACHE"
    shown = scenes.seen_frames(mesh(), artist.times)
    gap = float(np.abs(scenes.seen_frames(baked, artist.times) - shown).max()) / scenes.size_of(shown[0])
    assert gap < EXACT, f"{gap} of the size between the rig and its cache"
    yield from artist.picture("baked")
    artist.note(f"baked to .pc2: {gap:.1g} of the size from the rig at most; ESC, undo and redo")
    bpy.data.objects.remove(baked)
