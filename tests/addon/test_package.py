"""What the zip brought: these tests are about the installed extension, and are skipped in a source tree."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from ossify import native

pytestmark = pytest.mark.skipif("OSSIFY_INSTALLED" not in os.environ, reason="nothing was installed")


def resources():
    return Path(os.environ["BLENDER_USER_RESOURCES"]).resolve()


def test_the_library_comes_from_the_wheel():
    path = native.library_path()
    assert path.parent.name == "ossify_native"
    assert resources() in path.resolve().parents


def test_the_library_has_the_version_of_the_manifest():
    import ossify_native

    assert native.version() == ossify_native.__version__
    assert native.library_path() == ossify_native.library_path()


def test_a_motion_is_solved_with_the_openblas_of_the_wheel():
    rest = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    frames = np.stack([rest + np.float32([0, 0, step]) for step in range(5)])
    _, info = native.decompose(rest, frames, None, native.Settings(bones=2, quality="draft"))
    assert info.rms_percent < 0.1
    if sys.platform == "linux":
        mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
        ours = [path for path in mapped if "libscipy_openblas.so" in path]
        assert [Path(path).resolve().parent for path in ours] == [native.library_path().resolve().parent]


def test_nothing_but_the_addon_was_installed():
    folder = Path(native.__file__).parents[1]
    found = {path.name for path in folder.iterdir()} - {"__pycache__"}
    others = {name for name in found if not name.endswith(".py")}
    rooms = set(
        (
            "adopt base convert edit engine family farm files motion native nodes options put_back record"
            " refit rig skeleton track two_layer ui unwrap"
        ).split()
    )
    assert others <= {"blender_manifest.toml", "LICENSE", "licenses", "manual", "wheels", *rooms}, others
