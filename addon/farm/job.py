"""The list of tasks that every scheduler's job points to: FOLDER/job.json, tasks numbered from 0.

A task is one call of `convert`: an input, an output and flags. It may run twice, on any machine, and be
killed at any moment: outputs and reports are whole or not there.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from ..base import whole
from ..base.refusal import Refusal
from ..base.words import counted

FILE = "job.json"
MOST_TASKS = 100_000
_BYTES = 1 << 28
_LETTERS_OF_A_NAME = 100  # before a setting or a number is put behind it


@dataclasses.dataclass(frozen=True)
class Task:
    name: str  # of its report and its output, without ending
    input: str
    output: str
    flags: list[str]
    setting: str = ""  # in a sweep: what differs, for people


@dataclasses.dataclass(frozen=True)
class Job:
    folder: Path
    title: str
    tasks: list[Task]

    @property
    def file(self) -> Path:
        return self.folder / FILE

    def report_of(self, task: Task) -> Path:
        return self.folder / "reports" / f"{task.name}.json"

    def picture_of(self, task: Task) -> Path:
        return self.folder / "pictures" / f"{task.name}.png"


def _cleaned(name: str) -> str:
    """As a part of a file's name, anywhere."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "shot"


def _plain(name: str) -> str:
    """The same, and not too long."""
    return _cleaned(_cleaned(name)[:_LETTERS_OF_A_NAME])


def _groups(names: list[str]) -> list[list[int]]:
    """Those that would be one file, also where capital letters do not count."""
    found: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        found.setdefault(name.casefold(), []).append(number)
    return [group for group in found.values() if len(group) > 1]


def _by_folder(names: list[str], folders: list[list[str]], group: list[int]) -> bool:
    """Puts the nearest of their folders that differ before the names; False when all are the same."""
    for depth in range(1, max(len(folders[number]) for number in group) + 1):
        own = [folders[number][-depth] if depth <= len(folders[number]) else "" for number in group]
        if len(set(own)) > 1:
            for number, folder in zip(group, own, strict=True):
                names[number] = _plain(f"{folder}-{names[number]}")
                folders[number] = folders[number][:-depth]
            return True
    return False


def _numbered(names: list[str]) -> list[str]:
    """The second of a name is NAME-2, or the next that is free."""
    taken = {name.casefold() for name in names}
    seen: set[str] = set()
    for place, name in enumerate(names):
        number = 2
        while name.casefold() in seen or (number > 2 and name.casefold() in taken):
            name, number = f"{names[place]}-{number}", number + 1
        seen.add(name.casefold())
        names[place] = name
    return names


def _names(inputs: list[Path]) -> list[str]:
    names = [_plain(path.stem) for path in inputs]
    folders = [list(path.absolute().parent.parts) for path in inputs]
    while any(_by_folder(names, folders, group) for group in _groups(names)):
        pass
    return _numbered(names)


def of_shots(folder: Path, inputs: list[Path], ending: str, flags: list[str]) -> Job:
    """A task for each input."""
    paths = [path.absolute() for path in inputs]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise Refusal(f"{twice} is given twice.")
    tasks = [
        Task(name, str(path), str(folder / f"{name}{ending}"), flags)
        for name, path in zip(_names(paths), paths, strict=True)
    ]
    return Job(folder, counted(len(tasks), "shot"), tasks)


def of_sweep(folder: Path, path: Path, ending: str, flags: list[str], axis: str, values: list[str]) -> Job:
    """A task for each value of one setting. axis: its flag without dashes"""
    names = _numbered([f"{_plain(path.stem)}-{axis}-{_plain(value)}" for value in values])
    tasks = [
        Task(
            name,
            str(path.absolute()),
            str(folder / f"{name}{ending}"),
            [*flags, f"--{axis}", value],
            f"{axis} {value}",
        )
        for name, value in zip(names, values, strict=True)
    ]
    return Job(folder, f"{path.name}, {counted(len(tasks), 'setting')}", tasks)


def write(job: Job) -> None:
    if len(job.tasks) > MOST_TASKS:
        raise Refusal(f"{len(job.tasks)} tasks are too many for one job: give at most {MOST_TASKS}.")
    for folder in (job.folder, job.folder / "reports", job.folder / "pictures"):
        folder.mkdir(parents=True, exist_ok=True)
    record = {"title": job.title, "tasks": [dataclasses.asdict(task) for task in job.tasks]}
    whole.write_text(job.file, json.dumps(record, indent=1) + "\n")


def _task_of(record) -> Task:
    task = Task(**record)
    texts = [task.name, task.input, task.output, task.setting, *task.flags]
    if not all(isinstance(text, str) for text in texts) or task.name != _cleaned(task.name):
        raise TypeError
    return task


def read(path: Path) -> Job:
    try:
        if path.stat().st_size > _BYTES:
            raise ValueError
        record = json.loads(path.read_text(encoding="utf-8"))
        tasks = [_task_of(item) for item in record["tasks"]]
        return Job(path.absolute().parent, str(record["title"]), tasks)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Refusal(f"{path} is no job of Ossify's: write it again with `farm` or `sweep`.") from None
