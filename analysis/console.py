"""Standard output and error that take whatever is printed: closed, full or without a sign, they cost no work."""

import codecs
import errno
import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

PLAIN = {
    **{"Δ": "delta", "α": "alpha", "β": "beta", "γ": "gamma", "λ": "lambda", "±": "+/-", "×": "x", "·": "*"},
    **{"≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "→": "->", "∞": "inf", "⌈": "ceil(", "⌉": ")", "−": "-"},
    **{"–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "..."},
}
"""How signs are printed where the encoding of the output has none for them."""
HANDLER = "analysis.plain"


def say(text: str) -> None:
    """Print `text` at once, so that it is seen before what takes longer."""
    print(text, flush=True)


@contextmanager
def tolerant() -> Iterator["Output | None"]:
    """Standard output and error that never raise while this lasts; yields that of standard output.

    A closed stream, and one that fails, takes the rest of what is printed and drops it; a sign that its encoding lacks
    is replaced by letters (`PLAIN`) or `?`. A stream without a file behind it, such as one of a test, stays as it is;
    None is yielded for it, and for a closed one.
    """
    before = sys.stdout, sys.stderr
    out, sys.stdout = _taking(sys.stdout)
    err, sys.stderr = _taking(sys.stderr)
    try:
        yield out
    finally:
        if out is not None:
            sys.stdout.flush()
            if out.failed and out.lost:
                print(f"notice: standard output cannot be written ({out.failed.strerror})", file=sys.stderr)
        if err is not None:
            sys.stderr.flush()
        sys.stdout, sys.stderr = before


class Output(io.RawIOBase):
    """An open file descriptor to write to; `failed` is the first error, after which everything written is dropped."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.failed: OSError | None = None

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor, which stays open when this is closed."""
        return self.descriptor

    @property
    def lost(self) -> bool:
        """Whether something was dropped that is missed: a reader that has gone, as `head` does, has seen enough."""
        return self.failed is not None and self.failed.errno != errno.EPIPE

    def write(self, data: Any) -> int:
        """Write some of the bytes `data`, or drop all of them; returns how many are done with."""
        if self.failed is None:
            try:
                return os.write(self.descriptor, data)
            except OSError as error:
                self.failed = error
        return len(data)


def _taking(stream: TextIO | None) -> tuple[Output | None, TextIO]:
    """The tolerant form of `stream`."""
    if stream is None:  # it was closed before the program began
        return None, open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
    try:
        raw = Output(stream.fileno())
        stream.flush()
    except (OSError, ValueError):
        return None, stream
    text = io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, HANDLER, line_buffering=stream.isatty())
    return raw, text


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What is printed in place of the signs that `error` is about, and where encoding goes on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_letters, error.object[error.start : error.end])), error.end


def _letters(sign: str) -> str:
    """`sign` in ASCII: from PLAIN, else without its accents, else `?`."""
    return PLAIN.get(sign) or unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"


codecs.register_error(HANDLER, _plain)
