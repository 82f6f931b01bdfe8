"""Decomposes one mesh sequence and prints what came out as JSON, on one line, the last.

    python bench/solve.py SEQ.npz --bones 20 --out RIG.npz

SEQ.npz holds `frames` [f][v][3] and, as a rule, `rest` [v][3] and `triangles` [t][3]: without
a rest pose a bind shape is made, without triangles a graph of near vertices is used.
RIG.npz gets `transforms` [f][b][3][4] (rest to frame), `influence_bones` [v][k] (-1 unused),
`influence_weights` [v][k] and `rest` [v][3] (as corrected), in the input's own coordinates; with --skeleton
also `parents` [b] (-1 at the root) and `joints` [b][3] (to the parent, in rest; the root's own origin); with
--correctives also `fields` [n][v][3] (added to `rest` before skinning) and `coefficients` [f][n] (how much of
each), and the errors have them in.
A refusal is one sentence on stderr and exit code 1. Any python3 that has NumPy will do.
"""

import argparse
import dataclasses
import json
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "addon"))
try:
    import numpy as np

    import native
    from base import npz, whole
    from base.refusal import Refusal
except ImportError as missing:
    sys.exit(f"solve.py: {sys.executable} cannot import {missing.name}: a python3 with NumPy is needed.")


MOST_PARTS = 100  # more than a body with fingers and toes has


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refusal(f"{message} (see solve.py --help)")


def parse(arguments):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequence", metavar="SEQ.npz")
    parser.add_argument("--bones", type=int, help="how many; with --budget or --auto-bones: the most allowed")
    parser.add_argument("--budget", type=float, metavar="PERCENT", help="of the rest's box diagonal")
    parser.add_argument("--budget-kind", choices=("rms", "max"), default="rms", help="what --budget bounds")
    parser.add_argument("--auto-bones", action="store_true", help="as many as the body has parts")
    parser.add_argument("--influences", type=int, help="most bones a vertex")
    parser.add_argument("--flexible", action="store_true", help="affine bones instead of rigid ones")
    parser.add_argument("--quality", choices=native.QUALITIES)
    parser.add_argument("--threads", type=int, help="0: one for each core")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--until", type=float, metavar="E_RMS", help="stop as soon as this is reached")
    parser.add_argument("--iterations", type=int, help="most of the last stage")
    parser.add_argument("--rest", choices=native.REST_MODES)
    parser.add_argument("--locality", choices=("on", "off"))
    parser.add_argument("--start", choices=native.STARTS, help="how the first bones are found")
    parser.add_argument("--start-tolerance", type=float, metavar="E_RMS", help="merge patches up to it")
    parser.add_argument("--smoothness", type=float, help="how strongly weights follow their neighbours' mean")
    parser.add_argument(
        "--skeleton",
        choices=("none", "hierarchy", "articulated"),
        nargs="?",
        const="hierarchy",
        default="none",
        help="join the bones; articulated: and refit them to turn about joints that hold",
    )
    parser.add_argument(
        "--connect", choices=native.CONNECTS, help="what speaks for a joint between two bones"
    )
    parser.add_argument("--correctives", type=int, metavar="N", help="fields of what the bones miss")
    parser.add_argument(
        "--correctives-budget",
        type=float,
        metavar="PERCENT",
        help="as few as leave that, of the rest's box diagonal (root mean square); --correctives: the most",
    )
    parser.add_argument("--out", metavar="RIG.npz")
    options = parser.parse_args(arguments)
    if options.auto_bones and options.budget is not None:
        parser.error("--auto-bones and --budget both decide how many bones there are: take one of them")
    if options.bones is None and options.budget is None and not options.auto_bones:
        parser.error(
            "say how many bones (--bones N, --auto-bones) or how much error is allowed (--budget PERCENT)"
        )
    return options


def read_sequence(path):
    """rest, frames, triangles; None where the file has none."""
    names = ("rest", "frames", "triangles")
    try:
        with open(path, "rb") as file:
            is_array = file.read(6) == b"\x93NUMPY"
        if is_array:
            raise Refusal(f"{path} is a single array; an .npz with `frames` and `rest` is needed.")
        held = npz.names_in(path)
        if "frames" not in held:
            raise Refusal(
                f"{path} has no array `frames` [f][v][3] (it holds {', '.join(held) or 'nothing'})."
            )
        arrays = npz.read(path, names)
    except FileNotFoundError:
        raise Refusal(f"{path} is not there.") from None
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({error.strerror or error}).") from None
    except npz.Damaged as error:
        where = f" (`{error}`)" if str(error) else ""
        raise Refusal(f"{path} is not a NumPy .npz file of number arrays, or it is damaged{where}.") from None
    return tuple(arrays.get(name) for name in names)


def settings_of(options):
    chosen = {
        "bones": options.bones,
        "influences": options.influences,
        "bone_kind": "flexible" if options.flexible else "rigid",
        "quality": options.quality,
        "rest_mode": options.rest,
        "locality": None if options.locality is None else options.locality == "on",
        "start": options.start,
        "start_tolerance": options.start_tolerance,
        "connect": options.connect,
        "smoothness": options.smoothness,
        "until": options.until,
        "iterations": options.iterations,
        "threads": options.threads,
        "seed": options.seed,
        "jointed": options.skeleton != "none" and options.budget is None,
    }
    if options.budget is not None:
        chosen["budget"] = options.budget
        chosen["budget_kind"] = "rms" if options.budget_kind == "rms" else "maximum"
        chosen["bones"] = native.MAX_BONES if options.bones is None else options.bones
    if options.auto_bones:
        chosen["budget_kind"] = "parts"
        chosen["bones"] = MOST_PARTS if options.bones is None else options.bones
    return native.Settings(**chosen)


def with_skeleton(options, sequence, rig, info):
    """The rig, its skeleton and the info of the last step."""
    rest, frames, triangles = sequence
    settings = dataclasses.replace(settings_of(options), bones=rig.bones, budget_kind="none", budget=0.0)
    began = time.perf_counter()
    skeleton = native.connect(rig, triangles, settings=settings)
    seconds = time.perf_counter() - began
    more = {"skeleton_seconds": seconds, "free_erms": info.erms, "root": int(skeleton.root)}
    if options.skeleton == "articulated":
        rig, skeleton, info = native.articulate(rest, frames, triangles, rig, skeleton, settings)
        more["articulate_seconds"] = info.seconds
    return rig, skeleton, info, more


def with_correctives(options, sequence, rig, info):
    """The rig with correctives, the info of all and what they are worth. As in the decomposition, the rest is
    solved along unless it is fixed, and best quality solves the bones again, unless joints hold them."""
    rest, frames, triangles = sequence
    settings = dataclasses.replace(settings_of(options), bones=rig.bones, budget_kind="none", budget=0.0)
    wishes = {
        "count": native.MAX_CORRECTIVES if options.correctives is None else options.correctives,
        "solve_rest": settings.rest_mode != "fixed",
        "refine": settings.quality == "best" and options.skeleton != "articulated",
    }
    if options.correctives_budget is not None:
        wishes |= {"budget_kind": "rms", "budget": options.correctives_budget}
    correction = native.Correction(**wishes)
    rig, worth, found = native.correct(rest, frames, triangles, rig, correction, settings)
    stages = {name: seconds + found.stage_seconds[name] for name, seconds in info.stage_seconds.items()}
    more = {
        "correctives": len(worth.gains),
        "correct_seconds": found.seconds,
        "bare_erms": worth.bare_erms,
        "gains": [float(gain) for gain in worth.gains],
    }
    kept = {"seconds": info.seconds, "iterations": info.iterations, "stage_seconds": stages}
    return rig, found._replace(**kept), more


def report(info):
    stages = {name: round(seconds, 6) for name, seconds in info.stage_seconds.items()}
    values = {
        "erms": info.erms,
        "seconds": info.seconds,
        "iterations": info.iterations,
        "bones": info.bones,
        "status": int(info.status),
        "message": info.message,
        "stage_seconds": stages,
        "rms_percent": info.rms_percent,
        "maximum_percent": info.maximum_percent,
        "normal_degrees": info.normal_degrees,
        "bumps": info.bumps,
        "rest_normal_degrees": info.rest_normal_degrees,
        "rest_bumps": info.rest_bumps,
        "rest_percent": info.rest_percent,
        "version": native.version(),
    }
    return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in values.items()}


def refuse_unwritable(path, sequence):
    """Before minutes of solving, not after."""
    if not path.parent.is_dir():
        raise Refusal(f"{path} cannot be written: there is no folder {path.parent}.")
    whole.check(path)
    if path.exists() and Path(sequence).exists() and path.samefile(sequence):
        raise Refusal(f"{path} is the sequence that is read: name another file with --out.")


def arrays_of(rig, skeleton):
    names = ["transforms", "influence_bones", "influence_weights", "rest"]
    arrays = {name: getattr(rig, name) for name in names}
    if rig.fields is not None:
        arrays |= {"fields": rig.fields, "coefficients": rig.coefficients}
    if skeleton is not None:
        arrays |= {"parents": skeleton.parents, "joints": skeleton.joints}
    return arrays


def write_rig(path, rig, skeleton):
    with whole.replacing(path) as part, open(part, "wb") as file:
        np.savez(file, **arrays_of(rig, skeleton))


def solve(arguments):
    options = parse(arguments)
    out = Path(options.out) if options.out else None
    if out:
        refuse_unwritable(out, options.sequence)
    sequence = read_sequence(options.sequence)
    rig, info = native.decompose(*sequence, settings_of(options))
    skeleton, more = None, {}
    if options.skeleton != "none":
        solved = info.seconds
        rig, skeleton, info, more = with_skeleton(options, sequence, rig, info)
        info = info._replace(seconds=solved)
    if options.correctives is not None or options.correctives_budget is not None:
        rig, info, worth = with_correctives(options, sequence, rig, info)
        more |= worth
    if out:
        write_rig(out, rig, skeleton)
    print(json.dumps({**report(info), **more}), flush=True)


def main(arguments=None):
    try:
        solve(arguments)
    except (Refusal, native.OssifyError) as error:
        print(error, file=sys.stderr)
        return 1
    except MemoryError:
        print("There is not enough memory for this sequence.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
