"""Over epochs: the loss and validation accuracy of each normalizer."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.figures import chance
from analysis.figures.arrange import legend, plots, plots_right
from analysis.figures.panel import Panel, Scale, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import MARGIN, Sheet

Array = NDArray[np.float64]

LOSS, VALIDATED = "train_loss", "validation_accuracy"
SHOWN = {LOSS: "training loss", VALIDATED: "validation accuracy"}


def curves(scene: Scene) -> Sheet | None:
    """Mean over seeds and ± one standard deviation of each normalizer; None where no record holds curves."""
    panels: list[tuple[str, str, dict[str, Array]]] = []  # data set, curve, curves by normalizer
    for curve in SHOWN:
        for dataset in scene.datasets:
            found = of_cell(scene, dataset, curve)
            if found:
                panels.append((dataset, curve, found))
    if not panels:
        return None
    sheet = Sheet()
    shown = scene.ordered({name for _, _, found in panels for name in found})
    entries = list(zip(scene.labels(shown), [scene.looks[name] for name in shown], strict=True))
    top = legend(sheet, MARGIN, plots_right(len(panels)), entries)
    scales = [(epochs_scale(found), _upright(scene, dataset, curve, found)) for dataset, curve, found in panels]
    for (dataset, curve, found), panel in zip(panels, plots(sheet, top, scales, ""), strict=True):
        panel.frame(dataset, SHOWN[curve])
        if curve == VALIDATED:
            chance.line(scene, dataset, panel)
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
    validated = any(curve == VALIDATED for _, curve, _ in panels)
    text = "Horizontal: epochs. Mean over seeds, ± one standard deviation."
    return scene.footer(sheet, f"{text} {chance.explained(scene) if validated else ''}", scene.histories.note)


def _upright(scene: Scene, dataset: str, curve: str, found: Mapping[str, Array]) -> Scale:
    limits = _limits(found)
    if curve == VALIDATED:
        return chance.scale(scene, dataset, limits.tolist(), 1.8, upright=True)
    return nice(limits, 1.8, upright=True)


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


def of_cell(scene: Scene, dataset: str, curve: str) -> dict[str, Array]:
    """normalizer -> the curves of its seeds, where there are any."""
    cells = {name: scene.histories.curves.get((dataset, name), {}) for name in scene.runs.normalizers(dataset)}
    return {name: cells[name][curve] for name in scene.ordered(cells) if curve in cells[name]}


def epochs_scale(found: Mapping[str, Array]) -> Scale:
    """A scale over the epochs of all curves in `found`, each of shape (seeds, epochs, ...)."""
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
