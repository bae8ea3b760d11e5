"""Whether a table fits a page of LaTeX, and its parts where it does not, all by estimated widths and heights."""

from itertools import takewhile

from analysis.latex_signs import MINUS
from analysis.table import Section, Table

WIDTH, HEIGHT = 345.0, 550.0
"""Points: the text of a page of LaTeX's article, at its usual size."""
FILLED = 0.97
"""The share of WIDTH and HEIGHT that may be filled, for both are estimated."""
SEPARATION = 4.0
"""Points on both sides of a column."""
LONG = 30
"""Text columns with longer cells are set in lines of their own width."""
LEAST, MOST = 0.18, 0.25
"""Between what shares of WIDTH such a column may be wide."""
LINE, SPACE, NOTE, CAPTION = 9.5, 4.0, 8.0, 30.0
"""Points: a row, the space before a block of rows, a line of notes, the caption."""
NOTE_SIGNS = 95
"""Signs in a line of notes."""
NARROW, BROAD = set(".,:;!|'()[]filrt- _"), set("mwMW%+=<>&@")

Part = list[int]
"""Places of the columns that stand beside each other."""


def headed(table: Table, kept: Part) -> bool:
    """Whether the first of two columns of text has to be headings, for want of room beside the others."""
    texts = [place for place in kept if table.header[place] in table.left]
    return texts[:2] == [0, 1] and width(table, kept) > WIDTH * FILLED


def parts_of(table: Table, shown: Part) -> list[Part]:
    """`shown` in as few parts as are narrow enough, about equally wide."""
    most = WIDTH * FILLED
    fewest = len(_narrower(table, shown, most))
    limits = [*range(0, int(most), 10), most]
    return next(parts for limit in limits if len(parts := _narrower(table, shown, limit)) == fewest)


def _narrower(table: Table, shown: Part, limit: float) -> list[Part]:
    """`shown` in parts of at most `limit` points, each with the columns of text that come first and another."""
    keys = list(takewhile(lambda place: table.header[place] in table.left, shown))
    parts = [keys]
    for place in shown[len(keys) :]:
        if len(parts[-1]) > len(keys) and width(table, [*parts[-1], place]) > limit:
            parts.append(keys)
        parts[-1] = [*parts[-1], place]
    return parts


def _cells(table: Table, place: int) -> list[str]:
    return [table.header[place], *(row[place] for section in table.sections for row in section.rows)]


def is_long(table: Table, place: int) -> bool:
    """Whether a column holds text of which some is too long for one line."""
    return table.header[place] in table.left and max(map(len, _cells(table, place)[1:]), default=0) > LONG


def column(table: Table, place: int) -> float:
    """The width of a column in points, with the space on both sides."""
    widest = LEAST * WIDTH if is_long(table, place) else max(map(points, _cells(table, place)))
    return widest + 2 * SEPARATION


def width(table: Table, part: Part) -> float:
    """The width of columns beside each other in points."""
    return sum(column(table, place) for place in part)


def points(text: str) -> float:
    """The width of `text` at \\footnotesize, rather too much than too little."""
    return sum(map(_sign_points, MINUS.sub("−", text)))


def _sign_points(sign: str) -> float:
    if sign in NARROW:
        return 3.0
    if sign in BROAD or not sign.isascii():
        return 7.0
    return 6.2 if sign.isupper() else 4.4


def height(table: Table, parts: list[Part], headings: bool) -> float:
    """The height of the whole table in points."""
    body = sum(_section(table, section, headings) for section in table.sections)
    notes = sum(1 + len(note) // NOTE_SIGNS for note in notes_of(table))
    return CAPTION + len(parts) * (body + 3 * LINE) + notes * NOTE


def _section(table: Table, section: Section, headings: bool) -> float:
    blocks = sum(bool(row[0]) for row in section.rows)
    lines = len(section.rows) + (blocks if headings else 0) + 1 + len(section.heading) // NOTE_SIGNS
    wrapped = [place for place in range(len(table.header)) if is_long(table, place)]
    lines += sum(max((len(row[place]) // 18 for place in wrapped), default=0) for row in section.rows)
    return lines * LINE + blocks * SPACE


def notes_of(table: Table) -> list[str]:
    """What stands below a table: the notes of its sections, then its own."""
    return [note for section in table.sections for note in section.notes] + [*table.notes, *table.cautions]
