"""What is told of one thing, and of several."""

import numpy as np
import pytest
import scenes
from ossify.base.refusal import Refusal
from ossify.motion import matching
from ossify.record import changes
from ossify.ui import panel_refit


@pytest.mark.parametrize(("count", "said"), [(1, "1 vertex"), (2, "2 vertices")])
def test_changed_vertices_are_counted_in_words(count, said):
    rows = {"Sheet": np.arange(9) < count}
    found = dict(changes.Changes(repainted=rows, sculpted=rows).lines([]))
    assert found == {"REPAINTED": f"{said} repainted", "SCULPTED": f"{said} sculpted"}


@pytest.mark.parametrize(("count", "said"), [(1, "1 mesh gone"), (2, "2 meshes gone")])
def test_meshes_that_are_gone_are_counted_in_words(count, said):
    assert changes.Changes(removed=count).lines([]) == [("REMOVED", said)]


def test_one_held_vertex_is_one_vertex(sheet):
    changes.hold_vertices(sheet.meshes[0].data, np.arange(81) == 3, True)
    assert ("VERTEXSEL", "1 vertex") in panel_refit._held_words(sheet.armature)


def test_one_vertex_that_lies_elsewhere_lies():
    mesh = scenes.grid().data
    mesh.calc_loop_triangles()
    rest, corners = scenes.positions(mesh), np.array([t.vertices for t in mesh.loop_triangles])
    points = rest.copy()
    points[0, 2] += 1
    with pytest.raises(Refusal, match="1 of 81 vertices of A lies farther"):
        matching.check(matching.match(points, corners, rest, corners), "A", "B")
