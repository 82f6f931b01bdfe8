"""How a rig looks under an animator's hand: each bone turned by 30 degrees from rest, about three axes.

    python bench/posing.py SEQUENCE.npz RIG.npz...    (rigs of solve.py --out)

Smooth replay may come from bones that disagree and cancel each other: that falls apart as soon as one of them
is moved alone. A bone turns, both ways, about the middle of where it shares its vertices,
sum w (1 - w) p / sum w (1 - w); what is looked at is its surroundings, the triangles with a vertex of more
than 2 % of it.

stretch          rms of ln(length / length at rest) over their edges
volume_percent   rms change of the volume under the whole surface, in percent
normal_degrees   area-weighted rms angle of their normals to those of the nearest pose of the source, the rest
                 among them: of all poses, turned to lie on the surroundings, the one that is least off

One line of JSON for each rig: the rms over all bones and turns, and the worst bone's.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import numpy as np

from measure import dense_weights

ANGLE = np.radians(30)
AROUND = 0.02  # of a bone's weight: vertices that see it turn
LEAST = 4  # vertices of surroundings that can be looked at


def turned(axis, angle):
    """[3][3] about one of the axes"""
    x, y = [(1, 2), (2, 0), (0, 1)][axis]
    matrix = np.eye(3)
    matrix[[x, y], [x, y]] = np.cos(angle)
    matrix[x, y], matrix[y, x] = -np.sin(angle), np.sin(angle)
    return matrix


def posed(rest, weight, turn):
    """One bone turned about where it shares its vertices, all others as they are"""
    shared = weight * (1 - weight)
    shared = shared if shared.sum() > 1e-9 else weight
    pivot = shared @ rest / shared.sum()
    return rest + weight[:, None] * ((rest - pivot) @ (turn - np.eye(3)).T)


def crossed(points, triangles):
    """[t][3] normals as long as twice the areas"""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def volume(points, triangles):
    points = points - points.mean(axis=0)
    return float(np.einsum("ij,ij->", points[triangles[:, 0]], crossed(points, triangles))) / 6


def laid_on(points, target):
    """[3][3] the rotation, and how far off it leaves points that are laid on the target (Kabsch)"""
    p, t = points - points.mean(axis=0), target - target.mean(axis=0)
    u, s, v = np.linalg.svd(t.T @ p)
    flip = np.sign(np.linalg.det(u) * np.linalg.det(v))
    off = np.square(p).sum() + np.square(t).sum() - 2 * (s[0] + s[1] + flip * s[2])
    return u @ np.diag([1, 1, flip]) @ v, off


def normals_off(shape, poses, near, triangles):
    """(sum of areas x squared degrees, sum of areas) to the nearest pose"""
    fits = [laid_on(pose[near], shape[near]) for pose in poses]
    best = int(np.argmin([off for _, off in fits]))
    own, other = crossed(shape, triangles), crossed(poses[best], triangles) @ fits[best][0].T
    lengths = np.linalg.norm(own, axis=1), np.linalg.norm(other, axis=1)
    sine, cosine = np.linalg.norm(np.cross(own, other), axis=1), np.einsum("ij,ij->i", own, other)
    area = np.where(lengths[0] > 0, lengths[1], 0)
    return float(area @ np.degrees(np.arctan2(sine, cosine)) ** 2), float(area.sum())


def edges_of(triangles):
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def of_bone(rest, weight, poses, triangles):
    """[turns][3] squared stretch, change of volume and angle; None: nothing is around it"""
    near = weight > AROUND
    seen = triangles[near[triangles].any(axis=1)]
    if near.sum() < LEAST or len(seen) == 0:
        return None
    rows, edges = np.unique(seen), edges_of(seen)
    at_rest = np.linalg.norm(rest[edges[:, 0]] - rest[edges[:, 1]], axis=1)
    edges, at_rest = edges[at_rest > 0], at_rest[at_rest > 0]
    whole, found = volume(rest, triangles), []
    for axis in range(3):
        for angle in (ANGLE, -ANGLE):
            shape = posed(rest, weight, turned(axis, angle))
            length = np.linalg.norm(shape[edges[:, 0]] - shape[edges[:, 1]], axis=1)
            stretch = np.square(np.log(np.maximum(length, 1e-6 * at_rest) / at_rest)).mean()
            change = 100 * (volume(shape, triangles) / whole - 1) if abs(whole) > 0 else 0.0
            off, area = normals_off(shape, poses, rows, seen)
            found.append((stretch, change**2, off / area if area else 0.0))
    return np.array(found)


def posing(rest, frames, triangles, rig_rest, weights):
    """The measures of a rig; weights [v][b]"""
    rig_rest = np.asarray(rig_rest, np.float64)
    poses = [np.asarray(rest, np.float64), *np.asarray(frames, np.float64)]
    bones = [of_bone(rig_rest, weight, poses, triangles) for weight in np.asarray(weights, np.float64).T]
    bones = np.array([np.mean(found, axis=0) for found in bones if found is not None])
    if len(bones) == 0:
        return {}
    names, mean, worst = (
        ("stretch", "volume_percent", "normal_degrees"),
        np.sqrt(bones.mean(axis=0)),
        np.sqrt(bones.max(axis=0)),
    )
    return {
        **{name: float(value) for name, value in zip(names, mean, strict=True)},
        **{f"worst_{name}": float(value) for name, value in zip(names, worst, strict=True)},
    }


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sequence = np.load(sys.argv[1])
    frames, triangles = sequence["frames"], sequence["triangles"]
    rest = sequence["rest"] if "rest" in sequence else frames[0]
    for path in sys.argv[2:]:
        rig = np.load(path)
        found = posing(rest, frames, triangles, rig["rest"], dense_weights(rig))
        print(json.dumps({"rig": Path(path).name, **found}))


if __name__ == "__main__":
    main()
