"""Compresses the weights of a rig into two layers and prints what came out as JSON, on one line, the last.

    python bench/compress.py RIG.npz SEQ.npz --virtual 200 --from poses --out OUT.npz

RIG.npz holds `influence_bones` [v][k] (-1 unused) and `influence_weights` [v][k], any k, `rest` [v][3] and,
as a rule, `transforms` [f][b][3][4]; SEQ.npz holds `frames` [f][v][3] and, as a rule, `rest` and `triangles`:
without it the weights alone are met. OUT.npz gets the masters' `transforms`, `rest`, `virtual_bones`
[m][c] (-1 unused), `virtual_weights` [m][c], and `influence_bones` and `influence_weights` [v][k] over
virtual bones.
A refusal is one sentence on stderr and exit code 1. Any python3 that has NumPy will do.
"""

import argparse
import json
import sys
from pathlib import Path

import solve
import virtual
from solve import native, np, whole


def compress(arguments):
    parser = solve.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rig", metavar="RIG.npz")
    parser.add_argument("sequence", metavar="SEQ.npz", nargs="?")
    virtual.add_options(parser, needed=True)
    parser.add_argument("--flexible", action="store_true", help="with --refine: affine bones")
    parser.add_argument("--threads", type=int, help="0: one for each core")
    parser.add_argument("--out", metavar="OUT.npz")
    options = parser.parse_args(arguments)
    if options.out:
        solve.refuse_unwritable(Path(options.out), options.sequence or options.rig)
    rig = solve.read_rig_arrays(options.rig)[0]
    rest, frames, triangles = rig.rest, None, None
    if options.sequence:
        rest, frames, triangles, _ = solve.read_sequence(options.sequence)
    else:
        rig.transforms = None
    settings = native.Settings(bone_kind="flexible" if options.flexible else "rigid", threads=options.threads)
    wish = virtual.compression_of(options, "poses" if options.sequence else "weights")
    rig, layers, info = native.compress(rest, frames, triangles, rig, wish, settings)
    if options.out:
        with whole.replacing(Path(options.out)) as part, open(part, "wb") as file:
            np.savez(file, **virtual.arrays_of(rig, layers))
    print(json.dumps({**solve.report(info), **virtual.report(layers, info)}), flush=True)


if __name__ == "__main__":
    sys.exit(solve.main(run=compress))
