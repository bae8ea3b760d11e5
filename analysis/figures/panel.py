"""Panels: rectangles on a sheet with a scale in each direction."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analysis.figures.look import Look
from analysis.figures.sheet import DIM, GRID, LINE, SMALL, Point, Sheet, fitted, text_width

TICKS = LINE
"""Inches below a panel that its numbers take."""
TITLE = 0.24
"""Inches above a panel that its title takes."""


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`, with numbers at `ticks`."""

    low: float
    high: float
    ticks: tuple[float, ...] = ()

    def bare(self) -> "Scale":
        """The same scale without numbers."""
        return Scale(self.low, self.high)

    def labels(self) -> list[str]:
        """The ticks as text, all with the decimals that the smallest step needs."""
        if len(self.ticks) < 2:
            return [f"{tick:g}" for tick in self.ticks]
        step = self.ticks[1] - self.ticks[0]
        decimals = next(d for d in range(12) if math.isclose(step, round(step, d), rel_tol=1e-6) or d == 11)
        return [f"{tick:.{decimals}f}".replace("-", "−") for tick in self.ticks]


SHARE = Scale(-0.04, 1.04, (0.0, 0.25, 0.5, 0.75, 1.0))
"""A share of all, from none to all."""


def nice(values: ArrayLike, room: float, *, upright: bool = False, pad: float = 0.06) -> Scale:
    """A scale around finite `values` with as many round ticks as fit side by side (or upright) into `room` inches."""
    x = np.asarray(values, dtype=np.float64)
    low, high = float(x.min()), float(x.max())
    if low == high:  # one value alone: a twentieth of it to either side, of 1 where it is 0
        around = 0.05 * (abs(high) if abs(high) > 1e-9 else 1.0)
        low, high = low - around, high + around
    spread = high - low
    low, high = low - pad * spread, high + pad * spread
    best = Scale(low, high)
    for count in range(2, 6):
        scale = Scale(low, high, _round_ticks(low, high, count))
        needed = 2.0 * LINE if upright else max((text_width(t, SMALL) for t in scale.labels()), default=0) + 0.14
        if len(scale.ticks) < 2 or room / (high - low) * (scale.ticks[1] - scale.ticks[0]) >= needed:
            best = scale if len(scale.ticks) >= len(best.ticks) else best
    return best


def _round_ticks(low: float, high: float, count: int) -> tuple[float, ...]:
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return tuple(float(n * step) for n in range(math.ceil(low / step), math.floor(high / step) + 1))


@dataclass(frozen=True)
class Panel:
    """A rectangle on `sheet` with the scales `x` to the right and `y` upwards."""

    sheet: Sheet
    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale

    def at(self, x: float, y: float) -> Point:
        """The place on the sheet of the value (x, y)."""
        return (
            self.left + self.width * (x - self.x.low) / (self.x.high - self.x.low),
            self.top + self.height * (self.y.high - y) / (self.y.high - self.y.low),
        )

    def along(self, xs: Iterable[float], ys: Iterable[float]) -> list[Point]:
        """The places of many values."""
        return [self.at(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]

    def frame(self, title: str, detail: str = "", beside: float = 0.2, *, level: float = 0.6) -> None:
        """Grid, the numbers of both scales, and `title: detail`, which may reach `beside` inches beyond the panel.

        The grid lies on `level`.
        """
        bottom, right = self.top + self.height, self.left + self.width
        xs = [self.at(tick, self.y.low)[0] for tick in self.x.ticks]
        ys = [self.at(self.x.low, tick)[1] for tick in self.y.ticks]
        grid = [[(x, self.top), (x, bottom)] for x in xs] + [[(self.left, y), (right, y)] for y in ys]
        self.sheet.segments(grid, GRID, 0.6, level=level)
        self.sheet.segments([[(self.left, bottom), (right, bottom)]], "#888888", 0.8)
        for x, label in zip(xs, self.x.labels(), strict=True):
            self.sheet.text(x, bottom + 0.6 * LINE, label, size=SMALL, align="center", color=DIM)
        for y, label in zip(ys, self.y.labels(), strict=True):
            self.sheet.text(self.left - 0.06, y, label, size=SMALL, align="right", color=DIM)
        room = self.width + beside
        detail = fitted(f": {detail}", room - 0.7) if detail else ""
        heading = fitted(title, room - text_width(detail)) + detail
        if heading:
            self.sheet.text(self.left, self.top - TITLE / 2, heading)
        self.sheet.grow(right, bottom + TICKS)

    def upright(self, x: float, **look: Any) -> None:
        """A line at `x` from the bottom to the top, where the panel reaches so far."""
        if self.x.low <= x <= self.x.high:
            self.sheet.line(self.along([x, x], [self.y.low, self.y.high]), **{"color": DIM, "linewidth": 1.0} | look)

    def level(self, y: float, **look: Any) -> None:
        """A line at `y` from side to side, where the panel reaches so far."""
        if self.y.low <= y <= self.y.high:
            self.sheet.line(self.along([self.x.low, self.x.high], [y, y]), **{"color": DIM, "linewidth": 1.0} | look)

    def markers(self, points: Sequence[Point], look: Look) -> None:
        """A marker of `look` at each of the values `points`."""
        places = [self.at(*point) for point in points]
        self.sheet.line(places, **look | {"linestyle": "none", "zorder": 3.0})

    def bar(self, low: float, high: float, y: float, colour: str, width: float = 1.3) -> None:
        """A horizontal line from `low` to `high`, `width` points thick, no further than the panel reaches."""
        ends = [self.at(min(max(x, self.x.low), self.x.high), y) for x in (low, high)]
        self.sheet.segments([ends], colour, width, level=2.0)
