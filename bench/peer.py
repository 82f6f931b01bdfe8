"""One run of py-dem-bones, as JSON: python bench/peer.py SEQ.npz BONES default|accurate

Its defaults with 30 iterations and 4 influences, or the same without its two regularisers
(transAffine = weightsSmooth = 0), its most accurate setting. Seconds are those of the processor, with
its start, on one thread. Run it with a time limit: on some input it does not end.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import importlib.metadata
import json
import sys
import time

import numpy as np

import measure

ITERATIONS, INFLUENCES = 30, 4


def run(path, bones, setting):
    from py_dem_bones import DemBones

    with np.load(path) as file:
        rest, frames, triangles = (file[name] for name in ("rest", "frames", "triangles"))
    solver = DemBones()
    solver.nV, solver.nF, solver.nS, solver.nB = len(rest), len(frames), 1, bones
    solver.nnz, solver.nIters = INFLUENCES, ITERATIONS
    if setting == "accurate":
        solver.transAffine = solver.weightsSmooth = 0.0
    solver.fStart = np.array([0, len(frames)], np.int32)
    solver.subjectID = np.zeros(len(frames), np.int32)
    solver.u = np.ascontiguousarray(rest.T, np.float64)
    solver.v = np.ascontiguousarray(frames.transpose(0, 2, 1).reshape(-1, len(rest)), np.float64)
    solver.fv = triangles.tolist()
    began = time.process_time()
    solver.compute()
    seconds = time.process_time() - began
    found = solver.nB
    weights = np.asarray(solver.get_weights(), np.float64).T
    transforms = np.asarray(solver.m).reshape(len(frames), 4, found, 4).transpose(0, 2, 1, 3)[:, :, :3]
    edges = measure.surface_edges(rest, triangles)
    return {
        "seconds": seconds,
        "erms": measure.erms(rest, frames, rest, transforms, weights),
        "normal_degrees": measure.normal_degrees(frames, triangles, rest, transforms, weights),
        "bones": found,
        "stray": measure.stray_share(edges, weights),
        "version": importlib.metadata.version("py-dem-bones"),
    }


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
