"""A file is there whole, or as it was before: it is written under another name beside its own and takes its
place when it is whole.

    with whole.replacing(path) as part:
        write(part)

A kill at any moment, an error and a full disk leave what was at `path`. After a kill the unfinished file,
whose name begins with a dot and holds `.part`, stays behind; the next file of that name takes it away after a
day.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from .refusal import Refusal

_FORGOTTEN = 24 * 3600  # seconds after which an unfinished file was left by somebody who was killed
_PROBE = 1 << 16  # bytes that must still fit when a file is whole

_ADVICE = {
    errno.ENOSPC: "make room there, or choose another place",
    errno.EDQUOT: "make room there, or choose another place",
    errno.EFBIG: "choose a place that takes files of this size",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
    errno.EISDIR: "name a file in it",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def unwritable(path: Path, error: OSError) -> Refusal:
    """Why the system does not write a file, and what to do."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    advice = _ADVICE.get(error.errno)
    return Refusal(f"{path} cannot be written: {reason}{f' ({advice})' if advice else ''}.")


def _part_of(path: Path, unique: str) -> Path:
    """It keeps the ending: exporters go by it."""
    return path.with_name(f".{path.stem[:100]}.{unique}.part{path.suffix}")


def _refuse_other_kinds(path: Path) -> None:
    """Only an ordinary file can be replaced: not a folder, a device or a pipe, nor one that is protected."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise Refusal(f"{path} is no ordinary file: name another.")
        if not os.access(path, os.W_OK):
            raise Refusal(f"{path} is there and write-protected: allow to write it, or name another.")


@contextlib.contextmanager
def in_words(path: Path) -> Iterator[None]:
    """What the system complains about becomes a sentence."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def check(path: Path) -> None:
    """Refuses, before there is any work to lose, what could not be written then."""
    draft = Draft(path)
    draft.drop()


def _forget_old(path: Path) -> None:
    with contextlib.suppress(OSError):
        for other in path.parent.glob(f".{_escaped(path.stem[:100])}.*.part{_escaped(path.suffix)}"):
            if time.time() - other.lstat().st_mtime > _FORGOTTEN:
                _remove(other)


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def settle(part: Path) -> None:
    """Puts a file's bytes on the disk; where not a few more would fit, some of them may be missing although
    whoever wrote them did not notice."""
    with open(part, "ab") as file:
        size = file.tell()
        file.write(bytes(_PROBE))
        file.flush()
        os.fsync(file.fileno())
        file.truncate(size)
        os.fsync(file.fileno())


def reserve(part: Path, room: int) -> None:
    """OSError when so many bytes do not fit; none are kept."""
    if room and hasattr(os, "posix_fallocate"):
        with open(part, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, room)
            file.truncate(0)
    elif shutil.disk_usage(part.parent).free < room:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(part))


class Draft:
    """A file on its way: whatever is written to `part` takes its place with keep(). A link stays one."""

    def __init__(self, path: Path):
        self.path = path
        with in_words(path):
            self.target = path.resolve()
            _refuse_other_kinds(self.target)
            _forget_old(self.target)
            self.part = _part_of(self.target, secrets.token_hex(4))
            self.part.touch()  # an exporter's complaint says less than the system's

    def keep(self) -> None:
        with in_words(self.path):
            settle(self.part)
            if self.target.exists():
                shutil.copymode(self.target, self.part)
            os.replace(self.part, self.target)

    def drop(self) -> None:
        """Also after keep(), when there is nothing left to drop."""
        _remove(self.part)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to; when the block is done, what is there takes the place of `path`."""
    draft = Draft(path)
    try:
        with in_words(path):
            yield draft.part
        draft.keep()
    finally:
        draft.drop()


def write_text(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
