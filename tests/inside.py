"""Runs inside Blender: installs the extension from its zip, then tests what is installed.

    python tests/inside.py -- ZIP PYTEST RESULT [ARGUMENT...]                        with a bpy package
    blender --background --python tests/inside.py -- ZIP PYTEST RESULT [ARGUMENT...]

PYTEST is a folder with pytest in it; RESULT gets a line with the version and what came of the tests. Settings
and extensions go where BLENDER_USER_RESOURCES says; tools/test_blenders.py makes it a folder to throw away.

RESULT.tests gets a line when a test begins and one when it has ended. Where it is there already, a Blender
died on the way: the test that it died in comes first now, and those that had ended are not run again.
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
        self.log = path.with_name(f"{path.name}.tests")
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.last = {test: word for word, test in (line.split(" ", 1) for line in lines)}

    def pytest_collection_modifyitems(self, config, items):
        ended = [item for item in items if self.last.get(item.nodeid, "began") != "began"]
        config.hook.pytest_deselected(items=ended)
        left = [item for item in items if item not in ended]
        items[:] = sorted(left, key=lambda item: item.nodeid not in self.last)

    def _note(self, word, test):
        with self.log.open("a") as log:
            log.write(f"{word} {test}\n")

    def pytest_runtest_logstart(self, nodeid):
        self.word = "passed"
        self._note("began", nodeid)

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed" and self.word != "failed":
            self.word = report.outcome

    def pytest_runtest_logfinish(self, nodeid):
        self._note(self.word, nodeid)

    @staticmethod
    def _words(stats):
        kinds = ("passed", "failed", "error", "skipped")
        return ", ".join(f"{len(stats[kind])} {kind}" for kind in kinds if stats.get(kind)) or "no tests"

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        words = self._words(terminalreporter.stats)
        self.path.write_text(f"{int(exitstatus)}|{self.version}|{words}")


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
