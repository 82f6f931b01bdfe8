"""The documents: what they name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
OF_THE_PAST = {"CHANGELOG.md"}


@pytest.fixture(scope="module")
def files():
    """Every source as a path from the root."""
    folders = ("native", "addon", "bench", "tests", "tools")
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".c", ".h", ".py")
    }


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in OF_THE_PAST], ids=lambda p: p.name
)
def test_files_that_a_page_names_are_there(page, files):
    """With their folder, or alone; `native/rig.c` is neither `native/core/rig.c` nor there."""
    named = set(re.findall(r"`([\w/.-]+\.(?:c|h|py))`", page.read_text()))
    ends = {path.split("/", 1)[1] for path in files} | {path.rsplit("/", 1)[1] for path in files} | files
    assert named - ends == set()
