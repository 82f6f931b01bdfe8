"""F1 over what Ossify shows: each button and each setting opens its part of the manual."""

import bpy
import pytest
from bl_operators.wm import WM_OT_doc_view_manual
from ossify.ui import manual

UNTOLD = {"cancel", "manual"}  # there is nothing to read about them


def opened(name):
    """The anchor that Blender opens for one of its names, None if it knows no page."""
    address = WM_OT_doc_view_manual._lookup_rna_url(name, verbose=False)
    return None if address is None else address.rpartition("#")[2]


def test_every_operator_is_told_about():
    operators = set(dir(bpy.ops.ossify))
    assert set(manual.TOPICS) == operators - UNTOLD
    for name, anchor in manual.TOPICS.items():
        assert opened(f"bpy.ops.ossify.{name}") == anchor
    assert opened("bpy.ops.ossify.cancel").startswith("file:")  # from the beginning


@pytest.mark.parametrize(
    ("setting", "anchor"),
    [
        ("OssifySettings.key_tolerance", "settings"),
        ("OssifyRefit.move_idle", "edit-and-refit"),
        ("OssifyRig.show_error", "report-and-heat-map"),
    ],
)
def test_a_setting_is_told_about(setting, anchor):
    assert opened(f"bpy.types.{setting}") == anchor
    assert opened("bpy.types.Mesh.vertices") != anchor


def test_all_settings_of_a_scene_are_told_about():
    held = {
        prop.fixed_type.identifier
        for prop in bpy.types.Scene.bl_rna.properties
        if prop.identifier.startswith("ossify") and prop.type == "POINTER"
    }
    assert held
    assert held | {"OssifyRig"} == set(manual.SETTINGS)
