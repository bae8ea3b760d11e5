"""Figures embedded as images, so that nothing is loaded and their inner names cannot clash."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.report.grid import anchor, files
from analysis.report.markup import text

LARGEST_SVG = 250_000
"""Bytes from which a figure is embedded as PNG instead, which keeps the page within 3 MB."""
KINDS = {"svg": "image/svg+xml", "png": "image/png"}


@dataclass(frozen=True)
class Pictures:
    """Figures by their stem: `parts` from top to bottom, each (`svg` or `png`, content), and an SVG for phones."""

    parts: Mapping[str, Sequence[tuple[str, bytes]]] = field(default_factory=dict)
    phone: Mapping[str, bytes] = field(default_factory=dict)


def captions(figures: Mapping[str, bytes]) -> dict[str, tuple[str, str]]:
    """Stem -> (caption, alternative text) of every figure, in the order of the page; an unknown one by its name."""
    if not figures:
        return {}
    # Only now: matplotlib takes a while to load.
    from analysis import figures as drawing

    known = drawing.CAPTIONS
    stems = dict.fromkeys(file.rpartition(".")[0] for file in figures)
    unknown = {stem: (stem.replace("_", " "),) * 2 for stem in stems if stem not in known}
    return {stem: words for stem, words in known.items() if stem in stems} | unknown


def figure(stem: str, words: tuple[str, str], figures: Mapping[str, bytes], cut: Pictures) -> str:
    """One figure with its caption and the files it comes as; the drawing rather than the pixels unless it is huge."""
    found = {kind: figures[f"{stem}.{kind}"] for kind in KINDS if f"{stem}.{kind}" in figures}
    kind = "svg" if "svg" in found and ("png" not in found or len(found["svg"]) <= LARGEST_SVG) else "png"
    caption, alternative = words
    boxes = _box("drawn", caption, alternative, cut.parts.get(stem, ((kind, found[kind]),)))
    if stem in cut.phone:
        boxes += _box("on-phone", caption, alternative, [("svg", cut.phone[stem])])
    return (
        f'<figure id="figure-{anchor(stem)}"><figcaption><h3>{text(caption)}</h3></figcaption>\n'
        f"{boxes}{files('figures', stem, found)}</figure>\n"
    )


def _box(kind: str, caption: str, alternative: str, pictures: Sequence[tuple[str, bytes]]) -> str:
    """Pictures one below the other; the first has the alternative text of all."""
    inner = ""
    for place, (format_, content) in enumerate(pictures):
        data = base64.b64encode(content).decode("ascii")
        inner += f'<img alt="{"" if place else text(alternative)}" src="data:{KINDS[format_]};base64,{data}">'
    return f'<div class="box {kind}" role="region" aria-label="{text(caption)}" tabindex="0">{inner}</div>\n'
