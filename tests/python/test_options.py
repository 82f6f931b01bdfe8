"""Choices that contradict each other, and words that count."""

import pytest
from ossify.base import words
from ossify.options import options


def test_flexible_bones_have_no_skeleton():
    assert options.contradiction(options.Options(bone_kind="FLEXIBLE")) is None  # it is left to the motion
    clash = options.Options(bone_kind="FLEXIBLE", skeleton="HIERARCHY")
    assert "choose rigid bones" in options.contradiction(clash)
    assert options.contradiction(options.Options(bone_kind="FLEXIBLE", skeleton="NONE")) is None
    assert options.implied({"bone_kind": "FLEXIBLE"}) == {"bone_kind": "FLEXIBLE", "skeleton": "NONE"}
    for name in options.PRESETS:
        assert options.contradiction(options.Options(**options.preset_values(name))) is None


def test_a_place_that_is_none_is_refused():
    nowhere = options.Options(root="PLACE", root_place=(0.0, float("nan"), 0.0))
    assert "not finite" in options.contradiction(nowhere)


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "vertex", "1 vertex"),
        (2, "mesh", "2 meshes"),
        (0, "frame", "0 frames"),
        (1024, "key", "1,024 keys"),
    ],
)
def test_one_thing_is_counted_as_one(count, noun, said):
    assert words.counted(count, noun) == said
