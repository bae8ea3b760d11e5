"""What the user got wrong, said in one message."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something given by the user (a setting, a path, a record) cannot be used; the message is shown as it is."""


def near(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'a' or 'b'?` with up to three names of `known` that look like `word`, or an empty string."""
    close = difflib.get_close_matches(word, sorted(set(known)), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(name) for name in close)}?" if close else ""
