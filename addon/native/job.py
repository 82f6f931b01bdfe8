"""A verb on the library's own thread, because Blender has none for Python."""

from __future__ import annotations

import contextlib
import ctypes
import time
import weakref

from . import header
from .call import Call, progress_of
from .errors import OssifyError
from .loading import library
from .nouns import Progress
from .verbs import Verb


def _end(handle: ctypes.c_void_p, _call: Call) -> None:
    """Ends a job that nobody finished; the arrays of the call live until then."""
    library().ossify_job_cancel(handle)
    library().ossify_job_finish(handle)


class Job:
    """A verb on the library's own thread. Abandoned, it is cancelled and cleaned up."""

    def __init__(self, handle: ctypes.c_void_p, verb: Verb, call: Call, began: float):
        self._handle = handle
        self._verb = verb
        self._call = call
        self._began = began
        self._abandon = weakref.finalize(self, _end, handle, call)
        self._last: Progress | None = None
        self._result: object | OssifyError | None = None

    @classmethod
    def start(cls, verb: Verb, *arguments, **named):
        """As verb(...), but returns at once; refused arguments raise here."""
        call = verb.fill(*arguments, **named)
        began = time.perf_counter()
        handle = library().ossify_start(ctypes.byref(verb.request(call)), ctypes.byref(call.info))
        if not handle:
            call.raise_refusal()
            raise OssifyError(header.Status.THREAD_FAILED, "The job could not be started.")
        return cls(ctypes.c_void_p(handle), verb, call, began)

    def poll(self) -> Progress:
        """Where the job is; after finish(), where it ended."""
        if self._result is None:
            struct = header.sized(header.Progress)
            library().ossify_job_poll(self._handle, ctypes.byref(struct))
            self._last = progress_of(struct)
        return self._last

    def cancel(self) -> None:
        """Asks the job to end soon; finish() then raises OssifyError with Status.CANCELLED."""
        if self._result is None:
            library().ossify_job_cancel(self._handle)

    def finish(self):
        """Waits for the end; the answer, also when asked again."""
        if self._result is None:
            self._abandon.detach()
            library().ossify_job_finish(self._handle)
            seconds = time.perf_counter() - self._began
            self._last = (self._last or Progress(True, header.STAGES[-1], 0, 0, 1.0, None))._replace(
                finished=True
            )
            try:
                self._result = self._verb.answer(self._call, seconds)
            except OssifyError as error:
                self._result = error
            self._call = None
        if isinstance(self._result, OssifyError):
            raise self._result
        return self._result

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_exception) -> None:
        if self._result is None:
            self.cancel()
            with contextlib.suppress(OssifyError):
                self.finish()
