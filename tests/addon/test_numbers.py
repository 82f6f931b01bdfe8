"""Numbers on the command line that nobody can mean."""

import math

import pytest
from commands import run
from ossify import command
from ossify.options import options

HUGE = ("99999999999999", "-99999999999999", "9" * 400, "nan", "inf", "-inf", "1e999", "x", "", "0x10", "1.5")


def flags():
    """Every flag that takes a number, by verb."""
    for verb, defaults, fields in (
        ("convert", options.Options, options.FIELDS),
        ("refit", options.RefitOptions, options.REFIT_FIELDS),
        ("track", options.TrackOptions, options.TRACK_FIELDS),
        ("bake", options.BakeOptions, options.BAKE_FIELDS),
    ):
        for field in fields:
            if type(getattr(defaults, field)) in (int, float):
                yield verb, field


@pytest.mark.parametrize(("verb", "field"), list(flags()), ids=str)
def test_a_number_that_cannot_be_meant_is_a_wrong_argument(tmp_path, capsys, verb, field):
    for number in HUGE:
        given = ["gone.blend", "gone.abc"] if verb == "track" else ["gone.blend"]
        flag = f"--{field.replace('_', '-')}={number}"
        code = run(verb, *given, "--output", tmp_path / "rig.blend", flag)
        said = capsys.readouterr().err
        assert "Traceback" not in said
        if code != command.WRONG:  # a number that it can be
            assert code == command.FAILED
            assert "is not there" in said
            assert math.isfinite(float(number))
