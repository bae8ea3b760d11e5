"""Against length: an axis of logarithms to base 2, and lines through means with bars that say how sure they are."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from analysis.figures.look import Look
from analysis.figures.panel import Panel, Scale
from analysis.figures.sheet import SMALL, text_width
from analysis.paired import mean_sd, standard_error, t_interval

Mean = tuple[float, float, float]
"""log2 of the length, mean, half of what its bar is high."""


class Doubling(Scale):
    """A scale of logarithms to base 2 whose numbers are the values themselves."""

    def labels(self) -> list[str]:
        return [f"{2**tick:g}" for tick in self.ticks]


def doubling(lengths: Iterable[int], room: float = 2.3, before: float = 0.3) -> Scale:
    """A scale around `lengths` (ascending) with the longest and as many others at ticks as fit into `room` inches.

    It begins `before` doublings below the shortest.
    """
    logs = [float(np.log2(length)) for length in lengths]
    low, high = logs[0] - before, logs[-1] + 0.3
    for every in range(1, len(logs) + 1):
        scale = Doubling(low, high, tuple(logs[::-1][::every][::-1]))
        needed = max(text_width(label, SMALL) for label in scale.labels()) + 0.06
        if (np.diff(scale.ticks) * room / (high - low) >= needed).all():
            break
    return scale


def mean_at(length: int, values: ArrayLike, confidence: float | None = None) -> Mean:
    """The place of `values`, shape (n,), at `length`, with a bar of one standard error to either side.

    With `confidence` the bar is Student's interval instead; below n = 2 it is 0 high.
    """
    if confidence is None:
        half = standard_error(values)
    else:
        low, high = t_interval(values, confidence)
        half = (high - low) / 2
    return float(np.log2(length)), mean_sd(values)[0], float(np.nan_to_num(half))


def draw_means(panel: Panel, points: Sequence[Mean], look: Look) -> None:
    """A line through the means, each with its bar as far as the panel reaches."""
    low, high = panel.y.low, panel.y.high
    bars = [panel.along([x, x], [max(mean - half, low), min(mean + half, high)]) for x, mean, half in points]
    panel.sheet.segments(bars, look["color"], 1.0, level=2.0)
    line = look | {"markersize": 0.8 * look["markersize"], "zorder": 3.0}
    panel.sheet.line([panel.at(x, mean) for x, mean, _ in points], **line)
