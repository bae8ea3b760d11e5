"""Where panels, names and legends lie on a sheet: nothing is placed where something else may reach."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.figures.look import Look
from analysis.figures.panel import TICKS, TITLE, Panel, Scale
from analysis.figures.sheet import DIM, LINE, MARGIN, PHONE, SMALL, WIDEST, WIDTH, Point, Sheet, fitted, text_width

NAME = 2.6
"""Inches that a name may take."""
ASIDE = 0.16
"""Inches that numbers below a panel on a phone may reach beyond its sides."""
PLOT = 2.3
"""Inches that a plot is wide, where there is room."""


def columns(count: int, most: int = 3) -> int:
    """Columns that `count` panels are arranged in: at most `most`, and no lone last panel where two fewer do."""
    rows = math.ceil(count / most)
    return math.ceil(count / rows) if rows else 1


def places(count: int, across: int, left: float, top: float, step: Point) -> Iterator[tuple[int, float, float]]:
    """(column, left, top) of `count` panels, `across` in a row, `step` = (to the right, downwards) apart."""
    for index in range(count):
        row, column = divmod(index, across)
        yield column, left + column * step[0], top + row * step[1]


def narrowed(width: float, across: int, left: float, beside: float) -> float:
    """`width` inches of a panel, or less, so that `across` of them, each with `beside` inches, end before WIDEST."""
    return min(width, (WIDEST - left) / across - beside)


@dataclass(frozen=True)
class Rows:
    """Panels whose rows have names: at the left of the first column or, on a sheet for phones, above each row.

    A row is `height` inches high, a panel at most `most_wide` inches wide.
    """

    sheet: Sheet
    labels: Sequence[str]
    count: int
    """Panels."""
    height: float = 0.22
    most_wide: float = 2.1
    gutter: float = 0.0
    """Inches right of each panel for a word on every row; on a sheet for phones it stands beside the name."""
    most: int = 3

    @property
    def across(self) -> int:
        """Panels in a row of them."""
        return 1 if self.sheet.phone else columns(self.count, self.most)

    @property
    def beside(self) -> float:
        """Inches right of a panel that its words take."""
        return 0.0 if self.sheet.phone else self.gutter

    @property
    def over(self) -> float:
        """Inches that a title may reach beyond its panel."""
        return ASIDE if self.sheet.phone else self.gutter + 0.2

    @property
    def left(self) -> float:
        """Where the first column begins."""
        if self.sheet.phone:
            return MARGIN + ASIDE
        return MARGIN + max(text_width(fitted(label, NAME)) for label in self.labels) + 0.12

    @property
    def width(self) -> float:
        """Inches that a panel is wide."""
        if self.sheet.phone:
            return PHONE - 2 * self.left
        return narrowed(self.most_wide, self.across, self.left, self.gutter + 0.3)

    @property
    def pitch(self) -> float:
        """Inches from one row to the next."""
        return self.height + (LINE if self.sheet.phone else 0.0)

    @property
    def y(self) -> Scale:
        """The first row is 0, at the top."""
        half = self.height / self.pitch / 2
        return Scale(len(self.labels) - 1 + half, half - 1)

    def panels(self, top: float, scales: Sequence[Scale]) -> list[Panel]:
        """A panel for each of `scales`, without frames yet, with the names of the rows; `top` is that of the titles."""
        tall = self.pitch * len(self.labels)
        step = self.width + self.beside + 0.3, tall + TITLE + TICKS + 0.14
        made = []
        found = places(len(scales), self.across, self.left, top + TITLE, step)
        for scale, (column, x, y) in zip(scales, found, strict=True):
            panel = Panel(self.sheet, x, y, self.width, tall, scale, self.y)
            made.append(panel)
            self.sheet.grow(x + self.width + self.beside, y + tall + TICKS)
            if column == 0 and panel is not made[0]:
                self.sheet.cuts.add(y - TITLE - 0.02)
            if column == 0 or self.sheet.phone:
                for row, label in enumerate(self.labels):
                    self._name(panel, row, label)
        return made

    def _name(self, panel: Panel, row: int, label: str) -> None:
        y = panel.at(panel.x.low, row)[1]
        if self.sheet.phone:
            name = fitted(label, self.width - self.gutter)
            self.sheet.text(panel.left, y - self.pitch / 2, name)
        else:
            self.sheet.text(panel.left - 0.1, y, fitted(label, NAME), align="right")

    def word(self, panel: Panel, row: int, text: str) -> None:
        """`text` in the gutter, at `row`."""
        x, y = panel.left + panel.width, panel.at(panel.x.low, row)[1]
        if self.sheet.phone:
            self.sheet.text(x, y - self.pitch / 2, text, size=SMALL, color=DIM, align="right")
        else:
            self.sheet.text(x + 0.08, y, text, size=SMALL, color=DIM)


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
    width = narrowed(PLOT, across, left, gutter + room + 0.1)
    step = width + gutter + room + 0.1, height + TITLE + TICKS + 0.14
    made = []
    for (x, y), (column, start, above) in zip(
        scales, places(len(scales), across, left, top + TITLE, step), strict=True
    ):
        made.append(Panel(sheet, start, above, width, height, x, y))
        sheet.grow(start + width + gutter, above + height + TICKS)
        if column == 0 and len(made) > 1:
            sheet.cuts.add(above - TITLE - 0.02)
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
    return min(WIDEST, max(WIDTH, MARGIN + LINE + columns(count, most) * (PLOT + 0.5)))
