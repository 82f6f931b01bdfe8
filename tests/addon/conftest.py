"""The extension in a real Blender: run by the Python of a bpy package, `python -m pytest tests/addon`.

The add-on comes from the source tree with the library that OSSIFY_LIBRARY names (or build/), or, with
OSSIFY_INSTALLED=1, from the extension that is installed in BLENDER_USER_RESOURCES. In the tests it is the
package `ossify` either way.
"""

import gc
import importlib
import importlib.util
import os
import pkgutil
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = "bl_ext.user_default.ossify"

SHARES = ("all", "blender", "first cases")  # of the tests: see tools/test_blenders.py

HAS_BLENDER = importlib.util.find_spec("bpy") is not None

if not HAS_BLENDER:
    collect_ignore_glob = ["*"]
elif "BLENDER_USER_RESOURCES" not in os.environ:
    os.environ["BLENDER_USER_RESOURCES"] = tempfile.mkdtemp(prefix="ossify-tests-")


def _installed():
    import addon_utils

    module = addon_utils.enable(INSTALLED, default_set=True)
    assert module is not None, f"{INSTALLED} is not installed in {os.environ['BLENDER_USER_RESOURCES']}"
    for room in pkgutil.walk_packages(module.__path__, f"{INSTALLED}."):
        if not room.name.endswith("__main__"):
            # under its short name, too, or a test would import a second copy of it
            sys.modules[f"ossify{room.name.removeprefix(INSTALLED)}"] = importlib.import_module(room.name)
    return module


def _source_tree():
    folder = ROOT / "addon"
    spec = importlib.util.spec_from_file_location(
        "ossify", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = sys.modules["ossify"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.register()
    return module


def pytest_configure(config):
    share = os.environ.get("OSSIFY_SHARE", "all")
    if share not in SHARES:
        raise pytest.UsageError(f"OSSIFY_SHARE is {share!r}, and none of {', '.join(SHARES)}.")
    config.addinivalue_line(
        "markers",
        "solver: of what the solver chooses, which no version of Blender changes; run in one Blender",
    )
    if HAS_BLENDER:
        sys.modules["ossify"] = _installed() if os.environ.get("OSSIFY_INSTALLED") else _source_tree()


def _is_left_out(item, share):
    if share == "all":
        return False
    case = getattr(item, "callspec", None)
    is_further = case is not None and any(case.indices.values())
    return item.get_closest_marker("solver") is not None or (share == "first cases" and is_further)


def pytest_collection_modifyitems(config, items):
    share = os.environ.get("OSSIFY_SHARE", "all")
    left_out = {item for item in items if _is_left_out(item, share)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    # After Rigify has made a rig, `bpy.context` of Blender 4.2 and 4.3 goes on naming the scene of that
    # time as its owner, also when that is gone: what is set through it later is written to memory that is
    # not its own.
    items.sort(key=lambda item: "rigify" in item.fixturenames)


def pytest_collection_finish():
    """What is there by now stays: looking through it again and again is most of the time of large lists."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    session.config.ossify_status = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """With add-ons enabled, bpy may not come to its end by itself."""
    if "bpy" in sys.modules and hasattr(config, "ossify_status"):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.ossify_status)


@pytest.fixture(scope="session")
def kept_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(autouse=True)
def fresh_scene(kept_folder):
    import kept

    kept.folder = kept_folder
    kept.fresh()


@pytest.fixture
def monkeypatch(monkeypatch):
    """Rigs are made anew from the first patch on: it may change what they are made with."""
    import kept

    plain = monkeypatch.setattr

    def patch(*arguments, **options):
        kept.folder = None
        plain(*arguments, **options)

    monkeypatch.setattr = patch
    return monkeypatch


def _selected(result):
    import scenes

    scenes.select(result.armature)
    return result


# What the fixtures need imports the add-on, which is not there before pytest is configured.


@pytest.fixture
def sheet():
    """The rig of a sheet that waves, to refit."""
    import refits

    return _selected(refits.sheet_rig())


@pytest.fixture
def creature():
    """The rig of a creature with limbs, to refit."""
    import refits

    return _selected(refits.creature_rig())


@pytest.fixture
def hierarchy():
    """The rig of a creature, the creature, and its true bones."""
    import creature_rigs

    return creature_rigs.converted(fineness=2)


@pytest.fixture
def articulated():
    """The same with joints that hold."""
    import creature_rigs

    return creature_rigs.converted(skeleton="ARTICULATED")


@pytest.fixture
def rigify():
    import addon_utils
    import kept

    addon_utils.enable("rigify", default_set=True)
    kept.fresh()
    yield
    addon_utils.disable("rigify", default_set=True)
