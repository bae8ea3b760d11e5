"""Paired differences: a forest plot of every family, with the band of what counts as no difference."""

import math

from analysis import lengths, names
from analysis.comparisons import FamilyResult
from analysis.figures.arrange import Rows
from analysis.figures.look import hollow
from analysis.figures.panel import Panel, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import MARGIN, SMALL, Sheet, text_width
from analysis.matched import Comparison

BAND = "#E4E4E4"


def forest(scene: Scene) -> Sheet | None:
    """Δ accuracy with its t interval, a row per comparison; None where no family has a difference."""
    results = [result for result in scene.results if any(math.isfinite(row.delta_accuracy) for row in result.rows)]
    if not results:
        return None
    sheet = Sheet()
    for result in results:
        top = sheet.bottom + (0.2 if result is not results[0] else MARGIN)
        control = names.display(result.rows[0].control, scene.plan.names)
        sheet.text(MARGIN, top, f"{result.name}: difference to {control} (m = {result.m})", weight="bold")
        _family(scene, sheet, top + 0.1, result)
    text = (
        f"Accuracy minus that of the control on matched seeds, mean and {scene.plan.percent} t interval. "
        f"Filled: better or worse by Holm's p at {scene.plan.level}; hollow: neither. "
        f"Grey: within the margin of ±{scene.plan.margin:g}."
    )
    return scene.footer(sheet, text, *lengths.notices(scene.runs.by_length))


def _family(scene: Scene, sheet: Sheet, top: float, result: FamilyResult) -> None:
    rows = [row for row in result.rows if row.dataset in scene.datasets]
    datasets = list(dict.fromkeys(row.dataset for row in rows))
    treatments = list(dict.fromkeys(row.normalizer for row in rows))
    margin = scene.plan.margin
    gutter = 0.16 + max(text_width(_word(row), SMALL) for row in rows)
    values = [x for row in rows for x in (row.delta_accuracy, row.ci_low, row.ci_high) if math.isfinite(x)]
    scale = nice([*values, margin, -margin], 2.1)
    # One treatment needs no panel for each data set.
    alone = len(treatments) == 1
    lines = Rows(datasets if alone else scene.labels(treatments), gutter=gutter)
    titles = scene.labels(treatments) if alone else datasets
    for title, panel in zip(titles, lines.panels(sheet, top, [scale] * len(titles)), strict=True):
        _band(panel, margin)
        panel.frame(title, beside=gutter)
        for row in rows:
            if alone or row.dataset == title:
                place = datasets.index(row.dataset) if alone else treatments.index(row.normalizer)
                _comparison(scene, panel, place, row)
                lines.word(panel, place, _word(row))


def _band(panel: Panel, margin: float) -> None:
    bottom, top = panel.y.low, panel.y.high
    panel.sheet.area(panel.along([-margin, margin, margin, -margin], [bottom, bottom, top, top]), color=BAND)
    panel.sheet.segments([panel.along([0, 0], [bottom, top])], "#555555", 0.8)


def _comparison(scene: Scene, panel: Panel, place: int, row: Comparison) -> None:
    if math.isfinite(row.delta_accuracy):
        look = scene.looks[row.normalizer]
        if math.isfinite(row.ci_low):
            panel.bar(row.ci_low, row.ci_high, place, look["color"])
        decided = row.verdict in ("better", "worse")
        panel.markers([(row.delta_accuracy, place)], look if decided else hollow(look))


def _word(row: Comparison) -> str:
    """The verdict, or why there is none."""
    return row.verdict if row.status == "ok" else row.status.partition(":")[0]
