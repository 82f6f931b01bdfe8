"""Makes the extension: python tools/extension.py [--materials] PLATFORM...

Stages the add-on, the manifest and the wheels of the platforms in build/extension, and has Blender's own
tool make build/dist/ossify-VERSION-PLATFORM.zip of it, one for each, and validate them. What is in a zip is
packed again so that its bytes follow from nothing else. With --materials, a bill of materials lies beside
each.
"""

import re
import shutil
import subprocess
import sys

import archive
import manual_page
from blenders import builder
from cache import REQUIREMENTS, ROOT, environment, stop
from platforms import PLATFORMS

STAGE = ROOT / "build" / "extension"
DIST = ROOT / "build" / "dist"
MOST_BYTES = 15_000_000
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")


def manifest():
    return (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")


def version():
    return re.search(r'^version\s*=\s*"([^"]*)"', manifest(), re.MULTILINE).group(1)


def zip_path(platform):
    """Where the zip of a platform lies, by the names that Blender's tool gives them."""
    return DIST / f"ossify-{version()}-{platform.replace('-', '_')}.zip"


def wheel_path(platform):
    tag = PLATFORMS[platform].wheel
    return ROOT / "build" / "wheels" / f"ossify-{version()}-py3-none-{tag}.whl"


def staged_manifest(platforms):
    """The manifest with its platforms and wheels, which must stand before the first table."""
    quoted = [f'"{name}"' for name in platforms]
    wheels = [f'    "./wheels/{wheel_path(name).name}",' for name in platforms]
    added = "\n".join([f"platforms = [{', '.join(quoted)}]", "wheels = [", *wheels, "]"])
    keys, tables = re.fullmatch(r"(.*?)(^\[.*)?", manifest(), re.DOTALL | re.MULTILINE).groups()
    return "\n\n".join(part.strip() for part in (keys, added, tables) if part) + "\n"


def stage(platforms):
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "addon", STAGE, ignore=LEFT_OUT)
    shutil.copy(ROOT / "LICENSE", STAGE)
    shutil.copytree(ROOT / "licenses", STAGE / "licenses")
    (STAGE / "blender_manifest.toml").write_text(staged_manifest(platforms), encoding="utf-8")
    manual_page.write(STAGE / "manual")
    (STAGE / "wheels").mkdir()
    for name in platforms:
        shutil.copy(wheel_path(name), STAGE / "wheels")


def ask(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, cwd=ROOT)
    if done.returncode != 0:
        stop(f"Blender's extension tool refuses:\n{done.stdout}{done.stderr}")


def note_materials(platform):
    pin = (REQUIREMENTS / "openblas.in").read_text(encoding="utf-8")
    openblas = re.search(r"^scipy-openblas32==(\S+)", pin, re.MULTILINE).group(1)
    path = zip_path(platform)
    tool = ROOT / "tools" / "materials.py"
    done = subprocess.run([environment("materials"), tool, path, openblas, path.with_suffix(".cdx.json")])
    if done.returncode != 0:
        stop(f"{path.name} has no bill of materials (see above).")


def main():
    with_materials = sys.argv[1:2] == ["--materials"]
    platforms = sys.argv[1 + with_materials :]
    unknown = [name for name in platforms if name not in PLATFORMS]
    if unknown or not platforms:
        stop(f"no extension is made for {', '.join(unknown) or 'nothing'}, only for {', '.join(PLATFORMS)}.")
    stage(platforms)
    DIST.mkdir(parents=True, exist_ok=True)
    ask(*builder("build"), "--split-platforms", "--source-dir", STAGE, "--output-dir", DIST)
    for name in platforms:
        path = zip_path(name)
        archive.write(path, archive.read(path))
        ask(*builder("validate"), path)
        size = path.stat().st_size
        print(f"  {path.relative_to(ROOT)}  {size / 1e6:.1f} MB")
        if size > MOST_BYTES:
            stop(f"{path.name} has {size} bytes; {MOST_BYTES} are the most that should be asked of people.")
        if with_materials:
            note_materials(name)


if __name__ == "__main__":
    main()
