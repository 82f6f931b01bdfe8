"""The rows of the figures: sequences, what the library makes of them, and what py-dem-bones does.

Sequences come from ../shared/data (or $OSSIFY_DATA) when they are there; otherwise a made-up eel stands in.
The peer's runs take minutes and are kept in the cache folder until the machine, the package or the data
change.
"""

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import blenders
import numpy as np

import creatures
import made_up
import measure
import native

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
DATA = Path(os.environ.get("OSSIFY_DATA", ROOT.parent / "shared" / "data"))
CACHE = creatures.CACHE
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
        "normal_degrees": info.normal_degrees,
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


def in_blender(script, *arguments):
    """What a script of this folder answers in the newest bpy package that fits; None when it cannot."""
    names = blenders.fitting()
    if not names:
        say(f"  {blenders.none_fits()}")
        return None
    command = [blenders.bpy_python(names[-1]), BENCH / script, *arguments]
    library = {"OSSIFY_LIBRARY": str(native.library_path())}
    with tempfile.TemporaryDirectory(prefix="ossify-") as resources:
        environment = os.environ | library | {"BLENDER_USER_RESOURCES": resources}
        ran = subprocess.run(
            [*map(str, command)], env=environment, capture_output=True, text=True, timeout=900, check=False
        )
    if ran.returncode:
        say(f"  it did not come through: {ran.stderr.strip().splitlines()[-1:]}")
        return None
    return {"blender": names[-1], **json.loads(ran.stdout.splitlines()[-1])}


def geometric_mean(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
