"""Where panels, names and legends lie on a sheet: nothing is placed where something else may reach."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.figures.look import Look
from analysis.figures.panel import TICKS, TITLE, Panel, Scale
from analysis.figures.sheet import DIM, LINE, MARGIN, SMALL, WIDTH, Point, Sheet, fitted, text_width

NAME = 2.6
"""Inches that a name may take."""
PLOT = 2.3
"""Inches that a plot is wide."""


def columns(count: int, most: int = 3) -> int:
    """Columns that `count` panels are arranged in: at most `most`, and no lone last panel where two fewer do."""
    rows = math.ceil(count / most)
    return math.ceil(count / rows) if rows else 1


def places(count: int, across: int, left: float, top: float, step: Point) -> Iterator[tuple[int, float, float]]:
    """(column, left, top) of `count` panels, `across` in a row, `step` = (to the right, downwards) apart."""
    for index in range(count):
        row, column = divmod(index, across)
        yield column, left + column * step[0], top + row * step[1]


@dataclass(frozen=True)
class Rows:
    """Panels whose rows are named at the left of the first column; each row is `height` inches high."""

    labels: Sequence[str]
    height: float = 0.22
    width: float = 2.1
    gutter: float = 0.0
    """Inches right of each panel for a word on every row."""
    most: int = 3

    @property
    def y(self) -> Scale:
        """The first row is 0, at the top."""
        return Scale(len(self.labels) - 0.5, -0.5)

    def panels(self, sheet: Sheet, top: float, scales: Sequence[Scale]) -> list[Panel]:
        """A panel for each of `scales`, without frames yet, with the names of the rows; `top` is that of the titles."""
        labels = [fitted(label, NAME) for label in self.labels]
        left = MARGIN + max(map(text_width, labels)) + 0.12
        across, tall = columns(len(scales), self.most), self.height * len(labels)
        step = self.width + self.gutter + 0.3, tall + TITLE + TICKS + 0.14
        made = []
        for scale, (column, x, y) in zip(scales, places(len(scales), across, left, top + TITLE, step), strict=True):
            panel = Panel(sheet, x, y, self.width, tall, scale, self.y)
            made.append(panel)
            sheet.grow(x + self.width + self.gutter, y + tall + TICKS)
            if column == 0:
                for row, label in enumerate(labels):
                    sheet.text(x - 0.1, panel.at(scale.low, row)[1], label, align="right")
        return made

    def word(self, panel: Panel, row: int, text: str) -> None:
        """`text` in the gutter, at `row`."""
        place = panel.left + panel.width + 0.08, panel.at(panel.x.low, row)[1]
        panel.sheet.text(*place, text, size=SMALL, color=DIM)


def plots(
    sheet: Sheet,
    top: float,
    scales: Sequence[tuple[Scale, Scale]],
    side: str,
    *,
    height: float = 1.8,
    gutter: float = 0,
    most: int = 3,
) -> list[Panel]:
    """A panel for each (x, y) of `scales`, without frames yet, the first column with `side` along its left.

    There are at most `most` columns, each with `gutter` inches to its right.
    """
    room = max((text_width(label, SMALL) for _, y in scales for label in y.labels()), default=0) + 0.2
    left, across = MARGIN + room + (LINE if side else 0), columns(len(scales), most)
    step = PLOT + gutter + room + 0.1, height + TITLE + TICKS + 0.14
    made = []
    for (x, y), (column, start, above) in zip(
        scales, places(len(scales), across, left, top + TITLE, step), strict=True
    ):
        made.append(Panel(sheet, start, above, PLOT, height, x, y))
        sheet.grow(start + PLOT + gutter, above + height + TICKS)
        if column == 0 and side:
            sheet.side_text(MARGIN + LINE / 2, above + height / 2, side)
    return made


def legend(sheet: Sheet, top: float, right: float, entries: Sequence[tuple[str, Look]]) -> float:
    """Names and looks in lines that end before `right`, the first at `top`; returns where the next thing goes."""
    x, y, mark = MARGIN, top + LINE / 2, 0.34
    for full, look in entries:
        name = fitted(full, NAME)
        width = mark + 0.06 + text_width(name)
        if x > MARGIN and x + width > right:
            x, y = MARGIN, y + LINE * 1.15
        sheet.line([(x, y), (x + mark / 2, y), (x + mark, y)], **look | {"markevery": [1]})
        sheet.text(x + mark + 0.06, y, name)
        x += width + 0.2
    return y + LINE / 2 + 0.08


def plots_right(count: int, most: int = 3) -> float:
    """Where the last column of `count` plots ends, for a legend that stands above them."""
    return max(WIDTH, MARGIN + LINE + columns(count, most) * (PLOT + 0.5))
