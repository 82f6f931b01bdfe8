"""`blender --command ossify convert INPUT... --output OUT`: the same conversion without a screen; `refit`
solves a rig again, `track` puts more motion on it, and `bake` is the way back.

Exit codes: 0 everything was done, 1 an input failed, 2 the arguments are wrong, 3 the library is
missing, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import sys
import traceback
from pathlib import Path

import bpy

from . import formats, native, sources, standing, track
from .bake import bake
from .convert import Step, convert, run
from .options import (
    BAKE_FIELDS,
    CACHE_ENDINGS,
    FIELDS,
    PRESETS,
    REFIT_FIELDS,
    TRACK_FIELDS,
    BakeOptions,
    Options,
    RefitOptions,
    Refusal,
    TrackOptions,
    implied,
    preset_values,
)
from .properties import bake_words_of, refit_words_of, words_of
from .properties_track import track_words_of
from .refit import refit

NAME = "ossify"
DONE, FAILED, WRONG, NO_LIBRARY, INTERRUPTED = 0, 1, 2, 3, 130

# A flag that is given chooses what it belongs to.
_IMPLIES = {
    "bones": ("bones_by", "COUNT"),
    "budget": ("bones_by", "BUDGET"),
    "bones_most": ("bones_by", "BUDGET"),
    "root_place": ("root", "PLACE"),
    "rest_frame": ("rest", "FRAME"),
    "frame_start": ("frames", "CUSTOM"),
    "frame_end": ("frames", "CUSTOM"),
    "key_tolerance": ("keys", "REDUCED"),
}

# Endings of what `bake` writes.
_BAKE_KINDS = {
    ".blend": "SHAPE_KEYS",
    **{ending: kind for kind, endings in CACHE_ENDINGS.items() for ending in endings},
}


# ---- arguments


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
        parser.add_argument(flag, dest=field, type=type(default), metavar="N", help=text)


def _add_bake(verbs) -> None:
    text = "bake a rig back into a cache or shape keys"
    sub = verbs.add_parser("bake", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("input", type=Path, metavar="INPUT", help="a .blend, or what convert reads")
    sub.add_argument(
        "--object", action="append", default=[], metavar="NAME", help="an armature, or a mesh that moves"
    )
    sub.add_argument("--output", type=Path, required=True, metavar="OUT", help=", ".join(_BAKE_KINDS))
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = sub.add_argument_group("settings")
    for field in BAKE_FIELDS:
        if field != "to":  # the ending of the output says it
            _add_option(group, field, bake_words_of(field), getattr(BakeOptions, field))


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
            _add_option(group, field, refit_words_of(field), getattr(RefitOptions, field))


def _add_track(verbs, inputs: str) -> None:
    text = "put other motions of a mesh on its rig, an action for each"
    sub = verbs.add_parser("track", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("rig", type=Path, metavar="RIG.blend", help="a file with a rig made by Ossify")
    sub.add_argument("inputs", nargs="+", type=Path, metavar="SOURCE", help=inputs)
    sub.add_argument("--armature", metavar="NAME", help="which rig of the file")
    sub.add_argument("--object", action="append", default=[], metavar="NAME", help="a mesh of a .blend")
    sub.add_argument("--cache", type=Path, metavar="FILE", help="the .pc2 or .mdd that moves an .obj")
    sub.add_argument("--output", type=Path, required=True, metavar="OUT", help=", ".join(formats.OUTPUTS))
    sub.add_argument("--report", type=Path, metavar="FILE.json", help="figures of every source")
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group = sub.add_argument_group("settings")
    for field in TRACK_FIELDS:
        if field != "name":  # that of the file
            _add_option(group, field, track_words_of(field), getattr(TrackOptions, field))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=NAME, description="Turns moving meshes into rigs.", allow_abbrev=False
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="convert|refit|track|bake|info")
    kinds = ", ".join(formats.INPUTS)
    inputs = f"{kinds} (.obj and .ply with a .pc2 or .mdd), or a folder of numbered .obj or .ply files"
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
            help=f"{', '.join(formats.OUTPUTS)}; with several inputs a path with {{name}} in it, unless"
            " they are takes of one rig (--clips takes)",
        )
        sub.add_argument("--report", type=Path, metavar="FILE.json", help="figures of every input")
        sub.add_argument("--preset", choices=[name.lower() for name in PRESETS])
        sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
        group = sub.add_argument_group("settings")
        for field in FIELDS:
            _add_option(group, field, words_of(field), getattr(Options, field))
    _add_refit(verbs)
    _add_track(verbs, inputs)
    _add_bake(verbs)
    return parser


def options_of(arguments) -> Options:
    """The preset, then the flags, then what the flags imply."""
    values = preset_values(arguments.preset.upper()) if arguments.preset else {}
    given = {name: getattr(arguments, name, None) for name in FIELDS}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name in _IMPLIES and _IMPLIES[name][0] not in given:
            values[_IMPLIES[name][0]] = _IMPLIES[name][1]
    given = {name: value.upper() if "items" in words_of(name) else value for name, value in given.items()}
    values |= implied({name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})
    return Options(**values)


def _given(arguments, fields) -> dict:
    """The flags of these fields that were given; a range that is given is meant."""
    given = {name: getattr(arguments, name, None) for name in fields}
    given = {name: value for name, value in given.items() if value is not None}
    if given.keys() & {"frame_start", "frame_end"}:
        given.setdefault("frames", "custom")
    return {name: value.upper() if isinstance(value, str) else value for name, value in given.items()}


def bake_options_of(arguments) -> BakeOptions:
    return BakeOptions(**_given(arguments, BAKE_FIELDS), to=_BAKE_KINDS[arguments.output.suffix.lower()])


def _check_limits(parser, options, words_of=words_of) -> None:
    for name in (field.name for field in dataclasses.fields(options)):
        words, value = words_of(name), getattr(options, name)
        low, high = words.get("min", -math.inf), words.get("max", math.inf)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not low <= value <= high:
            parser.error(f"--{name.replace('_', '-')} is {value}; it must be from {low} to {high}")


def output_of(path: Path, arguments) -> Path:
    """Where the rig of an input goes."""
    return Path(str(arguments.output).replace("{name}", path.stem))


def _check_output(parser, arguments, together: bool) -> None:
    """together: all inputs go into one output."""
    if arguments.output.suffix.lower() not in formats.OUTPUTS:
        parser.error(f"--output {arguments.output}: the ending must be one of {', '.join(formats.OUTPUTS)}")
    if len(arguments.inputs) > 1 and not together and "{name}" not in str(arguments.output):
        parser.error("several inputs need an --output with {name} in it, which stands for the input's name")
    if any(path.resolve() == output_of(path, arguments).resolve() for path in arguments.inputs):
        parser.error(f"--output {arguments.output} would overwrite an input")
    if len({path.stem for path in arguments.inputs}) < len(arguments.inputs):
        same = "actions of one name" if together else "the same output"
        parser.error(f"two inputs have the same name, and would be written to {same}")


# ---- convert


class _Progress:
    """A line on stderr for every tenth of the way."""

    def __init__(self, name: str, quiet: bool):
        self.name, self.quiet, self.last = name, quiet, -1

    def __call__(self, step: Step) -> bool:
        tenth = int(step.fraction * 10)
        if not self.quiet and tenth > self.last:
            self.last = tenth
            error = f", error {step.error:.2g} %" if step.error is not None else ""
            print(f"{self.name}: {step.stage.lower()}, {10 * tenth} %{error}", file=sys.stderr, flush=True)
        return False


def _forget_source(armature) -> None:
    """The source stands on temporary files: it is not written."""
    rig = armature.ossify
    found = [item.object for item in rig.sources] + [clip.source for clip in rig.clips]
    rig.sources.clear()
    for obj in dict.fromkeys(filter(None, found)):
        mesh = obj.data
        bpy.data.objects.remove(obj)
        bpy.data.meshes.remove(mesh)


def _open_takes(stack: contextlib.ExitStack, paths: list[Path], arguments) -> tuple[list, bool]:
    """One mesh of each file, named after it: the first file as a scene, the others beside it, and the scene
    with the longest range; whether any stands on temporary files."""
    names, ends, temporary = [], [], False
    for path in paths:
        opened = formats.Opened(path, arguments.object, None, beside=bool(names))
        objects = stack.enter_context(opened).objects()
        if len(objects) > 1:
            raise Refusal(f"{path} has {len(objects)} moving meshes; a take is one.")
        objects[0].name = path.stem
        names.append(objects[0].name)
        ends.append(bpy.context.scene.frame_end)
        temporary |= opened.temporary
    bpy.context.scene.frame_end = max(ends)
    return [bpy.data.objects[name] for name in names], temporary


def _open(stack: contextlib.ExitStack, paths: list[Path], arguments) -> tuple[list, bool]:
    """The meshes to convert, and whether they stand on temporary files."""
    if len(paths) > 1:
        return _open_takes(stack, paths, arguments)
    opened = stack.enter_context(formats.Opened(paths[0], arguments.object, arguments.cache))
    return opened.objects(), opened.temporary


def _convert_one(paths: list[Path], arguments, options: Options) -> dict:
    """One rig, of one input or of several takes."""
    path, output = paths[0], output_of(paths[0], arguments)
    with contextlib.ExitStack() as stack:
        objects, temporary = _open(stack, paths, arguments)
        steps = convert(bpy.context.scene, bpy.context.view_layer, objects, options)
        result = run(steps, _Progress(path.name, arguments.quiet))
        if temporary:
            _forget_source(result.armature)
        formats.write(output, result.armature, result.meshes, options.influences)
    for line in result.report.lines():
        print(f"{path.name}: {line}", flush=True)
    return {"output": str(output), "bytes": output.stat().st_size, **result.report.to_json()}


def _sentence(error: Exception) -> str:
    """What nobody foresaw may come from any of Blender's importers: it is told, and fails one input."""
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if isinstance(error, (Refusal, native.OssifyError, OSError)):
        return str(error)
    traceback.print_exception(error, file=sys.stderr)
    return f"It failed ({type(error).__name__}: {error})."


def _write_report(path: Path | None, options, records: list[dict]) -> None:
    if path is not None:
        text = {
            "ossify": native.version(),
            "blender": bpy.app.version_string,
            "settings": dataclasses.asdict(options),
            "inputs": records,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def _convert(parser, arguments) -> int:
    options = options_of(arguments)
    _check_limits(parser, options)
    together = options.clips == "TAKES"
    _check_output(parser, arguments, together)
    native.library()
    records = []
    for paths in [arguments.inputs] if together else [[path] for path in arguments.inputs]:
        record = {"input": str(paths[0]), "ok": True, "error": None}
        if together:
            record["takes"] = list(map(str, paths))
        try:
            record |= _convert_one(paths, arguments, options)
        except Exception as error:
            record |= {"ok": False, "error": _sentence(error)}
            print(f"{paths[0].name}: {record['error']}", file=sys.stderr, flush=True)
        records.append(record)
    _write_report(arguments.report, options, records)
    return DONE if all(record["ok"] for record in records) else FAILED


# ---- refit


def _refit_one(arguments, options: RefitOptions) -> None:
    path, output = arguments.input, arguments.output.absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    with formats.Opened(path, [], None):
        rigs = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE" and obj.ossify.version]
        missing = [name for name in arguments.object if name not in {rig.name for rig in rigs}]
        if missing or not rigs:
            raise Refusal(f"There is no rig {missing[0]} in it." if missing else "There is no rig in it.")
        for rig in rigs:
            if arguments.object and rig.name not in arguments.object:
                continue
            steps = refit(bpy.context.scene, bpy.context.view_layer, rig, options)
            result = run(steps, _Progress(path.name, arguments.quiet))
            before, after = (report.percent(report.rms) for report in (result.before, result.after))
            print(f"{path.name}: {rig.name}: error {before:.3g} % before, {after:.3g} % after", flush=True)
        formats.save(output)


def _refit(parser, arguments) -> int:
    for name in ("input", "output"):
        if getattr(arguments, name).suffix.lower() != ".blend":
            parser.error(f"{getattr(arguments, name)}: rigs are refitted from .blend to .blend")
    native.library()
    try:
        _refit_one(arguments, RefitOptions(**_given(arguments, REFIT_FIELDS)))
    except Exception as error:
        print(f"{arguments.input.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    return DONE


# ---- track


def _rig_of(arguments):
    """The rig of the file, or the one that is named."""
    rigs = [obj for obj in bpy.context.view_layer.objects if obj.type == "ARMATURE" and obj.ossify.version]
    if arguments.armature:
        rigs = [obj for obj in rigs if obj.name == arguments.armature]
        if not rigs:
            raise Refusal(f"{arguments.rig} has no rig made by Ossify named {arguments.armature}.")
    if not rigs:
        raise Refusal(f"{arguments.rig} has no rig made by Ossify.")
    if len(rigs) > 1:
        names = ", ".join(obj.name for obj in rigs)
        raise Refusal(f"{arguments.rig} has several rigs ({names}): choose with --armature.")
    return rigs[0]


def _track_one(path: Path, rig, arguments, options: TrackOptions) -> dict:
    """The source is read beside the rig, and taken out again."""
    with formats.Opened(path, arguments.object, arguments.cache, beside=True) as opened:
        options = dataclasses.replace(options, name=path.stem)
        steps = track.track(bpy.context.scene, bpy.context.view_layer, rig, opened.objects(), options)
        result = run(steps, _Progress(path.name, arguments.quiet))
        opened.remove()
    for line in (*result.notes, result.sentence()):
        print(f"{path.name}: {line}", flush=True)
    return {"input": str(path), **result.to_json()}


def _track_all(arguments, options: TrackOptions) -> list[dict]:
    with formats.Opened(arguments.rig, [], None):
        rig, scene = _rig_of(arguments), bpy.context.scene
        before = scene.frame_start, scene.frame_end
        records = [_track_one(path, rig, arguments, options) for path in arguments.inputs]
        scene.frame_start, scene.frame_end = before
        meshes = standing.meshes_of(rig)
        formats.write(arguments.output, rig, meshes, rig.ossify.settings.influences)
    return records


def _track(parser, arguments) -> int:
    if arguments.rig.suffix.lower() != ".blend":
        parser.error(f"{arguments.rig} is not a .blend file")
    if arguments.output.resolve() == arguments.rig.resolve():
        parser.error(f"--output {arguments.output} would overwrite the rig")
    _check_output(parser, arguments, together=True)
    options = TrackOptions(**_given(arguments, TRACK_FIELDS))
    _check_limits(parser, options, track_words_of)
    native.library()
    try:
        records = _track_all(arguments, options)
    except Exception as error:  # nothing is written unless everything is tracked
        print(f"{arguments.rig.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    _write_report(arguments.report, options, records)
    return DONE


# ---- bake


def _rigs(opened: formats.Opened) -> list:
    """What is named; or the one rig in the file; or what moves."""
    layer = bpy.context.view_layer
    layer.update()
    rigs = [obj for obj in layer.objects if obj.type == "ARMATURE" and obj.ossify.version]
    if not opened.names and len(rigs) == 1:
        return rigs
    return opened.objects()


def _bake_one(arguments, options: BakeOptions) -> None:
    path, output = arguments.input, arguments.output.absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    with formats.Opened(path, arguments.object, None) as opened:
        options.filepath = "" if options.to == "SHAPE_KEYS" else str(output)
        steps = bake(bpy.context.scene, bpy.context.view_layer, _rigs(opened), options)
        baked = run(steps, _Progress(path.name, arguments.quiet))
        if options.to == "SHAPE_KEYS":
            formats.save(output)
    for file in baked.files or [output]:
        print(f"{path.name}: {file}, {baked.samples} samples", flush=True)


def _bake(parser, arguments) -> int:
    if arguments.output.suffix.lower() not in _BAKE_KINDS:
        parser.error(f"--output {arguments.output}: the ending must be one of {', '.join(_BAKE_KINDS)}")
    if arguments.output.resolve() == arguments.input.resolve():
        parser.error(f"--output {arguments.output} would overwrite the input")
    options = bake_options_of(arguments)
    if options.frame_step < 1:
        parser.error(f"--frame-step is {options.frame_step}; it must be at least 1")
    try:
        _bake_one(arguments, options)
    except Exception as error:
        print(f"{arguments.input.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    return DONE


# ---- info


def _info_one(path: Path, arguments) -> dict:
    with formats.Opened(path, arguments.object, arguments.cache) as opened:
        scene, layer = bpy.context.scene, bpy.context.view_layer
        layer.update()
        meshes = [obj for obj in layer.objects if obj.type == "MESH"]
        if arguments.object:
            meshes = opened.objects()
        offers = [dataclasses.asdict(sources.offer(obj, layer)) for obj in meshes]
        return {"frame_start": scene.frame_start, "frame_end": scene.frame_end, "objects": offers}


def _print_info(path: Path, record: dict) -> None:
    print(f"{path}: frames {record['frame_start']} to {record['frame_end']}")
    for offer in record["objects"]:
        motion = ", ".join(offer["motion"]) or "nothing"
        print(f"  {offer['name']}: {offer['vertices']} vertices, moved by {motion}")
        if offer["trouble"]:
            print(f"    {offer['trouble']}")
    if not record["objects"]:
        print("  no meshes")


def _info(arguments) -> int:
    records, code = [], DONE
    for path in arguments.inputs:
        try:
            record = {"input": str(path), "error": None, **_info_one(path, arguments)}
            if not arguments.json:
                _print_info(path, record)
        except Exception as error:
            record, code = {"input": str(path), "error": _sentence(error)}, FAILED
            print(f"{path.name}: {record['error']}", file=sys.stderr)
        records.append(record)
    if arguments.json:
        print(json.dumps(records, indent=1))
    sys.stdout.flush()
    return code


def main(argv: list[str]) -> int:
    """The exit code; nothing is raised."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
        if arguments.verb == "info":
            return _info(arguments)
        verbs = {"convert": _convert, "refit": _refit, "track": _track, "bake": _bake}
        return verbs[arguments.verb](parser, arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else WRONG
    except native.LibraryError as error:
        print(error, file=sys.stderr)
        return NO_LIBRARY
    except OSError as error:  # of the report
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED


_handle = None


def register() -> None:
    global _handle
    _handle = bpy.utils.register_cli_command(NAME, main)


def unregister() -> None:
    bpy.utils.unregister_cli_command(_handle)
