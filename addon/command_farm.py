"""`farm`, `sweep`, `task` and `gather` of the command line: many shots, on schedulers that studios have."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from .base.refusal import Refusal
from .base.words import counted
from .farm import gather, job, ranges, schedulers
from .files.outputs import OUTPUTS

PROGRAM = "blender --command ossify"
DONE, FAILED = 0, 1


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


def _missing(paths: list[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise Refusal(f"{path} is not there: a job for it could only fail.")


def _write(made: job.Job, program: str) -> int:
    words = shlex.split(program)
    if not words:
        raise Refusal(f"--program is empty: say how workers call Ossify, as {PROGRAM!r}.")
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
    _missing(arguments.inputs)
    folder = arguments.output.absolute()
    return _write(job.of_shots(folder, arguments.inputs, arguments.format, flags), arguments.program)


def sweep(arguments, flags: list[str]) -> int:
    _missing([arguments.input])
    axis, found = arguments.axis.lstrip("-"), ranges.values(arguments.values)
    folder = arguments.output.absolute()
    made = job.of_sweep(folder, arguments.input, arguments.format, flags, axis, found)
    return _write(made, arguments.program)


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
    return DONE if code == FAILED and report.exists() else code


def gather_all(arguments) -> int:
    made = job.read(arguments.job)
    records = gather.gather(made)
    print(made.folder / gather.PAGE)
    failed = [one.name for one, record in zip(made.tasks, records, strict=True) if not record["ok"]]
    for name in failed:
        print(f"{name} failed", file=sys.stderr)
    return FAILED if failed else DONE
