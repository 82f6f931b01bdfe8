"""Figures of rigs for many bodies, measured on sets with a known rig, as tables of docs/subjects.md.

    python bench/subjects.py SETS [--only skeleton,joints,...]

SETS is a folder with subjects-human.npz and others like it: `rest` [s][v][3], `triangles` [t][3],
`weights` [v][b], `joints` [s][b][3], `parents` [b], `frames` [f][v][3], `subject` [f] and `transforms`
[f][b][3][4] from the subject's own rest. Percent of the diagonal of a body's box, root mean square; noise
likewise, as a distance. Poses are made with the true weights, every joint turned at random, .35 radians an
axis. Any python3 that has NumPy will do.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "addon"))
import numpy as np

import native

SWING = 0.35  # radians an axis
PLAIN = {"fairness": 0, "locality": False}  # of shapes: no motion says that weights be smooth


class Kin:
    """A set: bodies of one topology with their true rig."""

    def __init__(self, path):
        with np.load(path) as arrays:
            held = {name: arrays[name] for name in arrays.files}
        self.rest = held["rest"].astype(np.float32)
        self.triangles = held["triangles"]
        self.diagonal = np.linalg.norm(np.ptp(self.rest, 1), axis=1)
        if "weights" not in held:
            return
        weights = held["weights"].astype(float)
        self.weights = weights / weights.sum(1, keepdims=True)
        self.joints, self.parents = held["joints"].astype(float), held["parents"]
        self.frames, self.subject = held["frames"], held["subject"]
        self.transforms = held["transforms"].astype(float)

    @property
    def bones(self):
        return len(self.parents)

    def rig(self, transforms=None, influences=4):
        """The true weights."""
        bones = np.argsort(-self.weights, 1, kind="stable")[:, :influences].astype(np.int32)
        shares = np.take_along_axis(self.weights, bones, 1)
        bones[shares <= 0] = -1
        shares /= shares.sum(1, keepdims=True)
        return native.Rig(transforms, bones, shares.astype(np.float32), self.rest[0])

    def posed(self, subject, moved, random, noise=0.0):
        """A body in a random pose: transforms [b][3][4] and positions. moved [b]: which joints turn"""
        turns = SWING * random.standard_normal((self.bones, 3)) * moved[:, None]
        transforms = hang([turned(turn) for turn in turns], self.joints[subject], self.parents)
        x = skin(self.weights, transforms, self.rest[subject])
        scale = noise / 100 * self.diagonal[subject] / np.sqrt(3)
        return transforms, (x + scale * random.standard_normal(x.shape)).astype(np.float32)


def turned(vector):
    angle = np.linalg.norm(vector)
    x, y, z = vector / (angle or 1)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def order_of(parents):
    """Parents before children."""
    order = [b for b in range(len(parents)) if parents[b] < 0]
    for bone in order:
        order += [b for b in range(len(parents)) if parents[b] == bone]
    return order


def hang(local, joints, parents):
    """[b][3][4] of rotations about joints, from the root down"""
    whole = np.zeros((len(parents), 3, 4))
    for b in order_of(parents):
        above = np.eye(3, 4) if parents[b] < 0 else whole[parents[b]]
        whole[b, :, :3] = above[:, :3] @ local[b]
        whole[b, :, 3] = above[:, :3] @ joints[b] + above[:, 3] - whole[b, :, :3] @ joints[b]
    return whole


def skin(weights, transforms, rest):
    p = np.concatenate([rest, np.ones((len(rest), 1))], 1)
    return np.einsum("vij,vj->vi", np.tensordot(weights, transforms, 1), p)


def percent(found, true, diagonal):
    """Over frames, each by the diagonal of its own body"""
    squares = ((np.asarray(found, float) - true) ** 2).sum(2).mean(1)
    return 100 * np.sqrt((squares / np.asarray(diagonal) ** 2).mean())


def replay(rig, rest):
    """[f][v][3]; rest [v][3] or [f][v][3]"""
    weights = rig.dense_weights()
    rests = np.broadcast_to(rest, (len(rig.transforms), *np.shape(rest)[-2:]))
    return np.array([skin(weights, m, p) for m, p in zip(rig.transforms, rests, strict=True)])


def matched(found, true):
    """[b] the found bone that shares most with each true one, each once"""
    shared = true.T @ found
    match = np.full(true.shape[1], -1)
    for _ in range(min(shared.shape)):
        t, f = np.unravel_index(np.argmax(shared), shared.shape)
        match[t] = f
        shared[t], shared[:, f] = -1, -1
    return match


def table(title, rows):
    print(f"\n| {title} |\n|{'---|' * (title.count('|') + 1)}")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def short(number, digits=3):
    return f"{number:.{digits}f}".lstrip("0") or "0"


# ---- one skeleton from several bodies ----


def crowd(kin, bodies, poses, random, noise=0.0, moved=None):
    """Frames, whose they are and their true transforms; moved [s][b]: what each body turns"""
    moved = np.ones((len(bodies), kin.bones)) if moved is None else moved
    made = [kin.posed(s, moved[i], random, noise) for i, s in enumerate(bodies) for _ in range(poses)]
    return np.array([x for _, x in made]), np.repeat(np.arange(len(bodies), dtype=np.int32), poses)


def skeleton_row(kin, name, bodies, poses, noise=0.0, moved=None, seed=1):
    random = np.random.default_rng(seed)
    frames, subject = crowd(kin, bodies, poses, random, noise, moved)
    rest = kin.rest[bodies]
    settings = native.Settings(bones=kin.bones, rest_mode="fixed", jointed=True)
    began = time.process_time()
    rig, united, _info = native.unite(rest, frames, subject, kin.triangles, settings)
    seconds = time.process_time() - began
    found = rig.dense_weights()
    match = matched(found, kin.weights)
    off = 50 * np.abs(found[:, match] - kin.weights).sum(1).mean()
    back = {f: t for t, f in enumerate(match)}
    edges = {frozenset((b, p)) for b, p in enumerate(kin.parents) if p >= 0}
    right = sum(
        frozenset((back.get(b), back.get(int(p)))) in edges for b, p in enumerate(united.parents) if p >= 0
    )
    error = percent(replay(rig, rest[subject]), frames, kin.diagonal[bodies][subject])
    return name, f"{off:.2f} %", f"{right} of {len(edges)}", short(error), f"{seconds:.0f}"


def quarters(kin, seed):
    """Four bodies, each turning a quarter of the joints."""
    turns = np.random.default_rng(seed).permutation(np.flatnonzero(kin.parents >= 0))
    moved = np.zeros((4, kin.bones))
    for i, part in enumerate(np.array_split(turns, 4)):
        moved[i, part] = 1
    return moved


def skeleton(sets):
    human = sets["human"]
    few, many = np.arange(4), np.arange(10)
    rows = [
        skeleton_row(human, "4 bodies x 10 poses", few, 10),
        skeleton_row(human, "10 x 4", many, 4),
        skeleton_row(human, "4 x 10, noise .1", few, 10, 0.1),
        skeleton_row(human, "10 x 4, noise .1", many, 4, 0.1),
    ]
    rows += [
        skeleton_row(human, f"4 x 10, each moves a quarter, draw {i}", few, 10, 0, quarters(human, i), i)
        for i in (1, 2)
    ]
    table("one skeleton, human | weights off | edges | error | seconds", rows)


# ---- joints, bind shapes and rotations on bodies that were left out ----


def drawn(count, train, seed):
    """Bodies to learn from and those left out."""
    order = np.random.default_rng(seed).permutation(count)
    return order[:train], order[train:]


def placed(kin, train, left):
    return native.place_joints(
        kin.rig(), kin.parents, kin.rest[train], kin.joints[train], kin.rest[left], kin.triangles
    ).joints


def joints(sets):
    rows = []
    for name in ("human", "cat"):
        kin, cells = sets[name], []
        for train in (1, 4, 10):
            off = []
            for seed in range(6):
                known, left = drawn(len(kin.rest), train, seed)
                away = np.linalg.norm(placed(kin, known, left) - kin.joints[left], axis=2)
                off.append(100 * (away / kin.diagonal[left][:, None])[:, kin.parents >= 0].ravel())
            off = np.concatenate(off)
            cells.append(f"{short(off.mean())} ({short(np.quantile(off, 0.95), 2)})")
        rows.append((name, *cells))
    table("joints on bodies left out, mean (95 %) | from 1 | 4 | 10", rows)


def turned_alike(kin, train):
    """Errors of each frame of the bodies left out, by its true rotations about the joints that were found"""
    known, left = drawn(len(kin.rest), train, 0)
    errors = []
    for joint, s in zip(placed(kin, known, left), left, strict=True):
        for f in np.flatnonzero(kin.subject == s):
            whole = kin.transforms[f].copy()
            for b in order_of(kin.parents):
                p = kin.parents[b]
                if p >= 0:
                    whole[b, :, 3] = whole[p, :, :3] @ joint[b] + whole[p, :, 3] - whole[b, :, :3] @ joint[b]
            x = skin(kin.weights, whole, kin.rest[s])
            errors.append(percent(x[None], kin.frames[f][None], kin.diagonal[[s]]))
    return f"{short(np.sqrt(np.mean(np.square(errors))))} ({short(max(errors))})"


def rotations(sets):
    rows = [(name, *(turned_alike(sets[name], train) for train in (1, 4, 10))) for name in ("human", "cat")]
    table("same rotations on bodies left out (worst frame), joints | from 1 | 4 | 10", rows)


def bind(sets):
    kin, rows = sets["human"], []
    bodies = np.arange(8)
    mean = kin.rest.astype(float).mean(0).astype(np.float32)
    start = np.repeat(mean[None], len(bodies), 0)
    for poses in (1, 4, 10):
        random = np.random.default_rng(7)
        frames, subject = crowd(kin, bodies, poses, random, 0.2)
        settings = native.Settings(bones=kin.bones, rest_mode="free", influences=4)
        _rig, united, _info = native.unite(
            start, frames, subject, kin.triangles, settings, joined=False, rig=kin.rig()
        )
        errors = []
        for i, s in enumerate(bodies):
            new = np.array([kin.posed(s, np.ones(kin.bones), random)[1] for _ in range(6)])
            errors.append([tracked(kin, body, new, kin.diagonal[s]) for body in (mean, united.rest[i])])
        errors = np.sqrt(np.mean(np.square(errors), 0))
        rows.append((poses, *map(short, errors)))
    table("bind shape from posed frames, noise .2 | from the mean body | solved", rows)


def tracked(kin, rest, frames, diagonal):
    """What the true weights leave on frames of a body with that bind shape"""
    true = kin.rig()
    rig = native.Rig(None, true.influence_bones, true.influence_weights, rest).to_track()
    settings = native.Settings(bones=kin.bones, rest_mode="fixed", fairness=0)
    rig, _info = native.decompose(rest, frames, kin.triangles, settings, rig)
    return percent(replay(rig, rest), frames, np.full(len(frames), diagonal))


# ---- shapes, and both in one tree ----


def shapes(sets):
    rows = []
    for name in ("human", "face"):
        kin = sets[name]
        known, left = drawn(len(kin.rest), 4 * len(kin.rest) // 5, 0)
        for kind in ("rigid", "scaled"):
            cells = []
            for bones in (10, 15, 20, 25, 30):
                settings = native.Settings(bones=bones, **PLAIN)
                rig, _info = native.shape_bones(kin.rest, kin.triangles, settings, kind)
                all_of = percent(replay(rig, rig.rest), kin.rest, kin.diagonal)
                rig, _info = native.shape_bones(kin.rest[known], kin.triangles, settings, kind)
                rig, _info = native.shape_bones(kin.rest[left], kin.triangles, settings, kind, rig=rig)
                new = percent(replay(rig, rig.rest), kin.rest[left], kin.diagonal[left])
                cells.append(f"{short(all_of)} / {short(new)}")
            rows.append((f"{name}, {kind}", *cells))
    table("shape bones: all bodies / left out of a fifth | 10 | 15 | 20 | 25 | 30", rows)


def merged(sets):
    kin, rows = sets["human"], []
    pose = kin.rig(kin.transforms)
    for bones in (12, 17, 22, 44):
        settings = native.Settings(bones=bones, **PLAIN)
        shape, _info = native.shape_bones(kin.rest, kin.triangles, settings)
        cells = []
        for tree in ("spanned", "leaves"):
            if tree == "leaves" and bones < kin.bones:
                cells.append("")
                continue
            began = time.process_time()
            rig, _tree, _info = native.merge(
                *(kin.rest, kin.frames, kin.subject, pose, kin.parents, kin.joints, shape, kin.triangles),
                tree=tree,
                leaves=bones,
            )
            error = percent(replay(rig, rig.rest), kin.frames, kin.diagonal[kin.subject])
            cells.append(f"{short(error)} ({time.process_time() - began:.0f} s)")
        rows.append((f"22 + {bones}", *cells))
    table("merged tree, 30 bodies in 90 frames | spanned | leaves", rows)


def pose(sets):
    rows = []
    for name, bodies, poses, counts in (("human", 4, 20, range(10, 15)), ("cat", 1, 8, range(12, 16))):
        kin = sets[name]
        frames, subject = crowd(kin, np.arange(bodies), poses, np.random.default_rng(3))
        for bones in counts:
            settings = native.Settings(bones=bones)
            rig, united, _info = native.unite(kin.rest[:bodies], frames, subject, kin.triangles, settings)
            error = percent(replay(rig, united.rest[subject]), frames, kin.diagonal[:bodies][subject])
            rows.append((name, bodies, len(frames), bones, short(error, 2)))
    table("pose bones | bodies | frames | bones | error", rows)


SECTIONS = {each.__name__: each for each in (skeleton, joints, rotations, bind, shapes, merged, pose)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", metavar="SETS", type=Path)
    parser.add_argument("--only", default=",".join(SECTIONS), help=", ".join(SECTIONS))
    options = parser.parse_args()
    paths = {name: options.sets / f"subjects-{name}.npz" for name in ("human", "cat", "face")}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing:
        sys.exit(f"subjects.py: {missing[0]} is not there: these sets are not part of the project.")
    unknown = [name for name in options.only.split(",") if name not in SECTIONS]
    if unknown:
        sys.exit(f"subjects.py: there is no section {unknown[0]}; there are {', '.join(SECTIONS)}.")
    sets = {name: Kin(path) for name, path in paths.items()}
    for name in options.only.split(","):
        SECTIONS[name](sets)


if __name__ == "__main__":
    main()
