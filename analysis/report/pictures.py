"""Figures embedded as images, so that nothing is loaded and their inner names cannot clash."""

import base64
from collections.abc import Mapping

from analysis.report.grid import anchor, files
from analysis.report.markup import text

LARGEST_SVG = 250_000
"""Bytes from which a figure is embedded as PNG instead, which keeps the page within 3 MB."""
KINDS = {"svg": "image/svg+xml", "png": "image/png"}


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


def figure(stem: str, words: tuple[str, str], figures: Mapping[str, bytes]) -> str:
    """One figure with its caption and the files it comes as; the drawing rather than the pixels unless it is huge."""
    found = {kind: figures[f"{stem}.{kind}"] for kind in KINDS if f"{stem}.{kind}" in figures}
    kind = "svg" if "svg" in found and ("png" not in found or len(found["svg"]) <= LARGEST_SVG) else "png"
    data = base64.b64encode(found[kind]).decode("ascii")
    caption, alternative = words
    return (
        f'<figure id="figure-{anchor(stem)}"><figcaption><h3>{text(caption)}</h3></figcaption>\n'
        f'<div class="box" role="region" aria-label="{text(caption)}" tabindex="0">'
        f'<img alt="{text(alternative)}" src="data:{KINDS[kind]};base64,{data}"></div>\n'
        f"{files('figures', stem, found)}</figure>\n"
    )
