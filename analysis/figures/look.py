"""How normalizers look: one colour, mark and line each, by name, the same in every figure of every study."""

import hashlib
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

REGISTRY = Path(__file__).resolve().parents[2] / "conf" / "looks.yaml"

Look = dict[str, Any]
"""Keywords of a matplotlib line."""

MARKERS = {
    **{"circle": "o", "square": "s", "diamond": "D", "triangle": "^", "down": "v", "plus": "P", "star": "*"},
    **{"cross": "X", "left": "<", "right": ">", "pentagon": "p", "hexagon": "h"},
}
SIZES = {"star": 10.0, "plus": 7.5, "cross": 7.5}
"""Points, of the marks that look smaller than their size."""
DASHES: dict[str, Any] = {
    "solid": "-",
    "dashed": (0, (5, 1.5)),
    "dotted": (0, (1.5, 1)),
    "dash_dot": (0, (6, 1.5, 1.5, 1.5)),
    "short_dashes": (0, (3, 1)),
    "dash_dot_dot": (0, (8, 2, 2, 2, 2, 2)),
}
STROKES = tuple(DASHES.values())
"""For lines that stand for other things than normalizers: blocks, lengths."""
FILLED = {"markeredgecolor": "white", "markeredgewidth": 0.5}
"""A light rim keeps markers apart where two normalizers lie on one spot."""


@cache
def registry() -> dict[str, Any]:
    """The content of conf/looks.yaml: `colours` by name, the names of `marks` and `lines`, and `normalizers`."""
    content: Any = OmegaConf.to_container(OmegaConf.load(REGISTRY))
    return dict(content)


def look(normalizer: str) -> Look:
    """The look of the id `normalizer`: that of the registry, else one of those left over, chosen by the id alone."""
    listed = registry()
    found = listed["normalizers"].get(normalizer) or _left_over(normalizer)
    return {
        "color": listed["colours"][found["colour"]],
        "marker": MARKERS[found["mark"]],
        "linestyle": DASHES[found["line"]],
        "linewidth": 1.3,
        **FILLED,
        "markersize": SIZES.get(found["mark"], 6.5),
    }


def _left_over(normalizer: str) -> dict[str, str]:
    """A colour and mark that no listed normalizer has; which one depends on nothing but the id."""
    listed = registry()
    taken = {(each["colour"], each["mark"]) for each in listed["normalizers"].values()}
    pairs = list(product(listed["colours"], listed["marks"]))
    number = int.from_bytes(hashlib.sha256(normalizer.encode()).digest()[:8])
    first = number % len(pairs)
    # The next that is left: a normalizer that is listed later moves none but those that had its look.
    colour, mark = next(pair for pair in pairs[first:] + pairs[:first] if pair not in taken)
    return {"colour": colour, "mark": mark, "line": listed["lines"][number // len(pairs) % len(listed["lines"])]}


def hollow(look: Look) -> Look:
    """The same marker as an outline."""
    return look | {
        "markerfacecolor": "white",
        "markeredgecolor": look["color"],
        "markeredgewidth": 1.2,
        "markersize": 0.92 * look["markersize"],
    }
