"""The shape of a table and how it and its numbers are written; what stands in it is decided in tables.py."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

NONE = "-"
"""Stands where there is no number; a CSV has an empty field there."""

TEXT = frozenset({"data set", "normalizer", "status", "verdict", "chosen from", "chosen", "selected on"})
"""Header cells whose columns hold text."""

Row = tuple[str, ...]
Value = str | int | float


@dataclass(frozen=True)
class Section:
    """Rows below one heading (which may be empty), with notes of their own."""

    heading: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """One table: `header` and `sections` as people read it, `columns` and `values` as programs do.

    `left` names the header cells whose columns hold text; all others are aligned to the right. `wide` names those that
    a printed page has no room for. `cautions` are what the records say of themselves (see `provenance.notices`), which
    belongs below a table that stands alone, and is said once where all tables stand together.
    """

    name: str
    title: str
    header: Row
    left: frozenset[str]
    sections: tuple[Section, ...]
    columns: Row
    values: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    wide: frozenset[str] = frozenset()
    cautions: tuple[str, ...] = ()

    def markdown(self, *, alone: bool = True) -> str:
        """GitHub Markdown, with cells padded so that it reads in a terminal too; `cautions` where it stands `alone`."""
        lines = [f"## {_safe(self.title)}", ""]
        header = tuple(_safe(cell) for cell in self.header)
        bodies = [[tuple(_safe(cell) for cell in row) for row in section.rows] for section in self.sections]
        widths = [max(3, *map(len, column)) for column in zip(header, *(r for b in bodies for r in b), strict=True)]
        ruler = tuple(
            "-" * width if name in self.left else "-" * (width - 1) + ":"
            for name, width in zip(self.header, widths, strict=True)
        )
        for section, body in zip(self.sections, bodies, strict=True):
            lines += [f"### {_safe(section.heading)}", ""] if section.heading else []
            lines += [self._line(row, widths) for row in (header, ruler, *body)] + [""]
            lines += [f"- {_safe(note)}" for note in section.notes] + ([""] if section.notes else [])
        lines += [f"- {_safe(note)}" for note in (*self.notes, *(self.cautions if alone else ()))]
        return "\n".join(lines).rstrip() + "\n"

    def _line(self, row: Row, widths: list[int]) -> str:
        cells = [
            cell.ljust(width) if name in self.left else cell.rjust(width)
            for cell, name, width in zip(row, self.header, widths, strict=True)
        ]
        return f"| {' | '.join(cells)} |"

    def csv(self) -> str:
        """CSV with one header line, ids instead of display names, and 10 significant digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_plain(value) for value in row] for row in self.values)
        return text.getvalue()


def blocks(rows: Sequence[Row]) -> tuple[Row, ...]:
    """`rows` with the first cell blank where it repeats the row above, so that equal first cells form a block."""
    before = ("", *(row[0] for row in rows))
    return tuple(("", *row[1:]) if row[0] == last else row for row, last in zip(rows, before, strict=False))


def fixed(value: float, digits: int, unit: str = "") -> str:
    """`value` with `digits` decimals, or NONE for NaN; a rounded zero has no sign."""
    return NONE if math.isnan(value) else f"{value:z.{digits}f}{unit}"


def signed(value: float, digits: int = 4) -> str:
    """A difference, always with its sign unless it rounds to zero."""
    text = fixed(value, digits)
    return f"+{text}" if text[0].isdigit() and float(text) > 0 else text


def spread(mean: float, sd: float, digits: int = 3) -> str:
    """`mean ± sd`; without a standard deviation (one run) that is shown as missing."""
    return NONE if math.isnan(mean) else f"{fixed(mean, digits)} ± {fixed(sd, digits)}"


def interval(low: float, high: float) -> str:
    """`[low, high]` with the decimals of a difference."""
    return NONE if math.isnan(low) else f"[{fixed(low, 4)}, {fixed(high, 4)}]"


def p_value(p: float) -> str:
    """`0.0051`, and `2.55e-06` where four decimals would show zeros only; never 0."""
    if math.isnan(p):
        return NONE
    if p < 1e-300:
        return "<1e-300"
    return f"{p:.4f}" if p >= 1e-4 else f"{p:.2e}"


def _plain(value: Value) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else format(value, ".10g")
    return str(value)


def _safe(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|").replace("<", "\\<")
