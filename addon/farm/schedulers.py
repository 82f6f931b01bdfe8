"""One job as files for three schedulers; each calls `task JOB NUMBER` for all numbers, then `gather JOB`.

- Open Job Description, version 2023-09: `openjd run`, AWS Deadline Cloud.
- Slurm: an array and a job that waits for it, however its tasks end (afterany).
- Flamenco: a job type in JavaScript, by its documented author.Task and author.Command.

A task whose shot fails has said so in its report and ends well, so that the page is made; gathering then
fails.
"""

from __future__ import annotations

import json
import re
import shlex

from ..base import whole
from ..base.refusal import Refusal
from .job import Job

OPENJD, SLURM, SLURM_GATHER, SLURM_SUBMIT, FLAMENCO = (
    "openjd.json",
    "slurm-shots.sh",
    "slurm-gather.sh",
    "slurm-submit.sh",
    "flamenco-ossify.js",
)
_TITLE = 100  # characters


def _action(program: list[str], *words: str) -> dict:
    return {"actions": {"onRun": {"command": program[0], "args": [*program[1:], *words]}}}


def openjd(job: Job, program: list[str]) -> str:
    file = str(job.file)
    shots = {"name": "Number", "type": "INT", "range": f"0-{len(job.tasks) - 1}"}
    title = re.sub(r"[\x00-\x1f\x7f-\x9f]|{{", " ", f"Ossify: {job.title}")
    template = {
        "specificationVersion": "jobtemplate-2023-09",
        "name": title[:_TITLE],
        "steps": [
            {
                "name": "Shots",
                "parameterSpace": {"taskParameterDefinitions": [shots]},
                "script": _action(program, "task", file, "{{Task.Param.Number}}"),
            },
            {
                "name": "Gather",
                "dependencies": [{"dependsOn": "Shots"}],
                "script": _action(program, "gather", file),
            },
        ],
    }
    return json.dumps(template, indent=1) + "\n"


def _script(job: Job, name: str, options: list[str], words: str) -> str:
    log = str(job.folder).replace("%", "%%") + f"/{name}-%A_%a.log"
    options = [f"--job-name={name}", f"--output={shlex.quote(log)}", *options]
    return "\n".join(["#!/bin/sh", *(f"#SBATCH {option}" for option in options), f"exec {words}", ""])


def slurm(job: Job, program: list[str]) -> str:
    words = f'{shlex.join(program)} task {shlex.quote(str(job.file))} "$SLURM_ARRAY_TASK_ID"'
    return _script(job, "ossify", [f"--array=0-{len(job.tasks) - 1}", "--requeue"], words)


def slurm_gather(job: Job, program: list[str]) -> str:
    return _script(job, "ossify-gather", [], shlex.join([*program, "gather", str(job.file)]))


def slurm_submit(job: Job) -> str:
    folder = shlex.quote(str(job.folder))
    return f"""#!/bin/sh
# Shots as an array, then the page of all of them, also when some failed.
set -e
cd {folder}
shots=$(sbatch --parsable "$@" {SLURM})
exec sbatch --dependency=afterany:"$shots" "$@" {SLURM_GATHER}
"""


def flamenco(job: Job, program: list[str]) -> str:
    known = json.dumps(
        {"exe": program[0], "words": program[1:], "job": str(job.file), "count": len(job.tasks)}, indent=4
    )
    return f"""// A job type for Flamenco: copy it into the manager's scripts folder.
const JOB_TYPE = {{
    label: "Ossify Rigs",
    description: "Rigs of moving meshes, a task for each, and one page of all of them",
    settings: [
        {{ key: "job", type: "string", required: true, default: {json.dumps(str(job.file))},
          description: "job.json, as `ossify farm` wrote it; every worker must see it under this path" }},
        {{ key: "count", type: "int32", required: true, default: {len(job.tasks)},
          description: "How many tasks it has" }},
    ],
}};

const KNOWN = {known};

function command(words) {{
    return author.Command("exec", {{ exe: KNOWN.exe, args: KNOWN.words.concat(words) }});
}}

function compileJob(job) {{
    const gather = author.Task("gather", "misc");
    gather.addCommand(command(["gather", job.settings.job]));
    for (let number = 0; number < job.settings.count; number++) {{
        const task = author.Task("shot-" + number, "misc");
        task.addCommand(command(["task", job.settings.job, String(number)]));
        gather.addDependency(task);
        job.addTask(task);
    }}
    job.addTask(gather);
}}
"""


def check(job: Job) -> None:
    """Refuses a folder whose name a scheduler would take for something else."""
    if re.search(r"[\x00-\x1f\x7f]|{{", str(job.folder)):
        raise Refusal(
            f"{str(job.folder)!r} has a name that schedulers cannot be told: choose another folder."
        )


def write(job: Job, program: list[str]) -> None:
    """All of them, beside the list of tasks."""
    texts = {
        OPENJD: openjd(job, program),
        SLURM: slurm(job, program),
        SLURM_GATHER: slurm_gather(job, program),
        SLURM_SUBMIT: slurm_submit(job),
        FLAMENCO: flamenco(job, program),
    }
    for name, text in texts.items():
        whole.write_text(job.folder / name, text)
        if name.endswith(".sh"):
            (job.folder / name).chmod(0o755)
