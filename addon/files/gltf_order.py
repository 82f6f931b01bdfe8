"""Triangles and vertices of a glTF in the order that graphics processors and EXT_meshopt_compression like.

Triangles: Sander, Nehab and Barczak 2007, Fast triangle reordering for vertex locality and reduced overdraw,
Section 4: fan after fan around vertices that are still in a cache of k vertices; where a fan ends among
vertices that are done, from the last that are not. Linear in the triangles. Their second step, against
overdraw, is left out: a body that bends has no fixed outside.

Vertices: by first use (meshoptimizer calls it fetch order), so that neighbours in the file are neighbours on
the surface. Every attribute has a view of its own, without gaps, as Blender writes it: that is what meshopt's
vertex codec works on. The extension itself is not written: see docs/manual.md.
"""

from __future__ import annotations

import itertools

import numpy as np

_CACHE = 16  # vertices; processors have at least that many
_TRIANGLES = 4  # the mode of a primitive


def _around(triangles: np.ndarray, vertices: int) -> list[list[int]]:
    """The triangles at each vertex."""
    order = np.argsort(triangles.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(triangles.ravel(), minlength=vertices))
    owners = (order // 3).tolist()
    return [owners[first:last] for first, last in itertools.pairwise([0, *ends.tolist()])]


def triangle_order(triangles: np.ndarray, vertices: int) -> np.ndarray:
    """[t] numbers of the triangles [t][3], in the order to draw them."""
    around, corners = _around(triangles, vertices), triangles.tolist()
    live = [len(own) for own in around]  # triangles of a vertex that are not drawn yet
    stamp, now = [0] * vertices, _CACHE + 1
    drawn, order, ended, cursor = [False] * len(corners), [], [], 0
    fan = 0 if vertices else -1
    while fan >= 0:
        near = []
        for triangle in around[fan]:
            if drawn[triangle]:
                continue
            drawn[triangle] = True
            order.append(triangle)
            for vertex in corners[triangle]:
                near.append(vertex)
                live[vertex] -= 1
                if now - stamp[vertex] > _CACHE:
                    stamp[vertex] = now
                    now += 1
        ended += near
        fan, oldest = -1, -1
        for vertex in near:
            if live[vertex] > 0:
                age = now - stamp[vertex]
                rank = age if age + 2 * live[vertex] <= _CACHE else 0  # it stays until its fan is drawn
                if rank > oldest:
                    fan, oldest = vertex, rank
        while fan < 0 and ended:
            last = ended.pop()
            fan = last if live[last] > 0 else -1
        while fan < 0 and cursor < vertices:
            fan = cursor if live[cursor] > 0 else -1
            cursor += 1
    return np.array(order, np.int64)


def vertex_order(triangles: np.ndarray, vertices: int) -> np.ndarray:
    """[v] old numbers in their new order: by first use, then those that no triangle uses."""
    used, first = np.unique(triangles.ravel(), return_index=True)
    rest = np.setdiff1d(np.arange(vertices), used, assume_unique=True)
    return np.concatenate([used[np.argsort(first)], rest])


def _attributes(part: dict) -> list[int]:
    """The accessors with a row for each vertex."""
    return [number for some in (part["attributes"], *part.get("targets", ())) for number in some.values()]


def _own_parts(words: dict) -> list[dict]:
    """Primitives of triangles whose data are nobody else's."""
    parts = [part for mesh in words.get("meshes", ()) for part in mesh["primitives"]]
    uses: dict[int, int] = {}
    for part in parts:
        for number in {*_attributes(part), part.get("indices", -1)}:
            uses[number] = uses.get(number, 0) + 1
    own = []
    for part in parts:
        plain = part.get("mode", _TRIANGLES) == _TRIANGLES and "indices" in part and "extensions" not in part
        if plain and all(uses[number] == 1 for number in {*_attributes(part), part["indices"]}):
            own.append(part)
    return own


def _reorder(document, part: dict) -> None:
    triangles = document.array(part["indices"]).astype(np.int64).reshape(-1, 3)
    count = document.words["accessors"][part["attributes"]["POSITION"]]["count"]
    triangles = triangles[triangle_order(triangles, count)]
    order = vertex_order(triangles, count)
    new = np.empty(count, np.int64)
    new[order] = np.arange(count)
    document.put(part["indices"], new[triangles].reshape(-1, 1))
    for number in set(_attributes(part)):
        document.permute(number, order, new)


def reorder(document) -> None:
    """document: a gltf.Document"""
    for part in _own_parts(document.words):
        _reorder(document, part)
