"""Who needs whom, read from the sources alone: the calls of native/, the imports of addon/.

A node is (folder, file) without endings: a header and its .c are one. In C an edge is a call, or the address,
of a function that another file defines (names as the linker sees them, and what headers define inline), or an
include; not a call through a pointer, which is how a lower file may be given a step of a higher one. In
Python an edge is an import, also one inside a function or for a type checker: those are cycles, too, only
hidden.
"""

import ast
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple


class Graph(NamedTuple):
    nodes: list  # (folder, file)
    calls: dict  # {(from, to): names that are called or imported}
    includes: set  # (from, to), in C
    defined: dict  # {node: functions that others can call}, in C

    def edges(self):
        return set(self.calls) | self.includes


# ---- C

_NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_]\w*|->|\d[\w.]*|\S")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_ATTRIBUTES = {"__attribute__", "__declspec", "_Alignas", "_Static_assert"}
_BEFORE_A_VALUE = {"return", "case", "else", "sizeof", "goto"}


class Source(NamedTuple):
    external: set  # functions, defined here, that others can call
    local: set  # static ones
    mentions: set  # names called, or whose address is taken
    macros: dict  # {name: names that it mentions wherever it is used}
    includes: list


def is_name(token):
    return token[0].isalpha() or token[0] == "_"


def function_name(head):
    """Of a definition, from the tokens before its body; None: a struct, an array, a variable."""
    if "(" not in head or "=" in head or "typedef" in head:
        return None
    for token, following in pairwise(head):
        if following == "(" and is_name(token) and token not in _ATTRIBUTES and not token.isupper():
            return token
    return None


def declared(tokens):
    """Names that a stretch of code declares as its own: they follow a type."""
    return {
        token
        for before, token in pairwise(tokens)
        if is_name(token) and (before == "*" or (is_name(before) and before not in _BEFORE_A_VALUE))
    }


def mentioned(tokens):
    """Names that are called, and those that stand for themselves: maybe functions, given away."""
    own, names = declared(tokens), set()
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if is_name(token) and before not in (".", "->") and (after == "(" or token not in own):
            names.add(token)
    return names


def pieces(tokens):
    """(head, body) of every definition at the outermost level; the body is [] where a `;` ends it."""
    head, body, depth = [], [], 0
    for token in tokens:
        depth -= token == "}"
        if depth == 0 and token == "}":
            yield head, body
            head, body = [], []
        elif depth == 0 and token == ";":
            yield head, []
            head = []
        elif depth > 0:
            body.append(token)
        elif token != "{":
            head.append(token)
        depth += token == "{"
    if depth:
        raise SyntaxError("braces do not match")


def read_c(text, static_words):
    """`static_words`: macros that stand for static."""
    includes = _INCLUDE.findall(text)
    text = _NOT_CODE.sub(" ", text)
    macros = {}
    for directive, line in _DIRECTIVE.findall(text):
        if directive == "define":
            name, *tokens = _TOKEN.findall(line.replace("\\\n", " "))
            macros[name] = mentioned(tokens)
    source = Source(set(), set(), set(), macros, includes)
    for head, body in pieces(_TOKEN.findall(_DIRECTIVE.sub("", text))):
        name = function_name(head) if body else None
        if name is not None:
            (source.local if static_words & set(head) else source.external).add(name)
        if body or "=" in head:
            source.mentions.update(mentioned([*head, *body]))
    return source


def read_sources(folder):
    """{path: what it says}; ossify.h is everyone's and left out."""
    texts = {path: path.read_text() for path in sorted(folder.rglob("*.[ch]")) if path != folder / "ossify.h"}
    static_words = {"static"}.union(*(re.findall(r"#define (\w+) static\b", text) for text in texts.values()))
    sources = {}
    for path, text in texts.items():
        try:
            source = read_c(text, static_words)
        except SyntaxError as error:
            raise SystemExit(f"tools/graph.py: {path}: {error}.") from None
        if path.suffix == ".h":  # what a header defines is for all who include it
            source = source._replace(external=source.external | source.local, local=set())
        sources[path] = source
    return sources


def read_native(root):
    """The graph of root/native."""
    folder = Path(root, "native")
    sources = read_sources(folder)
    nodes = {path: (path.parent.relative_to(folder).as_posix(), path.stem) for path in sources}
    macros = {name: inside for source in sources.values() for name, inside in source.macros.items()}
    defined, calls, includes = {node: set() for node in nodes.values()}, {}, set()
    for path, source in sources.items():
        defined[nodes[path]] |= source.external
    home = {name: node for node, names in defined.items() for name in names}
    for path, source in sources.items():
        node = nodes[path]
        by_macros = set().union(*(macros[name] for name in source.mentions & set(macros)))
        for name in (source.mentions | by_macros) - source.local:
            if home.get(name, node) != node:
                calls.setdefault((node, home[name]), set()).add(name)
        for name in source.includes:
            for place in (folder / name, Path(os.path.normpath(path.parent / name))):
                if nodes.get(place, node) != node:
                    includes.add((node, nodes[place]))
    return Graph(sorted(set(nodes.values())), calls, includes, defined)


# ---- Python


def resolve(folder, package, module, name, level):
    """The file that `from <level dots>module import name` in `package` needs, or None if it is not ours."""
    if level == 0:
        return None
    base = folder.joinpath(*package[: len(package) - level + 1], *(module.split(".") if module else ()))
    for place in (
        base / f"{name}.py",
        base / name / "__init__.py",
        base.with_suffix(".py"),
        base / "__init__.py",
    ):
        if place.is_file():
            return place
    return None


def read_addon(root):
    """The graph of root/addon. Of the files beside the folders, __init__, which registers all, is in the
    folder ".", and the others are in "command"."""
    folder = Path(root, "addon")
    nodes = {}
    for path in sorted(folder.rglob("*.py")):
        inside = path.parent.relative_to(folder).as_posix()
        nodes[path] = ("command" if inside == "." and path.stem != "__init__" else inside, path.stem)
    calls = {}
    for path, node in nodes.items():
        package = path.parent.relative_to(folder).parts
        for statement in ast.walk(ast.parse(path.read_text(), path)):
            if not isinstance(statement, ast.ImportFrom):
                continue
            for alias in statement.names:
                place = resolve(folder, package, statement.module, alias.name, statement.level)
                if place is not None and nodes[place] != node:
                    calls.setdefault((node, nodes[place]), set()).add(alias.name)
    return Graph(sorted(nodes.values()), calls, set(), {})
