"""How normalizers look: one colour, marker and line style each, the same in every figure."""

from collections.abc import Sequence
from typing import Any

Look = dict[str, Any]
"""Keywords of a matplotlib line."""

# Okabe and Ito's colours, told apart by colour-blind eyes, and more; markers and dashes tell normalizers apart in grey.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#8C564B", "#BCBD22")
MARKERS = "osD^vP*X<>ph"
SIZES = {"*": 10.0, "P": 7.5, "X": 7.5}
"""Points, of the markers that look smaller than their size."""
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (3, 1)),
    (0, (8, 2, 2, 2, 2, 2)),
)
FILLED = {"markeredgecolor": "white", "markeredgewidth": 0.5}
"""A light rim keeps markers apart where two normalizers lie on one spot."""


def looks(normalizers: Sequence[str]) -> dict[str, Look]:
    """The look of each normalizer by its place in `normalizers`; every look within the first sixty is another."""
    return {
        name: {
            "color": COLOURS[i % len(COLOURS)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": DASHES[i % len(DASHES)],
            "linewidth": 1.3,
            **FILLED,
            "markersize": SIZES.get(MARKERS[i % len(MARKERS)], 6.5),
        }
        for i, name in enumerate(normalizers)
    }


def hollow(look: Look) -> Look:
    """The same marker as an outline."""
    return look | {
        "markerfacecolor": "white",
        "markeredgecolor": look["color"],
        "markeredgewidth": 1.2,
        "markersize": 0.92 * look["markersize"],
    }
