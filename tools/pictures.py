"""Makes the pictures of the manual anew (`make pictures`): python tools/pictures.py

docs/pictures/demo.png is rendered by tools/demo/inside.py, virtual.png by tools/demo/layers.py, volume.png by
tools/demo/volume.py, family.png by tools/demo/family.py, those of captured bodies by tools/demo/animator.py;
the others are taken by tools/demo/screens.py in Debian's Blender with a window.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import blenders
import debian
from cache import ROOT, stop
from extension import zip_path
from platforms import this_platform

PICTURES = ROOT / "docs" / "pictures"
SUITE = "trixie"
WIDTH = 920  # of the rendered one: a page is not wider
NARROWER = 880  # of those with many colours
LIMIT = 900  # seconds
MOST_BYTES = 300_000


def run(command, folder):
    log = folder / "log.txt"
    with open(log, "w") as words:
        done = subprocess.run([*map(str, command)], stdout=words, stderr=words, timeout=LIMIT)
    if done.returncode:
        stop(f"no pictures:\n{log.read_text()[-3000:]}")


def render(zip_file, folder):
    os.environ["BLENDER_USER_RESOURCES"] = str(folder)
    run(blenders.script(ROOT / "tools" / "demo" / "inside.py", zip_file, folder, WIDTH), folder)
    shutil.copy(folder / "demo.png", PICTURES)


def render_layers(zip_file, folder):
    os.environ["BLENDER_USER_RESOURCES"] = str(folder)
    run(blenders.script(ROOT / "tools" / "demo" / "layers.py", zip_file, folder, WIDTH), folder)
    shutil.copy(folder / "virtual.png", PICTURES)


def render_volume(zip_file, folder):
    os.environ["BLENDER_USER_RESOURCES"] = str(folder)
    run(blenders.script(ROOT / "tools" / "demo" / "volume.py", zip_file, folder, WIDTH), folder)
    shutil.copy(folder / "volume.png", PICTURES)


def render_family(zip_file, folder):
    os.environ["BLENDER_USER_RESOURCES"] = str(folder)
    run(blenders.script(ROOT / "tools" / "demo" / "family.py", zip_file, folder, WIDTH), folder)
    shutil.copy(folder / "family.png", PICTURES)


def correct(zip_file, folder):
    os.environ["BLENDER_USER_RESOURCES"] = str(folder)
    run(blenders.script(ROOT / "tools" / "demo" / "correctives.py", zip_file, folder), folder)
    shutil.copy(folder / "correctives.png", PICTURES)


def render_animator(zip_file, folder):
    data = Path(os.environ.get("OSSIFY_DATA", ROOT.parent / "shared" / "data"))
    if not data.is_dir():
        print(f"  pictures of captured bodies stay as they are: {data} is not there; $OSSIFY_DATA names it")
        return
    os.environ["BLENDER_USER_RESOURCES"] = str(folder)
    run(blenders.script(ROOT / "tools" / "demo" / "animator.py", zip_file, folder, data, NARROWER), folder)
    for path in sorted(folder.glob("animator-*.png")):
        shutil.copy(path, PICTURES)


def take(zip_file, folder):
    why = debian.unfit()
    root = None if why else debian.root_of(SUITE)
    if root is None:
        stop(f"no pictures of the screen: {why or 'Debian could not be made'}.")
    blender = [
        *("blender", "--enable-event-simulate", "--window-geometry", "0", "0", *debian.SCREEN.split("x")),
        *("--factory-startup", "--python-exit-code", "1", "--python", ROOT / "tools" / "demo" / "screens.py"),
        *("--", zip_file, PICTURES),
    ]
    environment = {"BLENDER_USER_RESOURCES": str(folder / "resources")}
    (folder / "resources").mkdir()
    run(debian.inside(root, blender, [ROOT], [folder, PICTURES], environment, window=True), folder)


def main():
    zip_file = zip_path(this_platform())
    if not zip_file.is_file():
        stop(f"{zip_file.relative_to(ROOT)} is not there; make extension makes it.")
    PICTURES.mkdir(parents=True, exist_ok=True)
    makers = {
        "render": render,
        "layers": render_layers,
        "volume": render_volume,
        "family": render_family,
        "correctives": correct,
        "animator": render_animator,
        "screens": take,
    }
    for name in sys.argv[1:] or makers:
        with tempfile.TemporaryDirectory(prefix="ossify-") as folder:
            makers[name](zip_file, Path(folder))
    for path in sorted(PICTURES.glob("*.png")):
        size = path.stat().st_size
        print(f"  {path.relative_to(ROOT)}  {size / 1000:.0f} kB")
        if size > MOST_BYTES:
            stop(f"{path.name} has {size} bytes; {MOST_BYTES} are the most that a page should ask for.")


if __name__ == "__main__":
    main()
