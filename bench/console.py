"""Standard output and error that never stop the work: a full disk, a closed pipe or a poor encoding costs only text."""

import contextlib
import io
import os
import sys
from typing import TextIO

STREAMS = {"stdin": 0, "stdout": 1, "stderr": 2}
"""The standard streams with their file descriptors."""


class _Lossy(io.FileIO):
    """An open file descriptor, left open at the end, on which no write fails: what is not taken is dropped.

    Every write is tried anew, so that a log on a disk that has room again goes on.
    """

    reader_gone = False

    def write(self, data: object) -> int:
        """The number of bytes written or dropped."""
        try:
            written = super().write(data)  # type: ignore[arg-type]
        except OSError as error:
            self.reader_gone |= isinstance(error, BrokenPipeError)
            written = None
        return memoryview(data).nbytes if written is None else written  # type: ignore[arg-type]


def make_tolerant() -> None:
    """Replace `sys.stdout` and `sys.stderr` of this process by streams on which printing never raises.

    Signs that their encoding lacks are written as escapes, such as `\\u0394`. Where a standard stream was closed before
    the process began, its descriptor is occupied by the null device, so that no file opened later is printed into.
    Streams that somebody else put in place, as tests do, are left alone.
    """
    for descriptor in STREAMS.values():
        _occupy(descriptor)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is getattr(sys, f"__{name}__"):
            made = tolerant(STREAMS[name], stream)
            setattr(sys, name, made)
            setattr(sys, f"__{name}__", made)


def tolerant(descriptor: int, like: TextIO | None = None) -> TextIO:
    """A text stream on `descriptor` on which printing never raises, encoded and buffered as the stream `like` is."""
    encoding = like.encoding if like else "utf-8"
    buffered = isinstance(like, io.TextIOWrapper) and not (like.line_buffering or like.write_through)
    if like:
        with contextlib.suppress(OSError, ValueError):
            like.flush()
    raw = io.BufferedWriter(_Lossy(descriptor, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=not buffered)


def reader_gone() -> bool:
    """True once the reader of standard output went away, as `head` does; for commands that do nothing but print."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, _Lossy) and raw.reader_gone


def _occupy(descriptor: int) -> None:
    """Open the null device as `descriptor` where that is closed; the lower ones must be open."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
