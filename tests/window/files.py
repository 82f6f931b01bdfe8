"""A rig that is saved, opened without its source, refitted again and exported, in a Blender with a window."""

import json
import struct
import tempfile
from pathlib import Path

import bpy
import refits
from creature import armature, look, mesh
from hands import SLOW

GLB_JSON = 20  # bytes before the JSON of a .glb, whose length is in the four from 12 on


def without_source():
    """The moving mesh is gone, and with it what moved it."""
    for obj in [item.object for item in armature().ossify.sources if item.object]:
        for mover in [modifier.object for modifier in obj.modifiers if modifier.type == "ARMATURE"]:
            bpy.data.objects.remove(mover)
        bpy.data.objects.remove(obj)


def open_again(artist, file):
    """As it was saved; the windows stay as they are."""
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    bpy.ops.wm.open_mainfile(filepath=str(file), load_ui=False)
    yield SLOW
    yield from look(artist.screen)
    yield from artist.select(armature())
    yield from artist.screen.open_sidebar("Ossify")


def a_saved_rig_is_refitted_again(artist):
    without_source()
    before = artist.error()
    yield from open_again(artist, Path(tempfile.mkdtemp()) / "creature.blend")
    assert artist.error() == before, f"{artist.error()} % after the file was opened, {before} % before"
    yield from artist.picture("opened")
    touched = yield from refits.paint(artist)
    painted = artist.error()
    armature().ossify.keep_repainted = False
    bpy.ops.ed.undo_push(message="Keep")
    yield from artist.undone_and_redone("Refit", artist.work("refit"))
    armature().ossify.keep_repainted = True
    after = artist.error()
    assert after < painted, f"{after} % after the refit, {painted} % before"
    yield from artist.picture("refitted-again")
    artist.note(
        f"saved, opened without its source, {touched.sum()} vertices painted and refitted:"
        f" {painted:.2f} to {after:.3f} %; undone and done again"
    )


def it_is_exported(artist):
    file = Path(tempfile.mkdtemp()) / "creature.glb"
    yield from artist.select(armature(), mesh())
    bpy.ops.export_scene.gltf(filepath=str(file), use_selection=True)
    content = file.read_bytes()
    scene = json.loads(content[GLB_JSON : GLB_JSON + struct.unpack("<I", content[12:16])[0]])
    names = {scene["nodes"][joint]["name"] for joint in scene["skins"][0]["joints"]}
    assert names == {bone.name for bone in armature().data.bones}
    written = {animation["name"] for animation in scene["animations"]}
    clips = {clip.action.name for clip in armature().ossify.clips}
    assert clips <= written, f"{clips - written} are not in the file, which has {written}"
    artist.note(f"exported to glTF: {len(names)} bones, {len(clips)} clips")
