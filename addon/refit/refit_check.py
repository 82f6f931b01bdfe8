"""Whether a rig can be refitted: what is in the way, in a sentence that says what to do."""

from __future__ import annotations

import bpy

from .. import native
from ..base.refusal import Refusal
from ..motion import sources
from ..record import applied, memory, renamed
from ..record.changes import Seen, look
from ..record.recapture import sources_are_here
from ..rig import played, standing


def trouble(armature) -> str | None:
    """Why the rig cannot be refitted, in one sentence; None when it can. Quick, for panels."""
    record = armature.ossify
    objects = [armature, *(item.object for item in record.meshes if item.object)]
    for block in (*objects, *(obj.data for obj in objects), *played.made(armature)):
        linked = sources.library_trouble(block, block.name)
        if linked:
            return linked
    if armature.mode == "EDIT":
        return f"{armature.name} is in Edit Mode: go back to Object Mode or Pose Mode."
    for item in record.meshes:
        if item.object and item.object.mode in {"EDIT", "SCULPT", "VERTEX_PAINT", "TEXTURE_PAINT"}:
            return (
                f"{item.object.name} is in {item.object.mode.replace('_', ' ').title()} Mode: leave it first."
            )
    if sentence := memory.trouble(armature):
        return sentence
    if not memory.is_noted(armature):
        return f"{armature.name} remembers nothing of how it was made: convert its source again."
    if not memory.meshes_of(armature):
        return _no_mesh(armature)
    if not memory.is_kept(armature) and not sources_are_here(armature):
        return _no_motion(armature)
    return played.trouble(armature)


def _no_mesh(armature) -> str:
    for item in armature.ossify.meshes:
        if item.object and any(m.type == "ARMATURE" and m.object == armature for m in item.object.modifiers):
            return (
                f"{item.object.name} is not a child of {armature.name} any more: parent it to the armature"
                " again, as an object."
            )
    return f"{armature.name} moves none of the meshes that it was made with."


def _no_motion(armature) -> str:
    file, choose = bpy.path.basename(armature.ossify.motion_file), "choose another one with the same mesh."
    if not file:
        return f"The motion of {armature.name} was not kept, and its source is gone: {choose}"
    return (
        f"The motion of {armature.name} is kept in {file}, which is not beside this .blend, and its source is"
        f" gone: put the file there, or {choose}"
    )


def check(armature) -> Seen:
    """Refuses what cannot be refitted; the rig as it is, and what has changed."""
    native.library()
    sentence = trouble(armature)
    if sentence:
        raise Refusal(sentence)
    standing.check(armature)
    renamed.check(armature)
    seen = look(armature)
    if seen.changes.retopologised:
        raise Refusal(
            f"{seen.changes.retopologised[0]} has other vertices or edges than when the rig was made: the"
            " motion does not fit it any more. Undo that, or convert the source again."
        )
    applied.check(armature, seen)
    return seen
