"""What moves a mesh object, what of its modifiers stays live, and why it cannot be converted, in words."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import bpy

from ..base import pointcache
from ..base.refusal import Refusal

# Modifiers that move vertices, and what an artist calls their motion.
_MOVERS = {
    "ARMATURE": "an armature",
    "CAST": "a Cast modifier",
    "CLOTH": "a cloth simulation",
    "CORRECTIVE_SMOOTH": "a Corrective Smooth modifier",
    "CURVE": "a curve",
    "DISPLACE": "a Displace modifier",
    "DYNAMIC_PAINT": "dynamic paint",
    "EXPLODE": "an explosion",
    "FLUID": "a fluid simulation",
    "HOOK": "a hook",
    "LAPLACIANDEFORM": "a Laplacian Deform modifier",
    "LAPLACIANSMOOTH": "a Laplacian Smooth modifier",
    "LATTICE": "a lattice",
    "MESH_CACHE": "a mesh cache",
    "MESH_DEFORM": "a cage",
    "MESH_SEQUENCE_CACHE": "a geometry cache",
    "NODES": "geometry nodes",
    "OCEAN": "an ocean",
    "PARTICLE_INSTANCE": "particles",
    "SHRINKWRAP": "a Shrinkwrap modifier",
    "SIMPLE_DEFORM": "a Simple Deform modifier",
    "SMOOTH": "a Smooth modifier",
    "SOFT_BODY": "a soft body simulation",
    "SURFACE_DEFORM": "another surface",
    "WARP": "a Warp modifier",
    "WAVE": "a Wave modifier",
}

# Nodes that hand geometry on without moving it. Blender adds such trees by itself (Smooth by Angle).
_STILL_NODES = {
    "NodeGroupInput",
    "NodeGroupOutput",
    "NodeReroute",
    "GeometryNodeCaptureAttribute",
    "GeometryNodeRemoveAttribute",
    "GeometryNodeReplaceMaterial",
    "GeometryNodeSetMaterial",
    "GeometryNodeSetMaterialIndex",
    "GeometryNodeSetMeshNormal",
    "GeometryNodeSetShadeSmooth",
    "GeometryNodeStoreNamedAttribute",
    "GeometryNodeSwitch",
    "GeometryNodeViewer",
    "GeometryNodeWarning",
}

_MODES = {"EDIT": "Edit Mode", "SCULPT": "Sculpt Mode", "PARTICLE_EDIT": "Particle Edit"}


def _tree_moves(tree, seen: set[str]) -> bool:
    if tree is None or tree.name_full in seen:
        return False
    seen.add(tree.name_full)
    for node in tree.nodes:
        if node.type == "GROUP":
            if _tree_moves(node.node_tree, seen):
                return True
        elif node.bl_idname not in _STILL_NODES and any(s.type == "GEOMETRY" for s in node.outputs):
            return True
    return False


def _moves(modifier) -> bool:
    if not modifier.show_viewport or modifier.type not in _MOVERS:
        return False
    if modifier.type == "NODES":
        return _tree_moves(modifier.node_group, set())
    if modifier.type == "FLUID":
        return modifier.fluid_type == "DOMAIN"
    if modifier.type == "ARMATURE":
        return modifier.object is not None
    return True


def movers(obj) -> list:
    """The modifiers that move the mesh's vertices, in the order of the stack."""
    return [modifier for modifier in obj.modifiers if _moves(modifier)]


def kept(obj) -> list:
    """The modifiers after the last that moves vertices: they stay live on the result."""
    stack, moving = list(obj.modifiers), movers(obj)
    return stack[stack.index(moving[-1]) + 1 :] if moving else stack


def keys_of(obj):
    return obj.data.shape_keys.key_blocks if obj.data.shape_keys else ()


def _animated(block) -> bool:
    data = block.animation_data if block else None
    return bool(data and (data.action or data.drivers or data.nla_tracks))


def _object_moves(obj) -> bool:
    while obj:
        if _animated(obj) or obj.constraints or (obj.rigid_body and obj.rigid_body.type == "ACTIVE"):
            return True
        obj = obj.parent
    return False


def _file_of(modifier) -> str | None:
    """The cache file a modifier reads."""
    if modifier.type == "MESH_CACHE":
        return modifier.filepath
    if modifier.type == "MESH_SEQUENCE_CACHE":
        return modifier.cache_file.filepath if modifier.cache_file else ""
    return None


def files_of(obj) -> list[str]:
    """The cache files that move the object."""
    found = (_file_of(modifier) for modifier in obj.modifiers)
    return [bpy.path.abspath(file, library=obj.library) for file in found if file]


def _caches(obj):
    """The point caches of the object's own simulations."""
    for modifier in obj.modifiers:
        if modifier.show_viewport and modifier.type in {"CLOTH", "SOFT_BODY"}:
            yield modifier.point_cache
        elif modifier.show_viewport and modifier.type == "DYNAMIC_PAINT" and modifier.canvas_settings:
            for surface in modifier.canvas_settings.canvas_surfaces:
                yield surface.point_cache


def _simulated_by_nodes(tree, seen: set[str]) -> bool:
    if tree is None or tree.name_full in seen:
        return False
    seen.add(tree.name_full)
    return any(
        node.bl_idname == "GeometryNodeSimulationOutput"
        or (node.type == "GROUP" and _simulated_by_nodes(node.node_tree, seen))
        for node in tree.nodes
    )


def simulation_start(scene, view_layer) -> int | None:
    """The first frame of what must be stepped through in order; None when any frame can be read at once.

    A simulation anywhere in the scene may move the mesh: a surface may be bound to a cloth.
    """
    starts = []
    for obj in view_layer.objects:
        if obj.type == "MESH":
            starts += [cache.frame_start for cache in _caches(obj) if not cache.is_baked]
            starts += [
                scene.frame_start
                for modifier in obj.modifiers
                if modifier.type == "NODES" and _simulated_by_nodes(modifier.node_group, set())
            ]
    world = scene.rigidbody_world
    if world and world.enabled and world.collection and not world.point_cache.is_baked:
        starts.append(world.point_cache.frame_start)
    return min(starts, default=None)


def motion_words(obj) -> list[str]:
    """Where the object's motion comes from, in an artist's words."""
    words = []
    keys = obj.data.shape_keys
    if len(keys_of(obj)) > 1:
        words.append(f"{len(keys.key_blocks)} shape keys{'' if _animated(keys) else ' (not keyed)'}")
    for modifier in movers(obj):
        word, file = _MOVERS[modifier.type], _file_of(modifier)
        if file:
            word += f" ({os.path.basename(bpy.path.abspath(file))})"
        elif modifier.type in {"CLOTH", "SOFT_BODY"}:
            word += " (baked)" if modifier.point_cache.is_baked else " (not baked)"
        words.append(word)
    if _animated(obj.data):
        words.append("the mesh's own animation")
    if _object_moves(obj):
        words.append("the object's own motion")
    return list(dict.fromkeys(words))


def _file_trouble(obj) -> str | None:
    for modifier in movers(obj):
        file = _file_of(modifier)
        if file is None:
            continue
        if not file:
            return f"{obj.name}'s modifier {modifier.name} names no cache file."
        path = bpy.path.abspath(file, library=obj.library)
        if not os.path.isfile(path):
            return f"{obj.name}'s modifier {modifier.name} reads {path}, and there is no such file."
        if modifier.type == "MESH_CACHE":
            try:
                pointcache.size_of(Path(path), f".{modifier.cache_format.lower()}")
            except Refusal as error:
                return str(error)
    return None


def library_trouble(block, name: str) -> str | None:
    """Why a data-block of the object of that name cannot be changed in this file; None when it can."""
    if block.library:
        file = bpy.path.basename(block.library.filepath)
        return f"{name} is linked from {file}: make it local, or work in its own file."
    override = block.override_library
    if not block.is_editable or (override and override.is_system_override):
        return f"{name} is a read-only library override: make it editable or local."
    return None


def lack_poses(objects) -> bool:
    """Whether none of the objects has shape keys to take as poses."""
    return not any(obj.type == "MESH" and len(keys_of(obj)) > 1 for obj in objects)


def trouble(obj, view_layer, poses: bool = False) -> str | None:
    """Why the object cannot be converted, in one sentence; None when it can."""
    if obj.type != "MESH":
        return f"{obj.name} is not a mesh ({obj.type.replace('_', ' ').lower()}): select mesh objects."
    sentence = library_trouble(obj, obj.name)
    if sentence:
        return sentence
    if obj.mode in _MODES:
        return f"{obj.name} is in {_MODES[obj.mode]}: go back to Object Mode."
    if view_layer.objects.get(obj.name) != obj:
        return f"{obj.name} is not in this view layer: its collection is excluded or in another scene."
    if not obj.visible_get(view_layer=view_layer):
        return f"{obj.name} is hidden: Blender moves only what is visible, so show it in the viewport."
    if not len(obj.data.vertices) and not movers(obj):
        return f"{obj.name} has no vertices."
    if poses and len(keys_of(obj)) < 2:
        return f"{obj.name} has no shape keys to take as poses: it needs a Basis and at least one more."
    return _file_trouble(obj)


def first_trouble(objects, view_layer) -> str | None:
    """That of the first object that cannot be converted; None when all can."""
    return next(filter(None, (trouble(obj, view_layer) for obj in objects)), None)


@dataclasses.dataclass
class Offer:
    """What an object has to convert."""

    name: str
    vertices: int
    shape_keys: int
    motion: list[str]
    trouble: str | None


def offer(obj, view_layer, poses: bool = False) -> Offer:
    """For the panel and `info`: quick, nothing is evaluated."""
    refusal = trouble(obj, view_layer, poses)
    if obj.type != "MESH":
        return Offer(obj.name, 0, 0, [], refusal)
    return Offer(obj.name, len(obj.data.vertices), len(keys_of(obj)), motion_words(obj), refusal)
