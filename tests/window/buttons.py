"""The buttons that change bones and weights, in a Blender with a window; each undone and done again."""

import bmesh
import bpy
import contents
import numpy as np
import returns
import scenes
from artist import WORK_LIMIT, bone_count, last_used
from creature import armature, click, dense, enter, mesh
from hands import DRAWN, wait_for

OTHER = {".L": ".R", ".R": ".L"}
ALIKE, MIRRORED = 1e-3, 0.9  # of a weight; of the vertices
TOLERANCE = 0.03  # percent of the size: what the button allows by itself, and the frames not looked at
COPY, DENSER = "Denser", 500  # edges that are cut
FOLLOWED = 1e-5  # of the size, where both have a vertex
SPLIT, MERGED = "Down.002.L", ("Side.002.R", "Side.001.R")


def bones_become(artist, call, count):
    """Presses a button; the rig then has so many bones that deform."""
    yield from artist.work(call)
    assert bone_count() == count, f"{bone_count()} bones after {call}, not {count}"


def merged_bones_are_taken_apart(artist, count):
    """Found by the panel and put back; an undo merges them again."""
    yield from artist.press("look_for_changes")
    yield DRAWN
    yield from artist.picture("merged")
    yield from artist.undone_and_redone("Put Back", returns.put_back(artist, "MERGED"))
    assert bone_count() == count + 1, f"{bone_count()} bones after Put Back, not {count + 1}"
    assert MERGED[0] in armature().data.bones, f"{MERGED[0]} is not back"
    yield from artist.undo()
    assert bone_count() == count, f"{bone_count()} bones after the undo, not {count}"


def useless_bones_go(artist):
    """The button asks how many, looks, and asks again; Enter is the answer."""
    count = bone_count()
    yield from artist.press("remove_useless")
    yield from artist.picture("tolerance")
    before = artist.latest
    artist.screen.tap("RET")
    yield from artist.started(before, 10, "bones are looked for")
    yield from artist.ended("the search for useless bones")
    yield from artist.picture("useless")
    assert bone_count() == count, "bones were removed before anybody agreed"
    artist.screen.tap("RET")
    yield from wait_for(lambda: bone_count() < count, WORK_LIMIT, "bones are removed")
    yield from artist.ended("the removal")


def bones(artist):
    yield from enter(artist.screen, "POSE", armature())
    yield from artist.panels.open("OSSIFY_PT_edit_bones", below="bpy.ops.ossify.refit(", folded=3)
    count = bone_count()
    yield from click(artist.screen, SPLIT)
    for menu in ("OSSIFY_MT_skeleton", "OSSIFY_MT_bones"):
        yield from artist.panels.menu(menu)
    for call in ("split_bone", "add_bone"):
        yield from artist.cancelled(call)
    yield from artist.undone_and_redone("Split Bone", bones_become(artist, "split_bone", count + 1))
    yield from artist.picture("split")
    yield from click(artist.screen, *MERGED)
    yield from artist.undone_and_redone("Merge Bones", bones_become(artist, "merge_bones", count))
    assert MERGED[1] in armature().data.bones, "the active bone is gone"
    yield from merged_bones_are_taken_apart(artist, count)
    error = artist.error()
    yield from artist.undone_and_redone("Add Bone at Worst", bones_become(artist, "add_bone", count + 1))
    assert artist.error() < error, f"{artist.error()} % with one more, {error} % before"
    error = artist.error()
    yield from artist.undone_and_redone("Remove Useless Bones", useless_bones_go(artist))
    assert artist.error() < error + TOLERANCE, f"{artist.error()} % without, {error} % with them"
    artist.note("bones split, merged, added at the worst place and removed; ESC, undo and redo")


def weights_change(artist, call):
    before = contents.weights_of(mesh().data)
    yield from artist.work(call)
    assert contents.weights_of(mesh().data) != before, f"{call} changed no weights"


def mirrored():
    """The share of vertices whose weights are those of the vertex across the middle, .L and .R swapped."""
    names, found = [group.name for group in mesh().vertex_groups], dense()
    swapped = [names.index(name[:-2] + OTHER.get(name[-2:], name[-2:])) for name in names]
    points = scenes.positions(mesh().data).astype(float)
    across = points * [-1, 1, 1] + [points[:, 0].min() + points[:, 0].max(), 0, 0]
    nearest = np.array([np.square(points - point).sum(axis=1).argmin() for point in across])
    return float((np.abs(found[nearest][:, swapped] - found).max(axis=1) < ALIKE).mean())


def make_denser_copy():
    """Of the rig's mesh at rest, in places, and without what moves it; the vertices it had come first."""
    copy, place = mesh().copy(), mesh().matrix_world.copy()
    copy.name, copy.data = COPY, mesh().data.copy()
    copy.modifiers.clear()
    copy.vertex_groups.clear()
    copy.parent, copy.matrix_world = None, place
    shape = bmesh.new()
    shape.from_mesh(copy.data)
    bmesh.ops.subdivide_edges(shape, edges=list(shape.edges)[:DENSER], cuts=1, use_grid_fill=True)
    shape.to_mesh(copy.data)
    shape.free()
    return scenes.link(copy)


def a_copy_gets_the_weights(artist):
    yield from artist.select(armature(), make_denser_copy())
    yield from artist.picture("transfer")
    yield from artist.undone_and_redone("Transfer", artist.work("transfer_weights"))
    shown = scenes.seen_frames(mesh(), artist.times)
    copy = scenes.seen_frames(bpy.data.objects[COPY], artist.times)
    assert copy.shape[1] >= shown.shape[1] + DENSER, "the copy is not denser"
    gap = float(np.abs(copy[:, : shown.shape[1]] - shown).max()) / scenes.size_of(shown[0])
    assert gap < FOLLOWED, f"the copy is {gap} of the size off the rig"
    bpy.data.objects.remove(bpy.data.objects[COPY])
    artist.note(f"a denser copy follows the rig to {gap:.1g} of the size; undo and redo")


def weights(artist):
    yield from enter(artist.screen, "OBJECT", mesh())
    yield from artist.panels.open("OSSIFY_PT_edit_weights", below="bpy.ops.ossify.refit(", folded=3)
    yield from artist.picture("weights")
    yield from artist.cancelled("smooth_weights")
    error = artist.error()
    yield from artist.undone_and_redone("Smooth", weights_change(artist, "smooth_weights"))
    assert artist.error() < error + TOLERANCE, f"{artist.error()} % when smoothed, {error} % before"
    share = mirrored()
    yield from artist.undone_and_redone("Mirror", weights_change(artist, "mirror_weights"))
    assert mirrored() > max(share, MIRRORED), f"{share} mirrored before, {mirrored()} after"
    last_used("prune_weights", influences=1)
    yield from artist.undone_and_redone("Prune", weights_change(artist, "prune_weights"))
    most = int((dense() > 0).sum(axis=1).max())
    assert most == 1, f"{most} influences after Prune"
    for _ in range(3):
        yield from artist.undo()
    artist.note("weights smoothed, mirrored and pruned; ESC, undo and redo")
    yield from a_copy_gets_the_weights(artist)
