"""What the zip brought: these tests are about the installed extension, and are skipped in a source tree."""

import os
import sys
from pathlib import Path

import addon_utils
import bpy
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


MODULE = "bl_ext.user_default.ossify"


def _draws(menu):
    """Functions of ours that are drawn into a menu or panel of Blender's."""
    functions = getattr(getattr(menu, "draw", None), "_draw_funcs", ())
    return {some.__module__ + "." + some.__qualname__ for some in functions if "ossify" in some.__module__}


def _presence():
    """Whatever of the extension Blender knows: classes, operators, properties, drawn menus and handlers."""
    kinds = [kind for name in dir(bpy.types) if isinstance(kind := getattr(bpy.types, name), type)]
    found = {f"class {kind.__name__}" for kind in kinds if kind.__module__.startswith((MODULE, "ossify"))}
    found |= {f"operator {name}" for name in dir(bpy.ops.ossify)}
    for kind in (bpy.types.Object, bpy.types.Scene, bpy.types.WindowManager, bpy.types.Bone):
        names = {item.identifier for item in kind.bl_rna.properties} | set(vars(kind))
        found |= {f"{kind.__name__}.{name}" for name in names if "ossify" in name.lower()}
    for kind in kinds:
        found |= {f"{kind.__name__} draws {name}" for name in _draws(kind)}
    for name in dir(bpy.app.handlers):
        some = getattr(bpy.app.handlers, name)
        some = some if isinstance(some, list) else ()
        found |= {f"{name} {call.__name__}" for call in some if "ossify" in getattr(call, "__module__", "")}
    return found


def test_disabled_nothing_is_left_and_enabled_again_everything_is_back():
    before = _presence()
    assert {"class OSSIFY_OT_convert", "Object.ossify"} <= before
    assert any(" draws " in name for name in before)
    try:
        addon_utils.disable(MODULE)
        assert _presence() == set()
    finally:
        addon_utils.enable(MODULE)
    assert _presence() == before
