"""Refits of edited rigs against solves from nothing: the `roundtrip` section of the bench.

The edits are made here, in NumPy, as an artist would make them: a bone deleted with its group, weights
repainted, a bone added where the error is most, a clip tracked with weights and rest held.
"""

import time

import numpy as np

import native
import skeletons

REPAINTED = 0.01  # of the vertices
CLIPS = 4
TIMES = 3  # what is compared by its time is done as often, and the least counts: other work only adds to it


def timed(call, *arguments, **named):
    began = time.process_time()
    answer = call(*arguments, **named)
    return answer, time.process_time() - began


def least(solve, *arguments, **named):
    return min((solve(*arguments, **named) for _ in range(TIMES)), key=lambda answer: answer[2])


def solve(poses, rig=None, **chosen):
    """Rig, E_RMS and processor seconds."""
    settings = native.Settings(threads=1, **chosen)
    (rig, info), seconds = timed(native.decompose, *poses, settings, rig=rig)
    return rig, info.erms, seconds


def without_bone(rig, gone):
    """The bone and its group are deleted; what is left of the weights is left as it is."""
    bones, weights = rig.influence_bones.copy(), rig.influence_weights.copy()
    weights[bones == gone] = 0
    bones[bones == gone] = -1
    bones[bones > gone] -= 1
    return native.Rig(np.delete(rig.transforms, gone, axis=1), bones, weights, rig.rest)


def repainted(rig):
    random = np.random.default_rng(0)
    count = len(rig.influence_weights)
    chosen = random.choice(count, max(1, int(REPAINTED * count)), replace=False)
    weights = rig.influence_weights.copy()
    weights[chosen] *= random.uniform(0, 1, weights[chosen].shape).astype(np.float32)
    return native.Rig(rig.transforms, rig.influence_bones, weights, rig.rest)


def is_same(a, b):
    names = ("transforms", "influence_bones", "influence_weights", "rest")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def all_held(rig):
    frames, bones = rig.transforms.shape[:2]
    everyone = np.ones(len(rig.rest), np.uint8)
    return native.Rig(
        rig.transforms,
        rig.influence_bones,
        rig.influence_weights,
        rig.rest,
        held_transforms=np.ones((frames, bones), np.uint8),
        held_vertices=everyone,
        held_rest=everyone,
    )


def ratio(refitted, reference):
    """Of errors and of seconds."""
    return {"error": refitted[1] / reference[1], "sooner": reference[2] / refitted[2]}


def added(poses, rig, **chosen):
    grown, seconds = timed(native.add_bone, *poses, rig, settings=native.Settings(threads=1))
    rig, erms, more = solve(poses, grown, **chosen)
    return rig, erms, seconds + more


def row_of(name, bones, sequence):
    """All that is measured on one sequence."""
    poses = sequence.rest, sequence.frames, sequence.triangles
    full = least(solve, poses, bones=bones)
    less, more = (solve(poses, bones=count) for count in (bones - 1, bones + 1))
    rig = full[0]
    order = np.argsort(native.bone_costs(*poses, rig, native.Settings(threads=1)))
    deleted = {"cheapest": order[0], "middle": order[len(order) // 2]}
    held, _, _ = solve(poses, all_held(rig))
    tracked = least(solve, poses, rig.to_track(), rest_mode="fixed")
    return {
        "name": name,
        "bones": bones,
        "vertices": len(sequence.rest),
        "frames": len(sequence.frames),
        "erms": full[1],
        "seconds": full[2],
        "held": is_same(held, rig),
        "unchanged": ratio(least(solve, poses, rig), full),
        "repainted": ratio(least(solve, poses, repainted(rig)), full),
        "deleted": {
            which: {
                "stays": ratio(solve(poses, without_bone(rig, gone)), less),
                "relocates": ratio(solve(poses, without_bone(rig, gone), relocate="all"), less),
            }
            for which, gone in deleted.items()
        },
        "added": {
            "stays": ratio(added(poses, rig), full),
            "relocates": ratio(added(poses, rig, relocate="all"), full),
            "solved": more[1] / full[1],
        },
        "tracked": {**ratio(tracked, full), "milliseconds": 1000 * tracked[2] / len(sequence.frames)},
    }


def clips_of(frames):
    """The frames as clips one after the other, each a stretch of every fourth: as if four takes were made."""
    return np.concatenate([frames[start::CLIPS] for start in range(CLIPS)])


def clips_row(name, truth):
    """A body solved from one long clip, and from the same frames cut into clips that are put together."""
    bones = truth["weights"].shape[1]
    settings = native.Settings(bones=bones, threads=1)
    row = {"name": name, "bones": bones, "count": CLIPS}
    for kind, frames in (("long", truth["frames"]), ("clips", clips_of(truth["frames"]))):
        rig, info = native.decompose(truth["rest"], frames, truth["triangles"], settings)
        skeleton = native.connect(rig, truth["triangles"], settings=settings)
        found = skeletons.compare(rig, skeleton, {**truth, "frames": frames})
        row[kind] = {**found, "erms": info.erms}
    return row


def summary_of(rows, mean):
    def worst(*path):
        values = []
        for row in rows:
            value = row
            for key in path:
                value = value[key]
            values.append(value)
        return max(values, default=None)

    def sooner(key):
        return {
            "mean": mean([row[key]["sooner"] for row in rows]),
            "least": min((row[key]["sooner"] for row in rows), default=None),
        }

    return {
        "held": all(row["held"] for row in rows),
        "unchanged": worst("unchanged", "error"),
        "repainted": worst("repainted", "error"),
        "deleted": {
            which: {how: worst("deleted", which, how, "error") for how in ("stays", "relocates")}
            for which in ("cheapest", "middle")
        },
        "deleted_mean": mean([row["deleted"]["cheapest"]["relocates"]["error"] for row in rows]),
        "added": {how: worst("added", how, "error") for how in ("stays", "relocates")},
        "added_mean": {
            how: mean([row["added"][how]["error"] for row in rows]) for how in ("stays", "relocates")
        },
        "solved_mean": mean([row["added"]["solved"] for row in rows]),
        "edit": sooner("repainted"),
        "track": sooner("tracked"),
    }
