"""A row per normalizer, a point per head or per clock: support by head, and time by normalizer."""

from analysis.figures.arrange import Rows
from analysis.figures.look import hollow
from analysis.figures.panel import SHARE, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import MARGIN, Sheet
from analysis.tables_runtime import time_ratio

CLOCKS = {"train_seconds": "training s", "inference_seconds": "inference s"}


def support_by_head(scene: Scene) -> Sheet | None:
    """A point per head, a line of points per block in each row; None where no record holds attention per head."""
    found = {
        cell: values["support"].mean(0)
        for cell, values in scene.histories.attention.items()
        if values["support"].ndim == 3
    }
    datasets = [name for name in scene.datasets if any(dataset == name for dataset, _ in found)]
    if not datasets:
        return None
    sheet = Sheet()
    shown = scene.ordered({name for _, name in found})
    blocks = max(len(values) for values in found.values())
    rows = Rows(scene.labels(shown), height=0.09 + 0.1 * max(blocks, 2))
    for dataset, panel in zip(datasets, rows.panels(sheet, MARGIN, [SHARE] * len(datasets)), strict=True):
        panel.frame(dataset)
        for row, name in enumerate(shown):
            for block, heads in enumerate(found.get((dataset, name), ())):
                look = scene.looks[name] | {"markersize": 0.75 * scene.looks[name]["markersize"]}
                y = row + (block - (blocks - 1) / 2) * 0.1 / rows.height
                panel.markers([(float(x), y) for x in heads], hollow(look) if block % 2 else look)
    text = (
        "Attention support (share of weights > 1e-7) of each head, mean over seeds. In each row the first block is on "
        "top; filled and hollow markers alternate from block to block."
    )
    return scene.footer(sheet, text, scene.histories.note)


def times(scene: Scene) -> Sheet | None:
    """Mean seconds with their range over seeds and the ratio to the control; None where no record holds a time."""
    panels = [(dataset, clock, scene.means(dataset, clock)) for dataset in scene.datasets for clock in CLOCKS]
    panels = [panel for panel in panels if panel[2]]
    if not panels:
        return None
    sheet = Sheet()
    shown = scene.ordered({name for _, _, found in panels for name in found})
    rows = Rows(scene.labels(shown), width=1.6, gutter=0.52, most=4)
    ranges = [
        {name: (cell.min(), cell.max()) for name in found for cell in [scene.runs.cell(dataset, name)[clock]]}
        for dataset, clock, found in panels
    ]
    scales = [nice([0.0, *(x for ends in span.values() for x in ends)], rows.width, pad=0.04) for span in ranges]
    made = rows.panels(sheet, MARGIN, scales)
    for (dataset, clock, found), span, panel in zip(panels, ranges, made, strict=True):
        panel.frame(dataset, CLOCKS[clock], rows.gutter + 0.2)
        for name, (mean, _) in found.items():
            row = shown.index(name)
            panel.bar(*span[name], row, scene.looks[name]["color"])
            panel.markers([(mean, row)], scene.looks[name])
            ratio = time_ratio(scene.runs, scene.plan, dataset, name, clock)[0]
            if ratio > 0:
                rows.word(panel, row, f"×{ratio:.2f}")
    text = (
        "Mean seconds over seeds, line: least to most. Training is the training loop, inference one pass over the test "
        f"rows; at the right the paired ratio to {scene.labels([scene.plan.control])[0]} (see the table of runtimes)."
    )
    return scene.footer(sheet, text)
