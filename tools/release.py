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
NETWORK = set("urllib.request http socket socketserver ssl asyncio requests ftplib smtplib".split())
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
            yield from (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))


def touched(tree):
    """Attributes of sys that are named, as sys.path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            yield node.attr


def no_network():
    found = [
        path.name
        for path, tree in sources()
        if any(name in NETWORK or name.partition(".")[0] in NETWORK for name in imported(tree))
    ]
    return f"{found} can reach the network" if found else None


def no_paths():
    """__main__.py is for the bpy package, outside of Blender's add-ons."""
    allowed = ADDON / "__main__.py"
    found = [p.name for p, tree in sources() if p != allowed and {"path", "modules"} & set(touched(tree))]
    return f"{found} touch sys.path or sys.modules" if found else None


def no_pip():
    found = [p.name for p, tree in sources() if INSTALLERS & set(imported(tree))]
    return f"{found} install packages" if found else None


def no_code_from_text():
    """Python in strings, and other programs."""
    calls = {"eval", "exec", "compile", "__import__"}
    programs = {"subprocess", "pty", "webbrowser"}
    found = []
    for path, tree in sources():
        names = {
            n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        if calls & names or programs & set(imported(tree)):
            found.append(path.name)
    return f"{found} run code from text, or other programs" if found else None


def named_by_package():
    """An extension is called bl_ext.REPOSITORY.ossify, and only Blender knows where it is."""
    found = []
    for path, tree in sources():
        literals = {
            n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        if any(word.startswith("bl_ext.") for word in literals) or "bl_info" in names_in(tree):
            found.append(path.name)
    return f"{found} name the extension as it is only called here, or have a bl_info" if found else None


def names_in(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def taken_back():
    """What a room registers it also takes back, with as many calls of a kind."""
    pairs = {"register_class": "unregister_class", "register_cli_command": "unregister_cli_command"}
    pairs |= {"append": "remove", "draw_handler_add": "draw_handler_remove"}
    found = []
    for path, tree in sources():
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        if ("register" in functions) != ("unregister" in functions):
            found.append(path.name)
        elif "register" in functions:
            there, back = (called(functions[name]) for name in ("register", "unregister"))
            found += [path.name for one, other in pairs.items() if (one in there) and other not in back]
    return f"{found} register what they do not take back" if found else None


def called(function):
    return {n.func.attr for n in ast.walk(function) if isinstance(n, ast.Call) and hasattr(n.func, "attr")}


def whole_manifest():
    needed = {
        "schema_version": "1.0.0",
        "id": "ossify",
        "type": "add-on",
        "blender_version_min": "4.2.0",
    }
    wrong = [name for name, value in needed.items() if f'{name} = "{value}"' not in manifest()]
    plain = re.fullmatch(r"\d+\.\d+\.\d+", version())
    return f"the manifest is wrong about {wrong or ['version']}" if wrong or not plain else None


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
            names = file.namelist()
        wheels = [entry for entry in names if entry.endswith(".whl")]
        litter = [entry for entry in names if "__pycache__" in entry or "/." in f"/{entry}"]
        if litter:
            return f"{path.name} has {litter[0]} in it"
        if [wheel.rpartition("/")[2] for wheel in wheels] != [wheel_path(name).name]:
            return f"{path.name} has the wheels {wheels}"
    return None


RULES = {
    "no network": no_network,
    "no sys.path, no sys.modules": no_paths,
    "no pip at run time": no_pip,
    "no code from text, no other programs": no_code_from_text,
    "the extension is not named by where it is installed": named_by_package,
    "what is registered is taken back": taken_back,
    "the manifest is whole": whole_manifest,
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


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def not_yet():
    """What must be done before anything is uploaded."""
    head = re.search(rf"^## {re.escape(version())}.*$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if "not released" in head[0]:
        yield f"CHANGELOG.md calls {version()} not released yet: put the day there, and make release again"
    if git("status", "--porcelain"):
        yield "there are changes that are in no commit: make release again in a clean clone"


def tell(files):
    for file in files:
        print(f"  {file.stat().st_size / 1e6:6.1f} MB  {file.name}")
    commit = git("rev-parse", "HEAD")
    print(f"""
Version {version()} of {commit or "a source tree without history"} is in {RELEASE.relative_to(ROOT)}.
Left for a person, in this order:
  1. read docs/release.md to its end, and tick what no program can see
  2. tag the commit: git tag -s v{version()}
  3. the project's releases: everything in that folder, with CHANGES.md as the text
  4. Blender's extension platform: the five .zip files, one version, with CHANGES.md as its notes
  5. the Python package index: the five .whl files""")
    for sentence in not_yet():
        print(f"NOT YET: {sentence}")


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
