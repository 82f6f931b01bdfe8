"""The add-on's rooms that need no Blender, as parts of the package `ossify`; its own opening needs one."""

import sys
import types
from pathlib import Path

import pytest

import made_up

ossify = sys.modules["ossify"] = types.ModuleType("ossify")
ossify.__path__ = [str(Path(__file__).resolve().parents[2] / "addon")]


@pytest.fixture(scope="module")
def eel():
    return made_up.eel(vertices=400, frames=12, bones=3)


@pytest.fixture(scope="module")
def large():
    """Enough work for a job to be caught at it."""
    return made_up.eel(vertices=20000, frames=40, bones=10)
