"""Chance in panels of accuracy: what guessing among the classes would reach."""

from collections.abc import Sequence

from analysis.figures.panel import Panel, Scale, nice
from analysis.figures.scene import Scene

LINE = {"linestyle": ":"}


def scale(scene: Scene, dataset: str, values: Sequence[float], room: float, *, upright: bool = False) -> Scale:
    """A scale around accuracies, and around chance where that is no further off than they are from one another."""
    level = scene.chance(dataset)
    spread = max(values) - min(values)
    near = [] if level is None or min(values) - level > spread else [level]
    return nice([*values, *near], room, upright=upright)


def title(scene: Scene, dataset: str) -> str:
    """`chance 0.1`, or nothing where the records do not hold the classes."""
    level = scene.chance(dataset)
    return "" if level is None else f"chance {level:.2g}"


def line(scene: Scene, dataset: str, panel: Panel, *, upright: bool = False) -> None:
    """A dotted line at chance, upright or level, where `panel` reaches so far."""
    level = scene.chance(dataset)
    if level is not None:
        (panel.upright if upright else panel.level)(level, **LINE)


def explained(scene: Scene) -> str:
    """What the line and the number are, where any panel has them."""
    if not any(scene.chance(dataset) for dataset in scene.datasets):
        return ""
    return (
        "Chance: 1 / number of classes that any run predicted; dotted where it lies within a panel, and below all that "
        "is shown where not."
    )
