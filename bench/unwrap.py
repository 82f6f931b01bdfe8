"""Relaxes a map (UVs) for a whole motion and prints how it stretches as JSON, on one line, the last.

    python bench/unwrap.py SEQ.npz --uv UV.npz --out OUT.npz

SEQ.npz holds `frames` [f][v][3], `triangles` [t][3] and, as a rule, `rest` [v][3]; UV.npz holds `uv`
[t][3][2], a place in the map for each corner of a triangle (corners of neighbours that lie apart are a seam).
OUT.npz gets `uv`, relaxed, `stretch` [t], root mean square over the frames and 1 at best, and `islands` [t].
Stretch is by how many percent Sander's L2 stretch (2001) is above 1, its mean over the frames. With
--leave-out N every N-th frame is left out, and the map is measured on those, too; --test takes other frames
of the same mesh.
A refusal is one sentence on stderr and exit code 1. Any python3 that has NumPy will do.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import solve
from solve import Refusal, native, np, npz, whole

LEAST_AREA = 1e-6  # of the mean in the map: what a triangle counts for that has next to none


def stretch(uv, triangles, frames):
    """Percent by which Sander's L2 stretch is above 1, mean over the frames: from its definition"""
    d = (uv[:, 1:] - uv[:, :1]).astype(np.float64)  # [t] two edges [u v]
    twice = d[:, 0, 0] * d[:, 1, 1] - d[:, 0, 1] * d[:, 1, 0]
    area = np.abs(twice).sum() / 2
    square = np.maximum(np.abs(twice), LEAST_AREA * 2 * area / len(uv)) ** 2
    found = []
    for frame in frames.astype(np.float64):
        e = frame[triangles[:, 1:]] - frame[triangles[:, :1]]
        own = np.linalg.norm(np.cross(e[:, 0], e[:, 1]), axis=1) / 2
        along = e[:, 0] * d[:, 1, 1:] - e[:, 1] * d[:, 0, 1:]  # the surface's way along u, and along v
        across = e[:, 1] * d[:, 0, :1] - e[:, 0] * d[:, 1, :1]
        squared = ((along**2).sum(1) + (across**2).sum(1)) / (2 * square)
        if own.sum() > 0:
            found.append(np.sqrt((own * squared).sum() * area) / own.sum() - 1)
    return 100 * float(np.mean(found)) if found else None


def read_map(path, triangles):
    try:
        arrays = npz.read(path, ("uv",))
    except FileNotFoundError:
        raise Refusal(f"{path} is not there.") from None
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({error.strerror or error}).") from None
    except npz.Damaged:
        raise Refusal(f"{path} is not a NumPy .npz file of number arrays, or it is damaged.") from None
    if "uv" not in arrays:
        raise Refusal(f"{path} has no array `uv`: it must hold the map, [t][3][2].")
    if arrays["uv"].shape != (len(triangles), 3, 2):
        shape = "".join(f"[{n}]" for n in arrays["uv"].shape)
        raise Refusal(f"`uv` of {path} is {shape}; with these triangles it must be [{len(triangles)}][3][2].")
    return arrays["uv"].astype(np.float32)


def split(frames, every):
    """Those that are used, and those that are left out."""
    if not every:
        return frames, frames[:0]
    if not 2 <= every <= len(frames):
        raise Refusal(f"--leave-out is {every}; with {len(frames)} frames it must be 2..{len(frames)}.")
    out = np.arange(len(frames)) % every == every - 1
    return frames[~out], frames[out]


def parse(arguments):
    parser = solve.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequence", metavar="SEQ.npz")
    parser.add_argument("--uv", metavar="UV.npz", required=True)
    parser.add_argument(
        "--method", choices=native.UNWRAP_METHODS, help="isometric, conformal: to compare with"
    )
    parser.add_argument("--place", choices=native.UNWRAP_PLACES, help="where islands go")
    parser.add_argument("--iterations", type=int, help="most steps an island; 0: only measure")
    parser.add_argument("--with-rest", action="store_true", help="the rest pose counts as one more frame")
    parser.add_argument("--leave-out", type=int, metavar="N", help="every N-th frame is only measured")
    parser.add_argument("--test", metavar="SEQ.npz", help="other frames to measure the map on")
    parser.add_argument("--threads", type=int, help="0: one for each core")
    parser.add_argument("--out", metavar="OUT.npz")
    return parser.parse_args(arguments)


def report(found, info, given, triangles, other, seconds):
    names = ("islands", "restarted", "left", "flipped_before", "flipped")
    figures = ("stretch_before", "stretch", "rest_stretch_before", "rest_stretch")
    told = {name: getattr(found, name) for name in (*names, *figures)}
    if len(other):
        told["held_out_stretch_before"] = stretch(given, triangles, other)
        told["held_out_stretch"] = stretch(found.uv, triangles, other)
        told["held_out_frames"] = len(other)
    return {**told, "iterations": info.iterations, "seconds": info.seconds, "cpu_seconds": seconds}


def unwrap(arguments):
    options = parse(arguments)
    if options.out:
        solve.refuse_unwritable(Path(options.out), options.sequence)
    rest, frames, triangles, subject = solve.read_sequence(options.sequence)
    if subject is not None:
        raise Refusal(f"{options.sequence} has several subjects: only the motion of one is unwrapped.")
    if triangles is None:
        raise Refusal(f"{options.sequence} has no triangles: only a surface can be unwrapped.")
    given = read_map(options.uv, triangles)
    used, other = split(frames, options.leave_out)
    if options.test:
        _, tested, *_ = solve.read_sequence(options.test)
        if tested.shape[1:] != frames.shape[1:]:
            raise Refusal(f"{options.test} has {tested.shape[1]} vertices, not {frames.shape[1]}.")
        other = np.concatenate([other, tested])
    wish = native.Unwrapping(options.method, options.place, options.iterations, options.with_rest)
    began = time.process_time()
    found, info = native.unwrap(rest, used, triangles, given, wish, native.Settings(threads=options.threads))
    told = report(found, info, given, triangles, other, time.process_time() - began)
    if options.out:
        with whole.replacing(Path(options.out)) as part, open(part, "wb") as file:
            np.savez(file, uv=found.uv, stretch=found.triangle_stretch, islands=found.triangle_islands)
    if info.message:
        print(f"unwrap.py: {info.message}", file=sys.stderr)
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    sys.exit(solve.main(run=unwrap))
