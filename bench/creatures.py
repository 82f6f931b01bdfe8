"""Made-up creatures with known skeletons: python bench/creatures.py OUTFOLDER [--only horse,bird]
                                                [--variant swing|hinges] [--seed N] [--check]

Writes NAME.npz (every joint swings about all axes) and NAME-hinges.npz (each joint but the root turns about
one axis, one in seven hardly at all, and there is noise) with

    rest [v][3]  frames [f][v][3]  triangles [t][3]         the moving mesh
    joints, tails [b][3]  parents [b] (-1 at the root)  weights [v][b]  names [b]      the truth
    axes [b][3] in rest, stiff [b]                          of hinges; the root's axis means nothing

bestiary.py says which creatures there are; breed.py makes them in Blender, the same ones every time. A seed
makes relatives: other girths, other densities, other motions; figures that hold on the creatures should hold
on them, too. --check fits bones to the true weights and prints the error that is left: none, or the noise.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ossify" / "bench"
sys.path[:0] = [str(BENCH), str(ROOT / "tools"), str(ROOT / "addon")]

import blenders
import cache

from bestiary import CREATURES

VARIANTS = ("swing", "hinges")
SECONDS = 600  # one creature takes about ten


def file_name(name, variant):
    return f"{name}.npz" if variant == "swing" else f"{name}-{variant}.npz"


def make(folder, names, variants, seed=0):
    """False with a printed sentence when no Blender is to be had or one creature fails."""
    fitting = blenders.fitting()
    if not fitting:
        print(f"no creatures: {blenders.none_fits()}.", flush=True)
        return False
    folder.mkdir(parents=True, exist_ok=True)
    try:
        python = blenders.bpy_python(fitting[-1])
    except SystemExit as refusal:
        print(f"no creatures: {refusal}", flush=True)
        return False
    for name in names:
        command = [str(python), str(BENCH / "breed.py"), str(folder), ",".join(variants), name, str(seed)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            print(f"no creatures: Blender did not finish the {name} within {SECONDS} s.", flush=True)
            return False
        if ran.returncode:
            said = ran.stderr.strip().splitlines() or [f"Blender ended with {ran.returncode}"]
            print(f"no creatures: {said[-1]}", flush=True)
            return False
    return True


def recipe():
    """Changes when the creatures would."""
    digest = hashlib.sha256(" ".join(blenders.fitting()[-1:]).encode())
    for source in ("bestiary.py", "breed.py"):
        digest.update((BENCH / source).read_bytes())
    return digest.hexdigest()[:12]


def paths():
    """{name: path} of all, made if missing; {} with a printed sentence when no bpy fits."""
    folder = CACHE / f"creatures-{recipe()}"
    files = {
        name: {Path(file_name(name, variant)).stem: folder / file_name(name, variant) for variant in VARIANTS}
        for name in CREATURES
    }
    with cache.alone(folder):
        missing = [name for name, pair in files.items() if not all(path.is_file() for path in pair.values())]
        if missing:
            print(f"making {', '.join(missing)} in {folder}", flush=True)
            if not make(folder, missing, VARIANTS):
                return {}
    return {stem: path for pair in files.values() for stem, path in pair.items()}


def check(path):
    import figures_error  # only here: it needs the library
    import rows

    sequence = rows.Sequence(path.stem, path)
    left = figures_error.error_of_the_truth(sequence)
    moved = int((sequence.weights > 0.5).sum(axis=0).min())
    print(
        f"{path.stem}: {sequence.weights.shape[1]} bones, {len(sequence.rest)} vertices,"
        f" the smallest bone has {moved}, E_RMS of the truth {left:.6f}",
        flush=True,
    )


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="OUTFOLDER", type=Path)
    parser.add_argument("--only", metavar="NAMES", default=",".join(CREATURES), help="with commas between")
    parser.add_argument("--variant", choices=VARIANTS, help="both unless told")
    parser.add_argument("--seed", type=int, default=0, help="of relatives; 0: the creatures themselves")
    parser.add_argument("--check", action="store_true", help="fit bones to the true weights")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if options.seed < 0:
        parser.error("a seed is 0 or more")
    unknown = [name for name in options.only if name not in CREATURES]
    if unknown:
        parser.error(f"there is no {' or '.join(unknown)}, only {', '.join(CREATURES)}")
    return options


def main():
    options = parse()
    variants = [options.variant] if options.variant else list(VARIANTS)
    if not make(options.folder, options.only, variants, options.seed):
        sys.exit(1)
    for name in options.only:
        for variant in variants:
            path = options.folder / file_name(name, variant)
            print(path)
            if options.check:
                check(path)


if __name__ == "__main__":
    main()
