"""Runs inside Blender: installs the extension from its zip, then tests what is installed.

    python tests/inside.py -- ZIP PYTEST RESULT [ARGUMENT...]                        with a bpy package
    blender --background --python tests/inside.py -- ZIP PYTEST RESULT [ARGUMENT...]

PYTEST is a folder with pytest in it; RESULT gets a line with the version and what came of the tests. Settings
and extensions go where BLENDER_USER_RESOURCES says; tools/test_blenders.py makes it a folder to throw away.
"""

import os
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Result:
    """Tells pytest's result to the caller: the exit code of a Blender says little."""

    def __init__(self, path, version):
        self.path, self.version = path, version

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        counts = [
            f"{len(terminalreporter.stats[kind])} {kind}"
            for kind in ("passed", "failed", "error", "skipped")
            if terminalreporter.stats.get(kind)
        ]
        self.path.write_text(f"{int(exitstatus)}|{self.version}|{', '.join(counts) or 'no tests'}")


def install(bpy, path):
    done = bpy.ops.extensions.package_install_files(
        filepath=str(path), repo="user_default", enable_on_install=True
    )
    if done != {"FINISHED"} or "bl_ext.user_default.ossify" not in bpy.context.preferences.addons:
        sys.exit(f"Blender {bpy.app.version_string} did not install {path}.")


def main():
    path, pytest_folder, result, *arguments = sys.argv[sys.argv.index("--") + 1 :]
    import bpy

    install(bpy, path)
    sys.path.append(pytest_folder)
    import pytest

    os.environ["OSSIFY_INSTALLED"] = "1"
    os.environ.pop("OSSIFY_LIBRARY", None)
    # pyproject.toml is for the source tree: nothing of it may be found here
    options = ["-p", "no:cacheprovider", "-o", "pythonpath=", "-o", "testpaths="]
    plugins = [Result(Path(result), bpy.app.version_string)]
    return pytest.main([*options, *(arguments or [str(HERE / "addon")])], plugins)


try:
    code = int(main())
except SystemExit as end:
    print(end, file=sys.stderr)
    code = 1
except BaseException:
    traceback.print_exc()
    code = 1
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # with add-ons enabled, Blender may not come to its end by itself
