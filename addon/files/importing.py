"""Files of other programs into the open scene, by Blender's importers."""

from __future__ import annotations

from pathlib import Path

import bpy

from ..base.refusal import Refusal
from . import gltffile, meshfile, ogawa
from .formats import call, need_addon, need_built_in, supported


def all_blocks() -> dict[int, object]:
    """All data-blocks that are not of the interface, by the session's number."""
    interface = (bpy.types.WindowManager, bpy.types.Screen, bpy.types.WorkSpace)
    return {block.session_uid: block for block in bpy.data.user_map() if not isinstance(block, interface)}


def remove_others(known: set[int]) -> None:
    """Takes out of the file what came since."""
    bpy.data.batch_remove([block for uid, block in all_blocks().items() if uid not in known])


def import_scene(path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix == ".abc":
        need_built_in("alembic_import", "Alembic", path)
        ogawa.check(path)
        call(bpy.ops.wm.alembic_import, path, as_background_job=False)
    elif suffix.startswith(".usd"):
        need_built_in("usd_import", "USD", path)
        call(bpy.ops.wm.usd_import, path)
    elif suffix == ".fbx":
        if "fbx_import" in dir(bpy.ops.wm):
            call(bpy.ops.wm.fbx_import, path)
        else:
            need_addon("io_scene_fbx")
            call(bpy.ops.import_scene.fbx, path)
    else:
        need_addon("io_scene_gltf2")
        gltffile.check(path)
        call(bpy.ops.import_scene.gltf, path)


def import_mesh(path: Path) -> None:
    """An .obj or .ply with its vertices in its order."""
    meshfile.check(path)
    if path.suffix.lower() == ".obj":
        operator = bpy.ops.wm.obj_import
        whole = {"use_split_objects": False, "use_split_groups": False, "validate_meshes": False}
        call(operator, path, **supported(operator, **whole))
    else:
        call(bpy.ops.wm.ply_import, path)


def one_mesh(path: Path):
    """The mesh object of an .obj or .ply."""
    before = set(bpy.data.objects)
    import_mesh(path)
    made = [obj for obj in bpy.data.objects if obj not in before and obj.type == "MESH"]
    if len(made) != 1:
        raise Refusal(f"{path} holds {len(made)} meshes; one is needed.")
    return made[0]


def object_of(name: str, points, faces):
    """A new mesh object in the scene; points [v][3], faces [t][3]"""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points.tolist(), [], faces.tolist())
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj
