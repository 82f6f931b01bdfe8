"""The figures: python bench/run.py [--only table2,speed] [--rows cat,pcow] [--anew]      (`make bench`)

One thread, side by side with py-dem-bones on the same machine, as ratios. Sequences come from
../shared/data (or $OSSIFY_DATA) when they are there; otherwise a made-up eel stands in and only what it
can show is measured. Writes docs/benchmarks.md; sections that are not asked for keep their last figures.
The peer's runs take minutes and are kept in the cache folder until the machine, the package or the data
change (--anew measures them again).
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's own, in the matrix product we compare with

import argparse
import hashlib
import importlib.metadata
import json
import math
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path[:0] = [str(ROOT / "addon"), str(ROOT / "tools")]

import blenders
import numpy as np

import creatures
import made_up
import measure
import native
import pages
import roundtrip as round_trips
import skeletons

DATA = Path(os.environ.get("OSSIFY_DATA", ROOT.parent / "shared" / "data"))
CACHE = creatures.CACHE
KEPT = ROOT / "build" / "bench.json"
PAGE = ROOT / "docs" / "benchmarks.md"
PEER_SECONDS = 900  # its longest honest run here takes a tenth of that

# Table 2 of Le & Deng 2012: sequence, bones, E_RMS
TABLE_2 = [
    ("cat-poses", 15, 6.5),
    ("cat-poses", 20, 4.7),
    ("cat-poses", 25, 3.4),
    ("horse-gallop", 20, 3.6),
    ("horse-gallop", 33, 2.2),
    ("horse-collapse", 10, 7.4),
    ("horse-collapse", 20, 5.0),
    ("pcow", 10, 14.4),
    ("pcow", 24, 5.7),
    ("elephant-gallop", 20, 4.3),
    ("elephant-gallop", 27, 2.7),
]
PEER_ROWS = [
    ("cat-poses", 15),
    ("cat-poses", 20),
    ("cat-poses", 25),
    ("horse-gallop", 10),
    ("horse-gallop", 20),
    ("horse-collapse", 10),
    ("horse-collapse", 20),
    ("pcow", 10),
    ("pcow", 24),
    ("elephant-gallop", 20),
    ("elephant-gallop", 27),
    ("samba", 10),
    ("samba", 20),
    ("gt-cheburashka", 11),
    ("vellum-cloth", 20),
    ("ict-face", 30),
]
KNOWN_ROWS = [("truth-human", 17), ("truth-cat", 20)]
EEL = ("eel", 12)


def say(text):
    print(text, flush=True)


# ---- sequences


class Sequence:
    def __init__(self, name, path):
        self.name, self.path = name, path
        with np.load(path, allow_pickle=False) as file:
            self.rest, self.frames, self.triangles = (file[key] for key in ("rest", "frames", "triangles"))
            self.weights = file["weights"] if "weights" in file.files else None
        self.edges = None

    def surface(self):
        if self.edges is None:
            self.edges = measure.surface_edges(self.rest, self.triangles)
        return self.edges


class Bench:
    """The rows at hand, and solves that several sections share."""

    def __init__(self, rows, anew):
        self.shared = DATA.is_dir()
        self.words, self.anew = rows, anew
        self.loaded, self.solved = {}, {}

    def rows(self, rows):
        """Those of the shared data that are there and asked for, or the eel."""
        if not self.shared:
            return [EEL + tuple(row[2:]) for row in rows[:1]]
        here = [row for row in rows if (DATA / f"{row[0]}.npz").is_file()]
        return [
            row for row in here if not self.words or any(word in f"{row[0]}-{row[1]}" for word in self.words)
        ]

    def sequence(self, name):
        if name not in self.loaded:
            self.loaded.clear()  # one at a time: some are large
            path = DATA / f"{name}.npz"
            if name == EEL[0]:
                path = CACHE / "eel.npz"
                path.parent.mkdir(parents=True, exist_ok=True)
                eel = made_up.eel()
                np.savez(path, rest=eel.rest, frames=eel.frames, triangles=eel.triangles)
            self.loaded[name] = Sequence(name, path)
        return self.loaded[name]

    def solve(self, name, bones, **chosen):
        """A whole solve: error, processor seconds, stray weights."""
        key = name, bones, tuple(sorted(chosen.items()))
        if key not in self.solved:
            sequence = self.sequence(name)
            rig, answer = timed(sequence, bones, **chosen)
            weights = rig.dense_weights().astype(np.float64)
            own = measure.erms(sequence.rest, sequence.frames, rig.rest, rig.transforms, weights)
            if not math.isclose(own, answer["erms"], rel_tol=1e-4, abs_tol=1e-4):
                sys.exit(f"{name} {bones}: the library reports {answer['erms']}, but the error is {own}.")
            if chosen.get("locality", True):
                edges = sequence.surface()
                answer["stray"] = measure.stray_share(edges, weights)
                answer["stray_at_5"] = measure.stray_share(edges, weights, least=0.05)
            drift = np.sqrt(np.mean(np.sum((rig.rest.astype(float) - sequence.rest) ** 2, axis=1)))
            answer["rest_drift"] = 1000 * drift / measure.tight_sphere(sequence.rest)[1]
            words = " ".join(f"{k}={v}" for k, v in chosen.items())
            say(f"  {name} {bones} {words}: E_RMS {answer['erms']:.3f}, {answer['seconds']:.2f} s")
            self.solved[key] = answer
        return self.solved[key]

    def peer(self, name, bones, setting):
        """py-dem-bones in its own process; None when it is missing, failed or did not end."""
        if peer_version() is None:
            say(f"  {name} {bones}: py-dem-bones is not installed")
            return None
        sequence = self.sequence(name)
        kept = CACHE / f"peer-{peer_key(sequence.path, bones, setting)}.json"
        if kept.is_file() and not self.anew:
            return json.loads(kept.read_text())
        command = [sys.executable, str(BENCH / "peer.py"), str(sequence.path), str(bones), setting]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=PEER_SECONDS, check=True)
            answer = json.loads(ran.stdout.splitlines()[-1])
        except subprocess.TimeoutExpired:
            say(f"  {name} {bones}: py-dem-bones ({setting}) did not end within {PEER_SECONDS} s")
            return None
        except (subprocess.CalledProcessError, IndexError, ValueError) as error:
            said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            say(f"  {name} {bones}: py-dem-bones ({setting}) failed: {said[-1] if said else error}")
            return None
        say(f"  {name} {bones} py-dem-bones {setting}: E_RMS {answer['erms']:.3f}, {answer['seconds']:.2f} s")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(answer))
        return answer


def timed(sequence, bones, **chosen):
    settings = native.Settings(bones=bones, threads=chosen.pop("threads", 1), **chosen)
    began = time.process_time()
    rig, info = native.decompose(sequence.rest, sequence.frames, sequence.triangles, settings)
    return rig, {
        "erms": info.erms,
        "seconds": time.process_time() - began,  # of the processor: other work on the machine does not count
        "wall": info.seconds,
        "refine": info.stage_seconds["refine"],
        "bones": info.bones,
        "iterations": info.iterations,
        "status": int(info.status),
    }


def machine():
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        models = [
            line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        name = models[0] if models else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def peer_version():
    try:
        return importlib.metadata.version("py-dem-bones")
    except importlib.metadata.PackageNotFoundError:
        return None


def peer_key(path, bones, setting):
    parts = [machine(), peer_version(), str(bones), setting]
    digest = hashlib.sha256("|".join(parts).encode())
    digest.update(Path(path).read_bytes())
    digest.update((BENCH / "peer.py").read_bytes())
    return digest.hexdigest()[:24]


def library_key():
    return hashlib.sha256(native.library_path().read_bytes()).hexdigest()[:12]


def geometric_mean(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


# ---- sections: each returns plain data for pages.py

BEST_PLAIN = {"quality": "best", "rest_mode": "free", "locality": False}
BEST_DEFAULT = {"quality": "best"}


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


NOISY_FRAMES, NOISE = 10, 2  # a short scan; percent of the size


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


def blender(_bench):
    """What Blender's side of a conversion takes against the solver, on a sequence brought in as a .pc2."""
    path = DATA / "samba.npz"
    if not path.is_file():
        say(f"  there is no {path}")
        return None
    names = blenders.fitting()
    if not names:
        say(f"  {blenders.none_fits()}")
        return None
    command = [blenders.bpy_python(names[-1]), BENCH / "blender.py", path]
    library = {"OSSIFY_LIBRARY": str(native.library_path())}
    with tempfile.TemporaryDirectory(prefix="ossify-") as resources:
        environment = os.environ | library | {"BLENDER_USER_RESOURCES": resources}
        ran = subprocess.run(
            [*map(str, command)], env=environment, capture_output=True, text=True, timeout=900, check=False
        )
    if ran.returncode:
        say(f"  it did not come through: {ran.stderr.strip().splitlines()[-1:]}")
        return None
    answer = json.loads(ran.stdout.splitlines()[-1])
    ratio = (answer["capture"] + answer["build"]) / answer["solve"]
    say(f"  samba {answer['bones']}: capture and build take {ratio:.2f} of the solve")
    return {"name": "samba", "blender": names[-1], "ratio": ratio, **answer}


SECTIONS = {
    section.__name__: section
    for section in (
        table2,
        defaults,
        locality,
        known,
        speed,
        normal,
        starts,
        iteration,
        scaling,
        threads,
        memory,
        noise,
        skeleton,
        roundtrip,
        blender,
    )
}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help=f"of {','.join(SECTIONS)}")
    parser.add_argument(
        "--rows", default="", help="only rows such as cat-poses-20 that hold one of the words"
    )
    parser.add_argument("--anew", action="store_true", help="measure the peer again")
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name] or list(SECTIONS)
    unknown = [name for name in options.only if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    return options


def main():
    options = parse()
    words = [word for word in options.rows.split(",") if word]
    bench = Bench(words, options.anew)
    if not bench.shared:
        say(f"There is no {DATA}: a made-up eel stands in for the sequences.")
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    about = {"library": library_key(), "version": native.version(), "machine": machine()}
    for name in options.only:
        say(f"{name}:")
        result = SECTIONS[name](bench)
        if result is None:
            say("  left out")
            continue
        kept[name] = {**result, **about, "shared": bench.shared, "day": time.strftime("%Y-%m-%d")}
        if not words:
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept, indent=1))
    say("")
    if words:
        say("of these rows alone, and not kept:")
        kept = {name: kept[name] for name in options.only if name in kept}
    else:
        pages.write(PAGE, kept, about)
    say("\n".join(pages.summary(kept)))


if __name__ == "__main__":
    main()
