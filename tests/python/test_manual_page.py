"""The manual as a page: its anchors are there, for its own links and for Blender's buttons."""

import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    import importlib.util

    spec = importlib.util.spec_from_file_location("manual_page", ROOT / "tools" / "manual_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("manual")
    module.write(folder)
    return folder


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.anchors, self.links, self.pictures, self.words = [], set(), set(), set(), []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given["id"]} if "id" in given else set()
        self.links |= {given["href"]} if tag == "a" else set()
        self.pictures |= {given["src"]} if tag == "img" else set()
        if tag not in {"img", "meta"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "pre" not in self.open and "code" not in self.open:
            self.words.append(data)


@pytest.fixture(scope="module")
def read(made):
    reader = Reader()
    reader.feed((made / "manual.html").read_text(encoding="utf-8"))
    assert not reader.open
    return reader


def test_links_and_pictures_are_there(made, read):
    assert {link[1:] for link in read.links if link.startswith("#")} <= read.anchors
    assert not [link for link in read.links if not link.startswith(("#", "http"))]
    assert read.pictures
    assert all((made / name).is_file() for name in read.pictures)


def test_no_marks_of_the_source_are_left(read):
    words = "".join(read.words)
    assert "**" not in words
    assert "](" not in words
    assert not re.search(r"^\s*\|", words, re.MULTILINE)


def test_what_the_buttons_and_the_settings_open_is_there(read):
    tree = ast.parse((ROOT / "addon" / "ui" / "manual.py").read_text(encoding="utf-8"))
    values = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    parts = [ast.literal_eval(key) for key in values["_PARTS"].keys]
    assert {*parts, *ast.literal_eval(values["SETTINGS"]).values()} <= read.anchors
