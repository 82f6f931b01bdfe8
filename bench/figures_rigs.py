"""Figures of rigs: skeletons against known ones, and the way there and back.

Each section returns plain data for pages.py, or None when it cannot be measured here.
"""

import numpy as np

import creatures
import roundtrip as round_trips
import skeletons
from rows import DATA, KNOWN_ROWS, geometric_mean, in_blender, say

ROUND_TRIP_ROWS = [
    ("cat-poses", 15),
    ("horse-gallop", 20),
    ("horse-collapse", 10),
    ("horse-collapse", 20),
    ("pcow", 24),
    ("elephant-gallop", 27),
    ("samba", 20),
    ("gt-cheburashka", 11),
    ("vellum-cloth", 20),
    ("ict-face", 30),
    ("truth-human", 17),
    ("truth-cat", 20),
]
ROUND_TRIP_DELETED = ("cheapest", "middle")


def skeleton(bench):
    """Edges, joints, roots and counts of creatures whose skeletons are known."""
    known = {name: DATA / f"{name}.npz" for name, _ in KNOWN_ROWS if (DATA / f"{name}.npz").is_file()}
    rows = []
    for name, path in {**known, **creatures.paths()}.items():
        if bench.words and not any(word in name for word in bench.words):
            continue
        with np.load(path, allow_pickle=False) as file:
            row = skeletons.row_of(name, {key: file[key] for key in file.files})
        rows.append(row)
        solved = row["solved"]
        say(
            f"  {name} {row['bones']}: {solved['edges']} of {solved['true_edges']} edges,"
            f" joints off by {solved['joint_mean']:.3f} %, counted {row['counted']}"
        )
    if not rows:
        return None
    exact = [row for row in rows if not row["noisy"]]
    noisy = [row for row in rows if row["noisy"]]
    return {
        "rows": rows,
        "exact": skeletons.summary_of(exact),
        "noisy": skeletons.summary_of(noisy),
        "graph": graph_row(),
    }


def graph_row():
    """A captured body whose skeleton is known as a graph of joints."""
    name = "gt-cheburashka"
    path, graph = DATA / f"{name}.npz", DATA / f"{name}.tgf"
    if not path.is_file() or not graph.is_file():
        say(f"  there is no {name}")
        return None
    with np.load(path, allow_pickle=False) as file:
        row = skeletons.against_graph({key: file[key] for key in file.files}, graph)
    say(f"  {name} {row['bones']}: joints off by {row['joint_mean']:.2f} %")
    return {"name": name, **row}


def roundtrip(bench):
    """Refits of edited rigs, tracked clips, and clips solved together."""
    rows = []
    for name, bones in bench.rows(ROUND_TRIP_ROWS):
        row = round_trips.row_of(name, bones, bench.sequence(name))
        rows.append(row)
        say(
            f"  {name} {bones}: unchanged {row['unchanged']['error']:.4f},"
            f" repainted {row['repainted']['error']:.4f} in 1/{row['repainted']['sooner']:.1f} of the time,"
            f" deleted {row['deleted']['cheapest']['relocates']['error']:.3f},"
            f" added {row['added']['relocates']['error']:.3f} ({row['added']['solved']:.3f}),"
            f" tracked in 1/{row['tracked']['sooner']:.0f}"
        )
    clips = None
    if (DATA / "truth-human.npz").is_file() and not bench.words:
        with np.load(DATA / "truth-human.npz", allow_pickle=False) as file:
            clips = round_trips.clips_row("truth-human", {key: file[key] for key in file.files})
    return {"rows": rows, "clips": clips, **round_trips.summary_of(rows, geometric_mean)}


def deleted(bench):
    """In Blender, at the default settings: refits without a bone against conversions with one less."""
    rows = []
    for name, bones in bench.rows(ROUND_TRIP_ROWS) if bench.shared else []:
        row = in_blender("deletions.py", DATA / f"{name}.npz", bones)
        if row is None:
            return None
        against = row.get("alike", row["less"])
        for which in ROUND_TRIP_DELETED:
            row[which]["ratio"] = row[which]["error"] / against["error"]
            row[which]["to_default"] = row[which]["error"] / row["less"]["error"]
            row[which]["time"] = row[which]["seconds"] / row["full"]["seconds"]
        rows.append({"name": name, "bones": row["full"]["bones"], **row})
        said = (
            f"{which} {row[which]['ratio']:.3f} ({row[which]['left']} left)" for which in ROUND_TRIP_DELETED
        )
        say(f"  {name} {bones}: {', '.join(said)}")
    if not rows:
        return None
    every = [row[which] for row in rows for which in ROUND_TRIP_DELETED]
    return {
        "rows": rows,
        "blender": rows[0]["blender"],
        "mean": geometric_mean([one["ratio"] for one in every]),
        "worst": {which: max(row[which]["ratio"] for row in rows) for which in ROUND_TRIP_DELETED},
        "time": geometric_mean([one["time"] for one in every]),
    }
