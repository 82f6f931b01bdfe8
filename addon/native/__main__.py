"""python -m ossify solve SEQ.npz --bones 24 --out RIG.npz: a moving mesh into a rig, without Blender.

SEQ.npz holds rest [v][3], frames [f][v][3] and triangles [t][3]; without rest, the first frame is taken. What
is found is printed as one line of JSON. Exit codes: 0 done, 1 it failed, 2 the arguments are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from pathlib import Path

import numpy as np

from . import (
    QUALITIES,
    REST_MODES,
    OssifyError,
    Settings,
    articulate,
    connect,
    decompose,
    npz,
    version,
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ossify", description="Turns moving meshes into rigs.")
    parser.add_argument("--version", action="store_true", help="print the library's version")
    verbs = parser.add_subparsers(dest="verb", metavar="solve")
    solve = verbs.add_parser("solve", help="find bones, weights and their motion")
    solve.add_argument("sequence", type=Path, metavar="SEQ.npz", help="rest, frames and triangles")
    solve.add_argument("--bones", type=int, metavar="N", help="how many; with --budget: the most")
    solve.add_argument("--budget", type=float, metavar="PERCENT", help="the error that is allowed, RMS")
    solve.add_argument("--influences", type=int, metavar="N", help="the most bones of a vertex")
    solve.add_argument("--flexible", action="store_true", help="bones also stretch and shear")
    solve.add_argument("--quality", choices=QUALITIES)
    solve.add_argument("--rest", choices=REST_MODES, help="whether the rest pose may be corrected")
    solve.add_argument("--fairness", type=float, metavar="N", help="how much a smooth skin counts")
    solve.add_argument("--skeleton", choices=("none", "hierarchy", "articulated"), default="none")
    solve.add_argument("--seed", type=int, metavar="N")
    solve.add_argument("--threads", type=int, metavar="N", help="0: one for each core")
    solve.add_argument("--out", type=Path, metavar="RIG.npz", help="where the rig is written")
    return parser


class _Refused(Exception):
    """A sentence about a file."""


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        return npz.read(str(path), ("rest", "frames", "triangles"))
    except OSError as error:
        raise _Refused(f"{path} cannot be read: {error.strerror or error}.") from None
    except npz.Damaged:
        raise _Refused(f"{path} is damaged, or no .npz of plain arrays: write it again.") from None


def _read(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    arrays = _arrays(path)
    if "frames" not in arrays:
        raise _Refused(f"{path} holds no frames [f][v][3].")
    frames = arrays["frames"]
    if frames.ndim != 3 or not len(frames):
        raise _Refused(f"frames of {path} have the shape {frames.shape}: [f][v][3] is needed, with a frame.")
    return arrays.get("rest", frames[0]), frames, arrays.get("triangles")


def _settings(asked: argparse.Namespace) -> Settings:
    more = {"budget_kind": "rms", "budget": asked.budget} if asked.budget is not None else {}
    names = ("bones", "influences", "quality", "fairness", "seed", "threads")
    return Settings(
        **{name: getattr(asked, name) for name in names},
        rest_mode=asked.rest,
        bone_kind="flexible" if asked.flexible else None,
        jointed=True if asked.skeleton != "none" and asked.budget is None else None,
        **more,
    )


def _write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Whole, or not at all; a link stays one."""
    path = path.resolve()
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            np.savez(file, **arrays)
        os.replace(part, path)
    except OSError as error:
        raise _Refused(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def _output_trouble(asked: argparse.Namespace) -> str | None:
    out = asked.out
    if out is None:
        return None
    if not out.absolute().parent.is_dir():
        return f"there is no folder {out.absolute().parent}"
    if out.is_dir():
        return f"{out} is a folder"
    if out.exists() and not out.is_file():
        return f"{out} is no ordinary file"
    if out.exists() and asked.sequence.exists() and out.samefile(asked.sequence):
        return f"{out} is the sequence itself"
    return None


def _solve(asked: argparse.Namespace) -> dict:
    rest, frames, triangles = _read(asked.sequence)
    settings = _settings(asked)
    rig, info = decompose(rest, frames, triangles, settings)
    arrays = {}
    if asked.skeleton != "none":
        skeleton = connect(rig, triangles)
        if asked.skeleton == "articulated":
            rig, skeleton, info = articulate(
                rest, frames, triangles, rig, skeleton, Settings(bones=rig.bones)
            )
        arrays = {"parents": skeleton.parents, "joints": skeleton.joints}
    for name in ("transforms", "influence_bones", "influence_weights", "rest"):
        arrays[name] = getattr(rig, name)
    if asked.out is not None:
        _write(asked.out, arrays)
    return {"erms": info.erms, "rms_percent": info.rms_percent, "bones": rig.bones, "seconds": info.seconds}


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        if asked.version:
            print(version())
        elif asked.verb is None:
            parser.error("name what to do: solve")
        elif trouble := _output_trouble(asked):
            parser.error(f"--out: {trouble}")
        else:
            print(json.dumps(_solve(asked)))
    except (OssifyError, _Refused) as error:
        print(f"ossify: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
