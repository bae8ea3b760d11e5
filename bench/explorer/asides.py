"""A measured figure of the page: the plot, what it is of, its numbers as a table, and where they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.explorer.dots import Axis, Dot, arranged, plot
from bench.explorer.markup import code, table, text

CROWDED = 0.2
"""The share of a whole range below which dots are shown once more, enlarged."""


@dataclass(frozen=True)
class Origin:
    """The file below results/ that the numbers are from, the command that makes it, and notes on its data sets."""

    file: str
    command: str
    notes: Sequence[str] = ()


def aside(
    title: str,
    said: str,
    dots: Sequence[Dot],
    axis: Axis,
    origin: Origin,
    order: Sequence[str] = (),
    maps: Mapping[str, str] | None = None,
) -> str:
    """The figure as HTML, nothing without dots; for `order` and `maps` see `plot`.

    Where the dots are crowded on an axis of the whole range, an inset shows them on a scale of their own.
    """
    if not dots:
        return ""
    series = list(arranged(dots, order))
    lines = []
    for name in dict.fromkeys(dot.row for dot in dots):
        cells = {dot.series: format(dot.value, axis.form) for dot in dots if dot.row == name}
        lines.append((name, *(cells.get(one, "–") for one in series)))
    inset = ""
    if axis.whole is not None and _crowded(dots, axis.whole):
        larger = plot(dots, replace(axis, whole=None), f"{title}, enlarged", order, maps)
        inset = f'<div class="inset"><p>Enlarged: the same on a scale of its own</p>\n{larger}</div>\n'
    about = [note for note in origin.notes if note.partition(":")[0] in {*series, *(dot.row for dot in dots)}]
    return (
        f'<aside class="measured"><h3>Measured: {text(title)}</h3>\n<p>{text(said)}</p>\n'
        f"{plot(dots, axis, title, order, maps)}{inset}"
        f"<details><summary>The numbers</summary>{table(('', *series), lines, title)}</details>\n"
        + "".join(f'<p class="origin">{text(note)}</p>\n' for note in about)
        + f'<p class="origin">From {code(f"results/{origin.file}")}, made by {code(origin.command)}</p></aside>\n'
    )


def _crowded(dots: Sequence[Dot], whole: tuple[float, float]) -> bool:
    """Whether the dots and their intervals take less than CROWDED of the whole range."""
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    return max(ends) - min(ends) < CROWDED * (whole[1] - whole[0])
