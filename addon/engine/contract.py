"""What each engine takes, and what of it a rig does not keep.

Where an engine has a setting that takes more, the value is the one it has from the start.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ..base.words import counted, listed
from ..rig import keys


class Engine(NamedTuple):
    label: str
    endings: tuple[str, ...]  # of files that it reads; the first is the one to take
    influences: int  # bones of a vertex
    bones: int  # that move the faces of one material; 0: as many as there are
    triangles: int = 0  # of one mesh; 0: as many as there are
    top: str = ""  # the name that the armature must have, if any
    more: str = ""  # what is left to do there, a sentence


ENGINES = {
    "WEB": Engine("the web", (".glb", ".gltf"), 4, 0),
    "GODOT": Engine("Godot", (".glb", ".gltf"), 8, 0),
    "UNITY": Engine("Unity", (".fbx",), 4, 0),
    "UNREAL": Engine("Unreal", (".fbx",), 8, 256, top="Armature"),
    "ROBLOX": Engine("Roblox", (".glb", ".gltf", ".fbx"), 4, 256, 20_000),
    "VRM": Engine(
        "VRM",
        (".glb",),
        4,
        0,
        more="Which bone is which of a human body is not in it: a VRM tool asks for that.",
    ),
}
_TIPS = {
    "WEB": "three.js and Babylon.js: glTF, 4 influences",
    "GODOT": "glTF, up to 8 influences",
    "UNITY": "FBX, 4 influences",
    "UNREAL": "FBX, up to 8 influences, 256 bones in a section, no bone above the root",
    "ROBLOX": "glTF, 4 influences, 20,000 triangles a mesh",
    "VRM": "glTF, 4 influences, ready for a tool that writes VRM",
}
ITEMS = [(name, engine.label[0].upper() + engine.label[1:], _TIPS[name]) for name, engine in ENGINES.items()]


def plain(name: str) -> str:
    """A name without what engines change: dots, blanks and letters of few alphabets become underscores."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "Unnamed"


def ending_trouble(engine: Engine, path: Path) -> str | None:
    if path.suffix.lower() in engine.endings:
        return None
    return f"{path.name} is not for {engine.label}: the ending must be {' or '.join(engine.endings)}."


def trouble(engine: Engine, armature, meshes: list) -> list[str]:
    """What of the contract the rig does not keep, a sentence each, but for the influences"""
    bones, notes = armature.data.bones, []
    tops = [bone.name for bone in bones if bone.parent is None]
    if len(tops) > 1:
        notes.append(f"{engine.label} takes one root, and the rig has {listed(tops)}: hang them from one.")
    sized = [bone.name for bone in armature.pose.bones if "scale" in _keyed(armature, bone.name)]
    if sized:
        notes.append(f"{counted(len(sized), 'bone')} change size in the motion: rigid bones do not.")
    for obj in meshes:
        count = _most_in_section(obj, set(bones.keys())) if engine.bones else 0
        if count > engine.bones:
            notes.append(
                f"{obj.name} follows {count} bones; {engine.label} takes {engine.bones} in a section: take"
                " fewer bones, or give parts of the mesh materials of their own."
            )
        obj.data.calc_loop_triangles()
        if engine.triangles and len(obj.data.loop_triangles) > engine.triangles:
            most = f"{engine.triangles:,}"
            notes.append(f"{obj.name} has more than the {most} triangles of a mesh of {engine.label}.")
    return notes + ([engine.more] if engine.more else [])


def _most_in_section(obj, bones: set[str]) -> int:
    """Bones that the faces of one material follow."""
    mine = {group.index for group in obj.vertex_groups if group.name in bones}
    own = [{item.group for item in vertex.groups if item.weight > 0} & mine for vertex in obj.data.vertices]
    sections: dict[int, set[int]] = {}
    for face in obj.data.polygons:
        sections.setdefault(face.material_index, set()).update(*(own[vertex] for vertex in face.vertices))
    return max(map(len, sections.values()), default=0)


def wider(armature, obj, most: int) -> int:
    """Vertices that more than so many bones move"""
    bones = set(armature.data.bones.keys())
    own = {group.index for group in obj.vertex_groups if group.name in bones}
    counts = [
        sum(item.group in own and item.weight > 0 for item in vertex.groups) for vertex in obj.data.vertices
    ]
    return sum(count > most for count in counts)


def _keyed(armature, bone: str) -> set[str]:
    action = keys.action_of(armature)
    head = keys.path_of(bone)
    curves = keys.curves_of(armature, action) if action is not None else ()
    return {curve.data_path[len(head) :] for curve in curves if curve.data_path.startswith(head)}
