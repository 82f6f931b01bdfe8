"""`farm`, `sweep`, `task` and `gather` of the command line: many shots, on schedulers that studios have."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from .base import whole
from .base.refusal import Refusal
from .base.words import counted
from .farm import gather, job, ranges, schedulers
from .files import inputs, outputs, overlaps
from .files.outputs import OUTPUTS

PROGRAM = "blender --command ossify"
DONE, FAILED = 0, 1
_OWN = ("--output", "--report", "--picture", "--quiet")  # what every task says itself
_FILES = ("--armature", "--cache")


def _add_places(sub) -> None:
    sub.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="for the job, rigs and report"
    )
    sub.add_argument("--format", default=".glb", choices=OUTPUTS, help="of the rigs (default: .glb)")
    sub.add_argument(
        "--program", default=PROGRAM, metavar="WORDS", help=f"as workers call it (default: {PROGRAM})"
    )


def add_verbs(verbs, inputs: str) -> None:
    """What follows `--` goes to every convert, as it is."""
    text = "write a job for many inputs: Open Job Description, Slurm and Flamenco"
    sub = verbs.add_parser("farm", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("inputs", nargs="+", type=Path, metavar="SHOT", help=inputs)
    _add_places(sub)
    text = "write a job that tries many values of one setting"
    sub = verbs.add_parser("sweep", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("input", type=Path, metavar="INPUT", help=inputs)
    sub.add_argument(
        "axis", metavar="SETTING", help="a flag of convert without its dashes: bones, budget, ..."
    )
    sub.add_argument("values", metavar="VALUES", help="FIRST:LAST:STEP, or ONE,OTHER,...")
    _add_places(sub)
    text = "do one task of a job, as workers call it"
    sub = verbs.add_parser("task", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("job", type=Path, metavar="JOB.json")
    sub.add_argument("number", type=int, metavar="NUMBER", help="from 0 on")
    text = "make one page of all reports of a job"
    sub = verbs.add_parser("gather", help=text, description=text.capitalize() + ".", allow_abbrev=False)
    sub.add_argument("job", type=Path, metavar="JOB.json")


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Of `farm` and `sweep`: their own words, and those for convert, behind --."""
    if argv[:1] in (["farm"], ["sweep"]) and "--" in argv:
        at = argv.index("--")
        return argv[:at], argv[at + 1 :]
    return argv, []


def _flag_of(word: str) -> str:
    return word.partition("=")[0]


def checked(flags: list[str], axis: str | None) -> list[str]:
    """The words for every convert: none that the job says itself, and files from the root, since workers
    start elsewhere."""
    named = [_flag_of(word) for word in flags]
    said = next((flag for flag in _OWN if flag in named or flag == f"--{axis}"), None)
    if said:
        raise Refusal(f"{said} is said by the job, for each task its own: leave it out.")
    if f"--{axis}" in named or f"--no-{axis}" in named:
        raise Refusal(f"--{axis} is swept, and also given for all tasks: leave it out behind --.")
    found = list(flags)
    for place, flag in enumerate(named):
        if flag in _FILES and "=" in flags[place]:
            found[place] = f"{flag}={_from_root(flag, flags[place].partition('=')[2])}"
        elif flag in _FILES and place + 1 < len(flags):
            found[place + 1] = _from_root(flag, flags[place + 1])
    return found


def _from_root(flag: str, words: str) -> str:
    file, name = inputs.armature_named(words) if flag == "--armature" else (Path(words), None)
    if file is None or words.startswith("-"):
        return words
    return str(file.absolute()) + (f":{name}" if name else "")


def _check_places(made: job.Job, paths: list[Path]) -> None:
    """Inputs are there, and no rig will be written over one or into a folder of frames."""
    schedulers.check(made)
    for path in paths:
        if not path.exists():
            raise Refusal(f"{path} is not there: a job for it could only fail.")
    read = {overlaps.identity(path): path for path in paths}
    for written in (made.folder, *(Path(one.output) for one in made.tasks)):
        path = read.get(overlaps.identity(written))
        if path is not None:
            raise Refusal(f"{written} would be written, and {path} is read: choose another --output.")
    for path in (made.folder, made.folder / "reports", made.folder / "pictures"):
        outputs.prepare(path / job.FILE)


def _words_of(program: str) -> list[str]:
    try:
        words = shlex.split(program, posix=os.name != "nt")  # there a backslash is a part of a path
    except ValueError:
        raise Refusal(f"--program {program} has a quotation mark that is not closed.") from None
    if not words:
        raise Refusal(f"--program is empty: say how workers call Ossify, as {PROGRAM!r}.")
    return [word.strip('"') for word in words] if os.name == "nt" else words


def _write(made: job.Job, paths: list[Path], program: str) -> int:
    words = _words_of(program)
    _check_places(made, paths)
    job.write(made)
    schedulers.write(made, words)
    print(f"{made.file}: {counted(len(made.tasks), 'task')}")
    for how, name in (
        ("openjd run", schedulers.OPENJD),
        ("sh", schedulers.SLURM_SUBMIT),
        ("Flamenco", schedulers.FLAMENCO),
    ):
        print(f"  {how} {made.folder / name}")
    return DONE


def farm(arguments, flags: list[str]) -> int:
    made = job.of_shots(arguments.output.absolute(), arguments.inputs, arguments.format, flags)
    return _write(made, arguments.inputs, arguments.program)


def axis_of(arguments) -> str:
    return arguments.axis.lstrip("-").replace("_", "-")


def sweep(arguments, flags: list[str]) -> int:
    folder, found = arguments.output.absolute(), ranges.values(arguments.values)
    made = job.of_sweep(folder, arguments.input, arguments.format, flags, axis_of(arguments), found)
    return _write(made, [arguments.input], arguments.program)


def _leave_word(report: Path, path: str, code: int) -> None:
    """For the page: the log of the task has the sentence, and nobody else does."""
    error = f"It ended with exit code {code} before it began; the log of its task says why."
    record = {"inputs": [{"input": path, "ok": False, "error": error}]}
    whole.write_text(report, json.dumps(record, indent=1) + "\n")


def task(arguments, convert: Callable[[list[str]], int]) -> int:
    """A shot that fails has said so in its report; only what nobody will read of is an error here."""
    made = job.read(arguments.job)
    if not 0 <= arguments.number < len(made.tasks):
        raise Refusal(f"{arguments.job} has tasks 0 to {len(made.tasks) - 1}, no {arguments.number}.")
    one = made.tasks[arguments.number]
    report, picture = made.report_of(one), made.picture_of(one)
    report.unlink(missing_ok=True)  # that of an earlier try
    picture.unlink(missing_ok=True)
    words = ["convert", one.input, "--output", one.output, "--report", str(report), "--picture", str(picture)]
    code = convert([*words, "--quiet", *one.flags])
    if code == FAILED and report.exists():
        return DONE
    if code != DONE and not report.exists():
        _leave_word(report, one.input, code)
    return code


def gather_all(arguments) -> int:
    made = job.read(arguments.job)
    records = gather.gather(made)
    print(made.folder / gather.PAGE)
    failed = [one.name for one, record in zip(made.tasks, records, strict=True) if not record["ok"]]
    for name in failed:
        print(f"{name} failed", file=sys.stderr)
    return FAILED if failed else DONE
