"""Constants of the add-on and of the library: a name means one value, wherever it stands."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDON, NATIVE = ROOT / "addon", ROOT / "native"


def number_of(node):
    """What a plain number or a product of such comes to; None: it is something else"""
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
    except Exception:
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def constants():
    """(file, name, value) of every number that a module names"""
    for path in sorted(ADDON.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = zip(target.elts, value.elts, strict=True)
            for name, part in pairs:
                number = number_of(part)
                if isinstance(name, ast.Name) and name.id.isupper() and number is not None:
                    yield path.relative_to(ADDON).as_posix(), name.id.lstrip("_"), number


def test_a_name_has_one_value():
    found = defaultdict(dict)
    for path, name, number in constants():
        found[name].setdefault(number, []).append(path)
    assert len(found) > 100
    several = {name: values for name, values in found.items() if len(values) > 1}
    assert not several


# ---- of the library


def named_in_c(text):
    """(name, value as written) of every number that a file names: enumerators, constants, macros"""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lists = re.findall(r"static const (?:double|int) ([^;{]*);", text)
    lists += re.findall(r"\benum[^{;]*\{(.*?)\}", text, flags=re.DOTALL)
    for item in (item for each in lists for item in each.split(",")):
        if named := re.match(r"\s*([A-Z][A-Z_0-9]+)\s*=\s*(.*)", item, flags=re.DOTALL):
            yield named[1], named[2].strip()
    yield from re.findall(r"^#define ([A-Z][A-Z_0-9]+) +([0-9(].*)$", text, flags=re.MULTILINE)


def test_a_name_of_the_library_has_one_value():
    found = defaultdict(dict)
    for path in sorted(NATIVE.rglob("*.[ch]")):
        for name, value in named_in_c(path.read_text(encoding="utf-8")):
            found[name].setdefault(value, []).append(path.relative_to(NATIVE).as_posix())
    assert len(found) > 150
    several = {name: values for name, values in found.items() if len(values) > 1}
    assert not several
