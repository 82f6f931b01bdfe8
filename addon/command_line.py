"""What may be typed after `blender --command ossify`: a flag for every setting, with the words of its
tooltip, and what cannot be meant.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import command_farm
from .engine.contract import ENGINES, ending_trouble
from .files.inputs import INPUTS
from .files.outputs import OUTPUTS
from .files.retarget import NAMES as BONE_NAMES
from .files.sequence import KINDS as SEQUENCES
from .options.adopt_words import ADOPT_WORDS
from .options.bake_words import BAKE_WORDS
from .options.convert_words import CONVERT_WORDS
from .options.family_words import FIT_WORDS
from .options.options import (
    ADOPT_FIELDS,
    BAKE_FIELDS,
    CACHE_ENDINGS,
    FIELDS,
    FIT_FIELDS,
    PRESETS,
    REFIT_FIELDS,
    TRACK_FIELDS,
    UNWRAP_FIELDS,
    AdoptOptions,
    BakeOptions,
    FitOptions,
    Options,
    RefitOptions,
    TrackOptions,
    UnwrapOptions,
    implied,
    preset_values,
)
from .options.refit_words import REFIT_WORDS
from .options.track_words import TRACK_WORDS
from .options.unwrap_words import UNWRAP_WORDS

NAME = "ossify"

# Endings of what `bake` writes.
BAKE_KINDS = {
    ".blend": "SHAPE_KEYS",
    **{ending: kind for kind, endings in CACHE_ENDINGS.items() for ending in endings},
}


def _add_option(parser, field: str, words: dict, default) -> None:
    """A flag for one setting, with the words of its tooltip."""
    flag = "--" + field.replace("_", "-")
    text = f"{words['description']} (default: {str(default).lower()})".replace("%", "%%")
    if isinstance(default, bool):
        parser.add_argument(flag, dest=field, default=None, action=argparse.BooleanOptionalAction, help=text)
    elif "items" in words:
        choices = [item[0].lower() for item in words["items"]]
        parser.add_argument(flag, dest=field, choices=choices, help=text)
    elif isinstance(default, tuple):
        parser.add_argument(flag, dest=field, type=float, nargs=len(default), metavar=tuple("XYZ"), help=text)
    else:
        unsaid = {"nargs": "?", "const": words["unsaid"]} if "unsaid" in words else {}
        parser.add_argument(flag, dest=field, type=type(default), metavar="N", help=text, **unsaid)


def _add_bake(verbs) -> None:
    text = "bake a rig back into a cache or shape keys"
    sub = verbs.add_parser("bake", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("input", type=Path, metavar="INPUT", help="a .blend, or what convert reads")
    sub.add_argument(
        "--object", action="append", default=[], metavar="NAME", help="an armature, or a mesh that moves"
    )
    sub.add_argument("--output", type=Path, required=True, metavar="OUT", help=", ".join(BAKE_KINDS))
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = sub.add_argument_group("settings")
    for field in BAKE_FIELDS:
        if field != "to":  # the ending of the output says it
            _add_option(group, field, BAKE_WORDS[field], getattr(BakeOptions, field))


def _add_refit(verbs) -> None:
    text = "solve a rig again from what it is now"
    sub = verbs.add_parser("refit", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("input", type=Path, metavar="INPUT", help="a .blend with a rig")
    sub.add_argument("--object", action="append", default=[], metavar="NAME", help="one of several rigs")
    sub.add_argument("--output", type=Path, required=True, metavar="OUT", help=".blend")
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = sub.add_argument_group("settings")
    for field in REFIT_FIELDS:
        if field != "only":  # nothing is selected here
            _add_option(group, field, REFIT_WORDS[field], getattr(RefitOptions, field))


def _add_track(verbs, inputs: str) -> None:
    text = "put other motions of a mesh on its rig, an action for each"
    sub = verbs.add_parser("track", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("rig", type=Path, metavar="RIG.blend", help="a file with a rig made by Ossify")
    sub.add_argument("inputs", nargs="+", type=Path, metavar="SOURCE", help=inputs)
    sub.add_argument("--armature", metavar="NAME", help="which rig of the file")
    sub.add_argument("--object", action="append", default=[], metavar="NAME", help="a mesh of a .blend")
    sub.add_argument("--cache", type=Path, metavar="FILE", help="the .pc2 or .mdd that moves an .obj")
    sub.add_argument("--output", type=Path, required=True, metavar="OUT", help=", ".join(OUTPUTS))
    sub.add_argument("--report", type=Path, metavar="FILE.json", help="figures of every source")
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = sub.add_argument_group("settings")
    for field in TRACK_FIELDS:
        if field != "name":  # that of the file
            _add_option(group, field, TRACK_WORDS[field], getattr(TrackOptions, field))


def _add_fit(verbs) -> None:
    text = "put the rig of one body into others with the same vertices"
    sub = verbs.add_parser("fit", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("rig", type=Path, metavar="RIG.blend", help="a file with a rigged mesh, whoever made it")
    sub.add_argument("inputs", nargs="+", type=Path, metavar="BODY", help=", ".join(INPUTS))
    sub.add_argument(
        "--object", action="append", default=[], metavar="NAME", help="the rigged mesh, or several"
    )
    sub.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help=f"{', '.join(OUTPUTS)}; with {{name}} in it for the body's, but for .blend, which holds all",
    )
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = sub.add_argument_group("settings")
    for field in FIT_FIELDS:
        _add_option(group, field, FIT_WORDS[field], getattr(FitOptions, field))


def _add_unwrap(verbs, inputs: str) -> None:
    text = "make UV maps for a whole motion"
    sub = verbs.add_parser("unwrap", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("input", type=Path, metavar="INPUT", help=inputs)
    sub.add_argument("--object", action="append", default=[], metavar="NAME", help="a mesh of a .blend")
    sub.add_argument("--cache", type=Path, metavar="FILE", help="the .pc2 or .mdd that moves an .obj")
    sub.add_argument("--output", type=Path, required=True, metavar="OUT", help=".blend")
    sub.add_argument("--report", type=Path, metavar="FILE.json", help="figures of every mesh")
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = sub.add_argument_group("settings")
    for field in UNWRAP_FIELDS:
        _add_option(group, field, UNWRAP_WORDS[field], getattr(UnwrapOptions, field))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=NAME, description="Turns moving meshes into rigs.", allow_abbrev=False
    )
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="convert|refit|track|fit|unwrap|bake|info|farm|sweep|task|gather"
    )
    kinds = ", ".join(INPUTS)
    inputs = (
        f"{kinds} (.obj and .ply with a .pc2 or .mdd), or a folder of numbered files ({', '.join(SEQUENCES)})"
    )
    for verb, text in (("convert", "make rigs"), ("info", "say what is inside")):
        sub = verbs.add_parser(verb, help=text, description=text.capitalize() + ".", allow_abbrev=False)
        sub.add_argument("inputs", nargs="+", type=Path, metavar="INPUT", help=inputs)
        sub.add_argument("--object", action="append", default=[], metavar="NAME", help="a mesh of a .blend")
        sub.add_argument("--cache", type=Path, metavar="FILE", help="the .pc2 or .mdd that moves an .obj")
        if verb == "info":
            sub.add_argument("--json", action="store_true", help="for programs")
            continue
        sub.add_argument(
            "--output",
            type=Path,
            required=True,
            metavar="OUT",
            help=f"{', '.join(OUTPUTS)}; with several inputs a path with {{name}} in it, unless"
            " they are takes of one rig (--clips takes); with --each {object} stands for the object",
        )
        sub.add_argument("--report", type=Path, metavar="FILE.json", help="figures of every input")
        sub.add_argument(
            "--bone-names",
            choices=[name.lower() for name, *_ in BONE_NAMES],
            default="as_is",
            help="what bones are called in a glTF, FBX or USD file, with --names human: as another program"
            " retargets to them (default: as_is)",
        )
        sub.add_argument(
            "--picture", type=Path, metavar="FILE.png", help="a picture of the rig, of one input"
        )
        sub.add_argument(
            "--armature",
            metavar="FILE.blend[:NAME]",
            help="an armature of your own to rig the mesh to: its bones stay, weights are solved, and poses"
            " if it stands still; :NAME alone is one of the input's own",
        )
        sub.add_argument(
            "--subjects",
            action="store_true",
            help="inputs are different bodies with the same vertices: solved together, a rig for each"
            " (--clips subjects)",
        )
        sub.add_argument(
            "--target",
            choices=[name.lower() for name in ENGINES],
            help="write for an engine: its names, influences and kind of file; what is written is read again"
            " and measured",
        )
        sub.add_argument("--preset", choices=[name.lower() for name in PRESETS])
        sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
        group = sub.add_argument_group("settings")
        for field in FIELDS:
            _add_option(group, field, CONVERT_WORDS[field], getattr(Options, field))
        group = sub.add_argument_group("settings of --armature")
        for field in ADOPT_FIELDS:
            _add_option(group, field, ADOPT_WORDS[field], getattr(AdoptOptions, field))
    _add_refit(verbs)
    _add_track(verbs, inputs)
    _add_fit(verbs)
    _add_unwrap(verbs, inputs)
    _add_bake(verbs)
    command_farm.add_verbs(verbs, inputs)
    return parser


def options_of(arguments) -> Options:
    """The preset, then what the flags imply, then the flags."""
    values = preset_values(arguments.preset.upper()) if arguments.preset else {}
    given = {name: getattr(arguments, name, None) for name in FIELDS}
    given = {name: value for name, value in given.items() if value is not None}
    if getattr(arguments, "subjects", False):
        given["clips"] = "subjects"
    given = {
        name: value.upper() if "items" in CONVERT_WORDS[name] else value for name, value in given.items()
    }
    values |= implied({name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})
    if getattr(arguments, "target", None):
        most = ENGINES[arguments.target.upper()].influences
        values["influences"] = min(values.get("influences", Options.influences), most)
    return Options(**values)


def given_of(arguments, fields) -> dict:
    """The flags of these fields that were given; a range that is given is meant."""
    given = {name: getattr(arguments, name, None) for name in fields}
    given = {name: value for name, value in given.items() if value is not None}
    if given.keys() & {"frame_start", "frame_end"}:
        given.setdefault("frames", "custom")
    return {name: value.upper() if isinstance(value, str) else value for name, value in given.items()}


def bake_options_of(arguments) -> BakeOptions:
    return BakeOptions(**given_of(arguments, BAKE_FIELDS), to=BAKE_KINDS[arguments.output.suffix.lower()])


# What a setting holds on the screen: a whole number of 32 bits, or a fraction of as many.
_MOST = {int: 2**31 - 1, float: 3.4e38}


def check_limits(parser, options, fields, words_of: dict) -> None:
    """The same limits as on the screen."""
    for name in fields:
        words, values = words_of[name], getattr(options, name)
        for value in values if isinstance(values, tuple) else (values,):
            if type(value) not in _MOST:
                continue
            most = _MOST[type(value)]
            low, high = words.get("min", -most), words.get("max", most)
            if not low <= value <= high:  # nor what is no number
                range_words = f"from {low} to {high}" if "max" in words or value > high else f"at least {low}"
                parser.error(f"--{name.replace('_', '-')} is {value}; it must be {range_words}")


def output_of(path: Path, arguments) -> Path:
    """Where the rig of an input goes."""
    return Path(str(arguments.output).replace("{name}", path.stem))


def _bodies_apart(arguments) -> bool:
    """Whether each body has a file of its own."""
    several = getattr(arguments, "subjects", False) or getattr(arguments, "clips", None) == "subjects"
    return several and arguments.output.suffix.lower() != ".blend"


def check_output(parser, arguments, together: bool) -> None:
    """together: all inputs go into one output."""
    if arguments.output.suffix.lower() not in OUTPUTS:
        parser.error(f"--output {arguments.output}: the ending must be one of {', '.join(OUTPUTS)}")
    wanted = getattr(arguments, "bone_names", "as_is")
    if wanted != "as_is" and (arguments.output.suffix.lower() == ".blend" or arguments.names != "human"):
        parser.error("--bone-names is for glTF, FBX and USD files, of a rig with --names human")
    target = getattr(arguments, "target", None)
    trouble = ending_trouble(ENGINES[target.upper()], arguments.output) if target else None
    if trouble:
        parser.error(f"--output {trouble}")
    if len(arguments.inputs) > 1 and not together and "{name}" not in str(arguments.output):
        parser.error("several inputs need an --output with {name} in it, which stands for the input's name")
    apart = getattr(arguments, "each", None) and arguments.output.suffix.lower() != ".blend"
    if _bodies_apart(arguments) and "{name}" not in str(arguments.output):
        parser.error("several bodies need an --output with {name} in it, or a .blend, which holds all rigs")
    if apart and "{object}" not in str(arguments.output):
        parser.error("--each needs an --output with {object} in it, or a .blend, which holds all rigs")
    if len({path.stem for path in arguments.inputs}) < len(arguments.inputs):
        same = "actions of one name" if together else "the same output"
        parser.error(f"two inputs have the same name, and would be written to {same}")
