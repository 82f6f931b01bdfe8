"""Files without Blender: what is damaged is told before anything follows from it, and what is written is
there whole or as it was."""

import io
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import package
import pytest
from ossify.base import pointcache, whole
from ossify.base.refusal import Refusal
from ossify.files import meshfile, wholeness
from ossify.native import npz

FRAMES = np.arange(8 * 5 * 3, dtype=np.float32).reshape(8, 5, 3)


def cache(path, frames=FRAMES):
    with pointcache.Writer(path, frames.shape[1], range(1, len(frames) + 1)) as writer:
        for points in frames:
            writer.add(points)
        writer.finish()
    return path


def refusal(act, *arguments):
    with pytest.raises(Refusal) as caught:
        act(*arguments)
    (sentence,) = caught.value.args
    assert sentence.endswith(".")
    return sentence


# ---- point caches


@pytest.mark.parametrize("kind", pointcache.KINDS)
def test_a_point_cache_is_as_long_as_its_header_says(tmp_path, kind):
    path = cache(tmp_path / f"walk{kind}")
    assert pointcache.size_of(path) == (8, 5)
    data = path.read_bytes()
    for other in (*(data[:-cut] for cut in (1, 4, 100, 400)), data + b"\0", data + bytes(700)):
        path.write_bytes(other)
        sentence = refusal(pointcache.size_of, path)
        assert (
            f"is damaged: 8 frames of 5 vertices take {len(data)} bytes, and it has {len(other)}" in sentence
        )


@pytest.mark.parametrize("kind", pointcache.KINDS)
def test_a_header_is_a_bound_and_no_order(tmp_path, kind):
    path = cache(tmp_path / f"walk{kind}")
    data = path.read_bytes()
    most = 2**31 - 1
    for samples, vertices in ((most, 5), (8, most), (most, most), (0, 5), (8, 0), (-1, 5), (8, -(2**31))):
        if kind == ".pc2":
            head = struct.pack("<12siiffi", b"POINTCACHE2", 1, vertices, 1.0, 1.0, samples)
        else:
            head = struct.pack(">ii", samples, vertices)
        path.write_bytes(head + data[len(head) :])
        began = time.perf_counter()
        assert "damaged" in refusal(pointcache.size_of, path)
        assert time.perf_counter() - began < 1


def test_what_is_no_point_cache(tmp_path):
    for name, data in (("a.pc2", b""), ("a.pc2", b"POINT"), ("b.pc2", b"X" * 99), ("c.mdd", b"\0" * 7)):
        (tmp_path / name).write_bytes(data)
        assert "damaged" in refusal(pointcache.size_of, tmp_path / name)
    (tmp_path / "walk.txt").write_text("walk")
    assert "its ending must be .pc2 or .mdd" in refusal(pointcache.size_of, tmp_path / "walk.txt")
    assert "cannot be read: No such file" in refusal(pointcache.size_of, tmp_path / "gone.pc2")


# ---- .ply and .obj

HEADER = """ply
format {order} 1.0
comment made by hand
element vertex 4
property float x
property float y
property float z
property uchar red
element face 2
property list uchar int vertex_indices
property list uchar float texcoord
property uchar flags
element edge 1
property int vertex1
property int vertex2
end_header
"""
POINTS = [(0, 0, 0, 7), (1, 0, 0, 7), (1, 1, 0, 7), (0, 1, 0, 7)]
FACES = [(0, 1, 2), (0, 1, 2, 3)]


def ply(order):
    head = HEADER.format(order=order).encode()
    if order == "ascii":
        lines = [" ".join(map(str, point)) for point in POINTS]
        lines += [f"{len(face)} {' '.join(map(str, face))} 2 0.5 0.5 1" for face in FACES]
        return head + "\n".join([*lines, "0 1", ""]).encode()
    sign = "<" if "little" in order else ">"
    data = b"".join(struct.pack(f"{sign}fffB", *point) for point in POINTS)
    for face in FACES:
        data += struct.pack(f"{sign}B{len(face)}iBffB", len(face), *face, 2, 0.5, 0.5, 1)
    return head + data + struct.pack(f"{sign}ii", 0, 1)


ORDERS = ("ascii", "binary_little_endian", "binary_big_endian")


@pytest.mark.parametrize("order", ORDERS)
def test_a_whole_ply_passes_and_a_cut_one_does_not(tmp_path, order):
    path, data = tmp_path / "sheet.ply", ply(order)
    path.write_bytes(data)
    meshfile.check(path)
    ends = [end for end in range(len(data)) if data[end:].strip()]  # the last line break may go
    for end in ends:
        path.write_bytes(data[:end])
        assert refusal(meshfile.check, path).startswith(f"{path} is damaged: ")
    path.write_bytes(data + b"7")
    assert "last element" in refusal(meshfile.check, path)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("vertex 4", "vertex 2147483647", "ends before"),
        ("vertex 4", "vertex 99999999999", "a number of elements"),
        ("vertex 4", "vertex -1", "a number of elements"),
        ("face 2", "face 4294967295", "ends before|a line of its face|last element"),
        ("face 2", "face 1", "last element|names vertex|ends before|a line of its edge"),
        ("float x", "floot x", "there is a property 'floot x'"),
        ("list uchar int", "list float int", "counted in fractions"),
        ("int vertex_indices", "float vertex_indices", "fractions|ends before"),
        ("property float z\n", "", "no x, y and z"),
        ("property float y", "property float x", "twice"),
        ("vertex_indices", "some_indices", "names no vertices"),
        ("1.0", "2.0", "does not begin with a format"),
        ("end_header", "end_hedder", "does not begin with a header"),
        ("element face", "elephant face", "its header has a line"),
    ],
)
def test_a_ply_with_another_header(tmp_path, order, old, new, words):
    path = tmp_path / "sheet.ply"
    path.write_bytes(ply(order).replace(old.encode(), new.encode(), 1))
    sentence = refusal(meshfile.check, path)
    assert any(word in sentence for word in words.split("|")), sentence


@pytest.mark.parametrize("order", ORDERS)
def test_a_ply_that_names_vertices_that_are_not_there(tmp_path, order):
    path = tmp_path / "sheet.ply"
    for faces in ([(0, 1, 4), FACES[1]], [(0, 1, -1), FACES[1]], [FACES[0], (0, 1, 2, 2**31 - 1)]):
        FACES[:], before = faces, FACES[:]
        try:
            path.write_bytes(ply(order))
        finally:
            FACES[:] = before
        assert "its face names vertex" in refusal(meshfile.check, path)


OBJ = (
    b"# by hand\nv 0 0 0\nv 1 0 0 1 0.5 0.5\nv 1e0 1 0\nv -.5 1 0\nvt 0 0\n"
    b"f 1/1 2/1 3/1 4/1\nf -1 \\\n-2 -3\n"
)


def test_an_obj_whose_lines_are_whole_passes(tmp_path):
    path = tmp_path / "sheet.obj"
    for data in (OBJ, OBJ.replace(b"\n", b"\r\n"), OBJ.rstrip(), b"", b"# nothing\n"):
        path.write_bytes(data)
        meshfile.check(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"v 1e0 1 0", b"v 1e0 1", "a vertex has not three coordinates"),
        (b"v 1e0 1 0", b"v 1e0 1 nan", "a vertex holds what is no number"),
        (b"v 1e0 1 0", b"v 1e0 \x001 0", "it is no text"),
        (b"f 1/1", b"f 5/1", "a face names vertex 5 of 4"),
        (b"f 1/1", b"f 0/1", "a face names vertex 0 of 4"),
        (b"f 1/1", b"f 99999999999999999999/1", "a face holds what is no whole number"),
        (b"f -1", b"f -5", "a face names vertex -5 of 4"),
        (b"f -1 \\\n-2 -3", b"f -1 -2", "a face has not three corners"),
        (b"f -1", b"f x", "a face holds what is no number"),
    ],
)
def test_a_damaged_obj(tmp_path, old, new, words):
    path = tmp_path / "sheet.obj"
    path.write_bytes(OBJ.replace(old, new, 1))
    assert words in refusal(meshfile.check, path)


# ---- .npz


def packed(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_arrays_come_back(tmp_path):
    arrays = {"frames": FRAMES, "rest": FRAMES[0].T, "none": np.empty((0, 3), np.int32), "one": np.float64(7)}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        found = npz.read(str(tmp_path / "a.npz"), [*arrays, "gone"])
        assert found.keys() == arrays.keys() == set(npz.names_in(str(tmp_path / "a.npz")))
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array)


def npy(header, data=b""):
    """A member of an .npz that claims what it likes."""
    text = (header + " " * 200)[:117] + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


@pytest.mark.parametrize(
    "member",
    [
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647, 2147483647, 3), }", bytes(99)),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 3), }", bytes(12)),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }", bytes(12)),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", bytes(13)),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': ('x', 3), }", bytes(12)),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", bytes(8)),
        npy("{'descr': '<U9', 'fortran_order': False, 'shape': (1,), }", bytes(36)),
        npy("{'descr': '<f4', 'shape': (1, 3), }", bytes(12)),
        npy("[[[[", bytes(12)),
        npy("(" * 100, bytes(12)),
        b"\x93NUMPY\x09\x00",
        b"\x93NUM",
        b"",
    ],
)
def test_an_array_that_claims_more_than_it_has(member):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("frames.npy", member)
    file.seek(0)
    with pytest.raises(npz.Damaged):
        npz.read(file, ["frames"])


def test_a_cut_or_changed_npz():
    data = packed(frames=FRAMES)
    for other in (b"", b"nothing", data[:-1], data[: len(data) // 2], data[:200] + b"!" + data[201:]):
        with pytest.raises(npz.Damaged):
            npz.read(io.BytesIO(other), ["frames"])


def test_no_memory_is_asked_for_in_a_header(tmp_path):
    """In a process that could not have it."""
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (300000000,), }"  # 2.4 GB
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as opened:
        opened.writestr("frames.npy", npy(head, bytes(800)))
    code = (
        "import resource, sys; sys.path[:0] = ['tests/python']\n"
        "import package; from ossify.native import npz\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        f"try: npz.read({str(tmp_path / 'a.npz')!r}, ['frames'])\n"
        "except npz.Damaged: print('told')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=package.ROOT)
    assert done.stdout == "told\n", done.stderr


# ---- written whole


def leftovers(folder):
    return [path.name for path in folder.iterdir() if ".part" in path.name]


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("older")
    path.chmod(0o640)
    with whole.replacing(path) as part:
        part.write_text("newer, and longer")
        assert path.read_text() == "older"
        assert part.parent == path.parent
        assert part.suffix == ".json"
    assert path.read_text() == "newer, and longer"
    assert path.stat().st_mode & 0o777 == 0o640
    assert leftovers(tmp_path) == []


def test_an_error_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("older")
    with pytest.raises(ZeroDivisionError), whole.replacing(path) as part:
        part.write_text(f"half, {1 // 0}")
    assert path.read_text() == "older"
    assert leftovers(tmp_path) == []


def test_a_link_stays_a_link_and_a_second_name_keeps_the_earlier_file(tmp_path):
    path, link, other = tmp_path / "real.json", tmp_path / "link.json", tmp_path / "other.json"
    path.write_text("older")
    link.symlink_to("real.json")
    os.link(path, other)
    whole.write_text(link, "newer")
    assert link.is_symlink()
    assert path.read_text() == "newer"
    assert other.read_text() == "older"


def test_what_cannot_be_replaced_is_told(tmp_path):
    assert refusal(whole.check, Path(os.devnull)) == f"{os.devnull} is no ordinary file: name another."
    assert refusal(whole.check, tmp_path).endswith("cannot be written: Is a directory (name a file in it).")
    assert "No such file or directory" in refusal(whole.check, tmp_path / "gone" / "a.json")
    whole.check(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_what_was_left_by_a_kill_goes_after_a_day(tmp_path):
    old, young = tmp_path / ".a.0123.part.json", tmp_path / ".a.4567.part.json"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (1, 1))
    whole.write_text(tmp_path / "a.json", "whole")
    assert leftovers(tmp_path) == [young.name]


LIMITED = """
import resource, signal, sys
sys.path[:0] = ["tests/python"]
import package
from pathlib import Path
import numpy as np
from ossify.base import pointcache, whole
from ossify.base.refusal import Refusal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
path = Path(sys.argv[1])
try:
    if path.suffix == ".pc2":
        with pointcache.Writer(path, 1000, range(20)) as writer:
            for _ in range(20):
                writer.add(np.zeros((1000, 3)))
            writer.finish()
    elif path.suffix == ".npz":
        with whole.replacing(path) as part, open(part, "wb") as file:
            np.savez(file, frames=np.zeros((20, 1000, 3)))
    elif path.suffix == ".abc":  # as an exporter that does not look
        with whole.replacing(path) as part:
            part.write_bytes(bytes(100_000))
    else:
        whole.write_text(path, "x" * 200_000)
except Refusal as error:
    print(error)
"""


@pytest.mark.parametrize("suffix", [".json", ".pc2", ".npz", ".abc"])
def test_a_full_disk_leaves_the_earlier_file_and_is_told(tmp_path, suffix):
    """A limit on the size of files stands for it: the system answers as then, if with another word."""
    path = tmp_path / f"out{suffix}"
    path.write_text("older")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path], capture_output=True, text=True, cwd=package.ROOT
    )
    words = "cannot be written: File too large (choose a place that takes files of this size)."
    assert done.stdout == f"{path} {words}\n", done.stderr
    assert path.read_text() == "older"
    assert leftovers(tmp_path) == []


FULL = """
import sys
sys.path[:0] = ["tests/python"]
import package
from pathlib import Path
from ossify.base import whole
from ossify.base.refusal import Refusal
try:
    whole.write_text(Path(sys.argv[1]), "x" * 4_000_000)
except Refusal as error:
    print(error)
"""


def test_a_disk_that_is_really_full(tmp_path):
    """A megabyte of memory as a disk, where the system lets one be made."""
    mount = f'mount -t tmpfs -o size=1m none "{tmp_path}"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*command, mount], capture_output=True).returncode:
        pytest.skip("this system lets nobody make a disk")
    script = (
        f'{mount} && echo older > "{tmp_path}/a.json" &&'
        f' "{sys.executable}" -c "$CODE" "{tmp_path}/a.json" && cat "{tmp_path}/a.json" && ls -A "{tmp_path}"'
    )
    done = subprocess.run(
        [*command, script],
        capture_output=True,
        text=True,
        cwd=package.ROOT,
        env=os.environ | {"CODE": FULL},
    )
    assert done.returncode == 0, done.stderr
    sentence = "a.json cannot be written: No space left on device (make room there, or choose another place)."
    assert done.stdout == f"{tmp_path}/{sentence}\nolder\na.json\n"


WRITER = """
import sys
sys.path[:0] = ["tests/python"]
import package
from pathlib import Path
from ossify.base import whole
print("begun", flush=True)
while True:
    for letter in "ab":
        whole.write_text(Path(sys.argv[1]), letter * 300_000)
"""


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "report.json"
    for moment in range(12):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, cwd=package.ROOT
        )
        child.stdout.readline()
        while not path.exists():
            time.sleep(0.001)
        time.sleep(0.0037 * moment)
        child.send_signal(signal.SIGKILL)
        child.wait()
        text = path.read_text()
        assert len(text) == 300_000
        assert text in ("a" * 300_000, "b" * 300_000)


# ---- what exporters say they wrote


@pytest.mark.parametrize("suffix", [".glb", ".fbx", ".usdc", ".usda", ".usd", ".abc", ".blend"])
def test_bytes_that_are_no_file_of_a_kind_are_not_whole(tmp_path, suffix):
    for data in (b"", b"x", bytes(20_000), b"glTF", b"PXR-USDC" + bytes(99), b"Ogawa\xff" + bytes(99)):
        (tmp_path / f"a{suffix}").write_bytes(data)
        assert not wholeness.is_whole(tmp_path / f"a{suffix}")
