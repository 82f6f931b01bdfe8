"""The house seen from its sources: python tools/graph.py [--files] [--picture FOLDER] [--root ROOT]

Prints which folder of native/ calls which, and which folder of addon/ imports which, from the top down, with
the number of names that are called or imported; --files says the same of files. graph_read.py says what
counts. Fails, with a sentence each, on

    folders, or files of native/, that need each other in a circle
    a C function for others to call whose name begins neither with its file's nor with its folder's
    a way from the command line to ui/

--picture draws both graphs: FOLDER/native.svg and FOLDER/addon.svg.
"""

import argparse
import re
import sys
from itertools import pairwise
from pathlib import Path

import graph_picture
from graph_read import read_addon, read_native

ROOT = Path(__file__).resolve().parent.parent
COMMAND_LINE, SCREENS = "command", "ui"
BESIDE = {".": "addon/", COMMAND_LINE: "command line"}  # what stands beside the folders


# ---- any graph: {node: the nodes it needs}


def of_files(graph):
    """By calls alone: files of one folder may share a header."""
    needs = {node: set() for node in graph.nodes}
    for a, b in graph.calls:
        needs[a].add(b)
    return needs


def of_folders(graph):
    needs = {folder: set() for folder, _ in graph.nodes}
    for (a, _), (b, _) in graph.edges():
        needs[a] |= {b} - {a}
    return needs


def way(needs, start, ends):
    """The shortest from `start` to one of `ends`, at least one step; None: there is none."""
    before, queue = {}, [start]
    for node in queue:
        for following in sorted(needs[node] - set(before)):
            before[following] = node
            queue.append(following)
            if following in ends:
                steps = [following, node]
                while steps[-1] != start:
                    steps.append(before[steps[-1]])
                return steps[::-1]
    return None


def circles(needs):
    """One through every node that has any, none twice."""
    seen = set()
    for node in sorted(needs):
        steps = None if node in seen else way(needs, node, {node})
        if steps:
            seen.update(steps)
            yield steps


def levels(needs):
    """{node: 0 where it needs nothing, else one above the highest it needs}; circles are cut anywhere."""
    level = {}

    def climb(node, above):
        if node not in level:
            below = [climb(other, above | {node}) for other in sorted(needs[node] - above)]
            level[node] = 1 + max(below, default=-1)
        return level[node]

    for node in sorted(needs):
        climb(node, frozenset([node]))
    return level


# ---- what must hold


def path_of(node):
    return "/".join(node).removeprefix("./")


def folder_circles(where, graph):
    for steps in circles(of_folders(graph)):
        reasons = [
            next(f"{path_of(a)} needs {path_of(b)}" for a, b in sorted(graph.edges()) if (a[0], b[0]) == step)
            for step in pairwise(steps)
        ]
        yield f"{where}: the folders {' -> '.join(steps)} are a circle: {', '.join(reasons)}"


def file_circles(where, graph):
    for steps in circles(of_files(graph)):
        yield f"{where}: the files {' -> '.join(map(path_of, steps))} are a circle"


def foreign_names(root, native):
    """What ossify.h promises has its own prefix."""
    public = set(re.findall(r"\b(ossify_\w+)\(", Path(root, "native", "ossify.h").read_text()))
    for (folder, file), names in sorted(native.defined.items()):
        for name in sorted(names - public):
            if not any(name == room or name.startswith(f"{room}_") for room in (file, folder)):
                yield f"native/{folder}/{file}: {name}() begins neither with {file} nor with {folder}"


def screens_of_the_command_line(addon):
    needs = of_files(addon)
    screens = {node for node in needs if node[0] == SCREENS}
    for start in sorted(node for node in needs if node[0] == COMMAND_LINE):
        steps = way(needs, start, screens)
        if steps:
            yield f"addon: the command line needs {SCREENS}/: {' -> '.join(map(path_of, steps))}"


def faults(root, native, addon):
    yield from folder_circles("native", native)
    yield from folder_circles("addon", addon)
    yield from file_circles("native", native)
    yield from foreign_names(root, native)
    yield from screens_of_the_command_line(addon)


# ---- telling


def tell(title, needs, counts, name):
    """A line a node, the highest first: what it needs, and how many names of it."""
    print(f"\n{title}")
    level = levels(needs)
    for node in sorted(needs, key=lambda node: (-level[node], node)):
        below = sorted(needs[node], key=lambda other: (-level[other], other))
        said = ", ".join(f"{name(other)} {counts.get((node, other), 0)}" for other in below)
        print(f"{level[node]:3} {name(node):24} {said}")


def tell_graph(title, graph, files):
    between = {}
    for (a, b), names in graph.calls.items():
        between[a[0], b[0]] = between.get((a[0], b[0]), 0) + len(names)
    tell(title, of_folders(graph), between, str)
    if files:
        counts = {edge: len(names) for edge, names in graph.calls.items()}
        tell(f"{title}, by files", of_files(graph), counts, path_of)


def floors(graph):
    """For a picture: the folders with their files, callers first, and what each folder needs."""
    level = levels(of_files(graph))
    files = {}
    for node in sorted(graph.nodes, key=lambda node: (-level[node], node)):
        if node[1] != "__init__" or node[0] == ".":
            files.setdefault(node[0], []).append(node[1])
    needs = of_folders(graph)
    return files, needs, levels(needs)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", action="store_true", help="also file by file")
    parser.add_argument("--quiet", action="store_true", help="only what is wrong")
    parser.add_argument("--picture", type=Path, metavar="FOLDER")
    parser.add_argument("--root", type=Path, default=ROOT, help="of another tree")
    options = parser.parse_args()
    native, addon = read_native(options.root), read_addon(options.root)
    if not options.quiet:
        tell_graph("native/: calls", native, options.files)
        tell_graph("addon/: imports", addon, options.files)
    if options.picture:
        for name, graph in (("native", native), ("addon", addon)):
            titles = {folder: BESIDE.get(folder, f"{folder}/") for folder, _ in graph.nodes}
            graph_picture.write(options.picture / f"{name}.svg", titles, *floors(graph))
    wrong = list(faults(options.root, native, addon))
    for sentence in wrong:
        print(f"tools/graph.py: {sentence}.", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
