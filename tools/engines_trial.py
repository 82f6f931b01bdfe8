"""Rigs in engines: python tools/engines_trial.py

A bending tube becomes a rig for each engine. Every glTF must pass the validator of Khronos without a word;
three.js and Babylon.js play it in Node, also after gltfpack made it smaller, Godot 3 without a screen where
Debian's godot3-server can be had, and what they show is compared with the tube itself. A UsdSkel is skinned
by OpenUSD (usd-core). Versions for Node are pinned in tools/engines/package-lock.json. FBX is read again by
Blender, in the conversion itself.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from blenders import bpy_python, fitting
from cache import FOLDER, ROOT, Unavailable, alone, attempt, digest, environment
from debian import install_packages

SCRIPTS = ROOT / "tools" / "engines"
NEEDED = 18  # the oldest Node that the packages run on
FRAMES, RATE = 16, 24
SECONDS = ",".join(str(frame / RATE) for frame in range(FRAMES))
GODOT = "godot3-server"
# EXT_meshopt_compression; names and materials stay, and the motion is not sampled anew.
GLTFPACK = ("-c", "-kn", "-km", "-noq", "-af", "0")
# From the start Godot 3 takes 15 frames a second, and leaves out keys and digits.
GODOT_IMPORT = {
    "animation/fps": RATE,
    "animation/optimizer/enabled": "false",
    "meshes/compress": "false",
}
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


def compare(engine, file, python, tube, answer, reported):
    """What an engine showed, with the tube and with what the report promises."""
    limit, said = 1.02 * reported + 0.001, json.loads(answer.read_text())
    assert all(re.fullmatch(r"[\w-]+", name) for name in said["bones"]), said["bones"]
    error = float(run(python, "-c", COMPARE, tube, answer))
    assert error < limit, f"{engine}: {error} % off, and {limit} % in the report"
    print(f"{engine}: {file.name}, {FRAMES} frames, within {error:.3g} % of the source")


def look_through(file, python, tube, scripts, folder, reported):
    """What three.js and Babylon.js show of a .glb."""
    for engine in ("three", "babylon"):
        answer = folder / f"{engine}.json"
        answer.write_text(run("node", scripts / f"{engine}.mjs", file, SECONDS))
        compare(f"{engine}.js", file, python, tube, answer, reported)


def press(file, python, tube, scripts, folder, reported):
    """A .glb through gltfpack, as docs/manual.md says, and back in three.js."""
    small, answer = folder / "pressed.glb", folder / "pressed.json"
    pack = scripts / "node_modules" / "gltfpack" / "cli.js"
    run("node", pack, "-i", file, "-o", small, *GLTFPACK)
    sizes = [some.stat().st_size for some in (file, small)]
    assert sizes[1] < sizes[0], sizes
    answer.write_text(run("node", scripts / "three.mjs", small, SECONDS))
    print(f"gltfpack {' '.join(GLTFPACK)}: {sizes[0] / 1000:.1f} to {sizes[1] / 1000:.1f} kB")
    compare("three.js", small, python, tube, answer, reported)


def play_in_godot(file, python, tube, folder, reported):
    """What Godot 3 shows of a .gltf: imported by its editor, played by its AnimationPlayer."""
    if not shutil.which(GODOT) and not install_packages(GODOT):
        print(f"skipped Godot 3: {GODOT} is not here, and could not be installed")
        return
    project = folder / "project"
    project.mkdir()
    (project / "project.godot").write_text('config_version=4\n[application]\nconfig/name="trial"\n')
    for part in (SCRIPTS / "godot.gd", *folder.glob(f"{file.stem}*.bin"), file):
        shutil.copy(part, project)
    import_all = [GODOT, "--path", project, "--editor", "--quit"]
    run(*import_all)
    words = project / f"{file.name}.import"
    for name, value in GODOT_IMPORT.items():
        text, changed = re.subn(rf"(?m)^{name}=.*$", f"{name}={value}", words.read_text())
        assert changed == 1, f"Godot does not know {name}"
        words.write_text(text)
    shutil.rmtree(project / ".import")
    run(*import_all)
    run(GODOT, "--path", project, "-s", "godot.gd", f"res://{file.name}", SECONDS)
    compare("Godot 3", file, python, tube, project / "shown.json", reported)


def skin_by_openusd(file, python, tube, folder, reported):
    """What OpenUSD shows of a UsdSkel: its scales, its influences and its motion."""
    try:
        own = environment("usd")
    except Unavailable as why:
        print(f"skipped OpenUSD: {why}")
        return
    answer = folder / "usd.json"
    answer.write_text(run(own, SCRIPTS / "openusd.py", file, FRAMES))
    compare("OpenUSD", file, python, tube, answer, reported)


def convert(python, tube, output, *words):
    """The record of the report."""
    report = output.with_suffix(".json")
    words = ["convert", tube, "--bones", 4, "--output", output, "--report", report, *words]
    run(python, ROOT / "addon", *words, "--quality", "draft", "--quiet")
    return json.loads(report.read_text())["inputs"][0]


def main():
    python = bpy_python(fitting()[-1])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tube, made, errors = folder / "tube.npz", {}, {}
        run(python, "-c", MAKE_TUBE, tube, FRAMES)
        for target, ending in TARGETS.items():
            made[target] = folder / f"{target}{ending}"
            record = convert(python, tube, made[target], "--target", target)
            errors[target] = record["target"]["rms_percent"]
            assert errors[target] < record["rms_percent"] + 0.1, record
            print(f"{target}: within {errors[target]:.3g} % in {made[target].name}, read again")
        scripts = packages()
        if scripts is not None:
            validate(scripts, [file for file in made.values() if file.suffix != ".fbx"])
            look_through(made["web"], python, tube, scripts, folder, errors["web"])
            press(made["web"], python, tube, scripts, folder, errors["web"])
        play_in_godot(made["godot"], python, tube, folder, errors["godot"])
        rig = folder / "rig.usdc"
        skin_by_openusd(rig, python, tube, folder, convert(python, tube, rig)["rms_percent"])


if __name__ == "__main__":
    main()
