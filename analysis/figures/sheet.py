"""A page that figures are drawn on: a few artists at places in inches.

Places are (x, y) from the top left corner, y downwards, and every text's width is known, so that what must not overlap
is laid out apart instead of being searched for. This costs about a fifth of matplotlib's axes with constrained layout.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.ft2font import FT2Font, LoadFlags
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from analysis.names import readable

Point = tuple[float, float]

STYLE: dict[Any, Any] = {
    # In a browser without the first the second is as wide, and the others are narrower.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "svg.fonttype": "none",
    "svg.hashsalt": "normbench",
    "text.parse_math": False,  # a name may hold dollar signs
    "text.usetex": False,  # and backslashes, whatever the user's own settings say
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
WIDEST = 10.5
"""Inches that a sheet may be wide: a landscape page of A4 within its margins, so that no text is printed smaller."""
PHONE = 3.3
"""Inches that a sheet for phones is wide: 320 points of a screen."""


@cache
def _em(letter: str) -> float:
    # Glyph 0, which a character without a glyph has, is a box.
    glyph = _font().load_glyph(_font().get_char_index(ord(letter)), flags=LoadFlags.NO_HINTING)
    return glyph.linearHoriAdvance / 65536 / 100


def lacking(text: str) -> set[str]:
    """The characters of `text` that the font of the figures lacks; PNG files show a box in their place."""
    return {letter for letter in text if not _font().get_char_index(ord(letter))}


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
    """One figure; it grows to the right and downwards with what is put on it.

    `phone` says that it is no wider than PHONE. `cuts` are heights at which nothing is drawn, in inches from the top:
    there a page may end. `lacking` holds the drawn characters that the font lacks.
    """

    def __init__(self, *, phone: bool = False) -> None:
        self.figure = Figure()
        self.phone = phone
        self.right = self.bottom = 0.0
        self.cuts: set[float] = set()
        self.lacking: set[str] = set()
        self._artists: list[tuple[float, Any]] = []
        self._segments: list[tuple[float, Sequence[Point], tuple[str, float], float]] = []
        self._places = Affine2D()
        self._transform = self._places + self.figure.dpi_scale_trans

    def grow(self, x: float, y: float) -> None:
        """Make the sheet reach at least to (x, y), beyond which there is only the margin."""
        self.right, self.bottom = max(self.right, x), max(self.bottom, y)

    def text(self, x: float, y: float, text: str, *, size: float = SIZE, align: str = "left", **look: Any) -> None:
        """`text` in one line, its middle at the height y; the sheet grows by it."""
        text = readable(text)
        self.lacking |= lacking(text)
        width = text_width(text, size) * {"left": 1.0, "center": 0.5, "right": 0.0}[align]
        self.grow(x + width, y + LINE / 2)
        look = {"color": INK} | look
        self._add(y, Text(x, y, text, fontsize=size, ha=align, va="center_baseline", **look))

    def paragraph(self, x: float, y: float, text: str, width: float, *, size: float = SMALL, **look: Any) -> float:
        """`text` in as many lines as `width` inches ask for, the first at the height y; returns the next y."""
        for line in wrapped(readable(text), width, size):
            self.text(x, y, line, size=size, **{"color": DIM} | look)
            y += LINE
        return y

    def side_text(self, x: float, y: float, text: str) -> None:
        """`text` read from below upwards, centred at (x, y)."""
        self._add(y, Text(x, y, text, fontsize=SMALL, ha="center", va="center", rotation=90, color=DIM))

    def line(self, points: Sequence[Point], **look: Any) -> None:
        """A line or, with `linestyle="none"`, markers through `points`."""
        x, y = zip(*points, strict=True)
        self._add(min(y), Line2D(x, y, **look))

    def segments(
        self, lines: Iterable[Sequence[Point]], colour: str, width: float, *, level: float = 1.0, alpha: float = 1.0
    ) -> None:
        """Plain lines; those of one part that lie on one `level` (matplotlib's zorder) are one artist in the end."""
        self._segments.extend((level, line, (colour, alpha), width) for line in lines)

    def area(self, corners: Sequence[Point], **look: Any) -> None:
        """A filled polygon without a rim, behind lines and markers."""
        top = min(y for _, y in corners)
        self._add(top, Polygon(corners, closed=True, linewidth=0, **{"zorder": 0.5} | look))

    def cells(self, corners: Sequence[Sequence[Point]], colours: Sequence[tuple[float, ...]]) -> None:
        """Many filled polygons without rims as one artist, a colour (red, green, blue, opacity) each."""
        top = min((y for cell in corners for _, y in cell), default=0.0)
        self._add(top, PolyCollection(corners, facecolors=colours, linewidths=0, antialiaseds=False, zorder=0.7))

    def _add(self, top: float, artist: Any) -> None:
        artist.set_transform(self._transform)
        self.figure.add_artist(artist)
        self._artists.append((top, artist))

    def finish(self) -> Figure:
        """The figure in its final size; nothing can be put on it afterwards."""
        together: dict[tuple[int, float], list[tuple[Sequence[Point], tuple[str, float], float]]] = {}
        cuts = sorted(self.cuts)
        for level, line, colour, width in self._segments:
            part = bisect_right(cuts, min(y for _, y in line))
            together.setdefault((part, level), []).append((line, colour, width))
        for (_, level), found in together.items():
            lines, colours, widths = zip(*found, strict=True)
            top = min(y for _, y in lines[0])
            self._add(top, LineCollection(lines, colors=colours, linewidths=widths, capstyle="butt", zorder=level))
        self._segments.clear()
        return self._shown(0.0, self.bottom + MARGIN)

    def parts(self) -> Iterator[Figure]:
        """The figure of `finish` between one cut and the next, part by part; each lasts until the next is asked for."""
        self.finish()
        ends = [0.0, *(cut for cut in sorted(self.cuts) if 0 < cut < self.bottom), self.bottom + MARGIN]
        for top, bottom in pairwise(ends):
            yield self._shown(top, bottom)
        self._shown(*ends[:: len(ends) - 1])

    def _shown(self, top: float, bottom: float) -> Figure:
        """The figure from the height `top` to `bottom`."""
        for height, artist in self._artists:
            artist.set_visible(top <= height < bottom)
        self.figure.set_size_inches(self.right + MARGIN, bottom - top)
        self._places.clear().scale(1, -1).translate(0, bottom)
        return self.figure
