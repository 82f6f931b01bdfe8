"""Figures of correctives: against the brackets of SSDR's Table 2, with other bones, and driven.

Each section returns plain data for pages.py, or None when it cannot be measured here.
"""

import dataclasses
import math
import time

import numpy as np

import native
from native import hinged
from rows import DATA, geometric_mean, say

RANK = 5
# Table 2 of Le & Deng 2012: sequence, bones, E_RMS after an EigenSkin correction of rank 5
BRACKETS = [
    ("cat-poses", 15, 2.7),
    ("cat-poses", 20, 2.0),
    ("cat-poses", 25, 1.4),
    ("lion-poses", 10, 5.0),
    ("lion-poses", 21, 2.2),
    ("face-poses", 27, 3.6),
    ("horse-gallop", 20, 1.8),
    ("horse-gallop", 33, 1.1),
    ("horse-collapse", 3, 4.1),
    ("horse-collapse", 10, 2.1),
    ("horse-collapse", 20, 1.6),
    ("pcow", 10, 11.9),
    ("pcow", 24, 4.8),
    ("elephant-gallop", 20, 2.3),
    ("elephant-gallop", 27, 1.3),
    ("pdance", 10, 3.4),
    ("pdance", 24, 0.8),
]
FLEXIBLE = [("horse-gallop", 20), ("horse-collapse", 10)]
ARTICULATED = [("horse-gallop", 20), ("samba", 20), ("elephant-gallop", 27)]
# sequence, bones, of how many frames, which are left out; the gallop repeats itself after 24
HELD_OUT = [
    ("horse-gallop", 20, 24, "every second"),
    ("horse-gallop", 20, 24, "8 in the middle"),
    ("horse-collapse", 20, None, "every second"),
    ("samba", 20, None, "blocks"),
    ("pdance", 20, None, "the second half"),
    ("vellum-cloth", 20, None, "blocks"),
]
BLOCKS = 8


def solved(sequence, bones, **chosen):
    """The rig, its info, and the seconds of the processor."""
    settings = native.Settings(bones=bones, threads=1, **chosen)
    began = time.process_time()
    rig, info = native.decompose(sequence.rest, sequence.frames, sequence.triangles, settings)
    return rig, info, time.process_time() - began


def corrected(sequence, rig, **chosen):
    settings = native.Settings(bones=rig.bones, threads=1, rest_mode="free")
    wish = native.Correction(count=RANK, **chosen)
    began = time.process_time()
    poses = sequence.rest, sequence.frames, sequence.triangles
    found, _, info = native.correct(*poses, rig, wish, settings)
    return found, info, time.process_time() - began


def row_of(name, bones, bare, info, times):
    """times: of the rig, of the correctives"""
    say(f"  {name} {bones}: {bare.erms:.3f} -> {info.erms:.3f}, {times[1]:.2f} s of {times[0]:.2f} s")
    normals = {"normals_bare": bare.normal_degrees, "normals": info.normal_degrees}
    parts = {"share": times[1] / times[0], "seconds": times[1], "bare": bare.erms, "erms": info.erms}
    return {"name": name, "bones": bones, **parts, **normals}


def against_brackets(bench):
    rows = []
    for name, bones, paper in bench.rows(BRACKETS):
        sequence = bench.sequence(name)
        plain = {"quality": "best", "rest_mode": "free", "locality": False}
        rig, bare, took = solved(sequence, bones, **plain)
        _, info, more = corrected(sequence, rig, solve_rest=True)
        row = row_of(name, bones, bare, info, (took, more))
        rows.append({**row, "paper": paper, "ratio": info.erms / paper})
    return rows


def flexible(bench):
    rows = []
    for name, bones in bench.rows(FLEXIBLE):
        sequence = bench.sequence(name)
        rig, bare, took = solved(sequence, bones, bone_kind="flexible")
        _, info, more = corrected(sequence, rig, solve_rest=True)
        rows.append(row_of(name, bones, bare, info, (took, more)))
    return rows


def articulated(bench):
    """Joints that hold and correctives in turns, against free bones without. once: correctives alone"""
    rows = []
    for name, bones in bench.rows(ARTICULATED):
        sequence = bench.sequence(name)
        rig, free, took = solved(sequence, bones, jointed=True)
        settings = native.Settings(bones=rig.bones, threads=1)
        skeleton = native.connect(rig, sequence.triangles)
        poses = sequence.rest, sequence.frames, sequence.triangles
        rig, skeleton, held = native.articulate(*poses, rig, skeleton, settings)
        stay = np.ones(rig.transforms.shape[:2], np.uint8)
        wish = {"solve_rest": True, "refine": True}
        _, once, _ = corrected(sequence, dataclasses.replace(rig, held_transforms=stay), **wish)
        began = time.process_time()
        wish, free_rest = (
            native.Correction(count=RANK, **wish),
            dataclasses.replace(settings, rest_mode="free"),
        )
        found = hinged.correct(*poses, rig, skeleton, wish, free_rest)
        row = row_of(name, bones, held, found.info, (took, time.process_time() - began))
        ratios = {"ratio": found.info.erms / free.erms, "once": once.erms / free.erms}
        rows.append({**row, **ratios, "free": free.erms, "rounds": found.rounds})
        say(
            f"    of {free.erms:.3f} by free bones: {ratios['once']:.2f} once, {ratios['ratio']:.2f} in turns"
        )
    return rows


# ---- driven


def left_out(frames, how):
    """[f] true: a test frame"""
    at = np.arange(frames)
    if how == "every second":
        return at % 2 == 1
    if how == "8 in the middle":
        return (at >= frames // 2 - 4) & (at < frames // 2 + 4)
    if how == "the second half":
        return at >= frames // 2
    return at * BLOCKS // frames % 2 == 1


def turns_of(transforms, parents):
    """[f][b][9] the entries of R - I for the nearest rotation R to A(parent)^-1 A(bone)"""
    found = np.zeros((*transforms.shape[:2], 9))
    for bone, parent in enumerate(parents):
        if parent >= 0:
            u, _, v = np.linalg.svd(np.linalg.solve(transforms[:, parent, :, :3], transforms[:, bone, :, :3]))
            u[..., 2] *= np.linalg.det(u @ v)[:, None]
            found[:, bone] = (u @ v - np.eye(3)).reshape(-1, 9)
    return found


def shifts_of(transforms, parents, pivots):
    """[f][b][3] M(parent)^-1 M(bone) p~ - p"""
    found = np.zeros((*transforms.shape[:2], 3))
    for bone, parent in enumerate(parents):
        if parent >= 0:
            above, own, p = transforms[:, parent], transforms[:, bone], pivots[bone]
            moved = own[..., :3] @ p + own[..., 3] - above[..., 3]
            found[:, bone] = np.linalg.solve(above[..., :3], moved[..., None])[..., 0] - p
    return found


def held_out_row(sequence, name, bones, count, how):
    frames = sequence.frames[:count]
    test = left_out(len(frames), how)
    train, test = frames[~test], frames[test]
    poses = sequence.rest, train, sequence.triangles
    settings = native.Settings(bones=bones, threads=1)
    rig, _ = native.decompose(*poses, settings)
    skeleton = native.connect(rig, sequence.triangles)
    parents = skeleton.parents
    began = time.process_time()
    wish = native.Driving(count=RANK)
    driven_rig, driven, _ = native.drive(*poses, rig, parents, wish, settings, skeleton.joints)
    took = time.process_time() - began
    keyed, _, _ = native.correct(*poses, rig, native.Correction(count=RANK), settings)
    fixed = dataclasses.replace(settings, rest_mode="fixed")
    there = sequence.rest, test, sequence.triangles
    tracked, bare = native.decompose(*there, fixed, rig.to_track())
    given = dataclasses.replace(tracked.released(), fields=keyed.fields)
    _, _, oracle = native.correct(*there, given, native.Correction(count=RANK), settings)
    values = np.einsum("fbi,nbi->fn", turns_of(tracked.transforms, parents), driven.map)
    shifts = shifts_of(tracked.transforms, parents, skeleton.joints)
    values += np.einsum("fbi,nbi->fn", shifts, driven.shifts)
    values = np.clip(values, driven_rig.coefficients.min(axis=0), driven_rig.coefficients.max(axis=0))
    shown = dataclasses.replace(tracked.released(), fields=driven_rig.fields, coefficients=values)
    error = native.evaluate(*there[:2], shown, replay=False).erms
    share = (bare.erms - error) / (bare.erms - oracle.erms)
    say(f"  {name} {bones}, {how}: {bare.erms:.3f}, keyed {oracle.erms:.3f}, driven {error:.3f}: {share:.0%}")
    errors = {"bare": bare.erms, "keyed": oracle.erms, "driven": error, "share": share, "form": driven.form}
    return {"name": name, "bones": bones, "how": how, **errors, "seconds": took}


def held_out(bench):
    return [
        held_out_row(bench.sequence(name), name, bones, count, how)
        for name, bones, count, how in bench.rows(HELD_OUT)
    ]


def correctives(bench):
    """Rank 5: rigid, flexible, articulated; and driven on frames that were left out."""
    if not bench.shared or not DATA.is_dir():
        return None
    rigid = against_brackets(bench)
    ratios = [row["ratio"] for row in rigid]
    driven = held_out(bench)
    shares = [row["share"] for row in driven]
    turned = [row["normals"] / row["normals_bare"] for row in rigid if row["normals_bare"]]
    return {
        "rigid": rigid,
        "mean": geometric_mean(ratios),
        "worst": max(ratios, default=None),
        "time": geometric_mean([row["share"] for row in rigid]),
        "normals": geometric_mean(turned),
        "normals_worst": max(turned, default=None),
        "flexible": flexible(bench),
        "articulated": articulated(bench),
        "driven": driven,
        "kept": math.fsum(shares) / len(shares) if shares else None,
        "kept_least": min(shares, default=None),
    }
