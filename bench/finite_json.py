"""JSON as results hold it: every number finite and of a size that an array takes, every key once."""

import json
import math
from typing import Any, NoReturn

LARGEST = 2**64
"""Whole numbers are smaller."""


class ContentError(Exception):
    """What JSON allows and a result does not."""


def parse(text: str) -> Any:
    """The content of `text`. Raises ContentError for what no result holds, ValueError for what is no JSON."""
    return json.loads(
        text, parse_constant=_refuse, parse_float=_finite, parse_int=_bounded, object_pairs_hook=_each_key_once
    )


def is_deeper(content: Any, levels: int) -> bool:
    """Whether objects and lists lie in one another on more than `levels` levels."""
    level = [content]
    for _ in range(levels):
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [value for values in parts for value in values if isinstance(value, dict | list)]
    return bool(level)


def _refuse(text: str) -> NoReturn:
    raise ContentError(f"{text}, which is no number of a result")


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refuse(text)


def _bounded(text: str) -> int:
    return value if abs(value := int(text)) < LARGEST else _refuse(f"{text[:30]}...")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ContentError(f"a key twice, among {', '.join(content)}")
    return content
