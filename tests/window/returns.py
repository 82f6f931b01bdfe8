"""A joint moved with the mouse, bones deleted, added and renamed: found by the panel and put back, in a
Blender with a window."""

import bpy
import contents
import numpy as np
from creature import armature, enter, in_view, mesh, place_of
from hands import DRAWN

MOVED = "Side.002.L"
DELETED, RENAMED, ADDED = "Down.001.R", "Core.002", "Sleeve"
WAY = 25  # pixels
RIGHT = 0.8  # of the sidebar's width: where Put Back is
ALIKE = 1e-5  # of an armature's units


def rests():
    """name -> where the bone is at rest, and what it hangs from"""
    return {
        bone.name: (
            np.array([*bone.head_local, *bone.tail_local, *bone.matrix_local.col[0]]),
            bone.parent.name if bone.parent else "",
            bone.use_connect,
        )
        for bone in armature().data.bones
    }


def other(before):
    """Bones that are not as they were."""
    now = rests()
    return {
        name
        for name, (place, *above) in before.items()
        if np.abs(place - now[name][0]).max() > ALIKE or above != list(now[name][1:])
    }


def move(artist):
    """A bone, in Edit Mode: click, G, move, click."""
    yield from enter(artist.screen, "EDIT", armature())
    x, y = place_of(artist.screen, MOVED, rest=True)
    yield from artist.screen.key("LEFTMOUSE", (x, y))
    yield DRAWN
    yield from artist.screen.key("G", (x, y))
    yield from artist.screen.move(x + WAY, y + WAY)
    yield from artist.screen.key("LEFTMOUSE", (x + WAY, y + WAY))
    yield DRAWN
    yield from enter(artist.screen, "OBJECT", armature())


def listed():
    """kind -> words of the changes in the panel"""
    return {item.name: item.words for item in armature().ossify.changes}


def put_back(artist, kind):
    yield from artist.press(f"put_back(kind='{kind}'", RIGHT)
    yield DRAWN


def a_moved_joint_is_put_back(artist):
    before = rests()
    yield from move(artist)
    moved = other(before)
    assert MOVED in moved, f"the mouse moved {moved}"
    yield from artist.press("look_for_changes")
    yield DRAWN
    assert "MOVED" in listed(), listed()
    yield from artist.picture("moved")
    yield from artist.undone_and_redone("Put Back", put_back(artist, "MOVED"))
    assert not other(before), f"{other(before)} are not where they were"
    assert "MOVED" not in listed(), listed()
    artist.note(f"{len(moved)} bones moved with the mouse and put back; undo and redo")


def delete_and_add(artist):
    """In Edit Mode, with Blender's own tools; the bone that is to go is clicked on."""
    yield from enter(artist.screen, "EDIT", armature())
    yield from artist.screen.key("LEFTMOUSE", place_of(artist.screen, DELETED, rest=True))
    yield DRAWN
    chosen = [bone.name for bone in armature().data.edit_bones if bone.select]
    assert chosen == [DELETED], f"a click selected {chosen}"
    with in_view(artist.screen):
        bpy.ops.armature.delete()
        bpy.ops.armature.bone_primitive_add(name=ADDED)
    yield from enter(artist.screen, "OBJECT", armature())


def named_weights():
    """[v] name -> weight"""
    names = [group.name for group in mesh().vertex_groups]
    return [{names[group]: weight for group, weight in row} for row in contents.weights_of(mesh().data)]


def bones_are_put_back(artist):
    """Each kind by its button."""
    before, weights, error = rests(), named_weights(), artist.error()
    yield from delete_and_add(artist)
    armature().data.bones[RENAMED].name = "Crown"
    bpy.ops.ed.undo_push(message="Rename")
    yield from artist.press("look_for_changes")
    yield DRAWN
    kinds = ("ADDED", "DELETED", "RENAMED")
    assert set(kinds) <= set(listed()), listed()
    yield from artist.picture("deleted")
    for kind in kinds:
        yield from artist.undone_and_redone(f"Put Back, {kind}", put_back(artist, kind))
        assert kind not in listed(), listed()
    assert rests().keys() == before.keys(), rests().keys() ^ before.keys()
    assert not other(before), f"{other(before)} are not where they were"
    assert named_weights() == weights
    assert abs(artist.error() - error) < 1e-4, f"{artist.error()} %, not {error} %"
    artist.note("bones deleted, added and renamed, each put back by its button; undo and redo")
