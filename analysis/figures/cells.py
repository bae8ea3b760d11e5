"""A row per normalizer, a point per head or per clock: support by head, and time over that of the control."""

import math

from analysis.figures.arrange import Rows
from analysis.figures.look import hollow
from analysis.figures.panel import SHARE, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import MARGIN, SMALL, Sheet, text_width
from analysis.tables_runtime import Ratio, time_ratio

CLOCKS = {
    "train_cpu_seconds": "training (CPU)",
    "train_seconds": "training (wall)",
    "inference_seconds": "inference (wall)",
}


def support_by_head(scene: Scene, *, phone: bool = False) -> Sheet | None:
    """A point per head, a line of points per block in each row; None where no record holds attention per head."""
    found = {
        cell: values["support"].mean(0)
        for cell, values in scene.histories.attention.items()
        if values["support"].ndim == 3
    }
    datasets = [name for name in scene.datasets if any(dataset == name for dataset, _ in found)]
    if not datasets:
        return None
    sheet = Sheet(phone=phone)
    shown = scene.ordered({name for _, name in found})
    blocks = max(len(values) for values in found.values())
    rows = Rows(sheet, scene.labels(shown), len(datasets), height=0.09 + 0.1 * max(blocks, 2))
    for dataset, panel in zip(datasets, rows.panels(MARGIN, [SHARE] * len(datasets)), strict=True):
        panel.frame(dataset, beside=rows.over)
        for row, name in enumerate(shown):
            for block, heads in enumerate(found.get((dataset, name), ())):
                look = scene.looks[name] | {"markersize": 0.75 * scene.looks[name]["markersize"]}
                y = row + (block - (blocks - 1) / 2) * 0.1 / rows.pitch
                panel.markers([(float(x), y) for x in heads], hollow(look) if block % 2 else look)
    text = (
        "Attention support (share of weights > 1e-7) of each head, mean over seeds. In each row the first block is on "
        "top; filled and hollow markers alternate from block to block."
    )
    return scene.footer(sheet, text, scene.histories.note)


def times(scene: Scene, *, phone: bool = False) -> Sheet | None:
    """The time of each normalizer over that of the control, with its t interval; None where there is no such ratio.

    Training is measured in processor time where every run of a data set holds it, else as a clock runs.
    """
    ratios = {
        (dataset, clock): {
            name: time_ratio(scene.runs, scene.plan, dataset, name, clock)
            for name in scene.ordered(scene.runs.normalizers(dataset))
        }
        for dataset in scene.datasets
        for clock in (_training_clock(scene, dataset), "inference_seconds")
    }
    known = {place: {name: r for name, r in of.items() if r[0] > 0} for place, of in ratios.items()}
    panels = [(dataset, clock, found) for (dataset, clock), found in known.items() if found]
    if not panels:
        return None
    sheet = Sheet(phone=phone)
    shown = scene.ordered({name for _, _, found in panels for name in found})
    words = {panel[:2]: {name: _word(ratio) for name, ratio in panel[2].items()} for panel in panels}
    gutter = 0.16 + max(text_width(word, SMALL) for found in words.values() for word in found.values())
    rows = Rows(sheet, scene.labels(shown), len(panels), gutter=gutter, most=2)
    scales = [nice([1.0, *(x for r in found.values() for x in _ends(r))], rows.width) for *_, found in panels]
    for (dataset, clock, found), panel in zip(panels, rows.panels(MARGIN, scales), strict=True):
        panel.frame(dataset, CLOCKS[clock], rows.over)
        panel.upright(1.0, linewidth=0.8)
        for name, ratio in found.items():
            row = shown.index(name)
            panel.bar(*_ends(ratio), row, scene.looks[name]["color"])
            panel.markers([(ratio[0], row)], scene.looks[name])
            rows.word(panel, row, words[dataset, clock][name])
    text = (
        f"Time over that of {scene.labels([scene.plan.control])[0]}: geometric mean over matched seeds with its "
        f"{scene.plan.percent} t interval. CPU: processor time, which other work on the machine hardly changes; wall: "
        "as a clock runs, which it does change. Training is the training loop, inference one pass over the test rows; "
        "seconds are in the table of runtimes."
    )
    return scene.footer(sheet, text)


def _training_clock(scene: Scene, dataset: str) -> str:
    recorded = scene.runs.frame.loc[scene.runs.frame["dataset"] == dataset, "train_cpu_seconds"]
    return "train_cpu_seconds" if recorded.notna().all() else "train_seconds"


def _ends(ratio: Ratio) -> tuple[float, float]:
    """The ends of the interval, both the ratio itself where there is none."""
    mean, low, high = ratio
    return (low, high) if math.isfinite(low) else (mean, mean)


def _word(ratio: Ratio) -> str:
    """`×1.03 [1.00, 1.05]`; without the interval where there is none around the ratio."""
    mean, low, high = ratio
    return f"×{mean:.2f} [{low:.2f}, {high:.2f}]" if low < high else f"×{mean:.2f}"
