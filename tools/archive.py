"""Zip files whose bytes follow from what is in them, and not from times, folders or habits of a machine."""

import os
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first a zip file can name
SECONDS = 315532800  # the same as others count


def write(path, entries, executable=lambda _name: False):
    """entries: {name: bytes}, written in their order; in place of what was there once it is whole"""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with zipfile.ZipFile(part, "w") as file:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = 3  # Unix, on every machine
            entry.external_attr = (0o100755 if executable(name) else 0o100644) << 16
            packed = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            file.writestr(entry, data, packed, 9)
    os.replace(part, path)


def read(path):
    """{name: bytes} of all files, by name"""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in sorted(file.namelist()) if not name.endswith("/")}
