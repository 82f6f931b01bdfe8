"""Feeds what reads files with made-up bytes: python tools/fuzz_files.py SECONDS

The targets of tests/python/malformed.py, led by atheris, which is libFuzzer for Python, to inputs that reach
further. What it finds to be a fault it writes to build/fuzz/files; put it, made small, into a test. Runs in
the environment of tools/requirements/fuzz.txt.
"""

import subprocess
import sys
from pathlib import Path

from cache import REQUIREMENTS, ROOT, Unavailable, environment

FOUND = ROOT / "build" / "fuzz" / "files"


def run(seconds):
    """Inside of the environment."""
    import atheris

    sys.path[:0] = [str(ROOT / "tests" / "python")]
    with atheris.instrument_imports(include=["ossify"]):
        import malformed

    names = list(malformed.TARGETS)
    seeds = FOUND / "seeds"
    seeds.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        for index, data in enumerate(malformed.TARGETS[name][1]):
            (seeds / f"{name}-{index}").write_bytes(bytes([number]) + data)

    def one(data):
        if data:
            malformed.attempt(names[data[0] % len(names)], data[1:])

    limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096"]
    atheris.Setup(
        [sys.argv[0], *limits, f"-artifact_prefix={FOUND}/", "-print_final_stats=1", str(seeds)], one
    )
    atheris.Fuzz()


def main():
    if len(sys.argv) == 3 and sys.argv[2] == "inside":
        run(int(sys.argv[1]))
        return
    if len(sys.argv) != 2:
        sys.exit(f"usage: {__doc__.splitlines()[0]}")
    try:
        python = environment("fuzz")
    except Unavailable:
        print(f"skipped fuzzing files: {REQUIREMENTS.name}/fuzz.txt has nothing for this Python or machine")
        return
    sys.exit(subprocess.run([python, Path(__file__), sys.argv[1], "inside"]).returncode)


if __name__ == "__main__":
    main()
