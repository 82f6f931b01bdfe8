"""The same bits on every processor, tried as far as one processor can pretend to be others: OpenBLAS by the
kernels it is told to take, the C library by the instructions it is told to leave alone."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import native

ADDON = Path(native.__file__).resolve().parents[1]
SOLVES = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import native

def bits(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()

# a tube that bends, in steps of 1/256: nothing of it depends on how NumPy rounds
random = np.random.default_rng(5)
along, around = np.divmod(np.arange(400), 10)
side = np.array([10, 8, 3, -3, -8, -10, -8, -3, 3, 8]) * 8
rest = np.stack([51 * along, side[around], side[(around + 7) % 10]], 1)
frames = np.repeat(rest[None], 12, 0)
for f in range(12):
    frames[f, :, 1] += (f % 5 - 2) * along**2 // 3 + random.integers(-3, 4, 400)
    frames[f, :, 0] -= (f % 3) * along**2 // 8
at = np.arange(390)
beside = at // 10 * 10 + (at + 1) % 10
triangles = np.concatenate([np.stack([at, beside, beside + 10], 1), np.stack([at, beside + 10, at + 10], 1)])
poses = (np.float32(rest) / 256, np.float32(frames) / 256, np.int32(triangles))

def settings(**chosen):
    return native.Settings(bones=6, threads=1, **chosen)

answers = {}
for name, chosen in {
    "normal": {},
    "flexible": {"bone_kind": "flexible"},
    "spectral": {"start": "spectral"},
    "faces": {"start": "faces"},
    "jointed": {"jointed": True},
}.items():
    rig, info = native.decompose(*poses, settings(**chosen))
    answers[name] = bits(rig.transforms, rig.influence_bones, rig.influence_weights, rig.rest, info.erms)
joined = native.connect(rig, poses[2], settings=settings())
rig, skeleton, info = native.articulate(*poses, rig, joined, settings())
answers["articulated"] = bits(rig.transforms, rig.influence_weights, info.erms)
answers["skeleton"] = bits(skeleton.parents, skeleton.joints)
answers["pruned"] = bits(native.prune_weights(*poses, rig, 2)[0].influence_weights)
answers["smoothed"] = bits(native.smooth_weights(*poses, rig, 0.01)[0].influence_weights)
print(json.dumps(answers))
"""
CORES = ("Haswell", "SkylakeX", "Zen", "Sandybridge", "Nehalem", "Prescott")
FEWER = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"


def answers(**environment):
    run = subprocess.run(
        [sys.executable, "-c", SOLVES, str(ADDON)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def here():
    return answers()


@pytest.mark.parametrize("core", CORES)
def test_no_kernel_of_openblas_changes_a_bit(here, core):
    assert answers(OPENBLAS_CORETYPE=core) == here


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the GNU C library alone can be told")
def test_no_instruction_of_the_c_library_changes_a_bit(here):
    assert answers(GLIBC_TUNABLES=FEWER) == here


INEXACT = """acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 hypot lgamma
log log10 log1p log2 pow sin sincos sinh tan tanh tgamma""".split()


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("nm") is None, reason="read by nm")
def test_the_library_takes_no_inexact_function_from_the_system():
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", str(native.library_path())],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
    assert not names & {name + suffix for name in INEXACT for suffix in ("", "f", "l")}
    assert {name for name in names if name.startswith("scipy_")} <= {"scipy_dsterf_"}
