"""Blender as Debian packs it, in a system of its own.

A root filesystem in the cache folder with bubblewrap around it gives a Blender with a window, on a screen
that is only memory, on any Linux where one is root.
"""

import os
import platform
import shutil
import sys
from pathlib import Path

from cache import FOLDER, Unavailable, alone, attempt

SUITES = {"trixie": "4.3", "sid": "5.2 or newer"}  # and the Blender in it
BLENDER = [
    "blender",
    # Blender's package leaves to chance what its Python side imports: NumPy, and what extensions need in 5.x
    *("python3-numpy", "python3-requests", "python3-cattr", "python3-zstandard"),
    # a screen in memory, OpenGL and Vulkan in software, and something that takes pictures
    *("xvfb", "xauth", "libgl1", "libgl1-mesa-dri", "libglx-mesa0", "libegl1", "libegl-mesa0"),
    *("mesa-vulkan-drivers", "imagemagick"),
]
SCREEN = "1280x800"
TRIES, LIMIT = 2, 600  # of making a system, and the seconds for each


def install_packages(*names):
    """With Debian's apt, as root; False where that cannot be done."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    install = [*apt, "install", "-y", "--no-install-recommends", *names]
    for command in (install, [*apt, "update"], install):
        if attempt(command, 300, environment) and command is install:
            return True
    return False


def unfit():
    """Why no Debian can be made here, or None."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "Debian's Blenders are only run on Linux, on x86-64"
    if os.geteuid() != 0:
        return "to make a Debian with a Blender takes root"
    missing = [tool for tool in ("mmdebstrap", "bwrap") if not shutil.which(tool)]
    if missing and not install_packages("mmdebstrap", "bubblewrap", "debian-archive-keyring"):
        return f"{' and '.join(missing)} is missing and could not be installed"
    return None


def root_of(suite):
    """The root filesystem with Blender, made if it is not there; Unavailable if it cannot be."""
    return _root(f"debian-{suite}", suite, BLENDER, f"Blender {SUITES[suite]}")


def root_with_python(version):
    """The same with a Python that is newer than this system's, which can make environments."""
    return _root(f"debian-python{version}", "sid", [f"python{version}-venv"], f"Python {version}")


def _root(name, suite, packages, purpose):
    folder, recipe = FOLDER / name, " ".join(packages)
    made = folder / "made-of"
    with alone(folder):
        if not (made.exists() and made.read_text() == recipe):
            print(f"getting Debian {suite} with {purpose} into {folder}", file=sys.stderr)
            _make(suite, folder, packages)
            made.write_text(recipe)
    return folder


def _make(suite, folder, packages):
    command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--quiet", f"--include={','.join(packages)}"]
    # the lists of unstable may be older than they say they can be
    command += ['--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Retries "3"']
    command += [f"--dpkgopt=path-exclude=/usr/share/{what}/*" for what in ("man", "doc", "locale")]
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if attempt([*command, suite, str(folder)], LIMIT):
            return
    raise Unavailable(f"Debian {suite} could not be made in {TRIES} tries (see above).")


def inside(root, arguments, shown=(), written=(), environment=None, window=False):
    """A command that runs `arguments` in this Debian; it may see the folders `shown` and change `written`."""
    if window:
        screen = f"-screen 0 {SCREEN}x24 -nolisten tcp"
        arguments = ["xvfb-run", "--auto-servernum", f"--server-args={screen}", *arguments]
    command = ["bwrap", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"]
    for part in ("usr", "etc", "var"):
        command += ["--ro-bind", str(root / part), f"/{part}"]
    for link in ("bin", "sbin", "lib", "lib64"):
        command += ["--symlink", f"usr/{link}", f"/{link}"]
    command += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/run",
        "--dir",
        "/home/artist",
    ]
    for folder in shown:
        command += ["--ro-bind", str(folder), str(folder)]
    for folder in written:
        Path(folder).mkdir(parents=True, exist_ok=True)
        command += ["--bind", str(folder), str(folder)]
    settings = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/artist",
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": "/run",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **(environment or {}),
    }
    command.append("--clearenv")
    for name, value in settings.items():
        command += ["--setenv", name, str(value)]
    return [*command, *map(str, arguments)]
