"""What the Blender at hand was built with."""

import bpy
import pytest

_EXPORTERS = {"alembic": "alembic_export", "usd": "usd_export"}


def needs(kind):
    """Skips in a Blender that is built without it, as Debian's are; the bpy packages have both."""
    if _EXPORTERS[kind] not in dir(bpy.ops.wm):
        assert not getattr(bpy.app, "module", False), f"a bpy package without {kind}"
        pytest.skip(f"this Blender is built without {kind}")
