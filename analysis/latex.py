"""A table as LaTeX, to be read with \\input, that fits the page of an article: 345 by 550 points.

One `table` environment, which needs the package booktabs. A table that is too wide has its first column as headings,
and where that is not enough its other columns in parts, one below the other; one that is too tall is a `longtable`,
which runs over pages and needs the package longtable too.
"""

import re
import unicodedata

from analysis.latex_layout import (
    FILLED,
    HEIGHT,
    LEAST,
    MOST,
    SEPARATION,
    WIDTH,
    Part,
    column,
    headed,
    height,
    is_long,
    notes_of,
    parts_of,
    points,
    width,
)
from analysis.latex_signs import UNKNOWN, escaped, unknown
from analysis.table import Row, Table


def latex(table: Table) -> str:
    """The whole table; columns that `table` calls wide are left out, notes stand below.

    A sign without a form in LaTeX is shown as `?`, which a comment in the first line says.
    """
    kept = [place for place, name in enumerate(table.header) if name not in table.wide]
    headings = headed(table, kept)
    shown = [place for place in kept if place or not headings]
    parts = parts_of(table, shown)
    tall = height(table, parts, headings) > HEIGHT * FILLED
    lines = _comments(table, tall)
    lines += _long(table, parts, headings) if tall else _float(table, parts, headings)
    return "\n".join(lines) + "\n"


def _comments(table: Table, tall: bool) -> list[str]:
    texts = [table.title, *table.header, *notes_of(table)]
    texts += [
        text for section in table.sections for text in (section.heading, *(c for row in section.rows for c in row))
    ]
    lost = sorted(set().union(*map(unknown, texts)))
    named = ", ".join(f"U+{ord(sign):04X} {unicodedata.name(sign, '(no name)')}" for sign in lost)
    lines = [f"% Signs without a form in LaTeX, shown as {UNKNOWN}: {named}"] if lost else []
    return lines + [r"% Needs \usepackage{booktabs,longtable}."] * tall


def _float(table: Table, parts: list[Part], headings: bool) -> list[str]:
    lines = [r"\begin{table}", r"\centering", r"\footnotesize", rf"\setlength{{\tabcolsep}}{{{SEPARATION:g}pt}}"]
    lines += [rf"\caption{{{_broken(table.title)}}}", rf"\label{{tab:{table.name}}}"]
    for number, part in enumerate(parts):
        lines += [r"\par\medskip"] * (number > 0)
        lines += [rf"\begin{{tabular}}{{{_spec(table, part)}}}", r"\toprule", _line(table, table.header, part)]
        lines += [*_body(table, part, headings), r"\bottomrule", r"\end{tabular}"]
    if notes_of(table):
        lines += [r"\par\smallskip", r"\begin{minipage}{\linewidth}\scriptsize\raggedright"]
        lines += ["\\par\n".join(map(_broken, notes_of(table))), r"\end{minipage}"]
    return [*lines, r"\end{table}"]


def _long(table: Table, parts: list[Part], headings: bool) -> list[str]:
    lines = [r"\begingroup", r"\footnotesize", rf"\setlength{{\tabcolsep}}{{{SEPARATION:g}pt}}"]
    for number, part in enumerate(parts):
        header = [r"\toprule", _line(table, table.header, part)]
        title = [rf"\caption{{{_broken(table.title)}}}\label{{tab:{table.name}}}\\"]
        # Every longtable counts as a table, and the later ones are parts of the first.
        lines += [r"\addtocounter{table}{-1}"] * (number > 0)
        lines += [rf"\begin{{longtable}}{{{_spec(table, part)}}}", *(title if number == 0 else [])]
        lines += [*header, r"\endfirsthead", *header, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"]
        lines += [*_body(table, part, headings), r"\end{longtable}"]
    lines += [rf"{{\scriptsize\raggedright\noindent {_broken(note)}\par}}" for note in notes_of(table)]
    return [*lines, r"\endgroup"]


def _body(table: Table, part: Part, headings: bool) -> list[str]:
    """The sections, each below a rule."""
    lines = []
    for section in table.sections:
        lines.append(r"\midrule")
        if section.heading:
            lines += [_across(table, part, _broken(section.heading)), r"\addlinespace"]
        for number, row in enumerate(section.rows):
            if number and row[0]:
                lines.append(r"\addlinespace")
            if headings and row[0]:
                lines.append(_across(table, part, rf"\emph{{{_broken(row[0])}}}"))
            lines.append(_line(table, row, part))
    return lines


def _across(table: Table, part: Part, text: str) -> str:
    """A line of its own below which no page ends, as wide as the columns are together."""
    box = rf"\parbox{{{width(table, part):.0f}pt}}{{\raggedright {text}}}"
    return rf"\multicolumn{{{len(part)}}}{{@{{}}l@{{}}}}{{{box}}} \\*"


def _line(table: Table, row: Row, part: Part) -> str:
    cells = [_cell(row[place], is_long(table, place)) for place in part]
    # Braces, because a cell that begins with [ would be an argument of the \\ before it.
    return " & ".join(f"{{{cell}}}" if cell.startswith("[") else cell for cell in cells) + r" \\"


def _cell(text: str, long: bool) -> str:
    if long and points(text) > LEAST * WIDTH:
        return rf"{{\raggedright {_broken(text, 12)}\par}}"
    return escaped(text)


def _broken(text: str, longest: int = 20) -> str:
    """`text` as LaTeX; a word of more than `longest` signs may go on in the next line, best after underscores."""
    words = (
        [word] if len(word) <= longest else re.findall(rf"[^_]{{1,{longest}}}_?|_", word) for word in text.split(" ")
    )
    return " ".join(r"\allowbreak{}".join(map(escaped, word)) for word in words)


def _spec(table: Table, part: Part) -> str:
    long = [place for place in part if is_long(table, place)]
    room = WIDTH * FILLED - sum(column(table, place) for place in part if place not in long)
    share = min(MOST, (room / max(1, len(long)) - 2 * SEPARATION) / WIDTH)
    box = rf"p{{{share:.3g}\linewidth}}"
    return "".join(box if place in long else "l" if table.header[place] in table.left else "r" for place in part)
