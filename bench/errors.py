"""What the user got wrong, and the near matches that a message names. Without torch: not every command needs it."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

SHOWN = 25
"""A longer list of choices is shown only where no near match is."""


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key, the value and what would do."""


def suggest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """The end of a message about the unknown `name`: near matches first, then all there are."""
    near = get_close_matches(name, list(known), n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{hint} (there are: {', '.join(sorted(known))})" if len(known) <= SHOWN or not near else hint
