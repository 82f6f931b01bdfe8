"""How files are laid out."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ADDON = TESTS.parent / "addon"


def test_no_test_file_imports_another():
    """What several of them need stands in a module of its own."""
    files = [path for path in TESTS.rglob("*.py") if path.parent.name in ("addon", "python", "window")]
    assert len(files) > 50
    imports = re.compile(r"^\s*(from|import) test_", re.MULTILINE)
    assert [path.name for path in files if imports.search(path.read_text(encoding="utf-8"))] == []


def _calls_when_imported(node):
    """Calls in defaults of arguments, which are made when a file is imported."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.Lambda):
            defaults = [*inner.args.defaults, *filter(None, inner.args.kw_defaults)]
            yield from (
                call for default in defaults for call in ast.walk(default) if isinstance(call, ast.Call)
            )


def test_no_file_needs_the_library_to_be_imported():
    """Without it the extension could not be enabled, and so could not say what is missing."""
    seen = [
        f"{path.relative_to(ADDON)}:{call.lineno}"
        for path in ADDON.rglob("*.py")
        for call in _calls_when_imported(ast.parse(path.read_text()))
        if ast.unparse(call.func).startswith("native.")
    ]
    assert not seen
