"""Bones without a skeleton that are mirror images of each other."""

import chain
import numpy as np
import pytest
import scenes


def flapping(tmp_path, middle=0.0):
    """A sheet with wings on both sides of its middle."""
    sheet = scenes.grid(n=15)
    points = scenes.positions(sheet.data) + np.array([middle, 0, 0], np.float32)
    sheet.data.vertices.foreach_set("co", points.ravel())
    frames = np.repeat(points[None], 8, axis=0)
    for f in range(8):
        wings = np.maximum(np.abs(points[:, 0] - middle) - 0.3, 0)
        frames[f, :, 2] += np.sin(2 * np.pi * f / 8) * wings
    scenes.cached(sheet, tmp_path / "wings.pc2", frames.astype(np.float32))
    return sheet


def test_a_sheet_that_flaps_has_a_left_and_a_right(tmp_path):
    sheet = flapping(tmp_path)
    result = chain.converted(sheet, bones=3, quality="NORMAL", skeleton="AUTO", symmetry="X")
    assert not any("X axis" in note for note in result.report.notes)
    found = {bone.name: bone for bone in result.armature.data.bones if bone.use_deform}
    (left,) = (bone for name, bone in found.items() if name.endswith(".L"))
    right = found[left.name.removesuffix(".L") + ".R"]
    assert left.head_local.x > 0.3
    for end in ("head_local", "tail_local"):
        assert np.array(getattr(left, end)) * [-1, 1, 1] == pytest.approx(
            np.array(getattr(right, end)), abs=1e-3
        )
    assert {group.name for group in result.meshes[0].vertex_groups} >= set(found)


@pytest.mark.parametrize("skeleton", ["NONE", "HIERARCHY"])
def test_a_body_beside_its_x_plane_has_no_sides_and_that_is_told(tmp_path, skeleton):
    sheet = flapping(tmp_path, middle=3.0)
    result = chain.converted(sheet, bones=3, quality="NORMAL", skeleton=skeleton, symmetry="X")
    assert not [bone.name for bone in result.armature.data.bones if bone.name.endswith((".L", ".R"))]
    assert any("X axis" in note for note in result.report.notes)
