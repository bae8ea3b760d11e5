"""Length generalization: right answers, entropy and peak weight of attention against the test length."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from analysis import lengths
from analysis.figures.arrange import legend, plots, plots_right
from analysis.figures.differences import BAND
from analysis.figures.doubling import Mean, doubling, draw_means, mean_at
from analysis.figures.panel import SHARE, Panel, Scale, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import LINE, MARGIN, Sheet
from analysis.tables_lengths import cells

MEASURES = {
    "exact_match": "exact match",
    "token_accuracy": "token accuracy",
    "entropy": "entropy in nats",
    "peak": "peak weight",
}
HEIGHT = 1.5
"""Inches of a panel."""
ROOM = 1.8
"""Inches that are left of its width for the numbers below it."""
APART = 0.5
"""The share of the step between two lengths that the points of all normalizers at one length spread over."""

Found = dict[tuple[str, str, str], list[Mean]]
"""(data set, measure, normalizer) -> its means by length."""


def against_length(scene: Scene) -> Sheet | None:
    """A row of panels per data set, a column per measure; None where no record has test lengths."""
    if scene.runs.by_length.empty:
        return None
    there = list(cells(scene.runs, scene.plan))
    found: Found = {
        (dataset, measure, name): [
            mean_at(length, values, scene.plan.confidence)
            for length, values in lengths.series(scene.runs.by_length, dataset, name, measure).items()
        ]
        for dataset, name in there
        for measure in MEASURES
    }
    datasets, shown = list(dict.fromkeys(where for where, _ in there)), scene.ordered({name for _, name in there})
    sheet = Sheet()
    entries = list(zip(scene.labels(shown), [scene.looks[name] for name in shown], strict=True))
    below = legend(sheet, MARGIN, plots_right(len(MEASURES), most=len(MEASURES)), entries)
    trained = lengths.training(scene.runs.by_length)
    upright = dict.fromkeys(MEASURES, SHARE) | {"entropy": _entropies(found)}
    for dataset in datasets:
        top = below
        if dataset != datasets[0]:
            top = sheet.bottom + 0.16
            sheet.cuts.add(top)
        sheet.text(MARGIN, top + LINE / 2, dataset, weight="bold")
        across = _across(scene, dataset, dataset in trained)
        scales = [(across, upright[measure]) for measure in MEASURES]
        panels = plots(sheet, top + LINE, scales, "", height=HEIGHT, gutter=0.1, most=len(MEASURES))
        for measure, panel in zip(MEASURES, panels, strict=True):
            if dataset in trained:
                _shade(panel, *trained[dataset])
            panel.frame(MEASURES[measure])
            _lines(scene, panel, {name: found.get((dataset, measure, name), []) for name in shown})
    text = (
        f"Horizontal: test length; grey: as in training. Mean over seeds with its {scene.plan.percent} t interval; "
        "points of one length stand beside each other. Token accuracy: share of answer tokens that are right after the "
        "true ones before. Entropy and peak weight (the largest of a query's weights): mean over the queries that "
        f"predict answer tokens, over blocks, {lengths.HEADS}."
    )
    return scene.footer(sheet, text)


def _across(scene: Scene, dataset: str, trained: bool) -> Scale:
    """The horizontal scale around the test lengths, which leaves room to shade lengths of training before them."""
    frame = scene.runs.by_length
    tested = sorted({*map(int, frame.loc[frame["dataset"] == dataset, "length"])})
    return doubling(tested, ROOM, before=1.0 if trained else 0.3)


def _entropies(found: Found) -> Scale:
    """One scale for all data sets, so that their panels can be compared; it begins at 0."""
    means = [point for (_, measure, _), points in found.items() if measure == "entropy" for point in points]
    return nice([0.0, *(mean + half for _, mean, half in means)], HEIGHT, upright=True)


def _shade(panel: Panel, low: int, high: int) -> None:
    """The lengths from `low` to `high`, as far as the panel reaches."""
    left, right = (min(max(float(np.log2(length)), panel.x.low), panel.x.high) for length in (low, high))
    bottom, top = panel.y.low, panel.y.high
    panel.sheet.area(panel.along([left, right, right, left], [bottom, bottom, top, top]), color=BAND)


def _lines(scene: Scene, panel: Panel, found: Mapping[str, Sequence[Mean]]) -> None:
    """The lines of all normalizers, moved a little sideways where they would hide one another."""
    tested = sorted({x for points in found.values() for x, _, _ in points})
    gap = min((b - a for a, b in pairwise(tested)), default=1.0)
    for place, (name, points) in enumerate(found.items()):
        shift = APART * gap * ((place + 0.5) / len(found) - 0.5)
        if points:
            draw_means(panel, [(x + shift, mean, half) for x, mean, half in points], scene.looks[name])
