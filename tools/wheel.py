"""Packs the library into a wheel: python tools/wheel.py WHEEL VERSION FILE... --license NAME=FILE...

Blender installs it with the extension, pip without Blender. The same files give the same bytes.
"""

import argparse
import base64
import hashlib
import zipfile
from pathlib import Path

from cache import stop
from needs import trouble

INIT = '''"""libossify, the library behind the Ossify extension for Blender, with the OpenBLAS it needs."""

from pathlib import Path

__version__ = "{version}"


def library_path() -> Path:
    """The library of this platform, for ctypes."""
    return Path(__file__).resolve().parent / "{library}"
'''

METADATA = """\
Metadata-Version: 2.4
Name: ossify_native
Version: {version}
Summary: libossify, which turns moving meshes into rigs; the library behind the Ossify extension for Blender
License-Expression: GPL-3.0-or-later AND BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1
{license_files}
Requires-Python: >=3.10
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: ossify
Root-Is-Purelib: false
Tag: {tag}
"""


def contents(version, tag, files, licenses):
    """{path in the wheel: bytes}; all but RECORD"""
    info = f"ossify_native-{version}.dist-info"
    library = next(file for file in files if file.name.startswith("libossify."))
    paths = {f"ossify_native/{file.name}": file.read_bytes() for file in files}
    paths["ossify_native/__init__.py"] = INIT.format(version=version, library=library.name).encode()
    names = "\n".join(f"License-File: {name}" for name in licenses)
    paths[f"{info}/METADATA"] = METADATA.format(version=version, license_files=names).encode()
    paths[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    for name, file in licenses.items():
        paths[f"{info}/licenses/{name}"] = file.read_bytes()
    return info, paths


def record(info, paths):
    lines = []
    for path, data in sorted(paths.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()


def write(wheel, paths):
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel, "w") as file:
        for path, data in paths.items():
            entry = zipfile.ZipInfo(path)  # of 1980, on every machine
            entry.create_system = 3
            shared = not path.endswith((".py", "/METADATA", "/WHEEL", "/RECORD")) and "/licenses/" not in path
            entry.external_attr = (0o100755 if shared else 0o100644) << 16
            file.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)


def license_pair(text):
    name, _, file = text.partition("=")
    return name, Path(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("version")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--license", type=license_pair, nargs="+", default=[])
    asked = parser.parse_args()
    unloadable = trouble(asked.files)
    if unloadable:
        stop(unloadable)
    tag = "-".join(asked.wheel.stem.split("-")[2:])
    info, paths = contents(asked.version, tag, asked.files, dict(asked.license))
    paths = dict(sorted(paths.items()))
    paths[f"{info}/RECORD"] = record(info, paths)  # the format wants it last
    write(asked.wheel, paths)


if __name__ == "__main__":
    main()
