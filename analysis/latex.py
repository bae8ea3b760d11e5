"""A table as LaTeX: one complete `table` environment that needs nothing but the booktabs package."""

import re

from analysis.table import Row, Table

SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": "$<$", ">": "$>$", "|": "$|$", "±": r"$\pm$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$"},
    **{"Δ": r"$\Delta$", "α": r"$\alpha$", "–": "--", "→": r"$\rightarrow$", "∞": r"$\infty$"},
    **{"⌈": r"$\lceil$", "⌉": r"$\rceil$", "·": r"$\cdot$"},
}
MINUS = re.compile(r"(?<![\w.\-])-(?=[\d.])|-(?=inf)")
"""A hyphen that is the sign of a number."""


LONG = 30
"""Text columns with longer cells are set in lines of their own width."""


def latex(table: Table) -> str:
    """The environment, to be read with \\input; columns that `table` calls wide are left out, notes stand below."""
    kept = [index for index, name in enumerate(table.header) if name not in table.wide]
    spec = "".join(_column(table, index) for index in kept)
    lines = [
        *(r"\begin{table}", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}"),
        *(rf"\caption{{{escaped(table.title)}}}", rf"\label{{tab:{table.name}}}"),
        *(rf"\begin{{tabular}}{{{spec}}}", r"\toprule", _line(table.header, kept)),
    ]
    for section in table.sections:
        lines.append(r"\midrule")
        if section.heading:
            # In a box of its own: a heading is longer than the columns it spans.
            lines.append(rf"\multicolumn{{{len(kept)}}}{{l}}{{\parbox{{\linewidth}}{{{escaped(section.heading)}}}}} \\")
            lines.append(r"\addlinespace")
        for number, row in enumerate(section.rows):
            if number and row[0]:
                lines.append(r"\addlinespace")
            lines.append(_line(row, kept))
    lines += [r"\bottomrule", r"\end{tabular}"]
    notes = [note for section in table.sections for note in section.notes] + list(table.notes)
    if notes:
        text = "\\par\n".join(escaped(note) for note in notes)
        lines += [r"\par\smallskip", r"\begin{minipage}{\linewidth}\scriptsize", text, r"\end{minipage}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def escaped(text: str) -> str:
    """`text` with every sign that LaTeX would read as a command written out, on one line."""
    flat = MINUS.sub("\0", " ".join(text.split()))
    return "".join(SIGNS.get(sign, sign) for sign in flat).replace("\0", "$-$")


def _column(table: Table, index: int) -> str:
    if table.header[index] not in table.left:
        return "r"
    longest = max((len(row[index]) for section in table.sections for row in section.rows), default=0)
    return "l" if longest <= LONG else r"p{0.25\linewidth}"


def _line(row: Row, kept: list[int]) -> str:
    # Braces, because a cell that begins with [ would be an argument of the \\ before it.
    cells = (escaped(row[index]) for index in kept)
    return " & ".join(f"{{{cell}}}" if cell.startswith("[") else cell for cell in cells) + r" \\"
