"""`blender --command ossify convert INPUT... --output OUT`: the same conversion without a screen; `refit`
solves a rig again, `track` puts more motion on it, `fit` puts it into other bodies, `unwrap` makes UV maps
for it, and `bake` is the way back.

Exit codes: 0 everything was done, 1 an input failed, 2 the arguments are wrong, 3 the library is
missing, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import traceback
from pathlib import Path

import bpy

from . import command_farm, native
from .adopt.adopt import adopt
from .base import whole
from .base.refusal import Refusal
from .base.steps import Step, run
from .base.words import counted
from .command_line import (
    BAKE_KINDS,
    NAME,
    bake_options_of,
    check_limits,
    check_output,
    given_of,
    make_parser,
    options_of,
    output_of,
)
from .convert.convert import convert
from .engine import export
from .engine.contract import ENGINES
from .family import fit, rigged
from .farm import ranges
from .files import inputs, outputs, overlaps, picture
from .files.bake import bake
from .motion import sources
from .options.bake_words import BAKE_WORDS
from .options.convert_words import CONVERT_WORDS
from .options.family_words import FIT_WORDS
from .options.options import (
    ADOPT_FIELDS,
    BAKE_FIELDS,
    FIELDS,
    FIT_FIELDS,
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
)
from .options.refit_words import REFIT_WORDS
from .options.track_words import TRACK_WORDS
from .options.unwrap_words import UNWRAP_WORDS
from .record import renamed
from .refit.refit import refit
from .rig import standing
from .track import track
from .unwrap.unwrap import unwrap

DONE, FAILED, WRONG, NO_LIBRARY, INTERRUPTED = 0, 1, 2, 3, 130

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
        opened = inputs.Opened(path, arguments.object, None, beside=bool(names))
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
    opened = stack.enter_context(inputs.Opened(paths[0], arguments.object, arguments.cache))
    return opened.objects(), opened.temporary


def _named(rig) -> str:
    """The name of what a rig was made from, as a part of a file's."""
    return bpy.path.clean_name(rig.armature.name.removesuffix(" Rig"))


def _told(path: Path, rig, output: Path) -> dict:
    """The record of a rig that was written; people are told."""
    for line in rig.report.lines():
        print(f"{path.name}: {line}", flush=True)
    return {"output": str(output), "bytes": output.stat().st_size, **rig.report.to_json()}


def _write_rig(path: Path, rig, arguments, influences: int) -> tuple[list[str], dict]:
    """What there is to tell people, and programs."""
    names, target = arguments.bone_names.upper(), arguments.target
    if target is None:
        return outputs.write(path, rig.armature, rig.meshes, influences, names), {}
    written = export.write(path, rig.armature, rig.meshes, influences, ENGINES[target.upper()], names)
    return written.notes, {"target": written.to_json(target)}


def _convert_one(paths: list[Path], arguments, options: Options, guard: overlaps.Guard) -> dict:
    """One rig, of one input or of several takes."""
    path, output = paths[0], output_of(paths[0], arguments)
    if options.clips == "SUBJECTS":  # which are named after their files
        output = Path(str(arguments.output).replace("{name}", "{object}"))
    outputs.prepare(output)
    with contextlib.ExitStack() as stack:
        objects, temporary = _open(stack, paths, arguments)
        guard.reads(overlaps.of_scene())
        scene, layer = bpy.context.scene, bpy.context.view_layer
        if arguments.armature:
            own, names = inputs.own_armature(arguments.armature), [obj.name for obj in objects]
            meshes = [scene.objects[name] for name in names]
            steps = adopt(scene, layer, own, meshes, options, _adopt_options(arguments))
        else:
            steps = convert(scene, layer, objects, options)
        result = run(steps, _Progress(path.name, arguments.quiet))
        rigs, targets = [result, *result.others], {}
        files = [Path(str(output).replace("{object}", _named(rig))) for rig in rigs]
        for rig in rigs if temporary else ():
            _forget_source(rig.armature)
        for number, (rig, written) in enumerate(zip(rigs, files, strict=True)):
            if written not in files[:number]:  # else one file for all of them
                guard.check("--output", written)
                most = rig.armature.ossify.settings.influences
                told, target = _write_rig(written, rig, arguments, most)
                targets[written] = target
                rig.report.notes += told
                for line in told:
                    print(f"{path.name}: {line}", flush=True)
        if arguments.picture:
            picture.render(arguments.picture, result.armature, result.meshes, result.report.worst_frame)
    first, *others = [
        _told(path, rig, written) | targets.get(written, {}) for rig, written in zip(rigs, files, strict=True)
    ]
    return first | ({"others": others} if others else {})


def _sentence(error: Exception) -> str:
    """What nobody foresaw may come from any of Blender's importers: it is told, and fails one input."""
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, (Refusal, native.OssifyError, OSError)):
        return str(error)
    traceback.print_exception(error, file=sys.stderr)
    return f"It failed ({type(error).__name__}: {error})."


def _guard(parser, arguments, written: list[Path], read: list[Path]) -> overlaps.Guard:
    """Over what is written; wrong arguments are those by which two files would be one."""
    report = getattr(arguments, "report", None)
    shown = getattr(arguments, "picture", None)
    named = [("--output", path) for path in written]
    named += [(flag, path) for flag, path in (("--report", report), ("--picture", shown)) if path]
    guard = overlaps.Guard(named)
    try:
        guard.check_outputs()
        for path in read:
            guard.reads(overlaps.of_input(path, getattr(arguments, "cache", None)))
    except Refusal as error:
        parser.error(str(error))
    for flag, path in (("--report", report), ("--picture", shown)):
        if path:
            outputs.prepare(path, flag)
    return guard


def _write_report(path: Path | None, guard: overlaps.Guard, options, records: list[dict]) -> None:
    if path is not None:
        guard.check("--report", path)
        text = {
            "ossify": native.version(),
            "blender": bpy.app.version_string,
            "settings": dataclasses.asdict(options),
            "inputs": records,
        }
        whole.write_text(path, json.dumps(text, indent=1) + "\n")


def _adopt_options(arguments) -> AdoptOptions:
    return AdoptOptions(**given_of(arguments, ADOPT_FIELDS))


def _check_armature(parser, arguments, options: Options) -> None:
    """What cannot be meant with --armature, or without it."""
    alone = [field for field in ADOPT_FIELDS if getattr(arguments, field) is not None]
    if not arguments.armature:
        if alone:
            parser.error(f"--{alone[0].replace('_', '-')} is of --armature, which is not given")
        return
    path, name = inputs.armature_named(arguments.armature)
    if path is not None and path.suffix.lower() != ".blend":
        parser.error(f"--armature {arguments.armature}: armatures are read from .blend files")
    if options.each:
        parser.error("--each makes a rig for each object; --armature is one")
    if options.clips == "SUBJECTS":
        parser.error("--subjects makes a rig for each body; --armature is one")
    if path is None and name is None:
        parser.error("--armature is FILE.blend, FILE.blend:NAME or :NAME")


def _convert(parser, arguments) -> int:
    options = options_of(arguments)
    _check_armature(parser, arguments, options)
    check_limits(parser, options, FIELDS, CONVERT_WORDS)
    together = options.clips in ("TAKES", "SUBJECTS")
    check_output(parser, arguments, together)
    if arguments.picture and len(arguments.inputs) > 1 and not together:
        parser.error("--picture is of one rig: give one input")
    several = [arguments.inputs] if together else [[path] for path in arguments.inputs]
    apart = arguments.inputs if options.clips == "SUBJECTS" else [paths[0] for paths in several]
    written = list(dict.fromkeys(output_of(path, arguments) for path in apart))
    rigs = [inputs.armature_named(arguments.armature)[0]] if arguments.armature else []
    guard = _guard(parser, arguments, written, [*arguments.inputs, *filter(None, rigs)])
    native.library()
    records = []
    for paths in several:
        record = {"input": str(paths[0]), "ok": True, "error": None}
        if together:
            record["subjects" if options.clips == "SUBJECTS" else "takes"] = list(map(str, paths))
        try:
            record |= _convert_one(paths, arguments, options, guard)
        except Exception as error:
            record |= {"ok": False, "error": _sentence(error)}
            print(f"{paths[0].name}: {record['error']}", file=sys.stderr, flush=True)
        records.append(record)
    _write_report(arguments.report, guard, options, records)
    return DONE if all(record["ok"] for record in records) else FAILED


# ---- refit


def _refit_one(arguments, options: RefitOptions, guard: overlaps.Guard) -> None:
    path, output = arguments.input, arguments.output.absolute()
    outputs.prepare(output)
    with inputs.Opened(path, [], None):
        guard.reads(overlaps.of_scene())
        rigs = list(filter(standing.is_rig, bpy.context.scene.objects))
        missing = [name for name in arguments.object if name not in {rig.name for rig in rigs}]
        if missing or not rigs:
            raise Refusal(f"There is no rig {missing[0]} in it." if missing else "There is no rig in it.")
        for rig in rigs:
            if arguments.object and rig.name not in arguments.object:
                continue
            renamed.follow(rig)
            steps = refit(bpy.context.scene, bpy.context.view_layer, rig, options)
            result = run(steps, _Progress(path.name, arguments.quiet))
            before, after = (report.percent(report.rms) for report in (result.before, result.after))
            for line in (*result.notes, f"error {before:.3g} % before, {after:.3g} % after"):
                print(f"{path.name}: {rig.name}: {line}", flush=True)
        outputs.save(output)


def _refit(parser, arguments) -> int:
    for name in ("input", "output"):
        if getattr(arguments, name).suffix.lower() != ".blend":
            parser.error(f"{getattr(arguments, name)}: rigs are refitted from .blend to .blend")
    guard = _guard(parser, arguments, [arguments.output], [arguments.input])
    options = RefitOptions(**given_of(arguments, REFIT_FIELDS))
    check_limits(parser, options, REFIT_FIELDS, REFIT_WORDS)
    native.library()
    try:
        _refit_one(arguments, options, guard)
    except Exception as error:
        print(f"{arguments.input.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    return DONE


# ---- track


def _rig_of(arguments):
    """The rig of the file, or the one that is named."""
    rigs = list(filter(standing.is_rig, bpy.context.view_layer.objects))
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


def _track_one(path: Path, rig, arguments, options: TrackOptions, guard: overlaps.Guard) -> dict:
    """The source is read beside the rig, and taken out again."""
    with inputs.Opened(path, arguments.object, arguments.cache, beside=True) as opened:
        guard.reads(overlaps.of_scene())
        options = dataclasses.replace(options, name=path.stem)
        renamed.follow(rig)
        steps = track.track(bpy.context.scene, bpy.context.view_layer, rig, opened.objects(), options)
        result = run(steps, _Progress(path.name, arguments.quiet))
        opened.remove()
    for line in (*result.notes, result.sentence()):
        print(f"{path.name}: {line}", flush=True)
    return {"input": str(path), **result.to_json()}


def _track_all(arguments, options: TrackOptions, guard: overlaps.Guard) -> list[dict]:
    outputs.prepare(arguments.output)
    with inputs.Opened(arguments.rig, [], None):
        rig, scene = _rig_of(arguments), bpy.context.scene
        before = scene.frame_start, scene.frame_end
        records = [_track_one(path, rig, arguments, options, guard) for path in arguments.inputs]
        scene.frame_start, scene.frame_end = before
        meshes = standing.meshes_of(rig)
        for line in outputs.write(arguments.output, rig, meshes, rig.ossify.settings.influences):
            print(line, flush=True)
    return records


def _track(parser, arguments) -> int:
    if arguments.rig.suffix.lower() != ".blend":
        parser.error(f"{arguments.rig} is not a .blend file")
    check_output(parser, arguments, together=True)
    guard = _guard(parser, arguments, [arguments.output], [arguments.rig, *arguments.inputs])
    options = TrackOptions(**given_of(arguments, TRACK_FIELDS))
    check_limits(parser, options, TRACK_FIELDS, TRACK_WORDS)
    native.library()
    try:
        records = _track_all(arguments, options, guard)
    except Exception as error:  # nothing is written unless everything is tracked
        print(f"{arguments.rig.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    _write_report(arguments.report, guard, options, records)
    return DONE


# ---- fit


def _rigged_meshes(arguments) -> list:
    """Those that are named, or all that an armature moves: the first is copied, others are learnt from."""
    layer = bpy.context.view_layer
    layer.update()
    found = [obj for obj in layer.objects if rigged.armature_of(obj) is not None]
    missing = [name for name in arguments.object if name not in {obj.name for obj in found}]
    if missing or not found:
        which = f"no rigged mesh named {missing[0]}" if missing else "no mesh that an armature moves"
        raise Refusal(f"{arguments.rig} has {which}.")
    found = [obj for obj in found if obj.name in arguments.object] if arguments.object else found
    if len({len(obj.data.vertices) for obj in found}) > 1:
        names = ", ".join(obj.name for obj in found)
        raise Refusal(f"{arguments.rig} has several rigged meshes ({names}): choose with --object.")
    return found


def _new_bodies(arguments, guard: overlaps.Guard) -> list[tuple[Path, list]]:
    """The meshes of each input, named after it."""
    found = []
    for path in arguments.inputs:
        with inputs.Opened(path, [], None, beside=True, still=True) as opened:
            guard.reads(overlaps.of_scene())
            meshes = opened.objects()
            for obj in meshes:
                obj.name = path.stem if len(meshes) == 1 else f"{path.stem} {obj.name}"
        found.append((path, [obj.name for obj in meshes]))
    return [(path, [bpy.data.objects[name] for name in names]) for path, names in found]


def _fit_all(arguments, options: FitOptions, guard: overlaps.Guard) -> None:
    outputs.prepare(arguments.output)
    with inputs.Opened(arguments.rig, [], None):
        first, *known = _rigged_meshes(arguments)
        before = bpy.context.scene.frame_start, bpy.context.scene.frame_end
        new = _new_bodies(arguments, guard)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = before
        others = [*known, *(obj for _, meshes in new for obj in meshes)]
        steps = fit.fit(bpy.context.scene, bpy.context.view_layer, first, others, options)
        fitted = run(steps, _Progress(arguments.rig.name, arguments.quiet))
        for line in (*fitted.notes, fitted.sentence()):
            print(f"{arguments.rig.name}: {line}", flush=True)
        if arguments.output.suffix.lower() == ".blend":
            outputs.save(arguments.output)
            return
        most = max(len(vertex.groups) for vertex in first.data.vertices)
        for path, (obj, *_more) in new:
            armature = rigged.armature_of(obj)
            outputs.write(output_of(path, arguments), armature, [obj], min(most, native.MAX_INFLUENCES))


def _fit(parser, arguments) -> int:
    if arguments.rig.suffix.lower() != ".blend":
        parser.error(f"{arguments.rig} is not a .blend file")
    check_output(parser, arguments, together=arguments.output.suffix.lower() == ".blend")
    written = list(dict.fromkeys(output_of(path, arguments) for path in arguments.inputs))
    guard = _guard(parser, arguments, written, [arguments.rig, *arguments.inputs])
    options = FitOptions(**given_of(arguments, FIT_FIELDS))
    check_limits(parser, options, FIT_FIELDS, FIT_WORDS)
    native.library()
    try:
        _fit_all(arguments, options, guard)
    except Exception as error:  # nothing is written unless every body is fitted
        print(f"{arguments.rig.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    return DONE


# ---- unwrap


def _unwrap_all(arguments, options: UnwrapOptions, guard: overlaps.Guard) -> list[dict]:
    path, records = arguments.input, []
    outputs.prepare(arguments.output)
    with inputs.Opened(path, arguments.object, arguments.cache) as opened:
        guard.reads(overlaps.of_scene())
        for obj in opened.objects():
            steps = unwrap(bpy.context.scene, bpy.context.view_layer, obj, options)
            result = run(steps, _Progress(obj.name, arguments.quiet))
            for line in (*result.notes, result.sentence()):
                print(f"{path.name}: {result.object}: {line}", flush=True)
            records.append({"input": str(path), **result.to_json()})
        outputs.save(arguments.output)
    return records


def _unwrap(parser, arguments) -> int:
    if arguments.output.suffix.lower() != ".blend":
        parser.error(f"--output {arguments.output}: the ending must be .blend")
    given = {**given_of(arguments, UNWRAP_FIELDS), **({"name": arguments.name} if arguments.name else {})}
    options = UnwrapOptions(**given)
    guard = _guard(parser, arguments, [arguments.output], [arguments.input])
    check_limits(parser, options, UNWRAP_FIELDS, UNWRAP_WORDS)
    native.library()
    try:
        records = _unwrap_all(arguments, options, guard)
    except Exception as error:  # nothing is written unless every mesh is unwrapped
        print(f"{arguments.input.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    _write_report(arguments.report, guard, options, records)
    return DONE


# ---- bake


def _rigs(opened: inputs.Opened) -> list:
    """What is named; or the one rig in the file; or what moves."""
    layer = bpy.context.view_layer
    layer.update()
    rigs = list(filter(standing.is_rig, layer.objects))
    if not opened.names and len(rigs) == 1:
        return rigs
    return opened.objects()


def _bake_one(arguments, options: BakeOptions, guard: overlaps.Guard) -> None:
    path, output = arguments.input, arguments.output.absolute()
    outputs.prepare(output)
    with inputs.Opened(path, arguments.object, None) as opened:
        guard.reads(overlaps.of_scene())
        options.filepath = "" if options.to == "SHAPE_KEYS" else str(output)
        steps = bake(bpy.context.scene, bpy.context.view_layer, _rigs(opened), options)
        baked = run(steps, _Progress(path.name, arguments.quiet))
        if options.to == "SHAPE_KEYS":
            outputs.save(output)
    for file in baked.files or [output]:
        print(f"{path.name}: {file}, {counted(baked.samples, 'sample')}", flush=True)


def _bake(parser, arguments) -> int:
    if arguments.output.suffix.lower() not in BAKE_KINDS:
        parser.error(f"--output {arguments.output}: the ending must be one of {', '.join(BAKE_KINDS)}")
    guard = _guard(parser, arguments, [arguments.output], [arguments.input])
    options = bake_options_of(arguments)
    check_limits(parser, options, BAKE_FIELDS, BAKE_WORDS)
    try:
        _bake_one(arguments, options, guard)
    except Exception as error:
        print(f"{arguments.input.name}: {_sentence(error)}", file=sys.stderr, flush=True)
        return FAILED
    return DONE


# ---- info


def _info_one(path: Path, arguments) -> dict:
    with inputs.Opened(path, arguments.object, arguments.cache) as opened:
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
        print(f"  {offer['name']}: {counted(offer['vertices'], 'vertex')}, moved by {motion}")
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


def _check_flags(ending: str, flags: list[str]) -> None:
    """What every task would be refused for is refused once."""
    parser = make_parser()
    arguments = parser.parse_args(["convert", "INPUT", "--output", f"OUT{ending}", *flags])
    options = options_of(arguments)
    _check_armature(parser, arguments, options)
    check_limits(parser, options, FIELDS, CONVERT_WORDS)
    check_output(parser, arguments, options.clips in ("TAKES", "SUBJECTS"))


def _farm(arguments, flags: list[str]) -> int:
    flags = command_farm.checked(flags, None)
    _check_flags(arguments.format, flags)
    return command_farm.farm(arguments, flags)


def _sweep(arguments, flags: list[str]) -> int:
    axis = command_farm.axis_of(arguments)
    flags = command_farm.checked(flags, axis)
    for value in ranges.values(arguments.values):
        _check_flags(arguments.format, [*flags, f"--{axis}", value])
    return command_farm.sweep(arguments, flags)


_FARM = {
    "farm": _farm,
    "sweep": _sweep,
    "task": lambda arguments, _flags: command_farm.task(arguments, main),
    "gather": lambda arguments, _flags: command_farm.gather_all(arguments),
}


_VERBS = {
    "convert": _convert,
    "refit": _refit,
    "track": _track,
    "fit": _fit,
    "unwrap": _unwrap,
    "bake": _bake,
}


def main(argv: list[str]) -> int:
    """The exit code; nothing is raised."""
    parser = make_parser()
    try:
        argv, flags = command_farm.split(argv)
        arguments = parser.parse_args(argv)
        if arguments.verb in _FARM:
            return _FARM[arguments.verb](arguments, flags)
        if arguments.verb == "info":
            return _info(arguments)
        return _VERBS[arguments.verb](parser, arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else WRONG
    except native.LibraryError as error:
        print(error, file=sys.stderr)
        return NO_LIBRARY
    except (OSError, Refusal) as error:  # of the report
        print(_sentence(error), file=sys.stderr)
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
