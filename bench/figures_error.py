"""Figures of the error: against the paper, with weights kept local, on known rigs, by the start, in noise.

Each section returns plain data for pages.py, or None when it cannot be measured here.
"""

import numpy as np

import measure
import native
from rows import EEL, KNOWN_ROWS, PEER_ROWS, TABLE_2, geometric_mean, say, timed

BEST_PLAIN = {"quality": "best", "rest_mode": "free", "locality": False, "fairness": 0.0}
BEST_DEFAULT = {"quality": "best"}
NOISY_FRAMES, NOISE = 10, 2  # a short scan; percent of the size


def against_table_2(bench, settings):
    if not bench.shared:
        return None
    rows = []
    for name, bones, paper in bench.rows(TABLE_2):
        ours = bench.solve(name, bones, **settings)
        rows.append({"name": name, "bones": bones, "paper": paper, **ours, "ratio": ours["erms"] / paper})
    ratios = [row["ratio"] for row in rows]
    return {"rows": rows, "mean": geometric_mean(ratios), "worst": max(ratios, default=None)}


def table2(bench):
    return against_table_2(bench, BEST_PLAIN)


def defaults(bench):
    return against_table_2(bench, BEST_DEFAULT)


def untouched(bench):
    return against_table_2(bench, {"quality": "best", "rest_mode": "fixed"})


def smooth(bench):
    return against_table_2(bench, {"quality": "best", "rest_mode": "smooth"})


def surface(bench):
    """Normals against the better of py-dem-bones' two settings; the rest as it is in both."""
    rows = []
    for name, bones in bench.rows(PEER_ROWS):
        peers = [bench.peer(name, bones, setting) for setting in ("default", "accurate")]
        if None in peers:
            continue
        ours = bench.solve(name, bones, rest_mode="fixed")
        best = min(peer["normal_degrees"] for peer in peers)
        rows.append(
            {"name": name, "bones": bones, **ours, "peers": peers, "ratio": ours["normal_degrees"] / best}
        )
    ratios = [row["ratio"] for row in rows]
    return {"rows": rows, "mean": geometric_mean(ratios), "worst": max(ratios, default=None)}


def locality(bench):
    """What keeping weights local costs, everything else equal."""
    rows = []
    for name, bones, *_ in bench.rows(TABLE_2):
        local, plain = (
            bench.solve(name, bones, **BEST_DEFAULT),
            bench.solve(name, bones, quality="best", locality=False),
        )
        ratio = local["erms"] / plain["erms"]
        rows.append({"name": name, "bones": bones, **local, "plain": plain["erms"], "ratio": ratio})
    ratios = [row["ratio"] for row in rows]
    return {
        "rows": rows,
        "mean": geometric_mean(ratios),
        "worst": max(ratios, default=None),
        "stray": max((row["stray"] for row in rows), default=None),
        "stray_at_5": max((row["stray_at_5"] for row in rows), default=None),
    }


def error_of_the_truth(sequence):
    """E_RMS of the true weights with the bones fitted to them; None when they need too many influences."""
    influences = int(np.max(np.sum(sequence.weights > 0, axis=1)))
    if influences > native.MAX_INFLUENCES:
        return None
    order = np.argsort(-sequence.weights, axis=1)[:, :influences].astype(np.int32)
    shares = np.take_along_axis(sequence.weights, order, axis=1).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)  # as the armature that made the frames does
    order[shares <= 0] = -1
    held = np.ones(len(sequence.rest), np.uint8)
    given = native.Rig(influence_bones=order, influence_weights=shares, held_vertices=held)
    bones = sequence.weights.shape[1]
    settings = native.Settings(
        bones=bones, influences=influences, rest_mode="fixed", threads=1, quality="best"
    )
    _, info = native.decompose(sequence.rest, sequence.frames, sequence.triangles, settings, rig=given)
    return info.erms


def known(bench):
    rows = []
    for name, bones in bench.rows(KNOWN_ROWS):
        ours = bench.solve(name, bones, quality="best", rest_mode="fixed")
        sequence = bench.sequence(name)
        truth = None if sequence.weights is None else error_of_the_truth(sequence)
        rows.append({"name": name, "bones": bones, **ours, "truth": truth})
    return {"rows": rows, "worst": max((row["erms"] for row in rows), default=None)}


def starts(bench):
    """Each way to the first bones, everything else equal; ratios against the default."""
    rows = []
    for name, bones in bench.rows(PEER_ROWS + KNOWN_ROWS):
        solved = {start: bench.solve(name, bones, quality="normal", start=start) for start in native.STARTS}
        rows.append({"name": name, "bones": bones, "known": (name, bones) in KNOWN_ROWS, "starts": solved})
    result = {"rows": rows}
    for start in native.STARTS[1:]:
        pairs = [(row["starts"][start], row["starts"][native.STARTS[0]], row["known"]) for row in rows]
        result[start] = {
            # a known rig is found or not: a ratio of two errors near zero says nothing
            "error": geometric_mean([a["erms"] / b["erms"] for a, b, known in pairs if not known]),
            "seconds": geometric_mean([a["seconds"] / b["seconds"] for a, b, _ in pairs]),
            "better": sum(a["erms"] < b["erms"] for a, b, _ in pairs),
        }
    return result


def noise(bench):
    """Stronger smoothness on a noisy scan: the error against what was there before the noise."""
    name, bones = next(iter(bench.rows(KNOWN_ROWS)), EEL)
    sequence = bench.sequence(name)
    clean = sequence.frames[:: max(1, len(sequence.frames) // NOISY_FRAMES)]
    diagonal = float(np.linalg.norm(np.ptp(sequence.rest.astype(float), axis=0)))
    spread = NOISE / 100 * diagonal
    random = np.random.default_rng(0)
    sequence.frames = clean + random.normal(0, spread, clean.shape).astype(np.float32)
    rows = []
    for smoothness in (0, 1, 3, 10, 30):
        rig, answer = timed(sequence, bones, smoothness=smoothness, rest_mode="fixed")
        weights = rig.dense_weights().astype(np.float64)
        against = measure.erms(sequence.rest, clean, rig.rest, rig.transforms, weights)
        a, b = sequence.surface().T
        rough = float(np.sqrt(np.mean((weights[a] - weights[b]) ** 2)))
        stray = measure.stray_share(sequence.surface(), weights)
        rows.append({"smoothness": smoothness, **answer, "clean": against, "rough": rough, "stray": stray})
        say(f"  smoothness {smoothness}: E_RMS {against:.3f} against the clean frames")
    bench.loaded.clear()
    return {"name": name, "bones": bones, "percent": NOISE, "frames": len(clean), "rows": rows}
