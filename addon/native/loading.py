"""The library: where it lies, and that it is the one this version belongs to."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import mmap
import os
import platform
import re
import sys
import sysconfig
from pathlib import Path

from . import header
from .errors import LibraryError

PLATFORMS = ("linux-x64", "windows-x64", "windows-arm64", "macos-arm64", "macos-x64")
_ADDON = Path(__file__).resolve().parents[1]
_LOAD_BYTES = 256 << 20  # of addresses, twice what was seen: OpenBLAS ends the process when it gets none


def library_name() -> str:
    return {"win32": "libossify.dll", "darwin": "libossify.dylib"}.get(sys.platform, "libossify.so")


def _platform() -> str:
    """By Blender's names. On Windows it is the program's that counts, which may be foreign to the machine."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    windows = sysconfig.get_platform().rpartition("-")[2]
    machine = windows if system == "windows" else platform.machine().lower()
    return f"{system}-{ {'x86_64': 'x64', 'amd64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


def _remedy() -> str:
    """Where to get the library for this platform."""
    here = _platform()
    if here not in PLATFORMS:
        return f"Ossify is made for {', '.join(PLATFORMS)}; for {here}, run `make lib` in its source tree."
    name = f"ossify-{_manifest_version() or 'VERSION'}-{here.replace('-', '_')}.zip"
    return (
        f"It comes with {name} from Ossify's releases, not with the source code: install that file from disk"
        " in Blender's preferences (Get Extensions); in a source tree, run `make lib`."
    )


def _places() -> list[Path]:
    """Where the library may be, the first that exists wins."""
    places = [_ADDON, _ADDON.parent / "build"]
    wheel = importlib.util.find_spec("ossify_native")
    if wheel is not None and wheel.submodule_search_locations:
        places[:0] = map(Path, wheel.submodule_search_locations)
    return [place / library_name() for place in places]


def library_path() -> Path:
    named = os.environ.get("OSSIFY_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise LibraryError(f"OSSIFY_LIBRARY names {named}, and there is no such file.")
        return Path(named).resolve()
    places = _places()
    for path in places:
        if path.is_file():
            return path
    raise LibraryError(
        f"{library_name()} for {_platform()} was not found (looked at {', '.join(map(str, places))})."
        f" {_remedy()}"
    )


def _manifest_version() -> str | None:
    """The extension's own version; the manifest lies in its folder, or above it in a source tree."""
    for folder in (_ADDON, _ADDON.parent):
        with contextlib.suppress(OSError):
            text = (folder / "blender_manifest.toml").read_text(encoding="utf-8")
            found = re.search(r'^version\s*=\s*"([^"]*)"', text, re.MULTILINE)
            return found and found.group(1)
    return None


def _refuse_little_memory() -> None:
    try:
        mmap.mmap(-1, _LOAD_BYTES).close()
    except (OSError, MemoryError, ValueError):
        raise LibraryError(
            f"Too little memory is left to load libossify, which takes {_LOAD_BYTES >> 20} MB of addresses:"
            " end other programs, or raise the limit that this one runs under."
        ) from None


def _load(path: Path) -> ctypes.CDLL:
    _refuse_little_memory()
    try:
        if sys.platform == "win32":
            os.add_dll_directory(str(path.parent))  # OpenBLAS lies beside it
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"{path} does not load on {_platform()} ({error}). {_remedy()}") from None


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library, its version and struct sizes checked."""
    path = library_path()
    lib = _load(path)
    try:
        header.declare(lib)
    except AttributeError as error:
        raise LibraryError(f"{path} is not this version's libossify ({error}).") from None
    version, expected = lib.ossify_version().decode(), _manifest_version()
    if expected is not None and version != expected:
        raise LibraryError(
            f"{path} is version {version}, but the extension is {expected}: install them together."
        )
    room = (ctypes.c_int64 * 512)()  # more than any version's settings, should the sizes differ
    lib.ossify_default_settings(ctypes.byref(room))
    if room[0] != ctypes.sizeof(header.Settings):
        raise LibraryError(
            f"{path} has settings of {room[0]} bytes, but {ctypes.sizeof(header.Settings)} are expected:"
            " install library and extension together."
        )
    return lib


def version() -> str:
    return library().ossify_version().decode()
