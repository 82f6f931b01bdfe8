"""tools/graph.py: what it reads from the sources, and what it refuses."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import graph
import pytest
from graph_read import read_addon, read_native

ROOT = Path(__file__).resolve().parents[2]

SOUND = {
    "native/ossify.h": "void ossify_run(void);",
    "native/api/verb.c": "void ossify_run(void) { high(); }",
    "native/high/high.c": '#include "low/low.h"\nvoid high(void) { low_add(1); }',
    "native/low/low.h": "int low_add(int a);",
    "native/low/low.c": "static int one(void) { return 1; }\nint low_add(int a) { return a + one(); }",
    "addon/__init__.py": "from . import command\nfrom .ui import panel",
    "addon/command.py": "from .rig import build",
    "addon/rig/__init__.py": "",
    "addon/rig/build.py": "built = 1",
    "addon/ui/__init__.py": "",
    "addon/ui/panel.py": "from ..rig.build import built",
}


@pytest.fixture
def tree(tmp_path):
    """A sound tree, with files changed or added."""

    def make(changed=()):
        for name, text in {**SOUND, **dict(changed)}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def refused(root):
    return "\n".join(graph.faults(root, read_native(root), read_addon(root)))


def needed(read):
    return {("/".join(a), "/".join(b), name) for (a, b), names in read.calls.items() for name in names}


def test_a_sound_tree_passes(tree):
    assert refused(tree()) == ""


def test_a_function_without_its_prefix_is_a_sentence_and_an_exit_code(tree):
    root = tree({"native/low/stray.c": "int stray_ok(void) { return 0; }\nint helper(void) { return 1; }"})
    command = [sys.executable, str(ROOT / "tools" / "graph.py"), "--quiet", "--root", str(root)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said = "tools/graph.py: native/low/stray: helper() begins neither with stray nor with low.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", said)


def test_folders_that_call_each_other(tree):
    root = tree({"native/low/back.c": "void low_back(void) { high(); }"})
    assert "folders high -> low -> high are a circle" in refused(root)


def test_a_folder_that_includes_what_calls_it(tree):
    root = tree({"native/high/high.h": "enum { HIGH };", "native/low/low.h": '#include "high/high.h"\n'})
    assert "folders high -> low -> high are a circle" in refused(root)


def test_files_of_a_folder_that_call_each_other(tree):
    root = tree(
        {
            "native/low/a.c": "void low_a(void) { low_b(); }",
            "native/low/b.c": "void low_b(void) { low_a(); }",
        }
    )
    assert "files low/a -> low/b -> low/a are a circle" in refused(root)


def test_folders_that_import_each_other_in_a_function(tree):
    root = tree({"addon/rig/build.py": "def built():\n    from ..ui import panel\n"})
    assert "folders rig -> ui -> rig are a circle" in refused(root)


def test_a_command_line_that_needs_a_screen_by_way_of_another_file(tree):
    root = tree(
        {"addon/words/words.py": "from ..ui import panel", "addon/command.py": "from .words import words"}
    )
    assert "command/command -> words/words -> ui/panel" in refused(root)


def test_functions_given_away_count_and_what_only_looks_like_them_does_not(tree):
    text = """
        /* low_one() */ static const char *words = "low_two()";
        #define THREE() low_three(1)
        #define UNUSED() low_one()
        static const Table table[] = {{low_four, 0}};
        void high_all(struct low *low_five, int low_six) {
            int low_seven = 1;
            THREE(), pool(low_eight, low_five, low_six + low_seven, low->low_nine);
        }
    """
    lows = "\n".join(f"int low_{n}(void) {{ return 0; }}" for n in "one two three four five six".split())
    lows += "\n".join(f"int low_{n}(void) {{ return 0; }}" for n in "seven eight nine".split())
    root = tree({"native/high/all.c": text, "native/low/lows.c": lows})
    called = {name for a, b, name in needed(read_native(root)) if a == "high/all" and b == "low/lows"}
    assert called == {"low_three", "low_four", "low_eight"}


def test_an_import_leads_to_the_file_that_holds_it(tree):
    root = tree({"addon/rig/more.py": "from . import build\nfrom .. import rig\nfrom .build import built\n"})
    found = needed(read_addon(root))
    assert ("rig/more", "rig/build", "built") in found
    assert ("rig/more", "rig/build", "build") in found
    assert ("rig/more", "rig/__init__", "rig") in found


def test_the_calls_are_those_of_the_symbol_tables():
    places = [file.relative_to(ROOT / "native").with_suffix(".o") for file in (ROOT / "native").rglob("*.c")]
    built = [*(ROOT / "build").glob("release/*/native"), *(ROOT / "build").glob("*/release/*/native")]
    folders = [folder for folder in built if all((folder / place).exists() for place in places)]
    assert folders, "the library's objects are gone: make lib"
    assert shutil.which("nm"), "nm, which comes with every C compiler, is not there"
    objects = max(folders, key=lambda folder: max(os.path.getmtime(folder / place) for place in places))
    command = ["nm", "-g", "-A", *(str(objects / place) for place in places)]
    called, home, wanted = needed(read_native(ROOT)), {}, []
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        path, symbol = line.rsplit(":", 1)
        place, name = Path(path).relative_to(objects).with_suffix("").as_posix(), symbol.split()[-1]
        if symbol.split()[-2] == "U":
            wanted.append((place, name))
        else:
            home[name] = place
    linked = {(file, home[name], name) for file, name in wanted if name in home}
    inlined = {edge for edge in called if edge[2] not in home}
    assert called - inlined == linked
