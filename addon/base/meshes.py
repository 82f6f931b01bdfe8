"""Blender's meshes, objects and bones as arrays."""

from __future__ import annotations

import numpy as np


def positions(mesh) -> np.ndarray:
    """[v][3] float32"""
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    quick = mesh.attributes.get("position")
    if len(flat) and quick is not None:
        quick.data.foreach_get("vector", flat)
    elif len(flat):  # in Edit Mode attributes are those of what is edited
        mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def matrix_of(obj) -> np.ndarray:
    return np.array(obj.matrix_world, np.float64)


def matrices_of(items, name: str) -> np.ndarray:
    """[n][4][4] the matrices of this name of all bones in a collection; one by one they take long"""
    flat = np.empty(16 * len(items), np.float32)
    items.foreach_get(name, flat)
    return flat.reshape(-1, 4, 4).swapaxes(1, 2).astype(np.float64)


def triangles_of(mesh) -> np.ndarray:
    """Faces as triangles, and loose edges as triangles with a corner twice."""
    mesh.calc_loop_triangles()
    faces = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", faces)
    edges = np.empty(2 * len(mesh.edges), np.int32)
    mesh.edges.foreach_get("vertices", edges)
    used = np.zeros(len(mesh.edges), bool)
    corners = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("edge_index", corners)
    used[corners] = True
    loose = edges.reshape(-1, 2)[~used]
    return np.concatenate([faces.reshape(-1, 3), loose[:, [0, 1, 1]]])


def edges_of(mesh) -> np.ndarray:
    """[e][2] sorted, whatever their order in the mesh"""
    flat = np.empty(2 * len(mesh.edges), np.int32)
    mesh.edges.foreach_get("vertices", flat)
    pairs = np.sort(flat.reshape(-1, 2), axis=1)
    return pairs[np.lexsort(pairs.T)]


def same_topology(mesh, other) -> bool:
    """Whether faces and edges join the same vertices in both."""
    if len(mesh.vertices) != len(other.vertices) or len(mesh.polygons) != len(other.polygons):
        return False
    for items, name in (("loops", "vertex_index"), ("edges", "vertices")):
        mine, theirs = getattr(mesh, items), getattr(other, items)
        if len(mine) != len(theirs):
            return False
        width = 2 if items == "edges" else 1
        a, b = np.empty(width * len(mine), np.int32), np.empty(width * len(mine), np.int32)
        mine.foreach_get(name, a)
        theirs.foreach_get(name, b)
        if not np.array_equal(a, b):
            return False
    return True
