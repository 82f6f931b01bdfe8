"""All that reads bytes from elsewhere without Blender, one target each, and small whole inputs to begin with.

A target takes bytes and either refuses them, by an error of ours, or answers; whatever else it raises, much
memory or much time, is a fault. test_malformed.py mutates the inputs for a moment in every run of the tests,
and tools/fuzz_files.py for as long as one likes, led by what has been reached.
"""

import io
import json
import struct
from pathlib import Path

import numpy as np
import package  # noqa: F401 (first: it brings what follows)
from ossify.base import pointcache
from ossify.base.refusal import Refusal
from ossify.files import arrays, gltffile, meshfile, ogawa
from ossify.native import npz
from ossify.record import stored, stored_merges

REFUSED = (Refusal, npz.Damaged, stored.Damaged, stored.Newer)
MESHES, WIDTH, TIMES = 2, 14, np.arange(2.0)
_OBJ = (
    b"# x\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nusemtl m\nf 1/1 2/1 3/1 4/1\nf -1 -2 \\\n-3\nl 1 2\n"
)
_HEAD = """ply
format {} 1.0
comment x
element vertex 4
property float x
property float y
property float z
property uchar red
element face 2
property list uchar int vertex_indices
property list uchar float texcoord
element edge 1
property int vertex1
property int vertex2
end_header
"""


def _ply(order: str) -> bytes:
    head = _HEAD.format(order).encode()
    if order == "ascii":
        return head + b"0 0 0 1\n1 0 0 1\n1 1 0 1\n0 1 0 1\n3 0 1 2 0\n4 0 1 2 3 1 0.5\n0 1\n"
    sign = "<" if "little" in order else ">"
    points = struct.pack(f"{sign}fffB", 0, 1, 2, 3) * 4
    faces = struct.pack(f"{sign}B3iB", 3, 0, 1, 2, 0) + struct.pack(f"{sign}B4iBf", 4, 0, 1, 2, 3, 1, 0.5)
    return head + points + faces + struct.pack(f"{sign}ii", 0, 1)


# Of a face a list that names vertices, and a number that does.
_MIXED = (
    b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 1\nproperty list uchar int vertex_indices\nproperty int vertex1\nend_header\n"
    b"0 0 0\n1 0 0\n1 1 0\n3 0 1 2 0\n"
)


def _npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _cache(kind: str) -> bytes:
    points = np.arange(2 * 3 * 3, dtype=np.float32)
    if kind == ".pc2":
        return struct.pack("<12siiffi", b"POINTCACHE2", 1, 3, 1.0, 1.0, 2) + points.tobytes()
    return struct.pack(">ii", 2, 3) + bytes(8) + points.astype(">f4").tobytes()


# ---- targets


def _point_cache(kind: str):
    def target(data: bytes) -> None:
        size = pointcache.size_of_bytes(data[:32], len(data), Path(f"x{kind}"), kind)
        assert size.samples * size.vertices * 12 < len(data)

    return target


def _mesh(kind: str):
    return lambda data: meshfile.check_bytes(data, Path(f"x{kind}"))


def _pose(kind: str):
    def target(data: bytes) -> None:
        pose = (arrays.npz_of if kind == ".npz" else arrays.stl_of)(data, Path(f"x{kind}"))
        assert pose.points.shape[-1] == 3
        if pose.faces is not None and pose.faces.size:
            pose.points.reshape(-1, pose.points.shape[-2], 3)[0][pose.faces]  # every index is there

    return target


_STL = bytes(80) + struct.pack("<I", 1) + np.arange(12, dtype="<f4").tobytes() + bytes(2)
_STL_TEXT = (
    b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet\n"
    b"endsolid x\n"
)


def gltf_words() -> dict:
    """A triangle on a bone that turns."""
    return {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 108}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 72, "byteStride": 16},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5126, "count": 2, "type": "SCALAR"},
            {"bufferView": 1, "byteOffset": 24, "componentType": 5126, "count": 2, "type": "VEC4"},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}]}]}],
        "nodes": [{"children": [1, 2]}, {"mesh": 0, "skin": 0}, {}],
        "skins": [{"joints": [2], "skeleton": 0}],
        "scenes": [{"nodes": [0]}],
        "animations": [
            {
                "samplers": [{"input": 1, "output": 2}],
                "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}],
            }
        ],
    }


def glb_of(words: dict, behind: int = 108) -> bytes:
    text = json.dumps(words).encode()
    text += b" " * (-len(text) % 4)
    body = (
        struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", behind, b"BIN\0") + bytes(behind)
    )
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def archive() -> bytes:
    """An Ogawa file: five bytes of data, a group that holds them, and a root above it."""
    data = struct.pack("<Q", 5) + b"motor" + bytes(3)
    group = struct.pack("<3Q", 2, 1 << 63 | 16, 1 << 63)
    root = struct.pack("<3Q", 2, 32, 0)
    return b"Ogawa\xff\0\1" + struct.pack("<Q", 32 + len(group)) + data + group + root


def _scene(kind: str):
    check = ogawa.check_bytes if kind == ".abc" else gltffile.check_bytes
    return lambda data: check(data, Path(f"x{kind}"))


def _arrays(data: bytes) -> None:
    file = io.BytesIO(data)
    for array in npz.read(file, npz.names_in(file)).values():
        assert array.nbytes <= 2000 * len(data)  # as much as compression can hide


def _motion(data: bytes) -> None:
    found = npz.read(io.BytesIO(data), ("frames", "rest"))
    if "frames" in found:
        stored.is_motion(found["frames"], found.get("rest"), (2, 3, True))


def _text(name: str):
    def target(data: bytes) -> None:
        mesh = {**_notes(), name: data.decode("utf-8", "surrogateescape")}
        stored.names_by_number(mesh)
        stored.notes(mesh, MESHES, TIMES)
        stored.looks(mesh)
        stored_merges.merged(mesh)

    return target


def _merge(data: bytes) -> None:
    stored_merges.merge({"merged 000": data}, "merged 000", WIDTH)


def _bones(numbers=(0, 3, 4)) -> dict:
    return {
        "numbers": list(numbers),
        "names": [f"Bone {number}" for number in numbers],
        "parents": [-1, *numbers[:-1]],
        "connected": [False] * len(numbers),
        "deforms": [True] * len(numbers),
        "lengths": [1.0] * len(numbers),
    }


def _notes() -> dict:
    return {
        "bones": json.dumps(_bones()),
        "meshes": json.dumps({"counts": [5, 2], "edges": [17, None]}),
        "rests": np.zeros(3 * 16),
        "channels": np.zeros(2 * 3 * 10),
        "influences": np.full(14, 3),
        "weights": np.full(14, 0.5),
        "rest": np.zeros(21),
        "looks": json.dumps({"3": LOOK}),
        "merged": json.dumps([[3, "Bone 3", 0]]),
    }


LOOK = {
    "palette": "THEME01",
    "colours": [[0.1, 0.2, 0.3]] * 3,
    "collections": ["Bones"],
    "rotation": "QUATERNION",
    "noted": {"ossify_bone": 3, "ossify_list": [1.0]},
}


def _packed_merge() -> bytes:
    before, after = (
        stored.Bones(**_bones(numbers), rests=np.zeros((len(numbers), 4, 4))) for numbers in ((0, 3), (0,))
    )
    copy = {("location", 0): np.ones((2, WIDTH))}
    weights = np.zeros(1, np.int32), np.zeros((1, 2), np.int32), np.ones((1, 2), "f4"), np.zeros(1, np.uint32)
    return stored_merges.packed(
        stored_merges.Merge(
            *(0, [3], before, after, {"3": LOOK}, {"Walk": {"Bone 3": copy}}, {"Walk": {"Bone 3": 7}}),
            *({"0": weights}, [["words", 0, "Bone 3"]]),
        )
    )


TARGETS = {  # name -> what reads bytes, and whole inputs
    "pc2": (_point_cache(".pc2"), [_cache(".pc2")]),
    "mdd": (_point_cache(".mdd"), [_cache(".mdd")]),
    "obj": (_mesh(".obj"), [_OBJ]),
    "ply": (_mesh(".ply"), [*map(_ply, ("ascii", "binary_little_endian", "binary_big_endian")), _MIXED]),
    "npz": (_arrays, [_npz(frames=np.zeros((2, 3, 3), "f4"), triangles=np.zeros((1, 3), int))]),
    "pose": (_pose(".npz"), [_npz(vertices=np.zeros((3, 3)), faces=np.arange(3).reshape(1, 3))]),
    "stl": (_pose(".stl"), [_STL, _STL_TEXT]),
    "glb": (_scene(".glb"), [glb_of(gltf_words())]),
    "gltf": (_scene(".gltf"), [json.dumps(gltf_words()).encode()]),
    "abc": (_scene(".abc"), [archive()]),
    "motion": (_motion, [_npz(frames=np.zeros((2, 3, 3), "f4"), rest=np.zeros((3, 3), "f4"))]),
    **{name: (_text(name), [_notes()[name].encode()]) for name in ("bones", "meshes", "looks", "merged")},
    "merge": (_merge, [_packed_merge()]),
}


def attempt(name: str, data: bytes) -> bool:
    """Whether the bytes were taken; an error that is not ours is raised."""
    try:
        TARGETS[name][0](data)
    except REFUSED:
        return False
    return True
