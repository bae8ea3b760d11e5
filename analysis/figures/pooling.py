"""Attention pooling in six panels: accuracy and mass against length, the learned q, and attention maps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from analysis.errors import InputError
from analysis.figures import chance
from analysis.figures.arrange import legend, plots, plots_right
from analysis.figures.doubling import Mean, doubling, draw_means, mean_at
from analysis.figures.look import STROKES
from analysis.figures.panel import Panel, Scale, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import DIM, MARGIN, SMALL, Sheet
from analysis.figures.training import apart
from analysis.plan import Target
from bench.records import RecordError, read

MASS = "informative_mass"
MAP_LENGTH = 16
"""Tokens of the rows whose maps are shown; where no data set has so many, the longest rows are."""
SPARSEMAX = "sparsemax"
WEIGHT, OUTLINE = "#0072B2", "#D55E00"


@dataclass(frozen=True)
class Pooled:
    """The data sets of one study by their number of tokens, ascending, and one record of each."""

    lengths: dict[int, str]
    records: dict[str, Any]


def six(scene: Scene) -> Sheet | None:
    """The six panels; None where the plan has no target or no record file holds attention mass.

    Raises InputError for a record that can no longer be read.
    """
    found = _pooled(scene)
    if found is None or not scene.plan.targets:
        return None
    target = scene.plan.targets[0]
    shown = scene.ordered({name for dataset in found.lengths.values() for name in scene.means(dataset, MASS)})
    maps = _maps(scene, found, [scene.plan.control, SPARSEMAX, target.normalizer])
    sheet = Sheet()
    entries = list(zip(scene.labels(shown), [scene.looks[name] for name in shown], strict=True))
    top = legend(sheet, MARGIN, plots_right(3), entries)
    places = doubling(found.lengths)
    curves = _curves(scene, found, target)
    last = max((steps[-1] for steps, _ in curves.values()), default=1)
    values = [np.ravel(lines) for _, lines in curves.values()]
    q = nice(np.concatenate([*values, [target.value]]), 1.8, upright=True)
    length = max((len(weights[0]) for weights, _ in maps.values()), default=1)
    rows = (Scale(-0.5, length - 0.5, tuple(range(0, length, max(1, length // 4)))), Scale(17.5, -0.5))
    scales = [(places, _reach(scene, found, shown, column)) for column in ("accuracy", MASS)]
    steps = nice([0, last], 2.3)
    panels = plots(sheet, top, [*scales, (steps, q), *[rows] * len(maps)], "", gutter=0.3)
    _against_length(scene, found, shown, panels[0], "accuracy", "a  test accuracy")
    _against_length(scene, found, shown, panels[1], MASS, "b  mass on informative tokens")
    panels[2].frame("c  learned q over steps")
    _learned(panels[2], curves, target, scene.looks[target.normalizer]["color"])
    for letter, panel, (name, (weights, marks)) in zip("def", panels[3:], maps.items(), strict=False):
        panel.frame(f"{letter}  {scene.labels([name])[0]}, {length} tokens")
        draw_map(panel, weights, marks, max(max(row) for w, _ in maps.values() for row in w))
    text = (
        f"a, b: horizontal, tokens in a row; mean over seeds ± standard error. c: mean over seeds; thin lines: single "
        f"seeds; numbers at the right: tokens; dotted: {target.value:g}. Maps: a row of cells per test row of the "
        "first seed, one cell per token, the darker the more weight; the informative tokens are outlined."
    )
    return scene.footer(sheet, text, chance.explained(scene), scene.histories.note)


def _pooled(scene: Scene) -> Pooled | None:
    lengths: dict[int, str] = {}
    records: dict[str, Any] = {}
    frame = scene.runs.frame[scene.runs.frame[MASS].notna()].drop_duplicates("dataset")
    for dataset, path in frame[["dataset", "path"]].itertuples(index=False, name=None):
        if not Path(path).is_file():
            continue
        records[dataset] = _read(path)
        length = records[dataset].config.get("dataset", {}).get("length")
        if isinstance(length, int):
            lengths.setdefault(length, dataset)
    return Pooled(dict(sorted(lengths.items())), records) if lengths else None


def _read(path: str) -> Any:
    try:
        return read(Path(path))
    except RecordError as error:
        raise InputError(f"records: {error}") from error


def _reach(scene: Scene, found: Pooled, shown: list[str], column: str) -> Scale:
    """The vertical scale around every mean ± standard error."""
    values = [m + s * e for name in shown for _, m, e in _means(scene, found, name, column) for s in (-1, 1)]
    return nice(values, 1.8, upright=True)


def _means(scene: Scene, found: Pooled, name: str, column: str) -> list[Mean]:
    """The means of the normalizer `name` at each length where it has runs."""
    cells = [(length, scene.runs.cell(dataset, name)[column].dropna()) for length, dataset in found.lengths.items()]
    return [mean_at(length, cell) for length, cell in cells if len(cell)]


def _against_length(scene: Scene, found: Pooled, shown: list[str], panel: Panel, column: str, title: str) -> None:
    panel.frame(title)
    if column == "accuracy":
        for dataset in {*found.lengths.values()}:
            chance.line(scene, dataset, panel)
    for name in shown:
        draw_means(panel, _means(scene, found, name, column), scene.looks[name])


def _curves(scene: Scene, found: Pooled, target: Target) -> dict[int, tuple[list[int], Any]]:
    """Length -> steps after which q was recorded, and q (seeds, steps), of the target's normalizer."""
    curves = {}
    for length, dataset in found.lengths.items():
        alpha = scene.histories.curves.get((dataset, target.normalizer), {}).get("alpha")
        if alpha is not None:
            train = found.records[dataset].config["train"]
            rows, size = found.records[dataset].config["dataset"]["train_limit"], train["batch_size"]
            per_epoch = train["passes"] * (1 if size is None or rows is None else -(-rows // size))
            lines = alpha.mean(axis=(2, 3))
            curves[length] = [per_epoch * (epoch + 1) for epoch in range(lines.shape[1])], lines
    return curves


def _learned(panel: Panel, curves: dict[int, tuple[list[int], Any]], target: Target, colour: str) -> None:
    panel.level(target.value, linestyle=":")
    ends = []
    for place, (length, (steps, lines)) in enumerate(curves.items()):
        panel.sheet.segments([panel.along(steps, line) for line in lines], colour, 0.4, alpha=0.25)
        mean = lines.mean(0)
        panel.sheet.line(
            panel.along(steps, mean), color=colour, linestyle=STROKES[place % len(STROKES)], linewidth=1.3, zorder=2.0
        )
        ends.append((panel.at(steps[-1], mean[-1])[1], str(length)))
    ends.sort()
    heights = apart([y for y, _ in ends], 0.135, panel.top, panel.top + panel.height)
    for height, (_, label) in zip(heights, ends, strict=True):
        panel.sheet.text(panel.left + panel.width + 0.06, height, label, size=SMALL, color=DIM)


def _maps(scene: Scene, found: Pooled, wanted: list[str]) -> dict[str, tuple[list[list[float]], list[list[int]]]]:
    """Normalizer -> weights and marks of the rows of the least seed, in the order of their first informative token."""
    length = MAP_LENGTH if MAP_LENGTH in found.lengths else max(found.lengths)
    maps = {}
    for name in dict.fromkeys(wanted):
        cell = scene.runs.cell(found.lengths[length], name)
        content = _read(cell["path"].iloc[0]).attention.get("map") if len(cell) else None
        if content:
            order = sorted(range(len(content["marks"])), key=lambda row: (content["marks"][row], row))
            maps[name] = [content["weights"][row] for row in order], [content["marks"][row] for row in order]
    return maps


def draw_map(panel: Panel, weights: list[list[float]], marks: list[list[int]], most: float) -> None:
    """A cell per token of every row, the darker the nearer its weight is to `most`; tokens among `marks` outlined."""
    filled, colours = [], []
    for row, values in enumerate(weights):
        for token, weight in enumerate(values):
            if weight > 0:
                filled.append(_cell(panel, token, row))
                colours.append((*to_rgb(WEIGHT), min(1.0, weight / most)))
    panel.sheet.cells(filled, colours)
    outlines = [_cell(panel, token, row) for row, tokens in enumerate(marks) for token in tokens]
    panel.sheet.segments([[*corners, corners[0]] for corners in outlines], OUTLINE, 0.7, level=2.0)


def _cell(panel: Panel, token: int, row: int) -> list[tuple[float, float]]:
    x, y = token - 0.5, row - 0.5
    return panel.along([x, x + 1, x + 1, x], [y, y, y + 1, y + 1])
