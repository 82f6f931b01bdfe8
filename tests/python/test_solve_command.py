"""`python -m ossify solve` with files that are not as they should be: a sentence, and nothing left behind."""

import os
import stat
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from native.__main__ import main

RNG = np.random.default_rng(3)
REST = RNG.normal(size=(60, 3))
FRAMES = np.stack([REST + [0, 0, 0.2 * f] + 0.5 * np.sin(f) * (REST[:, :1] > 0) for f in range(4)])
TRIANGLES = np.arange(60, dtype=np.int32).reshape(-1, 3)
FLAGS = ["--bones", "2", "--quality", "draft", "--threads", "1"]


def saved(path, **arrays):
    np.savez(path, **{"rest": REST, "frames": FRAMES, "triangles": TRIANGLES, **arrays})
    return path


def solve(*words):
    return main(["solve", *map(str, words), *FLAGS])


def test_a_rig_is_written_whole_and_nothing_else(tmp_path):
    out = tmp_path / "rig.npz"
    for _ in range(2):  # over itself, too
        assert solve(saved(tmp_path / "seq.npz"), "--out", out) == 0
    assert np.load(out)["transforms"].shape == (4, 2, 3, 4)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rig.npz", "seq.npz"]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"frames": REST}, "is needed"),
        ({"frames": np.float32(1)}, "is needed"),
        ({"frames": FRAMES[:0]}, "with a frame"),
        ({"frames": FRAMES * np.nan}, "frames[0][0][0] is nan"),
        ({"frames": np.array([{}], object)}, "no .npz of plain arrays"),
        ({"frames": FRAMES[:, :9]}, "rest has shape"),
        ({"triangles": TRIANGLES + 50}, "triangles"),
    ],
)
def test_arrays_that_are_no_motion(tmp_path, capsys, arrays, words):
    assert solve(saved(tmp_path / "seq.npz", **arrays), "--out", tmp_path / "rig.npz") == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "rig.npz").exists()


def test_files_that_are_none(tmp_path, capsys):
    good = saved(tmp_path / "good.npz").read_bytes()
    turned = bytearray(good)
    turned[300] ^= 255
    contents = {
        "cut": good[: len(good) // 2],
        "turned": bytes(turned),
        "empty": b"",
        "junk": b"PK\x03\x04junk",
    }
    for name, data in contents.items():
        (tmp_path / f"{name}.npz").write_bytes(data)
        assert solve(tmp_path / f"{name}.npz") == 1
        assert f"{name}.npz is damaged" in capsys.readouterr().err
    np.save(tmp_path / "one.npy", FRAMES)
    (tmp_path / "folder.npz").mkdir()
    np.savez(tmp_path / "still.npz", rest=REST)
    for name, words in (
        ("one.npy", "one.npy is damaged, or no .npz"),
        ("folder.npz", "cannot be read"),
        ("missing.npz", "cannot be read: No such file"),
        ("still.npz", "holds no frames"),
    ):
        assert solve(tmp_path / name) == 1
        assert words in capsys.readouterr().err


def test_a_header_that_promises_more_than_there_is_gets_no_memory(tmp_path, capsys):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 1000000, 3), }"
    path = tmp_path / "forged.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "frames.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + bytes(99)
        )
    tracemalloc.start()
    try:
        assert solve(path) == 1
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()
    assert "forged.npz is damaged" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are only ordinary files here")
def test_what_is_no_file_is_not_written_over(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SystemExit) as ended:
        solve(saved(tmp_path / "seq.npz"), "--out", tmp_path / "pipe")
    assert ended.value.code == 2
    assert "pipe is no ordinary file" in capsys.readouterr().err
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_link_stays_one(tmp_path):
    link, out = tmp_path / "link.npz", tmp_path / "rig.npz"
    out.write_bytes(b"an earlier one")
    link.symlink_to(out)
    assert solve(saved(tmp_path / "seq.npz"), "--out", link) == 0
    assert link.is_symlink()
    assert np.load(out)["transforms"].shape == (4, 2, 3, 4)


@pytest.mark.parametrize(
    ("out", "words"), [("seq.npz", "the sequence itself"), ("x/rig.npz", "no folder"), (".", "is a folder")]
)
def test_places_that_cannot_be_meant(tmp_path, capsys, out, words):
    path = saved(tmp_path / "seq.npz")
    before = path.read_bytes()
    with pytest.raises(SystemExit) as ended:
        solve(path, "--out", tmp_path / out)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["seq.npz"]
