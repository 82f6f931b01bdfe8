"""Little address space left: every verb answers or says that memory is short, and nothing ends the process.

Each try is a process of its own, fresh or forked from one that has solved before, whose address space may
grow by so many bytes from the moment before the call.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import native

if sys.platform != "linux":
    pytest.skip("only Linux holds a process to an address space", allow_module_level=True)

ADDON = Path(native.__file__).resolve().parents[1]
LEVELS = [int(1e4 * 1.4**step) for step in range(30)]  # bytes: 10 kB to 170 MB
LIMITED = """
import json, os, resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import native


def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def attempt(call, level):
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used() + level, limits[1]))
    try:
        call()
        return "answer"
    except native.OssifyError as error:
        is_short = any(word in str(error) for word in ("memory", "refused a thread"))
        return "refusal" if is_short else f"wrong refusal: {error}"
    except MemoryError:  # Python's own arrays
        return "refusal"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def forked(call, level):
    pid = os.fork()
    if pid == 0:
        said = attempt(call, level)
        if said not in ("answer", "refusal"):
            print(said, file=sys.stderr, flush=True)
        os._exit(("answer", "refusal").index(said) if said in ("answer", "refusal") else 2)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return ("answer", "refusal")[code] if code in (0, 1) else f"exit code {code}"
"""
VERBS = """

along, across = np.divmod(np.arange(2400), 4)
rest = np.stack([along, across, 0.1 * along * across], 1).astype(np.float32)
frames = np.repeat(rest[None], 6, 0)
for f in range(6):
    frames[f, :, 2] += 0.2 * f * (np.maximum(along - 200, 0) + 2 * np.maximum(along - 400, 0))
at = np.flatnonzero((along < 599) & (across < 3))
triangles = np.concatenate([np.stack([at, at + 1, at + 5], 1), np.stack([at, at + 5, at + 4], 1)])
poses = rest, frames, triangles


def settings(**chosen):
    return native.Settings(bones=4, quality="draft", **{"threads": 1, **chosen})


alone, two = settings(), settings(threads=2)
rig, _ = native.decompose(*poses, alone)
tree = native.connect(rig, triangles, settings=alone)
CALLS = {
    "decompose": lambda: native.decompose(*poses, alone),
    "decompose, two threads": lambda: native.decompose(*poses, two),
    "decompose, faces": lambda: native.decompose(*poses, settings(start="faces")),
    "decompose, spectral": lambda: native.decompose(*poses, settings(start="spectral")),
    "refit": lambda: native.decompose(*poses, alone, rig),
    "connect": lambda: native.connect(rig, triangles, settings=alone),
    "articulate": lambda: native.articulate(*poses, rig, tree, alone),
    "bone_costs": lambda: native.bone_costs(*poses, rig, alone),
    "add_bone": lambda: native.add_bone(*poses, rig, 40, settings=alone),
    "prune_weights": lambda: native.prune_weights(*poses, rig, 2),
    "smooth_weights": lambda: native.smooth_weights(*poses, rig, 0.01),
    "correct": lambda: native.correct(*poses, rig, native.Correction(count=2)),
    "animation_space": lambda: native.animation_space(*poses, rig),
    "compress": lambda: native.compress(*poses, rig, native.Compression(virtual_bones=6)),
    "drive": lambda: native.drive(*poses, rig, tree.parents, native.Driving(count=2)),
    "place_joints": lambda: native.place_joints(rig, tree.parents, rest[None], tree.joints[None], rest[None]),
    "unite": lambda: native.unite(rest[None], frames, np.zeros(6, np.int32), triangles, alone),
    "unwrap": lambda: native.unwrap(*poses, rest[triangles][:, :, :2]),
    "fuse": lambda: native.fuse(*poses, rig),
    "inspect": lambda: native.inspect(*poses, rig, tree),
    "shape_bones": lambda: native.shape_bones(frames, triangles, alone),
    "merge": lambda: native.merge(
        rest[None], frames, np.zeros(6, np.int32), rig, tree.parents, tree.joints[None], rig, triangles
    ),
    "average_poses": lambda: native.average_poses(rig, triangles),
    "evaluate": lambda: native.evaluate(rest, frames, rig),
}
assert {name.split(",")[0] for name in CALLS} - {"refit"} == set(native.header.VERBS), native.header.VERBS

"""

FORKED = """
def until_it_answers(call):
    said = []
    for level in sys.argv[2:]:
        said.append(forked(call, int(level)))
        if said[-2:] == ["answer", "answer"]:  # more memory is no other case
            return said
    return said


print(json.dumps({name: until_it_answers(call) for name, call in CALLS.items()}))
"""


def run(body, *arguments):
    command = [sys.executable, "-c", LIMITED + body, str(ADDON), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_forked_processes_answer_or_refuse():
    body = VERBS + FORKED
    answers = run(body, *LEVELS)
    for verb, said in answers.items():
        assert set(said) <= {"answer", "refusal"}, verb
        assert said[-1] == "answer", verb
    short = [verb for verb, said in answers.items() if "refusal" in said]
    assert len(short) > len(answers) / 2  # a few need next to nothing


def test_fresh_processes_answer_or_refuse():
    """Level by level; a verb that has answered twice running is left out: more memory is no other case."""
    body = VERBS + (
        "left = json.loads(sys.argv[3]) or CALLS\n"
        "print(json.dumps({name: attempt(CALLS[name], int(sys.argv[2])) for name in left}))"
    )
    left, before = [], {}
    for level in LEVELS:
        said = run(body, level, json.dumps(left))
        assert set(said.values()) <= {"answer", "refusal"}, level
        left = [name for name in said if (said[name], before.get(name)) != ("answer", "answer")]
        before = said
        if not left:
            return
    assert all(before[name] == "answer" for name in left), left


def test_the_library_loads_or_says_why_not():
    """OpenBLAS ends a process in which it cannot have its buffers, as soon as it is loaded."""
    body = "print(json.dumps([forked(native.library, int(n)) for n in sys.argv[2:]]))"
    said = run(body, *LEVELS, 10**9)
    assert set(said) == {"answer", "refusal"}
    assert said[-1] == "answer"
