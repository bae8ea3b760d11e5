"""Small pieces of HTML that the page is made of; nothing from a record reaches the page but through here."""

from collections import Counter
from collections.abc import Iterable
from html import escape

from analysis import names

SIGNS = {
    "better": ("good", "▲"),
    "worse": ("bad", "▼"),
    "equivalent": ("same", "≈"),
    "identical": ("same", "="),
    "different": ("bad", "≠"),
    "inconclusive": ("open", "?"),
    "all 0": ("open", "∅"),
    "no result": ("open", "–"),
    "replicated": ("good", "✓"),
    "not replicated": ("bad", "✗"),
    "not testable": ("open", "–"),
}
"""Verdict -> the class that colours it and the sign that says the same without colour."""


def text(value: str) -> str:
    """`value` as it is read, whatever it holds: fit for elements and for quoted attributes."""
    return escape(names.readable(value))


def breakable(value: str) -> str:
    """`text` that a narrow column may break after underscores and dots."""
    return text(value).replace("_", "_<wbr>").replace(".", ".<wbr>")


def name(value: str) -> str:
    """A name within a sentence, whose direction of writing stays its own."""
    return f"<bdi>{text(value)}</bdi>"


def code(value: str) -> str:
    """A command or a file name."""
    return f"<code>{text(value)}</code>"


def badge(verdict: str, label: str = "") -> str:
    """`verdict` with its sign and colour, worded by `label` (HTML) where there is one.

    What follows the verdict in brackets stays beside it; a word that is none of SIGNS stays plain.
    """
    word, bracket, rest = verdict.partition(" (")
    if word not in SIGNS:
        return label or text(verdict)
    kind, sign = SIGNS[word]
    sign = f'<span aria-hidden="true">{sign}</span>'
    return f'<span class="badge {kind}">{sign} {label or word}</span>{text(bracket + rest)}'


def counted(verdicts: Iterable[str]) -> str:
    """A badge for each kind of verdict with its number, in the order of SIGNS, then of the alphabet."""
    counts, order = Counter(verdicts), list(SIGNS)
    words = sorted(counts, key=lambda word: (order.index(word) if word in order else len(order), word))
    return " ".join(badge(word, f"{counts[word]} {text(word)}") for word in words)


def items(lines: Iterable[str], kind: str) -> str:
    """A list of texts, or nothing where there are none."""
    inner = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f'<ul class="{kind}">{inner}</ul>' if inner else ""


def pairs(entries: Iterable[tuple[str, str]], kind: str) -> str:
    """A list of terms, each with its text."""
    inner = "".join(f"<div><dt>{text(term)}</dt><dd>{text(said)}</dd></div>" for term, said in entries)
    return f'<dl class="{kind}">{inner}</dl>' if inner else ""


def section(anchor: str, title: str, inner: str) -> str:
    """A landmark below a heading of the second level."""
    heading = f'<h2 id="{anchor}-title">{text(title)}</h2>'
    return f'<section id="{anchor}" aria-labelledby="{anchor}-title">{heading}\n{inner}</section>\n'
