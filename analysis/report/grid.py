"""Tables as HTML: captions and scopes for those who listen, machine values for the script that sorts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from analysis.report.markup import badge, breakable, items, text
from analysis.table import Row, Table, Value

ROW_HEADERS = frozenset({"data set", "normalizer"})
LONG = 42
"""Characters from which a text is broken into lines."""
_NUMBER = re.compile(r"[\[<(]*([-+]?\d+(?:\.(\d+))?(?:e([-+]?\d+))?)")


def anchor(name: str) -> str:
    """The id of the table or figure `name`, the same in every report and different for every name."""
    return quote(name, safe="").replace("%", ".")


def block(table: Table, level: int) -> str:
    """A table with its heading at `level`, its sections below headings of their own, notes and files."""
    identity = f"table-{anchor(table.name)}"
    numbers = _numbers(table)
    parts, start = [], 0
    for section in table.sections:
        caption = f"{table.title}: {section.heading}" if section.heading else table.title
        if section.heading:
            parts.append(f"<h{level + 1}>{text(section.heading)}</h{level + 1}>")
        shown = slice(start, start + len(section.rows))
        parts.append(grid(caption, table.header, table.left, section.rows, numbers[shown], table.wide))
        parts.append(items(section.notes, "notes"))
        start = shown.stop
    return (
        f'<section class="block" id="{identity}" aria-labelledby="{identity}-title" data-table>\n'
        f'<h{level} id="{identity}-title">{text(table.title)}</h{level}>\n'
        + "\n".join(part for part in parts if part)
        + f"\n{items(table.notes, 'notes')}{files('tables', table.name, ('csv', 'md', 'tex'))}</section>\n"
    )


def files(folder: str, stem: str, kinds: Iterable[str]) -> str:
    """Links to the files that lie beside the page."""
    links = [f'<a href="{folder}/{text(quote(stem))}.{kind}">{text(stem)}.{kind}</a>' for kind in kinds]
    return f'<p class="files">As files: {", ".join(links)}</p>'


def grid(
    caption: str,
    header: Row,
    left: frozenset[str],
    rows: Sequence[Row],
    numbers: Sequence[Sequence[str]] = (),
    wide: frozenset[str] = frozenset(),
) -> str:
    """One table in a box that scrolls by itself; `numbers` holds what each cell is sorted by, or is empty.

    A blank first cell repeats the one above: it is there, only hidden as long as the rows stay in their order.
    """
    named = [place == 0 or name in ROW_HEADERS for place, name in enumerate(header)]
    last = max(place for place, is_name in enumerate(named) if is_name)
    kinds = [{"text": name in left, "wide": name in wide, "key": place == last} for place, name in enumerate(header)]
    columns = zip(header, kinds, strict=True)
    head = "".join(f'<th scope="col"{_classes(kind)}>{text(name)}</th>' for name, kind in columns)
    lines, first = [], ""
    for index, row in enumerate(rows):
        first = row[0] or first
        keys = numbers[index] if numbers else [""] * len(row)
        cells = map(_cell, (first, *row[1:]), keys, named, kinds)
        lines.append(f'<tr class="{"opens" if row[0] else "repeats"}">{"".join(cells)}</tr>')
    return (
        f'<div class="box" role="region" aria-label="{text(caption)}" tabindex="0"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>"
        + "\n".join(lines)
        + "</tbody></table></div>\n"
    )


def _cell(cell: str, key: str, header: bool, kind: Mapping[str, bool]) -> str:
    classes = _classes({**kind, "long": len(cell) > LONG})
    value = f' data-value="{key}"' if key else ""
    if header:
        return f'<th scope="row"{classes}{value}><span>{breakable(cell)}</span></th>'
    return f"<td{classes}{value}>{badge(cell)}</td>"


def _classes(kind: Mapping[str, bool]) -> str:
    names = " ".join(name for name, holds in kind.items() if holds)
    return f' class="{names}"' if names else ""


def _numbers(table: Table) -> list[Row]:
    """For every row what its cells are sorted by: empty for texts and where no number is shown."""
    rows = [row for section in table.sections for row in section.rows]
    machine = list(zip(*table.values, strict=True)) if len(table.values) == len(rows) else []
    columns = [
        ("",) * len(rows) if name in table.left else _sorted_by([row[place] for row in rows], machine)
        for place, name in enumerate(table.header)
    ]
    return list(zip(*columns, strict=True))


def _sorted_by(cells: Sequence[str], machine: Sequence[tuple[Value, ...]]) -> Row:
    """The machine column that rounds to every number shown in `cells`; the shown numbers where there is none."""
    found = [_NUMBER.match(cell) for cell in cells]
    shown = [(float(m[1]), 0.5000001 * 10.0 ** (int(m[3] or 0) - len(m[2] or ""))) if m else None for m in found]
    for column in machine:
        if all(_fits(number, value) for number, value in zip(shown, column, strict=True)):
            return tuple("" if number is None else f"{value:.10g}" for number, value in zip(shown, column, strict=True))
    return tuple("" if number is None else f"{number[0]:.10g}" for number in shown)


def _fits(number: tuple[float, float] | None, value: Value) -> bool:
    if number is None:
        return isinstance(value, str) or value != value
    return not isinstance(value, str) and abs(value - number[0]) <= number[1]
