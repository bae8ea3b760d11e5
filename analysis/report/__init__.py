"""report.html: one page that stands alone. It answers first, and loads nothing from anywhere."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from analysis import names, provenance
from analysis.frame import Runs
from analysis.plan import Plan
from analysis.report import grid, pictures
from analysis.report.answer import answer
from analysis.report.guide import guide
from analysis.report.markup import code, items, section, text
from analysis.report.origin import origin
from analysis.report.pictures import Pictures
from analysis.table import Table

__all__ = ["Pictures", "page"]

TITLE = "Attention normalizers, compared"
FEW = 4
"""Cautions that are shown without being asked for."""


def page(
    runs: Runs,
    plan: Plan,
    tables: Sequence[Table],
    figures: Mapping[str, bytes],
    warnings: Sequence[str],
    command: str,
    theory: str = "",
    embedded: Pictures | None = None,
) -> str:
    """The whole page: the same bytes for the same input.

    `figures` maps file names (`name.svg`, `name.png`) to their content. `tables` that hold paired comparisons (see
    answer.NEEDED) make the answer at the top. `command` is shown as what makes the tables and figures again;
    `theory` is the address of a page that explains the normalizers, where there is one. `embedded` has the figures cut
    for pages and made for phones; a figure that it lacks is embedded as its file.
    """
    style, script = _asset("style.css"), _asset("script.js")
    captions = pictures.captions(figures)
    # What the records say of themselves belongs beside what was missing: both limit what may be concluded.
    cautions = list(dict.fromkeys([*warnings, *provenance.notices(runs.frame)]))
    by = f'<p class="command">Made by: {code(command)}</p>\n'
    cut = embedded or Pictures()
    drawn = "".join(pictures.figure(stem, words, figures, cut) for stem, words in captions.items())
    parts = [
        answer(tables, plan, runs),
        section("figures", "Figures", by + drawn) if drawn else "",
        section("runs", "What was run, and where", origin(runs, plan)),
        section("tables", "Tables", by + "".join(grid.block(table, 3) for table in tables)),
        guide(plan),
    ]
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the answer</a>\n'
        f"<header>\n<h1>{TITLE}</h1>\n{_summary(runs, plan, cautions, theory)}</header>\n"
        f'<div class="columns">\n{_contents(tables, captions)}'
        f'<main id="main" tabindex="-1">\n{"".join(parts)}</main>\n</div>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


@cache
def _asset(name: str) -> str:
    return resources.files("analysis.report").joinpath(name).read_text(encoding="utf-8")


def _hash(asset: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(asset.encode()).digest()).decode('ascii')}'"


def _summary(runs: Runs, plan: Plan, cautions: Sequence[str], theory: str) -> str:
    facts = [
        f"{len(runs.frame)} completed runs",
        f"{len(runs.datasets)} data set{'s' if len(runs.datasets) > 1 else ''}",
        f"{runs.frame['normalizer'].nunique()} normalizers",
        names.seeds(runs.frame["seed"]),
        f"control {names.display(plan.control, plan.names)}",
    ]
    count = f"{len(cautions)} thing{'s' if len(cautions) > 1 else ''} to know before believing it"
    said = f'<summary><span aria-hidden="true">⚠</span> {count}</summary>{items(cautions, "cautions")}'
    # Few are read at once; many are counted, so that the answer stays in sight.
    state = " open" if len(cautions) <= FEW else ""
    link = f'\n<p><a href="{text(theory)}">How the normalizers work, to play with</a></p>' if theory else ""
    return items(facts, "facts") + link + (f'\n<details class="alert"{state}>{said}</details>\n' if cautions else "\n")


def _contents(tables: Sequence[Table], captions: Mapping[str, tuple[str, str]]) -> str:
    def lines(entries: Sequence[tuple[str, str]]) -> str:
        return "".join(f'<li><a href="#{anchor}">{text(title)}</a></li>' for anchor, title in entries)

    def nested(anchor: str, title: str, entries: Sequence[tuple[str, str]]) -> str:
        return f'<li><a href="#{anchor}">{title}</a><ul>{lines(entries)}</ul></li>' if entries else ""

    return (
        '<nav aria-label="Contents">\n<ul>'
        + lines([("answer", "The answer")])
        + nested("figures", "Figures", [(f"figure-{grid.anchor(stem)}", words[0]) for stem, words in captions.items()])
        + lines([("runs", "What was run")])
        + nested("tables", "Tables", [(f"table-{grid.anchor(table.name)}", table.title) for table in tables])
        + lines([("guide", "How to read this")])
        + "</ul>\n</nav>\n"
    )
