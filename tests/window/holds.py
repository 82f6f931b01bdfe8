"""Holding in a Blender with a window: bones, vertices and a frame by buttons, kept to the bit."""

import bpy
import contents
import numpy as np
from creature import armature, click, dense, enter, mesh
from hands import DRAWN

BONE, AROUND = "Down.002.L", "Core.002"  # held; whose vertices are
FRAME = 9
RIGHT = 0.86  # of the sidebar's width: where the small buttons are that let go
REFIT = "bpy.ops.ossify.refit("
ATTRIBUTE = "ossify_held"


def held():
    """Bones, vertices and frames that are held, as the file has it."""
    data, flags = mesh().data, np.zeros(len(mesh().data.vertices), bool)
    if ATTRIBUTE in data.attributes:
        data.attributes[ATTRIBUTE].data.foreach_get("value", flags)
    bones = {bone.name for bone in armature().data.bones if bone.get(ATTRIBUTE)}
    return bones, set(np.flatnonzero(flags).tolist()), {f.frame for f in armature().ossify.frames if f.held}


def around():
    """[v] which vertices follow a bone more than all others"""
    return dense()[:, mesh().vertex_groups[AROUND].index] > 0.5


def hold(artist, what, let_go=False):
    """By its button, or by the small one beside it."""
    call = f"hold(what='{what}', held={not let_go}"
    yield from artist.press(call, *((RIGHT,) if let_go else ()))
    yield DRAWN


def select_vertices(rows):
    """As somebody leaves Edit Mode."""
    data = mesh().data
    for kind in (data.polygons, data.edges):
        kind.foreach_set("select", np.zeros(len(kind), bool))
    data.vertices.foreach_set("select", rows)


def go_to(frame):
    bpy.context.scene.frame_set(frame)
    bpy.ops.ed.undo_push(message="Frame")
    yield DRAWN


def some_are_held(artist):
    """A bone, the vertices around another and a frame; each by its button, undone and done again."""
    yield from artist.panels.open("OSSIFY_PT_hold", below=REFIT)
    yield from artist.picture("hold")
    yield from enter(artist.screen, "POSE", armature())
    yield from click(artist.screen, BONE)
    yield from artist.undone_and_redone("Hold Selected Bones", hold(artist, "BONES"))
    yield from go_to(FRAME)
    yield from artist.undone_and_redone("Hold This Frame", hold(artist, "FRAMES"))
    yield from go_to(1)
    rows = around()
    yield from enter(artist.screen, "OBJECT", mesh())
    select_vertices(rows)
    yield from enter(artist.screen, "EDIT")
    yield from artist.undone_and_redone("Hold Selected Vertices", hold(artist, "VERTICES"))
    yield from enter(artist.screen, "OBJECT", armature())
    expected = {BONE}, set(np.flatnonzero(rows).tolist()), {FRAME}
    assert held() == expected, f"{held()} are held, not {expected}"


def what_is_held():
    """Its weights and keys, to the bit: what a refit may not change."""
    weights, bones = contents.weights_of(mesh().data), armature().pose.bones
    _, rows, _ = held()
    group = mesh().vertex_groups[BONE].index
    keys = [
        (curve.data_path, curve.array_index, contents.keys_of(curve))
        for curve in contents.curves(armature().animation_data.action)
        if curve.data_path.startswith(f'pose.bones["{BONE}"]')
    ]
    scene = bpy.context.scene
    before = scene.frame_current
    scene.frame_set(FRAME)
    poses = [np.ravel(bone.matrix).tolist() for bone in bones]
    scene.frame_set(before)
    return {
        "weights of vertices": [weights[row] for row in sorted(rows)],
        "weights of the bone": [[pair for pair in groups if pair[0] == group] for groups in weights],
        "keys of the bone": keys,
        "poses of the frame": poses,
    }


def stays(before):
    for what, values in what_is_held().items():
        assert values == before[what], f"a refit changed {what}, which was held"


def all_is_released(artist):
    """One bone by the button beside, the rest by Release All."""
    yield from enter(artist.screen, "POSE", armature())
    yield from click(artist.screen, BONE)
    yield from artist.undone_and_redone("letting go", hold(artist, "BONES", let_go=True))
    assert not held()[0], f"{held()[0]} are held still"
    yield from enter(artist.screen, "OBJECT", armature())
    yield from artist.undone_and_redone("Release All", artist.press("release_all"))
    assert held() == (set(), set(), set()), held()
