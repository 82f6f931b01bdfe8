"""What came of a job: FOLDER/report.html, one page with all in it, and FOLDER/report.json for programs.

A row for each task with its figures and its picture, the error of its frames as a line; of a sweep the error
against what was swept. A task that left no report was killed or has not run, and is told as such.
"""

from __future__ import annotations

import base64
import contextlib
import html
import json
import math
import re
from pathlib import Path

from ..base import whole
from .job import Job, Task

PAGE, FIGURES = "report.html", "report.json"
_BYTES = 1 << 28
_PLOT = 260, 60  # pixels of a small one
_HEADS = ("shot", "bones", "error, RMS", "largest", "shading off by", "file", "time")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em }
h1 { font-size: 1.5em } table { border-collapse: collapse; width: 100% }
th, td { text-align: right; padding: .35em .7em; border-bottom: 1px solid #ddd; vertical-align: middle }
th:first-child, td:first-child { text-align: left } td.failed { text-align: left; color: #a40000 }
svg { overflow: visible } img { width: 260px; display: block; border-radius: 4px; transition: transform .1s }
img:hover { transform: scale(1.9); transform-origin: right; background: #fff; box-shadow: 0 0 9px #aaa }
td { white-space: nowrap }
td:first-child, td.failed { white-space: normal; overflow-wrap: anywhere; min-width: 9em }
td small { display: block; max-width: 22em; white-space: normal }
.line { fill: none; stroke: #2060b0; stroke-width: 1.5 } .dot { fill: #2060b0 } .axis { stroke: #bbb }
text { font-size: 11px; fill: #555; paint-order: stroke; stroke: #fff; stroke-width: 3px }
small { color: #666 }
"""


def record_of(job: Job, task: Task) -> dict:
    """As `convert --report` wrote it for the one input; or why there is none."""
    path = job.report_of(task)
    nothing = {"input": task.input, "ok": False}
    try:
        if path.stat().st_size > _BYTES:
            raise ValueError
        record = json.loads(path.read_text(encoding="utf-8"))["inputs"][0]
        if not isinstance(record, dict) or not isinstance(record["ok"], bool):
            raise TypeError
        return record
    except FileNotFoundError:
        return {**nothing, "error": "It left no report: it was killed, or has not run yet."}
    except OSError as error:
        return {**nothing, "error": f"{path} cannot be read: {error.strerror or error}."}
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return {**nothing, "error": f"{path} is damaged: run the task again."}


def _numbers(values) -> list[float]:
    values = list(values.values()) if isinstance(values, dict) else values  # by frame, as reports have them
    values = values if isinstance(values, list) else []
    return [float(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)]


def _number(record: dict, name: str) -> float | None:
    found = _numbers([record.get(name)])
    return found[0] if found else None


def _errors(record: dict) -> list[float]:
    """Of each frame, in percent of the size."""
    size = _number(record, "size")
    clips = record.get("clips") if isinstance(record.get("clips"), list) else []
    found = [v for clip in clips if isinstance(clip, dict) for v in _numbers(clip.get("frame_error"))]
    return [100 * v / size for v in found] if size else []


def _points(
    xs: list[float], ys: list[float], top: float, wide: float, high: float
) -> list[tuple[float, float]]:
    least, most, top = min(xs), max(xs), top or 1.0
    span = (most - least) or 1.0
    return [(wide * (x - least) / span, high * (1 - y / top)) for x, y in zip(xs, ys, strict=True)]


def _line(points: list[tuple[float, float]], wide: float, high: float) -> str:
    """Through the points, over an axis."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    axis = f'<line class="axis" x1="0" y1="{high}" x2="{wide}" y2="{high}"/>'
    return f'{axis}<polyline class="line" points="{places}"/>'


def _plot(ys: list[float], top: float) -> str:
    """top: that of all rows, so that an eye can compare them"""
    if len(ys) < 2:
        return ""
    line = _line(_points([*map(float, range(len(ys)))], ys, top, *_PLOT), *_PLOT)
    title = f"<title>error of each frame, at most {max(ys):.3g} %</title>"
    return f'<svg width="{_PLOT[0]}" height="{_PLOT[1]}" role="img">{title}{line}</svg>'


def _swept(task: Task) -> float | None:
    found = re.search(r"(-?[\d.]+(?:e-?\d+)?)$", task.setting)
    with contextlib.suppress(ValueError):
        return float(found.group(1)) if found else None
    return None


def _text(x: float, y: float, value: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{value:.3g}</text>'


def _curve(job: Job, records: list[dict]) -> str:
    """Of a sweep over numbers: error against what was swept."""
    both = [(_swept(t), _number(r, "rms_percent")) for t, r in zip(job.tasks, records, strict=True)]
    both = sorted((x, y) for x, y in both if x is not None and y is not None)
    if len(both) < 2 or any(task.setting == "" for task in job.tasks):
        return ""
    wide, high = 640, 240
    points = _points([x for x, _ in both], [y for _, y in both], max(y for _, y in both), wide, high)
    marks = [
        f'<circle class="dot" cx="{px:.1f}" cy="{py:.1f}" r="3"/>'
        + _text(px, high + 16, x)
        + _text(px, py - 8, y)
        for (px, py), (x, y) in zip(points, both, strict=True)
    ]
    box = f'width="{wide + 60}" height="{high + 50}" viewBox="-30 -20 {wide + 60} {high + 50}"'
    line, axis = _line(points, wide, high), html.escape(job.tasks[0].setting.rpartition(" ")[0])
    head = f"<h2>Error in percent of the size, by {axis}</h2>"
    return f"{head}<svg {box}>{line}{''.join(marks)}</svg>"


def _worst_frame(record: dict) -> float | None:
    worst = record.get("worst")
    return _number(worst, "frame") if isinstance(worst, dict) else None


def _picture(path: Path, record: dict) -> str:
    try:
        data = base64.b64encode(path.read_bytes()).decode()
    except OSError:
        return ""
    frame = _worst_frame(record)
    under = "" if frame is None else f"<small>its worst frame, {frame:g}</small>"
    return f'<img alt="the rig" src="data:image/png;base64,{data}">{under}'


def _shown(value: float | None, form: str = ".3g", unit: str = "") -> str:
    return "" if value is None else f"{value:{form}}{unit}"


def _seconds(record: dict) -> float | None:
    seconds = record.get("seconds")
    return sum(_numbers(list(seconds.values()))) if isinstance(seconds, dict) else None


def _bones(record: dict) -> str:
    """Those that an animator sees, and the helpers."""
    skeleton = record.get("skeleton")
    helpers = _number(skeleton, "helpers") if isinstance(skeleton, dict) else None
    bones = _number(record, "bones")
    if bones is None or not helpers:
        return _shown(bones, ".0f")
    return f"{bones - helpers:.0f}<small>and {helpers:.0f} hidden</small>"


def _cells(job: Job, task: Task, record: dict, top: float) -> str:
    if not record["ok"]:
        return f'<td class="failed" colspan="8">{html.escape(str(record.get("error")))}</td>'
    weight = _number(record, "bytes")
    cells = (
        _bones(record),
        _shown(_number(record, "rms_percent"), ".3g", " %"),
        _shown(_number(record, "maximum_percent"), ".3g", " %"),
        _shown(_number(record, "normal_degrees"), ".2g", "°"),
        _shown(None if weight is None else weight / 1000, ",.0f", " kB"),
        _shown(_seconds(record), ".1f", " s"),
        _plot(_errors(record), top),
        _picture(job.picture_of(task), record),
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _notes(record: dict) -> list[str]:
    """What the report warns of."""
    notes = record.get("notes")
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []


def _row(job: Job, task: Task, record: dict, top: float) -> str:
    under = [task.setting or task.input, *(_notes(record) if record["ok"] else [])]
    small = "".join(f"<small>{html.escape(words)}</small>" for words in under)
    return f"<tr><td>{html.escape(task.name)}{small}</td>{_cells(job, task, record, top)}</tr>"


def page(job: Job, records: list[dict]) -> str:
    top = max((error for record in records if record["ok"] for error in _errors(record)), default=0.0)
    rows = "\n".join(_row(job, task, record, top) for task, record in zip(job.tasks, records, strict=True))
    failed = sum(not record["ok"] for record in records)
    told = f"{len(records) - failed} of {len(records)} are there" + (f", {failed} failed" if failed else "")
    last = (f"frames, up to {top:.2g} %" if top else "frames", "picture")
    title, heads = html.escape(job.title), "".join(f"<th>{head}</th>" for head in (*_HEADS, *last))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Ossify: {title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1><p>{told}.</p>{_curve(job, records)}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></body></html>\n"
    )


def gather(job: Job) -> list[dict]:
    """Writes both; the record of each task."""
    records = [record_of(job, task) for task in job.tasks]
    told = [
        {"task": task.name, "setting": task.setting, **record}
        for task, record in zip(job.tasks, records, strict=True)
    ]
    whole.write_text(job.folder / PAGE, page(job, records))
    whole.write_text(job.folder / FIGURES, json.dumps({"title": job.title, "tasks": told}, indent=1) + "\n")
    return records
