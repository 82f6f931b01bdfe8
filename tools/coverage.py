"""Line coverage from gcov's files: python tools/coverage.py OBJECTS FOLDER LEAST

Prints a line for each source in FOLDER with the lines no test reached, and a total; fails when the total
is below LEAST percent. $GCOV names the reader that fits the compiler (gcov, or "llvm-cov gcov").
"""

import collections
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

LINE = re.compile(r"^\s*(-|#####|=====|\d+)\*?:\s*(\d+):(.*)$")


def counts(objects, folder):
    """{source: {line: runs}}; a header's line counts as run if any object ran it."""
    gcov = shlex.split(os.environ.get("GCOV", "gcov"))
    runs = collections.defaultdict(dict)
    for notes in sorted(Path(objects, folder).rglob("*.gcno")):
        command = [*gcov, "-t", "-o", str(notes.parent), str(notes.with_suffix(".o"))]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        source = None
        for text in said.stdout.splitlines():
            found = LINE.match(text)
            if not found:
                continue
            count, line, rest = found.group(1), int(found.group(2)), found.group(3)
            if line == 0:
                if rest.startswith("Source:"):
                    source = os.path.normpath(rest.removeprefix("Source:"))
            elif count != "-" and source and source.startswith(folder + os.sep):
                ran = 0 if count in ("#####", "=====") else int(count)
                runs[source][line] = max(ran, runs[source].get(line, 0))
    return runs


def ranges(lines):
    """[3, 4, 5, 9] as "3-5 9" """
    spans = []
    for line in sorted(lines):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {__doc__.splitlines()[0]}")
    objects, folder, least = sys.argv[1], sys.argv[2], float(sys.argv[3])
    runs = counts(objects, folder)
    if not runs:
        sys.exit(f"tools/coverage.py: {objects} holds no coverage; run the tests with config=coverage first.")
    total = reached = 0
    for source, lines in sorted(runs.items()):
        missed = [line for line, count in lines.items() if count == 0]
        total += len(lines)
        reached += len(lines) - len(missed)
        share = 100 * (1 - len(missed) / len(lines))
        print(f"{share:6.1f} %  {source}" + (f"  not reached: {ranges(missed)}" if missed else ""))
    share = 100 * reached / total
    print(f"{share:6.1f} %  of the {total} lines of {folder}/ were reached; at least {least:g} % are wanted")
    if share < least:
        sys.exit(1)


main()
