"""Figures of time and memory: against the peer, for an iteration, by size, by threads, inside Blender.

Each section returns plain data for pages.py, or None when it cannot be measured here.
"""

import json
import math
import os
import subprocess
import sys
import time

import numpy as np

import made_up
from rows import BENCH, DATA, EEL, PEER_ROWS, ROOT, geometric_mean, in_blender, say, timed


def time_to(bench, name, bones, error):
    """Processor seconds until `error` is reached; short ones three times, the middle one."""
    sequence, seconds = bench.sequence(name), []
    for _ in range(3):
        _, ours = timed(sequence, bones, until=error)
        if ours["erms"] > error:
            say(f"  {name} {bones}: {error:.3f} was not reached ({ours['erms']:.3f})")
            return None
        seconds.append(ours["seconds"])
        if ours["seconds"] > 2:
            break
    return sorted(seconds)[len(seconds) // 2]


def speed(bench):
    rows = []
    for name, bones in bench.rows(PEER_ROWS):
        row = {"name": name, "bones": bones}
        for setting in ("default", "accurate"):
            peer = bench.peer(name, bones, setting)
            if peer is None:
                continue
            ours = time_to(bench, name, bones, peer["erms"])
            ratio = peer["seconds"] / ours if ours else None
            row[setting] = {"peer": peer, "seconds": ours, "ratio": ratio}
            if ours:
                sooner = f"{ours:.3f} s, {ratio:.0f} times sooner"
                say(f"  {name} {bones} to {peer['erms']:.3f} ({setting}): {sooner}")
        rows.append(row)
    result = {"rows": rows}
    for setting in ("default", "accurate"):
        ratios = [row[setting]["ratio"] for row in rows if setting in row]
        result[setting] = {
            "mean": geometric_mean(ratios),
            "least": min((ratio for ratio in ratios if ratio), default=None),
            "missed": sum(ratio is None for ratio in ratios),
        }
    return result


def normal(bench):
    rows = []
    for name, bones in bench.rows(PEER_ROWS):
        peer = bench.peer(name, bones, "accurate")
        if peer is None:
            continue
        ours = bench.solve(name, bones, quality="normal")
        row = {"name": name, "bones": bones, **ours, "peer": peer}
        rows.append(
            {**row, "sooner": peer["seconds"] / ours["seconds"], "ratio": ours["erms"] / peer["erms"]}
        )
    return {
        "rows": rows,
        "mean": geometric_mean([row["sooner"] for row in rows]),
        "least": min((row["sooner"] for row in rows), default=None),
        "error": geometric_mean([row["ratio"] for row in rows]),
        "error_worst": max((row["ratio"] for row in rows), default=None),
    }


def iteration_seconds(sequence, bones, few=15, many=60, **chosen):
    """Of one iteration of the last stage, once supports settle: what the later ones add."""
    chosen = {"quality": "draft", **chosen}
    short, long = (timed(sequence, bones, iterations=n, **chosen)[1] for n in (few, many))
    more = long["iterations"] - short["iterations"]
    if more < 5:
        say(f"  (it ended after {long['iterations']} iterations: the mean of all of them)")
        return long["refine"] / max(long["iterations"], 1)
    return (long["refine"] - short["refine"]) / more


def iteration(bench):
    name, bones = "samba", 20
    if not bench.shared or not (DATA / f"{name}.npz").is_file():
        name, bones = EEL
    sequence = bench.sequence(name)
    seconds = min(iteration_seconds(sequence, bones) for _ in range(3))
    x = sequence.frames.transpose(1, 0, 2).reshape(len(sequence.rest), -1).astype(np.float64)
    m = np.random.default_rng(0).normal(size=(x.shape[1], 4 * bones))
    product = math.inf
    for _ in range(10):
        began = time.perf_counter()
        x @ m
        product = min(product, time.perf_counter() - began)
    say(f"  {name} {bones}: iteration {1000 * seconds:.1f} ms, product {1000 * product:.1f} ms")
    return {"name": name, "bones": bones, "seconds": seconds, "product": product, "ratio": seconds / product}


def scaling(_bench):
    rows = []
    for vertices, frames, tries in ((10_000, 20, 5), (100_000, 20, 3), (1_000_000, 20, 1)):
        eel = made_up.eel(vertices, frames, bones=20)
        seconds = min(iteration_seconds(eel, 20, few=5, many=25) for _ in range(tries))  # short ones waver
        each = seconds / (len(eel.rest) * frames)
        rows.append({"vertices": len(eel.rest), "frames": frames, "seconds": seconds, "each": each})
        say(f"  {len(eel.rest)} vertices: {seconds:.4f} s, {1e9 * each:.2f} ns a vertex and frame")
    costs = [row["each"] for row in rows]
    return {"rows": rows, "ratio": max(costs) / min(costs), "growth": costs[-1] / costs[0]}


def threads(bench):
    name, bones = "elephant-gallop", 27
    if not bench.shared or not (DATA / f"{name}.npz").is_file():
        name, bones = EEL
    sequence = bench.sequence(name)
    one, two = (timed(sequence, bones, threads=n) for n in (1, 2))
    same = np.array_equal(one[0].transforms, two[0].transforms)
    same = same and np.array_equal(one[0].influence_weights, two[0].influence_weights)
    ratio = one[1]["wall"] / two[1]["wall"]
    say(f"  {name} {bones}: {one[1]['wall']:.2f} s with one thread, {two[1]['wall']:.2f} s with two")
    return {"name": name, "bones": bones, "one": one[1], "two": two[1], "ratio": ratio, "same": bool(same)}


MEMORY_CHILD = """
import json, resource, sys
sys.path[:0] = {paths!r}
import made_up, native
eel = made_up.eel({vertices}, {frames}, {bones})
unit = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
settings = native.Settings(bones={bones}, quality="draft")
rig, info = native.decompose(eel.rest, eel.frames, eel.triangles, settings)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
answer = dict(vertices=len(eel.rest), frames=len(eel.frames), bones=info.bones, erms=info.erms,
              wall=info.seconds, frames_bytes=eel.frames.nbytes, before=before, peak=peak)
print(json.dumps(answer))
"""


def memory(_bench):
    vertices, frames, bones = 1_000_000, 250, 60
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    if total < 10e9:
        say(f"  only {total / 1e9:.0f} GB here: a tenth of the vertices")
        vertices //= 10
    paths = [str(ROOT / "addon"), str(BENCH)]
    code = MEMORY_CHILD.format(paths=paths, vertices=vertices, frames=frames, bones=bones)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if ran.returncode:
        said = ran.stderr.strip().splitlines()
        say(f"  it did not come through: {said[-1] if said else f'signal {-ran.returncode}'}")
        return None
    answer = json.loads(ran.stdout.splitlines()[-1])
    say(f"  peak {answer['peak'] / 1e9:.2f} GB, E_RMS {answer['erms']:.3f}, {answer['wall']:.0f} s")
    return answer


def blender(_bench):
    """What Blender's side of a conversion takes against the solver, on a sequence brought in as a .pc2."""
    path = DATA / "samba.npz"
    answer = in_blender("blender.py", path) if path.is_file() else say(f"  there is no {path}")
    if answer is None:
        return None
    ratio = (answer["capture"] + answer["build"]) / answer["solve"]
    say(f"  samba {answer['bones']}: capture and build take {ratio:.2f} of the solve")
    return {"name": "samba", "ratio": ratio, **answer}
