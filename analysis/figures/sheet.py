"""A page that figures are drawn on: a few artists at places in inches.

Places are (x, y) from the top left corner, y downwards, and every text's width is known, so that what must not overlap
is laid out apart instead of being searched for. This costs about a fifth of matplotlib's axes with constrained layout.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.ft2font import FT2Font, LoadFlags
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

Point = tuple[float, float]

STYLE: dict[Any, Any] = {
    # In a browser without the first the second is as wide, and the others are narrower.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "svg.fonttype": "none",
    "svg.hashsalt": "normbench",
    "text.parse_math": False,  # a name may hold dollar signs
    "text.hinting": "none",  # hinting takes half of the time of a text
}
INK, DIM, GRID = "#1B1B1B", "#666666", "#DDDDDD"
SIZE, SMALL = 9.0, 8.0
"""Points: names and headings, and numbers and notes."""
LINE = 0.17
"""Inches from one line of text to the next."""
MARGIN = 0.15
WIDTH = 4.5
"""Inches that legends and notes may take on the narrowest sheet."""


@cache
def _em(letter: str) -> float:
    font = _font()
    return font.load_char(ord(letter), flags=LoadFlags.NO_HINTING).linearHoriAdvance / 65536 / 100


@cache
def _font() -> FT2Font:
    font = FT2Font(findfont("DejaVu Sans"))
    font.set_size(100, 72)
    return font


def text_width(text: str, size: float = SIZE) -> float:
    """The width of `text` in inches."""
    return sum(map(_em, text)) * size / 72


def fitted(text: str, width: float, size: float = SIZE) -> str:
    """`text`, where it is wider than `width` inches without its middle: its beginning and end tell it from others."""
    if text_width(text, size) <= width:
        return text
    kept = len(text) - 1
    while kept > 2 and text_width(text[: (kept + 1) // 2] + "…" + text[-(kept // 2) :], size) > width:
        kept -= 1
    return text[: (kept + 1) // 2] + "…" + text[-(kept // 2) :]


def wrapped(text: str, width: float, size: float) -> list[str]:
    """`text` as lines of at most `width` inches, cut between words."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, width, size))
    return lines


class Sheet:
    """One figure; it grows to the right and downwards with what is put on it."""

    def __init__(self) -> None:
        self.figure = Figure()
        self.right = self.bottom = 0.0
        self._segments: dict[float, list[tuple[Sequence[Point], tuple[str, float], float]]] = {}
        self._places = Affine2D()
        self._transform = self._places + self.figure.dpi_scale_trans

    def grow(self, x: float, y: float) -> None:
        """Make the sheet reach at least to (x, y), beyond which there is only the margin."""
        self.right, self.bottom = max(self.right, x), max(self.bottom, y)

    def text(self, x: float, y: float, text: str, *, size: float = SIZE, align: str = "left", **look: Any) -> None:
        """`text` in one line, its middle at the height y; the sheet grows by it."""
        width = text_width(text, size) * {"left": 1.0, "center": 0.5, "right": 0.0}[align]
        self.grow(x + width, y + LINE / 2)
        look = {"color": INK} | look
        self._add(Text(x, y, text, fontsize=size, ha=align, va="center_baseline", **look))

    def paragraph(self, x: float, y: float, text: str, width: float, color: str = DIM) -> float:
        """A small `text` in as many lines as `width` inches ask for, the first at the height y; returns the next y."""
        for line in wrapped(text, width, SMALL):
            self.text(x, y, line, size=SMALL, color=color)
            y += LINE
        return y

    def side_text(self, x: float, y: float, text: str) -> None:
        """`text` read from below upwards, centred at (x, y)."""
        self._add(Text(x, y, text, fontsize=SMALL, ha="center", va="center", rotation=90, color=DIM))

    def line(self, points: Sequence[Point], **look: Any) -> None:
        """A line or, with `linestyle="none"`, markers through `points`."""
        x, y = zip(*points, strict=True)
        self._add(Line2D(x, y, **look))

    def segments(
        self, lines: Iterable[Sequence[Point]], colour: str, width: float, *, level: float = 1.0, alpha: float = 1.0
    ) -> None:
        """Plain lines; all that lie on one `level` (matplotlib's zorder) are one artist in the end."""
        self._segments.setdefault(level, []).extend((line, (colour, alpha), width) for line in lines)

    def area(self, corners: Sequence[Point], **look: Any) -> None:
        """A filled polygon without a rim, behind lines and markers."""
        self._add(Polygon(corners, closed=True, linewidth=0, **{"zorder": 0.5} | look))

    def cells(self, corners: Sequence[Sequence[Point]], colours: Sequence[tuple[float, ...]]) -> None:
        """Many filled polygons without rims as one artist, a colour (red, green, blue, opacity) each."""
        self._add(PolyCollection(corners, facecolors=colours, linewidths=0, antialiaseds=False, zorder=0.7))

    def _add(self, artist: Any) -> None:
        artist.set_transform(self._transform)
        self.figure.add_artist(artist)

    def finish(self) -> Figure:
        """The figure in its final size; nothing can be put on it afterwards."""
        for level, found in self._segments.items():
            lines, colours, widths = zip(*found, strict=True)
            self._add(LineCollection(lines, colors=colours, linewidths=widths, capstyle="butt", zorder=level))
        self._segments.clear()
        width, height = self.right + MARGIN, self.bottom + MARGIN
        self.figure.set_size_inches(width, height)
        self._places.clear().scale(1, -1).translate(0, height)
        return self.figure
