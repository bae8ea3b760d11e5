"""Over epochs: the loss and validation accuracy of each normalizer, and the learned α of each head."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.figures.arrange import legend, plots, plots_right
from analysis.figures.look import DASHES
from analysis.figures.panel import Panel, Scale, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import DIM, MARGIN, Sheet

Array = NDArray[np.float64]

SHOWN = {"train_loss": "training loss", "validation_accuracy": "validation accuracy"}
MOST_LINES = 12
"""More heads than this in all blocks together are drawn as one line per block."""
GUTTER = 0.42
"""Inches for the numbers at the ends of the lines of α."""


def curves(scene: Scene) -> Sheet | None:
    """Mean over seeds and ± one standard deviation of each normalizer; None where no record holds curves."""
    panels: list[tuple[str, str, dict[str, Array]]] = []
    for curve, said in SHOWN.items():
        for dataset in scene.datasets:
            found = _of(scene, dataset, curve)
            if found:
                panels.append((dataset, said, found))
    if not panels:
        return None
    sheet = Sheet()
    shown = scene.ordered({name for _, _, found in panels for name in found})
    entries = list(zip(scene.labels(shown), [scene.looks[name] for name in shown], strict=True))
    top = legend(sheet, MARGIN, plots_right(len(panels)), entries)
    scales = [(_epochs(found), nice(_limits(found), 1.8, upright=True)) for _, _, found in panels]
    for (dataset, said, found), panel in zip(panels, plots(sheet, top, scales, ""), strict=True):
        panel.frame(dataset, said)
        for place, (name, values) in enumerate(found.items()):
            _band(panel, values, scene.looks[name]["color"])
            mean, epochs = values.mean(0), range(1, values.shape[1] + 1)
            # Markers at places of their own, so that they do not hide one another.
            every = (place % max(1, len(mean) // 4), max(1, len(mean) // 4))
            look = scene.looks[name] | {
                "markevery": every,
                "markersize": 0.75 * scene.looks[name]["markersize"],
                "zorder": 2.0,
            }
            sheet.line(panel.along(epochs, mean), **look)
    return scene.footer(sheet, "Horizontal: epochs. Mean over seeds, ± one standard deviation.", scene.histories.note)


def alpha(scene: Scene) -> Sheet | None:
    """α of each head and block, mean over seeds and single seeds; None where no record holds a curve of α."""
    panels = [
        (dataset, name, values if values[0, 0].size <= MOST_LINES else values.mean(3, keepdims=True))
        for dataset in scene.datasets
        for name, values in _of(scene, dataset, "alpha").items()
        if values.ndim == 4
    ]
    if not panels:
        return None
    several = len({name for _, name, _ in panels}) > 1
    sheet = Sheet()
    scales = [(_epochs({name: v}), nice(v, 1.8, upright=True)) for _, name, v in panels]
    made = plots(sheet, MARGIN, scales, "learned α", gutter=GUTTER)
    for (dataset, name, values), panel in zip(panels, made, strict=True):
        panel.frame(dataset, scene.labels([name])[0] if several else "", GUTTER + 0.1)
        _alphas(panel, values, scene.looks[name]["color"])
    shown = "" if several else f"{scene.labels([panels[0][1]])[0]}: "
    text = (
        f"{shown}α over epochs, mean over seeds; thin lines: single seeds. Numbers at the right: block.head, or the "
        f"block alone, for the mean of its heads; each block has a line style of its own."
    )
    return scene.footer(sheet, text, scene.histories.note)


def _alphas(panel: Panel, values: Array, colour: str) -> None:
    """Lines of `values`, shape (seeds, epochs, blocks, heads)."""
    _, epochs, blocks, heads = values.shape
    x = np.arange(1, epochs + 1)
    lines = np.moveaxis(values, 1, 3).reshape(-1, epochs)
    panel.sheet.segments([panel.along(x, line) for line in lines], colour, 0.4, alpha=0.3)
    ends = []
    for block in range(blocks):
        for head in range(heads):
            mean = values[:, :, block, head].mean(0)
            look: dict[str, Any] = {"linestyle": DASHES[block % len(DASHES)], "linewidth": 1.3, "zorder": 2.0}
            look |= {"color": colour, "marker": "o", "markersize": 3, "markevery": [-1]}
            panel.sheet.line(panel.along(x, mean), **look)
            ends.append((panel.at(epochs, mean[-1])[1], f"{block + 1}.{head + 1}" if heads > 1 else f"{block + 1}"))
    ends.sort()
    end, right = panel.at(epochs, panel.y.low)[0], panel.left + panel.width
    places = apart([y for y, _ in ends], 0.125, panel.top, panel.top + panel.height)
    for (y, label), place in zip(ends, places, strict=True):
        panel.sheet.segments([[(end + 0.03, y), (right + 0.1, place)]], "#999999", 0.5)
        panel.sheet.text(right + 0.13, place, label, size=7, color=DIM)


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """`wanted` in ascending order -> places from `low` to `high`, `gap` apart, moved as little as neighbours allow."""
    groups: list[list[float]] = []

    def start(group: list[float]) -> float:
        length = gap * (len(group) - 1)
        return min(max(sum(group) / len(group) - length / 2, low), high - length)

    for y in wanted:
        groups.append([y])
        while len(groups) > 1 and start(groups[-2]) + gap * len(groups[-2]) > start(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    return [start(group) + gap * i for group in groups for i in range(len(group))]


def _of(scene: Scene, dataset: str, curve: str) -> dict[str, Array]:
    """normalizer -> the curves of its seeds, where there are any."""
    cells = {name: scene.histories.curves.get((dataset, name), {}) for name in scene.runs.normalizers(dataset)}
    return {name: cells[name][curve] for name in scene.ordered(cells) if curve in cells[name]}


def _epochs(found: Mapping[str, Array]) -> Scale:
    last = max(values.shape[1] for values in found.values())
    whole = nice([1, last], 2.3)
    ticks = tuple(tick for tick in whole.ticks if tick >= 1 and tick == int(tick))
    return Scale(whole.low, whole.high, ticks if len(ticks) > 1 else (1.0, float(last))[: min(last, 2)])


def _limits(found: Mapping[str, Array]) -> Array:
    return np.concatenate(
        [np.ravel(values.mean(0) + sign * _sd(values)) for values in found.values() for sign in (-1, 1)]
    )


def _sd(values: Array) -> Array:
    """Over seeds; 0 where there is one."""
    return values.std(0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def _band(panel: Panel, values: Array, colour: str) -> None:
    if len(values) > 1:
        mean, sd, x = values.mean(0), _sd(values), np.arange(1, values.shape[1] + 1)
        corners = panel.along([*x, *x[::-1]], [*(mean - sd), *(mean + sd)[::-1]])
        panel.sheet.area(corners, color=colour, alpha=0.12)
