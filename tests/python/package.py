"""The add-on as the package `ossify` without Blender: its rooms that know no bpy can be imported from it."""

import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if "ossify" not in sys.modules:
    sys.modules["ossify"] = types.ModuleType("ossify")
    sys.modules["ossify"].__path__ = [str(ROOT / "addon")]
