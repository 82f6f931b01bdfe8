"""docs/architecture.md: what it names is there, and every folder is in it."""

import ast
import re
from pathlib import Path

import pytest
from graph import of_folders
from graph_read import read_addon, read_native, read_sources

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
FOLDERS = {
    name: [f.name for f in (ROOT / name).iterdir() if any(f.glob("*.[cp]*"))] for name in ("native", "addon")
}


def functions_in_python(path):
    """Functions, classes, and methods as Class.method."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
    return names


@pytest.fixture(scope="module")
def functions():
    """{"folder/file.c": names}"""
    found = {}
    for path, source in read_sources(ROOT / "native").items():
        found[path.relative_to(ROOT / "native").as_posix()] = source.external | source.local
    for path in (ROOT / "addon").rglob("*.py"):
        found[path.relative_to(ROOT / "addon").as_posix()] = functions_in_python(path)
    return found


def test_every_function_named_is_where_the_page_says(functions):
    named = re.findall(r"([\w/]+\.(?:c|h|py)):([\w.]*\w)", PAGE)
    assert len(named) > 80
    assert [f"{file}:{name}" for file, name in named if name not in functions.get(file, ())] == []


@pytest.mark.parametrize("where", FOLDERS)
def test_every_folder_has_its_line_and_its_box(where):
    picture = (ROOT / "docs" / "pictures" / f"{where}.svg").read_text()
    boxes = set(re.findall(r'font-weight="bold"[^>]*>([\w ]+)/<', picture)) - {"addon"}
    assert boxes == set(FOLDERS[where]), "make graph draws it anew"
    without_line = [folder for folder in FOLDERS[where] if f"| `{folder}/` |" not in PAGE]
    assert without_line == [], "say in docs/architecture.md what it is for"


def layout_of(where):
    layout = (ROOT / "README.md").read_text().split("## Layout", 1)[1]
    block = re.search(rf"^{where}/ .*\n((?:  .*\n)+)", layout, re.MULTILINE)[1]
    return re.findall(r"^  (\w+)/", block, re.MULTILINE)


@pytest.mark.parametrize("where", FOLDERS)
def test_the_readme_lists_every_folder_and_no_other(where):
    assert sorted(layout_of(where)) == sorted(FOLDERS[where])


@pytest.mark.parametrize(("where", "read"), [("addon", read_addon), ("native", read_native)])
def test_the_readme_lists_folders_in_the_order_it_says(where, read):
    listed, needs = layout_of(where), of_folders(read(ROOT))
    from_below = listed if where == "addon" else listed[::-1]
    for place, folder in enumerate(from_below):
        assert needs[folder] & set(from_below) <= set(from_below[:place]), folder
