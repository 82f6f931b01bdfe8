"""Decomposes one mesh sequence and prints what came out as JSON, on one line, the last.

    python bench/solve.py SEQ.npz --bones 20 --out RIG.npz

SEQ.npz holds `frames` [f][v][3] and, as a rule, `rest` [v][3] and `triangles` [t][3]: without
a rest pose a bind shape is made, without triangles a graph of near vertices is used.
RIG.npz gets `transforms` [f][b][3][4] (rest to frame), `influence_bones` [v][k] (-1 unused),
`influence_weights` [v][k] and `rest` [v][3] (as corrected), in the input's own coordinates; with --skeleton
also `parents` [b] (-1 at the root) and `joints` [b][3] (to the parent, in rest; the root's own origin), with
--skeleton animator and `roles` [b] (0: the animator's own, which hold together, 1: helpers); with
--virtual the influences are those of virtual bones, and `virtual_bones` [m][c] (-1 unused) and
`virtual_weights` [m][c] say how those blend the bones, whose `transforms` stand there; with
--correctives also `fields` [n][v][3] (added to `rest` before skinning) and `coefficients` [f][n] (how much of
each), and the errors have them in; with --animation-space also `positions` [v][k][4], one for each bone in
`influence_bones`: v = sum_k transforms[bone] positions.
A sequence of several subjects holds `rest` [s][v][3] and `subject` [f], whose frame each is: weights and
tree are shared, transforms go from the subject's own rest, and RIG.npz gets `rest` [s][v][3] and, with
--skeleton, `joints` [s][b][3] (bench/fit.py puts them into bodies that were never seen). With --skeleton
articulated every body turns about joints of its own, weights and rests held.
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
    import virtual
    from base import whole
    from base.refusal import Refusal
    from native import animator, armature, hinged, npz
except ImportError as missing:
    sys.exit(f"solve.py: {sys.executable} cannot import {missing.name}: a python3 with NumPy is needed.")


MOST_PARTS = 100  # more than a body with fingers and toes has
SPACE_ROUNDS = 3  # of bones and positions in turns: later ones gain little


BUDGETS = {"rms": "rms", "max": "maximum", "normals": "normals", "bumps": "bumps"}
MOST_NEEDED = 8  # influences of a vertex, when they are not counted


def influences_of(word):
    return MOST_NEEDED if word == "auto" else int(word)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refusal(f"{message} (see solve.py --help)")


def parse(arguments):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequence", metavar="SEQ.npz")
    parser.add_argument("--bones", type=int, help="how many; with --budget or --auto-bones: the most allowed")
    parser.add_argument(
        "--budget", type=float, metavar="X", help="percent of the rest's box diagonal, or as said next"
    )
    parser.add_argument(
        "--budget-kind",
        choices=BUDGETS,
        default="rms",
        help="what --budget bounds; normals: in degrees, bumps: in mean edges",
    )
    parser.add_argument("--auto-bones", action="store_true", help="as many as the body has parts")
    parser.add_argument(
        "--influences", type=influences_of, help="most bones a vertex; auto: what the surface needs, up to 8"
    )
    parser.add_argument("--flexible", action="store_true", help="affine bones instead of rigid ones")
    parser.add_argument("--quality", choices=native.QUALITIES)
    parser.add_argument("--threads", type=int, help="0: one for each core")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--until", type=float, metavar="E_RMS", help="stop as soon as this is reached")
    parser.add_argument("--iterations", type=int, help="most of the last stage")
    parser.add_argument("--rest", choices=("untouched", *native.REST_MODES))
    parser.add_argument("--locality", choices=("on", "off"))
    parser.add_argument("--start", choices=native.STARTS, help="how the first bones are found")
    parser.add_argument("--start-tolerance", type=float, metavar="E_RMS", help="merge patches up to it")
    parser.add_argument("--smoothness", type=float, help="how strongly weights follow their neighbours' mean")
    parser.add_argument(
        "--fairness",
        type=float,
        nargs="?",
        help="how much more it counts that neighbours miss apart; 0: nothing; without a number the default",
    )
    parser.add_argument(
        "--skeleton",
        choices=("none", "hierarchy", "articulated", "animator"),
        nargs="?",
        const="hierarchy",
        default="none",
        help="join the bones; articulated: and refit them to turn about joints that hold; animator: as few as"
        " an animator would rig, which hold, and helpers that hang from them (--bones: how many hold)",
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
    parser.add_argument(
        "--correctives-joints",
        action="store_true",
        help="with --skeleton articulated: joints, their poses and the weights are solved again for what"
        " correctives leave, in turns",
    )
    parser.add_argument(
        "--animation-space",
        choices=native.SPACE_BONES,
        nargs="?",
        const="own",
        help="a rest position for every bone of a vertex; padded: also for bones of its neighbours",
    )
    parser.add_argument(
        "--track",
        metavar="RIG.npz",
        help="the bones of this rig find their way through the sequence; all else is held",
    )
    parser.add_argument(
        "--armature",
        metavar="RIG.npz",
        help="`joints` [b][3] and `parents` [b] stay; with `transforms` [f][b][3][4] only weights are solved,"
        " without weights and motion",
    )
    virtual.add_options(parser, needed=False)
    parser.add_argument("--out", metavar="RIG.npz")
    options = parser.parse_args(arguments)
    if options.animation_space and (options.correctives, options.correctives_budget) != (None, None):
        parser.error(
            "--animation-space and --correctives are two ways to show what bones miss: take one of them"
        )
    if options.correctives_joints and (options.correctives is None or options.skeleton != "articulated"):
        parser.error("--correctives-joints goes with --correctives N and --skeleton articulated")
    if options.virtual is not None and (options.animation_space or options.correctives is not None):
        parser.error("--virtual goes with neither --animation-space nor --correctives: take one of them")
    if options.auto_bones and options.budget is not None:
        parser.error("--auto-bones and --budget both decide how many bones there are: take one of them")
    if options.track:
        refuse_with_track(parser, options)
    elif options.armature:
        refuse_with_armature(parser, options)
    elif options.skeleton == "animator":
        refuse_with_animator(parser, options)
    elif options.bones is None and options.budget is None and not options.auto_bones:
        parser.error(
            "say how many bones (--bones N, --auto-bones) or how much error is allowed (--budget PERCENT)"
        )
    return options


def refuse_with_animator(parser, options):
    """What the chain decides by itself."""
    given = [name for name in ("budget", "until", "iterations") if getattr(options, name) is not None]
    given += [name for name in ("auto_bones", "flexible") if getattr(options, name)]
    if given:
        parser.error(f"--skeleton animator does without --{given[0].replace('_', '-')}: leave it out")


def refuse_with_armature(parser, options):
    """What an armature that is given already decides."""
    given = [name for name in ("bones", "budget") if getattr(options, name) is not None]
    given += [name for name in ("auto_bones", "flexible") if getattr(options, name)]
    given += ["skeleton"] * (options.skeleton != "none")
    if given:
        parser.error(f"--armature says which bones there are: leave out --{given[0].replace('_', '-')}")


def refuse_with_track(parser, options):
    """What a rig that is given already decides."""
    others = ("bones", "budget", "influences", "correctives", "correctives_budget", "animation_space")
    given = [name for name in others if getattr(options, name) is not None]
    given += ["auto_bones"] * options.auto_bones + ["skeleton"] * (options.skeleton != "none")
    if given:
        parser.error(f"--track holds all but the bones' motion: leave out --{given[0].replace('_', '-')}")


def read_arrays(path, names, needed, what=""):
    """Those of an .npz file that are there. what: that the file is not, if it lacks one of the needed"""
    try:
        arrays = npz.read(path, names)
    except FileNotFoundError:
        raise Refusal(f"{path} is not there.") from None
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({error.strerror or error}).") from None
    except npz.Damaged:
        raise Refusal(f"{path} is not a NumPy .npz file of number arrays, or it is damaged.") from None
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise Refusal(f"{path} has no array `{missing[0]}`{what}.")
    return arrays


def read_rig_arrays(path):
    """Of a rig that solve.py wrote: the rig, and its positions in animation space or None"""
    names = ("transforms", "influence_bones", "influence_weights", "rest", "positions")
    arrays = read_arrays(path, names, names[1:4], ": it is no rig of solve.py")
    return native.Rig(*(arrays.get(name) for name in names[:4])), arrays.get("positions")


def read_rig(path, vertices):
    """A rig for a mesh with so many vertices, and its animation space, if it has one."""
    rig, positions = read_rig_arrays(path)
    if np.shape(rig.rest) != (vertices, 3):
        raise Refusal(
            f"{path} is the rig of a mesh with {len(rig.rest)} vertices; the sequence has {vertices}."
        )
    if positions is None:
        return rig, None
    if np.shape(positions) != (*np.shape(rig.influence_bones), 4):
        raise Refusal(f"{path} is damaged: `positions` must be [v][k][4] beside `influence_bones` [v][k].")
    rest = np.concatenate([rig.rest, np.ones((vertices, 1))], 1)
    skinned = np.asarray(rig.influence_weights, float)[:, :, None] * rest[:, None]
    return rig, native.Space(rig.influence_bones, positions - skinned)


def read_sequence(path):
    """rest, frames, triangles, subject; None where the file has none."""
    names = ("rest", "frames", "triangles", "subject")
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
        "rest_mode": "fixed" if options.rest == "untouched" else options.rest,
        "locality": None if options.locality is None else options.locality == "on",
        "start": options.start,
        "start_tolerance": options.start_tolerance,
        "connect": options.connect,
        "smoothness": options.smoothness,
        "fairness": options.fairness,
        "until": options.until,
        "iterations": options.iterations,
        "threads": options.threads,
        "seed": options.seed,
        "jointed": options.skeleton not in ("none", "animator") and options.budget is None,
    }
    if options.budget is not None:
        chosen["budget"] = options.budget
        chosen["budget_kind"] = BUDGETS[options.budget_kind]
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


def animate(options, sequence):
    """An animator's skeleton: the rig, its skeleton, the info, what bones are for and what else to say."""
    began = time.perf_counter()
    settings = dataclasses.replace(settings_of(options), bones=animator.PIECES)
    found = animator.run(animator.steps(*sequence, settings, options.bones or 0))
    more = {
        "core": int((found.roles == animator.CORE).sum()),
        "helpers": int((found.roles == animator.HELPER).sum()),
        "free_erms": found.pieces.erms,
        "core_erms": found.core.erms,
        "root": int(found.skeleton.root),
    }
    info = found.info._replace(seconds=time.perf_counter() - began)
    return found.rig, found.skeleton, info, found.roles, more


def read_armature(path, frames):
    """parents, joints, and transforms or None"""
    names = ("parents", "joints", "transforms")
    try:
        arrays = npz.read(path, names)
    except FileNotFoundError:
        raise Refusal(f"{path} is not there.") from None
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({error.strerror or error}).") from None
    except npz.Damaged:
        raise Refusal(f"{path} is not a NumPy .npz file of number arrays, or it is damaged.") from None
    parents, joints, transforms = (arrays.get(name) for name in names)
    if parents is None or np.ndim(parents) != 1 or not 1 <= len(parents) <= native.MAX_BONES:
        raise Refusal(f"{path} is no armature: `parents` [b] must be there, for 1..{native.MAX_BONES} bones.")
    bones = len(parents)
    if joints is None or np.shape(joints) != (bones, 3):
        raise Refusal(f"{path} is no armature: `joints` must be [b][3] beside `parents` [{bones}].")
    if transforms is not None and np.shape(transforms) != (frames, bones, 3, 4):
        raise Refusal(f"{path}: `transforms` must be [{frames}][{bones}][3][4], one for each frame and bone.")
    return parents, joints, transforms


def rig_to_armature(options, sequence):
    rest, frames, triangles = sequence
    if rest is None:
        raise Refusal("--armature needs a sequence with `rest`: its joints are in that pose.")
    given = read_armature(options.armature, len(frames))
    began = time.perf_counter()
    rig, skeleton, info = armature.fit(rest, frames, triangles, *given, settings_of(options))
    info = info._replace(seconds=time.perf_counter() - began)
    return rig, skeleton, info, {"root": int(skeleton.root)}


def conduct(sequence, rig, skeleton, roles):
    """Where bones go when the skeleton plays: of those that an animator sees."""
    roles = np.full(rig.bones, animator.CORE) if roles is None else roles
    seen, visible = animator.inspect(*sequence, rig, skeleton, roles), roles == animator.CORE
    return {
        "flight_percent": float(seen.flights[visible].max()),
        "excess_flight_percent": float(seen.excesses[visible].max()),
        "idle": int(seen.idle[visible].sum()),
        "drift_percent": float(seen.drifts[visible].max()),
        "foreign": int((seen.foreign[visible] >= 0).sum()),
        "foreign_bones": [[int(b), int(seen.foreign[b])] for b in np.flatnonzero(seen.foreign >= 0)],
        "limbs": int(seen.limb_count),
    }


def with_correctives(options, sequence, rig, skeleton, info):
    """The rig with correctives, its skeleton, the info of all and what they are worth. The rest is solved
    along unless it is fixed, as in the decomposition, and best quality solves weights and bones again; joints
    hold the bones, and an animator's weights stay."""
    settings = dataclasses.replace(settings_of(options), bones=rig.bones, budget_kind="none", budget=0.0)
    wishes = {
        "count": native.MAX_CORRECTIVES if options.correctives is None else options.correctives,
        "solve_rest": settings.rest_mode != "fixed",
        "refine": options.correctives_joints
        or (settings.quality == "best" and options.skeleton != "animator"),
    }
    if options.correctives_budget is not None:
        wishes |= {"budget_kind": "rms", "budget": options.correctives_budget}
    correction = native.Correction(**wishes)
    if options.correctives_joints:
        began = time.perf_counter()
        rig, skeleton, worth, found, _ = hinged.correct(*sequence, rig, skeleton, correction, settings)
        found = found._replace(seconds=time.perf_counter() - began)
    else:
        if options.skeleton == "articulated":
            rig = dataclasses.replace(rig, held_transforms=np.ones(rig.transforms.shape[:2], np.uint8))
        rig, worth, found = native.correct(*sequence, rig, correction, settings)
    stages = {name: seconds + found.stage_seconds[name] for name, seconds in info.stage_seconds.items()}
    more = {
        "correctives": len(worth.gains),
        "correct_seconds": found.seconds,
        "bare_erms": worth.bare_erms,
        "gains": [float(gain) for gain in worth.gains],
    }
    kept = {"seconds": info.seconds, "iterations": info.iterations, "stage_seconds": stages}
    return rig, skeleton, found._replace(**kept), more


def rested(rig, space):
    """The same positions, of a rig whose rest is where they put it."""
    rest = rig.rest + space.corrections[:, :, :3].sum(axis=1)
    positions, there = space.positions(rig), np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    corrections = positions - space.weights(rig)[:, :, None] * there[:, None]
    return dataclasses.replace(rig, rest=rest), native.Space(space.bones, corrections)


def with_space(options, sequence, rig, skeleton, info):
    """The rig, its animation space and the info of both. Bones about joints stay so, and the rest if it is to
    stay untouched."""
    settings = dataclasses.replace(settings_of(options), bones=rig.bones, budget_kind="none", budget=0.0)
    rounds = 0 if options.skeleton == "animator" else SPACE_ROUNDS
    untouched = settings.rest_mode == "fixed"
    fit = native.SpaceFit(bones=options.animation_space, rounds=rounds, rest_exact=untouched)
    joined = {}
    if options.skeleton == "articulated":
        joined = {"parents": skeleton.parents, "joints": skeleton.joints}
    rig, space, found = native.animation_space(*sequence, rig, fit, settings, **joined)
    if not untouched:
        rig, space = rested(rig, space)
    more = {"space_seconds": found.seconds, "bare_erms": info.erms}
    stages = {name: seconds + found.stage_seconds[name] for name, seconds in info.stage_seconds.items()}
    kept = {"seconds": info.seconds, "iterations": info.iterations, "stage_seconds": stages}
    return rig, space, found._replace(**kept), more


def track(options, sequence):
    """Bones of a known rig in new frames: linear blend skinning first, and from there its animation space."""
    rest, frames, triangles = sequence
    known, space = read_rig(options.track, frames.shape[1])
    bones = int(known.influence_bones.max()) + 1
    if known.transforms is not None:
        bones = np.shape(known.transforms)[1]
    options.bones = max(bones, 1)
    settings = dataclasses.replace(settings_of(options), rest_mode="fixed", jointed=False)
    rig, info = native.decompose(
        known.rest if rest is None else rest, frames, triangles, settings, known.to_track()
    )
    if space is None:
        return rig, None, info, {}
    rig, space, found = native.animation_space(rest, frames, triangles, rig, None, settings, space)
    more = {"space_seconds": found.seconds, "bare_erms": info.erms}
    return rig, space, found._replace(seconds=info.seconds), more


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


def arrays_of(rig, skeleton, space, layers, roles):
    names = ["transforms", "influence_bones", "influence_weights", "rest"]
    arrays = {name: getattr(rig, name) for name in names}
    if space is not None:
        arrays |= {"influence_bones": space.bones, "influence_weights": space.weights(rig)}
        arrays["positions"] = space.positions(rig)
    if layers is not None:
        arrays |= virtual.arrays_of(rig, layers)
    if rig.fields is not None:
        arrays |= {"fields": rig.fields, "coefficients": rig.coefficients}
    if skeleton is not None:
        arrays |= {"parents": skeleton.parents, "joints": skeleton.joints}
    if roles is not None:
        arrays["roles"] = roles
    return arrays


def write_rig(path, rig, skeleton, space, layers, roles=None):
    with whole.replacing(path) as part, open(part, "wb") as file:
        np.savez(file, **arrays_of(rig, skeleton, space, layers, roles))


def with_virtual(options, sequence, rig, info):
    """The masters, their virtual bones, the info of all and what they leave."""
    rest, frames, triangles = sequence
    settings = dataclasses.replace(settings_of(options), bones=rig.bones, budget_kind="none", budget=0.0)
    wish = virtual.compression_of(options, "poses")
    rig, layers, found = native.compress(rest, frames, triangles, rig, wish, settings)
    more = {**virtual.report(layers, found), "master_erms": info.erms}
    kept = {"seconds": info.seconds, "iterations": info.iterations, "stage_seconds": info.stage_seconds}
    return rig, layers, found._replace(**kept), more


def refuse_with_subjects(options, rest, subject):
    """What several subjects cannot share."""
    if subject is None:
        raise Refusal(f"{options.sequence} has the rests of several subjects, but no `subject` [f].")
    if np.ndim(rest) != 3:
        raise Refusal(f"{options.sequence} has `subject`, but no `rest` [s][v][3] of several subjects.")
    alone = ("armature", "correctives", "correctives_budget", "animation_space", "virtual")
    given = [name for name in alone if getattr(options, name) is not None] + ["flexible"] * options.flexible
    if given:
        raise Refusal(f"Several subjects share rigid bones alone: leave out --{given[0].replace('_', '-')}.")
    if options.skeleton == "animator":
        raise Refusal(
            "An animator's skeleton is found for one body: take --skeleton articulated for several subjects."
        )


def track_subjects(options, sequence, subject):
    """Weights of a known rig in new frames of these bodies, which may be others than it was made for."""
    rest, frames, triangles = sequence
    known, positions = read_rig_arrays(options.track)
    if positions is not None:
        raise Refusal(f"{options.track} has an animation space, which belongs to one body: take another rig.")
    if np.shape(known.influence_bones)[:1] != rest.shape[1:2]:
        raise Refusal(
            f"{options.track} is the rig of a mesh with {len(known.influence_bones)} vertices; the bodies"
            f" have {rest.shape[1]}."
        )
    rig = native.Rig(None, known.influence_bones, known.influence_weights, rest).to_track()
    options.bones = max(int(known.influence_bones.max(initial=0)) + 1, 1)
    settings = dataclasses.replace(settings_of(options), rest_mode="fixed", jointed=False)
    return native.decompose(rest, frames, triangles, settings, rig, subject)


def unite(options, sequence, subject, out):
    """One rig for several subjects."""
    rest, frames, triangles = sequence
    refuse_with_subjects(options, rest, subject)
    joined, united, more = options.skeleton != "none", None, {"subjects": len(rest)}
    if options.track:
        rig, info = track_subjects(options, sequence, subject)
    else:
        rig, united, info = native.unite(rest, frames, subject, triangles, settings_of(options), joined)
        rig = dataclasses.replace(rig, rest=united.rest)
    if joined:
        more["root"] = int(united.root)
    if options.skeleton == "articulated":
        more["free_erms"] = info.erms
        settings = dataclasses.replace(settings_of(options), bones=rig.bones, budget_kind="none", budget=0.0)
        hung = native.connect(rig, triangles, settings=settings, subject=subject)
        given = (rest, frames, triangles, rig, hung, settings)
        rig, united, held = native.articulate(*given, subject=subject)
        more["articulate_seconds"] = held.seconds
        info = held._replace(seconds=info.seconds)
    if out:
        names = ("transforms", "influence_bones", "influence_weights", "rest")
        arrays = {name: getattr(rig, name) for name in names} | {"subject": subject}
        if joined:
            arrays |= {"parents": united.parents, "joints": united.joints}
        with whole.replacing(out) as part, open(part, "wb") as file:
            np.savez(file, **arrays)
    print(json.dumps({**report(info), **more}), flush=True)


def solve(arguments):
    options = parse(arguments)
    out = Path(options.out) if options.out else None
    if out:
        refuse_unwritable(out, options.sequence)
    *sequence, subject = read_sequence(options.sequence)
    if subject is None and np.ndim(sequence[0]) == 3 and len(sequence[0]) == 1:
        subject = np.zeros(len(sequence[1]), np.int32)  # all frames are of the one body
    if subject is not None or np.ndim(sequence[0]) == 3:
        unite(options, sequence, subject, out)
        return
    skeleton, space, roles, more = None, None, None, {}
    if options.track:
        rig, space, info, more = track(options, sequence)
    elif options.armature:
        rig, skeleton, info, more = rig_to_armature(options, sequence)
    elif options.skeleton == "animator":
        rig, skeleton, info, roles, more = animate(options, sequence)
    else:
        rig, info = native.decompose(*sequence, settings_of(options))
    if options.skeleton in ("hierarchy", "articulated"):
        solved = info.seconds
        rig, skeleton, info, more = with_skeleton(options, sequence, rig, info)
        info = info._replace(seconds=solved)
    if skeleton is not None:
        more |= conduct(sequence, rig, skeleton, roles)
    if options.correctives is not None or options.correctives_budget is not None:
        rig, skeleton, info, worth = with_correctives(options, sequence, rig, skeleton, info)
        more |= worth
    if options.animation_space:
        rig, space, info, found = with_space(options, sequence, rig, skeleton, info)
        more |= found
    layers = None
    if options.virtual is not None:
        rig, layers, info, found = with_virtual(options, sequence, rig, info)
        more |= found
    if out:
        write_rig(out, rig, skeleton, space, layers, roles)
    print(json.dumps({**report(info), **more}), flush=True)


def main(arguments=None, run=None):
    try:
        (run or solve)(arguments)
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
