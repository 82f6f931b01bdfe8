"""The platforms the extension is made for, by Blender's names for them."""

import platform
from typing import NamedTuple


class Platform(NamedTuple):
    zig: str  # target of zig's C compiler, with the oldest system it is to run on
    wheel: str  # platform tag of our wheel; pip finds OpenBLAS's by it, too
    library: str


PLATFORMS = {
    "linux-x64": Platform("x86_64-linux-gnu.2.28", "manylinux_2_28_x86_64", "libossify.so"),
    "windows-x64": Platform("x86_64-windows-gnu", "win_amd64", "libossify.dll"),
    "windows-arm64": Platform("aarch64-windows-gnu", "win_arm64", "libossify.dll"),
    "macos-arm64": Platform("aarch64-macos.11.0", "macosx_11_0_arm64", "libossify.dylib"),
    "macos-x64": Platform("x86_64-macos.11.0", "macosx_11_0_x86_64", "libossify.dylib"),
}


def this_platform():
    """Blender's name for this machine, whether it is in the table or not."""
    system, machine = platform.system().lower(), platform.machine().lower()
    system = {"darwin": "macos"}.get(system, system)
    return f"{system}-{ {'x86_64': 'x64', 'amd64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


if __name__ == "__main__":
    print(this_platform())
