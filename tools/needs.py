"""What a shared library asks of the system it is loaded on: python tools/needs.py FILE...

Read from ELF, PE and Mach-O files of 64 bits on any machine: nobody has to own a Mac to see that a library
for one would be looked for where it is not.
"""

import re
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from cache import stop

# Whatever else a library in the wheel needs must be in the wheel, and be looked for beside it.
SYSTEM = re.compile(
    r"(libc|libm|libpthread|libdl)\.so\.\d|ld-linux-x86-64\.so\.2"
    r"|kernel32\.dll|api-ms-win-crt-[a-z]+-l1-1-0\.dll|vcruntime140\.dll"  # the last with Blender's Python
    r"|/usr/lib/libSystem\.B\.dylib",
    re.IGNORECASE,
)
NEWEST_GLIBC = (2, 28)
NEWEST_MACOS = (11, 0)


class Needs(NamedTuple):
    libraries: list[str]
    places: list[str]  # where they are looked for, but for the system's own; "" is beside the file
    system: tuple[int, int] = (0, 0)  # the oldest glibc or macOS
    signed: bool = True  # as far as the system asks for it


def _text(data, start):
    return data[start : data.index(b"\0", start)].decode()


def _elf(data):
    sections_at, section_size, count = (
        *struct.unpack_from("<Q", data, 40),
        *struct.unpack_from("<HH", data, 58),
    )
    sections = [struct.unpack_from("<IIQQQQII", data, sections_at + i * section_size) for i in range(count)]
    kinds = {section[1]: section for section in sections if section[1] in (6, 0x6FFFFFFE)}
    _, _, _, _, at, size, strings, _ = kinds[6]  # dynamic
    entries = [struct.unpack_from("<QQ", data, place) for place in range(at, at + size, 16)]
    names = sections[strings][4]
    libraries = [_text(data, names + value) for tag, value in entries if tag == 1]
    paths = [_text(data, names + value) for tag, value in entries if tag in (15, 29)]
    places = [re.sub(r"^\$ORIGIN/?\.?$", "", place) for path in paths for place in path.split(":")]
    glibc, at = (0, 0), kinds[0x6FFFFFFE][4]  # versions needed
    while True:
        _, versions, _, first, following = struct.unpack_from("<HHIII", data, at)
        place = at + first
        for _ in range(versions):
            _, _, _, name, step = struct.unpack_from("<IHHII", data, place)
            found = re.fullmatch(r"GLIBC_(\d+)\.(\d+).*", _text(data, names + name))
            glibc = max(glibc, tuple(map(int, found.groups()))) if found else glibc
            place += step
        if not following:
            return Needs(libraries, places, glibc)
        at += following


def _pe(data):
    header = struct.unpack_from("<I", data, 60)[0]
    count, optional = (
        struct.unpack_from("<H", data, header + 6)[0],
        struct.unpack_from("<H", data, header + 20)[0],
    )
    sections = [struct.unpack_from("<IIII", data, header + 24 + optional + i * 40 + 8) for i in range(count)]

    def place(address):
        return next(
            address - virtual + raw
            for size, virtual, _, raw in sections
            if virtual <= address < virtual + size
        )

    imports = struct.unpack_from("<I", data, header + 24 + 120)[0]
    libraries, at = [], place(imports)
    while name := struct.unpack_from("<I", data, at + 12)[0]:
        libraries.append(_text(data, place(name)))
        at += 20
    return Needs(libraries, [""])  # a library that is loaded by its path has its folder searched


def _mach(data):
    at, libraries, places, system = 32, [], [], (0, 0)
    signed = struct.unpack_from("<I", data, 4)[0] != 0x0100000C  # only on arm64 it must be
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        command, size, first, second = struct.unpack_from("<IIII", data, at)
        if command & 0xFF in (0xC, 0x18, 0x1F, 0x23):
            libraries.append(_text(data, at + first))
        elif command == 0x8000001C:
            places.append(re.sub(r"^@loader_path/?\.?$", "", _text(data, at + first)))
        elif command in (0x24, 0x32):  # the oldest macOS
            packed = first if command == 0x24 else second
            system = (packed >> 16, packed >> 8 & 0xFF)
        elif command == 0x1D:
            signed = True
        at += size
    return Needs(libraries, places, system, signed)


def needs(path):
    data = Path(path).read_bytes()
    kind = {b"\x7fELF": _elf, b"MZ": _pe, b"\xcf\xfa\xed\xfe": _mach}
    read = next((kind[magic] for magic in kind if data.startswith(magic)), None)
    if read is None:
        stop(f"{path} is no shared library for a 64-bit system.")
    return read(data)


def trouble(files):
    """A sentence about the first thing that would keep these files, in one folder, from loading; or None."""
    here = {Path(file).name for file in files}
    for file in files:
        name, found = Path(file).name, needs(file)
        known = {f"@rpath/{other}" for other in here} if name.endswith(".dylib") else here
        newest = NEWEST_GLIBC if ".so" in name else NEWEST_MACOS
        beside = [library for library in found.libraries if not SYSTEM.fullmatch(library)]
        missing = [library for library in beside if library not in known]
        if missing:
            return f"{name} needs {missing[0]}, which is neither beside it nor part of the system."
        if beside and "" not in found.places:
            return f"{name} does not look for {beside[0]} beside itself, but in {found.places}."
        if found.system > newest:
            return f"{name} needs version {found.system} of the system, newer than {newest}."
        if not found.signed:
            return f"{name} has no signature, and macOS would not load it."
    return None


if __name__ == "__main__":
    for file in sys.argv[1:]:
        print(file, *needs(file), sep="\n  ")
