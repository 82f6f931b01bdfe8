"""What a surface is like: its size, and the normal and the area at each vertex."""

from __future__ import annotations

import numpy as np


def diagonal(points: np.ndarray) -> float:
    """The length of the box around the points; 1 when it has none."""
    length = float(np.linalg.norm(points.max(axis=0).astype(np.float64) - points.min(axis=0)))
    return length if length > 0 else 1.0


def vertex_normals(rest: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """[v][3] sums of the normals of a vertex's faces, as long as their areas"""
    corners = rest[triangles].astype(np.float64)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros((len(rest), 3))
    for corner in range(3):
        for axis in range(3):
            normals[:, axis] += np.bincount(triangles[:, corner], across[:, axis], len(rest))
    return normals


def edges(triangles: np.ndarray) -> np.ndarray:
    """[e][2] of triangles [t][3], each once"""
    pairs = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1
    )
    pairs = pairs[pairs[:, 0] != pairs[:, 1]].astype(np.int64)
    keys = np.unique(pairs[:, 0] << 32 | pairs[:, 1])
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)


def vertex_areas(rest: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """[v] how much of the surface is a vertex's; one without a face has as much as others do on average"""
    corners = rest[triangles].astype(np.float64)
    twice = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    areas = sum(np.bincount(triangles[:, corner], twice / 6, len(rest)) for corner in range(3))
    if not areas.sum() > 0:
        return np.ones(len(rest))
    return np.where(areas > 0, areas, areas[areas > 0].mean())
