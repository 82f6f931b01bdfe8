"""Puts the skeleton of a rig into new bodies and prints what came out as JSON, on one line, the last.

    python bench/fit.py RIG.npz REST.npz --out OUT.npz

RIG.npz is one of solve.py with a skeleton: `influence_bones` and `influence_weights` [v][k], `parents`
[b], and `rest` [v][3] with `joints` [b][3], or `rest` [s][v][3] with `joints` [s][b][3] of several bodies.
REST.npz holds `rest` [s][v][3] (or [v][3]) of bodies with the same vertices in the same order and, as a
rule, `triangles` [t][3]. OUT.npz gets `joints` [s][b][3] in those bodies and `parents` [b]; from several
bodies also `vertices` [b][8] (-1 unused) and `shares` [b][8]: sums over vertices of any body, its joints.
A refusal is one sentence on stderr and exit code 1. Any python3 that has NumPy will do.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import solve
from solve import Refusal, native, np, whole


def bodies(path, array, name):
    """[s][...] of one that may be of one body alone."""
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[2] != 3:
        raise Refusal(f"{path} is damaged: `{name}` has shape {array.shape}; [s][n][3] is needed.")
    return array


def fit(arguments):
    parser = solve.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rig", metavar="RIG.npz")
    parser.add_argument("bodies", metavar="REST.npz")
    parser.add_argument("--threads", type=int, help="0: one for each core")
    parser.add_argument("--out", metavar="OUT.npz")
    options = parser.parse_args(arguments)
    if options.out:
        solve.refuse_unwritable(Path(options.out), options.bodies)
    names = ("influence_bones", "influence_weights", "rest", "joints", "parents")
    known = solve.read_arrays(options.rig, (*names, "triangles"), names)
    new = solve.read_arrays(options.bodies, ("rest", "triangles"), ("rest",))
    rest, joints = (bodies(options.rig, known[name], name) for name in ("rest", "joints"))
    wanted = bodies(options.bodies, new["rest"], "rest")
    if wanted.shape[1] != rest.shape[1]:
        raise Refusal(
            f"{options.bodies} has bodies of {wanted.shape[1]} vertices; the rig's have {rest.shape[1]}: "
            "only bodies of one topology share a skeleton."
        )
    rig = native.Rig(None, known["influence_bones"], known["influence_weights"], rest[0])
    triangles = new.get("triangles", known.get("triangles"))
    began = time.perf_counter()
    settings = native.Settings(threads=options.threads)
    placed = native.place_joints(rig, known["parents"], rest, joints, wanted, triangles, settings)
    seconds = time.perf_counter() - began
    if options.out:
        arrays = {"joints": placed.joints, "parents": known["parents"]}
        if len(rest) > 1:
            arrays |= {"vertices": placed.vertices, "shares": placed.shares}
        with whole.replacing(Path(options.out)) as part, open(part, "wb") as file:
            np.savez(file, **arrays)
    counts = {"known": len(rest), "bodies": len(wanted), "bones": len(known["parents"])}
    print(json.dumps({**counts, "seconds": seconds, "version": native.version()}), flush=True)


if __name__ == "__main__":
    sys.exit(solve.main(run=fit))
