"""Packs the library into a wheel: python tools/wheel.py WHEEL VERSION FILE... --notice FILE

Blender installs it with the extension, pip without Blender: `ossify_native` is the library alone, which the
extension looks for, and `ossify` is addon/native, for Python without Blender. The same files give the same
bytes. The licences of all that is in the files go in, too; FILE is what scipy-openblas32 itself says of them.
"""

import argparse
import base64
import hashlib
import struct
from pathlib import Path

import archive
import bundled
import needs
from cache import ROOT, stop

PACKAGE = ROOT / "addon" / "native"  # imports without Blender
INIT = '''"""libossify, the library behind the Ossify extension for Blender, with the OpenBLAS it needs."""

from pathlib import Path

__version__ = "{version}"


def library_path() -> Path:
    """The library of this platform, for ctypes."""
    return Path(__file__).resolve().parent / "{library}"
'''

METADATA = """\
Metadata-Version: 2.4
Name: ossify
Version: {version}
Summary: Turns moving meshes into rigs: the library behind the Ossify extension for Blender
License-Expression: {expression}
{license_files}
Requires-Python: >=3.10
Requires-Dist: numpy>=1.26
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: ossify
Root-Is-Purelib: false
Tag: {tag}
"""


def contents(version, tag, files, parts):
    """{path in the wheel: bytes}; all but RECORD"""
    info = f"ossify-{version}.dist-info"
    library = next(name for name in files if name.startswith("libossify."))
    paths = {f"ossify_native/{name}": data for name, data in files.items()}
    paths["ossify_native/__init__.py"] = INIT.format(version=version, library=library).encode()
    for file in sorted(PACKAGE.iterdir()):
        if file.suffix == ".py" or file.name == "py.typed":
            paths[f"ossify/{file.name}"] = file.read_bytes()
    licenses = {"LICENSE": ROOT / "LICENSE"} | {part.text: bundled.TEXTS / part.text for part in parts}
    names = "\n".join(f"License-File: {name}" for name in licenses)
    expression = bundled.expression(parts)
    description = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    metadata = METADATA.format(
        version=version, expression=expression, license_files=names, description=description
    )
    paths[f"{info}/METADATA"] = metadata.encode()
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


def by_the_clock(files):
    """A sentence about a library of ours with a time in it; None when there is none."""
    for name, data in files.items():
        if name == "libossify.dll":
            header = struct.unpack_from("<I", data, 60)[0]
            made = struct.unpack_from("<I", data, header + 8)[0]
            if made != archive.SECONDS:
                return f"{name} names {made} as its time, not {archive.SECONDS}: another build would differ."
    return None


def is_shared(path):
    return not path.endswith((".py", ".typed", "/METADATA", "/WHEEL", "/RECORD")) and "/licenses/" not in path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("version")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--notice", type=Path, required=True)
    asked = parser.parse_args()
    files = {file.name: file.read_bytes() for file in asked.files}
    parts = bundled.parts_of_all(files)
    sentence = needs.trouble(asked.files) or bundled.trouble(parts, asked.notice.read_bytes())
    sentence = sentence or by_the_clock(files)
    if sentence:
        stop(sentence)
    tag = "-".join(asked.wheel.stem.split("-")[2:])
    info, paths = contents(asked.version, tag, files, parts)
    paths = dict(sorted(paths.items()))
    paths[f"{info}/RECORD"] = record(info, paths)  # the format wants it last
    archive.write(asked.wheel, paths, is_shared)


if __name__ == "__main__":
    main()
