"""Runs inside Blender: makes moving meshes, converts them with the installed extension, shows what came out.

    python tools/demo/inside.py -- ZIP FOLDER [WIDTH]                      with a bpy package
    blender --background --python tools/demo/inside.py -- ZIP FOLDER [WIDTH]

FOLDER gets demo.blend, a .glb for each mesh, report.json and demo.png, as wide as asked for.
"""

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bpy
import picture
import scenes

EXTENSION = "bl_ext.user_default.ossify"
COLUMNS = "mesh vertices frames bones error largest keys rig cache glb seconds".split()
LEGEND = """
error: root mean square distance between rig and source over all vertices and frames, in percent of the size;
rig, cache: bytes of keys and weights, and of the same motion as a point cache; seconds: of the conversion"""


class Case(NamedTuple):
    make: Callable
    how: str
    settings: dict
    frame: int  # of the picture
    turn: tuple[float, float]  # about the vertical, then toward the camera
    posed: str
    grips: list[picture.Grip]


CASES = {
    "dog": Case(
        scenes.dog,
        "a mesh cache",
        {"skeleton": "AUTO"},
        10,
        (0.75, 0.22),
        "turned at neck and shoulder",
        [picture.Grip((0, -0.62, 1.08), (-0.55, 0, -0.35)), picture.Grip((-0.23, -0.56, 0.92), (-1.2, 0, 0))],
    ),
    "flag": Case(
        scenes.flag,
        "a cloth simulation",
        {"bones": 40, "skeleton": "NONE", "influences": 8, "fairness": 10.0, "rest_correction": "SMOOTH"},
        46,
        (-0.75, 0.2),
        "pulled at a corner",
        [picture.Grip((1.4, 0, 0.8), shift=(0.5, -0.2, 0.35))],
    ),
}


def say(text=""):
    """To people: tools/demo/run.py knows these lines among Blender's own by their start."""
    for line in text.split("\n"):
        print("demo:", line, flush=True)


def install(zip_file):
    done = bpy.ops.extensions.package_install_files(
        filepath=str(zip_file), repo="user_default", enable_on_install=True
    )
    if done != {"FINISHED"} or EXTENSION not in bpy.context.preferences.addons:
        sys.exit(f"Blender {bpy.app.version_string} did not install {zip_file}.")
    for room in (
        "base.steps",
        "convert.convert",
        "edit.correction",
        "files.outputs",
        "options.options",
        "rig.build",
        "rig.heat",
        "rig.report",
    ):
        importlib.import_module(f"{EXTENSION}.{room}")
    return sys.modules[EXTENSION]


def convert(ossify, source, settings):
    context = bpy.context
    options = ossify.options.options.wished(hide_source=False, **settings)
    steps = ossify.convert.convert.convert(context.scene, context.view_layer, [source], options)
    return ossify.base.steps.run(steps)


def correct(ossify, armature):
    """Five correctives for a rig that stands; what they are worth."""
    steps = ossify.edit.correction.add(bpy.context, armature, "AUTO", 5)
    return ossify.base.steps.run(steps).words()


def save(folder, reports):
    """demo.blend, as an artist would leave it, and the reports."""
    bpy.context.scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "demo.blend"), check_existing=False, copy=True)
    (folder / "report.json").write_text(json.dumps(reports, indent=1) + "\n", encoding="utf-8")


def captions(report, case):
    percent = report.percent
    return (
        f"{report.vertices:,} vertices moved by {case.how}",
        f"{report.bones} bones, {report.sizes()[0]} instead of {report.sizes()[2]}",
        case.posed,
        f"mean {percent(report.mean):.2g} % of the size, largest {percent(report.maximum):.2g} %",
    )


def figures(ossify, name, report, glb, seconds):
    percent, size = report.percent, ossify.base.words.size_words
    rig, _, cache = report.sizes()
    errors = f"{percent(report.rms):.2g} %", f"{percent(report.maximum):.2g} %"
    counts = (report.vertices, len(report.times), report.bones)
    return [name, *map(str, counts), *errors, str(report.keys), rig, cache, size(glb), f"{seconds:.1f}"]


def table(rows):
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        say("  ".join([first.ljust(widths[0]), *cells]))


def main():
    zip_file, folder, *width = sys.argv[sys.argv.index("--") + 1 :]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ossify = install(zip_file)
    scenes.empty_scene()
    lines, skeletons, reports, rows = [COLUMNS], [], {}, []
    for name, case in CASES.items():
        say(f"making and converting the {name}")
        source = case.make(folder)
        began = time.perf_counter()
        result = convert(ossify, source, case.settings)
        seconds = time.perf_counter() - began
        glb = folder / f"{name}.glb"
        ossify.files.outputs.write(glb, result.armature, result.meshes, influences=4)
        lines.append(figures(ossify, name, result.report, glb.stat().st_size, seconds))
        skeletons += [f"{name}: {words}" for words in result.report.skeleton_lines()]
        reports[name] = result.report.to_json()
        words = captions(result.report, case)
        rows.append(picture.take(ossify, source, result, case.frame, case.turn, words, case.grips))
        if case.settings["skeleton"] == "NONE":  # what cloth gains most by
            skeletons.append(f"{name}: {correct(ossify, result.armature)}")
        ossify.rig.build.hide(source, bpy.context.view_layer, True)
    save(folder, reports)
    say("drawing the picture")
    picture.render(ossify, rows, folder / "demo.png", *map(int, width))
    say()
    table(lines)
    say("\n".join(["", *skeletons]))
    say(LEGEND)


try:
    main()
    code = 0
except SystemExit as end:
    print(end, file=sys.stderr)
    code = 1
except BaseException:
    traceback.print_exc()
    code = 1
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # with add-ons enabled, Blender may not come to its end by itself
