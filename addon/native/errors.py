"""What is raised: an error has a status of the library's and one sentence."""

from __future__ import annotations

from .header import Status


class OssifyError(Exception):
    """A refusal: `status` (< 0) and one sentence."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


class LibraryError(OssifyError):
    """The library is not there, does not load or belongs to another version."""

    def __init__(self, sentence: str):
        super().__init__(Status.BAD_ARGUMENT, sentence)


def refuse(sentence: str):
    raise OssifyError(Status.BAD_ARGUMENT, sentence)
