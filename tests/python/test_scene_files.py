"""Files of scenes that are damaged or forged are refused before Blender's importers see them."""

import struct
import time
from pathlib import Path

import malformed
import pytest
from ossify.base.refusal import Refusal
from ossify.files import gltffile, ogawa

HUGE = 2**31 - 1


def few(count=2, indices=1):
    """A sparse part of an accessor"""
    places = {"bufferView": indices, "componentType": 5121}
    return {"count": count, "indices": places, "values": {"bufferView": 0}}


FORGED = [
    (("accessors", 0, "count"), HUGE, "2147483647 items do not fit"),
    (("accessors", 0, "count"), -5, "a count is -5"),
    (("accessors", 0, "count"), 4, "4 items do not fit"),
    (("accessors", 0, "bufferView"), 99, "it has 2 bufferViews, and 99 is none of them"),
    (("accessors", 0, "componentType"), 7, "numbers of the kind (7, 'VEC3')"),
    (("bufferViews", 0, "byteLength"), 10**12, "does not fit into it"),
    (("bufferViews", 0, "byteOffset"), -4, "a byteOffset is -4"),
    (("buffers", 0, "byteLength"), 109, "a buffer of 109 bytes has 108"),
    (("nodes", 2, "children"), [0], "is below itself"),
    (("nodes", 2, "children"), [1], "node 1 hangs from two others"),
    (("nodes", 2, "children"), 1, "its children are no list"),
    (("skins", 0, "joints"), [9999], "it has 3 nodes, and 9999 is none of them"),
    (("animations", 0, "channels", 0, "sampler"), 5, "it has 1 samplers, and 5 is none of them"),
    (("meshes", 0, "primitives", 0, "attributes", "POSITION"), "0", "it has 3 accessors, and 0 is none"),
    (("nodes",), {}, "its nodes are no list"),
    (("scene",), 1, "it has 1 scenes, and 1 is none of them"),
    (("meshes", 0, "primitives", 0, "material"), 0, "it has 0 materials, and 0 is none of them"),
    (("accessors", 0, "sparse"), [], "a sparse accessor has no values"),
    (("accessors", 0, "sparse"), few(indices=9), "it has 2 bufferViews, and 9 is none of them"),
    (("accessors", 0, "sparse"), few(count=4), "4 items do not fit"),
]


@pytest.mark.parametrize(("place", "value", "words"), FORGED, ids=lambda value: str(value)[:40])
def test_a_number_of_a_gltf_that_leads_nowhere(place, value, words):
    forged = malformed.gltf_words()
    at = forged
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    with pytest.raises(Refusal, match=r"^x\.glb is damaged: ") as refused:
        gltffile.check_bytes(malformed.glb_of(forged), Path("x.glb"))
    assert words in str(refused.value)


ODD = [
    (("accessors", 0, "sparse"), few()),
    (("accessors", 0), {"componentType": 5126, "count": 3, "type": "VEC3"}),  # all zero
    (("accessors", 1, "count"), 0),
    (("buffers",), [{"byteLength": 108}, {"byteLength": 4, "uri": "data:application/octet-stream;base64,"}]),
    (("buffers", 0, "extensions"), {"EXT_meshopt_compression": {"fallback": True}}),
    (("nodes",), [{"children": [1, 2]}, {"mesh": 0, "skin": 0}, {}, {"children": [4]}, {}]),  # in no scene
    (("scenes",), []),
    (("animations", 0, "channels", 0, "target"), {"path": "pointer", "extensions": {}}),
    (("animations", 0, "channels"), []),
    (("images",), [{"uri": "gone.png"}]),
    (("extras",), {"nodes": [99]}),
    (("asset",), {"version": "2.1", "minVersion": "2.0"}),
]


@pytest.mark.parametrize(("place", "value"), ODD, ids=lambda value: str(value)[:40])
def test_a_gltf_of_another_kind_is_whole(place, value):
    words = malformed.gltf_words()
    at = words
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    gltffile.check_bytes(malformed.glb_of(words), Path("x.glb"))


def test_a_gltf_of_many_parts_is_looked_through_once():
    words, many = malformed.gltf_words(), 10_000
    words["accessors"] += many * [words["accessors"][1]]
    words["nodes"] += [{"children": [number + 4]} for number in range(many)] + [{}]
    animation = words["animations"][0]
    animation["samplers"] *= many
    animation["channels"] = [animation["channels"][0] | {"sampler": number} for number in range(many)]
    data, before = malformed.glb_of(words), time.process_time()
    gltffile.check_bytes(data, Path("x.glb"))
    assert time.process_time() - before < 5  # it takes a tenth of a second


def test_an_older_gltf_is_not_called_damaged():
    old = {"asset": {"version": "1.0"}, "nodes": {"a": {}}}
    with pytest.raises(Refusal, match=r"^x\.gltf is glTF 1\.0, and Blender reads 2:"):
        gltffile.check_bytes(malformed.json.dumps(old).encode(), Path("x.gltf"))


@pytest.mark.parametrize(
    ("check", "name", "data"),
    [
        (gltffile.check_bytes, "x.glb", malformed.glb_of(malformed.gltf_words())),
        (ogawa.check_bytes, "x.abc", malformed.archive()),
    ],
    ids=["glb", "abc"],
)
def test_cut_at_any_byte(check, name, data):
    check(data, Path(name))
    for length in range(len(data)):
        with pytest.raises(Refusal, match="is damaged"):
            check(data[:length], Path(name))


def test_a_file_that_a_gltf_names_is_not_there(tmp_path):
    words = malformed.gltf_words()
    words["buffers"][0]["uri"] = "rig%20of%20it.bin"
    text = malformed.json.dumps(words).encode()
    with pytest.raises(Refusal, match="which it names, is not there"):
        gltffile.check_bytes(text, tmp_path / "x.gltf")
    (tmp_path / "rig of it.bin").write_bytes(bytes(108))
    gltffile.check_bytes(text, tmp_path / "x.gltf")


def test_a_group_of_an_archive_that_holds_itself_or_too_much(tmp_path):
    data, path = malformed.archive(), tmp_path / "x.abc"
    root = struct.unpack_from("<Q", data, 8)[0]
    for place, value, words in [
        (root + 8, root, "holds itself"),
        (root, 2**60, "does not fit"),
        (root + 8, 10**9, "behind its end"),
        (16, 10**6, "some data do not fit"),
        (root + 8, 1 << 63 | 10**9, "behind its end"),
    ]:
        forged = bytearray(data)
        forged[place : place + 8] = struct.pack("<Q", value)
        path.write_bytes(forged)
        with pytest.raises(Refusal, match=words):
            ogawa.check(path)
