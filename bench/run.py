"""The figures: python bench/run.py [--only table2,speed] [--rows cat,pcow] [--anew]      (`make bench`)

One thread, side by side with py-dem-bones on the same machine, as ratios. Sequences come from
../shared/data (or $OSSIFY_DATA) when they are there; otherwise a made-up eel stands in and only what it
can show is measured. Writes docs/benchmarks.md; sections that are not asked for keep their last figures,
which are in build/: where there are none, as in a fresh clone, a part goes to build/benchmarks.md.
The peer's runs take minutes and are kept in the cache folder until the machine, the package or the data
change (--anew measures them again).
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's own, in the matrix product we compare with

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path[:0] = [str(ROOT / "addon"), str(ROOT / "tools")]

import figures_correctives
import figures_error
import figures_layers
import figures_rigs
import figures_speed
import native
import pages
from rows import DATA, Bench, machine, say

KEPT = ROOT / "build" / "bench.json"
PAGE = ROOT / "docs" / "benchmarks.md"
PART = ROOT / "build" / "benchmarks.md"  # of some sections, where no figures of the others are kept

SECTIONS = {
    section.__name__: section
    for section in (
        figures_error.table2,
        figures_error.defaults,
        figures_error.untouched,
        figures_error.smooth,
        figures_error.surface,
        figures_error.locality,
        figures_error.known,
        figures_correctives.correctives,
        figures_layers.layers,
        figures_speed.speed,
        figures_speed.normal,
        figures_error.starts,
        figures_speed.iteration,
        figures_speed.scaling,
        figures_speed.threads,
        figures_speed.memory,
        figures_error.noise,
        figures_rigs.skeleton,
        figures_rigs.roundtrip,
        figures_rigs.deleted,
        figures_speed.blender,
    )
}


def library_key():
    return hashlib.sha256(native.library_path().read_bytes()).hexdigest()[:12]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help=f"of {','.join(SECTIONS)}")
    parser.add_argument(
        "--rows", default="", help="only rows such as cat-poses-20 that hold one of the words"
    )
    parser.add_argument("--anew", action="store_true", help="measure the peer again")
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name] or list(SECTIONS)
    unknown = [name for name in options.only if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    return options


def main():
    options = parse()
    words = [word for word in options.rows.split(",") if word]
    bench = Bench(words, options.anew)
    if not bench.shared:
        say(f"There is no {DATA}: a made-up eel stands in for the sequences.")
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    page = PAGE if kept or options.only == list(SECTIONS) else PART
    about = {"library": library_key(), "version": native.version(), "machine": machine()}
    for name in options.only:
        say(f"{name}:")
        result = SECTIONS[name](bench)
        if result is None:
            say("  left out")
            continue
        kept[name] = {**result, **about, "shared": bench.shared, "day": time.strftime("%Y-%m-%d")}
        if not words:
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept, indent=1))
    say("")
    if words:
        say("of these rows alone, and not kept:")
        kept = {name: kept[name] for name in options.only if name in kept}
    else:
        pages.write(page, kept, about)
        say(f"written to {page.relative_to(ROOT)}:")
    say("\n".join(pages.summary(kept)))


if __name__ == "__main__":
    main()
