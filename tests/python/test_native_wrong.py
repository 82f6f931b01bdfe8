"""Values of the wrong kind in every place of every verb: an error of ours with a sentence, or an answer."""

import dataclasses

import numpy as np
import pytest

import made_up
import native
from native.verbs import Verb


class Unwilling:
    """Raises whatever it is asked for."""

    def __array__(self, *_arguments, **_named):
        raise RuntimeError("not\nnow")

    def __index__(self):
        raise LookupError("never")

    __float__ = __len__ = __iter__ = __bool__ = __repr__ = __index__


NUMBERS = [5, -5, 10**30, -(10**30), 10**5000, 2.5, -0.5, np.nan, np.inf, 1e300, True, 1j, np.int8(-1)]
LISTS = [
    *([], [[1], [2, 3]], [[1, 2, 3], [4, 5]], [[0.5, 1, 2]], [[-1, 0, 1]], [[10**30] * 3]),
    *([["a", "b", "c"]], [None] * 3, [[None] * 3], [[[]]], {}, {1: 2}, set(), range(5)),
]
ARRAYS = [
    *(np.zeros((2, 2)), np.zeros((0, 3)), np.zeros((3, 0, 3)), np.zeros((1,) * 5), np.full((40, 3), np.nan)),
    *(np.array(["a"]), np.array([1j]), np.array([None]), np.array([[0, 1, 2**40]]), np.zeros(3, "i4,f4")),
    *(np.array([[0, 1, 2]], np.uint64) + np.uint64(2**63), np.zeros((2, 40, 3), object)),
    *(np.array(["2020-01-01"], "datetime64[D]"), memoryview(b"abc")),
]
WRONG = [None, "x", "", b"x", "\ud800" * 9, object(), len, Unwilling(), *NUMBERS, *LISTS, *ARRAYS]


@pytest.fixture(scope="module")
def calls():
    eel = made_up.eel(vertices=40, frames=3, bones=2)
    settings = native.Settings(bones=2, quality="draft", iterations=1)
    rig, _ = native.decompose(eel.rest, eel.frames, eel.triangles, settings)
    motion = {"rest": eel.rest, "frames": eel.frames, "triangles": eel.triangles, "rig": rig}
    skeleton = native.connect(rig, eel.triangles)
    return {
        "decompose": {**motion, "settings": settings, "subject": None},
        "articulate": {
            **motion,
            "skeleton": skeleton,
            "settings": settings,
            "stretch": False,
            "held_joints": None,
            "stiffness": None,
            "subject": None,
        },
        "connect": {
            "rig": rig,
            "triangles": eel.triangles,
            "wishes": native.Wishes(),
            "settings": settings,
            "subject": None,
        },
        "bone_costs": {**motion, "settings": settings},
        "add_bone": {**motion, "vertex": 3, "split": None, "settings": settings},
        "evaluate": {**motion, "replay": True, "space": None, "subject": None},
        "correct": {
            **motion,
            "correction": native.Correction(count=1),
            "settings": settings,
            "parents": None,
            "held_coefficients": None,
        },
        "drive": {
            **motion,
            "parents": np.full(rig.bones, -1, np.int32),
            "driving": native.Driving(count=1),
            "settings": settings,
        },
        "animation_space": {
            **motion,
            "fit": native.SpaceFit(),
            "settings": settings,
            "space": native.animation_space(**motion, settings=settings)[1],
        },
        "compress": {**motion, "compression": native.Compression(virtual_bones=3), "settings": settings},
        "unite": {
            "rest": [motion["rest"]],
            "frames": motion["frames"],
            "subject": [0] * len(motion["frames"]),
            "triangles": motion["triangles"],
            "settings": settings,
            "joined": True,
            "rig": rig,
        },
        "shape_bones": {
            "bodies": motion["frames"],
            "triangles": motion["triangles"],
            "settings": settings,
            "kind": "rigid",
            "mean": motion["rest"],
            "rig": rig,
        },
        "merge": {
            "rest": [motion["rest"]],
            "frames": motion["frames"],
            "subject": [0] * len(motion["frames"]),
            "pose": rig,
            "parents": [-1, *range(rig.bones - 1)],
            "joints": [np.zeros((rig.bones, 3))],
            "shape": rig,
            "triangles": motion["triangles"],
            "settings": settings,
            "tree": "spanned",
            "leaves": None,
            "shape_parents": None,
        },
        "place_joints": {
            "rig": rig,
            "parents": [-1, *range(rig.bones - 1)],
            "known": [motion["rest"]],
            "joints": [np.zeros((rig.bones, 3))],
            "rest": [motion["rest"]],
            "triangles": motion["triangles"],
            "settings": settings,
        },
        "unwrap": {
            **{name: motion[name] for name in ("rest", "frames", "triangles")},
            "uv": eel.rest[eel.triangles][:, :, :2],
            "unwrapping": native.Unwrapping(iterations=1),
            "settings": settings,
        },
        "average_poses": {
            "rig": rig,
            "triangles": eel.triangles,
            "model": "rotations",
            "parents": [-1, 0],
            "joints": np.zeros((2, 3)),
            "space": None,
            "settings": settings,
        },
        "fuse": {**motion, "count": 0, "settings": settings},
        "inspect": {**motion, "skeleton": skeleton, "settings": settings},
        "prune_weights": {**motion, "influences": 2, "settings": settings},
        "smooth_weights": {**motion, "budget": 0.1, "influences": 4, "rounds": 1, "settings": settings},
    }


def spoilt(noun):
    """A noun with each wrong value in each of its fields, made when it is called."""
    if dataclasses.is_dataclass(noun):
        names = [field.name for field in dataclasses.fields(noun)]
        replace = dataclasses.replace
    elif isinstance(noun, (native.Skeleton, native.Space)):
        names, replace = noun._fields, type(noun)._replace
    else:
        return
    for name in names:
        for wrong in WRONG:
            yield lambda name=name, wrong=wrong: replace(noun, **{name: wrong})


def refused_in_words(act):
    """Whether it was refused; anything else that is raised fails the test."""
    try:
        act()
    except native.OssifyError as error:
        sentence = str(error)
    else:
        return False
    assert sentence.strip()
    assert "\n" not in sentence
    assert len(sentence) < 400
    return True


VERBS = (
    "decompose articulate connect bone_costs add_bone evaluate correct drive animation_space compress"
    " average_poses fuse inspect merge place_joints prune_weights shape_bones smooth_weights unite unwrap"
).split()


@pytest.mark.filterwarnings("ignore")  # of NumPy, about some of them
@pytest.mark.parametrize("name", VERBS)
def test_wrong_values_are_refused_in_words(calls, name):
    verb, given = getattr(native, name), calls[name]
    refused = 0
    for place in given:
        for wrong in WRONG:
            refused += refused_in_words(lambda p=place, w=wrong: verb(**{**given, p: w}))
        for make in spoilt(given[place]):
            refused += refused_in_words(lambda p=place, m=make: verb(**{**given, p: m()}))
    assert refused > 100


def test_every_verb_is_among_them():
    assert set(VERBS) == {name for name, value in vars(native).items() if isinstance(value, Verb)}


@pytest.mark.filterwarnings("ignore")
def test_a_job_refuses_in_words(calls):
    given = calls["decompose"]

    def run(place, wrong):
        with native.Job.start(native.decompose, **{**given, place: wrong}) as job:
            job.finish()

    assert sum(refused_in_words(lambda p=p, w=w: run(p, w)) for p in given for w in WRONG) > 100
