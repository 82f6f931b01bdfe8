"""Runs inside Blender: what fits, several bodies and body sliders leave, as a table of docs/subjects.md.

    python bench/family.py SETS [--only fitted,converted,slid]

with a bpy package, OSSIFY_LIBRARY naming the library. SETS is the folder of bench/subjects.py. Percent of the
diagonal of a body's box. Bodies that were left out are posed by the rotations of their own frames, bone by
bone, through the armature that they were given, and what Blender shows is compared with those frames.
"""

import argparse
import os
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bpy
import numpy as np
from mathutils import Matrix, Vector

from blender import load_addon
from subjects import Kin, drawn, order_of, short, table

POSES = 8  # of each body that is converted


def percent(found, true, diagonal):
    return 100 * np.sqrt(((found - true) ** 2).sum(axis=1).mean()) / diagonal


def mesh_of(name, points, triangles):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(np.asarray(points, float).tolist(), [], triangles.tolist())
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def rigged(kin, s):
    """A body with its true skeleton and weights."""
    obj = mesh_of(f"Body {s}", kin.rest[s], kin.triangles)
    armature = bpy.data.objects.new(f"Body {s} Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for b in order_of(kin.parents):
        bone = armature.data.edit_bones.new(f"Bone {b:02}")
        bone.head = Vector(kin.joints[s, b])
        bone.tail = bone.head + Vector((0, 0, 0.05 * kin.diagonal[s]))
        if kin.parents[b] >= 0:
            bone.parent = armature.data.edit_bones[f"Bone {kin.parents[b]:02}"]
    bpy.ops.object.mode_set(mode="OBJECT")
    for b in range(kin.bones):
        group = obj.vertex_groups.new(name=f"Bone {b:02}")
        for v in np.flatnonzero(kin.weights[:, b]).tolist():
            group.add([v], float(kin.weights[v, b]), "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    obj.parent = armature
    return obj, armature


def posed(armature, kin, f, root=None):
    """The rotations of a frame, each against its parent's; root [3]: the point that goes where it goes."""
    for b in order_of(kin.parents):
        turn, bone = kin.transforms[f, b, :, :3], armature.pose.bones[f"Bone {b:02}"]
        if kin.parents[b] >= 0:
            turn = kin.transforms[f, kin.parents[b], :, :3].T @ turn
        axes = np.array(bone.bone.matrix_local, float)[:3, :3]
        basis = np.eye(4)
        basis[:3, :3] = axes.T @ turn @ axes
        if kin.parents[b] < 0:
            head = np.array(bone.bone.head_local, float) if root is None else root
            basis[:3, 3] = axes.T @ (kin.transforms[f, b] @ np.append(head, 1) - head)
        bone.matrix_basis = Matrix(basis)
    bpy.context.view_layer.update()


def seen(obj):
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = shown.to_mesh()
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    shown.to_mesh_clear()
    matrix = np.array(shown.matrix_world, float)
    return flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def errors_of(kin, obj, armature, s, root=None):
    """Of a body in all of its frames."""
    found = []
    for f in np.flatnonzero(kin.subject == s):
        posed(armature, kin, f, root)
        found.append(percent(seen(obj), kin.frames[f], kin.diagonal[s]))
    return found


def told(errors):
    return f"{short(float(np.sqrt(np.mean(np.square(errors)))))}, {short(max(errors))}"


def family_of(kin, known, left):
    """Rigged bodies, the first of which is the one to copy, and meshes."""
    bpy.ops.wm.read_homefile(use_empty=True)
    first, *others = [rigged(kin, s)[0] for s in known]
    meshes = [mesh_of(f"Left {s}", kin.rest[s], kin.triangles) for s in left]
    bpy.context.view_layer.update()
    return first, others, meshes


def fitted(sets):
    from ossify.base.steps import run
    from ossify.family import fit
    from ossify.options.options import FitOptions

    rows = []
    for name, count in (("human", 10), ("human", 1), ("cat", 10)):
        kin = sets[name]
        known, left = drawn(len(kin.rest), count, 0)
        first, others, meshes = family_of(kin, known, left)
        given = bpy.context.scene, bpy.context.view_layer, first, [*others, *meshes], FitOptions()
        made, errors = run(fit.fit(*given)), []
        for s, obj, armature in zip(left, made.meshes, made.armatures, strict=True):
            errors += errors_of(kin, obj, armature, s)
        rows.append((f"Fit, same rotations on {len(left)} {name}s left out, from {count}", told(errors)))
    return rows


def converted(sets):
    """Error of each body as its report has it, which plays the rig."""
    from ossify.base import pointcache
    from ossify.base.steps import run
    from ossify.convert.convert import convert
    from ossify.options.options import Options

    kin, random, rows = sets["human"], np.random.default_rng(5), []
    for skeleton in ("HIERARCHY", "ARTICULATED"):
        bpy.ops.wm.read_homefile(use_empty=True)
        with tempfile.TemporaryDirectory() as folder:
            objects = []
            for s in range(4):
                obj = mesh_of(f"Body {s}", kin.rest[s], kin.triangles)
                path = Path(folder) / f"{s}.pc2"
                with pointcache.Writer(path, len(kin.rest[s]), np.arange(1, POSES + 1)) as writer:
                    for _ in range(POSES):
                        writer.add(kin.posed(s, np.ones(kin.bones), random)[1])
                    writer.finish()
                cache = obj.modifiers.new("Cache", "MESH_CACHE")
                cache.cache_format, cache.filepath, cache.frame_start = "PC2", str(path), 1
                objects.append(obj)
            bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, POSES
            options = Options(
                clips="SUBJECTS",
                bones=kin.bones,
                bones_by="COUNT",
                skeleton=skeleton,
                rest_correction="FIXED",
            )
            made = run(convert(bpy.context.scene, bpy.context.view_layer, objects, options))
        found = [one.report.percent(one.report.rms) for one in (made, *made.others)]
        words = f"four human bodies of {POSES} poses in one conversion, {kin.bones} bones, {skeleton.lower()}"
        rows.append((words, f"{short(min(found))} to {short(max(found))}"))
    return rows


def slid(sets):
    """A rig set to bodies that it was made from, against their own frames."""
    from ossify.base.steps import run
    from ossify.family import slider_rig, sliders
    from ossify.options.options import SlidersOptions

    kin = sets["human"]
    known = np.arange(25)
    first, others, _ = family_of(kin, known, [])
    given = bpy.context.scene, bpy.context.view_layer, first, others, SlidersOptions(count=20)
    made, rows = run(sliders.make(*given)), []
    record = slider_rig.record_of(made.armature)
    for s in (7, 19):
        for name, value in zip(record["names"], record["seen"][s], strict=True):
            made.armature[name] = float(value)
        made.armature.update_tag()
        errors = errors_of(kin, made.mesh, made.armature, s, kin.joints[s, order_of(kin.parents)[0]])
        rows.append((f"20 sliders from 25 rigged humans, posed, against body {s} itself", told(errors)))
    return rows


SECTIONS = {each.__name__: each for each in (fitted, converted, slid)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", metavar="SETS", type=Path)
    parser.add_argument("--only", default=",".join(SECTIONS), help=", ".join(SECTIONS))
    options = parser.parse_args()
    unknown = [name for name in options.only.split(",") if name not in SECTIONS]
    if unknown:
        sys.exit(f"family.py: there is no section {unknown[0]}; there are {', '.join(SECTIONS)}.")
    paths = {name: options.sets / f"subjects-{name}.npz" for name in ("human", "cat")}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing:
        sys.exit(f"family.py: {missing[0]} is not there: these sets are not part of the project.")
    load_addon()
    sets = {name: Kin(path) for name, path in paths.items()}
    rows = [row for name in options.only.split(",") for row in SECTIONS[name](sets)]
    version = ".".join(map(str, bpy.app.version[:2]))
    table(f"in Blender {version}, percent of the diagonal | root mean square, worst frame", rows)


if __name__ == "__main__":
    try:
        main()
        code = 0
    except SystemExit as ended:
        print(ended.code, file=sys.stderr)
        code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)  # bpy's own end can crash
