"""What a rig stores about itself, damaged and forged in every place: one kind of error, and no effort."""

import functools
import io
import json
import time
import tracemalloc

import numpy as np
import package  # noqa: F401 (first: it brings what follows)
import pytest
from ossify.record import stored, stored_merges
from ossify.record.stored import Bones, Damaged, Newer
from ossify.record.stored_merges import Merge

MESHES, FRAMES, WIDTH = 2, 3, 14
LOOK = {
    "palette": "CUSTOM",
    "colours": [[0.1, 0.2, 0.3]] * 3,
    "collections": ["Bones"],
    "rotation": "QUATERNION",
    "noted": {"ossify_bone": 3, "ossify_role": "deform", "ossify_list": [1.0, 2.0]},
}


def bones(numbers):
    rests = np.repeat(np.eye(4)[None], len(numbers), axis=0)
    return Bones(
        list(numbers),
        [f"Bone {number}" for number in numbers],
        [-1, *numbers[:-1]],
        [False] * len(numbers),
        [True] * len(numbers),
        [1.0] * len(numbers),
        rests,
    )


def merge():
    keys = {"Walk": {"Bone 3": {("location", 0): np.ones((4, WIDTH)), ("scale", 2): np.zeros((2, WIDTH))}}}
    weights = (
        np.arange(3, dtype=np.int32),
        np.full((3, 2), 4, np.int32),
        np.full((3, 2), 0.5, np.float32),
        np.arange(3, dtype=np.uint32),
    )
    return Merge(
        *(0, [3], bones([0, 3, 4]), bones([0, 4]), {"3": LOOK}, keys),
        *({"Walk": {"Bone 3": 7}}, {"0": weights}, [["a constraint", 0, "Bone 3"]]),
    )


@functools.cache
def _rig():
    some = bones([0, 3, 4])
    counts = [5, 2]
    return {
        "format": 1,
        "shape": np.array([FRAMES, 7, 1], np.int32),
        "columns": np.array(counts, np.int32),
        "bones": json.dumps({name: getattr(some, name) for name in stored.FIELDS}),
        "meshes": json.dumps({"counts": counts, "edges": [17, None]}),
        "rests": some.rests.astype(np.float32).ravel(),
        "channels": np.zeros(FRAMES * 3 * 10, np.float32),
        "influences": np.full(7 * 2, 3, np.int32),
        "weights": np.full(7 * 2, 0.5, np.float32),
        "rest": np.zeros(7 * 3, np.float32),
        "looks": json.dumps({"3": LOOK}),
        "merged": json.dumps([[3, "Bone 3", 0]]),
        "merged 000": stored_merges.packed(merge()),
    }


def rig():
    """As Blender hands it out: text, numbers, flat arrays, bytes."""
    return dict(_rig())


def read(mesh, version="0.1.0", ours="0.1.0"):
    """All of it, in all ways."""
    stored.check_version(version, ours, mesh)
    stored.names_by_number(mesh)
    stored.columns(mesh, MESHES)
    merges = [stored_merges.merge(mesh, name, WIDTH) for name in stored_merges.merge_names(mesh)]
    notes = stored.notes(mesh, MESHES, np.arange(FRAMES))
    return notes, stored.looks(mesh), stored_merges.merged(mesh), merges


def test_what_is_stored_comes_back():
    notes, looks, merged, (found,) = read(rig())
    assert notes.bones.numbers == [0, 3, 4]
    assert notes.channels.shape == (FRAMES, 3, 10)
    assert notes.influences.shape == notes.weights.shape == (7, 2)
    assert notes.topology == [17, None]
    assert looks == {"3": LOOK}
    assert merged == [(3, "Bone 3", 0)]
    wanted = merge()
    assert (found.kept, found.known, found.named, found.gone) == (0, [3], wanted.named, [3])
    assert found.keys["Walk"]["Bone 3"].keys() == wanted.keys["Walk"]["Bone 3"].keys()
    assert np.array_equal(found.weights["0"][2], wanted.weights["0"][2])


def test_notes_of_version_0_1_0_are_read():
    mesh = rig()
    del mesh["format"], mesh["looks"], mesh["merged"], mesh["merged 000"]
    mesh["meshes"] = json.dumps({"counts": [5, 2], "topology": [1, 2]})
    assert read(mesh)[0].topology == [None, None]


@pytest.mark.parametrize(
    ("version", "format"), [("0.2.0", 1), ("1.0.0", 1), ("99.0", 1), ("0.1.0", 2), ("0.1.0", 2**31 - 1)]
)
def test_notes_of_a_version_to_come_are_refused(version, format):
    with pytest.raises(Newer):
        read(rig() | {"format": format}, version)


def test_a_later_patch_is_read():
    assert read(rig(), "0.1.9")


@pytest.mark.parametrize("version", ["x", "1", "-1.0.0", "0x1.2", "1" * 99 + ".0", "\ud800"])
def test_a_version_that_is_none(version):
    with pytest.raises(Damaged):
        read(rig(), version)


# ---- forged, one place after the other

HUGE = 2**31 - 1
VALUES = [
    *(None, "", "x", b"", b"\xff" * 9, 0, -1, HUGE, -HUGE, 2**70, 1.5, float("nan"), float("inf"), True, {}),
    *([], [[]], [None], [float("nan")], ["x"], [HUGE], [-2], [2**70], {"x": 1}, [[1, 2], [3]], object()),
    *(np.zeros(0), np.array([np.nan] * 9), np.zeros(1000, np.float32), np.array([HUGE] * 14, np.int32)),
]
TEXTS = ["[]", "{}", "null", "7", '"x"', "NaN", "[" * 100_000, "{" * 999, '{"a":', "1e999", "9" * 5000, "\0"]


def attempt(mesh):
    """Whether it was refused; anything else that is raised, or much effort, fails the test."""
    try:
        read(mesh)
    except (Damaged, Newer):
        return True
    return False


def changed(value):
    """A value of JSON with one place of it changed, for every place and several changes."""
    if isinstance(value, dict):
        for name in value:
            yield {other: value[other] for other in value if other != name}
            yield {**value, name + "?": value[name]}
            for some in changed(value[name]):
                yield {**value, name: some}
    elif isinstance(value, list):
        yield value[:-1]
        yield [*value, *value[-1:], None]
        for index in range(min(len(value), 2)):
            for some in changed(value[index]):
                yield [*value[:index], some, *value[index + 1 :]]
    yield from (None, True, "x", "", -2, HUGE, 2**70, 0.5, float("nan"), [], [[]], {}, {"x": None})


def unhandled(value):
    return json.dumps(value, default=str)


def test_each_property_deleted_or_of_another_kind():
    refused = total = 0
    for name in rig():
        mesh = rig()
        del mesh[name]
        attempt(mesh)
        for value in (*VALUES, *TEXTS):
            total += 1
            refused += attempt(rig() | {name: value})
    assert refused > 0.9 * total


@pytest.mark.parametrize("name", ["bones", "meshes", "looks", "merged"])
def test_each_place_of_each_text(name):
    refused = [attempt(rig() | {name: unhandled(value)}) for value in changed(json.loads(rig()[name]))]
    assert sum(refused) > 0.6 * len(refused)  # the others are texts that it can be
    text = rig()[name]
    for end in range(0, len(text), 3):
        assert attempt(rig() | {name: text[:end]})


@pytest.mark.parametrize("name", ["shape", "columns", "rests", "channels", "influences", "weights", "rest"])
def test_each_array_cut_longer_or_with_other_numbers(name):
    array = rig()[name]
    for other in (array[:-1], np.append(array, array[:1]), array[:0]):
        assert attempt(rig() | {name: other}), len(other)
    for value in (HUGE, -2, -HUGE):
        spoilt = array.copy()
        spoilt[0] = value
        refused = attempt(rig() | {name: spoilt})
        assert (
            refused or array.dtype.kind == "f" or (name, value) == ("shape", HUGE)
        )  # which is compared later
    for value in (np.nan, np.inf, -np.inf):
        spoilt = array.astype(np.float64)
        spoilt[-1] = value
        assert attempt(rig() | {name: spoilt})


def unpacked():
    with np.load(io.BytesIO(rig()["merged 000"])) as arrays:
        return {name: arrays[name] for name in arrays.files}


def packed(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return {"merged 000": file.getvalue()}


def test_each_place_of_a_merge():
    arrays = unpacked()
    words = json.loads(arrays["words"].tobytes())
    refused = []
    for value in changed(words):
        text = np.frombuffer(unhandled(value).encode(), np.uint8)
        refused.append(attempt(rig() | packed({**arrays, "words": text})))
    assert sum(refused) > 0.6 * len(refused)
    for name in set(arrays) - {"words"}:
        assert attempt(rig() | packed({other: arrays[other] for other in arrays if other != name}))
        for other in (arrays[name][..., None], np.array(7.0), np.full(9, np.nan), arrays[name].astype("S")):
            assert attempt(rig() | packed({**arrays, name: other})), name


def test_a_merge_cut_anywhere():
    data = rig()["merged 000"]
    for end in range(0, len(data), 7):
        assert attempt(rig() | {"merged 000": data[:end]})
    rng = np.random.default_rng(1)
    for _ in range(200):
        spoilt = bytearray(data)
        spoilt[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        attempt(rig() | {"merged 000": bytes(spoilt)})


def test_parents_in_a_circle():
    mesh = rig()
    words = json.loads(mesh["bones"])
    for parents in ([0, 0, 3], [4, 0, 3], [3, 0, -1]):
        assert attempt(mesh | {"bones": json.dumps({**words, "parents": parents})})


def test_no_number_is_an_order():
    """Counts of thousands of millions ask for neither memory nor time."""
    mesh = rig()
    words = json.loads(mesh["bones"])
    most = stored.MOST_NUMBER
    forged = [
        {"shape": np.array([HUGE, HUGE, 1], np.int32)},
        {"columns": np.array([HUGE, HUGE], np.int32)},
        {"meshes": json.dumps({"counts": [HUGE, HUGE], "edges": [1, 2]})},
        {"bones": json.dumps({**words, "numbers": [0, 3, HUGE]})},
        {"bones": json.dumps({**words, "numbers": [0, 3, most + 1]})},
        {"influences": np.full(14, HUGE, np.int32)},
        {"merged": json.dumps([[HUGE, "x", 0]])},
        {"looks": json.dumps({str(HUGE): LOOK})},
    ]
    tracemalloc.start()
    began = time.perf_counter()
    assert all(attempt(mesh | some) for some in forged)
    assert time.perf_counter() - began < 2
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
    assert not stored.is_number(HUGE)
