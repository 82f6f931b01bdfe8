"""Refit in a Blender with a window: weights painted with the mouse, the rest solved again, and ESC."""

import bpy
import contents
import holds
import numpy as np
import scenes
from creature import armature, dense, enter, in_view, mesh, place_of
from hands import DRAWN, SLOW, wait_for

PAINTED, WITH = "Side.002.L", "Side.002.R"  # where, and with the group of which bone
CLEARLY = 1e-3  # what a brush adds to a weight that it touches
STAGES = ({"Reading"}, {"Solving"}, {"Building", "Measuring"})


def weights():
    return contents.weights_of(mesh().data)


def take_a_brush(screen):
    """One of this file: not every Blender brings brushes of its own."""
    paint = bpy.context.tool_settings.weight_paint
    if paint.brush is None:
        bpy.data.brushes.new("Paint", mode="WEIGHT_PAINT").asset_mark()
        with in_view(screen):
            bpy.ops.brush.asset_activate(asset_library_type="LOCAL", relative_asset_identifier="Brush/Paint")
        yield DRAWN
    assert paint.brush is not None, "there is nothing to paint with"


def paint(artist):
    """A stroke where it hurts, in Weight Paint; [v] what it touched."""
    before = dense()
    yield from enter(artist.screen, "WEIGHT_PAINT", mesh())
    yield from take_a_brush(artist.screen)
    mesh().vertex_groups.active = mesh().vertex_groups[WITH]
    x, y = place_of(artist.screen, PAINTED)
    yield from artist.screen.drag(*((x + step, y) for step in range(-20, 25, 5)))
    yield from artist.picture("painted")
    yield from enter(artist.screen, "OBJECT", armature())
    touched = np.abs(dense() - before).max(axis=1) > CLEARLY
    assert touched.any(), "the brush touched nothing"
    return touched


def changes_are_listed(artist, touched):
    yield from artist.press("look_for_changes")
    yield from wait_for(lambda: armature().ossify.looked, 5, "changes are looked for")
    listed = {item.name: item.words for item in armature().ossify.changes}
    assert set(listed) == {"REPAINTED"}, listed
    count = int(listed["REPAINTED"].split()[0].replace(",", ""))
    assert touched.sum() <= count < 1.1 * touched.sum(), f"{touched.sum()} painted: {listed}"
    yield from artist.picture("changes")


def refit(artist):
    """With a look at the bar, for which it stands still: a short solve is over before anybody sees it."""
    artist.hold = {"Solving"}
    running = yield from artist.start("refit")
    yield from wait_for(lambda: running.step.stage == "Solving", 60, "solving")
    yield SLOW
    beside, below = artist.screen.bar_lengths(artist.screen.picture("refitting"))
    assert beside > 0, "no bar in the sidebar"
    assert below > 0, "no bar in the status bar"
    artist.hold = ()
    return (yield from artist.ended("refit"))


def what_was_painted_stays(artist):
    touched = yield from paint(artist)
    yield from changes_are_listed(artist, touched)
    yield from holds.some_are_held(artist)
    yield from artist.picture("held")
    held, before, error = holds.what_is_held(), weights(), artist.error()
    yield from artist.undone_and_redone("Refit", refit(artist))
    after = weights()
    holds.stays(held)
    assert [before[v] for v in np.flatnonzero(touched)] == [after[v] for v in np.flatnonzero(touched)]
    assert any(before[v] != after[v] for v in np.flatnonzero(~touched)), "nothing was solved again"
    assert artist.error() < error, f"{artist.error()} % after the refit, {error} % before"
    yield from artist.picture("refitted")
    artist.note(
        f"painted {touched.sum()} vertices, held a bone, vertices and a frame, refitted around them:"
        f" {error:.2f} to {artist.error():.2f} %; undone and done again"
    )
    yield from holds.all_is_released(artist)


def cancelled_at_every_stage(artist):
    for stages in STAGES:
        yield from artist.cancelled("refit", stages)
    artist.note("ESC while a refit reads, solves and measures leaves the file as it was")


def undone_while_it_solves(artist):
    """Ctrl+Z takes back what was done before, and the refit ends in words or goes on."""
    blocks = set(scenes.picture()[0])
    yield from artist.press("hold(what='FRAMES', held=True")
    assert holds.held()[2], "no frame is held"
    artist.hold = {"Solving"}
    running = yield from artist.start("refit")
    yield from wait_for(lambda: running.step.stage == "Solving", 60, "the solver starts")
    yield from artist.undo()
    artist.hold = ()
    yield from artist.ended("refit")
    yield from artist.picture("refit-undone")
    yield from artist.screen.key("ESC")  # closes what Blender says about it
    assert not holds.held()[2], "the frame is held still"
    assert set(scenes.picture()[0]) == blocks, f"{set(scenes.picture()[0]) ^ blocks} came or went"
    artist.note("Ctrl+Z while a refit solves does no harm")


def what_was_painted_is_given_back(artist):
    """Without the tick at Keep the solver has it again."""
    error = artist.error()
    armature().ossify.keep_repainted = False
    bpy.ops.ed.undo_push(message="Keep")
    yield from artist.work("refit")
    armature().ossify.keep_repainted = True
    assert artist.error() < error, f"{artist.error()} % after the refit, {error} % before"
    artist.note(f"what was painted is given back to the solver: {error:.2f} to {artist.error():.3f} %")


def script(artist):
    assert "OSSIFY_PT_refit" in (yield from artist.panels.opened()), "the panel that refits is folded"
    bpy.context.scene.ossify_refit.quality = "BEST"  # time to look and to press
    yield from what_was_painted_stays(artist)
    yield from cancelled_at_every_stage(artist)
    yield from undone_while_it_solves(artist)
    yield from what_was_painted_is_given_back(artist)
