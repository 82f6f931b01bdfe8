"""The manual as a page that a browser shows without a network: python tools/manual_page.py FOLDER

Writes FOLDER/manual.html and the pictures that it shows. Reads what docs/manual.md is written in: headings,
paragraphs, lists, tables, code, pictures and links; a link to another document of the project, which is not
there, becomes its words. Headings have the anchors that code hosts give them.
"""

import html
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "docs" / "manual.md"
STYLE = (
    "body{max-width:52rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 sans-serif;color:#222;"
    "background:#fff}"
    "img{max-width:100%}code,pre{background:#f2f2f2;border-radius:3px;padding:.1em .3em}pre{padding:.8em;"
    "overflow:auto}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.3em .6em;"
    "vertical-align:top;text-align:left}"
)


def anchor(title):
    """As code hosts make it of a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def _link(match):
    words, target = match.groups()
    if target.startswith(("#", "http")):
        return f'<a href="{target}">{words}</a>'
    return words


def inline(text):
    """Words with code, pictures, links and emphasis."""
    codes = []

    def keep(match):
        codes.append(f"<code>{match[1]}</code>")
        return f"\0{len(codes) - 1}\0"

    text = re.sub(r"`([^`]+)`", keep, html.escape(text, quote=False))
    text = re.sub(r"!\[([^\]]*)\]\(([^)]+)\)", r'<img src="\2" alt="\1">', text)
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", _link, text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"(?<![\w*])\*(?!\s)(.+?)\*(?!\w)", r"<i>\1</i>", text)
    return re.sub("\0(\\d+)\0", lambda match: codes[int(match[1])], text)


def _table(lines):
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    body = [rows[0], *rows[2:]]
    made = []
    for number, row in enumerate(body):
        tag = "td" if number else "th"
        made.append("<tr>" + "".join(f"<{tag}>{inline(cell)}</{tag}>" for cell in row) + "</tr>")
    return ["<table>", *made, "</table>"]


def _list(lines):
    """Items of one kind; a line that is indented belongs to the item before."""
    items = []
    for line in lines:
        found = re.match(r"(?:-|\d+\.) (.*)", line)
        if found:
            items.append(found[1])
        else:
            items[-1] += " " + line.strip().removeprefix("- ")
    tag = "ul" if lines[0].startswith("-") else "ol"
    return [f"<{tag}>", *(f"<li>{inline(item)}</li>" for item in items), f"</{tag}>"]


def _block(lines):
    """What stands between two empty lines."""
    heading = re.match(r"(#+) (.*)", lines[0])
    if heading:
        level, title = len(heading[1]), heading[2]
        rest = _block(lines[1:]) if lines[1:] else []
        return [f'<h{level} id="{anchor(title)}">{inline(title)}</h{level}>', *rest]
    if lines[0].startswith("|"):
        return _table(lines)
    first = next((n for n, line in enumerate(lines) if re.match(r"(-|\d+\.) ", line)), None)
    if first is not None:
        words = [f"<p>{inline(' '.join(lines[:first]))}</p>"] if first else []
        return [*words, *_list(lines[first:])]
    return [f"<p>{inline(' '.join(lines))}</p>"]


def page(text):
    """The whole of a document."""
    made, title = [], re.search(r"^# (.*)$", text, re.MULTILINE)[1]
    for number, part in enumerate(re.split(r"^```\w*\n(.*?)^```\n", text, flags=re.MULTILINE | re.DOTALL)):
        if number % 2:
            made.append(f"<pre>{html.escape(part, quote=False)}</pre>")
            continue
        for block in re.split(r"\n\s*\n", part):
            lines = [line for line in block.split("\n") if line.strip()]
            made += _block(lines) if lines else []
    head = f'<meta charset="utf-8"><title>Ossify: {html.escape(title)}</title><style>{STYLE}</style>'
    return "\n".join(["<!DOCTYPE html>", head, *made]) + "\n"


def write(folder):
    text = SOURCE.read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manual.html").write_text(page(text), encoding="utf-8")
    for name in sorted(set(re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text))):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE.parent / name, target)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
