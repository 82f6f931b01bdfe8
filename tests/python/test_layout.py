"""How the tests themselves are laid out."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_no_test_file_imports_another():
    """What several of them need stands in a module of its own."""
    files = [path for path in TESTS.rglob("*.py") if path.parent.name in ("addon", "python", "window")]
    assert len(files) > 50
    imports = re.compile(r"^\s*(from|import) test_", re.MULTILINE)
    assert [path.name for path in files if imports.search(path.read_text(encoding="utf-8"))] == []
