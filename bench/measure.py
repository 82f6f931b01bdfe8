"""What the bench measures, in NumPy alone: it shares nothing with the library.

E_RMS    1000 sqrt(sum |x - y|^2 / (3 V F)), the rest pose scaled to its tight unit sphere
normals  root mean square angle between the faces' normals, weighted by their areas in the frames, in degrees
stray    the share of the vertices with more than 5 % of weight on bones outside these bones' main
         connected regions
"""

from itertools import combinations

import numpy as np

NEIGHBOURS = 8
ROWS = 1024  # of a distance matrix at a time


# ---- the tight sphere


def sphere_through(points):
    """Centre and radius of the smallest sphere with all (at most 4) points on it."""
    origin, spans = points[0], points[1:] - points[0]
    offset = np.zeros(3)
    if len(spans):
        # centre = origin + spans' t with 2 spans spans' t = |spans|^2
        t = np.linalg.lstsq(2 * spans @ spans.T, np.sum(spans**2, axis=1), rcond=None)[0]
        offset = spans.T @ t
    return origin + offset, float(np.linalg.norm(offset))


def smallest_sphere_of_few(points):
    """By trying every support of at most 4 points."""
    best = None
    for size in range(1, 5):
        for chosen in combinations(range(len(points)), min(size, len(points))):
            centre, radius = sphere_through(points[list(chosen)])
            inside = np.linalg.norm(points - centre, axis=1).max() <= radius * (1 + 1e-9) + 1e-300
            if inside and (best is None or radius < best[1]):
                best = centre, radius, chosen
    return best


def tight_sphere(points):
    """Centre, radius: a few points carry the sphere; the farthest outside joins until none is."""
    points = np.asarray(points, np.float64)
    carried = points[[int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]]
    for _ in range(1000):
        centre, radius, chosen = smallest_sphere_of_few(carried)
        distance = np.linalg.norm(points - centre, axis=1)
        farthest = int(np.argmax(distance))
        if distance[farthest] <= radius * (1 + 1e-7):
            break
        carried = np.concatenate([carried[list(chosen)], points[[farthest]]])
    return centre, radius


# ---- the error


def replayed(rest, transforms, weights):
    """Yields the frames: y = sum_b weights[v][b] transforms[f][b] (rest[v], 1), in double."""
    points = np.concatenate([np.asarray(rest, np.float64), np.ones((len(rest), 1))], axis=1)
    spread = (weights[:, :, None] * points[:, None, :]).reshape(len(rest), -1)  # [v][4b]
    for frame in transforms:
        yield spread @ frame.transpose(0, 2, 1).reshape(-1, 3)


def dense_weights(rig):
    """[v][b] of a rig as solve.py writes it"""
    bones, weights = rig["influence_bones"], rig["influence_weights"]
    dense = np.zeros((len(bones), rig["transforms"].shape[1]))
    rows, columns = np.nonzero(bones >= 0)
    np.add.at(dense, (rows, bones[rows, columns]), weights[rows, columns])
    return dense


def erms(given_rest, frames, rest, transforms, weights):
    _, radius = tight_sphere(given_rest)
    total = sum(
        float(np.sum((x - y) ** 2)) for x, y in zip(frames, replayed(rest, transforms, weights), strict=True)
    )
    return 1000 * np.sqrt(total / (3 * frames.shape[0] * frames.shape[1])) / radius


# ---- stray weights


def crossed(points, triangles):
    """[t][3] normals as long as twice the areas"""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def normal_degrees(frames, triangles, rest, transforms, weights):
    squares, areas = 0.0, 0.0
    for wanted, shown in zip(frames, replayed(rest, transforms, weights), strict=True):
        own, other = crossed(shown, triangles), crossed(wanted.astype(float), triangles)
        sine, cosine = np.linalg.norm(np.cross(own, other), axis=1), np.einsum("ij,ij->i", own, other)
        angle = np.where(own.any(axis=1), np.arctan2(sine, cosine), np.pi / 2)
        area = np.linalg.norm(other, axis=1)
        squares, areas = squares + area @ angle**2, areas + area.sum()
    return float(np.degrees(np.sqrt(squares / areas)))


def components(count, a, b):
    """A label for each of count nodes, the smallest number of its component; a[i] - b[i] are the edges."""
    label = np.arange(count)
    while True:
        low, high = np.minimum(label[a], label[b]), np.maximum(label[a], label[b])
        apart = low != high
        if not apart.any():
            return label
        np.minimum.at(label, high[apart], low[apart])
        while True:
            further = label[label]
            if np.array_equal(further, label):
                break
            label = further


def squared_distances(points, start):
    """[ROWS][v] from the points of a block to all"""
    block = points[start : start + ROWS]
    squares = np.sum(points**2, axis=1)
    return np.maximum(squares[start : start + ROWS, None] + squares - 2 * block @ points.T, 0)


def nearest_edges(points):
    count = min(NEIGHBOURS, len(points) - 1)
    edges = []
    for start in range(0, len(points) if count > 0 else 0, ROWS):
        distance = squared_distances(points, start)
        rows = np.arange(len(distance))
        distance[rows, start + rows] = np.inf
        near = np.argpartition(distance, count - 1, axis=1)[:, :count]
        edges.append(np.stack([np.repeat(start + rows, count), near.ravel()], axis=1))
    return np.concatenate(edges) if edges else np.zeros((0, 2), int)


def ties(points, label):
    """For each component the shortest edge out of it (one round of Boruvka)."""
    best = {}
    for start in range(0, len(points), ROWS):
        distance = squared_distances(points, start)
        distance[label[start : start + ROWS, None] == label] = np.inf
        other = np.argmin(distance, axis=1)
        for row, v in enumerate(range(start, start + len(distance))):
            found = (distance[row, other[row]], v, int(other[row]))
            if found[0] < np.inf and found < best.get(label[v], (np.inf, 0, 0)):
                best[label[v]] = found
    return np.array([(v, w) for _, v, w in best.values()], int).reshape(-1, 2)


def surface_edges(rest, triangles):
    """The mesh's edges; with several shells or none also near neighbours and ties: always connected."""
    points = np.asarray(rest, np.float64)
    points = points - points.mean(axis=0)
    edges = np.zeros((0, 2), int)
    if triangles is not None and len(triangles):
        edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).astype(int)
        edges = np.unique(np.sort(edges, axis=1), axis=0)
    label = components(len(points), *edges.T)
    if len(np.unique(label)) > 1:
        edges = np.concatenate([edges, nearest_edges(points)])
        label = components(len(points), *edges.T)
        while len(np.unique(label)) > 1:
            edges = np.concatenate([edges, ties(points, label)])
            label = components(len(points), *edges.T)
    return edges


def stray_share(edges, weights, least=0.02, much=0.05, strict=False):
    """Share of the vertices whose stray weight is above `much`; weights [v][b].

    A bone's main region is the component of {w > least} that holds most of its weight. Strict counts
    all weight outside the main regions, otherwise only what is itself above `least`.
    """
    stray = np.zeros(len(weights))
    for column in weights.T:
        inside = column > least
        if not inside.any():
            continue
        joined = edges[inside[edges[:, 0]] & inside[edges[:, 1]]]
        label = components(len(column), *joined.T)
        mass = np.bincount(label[inside], column[inside], minlength=len(column))
        main = inside & (label == np.argmax(mass))
        stray += np.where(main, 0, column if strict else np.where(inside, column, 0))
    return float(np.mean(stray > much))
