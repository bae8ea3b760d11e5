"""Accuracy by data set, and support against accuracy."""

from collections.abc import Iterable

from analysis import lengths
from analysis.figures import chance
from analysis.figures.arrange import Rows, legend, plots, plots_right
from analysis.figures.panel import SHARE
from analysis.figures.scene import Scene
from analysis.figures.sheet import MARGIN, Sheet


def by_dataset(scene: Scene, *, phone: bool = False) -> Sheet:
    """A row per normalizer with the mean and its t interval, a panel per data set."""
    sheet = Sheet(phone=phone)
    means = {name: scene.means(name, "accuracy") for name in scene.datasets}
    shown = scene.ordered({name for found in means.values() for name in found})
    rows = Rows(sheet, scene.labels(shown), len(means))
    scales = [chance.scale(scene, dataset, _ends(found.values()), rows.width) for dataset, found in means.items()]
    for (dataset, found), panel in zip(means.items(), rows.panels(MARGIN, scales), strict=True):
        panel.frame(dataset, chance.title(scene, dataset), rows.over)
        chance.line(scene, dataset, panel, upright=True)
        for name, (mean, half) in found.items():
            row = shown.index(name)
            panel.bar(mean - half, mean + half, row, scene.looks[name]["color"])
            panel.markers([(mean, row)], scene.looks[name])
    text = f"Test accuracy: {_interval(scene)}. {chance.explained(scene)}"
    return scene.footer(sheet, text, *lengths.notices(scene.runs.by_length))


def against_support(scene: Scene) -> Sheet | None:
    """A point per normalizer, a panel per data set; None where no record holds a support."""
    both: dict[str, dict[str, tuple[float, float, float]]] = {}
    for dataset in scene.datasets:
        supports, accuracy = scene.means(dataset, "support"), scene.means(dataset, "accuracy")
        if supports:
            both[dataset] = {name: (supports[name][0], *accuracy[name]) for name in supports}
    if not both:
        return None
    sheet = Sheet()
    shown = scene.ordered({name for found in both.values() for name in found})
    entries = [scene.looks[name] | {"linestyle": "none"} for name in shown]
    top = legend(sheet, MARGIN, plots_right(len(both)), list(zip(scene.labels(shown), entries, strict=True)))
    scales = [
        (SHARE, chance.scale(scene, dataset, _ends((m, half) for _, m, half in found.values()), 1.8, upright=True))
        for dataset, found in both.items()
    ]
    for (dataset, found), panel in zip(both.items(), plots(sheet, top, scales, "test accuracy"), strict=True):
        panel.frame(dataset, chance.title(scene, dataset))
        chance.line(scene, dataset, panel)
        for name, (support, mean, half) in found.items():
            ends = panel.along([support, support], [mean - half, mean + half])
            sheet.segments([ends], scene.looks[name]["color"], 1.0, level=2.0)
            panel.markers([(support, mean)], scene.looks[name])
    text = (
        "Horizontal: attention support (share of weights > 1e-7), mean over seeds; vertical: test accuracy, "
        f"{_interval(scene)}. {chance.explained(scene)}"
    )
    return scene.footer(sheet, text, *lengths.notices(scene.runs.by_length))


def _ends(means: Iterable[tuple[float, float]]) -> list[float]:
    """The ends of intervals, from their means and halves."""
    return [mean + sign * half for mean, half in means for sign in (-1, 1)]


def _interval(scene: Scene) -> str:
    return f"mean and {scene.plan.percent} t interval over seeds"
