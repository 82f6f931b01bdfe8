"""How long the way of one refit is: python tools/walk.py [ADDON], with the Python of a bpy package.

Makes a small creature that moves, converts it, deletes a bone, refits, and counts what the refit went through
in the add-on (the folder ADDON; else that of this tree): the functions and files entered, how often the rig
is read for its memory and the groups of its vertices one by one, the dense matrices of weights and the copies
of the rig that are made, and the calls of the library's verbs. OSSIFY_LIBRARY may name the library.
"""

import collections
import importlib
import importlib.util
import inspect
import os
import struct
import sys
import tempfile
from pathlib import Path

import bpy
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FRAMES = 12
AROUND, RINGS = 8, 7  # vertices of a limb
_BEGINS = 8  # bytes of code: a generator that was entered before is further
LIMBS = {  # a bone: what it hangs from, where it begins and ends, how far it swings and about what
    "core": (None, (0, 0, 0), (0, 0, 2), 0.2, (1, 0, 0)),
    "arm": ("core", (0, 0, 1.6), (2, 0, 1.6), 0.8, (0, 1, 0)),
    "hand": ("arm", (2, 0, 1.6), (3.5, 0, 1.6), 0.9, (0, 0, 1)),
    "wing": ("core", (0, 0, 1.4), (-2, 0, 1.4), 0.7, (0, 1, 0)),
    "feather": ("wing", (-2, 0, 1.4), (-3.5, 0, 1.4), 0.8, (0, 0, 1)),
    "tail": ("core", (0, 0, 0), (0, 2, -0.5), 0.6, (0, 0, 1)),
}
MARKS = {  # what is counted by itself: (file, function)
    "reads of the memory": {("memory.py", "read")},
    "reads of vertex groups, one by one": {("standing.py", "painted")},
    "dense weight matrices": {
        ("changes.py", "dense_weights"),
        ("nouns.py", "dense_weights"),
        ("standing.py", "weights"),
        ("weights.py", "dense"),
    },
    "copies of the rig": {("trial.py", "_make")},
    "calls of the library": {("call.py", "make_room")},
}


def load_addon(folder):
    spec = importlib.util.spec_from_file_location(
        "ossify", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = sys.modules["ossify"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.register()


def room(*names):
    """The first module of these names that there is: rooms were moved."""
    return next(importlib.import_module(f"ossify.{n}") for n in names if _is_there(f"ossify.{n}"))


def _is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


# ---- the creature


def _turn(axis, angle):
    """[3][3]"""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], float)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def _limb(head, tail):
    """The points and quads of a tube around a bone."""
    head, way = np.array(head, float), np.subtract(tail, head).astype(float)
    side = np.cross(way, (0.3, 0.5, 0.8))
    side /= np.linalg.norm(side)
    other = np.cross(way / np.linalg.norm(way), side)
    points = [
        head + way * ring / (RINGS - 1) + 0.25 * (np.cos(a) * side + np.sin(a) * other)
        for ring in range(RINGS)
        for a in 2 * np.pi * np.arange(AROUND) / AROUND
    ]
    quads = [
        (
            r * AROUND + k,
            r * AROUND + (k + 1) % AROUND,
            (r + 1) * AROUND + (k + 1) % AROUND,
            (r + 1) * AROUND + k,
        )
        for r in range(RINGS - 1)
        for k in range(AROUND)
    ]
    return np.array(points), np.array(quads)


def _poses(frame):
    """name -> [4][4] rest to frame"""
    found = {None: np.eye(4)}
    for number, (name, (above, head, _, swing, axis)) in enumerate(LIMBS.items()):
        turn = np.eye(4)
        turn[:3, :3] = _turn(axis, swing * np.sin(2 * np.pi * frame / FRAMES * (1 + number % 3) + number))
        turn[:3, 3] = np.array(head) - turn[:3, :3] @ np.array(head)
        found[name] = found[above] @ turn
    return found


def creature(folder):
    """A mesh object that plays a cache."""
    points, quads, parts, count = [], [], [], 0
    for name, (_, head, tail, _, _) in LIMBS.items():
        own, faces = _limb(head, tail)
        points.append(own)
        quads.append(faces + count)
        parts.append((name, slice(count, count + len(own))))
        count += len(own)
    rest, frames = np.concatenate(points), []
    for frame in range(FRAMES):
        poses, moved = _poses(frame), rest.copy()
        for name, rows in parts:
            moved[rows] = rest[rows] @ poses[name][:3, :3].T + poses[name][:3, 3]
        frames.append(moved)
    mesh = bpy.data.meshes.new("Creature")
    mesh.from_pydata(rest.tolist(), [], np.concatenate(quads).tolist())
    obj = bpy.data.objects.new("Creature", mesh)
    bpy.context.scene.collection.objects.link(obj)
    cache = Path(folder) / "creature.pc2"
    head = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, count, 1.0, 1.0, FRAMES)
    cache.write_bytes(head + np.array(frames, "<f4").tobytes())
    modifier = obj.modifiers.new("Cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath, modifier.frame_start = "PC2", str(cache), 1
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, FRAMES
    return obj


def delete(armature, name):
    """The bone in Edit Mode, and its vertex group."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.remove(armature.data.edit_bones[name])
    bpy.ops.object.mode_set(mode="OBJECT")
    for item in armature.ossify.meshes:
        item.object.vertex_groups.remove(item.object.vertex_groups[name])


# ---- the way


class Walk:
    """with Walk(folder) as walk: ...    counts the calls of functions in the folder"""

    def __init__(self, folder):
        self.folder, self.calls = str(folder) + os.sep, collections.Counter()

    def _see(self, frame, event, _argument):
        code = frame.f_code
        ours = event == "call" and code.co_filename.startswith(self.folder) and code.co_name[0] != "<"
        goes_on = code.co_flags & inspect.CO_GENERATOR and frame.f_lasti > _BEGINS
        if ours and not goes_on:
            self.calls[code] += 1

    def __enter__(self):
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_error):
        sys.setprofile(None)

    def count(self, marks):
        return sum(
            n for code, n in self.calls.items() if (Path(code.co_filename).name, code.co_name) in marks
        )

    def lines(self):
        files = {code.co_filename for code in self.calls}
        yield f"{len(self.calls)} functions in {len(files)} files, {sum(self.calls.values())} calls"
        for words, marks in MARKS.items():
            yield f"{self.count(marks)} {words}"


def main():
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "addon"
    bpy.ops.wm.read_homefile(use_empty=True)
    load_addon(folder)
    convert, options = room("convert.convert", "convert"), room("options.options", "options")
    refit, run = room("refit.refit", "roundtrip.refit"), room("base.steps", "convert").run
    with tempfile.TemporaryDirectory(prefix="ossify-") as made:
        scene, layer = bpy.context.scene, bpy.context.view_layer
        chosen = options.wished(bones=len(LIMBS), skeleton="HIERARCHY")
        rig = run(convert.convert(scene, layer, [creature(made)], chosen)).armature
        gone = next(bone.name for bone in rig.data.bones if bone.use_deform and not bone.children)
        delete(rig, gone)
        with Walk(folder) as walk:
            result = run(refit.refit(scene, layer, rig, options.RefitOptions()))
    before, after = (100 * found.rms / found.size for found in (result.before, result.after))
    print(f"{gone} deleted: error {before:.4g} % before the refit, {after:.4g} % after")
    print("\n".join(walk.lines()), flush=True)
    if os.environ.get("OSSIFY_WALK") == "all":
        for code, count in sorted(walk.calls.items(), key=lambda item: item[0].co_filename):
            print(f"{count:6} {Path(code.co_filename).relative_to(folder)} {code.co_qualname}")
    sys.stdout.flush()
    os._exit(0)  # with add-ons enabled, bpy may not come to its end by itself


if __name__ == "__main__":
    main()
