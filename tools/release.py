"""What a release consists of: python tools/release.py [--check]

Goes through Blender's rules for extensions as far as a program can (docs/release.md has all of them), gathers
zips, wheels, bills of materials, the changelog and checksums in build/release, and prints what a person has
to upload where. With --check it stops after the rules. `make release` builds everything first.
"""

import ast
import hashlib
import re
import shutil
import subprocess
import sys
import zipfile

from cache import ROOT, stop
from extension import MOST_BYTES, manifest, version, wheel_path, zip_path
from platforms import PLATFORMS

RELEASE = ROOT / "build" / "release"
ADDON = ROOT / "addon"
NETWORK = {"urllib.request", "http.client", "socket", "requests", "ftplib", "smtplib"}
INSTALLERS = set("pip ensurepip".split())
TAGS = {"Animation", "Rigging", "Bake", "Game Engine", "Import-Export"}


def sources():
    for path in sorted(ADDON.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


def touched(tree):
    """Attributes of sys that are named, as sys.path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            yield node.attr


def no_network():
    found = [path.name for path, tree in sources() if NETWORK & set(imported(tree))]
    return f"{found} can reach the network" if found else None


def no_paths():
    """__main__.py is for the bpy package, outside of Blender's add-ons."""
    allowed = ADDON / "__main__.py"
    found = [p.name for p, tree in sources() if p != allowed and {"path", "modules"} & set(touched(tree))]
    return f"{found} touch sys.path or sys.modules" if found else None


def no_pip():
    found = [p.name for p, tree in sources() if INSTALLERS & set(imported(tree))]
    return f"{found} install packages" if found else None


def permissions():
    found = re.search(r'^\[permissions\]\s*\nfiles = "([^"]{1,64})"', manifest(), re.MULTILINE)
    return None if found and not found[1].endswith(".") else "the manifest has no reason for `files`"


def words():
    tagline = re.search(r'^tagline = "([^"]*)"', manifest(), re.MULTILINE)[1]
    name = re.search(r'^name = "([^"]*)"', manifest(), re.MULTILINE)[1]
    tags = set(re.findall(r'"([^"]*)"', re.search(r"^tags = \[(.*?)\]", manifest(), re.MULTILINE)[1]))
    if len(tagline) > 64 or tagline.endswith("."):
        return "the tagline is longer than 64 characters, or ends with a full stop"
    return "the name or the tags are not allowed" if "lender" in name or not tags <= TAGS else None


def licensed():
    return None if 'license = ["SPDX:GPL-3.0-or-later"]' in manifest() else "the licence is not GPL"


def changes():
    head = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return None if f"## {version()}" in head else f"CHANGELOG.md says nothing of {version()}"


def zips():
    for name in PLATFORMS:
        path = zip_path(name)
        if not path.is_file():
            return f"{path.name} is not there: make extensions"
        if path.stat().st_size > MOST_BYTES:
            return f"{path.name} is larger than {MOST_BYTES} bytes"
        with zipfile.ZipFile(path) as file:
            wheels = [entry for entry in file.namelist() if entry.endswith(".whl")]
        if [wheel.rpartition("/")[2] for wheel in wheels] != [wheel_path(name).name]:
            return f"{path.name} has the wheels {wheels}"
    return None


RULES = {
    "no network": no_network,
    "no sys.path, no sys.modules": no_paths,
    "no pip at run time": no_pip,
    "a reason for every permission": permissions,
    "name, tagline and tags": words,
    "GPL-3.0-or-later": licensed,
    "this version in the changelog": changes,
    "one zip a platform, with its wheel, under the limit": zips,
}


def check(rules):
    failed = 0
    for rule, look in rules.items():
        trouble = look()
        failed += trouble is not None
        print(f"  {'FAILED' if trouble else 'kept  '}  {rule}{f': {trouble}' if trouble else ''}")
    if failed:
        stop(f"{failed} rules are not kept.")


def gather():
    shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True)
    for name in PLATFORMS:
        path = zip_path(name)
        for file in (path, path.with_suffix(".cdx.json"), wheel_path(name)):
            shutil.copy(file, RELEASE)
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    own = re.search(rf"^## {re.escape(version())}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    (RELEASE / "CHANGES.md").write_text(own[0], encoding="utf-8")
    files = sorted(RELEASE.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    (RELEASE / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    return files


def tell(files):
    for file in files:
        print(f"  {file.stat().st_size / 1e6:6.1f} MB  {file.name}")
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    print(f"""
Version {version()} of {commit or "a source tree without history"} is in {RELEASE.relative_to(ROOT)}.
Left for a person, in this order:
  1. read docs/release.md to its end, and tick what no program can see
  2. tag the commit: git tag -s v{version()}
  3. the project's releases: everything in that folder, with CHANGES.md as the text
  4. Blender's extension platform: the five .zip files, one version, with CHANGES.md as its notes
  5. the Python package index: the five .whl files""")


def main():
    only = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not only:
        sys.exit(f"usage: {__doc__.splitlines()[0]}")
    print("Rules for extensions:")
    check({rule: look for rule, look in RULES.items() if not only or look is not zips})
    if not only:
        tell(gather())


if __name__ == "__main__":
    main()
