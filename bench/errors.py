"""What the user got wrong, and the near matches that a message names. Without torch: not every command needs it."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

SHOWN = 25
"""A longer list of choices is shown only where no near match is."""
CLOSE = 0.6
"""How alike two names are, from 0 to 1, where one may have been meant for the other."""


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key, the value and what would do."""


def nearest(name: str, known: Mapping[str, Any] | list[str], where: str) -> str:
    """The end of a message about the unknown `name` of many: the nearest three, and `where` all are shown."""
    near = get_close_matches(name, list(known), n=3, cutoff=CLOSE)
    if near:
        return f"; did you mean {' or '.join(near)}? ({where})"
    return f"; the nearest are {', '.join(get_close_matches(name, list(known), n=3, cutoff=0))} ({where})"


def suggest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """The end of a message about the unknown `name`: near matches first, then all there are."""
    near = get_close_matches(name, list(known), n=3, cutoff=CLOSE)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{hint} (there are: {', '.join(sorted(known))})" if len(known) <= SHOWN or not near else hint
