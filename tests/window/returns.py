"""A joint moved with the mouse, found by the panel and put back, in a Blender with a window."""

import numpy as np
from creature import armature, enter, place_of
from hands import DRAWN

MOVED = "Side.002.L"
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


def put_back(artist):
    yield from artist.press("put_back(kind='MOVED'", RIGHT)
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
    yield from artist.undone_and_redone("Put Back", put_back(artist))
    assert not other(before), f"{other(before)} are not where they were"
    assert "MOVED" not in listed(), listed()
    artist.note(f"{len(moved)} bones moved with the mouse and put back; undo and redo")
