"""The learned α over epochs, on the whole range that it may take, with what moved drawn larger in an inset."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.figures.arrange import plots
from analysis.figures.look import STROKES
from analysis.figures.panel import Panel, Scale, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import DIM, MARGIN, SMALL, Sheet
from analysis.figures.training import apart, epochs_scale, of_cell

Array = NDArray[np.float64]

ALLOWED = {
    **dict.fromkeys(("hae", "hae_bisection"), (1.05, 1.95)),
    **dict.fromkeys(("bounded_entmax", "bounded_entmax_bisection"), (1.1, 2.8)),
}
"""Map -> the α that it may learn, from the least to the greatest."""
MOST_LINES = 12
"""More heads than this in all blocks together are drawn as one line per block."""
GUTTER = 0.42
"""Inches for the numbers at the ends of the lines."""
HEIGHT = 2.3
"""Inches of a panel."""
CROWDED = 0.2
"""Lines that take less than this share of the range are drawn once more, in an inset."""
INSET = 0.85
"""Inches that an inset is high."""


def alpha(scene: Scene) -> Sheet | None:
    """α of each head and block, mean over seeds and single seeds; None where no record holds a curve of α."""
    panels = [
        (dataset, name, values if values[0, 0].size <= MOST_LINES else values.mean(3, keepdims=True))
        for dataset in scene.datasets
        for name, values in of_cell(scene, dataset, "alpha").items()
        if values.ndim == 4
    ]
    if not panels:
        return None
    several = len({name for _, name, _ in panels}) > 1
    sheet = Sheet()
    scales = [(epochs_scale({name: v}), _range(scene, name, v)) for _, name, v in panels]
    made = plots(sheet, MARGIN, scales, "learned α", height=HEIGHT, gutter=GUTTER)
    for (dataset, name, values), panel in zip(panels, made, strict=True):
        panel.frame(dataset, scene.labels([name])[0] if several else "", GUTTER + 0.1)
        _draw(panel, values, scene.looks[name]["color"])
    shown = "" if several else f"{scene.labels([panels[0][1]])[0]}: "
    text = (
        f"{shown}α over epochs on the whole range that it may take, mean over seeds; thin lines: single seeds. Framed: "
        "the same lines on a scale of their own, where they take less than a fifth of it. Numbers at the "
        "right: block.head, or the block alone, for the mean of its heads; each block has a line style of its own."
    )
    return scene.footer(sheet, text, scene.histories.note)


def _range(scene: Scene, normalizer: str, values: Array) -> Scale:
    """From the least to the greatest α that may be learned; around `values` where these are not known."""
    ends = ALLOWED.get(scene.histories.maps.get(normalizer, normalizer), ())
    return nice([*np.ravel(values), *ends], HEIGHT, upright=True, pad=0.03)


def _draw(panel: Panel, values: Array, colour: str) -> None:
    """`values`, shape (seeds, epochs, blocks, heads), in `panel` and, where they are crowded there, in an inset."""
    low, high = float(values.min()), float(values.max())
    _lines(panel, values, colour)
    if high - low > CROWDED * (panel.y.high - panel.y.low):
        _name_ends(panel, panel, values)
        return
    inset = _inset(panel, nice(np.ravel(values), INSET, upright=True), above=panel.y.high - high > low - panel.y.low)
    _lines(inset, values, colour)
    _name_ends(inset, panel, values)


def _inset(panel: Panel, y: Scale, *, above: bool) -> Panel:
    """A framed panel of its own scale `y` in the upper or lower end of `panel`."""
    left = panel.left + 0.5
    top = panel.top + (0.08 if above else panel.height - INSET - 0.08)
    inset = Panel(panel.sheet, left, top, panel.left + panel.width - left, INSET, panel.x.bare(), y)
    right, bottom = left + inset.width, top + INSET
    around = [(left - 0.45, top - 0.06), (right, top - 0.06), (right, bottom + 0.06), (left - 0.45, bottom + 0.06)]
    panel.sheet.area(around, color="white", zorder=1.1)
    panel.sheet.segments([[*around, around[0]]], "#888888", 0.6, level=1.2)
    inset.frame("", level=1.2)
    return inset


def _lines(panel: Panel, values: Array, colour: str) -> None:
    """The curve of every seed, and the mean over seeds of each head with a dot at its end."""
    _, epochs, blocks, heads = values.shape
    x = np.arange(1, epochs + 1)
    single = np.moveaxis(values, 1, 3).reshape(-1, epochs)
    panel.sheet.segments([panel.along(x, line) for line in single], colour, 0.4, level=1.5, alpha=0.3)
    for block in range(blocks):
        for head in range(heads):
            look: dict[str, Any] = {"linestyle": STROKES[block % len(STROKES)], "linewidth": 1.3, "zorder": 2.0}
            look |= {"color": colour, "marker": "o", "markersize": 3, "markevery": [-1]}
            panel.sheet.line(panel.along(x, values[:, :, block, head].mean(0)), **look)


def _name_ends(panel: Panel, outer: Panel, values: Array) -> None:
    """`block.head` beside the end of each mean of `panel`, as far apart as the height of `outer` lets them be."""
    _, epochs, blocks, heads = values.shape
    ends = sorted(
        (
            panel.at(epochs, values[:, -1, block, head].mean())[1],
            f"{block + 1}.{head + 1}" if heads > 1 else f"{block + 1}",
        )
        for block in range(blocks)
        for head in range(heads)
    )
    end, right = panel.at(epochs, panel.y.low)[0], panel.left + panel.width
    places = apart([y for y, _ in ends], 0.135, outer.top, outer.top + outer.height)
    for (y, label), place in zip(ends, places, strict=True):
        panel.sheet.segments([[(end + 0.03, y), (right + 0.1, place)]], "#999999", 0.5)
        panel.sheet.text(right + 0.13, place, label, size=SMALL, color=DIM)
