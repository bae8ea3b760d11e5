"""Paired differences: a forest plot of every family, with the band of what counts as no difference."""

import math

from analysis import lengths, names
from analysis.comparisons import FamilyResult
from analysis.figures.arrange import Rows
from analysis.figures.look import hollow
from analysis.figures.panel import Panel, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import INK, LINE, MARGIN, PHONE, SIZE, SMALL, WIDEST, Sheet, text_width
from analysis.floors import at_floor
from analysis.matched import Comparison, matched

BAND = "#E4E4E4"
THICK, THIN = 2.4, 0.8
"""Points: the interval of one difference, and that which holds for all of a family together."""
BOLD = 1.15
"""How much wider a bold text may be than its widths, which are those of plain letters."""
BELOW = 0.09
"""Inches from the mean down to the differences of single seeds."""
SEED = {"marker": ".", "markersize": 4.6, "markeredgewidth": 0, "linestyle": "none", "alpha": 0.6, "zorder": 2.5}
"""The look of the difference of one seed."""


def forest(scene: Scene, *, phone: bool = False) -> Sheet | None:
    """Δ accuracy with its intervals and its seeds, a row per comparison; None where no family has a difference."""
    results = [result for result in scene.results if any(math.isfinite(row.delta_accuracy) for row in result.rows)]
    if not results:
        return None
    sheet = Sheet(phone=phone)
    for result in results:
        top = sheet.bottom + (0.2 if result is not results[0] else MARGIN)
        if result is not results[0]:
            sheet.cuts.add(top - LINE / 2 - 0.02)
        control = names.display(result.rows[0].control, scene.plan.names)
        title = f"{result.name}: difference to {control} (m = {result.m})"
        width = ((PHONE if sheet.phone else WIDEST) - 2 * MARGIN) / BOLD
        below = sheet.paragraph(MARGIN, top, title, width, size=SIZE, color=INK, weight="bold")
        _family(scene, sheet, below - LINE + 0.1, result)
    percent = scene.plan.percent
    text = (
        f"Accuracy minus that of the control on matched seeds. Thick: {percent} t interval of one difference; thin: "
        f"simultaneous, all of a family hold together with {percent} (Bonferroni). Dots: single seeds. "
        f"Filled: better or worse by Holm's p at {scene.plan.level}; hollow: neither. "
        f"Grey: within the margin of ±{scene.plan.margin:g}."
    )
    return scene.footer(sheet, text, *lengths.notices(scene.runs.by_length))


def _family(scene: Scene, sheet: Sheet, top: float, result: FamilyResult) -> None:
    rows = [row for row in result.rows if row.dataset in scene.datasets]
    datasets = list(dict.fromkeys(row.dataset for row in rows))
    treatments = list(dict.fromkeys(row.normalizer for row in rows))
    margin = scene.plan.margin
    words = [_word(scene, row) for row in rows]
    seeds = [_seeds(scene, row) for row in rows]
    ends = [x for row in rows for x in (row.delta_accuracy, row.ci_low, row.ci_high, row.sci_low, row.sci_high)]
    values = [x for x in (*ends, *(x for found in seeds for x in found)) if math.isfinite(x)]
    # One treatment needs no panel for each data set.
    alone = len(treatments) == 1
    labels = datasets if alone else scene.labels(treatments)
    titles = scene.labels(treatments) if alone else datasets
    gutter = 0.16 + max(text_width(word, SMALL) for word in words)
    lines = Rows(sheet, labels, len(titles), height=0.27, gutter=gutter)
    scale = nice([*values, margin, -margin], lines.width)
    for title, panel in zip(titles, lines.panels(top, [scale] * len(titles)), strict=True):
        _band(panel, margin)
        panel.frame(title, beside=lines.over)
        for row, word, found in zip(rows, words, seeds, strict=True):
            if alone or row.dataset == title:
                place = datasets.index(row.dataset) if alone else treatments.index(row.normalizer)
                _comparison(scene, panel, place, row)
                below = place + BELOW / lines.pitch
                if found:
                    points = panel.along(found, [below] * len(found))
                    sheet.line(points, color=scene.looks[row.normalizer]["color"], **SEED)
                lines.word(panel, place, word)


def _band(panel: Panel, margin: float) -> None:
    bottom, top = panel.y.low, panel.y.high
    panel.sheet.area(panel.along([-margin, margin, margin, -margin], [bottom, bottom, top, top]), color=BAND)
    panel.sheet.segments([panel.along([0, 0], [bottom, top])], "#555555", 0.8)


def _comparison(scene: Scene, panel: Panel, place: int, row: Comparison) -> None:
    if math.isfinite(row.delta_accuracy):
        look = scene.looks[row.normalizer]
        for low, high, width in ((row.sci_low, row.sci_high, THIN), (row.ci_low, row.ci_high, THICK)):
            if math.isfinite(low):
                panel.bar(low, high, place, look["color"], width)
        decided = row.verdict in ("better", "worse")
        panel.markers([(row.delta_accuracy, place)], look if decided else hollow(look))


def _seeds(scene: Scene, row: Comparison) -> list[float]:
    """The difference of every matched seed, none where the comparison was refused."""
    if not math.isfinite(row.delta_accuracy):
        return []
    a, b = matched(scene.runs, row.dataset, row.normalizer, row.control, ["accuracy"])
    return [float(x) for x in a["accuracy"] - b["accuracy"]]


def _word(scene: Scene, row: Comparison) -> str:
    """The verdict, or why there is none."""
    if row.status == "identical" and at_floor(scene.runs, row.dataset, row.normalizer, row.control):
        return "all 0"
    return row.verdict if row.status == "ok" else row.status.partition(":")[0]
