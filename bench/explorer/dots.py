"""A plot of dots as SVG, drawn once when the page is built: what was measured can be seen without any script."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.explorer.looks import registry, shape
from bench.explorer.markup import text

WIDTH, LINE, BOTTOM, SIDE = 360, 42, 38, 18
MARKS = ("circle", "square", "diamond", "triangle", "down")
"""Of series that are no normalizers."""
RADIUS = 4.6


@dataclass(frozen=True)
class Dot:
    """One measured value of `row`, with the ends of its interval where there is one; `series` names what it is of."""

    row: str
    series: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Axis:
    """What the values are, in words, and how numbers are written; `base` is a value worth a line."""

    label: str
    form: str
    log: bool = False
    base: float | None = None
    whole: tuple[float, float] | None = None
    """The least and the greatest value that there could be, where the plot shows all between."""


def arranged(dots: Sequence[Dot], order: Sequence[str]) -> dict[str, int]:
    """Series -> the number of its mark: its place in `order`; those that this lacks follow as they come."""
    found = {dot.series for dot in dots}
    named = dict.fromkeys((*order, *(dot.series for dot in dots)))
    return {name: number % len(MARKS) for number, name in enumerate(named) if name in found}


def plot(
    dots: Sequence[Dot], axis: Axis, label: str, order: Sequence[str] = (), maps: Mapping[str, str] | None = None
) -> str:
    """The plot with its legend: a band for each row, a mark for each series; `label` is read to those who listen.

    `maps` gives the id of the normalizer that a series or a row stands for. A series that is one has its mark and
    colour; others have the same mark in every plot where `order` names them, and the colour of the row's normalizer.
    """
    owners = maps or {}
    rows = list(dict.fromkeys(dot.row for dot in dots))
    marks = arranged(dots, order)
    series = list(marks)
    ticks, place = _scale(dots, axis)
    height = LINE * len(rows) + BOTTOM
    floor = height - BOTTOM
    said = "; ".join(f"{dot.row}, {dot.series}: {format(dot.value, axis.form)}" for dot in dots)
    parts = [f'<svg class="dots" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(f"{label}. {said}")}">']
    for band, row in enumerate(rows):
        top = LINE * band
        middle = top + LINE - 11
        parts.append(_words(0, top + 12, row, "start", "ink"))
        parts.extend(_rule("grid", x, top + 17, top + LINE) for x in map(place, ticks))
        if axis.base is not None:
            parts.append(_rule("base", place(axis.base), top + 17, top + LINE))
        for dot in (dot for dot in dots if dot.row == row):
            number = marks[dot.series]
            # Series stand a little apart, so that equal values are all seen.
            y = middle + 3.4 * (series.index(dot.series) - (len(series) - 1) / 2)
            if dot.low is not None and dot.high is not None:
                ends = f'x1="{place(dot.low):.1f}" x2="{place(dot.high):.1f}"'
                own = _own(owners, dot.series, dot.row)
                parts.append(f'<line class="span s{number}{own}" {ends} y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(_mark(place(dot.value), y, number, owners, dot.series, dot.row))
    for tick in ticks:
        parts.append(_words(place(tick), floor + 16, f"{tick:g}".replace("-", "−"), "middle"))
    parts.append(_words(WIDTH / 2, height - 4, axis.label, "middle"))
    return "".join(parts) + "</svg>\n" + (_legend(marks, owners) if len(series) > 1 else "")


def _scale(dots: Sequence[Dot], axis: Axis) -> tuple[list[float], "Place"]:
    """Round ticks that enclose all values, and where a value stands."""
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    ends += [axis.base] if axis.base is not None else []
    ends += axis.whole or ()
    low, high = min(ends), max(ends)
    if axis.log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    else:
        rough = max(high - low, 1e-9) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        steps = [round(step * count, 10) for count in range(math.floor(low / step), math.ceil(high / step) + 1)]
    first = max((step for step in steps if step <= low), default=steps[0])
    last = min((step for step in steps if step >= high), default=steps[-1])
    ticks = [step for step in steps if first <= step <= last]
    return ticks, Place(first, last, axis.log)


@dataclass(frozen=True)
class Place:
    """Value -> x."""

    first: float
    last: float
    log: bool

    def __call__(self, value: float) -> float:
        a, b, v = (math.log(x) if self.log else x for x in (self.first, self.last, value))
        return SIDE + (v - a) / ((b - a) or 1.0) * (WIDTH - 2 * SIDE)


def _rule(kind: str, x: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'


def _words(x: float, y: float, words: str, anchor: str, kind: str = "dim") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def _own(owners: Mapping[str, str], *names: str) -> str:
    """The class for the colour of the first of `names` that stands for a listed normalizer, or nothing."""
    ids = [owners[name] for name in names if owners.get(name) in registry()["normalizers"]]
    return f" n-{ids[0]}" if ids else ""


def _mark(x: float, y: float, number: int, owners: Mapping[str, str], series: str, *row: str) -> str:
    look = registry()["normalizers"].get(owners.get(series, ""))
    mark = look["mark"] if look else MARKS[number]
    return f'{shape(mark, x, y, RADIUS)} class="mark s{number}{_own(owners, series, *row)}"/>'


def _legend(marks: dict[str, int], owners: Mapping[str, str]) -> str:
    entries = "".join(
        f'<li><svg viewBox="0 0 14 14" aria-hidden="true">{_mark(7, 7, number, owners, name)}</svg>{text(name)}</li>'
        for name, number in marks.items()
    )
    return f'<ul class="legend">{entries}</ul>\n'
