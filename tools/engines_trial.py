"""Rigs in engines: python tools/engines_trial.py

A bending tube becomes a rig for each engine. Every glTF must pass the validator of Khronos without a word;
three.js and Babylon.js play it in Node, and what they show is compared with the tube itself. Their versions
are pinned in tools/engines/package-lock.json. FBX is read again by Blender, in the conversion itself.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from blenders import bpy_python, fitting
from cache import FOLDER, ROOT, alone, attempt, digest

SCRIPTS = ROOT / "tools" / "engines"
NEEDED = 18  # the oldest Node that the packages run on
FRAMES, RATE = 16, 24
TARGETS = {
    "web": ".glb",
    "godot": ".gltf",
    "roblox": ".glb",
    "vrm": ".glb",
    "unity": ".fbx",
    "unreal": ".fbx",
}
MAKE_TUBE = """
import sys
import numpy as np

along, around = np.divmod(np.arange(24 * 8), 8)
pairs = [(8 * a + b, 8 * a + (b + 1) % 8) for a in range(23) for b in range(8)]
faces = [face for p, q in pairs for face in ((p, q, q + 8), (p, q + 8, p + 8))]
frames = []
for frame in range(int(sys.argv[2])):
    turn = np.sin(frame / 8 * 6.28) * np.clip((along - 12) / 4, 0, 1)
    beyond, high = np.maximum(along - 12, 0), np.sin(around * np.pi / 4)
    x = np.minimum(along, 12) + beyond * np.cos(turn) - high * np.sin(turn)
    frames.append(np.stack([x, np.cos(around * np.pi / 4), beyond * np.sin(turn) + high * np.cos(turn)], 1))
np.savez(sys.argv[1], frames=np.array(frames, np.float32), triangles=np.array(faces, np.int32))
"""
COMPARE = """
import json, sys
import numpy as np

wanted = np.load(sys.argv[1])["frames"]
shown = np.array(json.load(open(sys.argv[2]))["frames"])
shown = np.stack([shown[..., 0], -shown[..., 2], shown[..., 1]], -1)  # glTF has Y up
match = np.linalg.norm(shown[0][:, None] - wanted[0][None], axis=2).argmin(axis=1)
assert len(set(match)) == wanted.shape[1], "vertices are missing"
size = np.linalg.norm(np.ptp(wanted[0], axis=0))
print(100 * np.sqrt(((shown - wanted[:, match]) ** 2).sum(axis=2).mean()) / size)
"""


def run(*command):
    done = subprocess.run([*map(str, command)], text=True, capture_output=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))[:200]}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def packages():
    """The folder with the scripts and what they need; None, with a word, where it cannot be had."""
    node = shutil.which("node")
    version = run(node, "--version") if node else ""
    found = re.match(r"v(\d+)", version)
    if not found or int(found[1]) < NEEDED or not shutil.which("npm"):
        print(f"skipped three.js, Babylon.js and the validator: there is no Node {NEEDED} with npm")
        return None
    folder = FOLDER / f"engines-{digest(SCRIPTS / 'package-lock.json')}"
    with alone(folder):
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for file in SCRIPTS.glob("package*.json"):
                shutil.copy(file, folder)
            if not attempt(["npm", "ci", "--ignore-scripts", "--prefix", str(folder)], 600):
                print("skipped three.js, Babylon.js and the validator: npm could not fetch them")
                return None
            (folder / "whole").touch()
    for file in SCRIPTS.glob("*.mjs"):
        shutil.copy(file, folder)
    return folder


def validate(folder, files):
    messages = json.loads(run("node", folder / "validate.mjs", *files))
    for file, found in messages.items():
        assert not found, f"{file}: {found}"
    print(f"Khronos validator: {len(files)} files, nothing to say")


def look_through(file, python, tube, scripts, folder, limit):
    """What engines show of a .glb."""
    seconds = ",".join(str(frame / RATE) for frame in range(FRAMES))
    for engine in ("three", "babylon"):
        answer = folder / f"{engine}.json"
        answer.write_text(run("node", scripts / f"{engine}.mjs", file, seconds))
        said = json.loads(answer.read_text())
        assert all(re.fullmatch(r"[\w-]+", name) for name in said["bones"]), said["bones"]
        error = float(run(python, "-c", COMPARE, tube, answer))
        assert error < limit, f"{engine}: {error} % off, and {limit} % in the report"
        print(f"{engine}.js: {file.name}, {FRAMES} frames, within {error:.3g} % of the source")


def main():
    python = bpy_python(fitting()[-1])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tube, made, errors = folder / "tube.npz", {}, {}
        run(python, "-c", MAKE_TUBE, tube, FRAMES)
        for target, ending in TARGETS.items():
            made[target], report = folder / f"{target}{ending}", folder / f"{target}.json"
            words = ["convert", tube, "--bones", 4, "--target", target, "--output", made[target]]
            run(python, ROOT / "addon", *words, "--quality", "draft", "--quiet", "--report", report)
            record = json.loads(report.read_text())["inputs"][0]
            errors[target] = record["target"]["rms_percent"]
            assert errors[target] < record["rms_percent"] + 0.1, record
            print(f"{target}: within {errors[target]:.3g} % in {made[target].name}, read again")
        scripts = packages()
        if scripts is not None:
            validate(scripts, [file for file in made.values() if file.suffix != ".fbx"])
            look_through(made["web"], python, tube, scripts, folder, 1.02 * errors["web"] + 0.001)


if __name__ == "__main__":
    main()
