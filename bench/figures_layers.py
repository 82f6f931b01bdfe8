"""Figures of two layers: against Le & Deng 2013, on rigid masters, against their algorithm, by size.

Each section returns plain data for pages.py, or None when it cannot be measured here.
"""

import dataclasses
import math
import time

import numpy as np

import native
from rows import geometric_mean, say

BLENDED = (4, 8)  # bones a vertex: m c / n + 2
MASTERS = (12, 16)  # c, of a virtual bone, for each
# Le & Deng 2013, dense weights to four and to eight bones a vertex: sequence, bones, Delta_W of Table 2,
# E of Table 3 with examples
TABLES = [
    ("samba", 10, (1.1, 0.2), (4.7, 4.8)),
    ("samba", 20, (2.4, 0.9), (2.0, 1.9)),
    ("elephant-gallop", 15, (0.8, 0.3), (1.6, 1.6)),
    ("elephant-gallop", 30, (1.3, 0.5), (0.7, 0.5)),
    ("horse-gallop", 15, (1.3, 0.3), (2.0, 1.9)),
    ("horse-gallop", 30, (2.4, 0.9), (1.6, 0.8)),
    ("horse-collapse", 20, (4.0, 1.5), (2.1, 1.4)),
    ("horse-collapse", 40, (5.1, 2.7), (2.5, 1.3)),
]
RIGID = [("horse-gallop", 20), ("horse-collapse", 20)]
FEW = {"virtual_bones": 200, "masters": 8, "influences": 4}
PRINTED = [("horse-gallop", 15), ("samba", 20), ("horse-collapse", 20)]
PRINTED_MASTERS = (5, 12)
TRIES = 3
SIZES = ("horse-gallop", 20, 12)  # sequence, bones, frames
TWICE_FINER = 2


@dataclasses.dataclass
class Moving:
    rest: np.ndarray
    frames: np.ndarray | None
    triangles: np.ndarray


def compressed(sequence, rig, bone_kind="flexible", **chosen):
    """The rig, its layers, its info, and the seconds of the processor."""
    settings = native.Settings(bones=rig.bones, threads=1, bone_kind=bone_kind)
    poses = sequence.rest, sequence.frames, sequence.triangles
    began = time.process_time()
    rig, layers, info = native.compress(*poses, rig, native.Compression(**chosen), settings)
    return rig, layers, info, time.process_time() - began


def dense(bench, name, bones):
    """Flexible bones with weights without a limit, and their E."""
    if ("dense", name, bones) not in bench.solved:
        sequence = bench.sequence(name)
        settings = native.Settings(bones=bones, threads=1, bone_kind="flexible")
        rig, _ = native.decompose(sequence.rest, sequence.frames, sequence.triangles, settings)
        rig, _, info, _ = compressed(sequence, rig, virtual_bones=0, source="poses", refine=True)
        bench.solved["dense", name, bones] = rig, info.erms
    return bench.solved["dense", name, bones]


def for_blended(blended, vertices, masters):
    """Virtual bones with which a vertex blends so many bones, of both layers together"""
    count = max((blended - 2) * vertices // masters, 2)
    return {"virtual_bones": count, "masters": masters, "influences": 2}


def table_row(bench, name, bones, paper_delta, paper_e):
    """Two virtual bones a vertex, as in the paper."""
    sequence, (rig, least) = bench.sequence(name), dense(bench, name, bones)
    cells = []
    for blended, masters, delta, e in zip(BLENDED, MASTERS, paper_delta, paper_e, strict=True):
        size = for_blended(blended, len(sequence.rest), min(masters, bones))
        _, layers, _, weights_seconds = compressed(sequence, rig, source="weights", **size)
        _, _, info, poses_seconds = compressed(sequence, rig, source="poses", **size)
        found = {"delta": layers.delta, "paper_delta": delta, "e": info.erms, "paper_e": e}
        cells.append({**found, "blended": blended, "seconds": (weights_seconds, poses_seconds)})
        say(
            f"  {name} {bones}, {blended} bones a vertex: Delta_W {layers.delta:.2f} ({delta}),"
            f" E {info.erms:.2f} ({e}), {weights_seconds:.1f} s, {poses_seconds:.1f} s"
        )
    return {"name": name, "bones": bones, "dense": least, "cells": cells}


def against_tables(bench):
    return [table_row(bench, *row) for row in bench.rows(TABLES)]


def rigid(bench):
    """Few virtual bones over bones that an artist moves, solved along."""
    rows = []
    for name, bones in bench.rows(RIGID):
        sequence = bench.sequence(name)
        settings = native.Settings(bones=bones, threads=1)
        rig, plain = native.decompose(sequence.rest, sequence.frames, sequence.triangles, settings)
        _, _, info, took = compressed(sequence, rig, "rigid", source="poses", refine=True, **FEW)
        say(f"  {name} {bones}, rigid: {plain.erms:.3f} -> {info.erms:.3f}, {took:.1f} s")
        rows.append({"name": name, "bones": bones, "plain": plain.erms, "erms": info.erms, "seconds": took})
    return rows


def told(sequence, rig, **chosen):
    """From weights they alone are given: poses would be read and measured for nothing."""
    if chosen["source"] == "weights":
        sequence = Moving(rig.rest, None, sequence.triangles)
        rig = dataclasses.replace(rig, transforms=None)
    _, layers, _, took = compressed(sequence, rig, **chosen)
    return {"virtual": len(layers.virtual_bones), "delta": layers.delta, "seconds": took}


def printed_row(bench, name, bones, masters, source):
    """The printed algorithm with all virtual bones, ours until it is as near: in turns, the least times."""
    sequence, (rig, _) = bench.sequence(name), dense(bench, name, bones)
    wish = {"source": source, **for_blended(BLENDED[0], len(sequence.rest), masters)}
    tries = []
    for _ in range(TRIES):
        printed = told(sequence, rig, method="printed", **wish)
        tries.append((printed, told(sequence, rig, tolerance=printed["delta"], **wish)))
    printed, ours = (min(ran, key=lambda one: one["seconds"]) for ran in zip(*tries, strict=True))
    ratio = printed["seconds"] / ours["seconds"]
    say(
        f"  {name} {bones} from {source}, to {printed['delta']:.2f}: printed {printed['seconds']:.2f} s,"
        f" {printed['virtual']} virtual bones; here {ours['seconds']:.2f} s, {ours['virtual']}: {ratio:.2f}x"
    )
    found = {"printed": printed, "ours": ours, "ratio": ratio}
    return {"name": name, "bones": bones, "masters": masters, "source": source, **found}


def against_printed(bench):
    return [
        printed_row(bench, *row, masters, source)
        for row in bench.rows(PRINTED)
        for masters in PRINTED_MASTERS
        for source in native.SOURCES
    ]


# ---- cost by size


def finer(values, triangles):
    """values [..][v][n] and triangles with a vertex in the middle of every edge: about four times as many"""
    sides = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1
    )
    edges, at = np.unique(sides, axis=0, return_inverse=True)
    vertices = int(triangles.max()) + 1
    ab, bc, ca = at.reshape(3, -1) + vertices
    a, b, c = triangles.T
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    split = np.concatenate([np.stack(part, axis=1) for part in parts]).astype(np.int32)
    return [np.concatenate([v, v[..., edges, :].mean(axis=-2)], axis=-2) for v in values], split


def cost_by_size(bench):
    """The same virtual bones over a mesh and over finer ones: seconds, and how they grow by each doubling."""
    name, bones, few = SIZES
    if not bench.rows([SIZES[:2]]) or not bench.shared:
        return None
    sequence, (rig, _) = bench.sequence(name), dense(bench, name, bones)
    frames = sequence.frames[np.linspace(0, len(sequence.frames) - 1, few).round().astype(int)]
    transforms = rig.transforms[np.linspace(0, len(sequence.frames) - 1, few).round().astype(int)]
    values, triangles = [rig.rest, frames, rig.dense_weights()], sequence.triangles
    rows = []
    for step in range(TWICE_FINER + 1):
        if step:
            values, triangles = finer(values, triangles)
        rest, frames, weights = (np.ascontiguousarray(v, np.float32) for v in values)
        every = np.tile(np.arange(bones, dtype=np.int32), (len(rest), 1))
        here = native.Rig(transforms, every, weights, rest)
        moving = Moving(rest, frames, triangles)
        seconds = {source: compressed(moving, here, source=source, **FEW)[3] for source in native.SOURCES}
        rows.append({"vertices": len(rest), "seconds": seconds})
        say(f"  {len(rest)} vertices: " + ", ".join(f"{s} {t:.2f} s" for s, t in seconds.items()))
    doublings = math.log2(rows[-1]["vertices"] / rows[0]["vertices"])
    growth = {s: (rows[-1]["seconds"][s] / rows[0]["seconds"][s]) ** (1 / doublings) for s in native.SOURCES}
    return {"name": name, "bones": bones, "frames": few, "rows": rows, "growth": growth}


def shares_of(rows, what):
    """Of the paper's figures, as shown: the mean, the worst, and in how many of all"""
    found = [cell[what] / cell[f"paper_{what}"] for row in rows for cell in row["cells"]]
    return {
        "mean": geometric_mean(found),
        "worst": max(found, default=None),
        "above": sum(share > 1 for share in found),
        "count": len(found),
    }


def layers(bench):
    """Two layers: the paper's tables, rigid masters, the printed algorithm, cost by size."""
    if not bench.shared:
        return None
    tables, printed = against_tables(bench), against_printed(bench)
    return {
        "tables": tables,
        "delta": shares_of(tables, "delta"),
        "e": shares_of(tables, "e"),
        "rigid": rigid(bench),
        "printed": printed,
        "sooner": {
            source: geometric_mean([row["ratio"] for row in printed if row["source"] == source])
            for source in native.SOURCES
        },
        "sizes": cost_by_size(bench),
    }
