"""A measured figure of the page: the plot, what it is of, its numbers as a table, and where they come from."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.explorer.dots import Axis, Dot, arranged, plot
from bench.explorer.markup import code, table, text


@dataclass(frozen=True)
class Origin:
    """The file below results/ that the numbers are from, the command that makes it, and notes on its data sets."""

    file: str
    command: str
    notes: Sequence[str] = ()


def aside(title: str, said: str, dots: Sequence[Dot], axis: Axis, origin: Origin, order: Sequence[str] = ()) -> str:
    """The figure as HTML, nothing without dots; `order` fixes the marks of the series it names."""
    if not dots:
        return ""
    series = list(arranged(dots, order))
    lines = []
    for name in dict.fromkeys(dot.row for dot in dots):
        cells = {dot.series: format(dot.value, axis.form) for dot in dots if dot.row == name}
        lines.append((name, *(cells.get(one, "–") for one in series)))
    about = [note for note in origin.notes if note.partition(":")[0] in {*series, *(dot.row for dot in dots)}]
    return (
        f'<aside class="measured"><h3>Measured: {text(title)}</h3>\n<p>{text(said)}</p>\n'
        f"{plot(dots, axis, title, order)}"
        f"<details><summary>The numbers</summary>{table(('', *series), lines, title)}</details>\n"
        + "".join(f'<p class="origin">{text(note)}</p>\n' for note in about)
        + f'<p class="origin">From {code(f"results/{origin.file}")}, made by {code(origin.command)}</p></aside>\n'
    )
