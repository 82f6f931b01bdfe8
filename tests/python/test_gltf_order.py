"""A glTF in the order that it is drawn: the same surface with the same attributes, and less to fetch."""

import collections

import numpy as np
import package  # noqa: F401 (first: it brings what follows)
import pytest
from ossify.files import gltf, gltf_order


def grid(side=40, seed=1):
    """[v][3] and [t][3] of a sheet whose vertices and triangles are in no order."""
    rng = np.random.default_rng(seed)
    corner = np.arange(side * side).reshape(side, side)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    new = rng.permutation(side * side)
    points = np.stack([*np.divmod(np.arange(side * side), side), 0 * np.arange(side * side)], 1)
    shuffled = np.empty_like(points)
    shuffled[new] = points
    return shuffled.astype(np.float32), rng.permutation(new[triangles])


def misses(triangles, size=16):
    """Of a cache that forgets what came first, for each triangle."""
    cache, count = collections.deque(maxlen=size), 0
    for vertex in triangles.ravel().tolist():
        if vertex not in cache:
            cache.append(vertex)
            count += 1
    return count / len(triangles)


def document(points, triangles, alone=2):
    """With joints of each vertex, and a sparse target in which every `alone`-th moves."""
    joints = np.arange(4 * len(points), dtype=np.uint8).reshape(-1, 4)
    few = np.arange(0, len(points), alone, dtype=np.uint16)
    moves = np.stack([few, few, few], 1).astype(np.float32)
    data, views = b"", []
    for array in (points, joints, triangles.astype(np.uint16), few, moves):
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": array.nbytes})
        data += array.tobytes() + bytes(-array.nbytes % 4)
    sparse = {
        "count": len(few),
        "indices": {"bufferView": 3, "componentType": 5123},
        "values": {"bufferView": 4},
    }
    accessors = [
        {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": len(points)},
        {"bufferView": 1, "componentType": 5121, "type": "VEC4", "count": len(points)},
        {"bufferView": 2, "componentType": 5123, "type": "SCALAR", "count": triangles.size},
        {"componentType": 5126, "type": "VEC3", "count": len(points), "sparse": sparse},
    ]
    part = {"attributes": {"POSITION": 0, "JOINTS_0": 1}, "indices": 2, "targets": [{"POSITION": 3}]}
    words = {"accessors": accessors, "bufferViews": views, "meshes": [{"primitives": [part]}]}
    return gltf.Document(words, [data])


def corners(made):
    """All triangles as what stands at their corners, in no order."""
    triangles = made.array(2).astype(int).reshape(-1, 3)
    rows = np.hstack([made.array(number) for number in (0, 1, 3)])
    return sorted(rows[triangles].reshape(len(triangles), -1).tolist())


@pytest.mark.parametrize("alone", [1, 2, 7])
def test_the_same_surface_with_the_same_attributes(alone):
    made = document(*grid(), alone)
    before = corners(made)
    gltf_order.reorder(made)
    assert corners(made) == before
    rows = made._view(3, 0, made.words["accessors"][3]["sparse"]["count"], 1, 5123)[:, 0]
    assert (np.diff(rows.astype(int)) > 0).all()  # as the specification wants it


def test_vertices_are_fetched_about_as_seldom_as_can_be():
    """A sheet has two triangles a vertex: less than a half cannot be; without order it is nearly three."""
    points, triangles = grid()
    made = document(points, triangles)
    assert misses(triangles) > 2.5
    gltf_order.reorder(made)
    drawn = made.array(2).astype(int).reshape(-1, 3)
    assert misses(drawn) < 0.75
    assert (np.diff(np.unique(drawn.ravel(), return_index=True)[1]) > 0).all()  # by first use


def test_triangles_that_share_nothing_or_everything_are_all_drawn():
    apart = np.arange(30).reshape(-1, 3)
    assert sorted(gltf_order.triangle_order(apart, 30)) == list(range(10))
    alike = np.zeros((5, 3), int)
    assert sorted(gltf_order.triangle_order(alike, 1)) == list(range(5))
    assert len(gltf_order.triangle_order(np.empty((0, 3), int), 0)) == 0
    assert gltf_order.vertex_order(np.array([[4, 2, 0]]), 6).tolist() == [4, 2, 0, 1, 3, 5]


def test_data_that_two_meshes_share_stay():
    made = document(*grid())
    made.words["meshes"].append({"primitives": [dict(made.words["meshes"][0]["primitives"][0], indices=2)]})
    before = bytes(made.buffers[0])
    gltf_order.reorder(made)
    assert bytes(made.buffers[0]) == before
