"""Points of one mesh found on another of the same shape, against places that are known."""

import time

import bmesh
import bpy
import numpy as np
import pytest
import scenes
from ossify.base.meshes import triangles_of
from ossify.base.refusal import Refusal
from ossify.motion import matching


def arrays(obj):
    return scenes.positions(obj.data).astype(np.float64), triangles_of(obj.data)


def subdivided(obj, cuts=1):
    """A copy with more vertices on the same surface."""
    copy = scenes.link(bpy.data.objects.new("Dense", obj.data.copy()))
    edit = bmesh.new()
    edit.from_mesh(copy.data)
    bmesh.ops.subdivide_edges(edit, edges=edit.edges, cuts=cuts, use_grid_fill=True)
    edit.to_mesh(copy.data)
    edit.free()
    return copy


def turned(points, angle=1.1):
    """Moved as one: about Z, then about X, then away."""
    c, s = np.cos(angle), np.sin(angle)
    about_z = np.array([(c, -s, 0), (s, c, 0), (0, 0, 1)])
    about_x = np.array([(1, 0, 0), (0, c, -s), (0, s, c)])
    return points @ (about_x @ about_z).T + (0.4, 2.0, -1.0)


def test_a_mesh_lies_on_itself():
    points, triangles = arrays(scenes.tube())
    found = matching.match(points, triangles, points, triangles)
    assert not found.distances.any()
    own = np.take_along_axis(found.corners, found.shares.argmax(axis=1)[:, None], axis=1)[:, 0]
    assert np.array_equal(own, np.arange(len(points)))
    assert (found.shares.max(axis=1) == 1).all()


def test_vertices_in_another_order_are_found():
    points, triangles = arrays(scenes.tube())
    order = np.random.default_rng(3).permutation(len(points))
    found = matching.match(points, triangles, points[order], np.argsort(order)[triangles])
    assert np.allclose(found.mix(order.astype(float)), np.arange(len(points)), atol=1e-12)


def test_a_denser_mesh_mixes_what_its_edges_join():
    obj = scenes.tube()
    points, triangles = arrays(obj)
    dense, dense_triangles = arrays(subdivided(obj))
    found = matching.match(dense, dense_triangles, points, triangles)
    matching.check(found, "Dense", "Tube")
    assert found.distances.max() < 1e-6
    assert np.allclose(found.mix(points), dense, atol=1e-6)
    linear = points @ (0.3, -1.2, 0.7) + 5
    assert np.allclose(found.mix(linear), dense @ (0.3, -1.2, 0.7) + 5, atol=1e-6)


def test_a_sparser_mesh_is_followed_with_the_offset_turned():
    """The tube's own vertices seen from a tube of other rings: chords lie inside of the round."""
    fine, fine_triangles = arrays(scenes.tube("Fine", rings=12, around=24))
    coarse, coarse_triangles = arrays(scenes.tube("Coarse", rings=7, around=12))
    found = matching.match(fine, fine_triangles, coarse, coarse_triangles)
    matching.check(found, "Fine", "Coarse")
    assert found.distances.max() > 1e-3
    assert np.allclose(found.follow(coarse), fine, atol=1e-12)
    assert np.allclose(found.follow(turned(coarse)), turned(fine), atol=1e-9)


def test_of_two_layers_the_one_that_looks_the_same_way_is_taken():
    at = np.linspace(0, 1, 6)
    sheet = np.array([(x, y, 0.0) for y in at for x in at])
    quads = [(r * 6 + c, r * 6 + c + 1, r * 6 + c + 7, r * 6 + c + 6) for r in range(5) for c in range(5)]
    up = np.array([corner for a, b, c, d in quads for corner in ((a, b, c), (a, c, d))])
    layers = np.concatenate([sheet, sheet + np.array((0, 0, 0.01))])
    faces = np.concatenate([up[:, ::-1], up + len(sheet)])  # below looks down, above looks up
    points = sheet + np.array((0, 0, 0.004))  # nearer to the one below
    for mine, layer in ((up, 1), (up[:, ::-1], 0)):
        found = matching.match(points, mine, layers, faces)
        assert (found.corners // len(sheet) == layer).all()


def test_loose_edges_and_vertices_are_found():
    rest = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 3), (2, 0, 3), (5, 5, 5)], float)
    triangles = np.array([(0, 1, 2), (3, 4, 4)])
    points = np.array([(0.25, 0.25, 0), (0.5, 0, 3), (5, 5, 5)], float)
    found = matching.match(points, np.empty((0, 3), int), rest, triangles)
    assert not found.distances.any()
    assert np.allclose(found.mix(rest), points, atol=1e-7)
    assert np.allclose(found.follow(rest + 1), points + 1, atol=1e-7)


def test_points_without_faces_are_found():
    points = np.random.default_rng(1).random((40, 3))
    none = np.empty((0, 3), int)
    found = matching.match(points + 1e-3, none, points, none)
    assert np.array_equal(found.mix(np.arange(40.0)), np.arange(40.0))
    assert np.allclose(found.distances, 1e-3 * np.sqrt(3), rtol=1e-3)


def test_beyond_the_limit_is_refused_in_words():
    points, triangles = arrays(scenes.tube())
    away = points.copy()
    away[-3:] += (0.0, 0.0, 0.4)
    found = matching.match(away, triangles, points, triangles)
    with pytest.raises(Refusal, match=r"^3 of 72 vertices of Copy lie farther than 2 % .* from Tube"):
        matching.check(found, "Copy", "Tube")
    matching.check(found, "Copy", "Tube", limit=20)


def test_ten_thousand_vertices_take_a_moment():
    fine, fine_triangles = arrays(scenes.grid("Fine", n=100))
    coarse, coarse_triangles = arrays(scenes.grid("Coarse", n=60))
    began = time.perf_counter()
    found = matching.match(fine, fine_triangles, coarse, coarse_triangles)
    assert time.perf_counter() - began < 5
    assert np.allclose(found.mix(coarse), fine, atol=1e-6)
